/** The list price follows the address and the model; "Use it" fills in what is unsaved. */

import { say } from "./words.js";

const form = document.querySelector("form:has([data-list-price])");
const place = form?.querySelector("[data-list-price]");
const isSaved = form?.hasAttribute("data-saved");
let question = new AbortController();
let isTouched = false;

async function look() {
  question.abort();
  question = new AbortController();
  const data = new FormData(form);
  data.delete("secret");
  data.set("use_list_price", "");
  try {
    const response = await fetch(location.href, {
      method: "POST",
      body: data,
      headers: { "X-Partial": "true" },
      signal: question.signal,
    });
    if (!response.ok || response.redirected) throw new Error(`answered ${response.status}`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    place.replaceChildren(...page.querySelector("[data-list-price]").childNodes);
  } catch (reason) {
    // Unknown is better than the price of another model.
    if (reason.name !== "AbortError") place.replaceChildren();
  }
}

/** @param {HTMLButtonElement} button */
function fill(button) {
  for (const [part, name] of Object.entries({ input: "input_usd", output: "output_usd", cached: "cached_input_usd" })) {
    form.elements.namedItem(`price.${name}`).value = button.dataset[part];
  }
  const words = button.parentElement.querySelector("p");
  words.append(` ${say("It is filled in above: save to keep it.")}`);
  button.remove();
  form.elements.namedItem("price.input_usd").focus();
}

form?.addEventListener("change", (event) => {
  isTouched = true;
  if (["base_url", "model"].includes(event.target.name)) look();
});
place?.addEventListener("click", (event) => {
  const button = event.target.closest("[data-use]");
  // A saved model of which nothing else was changed gets its price at once, by the server.
  if (!button || (isSaved && !isTouched)) return;
  event.preventDefault();
  fill(button);
});
