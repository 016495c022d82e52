/** "List models": ask the provider without leaving the form, and offer what it has. */

import { say } from "./words.js";

const button = document.querySelector("[data-list-models]");

async function list() {
  const form = button.form;
  const data = new FormData(form);
  data.set(button.name, button.value);
  const response = await fetch(form.action, {
    method: "POST",
    body: data,
    headers: { "X-Partial": "true" },
  });
  if (!response.ok || response.redirected) throw new Error(`answered ${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  form.querySelector("[data-models]").replaceChildren(...page.querySelector("[data-models]").childNodes);
  (form.elements.namedItem("model") ?? form.querySelector("[data-models] input:not([type=hidden])"))?.focus();
  form.dispatchEvent(new Event("listed"));
}

button?.addEventListener("click", async (event) => {
  event.preventDefault();
  const label = button.querySelector("span");
  const words = label.textContent;
  button.disabled = true;
  label.textContent = say("Asking…");
  try {
    await list();
  } catch {
    button.form.querySelector("[data-models]").textContent = say("The server could not be reached. Type the model’s name, or try again.");
  } finally {
    button.disabled = false;
    label.textContent = words;
  }
});
