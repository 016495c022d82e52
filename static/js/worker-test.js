/** Test buttons: ask the model without leaving the page, show what it says in place. */

import { localiseTimes } from "./times.js";
import { say } from "./words.js";

document.addEventListener("submit", async (event) => {
  const form = event.target.closest?.("form[data-test]");
  if (!form) return;
  event.preventDefault();
  const place = document.getElementById(form.dataset.test);
  const button = form.querySelector("button");
  const label = button.querySelector("span");
  const words = label.textContent;
  button.disabled = true;
  label.textContent = say("Testing…");
  try {
    show(place, await answerOf(form));
  } catch {
    // The plain way shows what is wrong: signed out, no network, an error page.
    form.submit();
  } finally {
    button.disabled = false;
    label.textContent = words;
    button.focus();
    form.dispatchEvent(new CustomEvent("tested", { bubbles: true }));
  }
});

/** @param {HTMLFormElement} form */
async function answerOf(form) {
  const response = await fetch(form.action, {
    method: "POST",
    body: new FormData(form),
    headers: { "X-Partial": "true" },
  });
  if (!response.ok || response.redirected) throw new Error(`answered ${response.status}`);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

/** @param {HTMLElement} place @param {Document} fresh */
function show(place, fresh) {
  for (const name of ["data-result", "data-health"]) {
    const part = fresh.querySelector(`[${name}]`);
    const old = place.querySelector(`[${name}]`);
    if (part && old) old.replaceChildren(...part.childNodes);
  }
  const row = place.querySelector(".test-row");
  if (row) row.hidden = false;
  localiseTimes(place);
}
