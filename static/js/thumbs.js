/** Thumbs beside an answer: rated in place, and taken back by the same button. */

import { say } from "./words.js";

/** Listen once for the whole page; answers may come and go. */
export function setUpThumbs() {
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest?.("[data-thumbs]");
    if (!form || !event.submitter) return;
    event.preventDefault();
    const chosen = event.submitter;
    const isTakenBack = chosen.getAttribute("aria-pressed") === "true";
    const data = new FormData(form);
    data.set(isTakenBack ? "withdraw" : "rating", isTakenBack ? "1" : chosen.value);
    const headers = { Accept: "application/json" };
    const response = await fetch(form.action, { method: "POST", body: data, headers }).catch(() => null);
    const said = form.querySelector("[role=status]");
    said.textContent = response?.ok ? (await response.json()).done : say("The rating could not be saved. Try again.");
    said.classList.toggle("visually-hidden", Boolean(response?.ok));
    if (!response?.ok) return;
    for (const each of form.querySelectorAll("button")) {
      each.setAttribute("aria-pressed", String(each === chosen && !isTakenBack));
    }
  });
}
