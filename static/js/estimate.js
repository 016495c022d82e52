/** What the run would cost, asked for when the typing pauses. */

const PAUSE_MS = 400;

/**
 * Keeps `place` saying the estimate for what the form holds; silent while it is unknown, or while
 * the form says that something is wrong.
 * @param {HTMLFormElement} form
 * @param {HTMLElement} place its `data-url` is where to ask
 * @returns {() => void} to be called after every change
 */
export function setUpEstimate(form, place) {
  let timer = 0;
  let question = new AbortController();

  async function ask() {
    question.abort();
    question = new AbortController();
    const data = new FormData(form);
    if (!String(data.get("prompt")).trim() || form.querySelector('[aria-invalid="true"]')) {
      place.hidden = true;
      return;
    }
    try {
      const response = await fetch(place.dataset.url, {
        method: "POST",
        body: data,
        headers: { Accept: "application/json" },
        signal: question.signal,
      });
      place.textContent = response.ok ? (await response.json()).text : "";
    } catch (reason) {
      if (reason instanceof DOMException && reason.name === "AbortError") return;
      place.textContent = "";
    }
    place.hidden = !place.textContent;
  }

  return () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE_MS);
  };
}
