/**
 * The composer beside an answer: one line until somebody writes, so that it covers little.
 * Without this script it is always whole.
 */

/**
 * @param {HTMLFormElement} form
 * @param {HTMLTextAreaElement} prompt
 * @returns {() => void} to be called when a script has changed what the form holds
 */
export function setUpComposerFold(form, prompt) {
  if (!form.hasAttribute("data-folds")) return () => {};
  const chips = form.querySelector("#attachments");
  const preset = form.querySelector("#preset-slot");

  /** @param {EventTarget | null} [target] where somebody is now */
  function show(target = document.activeElement) {
    // It stands above the form: pressing it is no writing, and must not move it away.
    if (target instanceof Element && target.closest(".composer__newest")) return;
    const isUsed = form.contains(target) || prompt.value.trim() || chips?.childElementCount || preset.childElementCount;
    form.toggleAttribute("data-folded", !isUsed);
  }

  // Losing the focus alone does not fold it: a press on one of its buttons may do that first.
  document.addEventListener("focusin", (event) => show(event.target));
  document.addEventListener("pointerdown", (event) => show(event.target));
  show();
  return show;
}
