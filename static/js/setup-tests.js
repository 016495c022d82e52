/** Tests all models of a team that were just saved, a few at a time, and says how far it is. */

import { say } from "./words.js";

const LANES = 3; // a site allows a team eight tests at a time
const page = document.querySelector("[data-setup]");
const progress = page?.querySelector("[data-progress]");
let isRunning = false;

function tested(form) {
  return new Promise((resolve) => {
    form.addEventListener("tested", resolve, { once: true });
    form.requestSubmit();
  });
}

async function testAll(forms) {
  const waiting = [...forms];
  let done = 0;
  const tell = () => {
    progress.textContent = say("Testing: {done} of {total} done.")
      .replace("{done}", done).replace("{total}", forms.length);
  };
  const lane = async () => {
    for (let form = waiting.shift(); form; form = waiting.shift()) {
      await tested(form);
      done += 1;
      tell();
    }
  };
  isRunning = true;
  page.querySelector("[data-test-all]")?.remove();
  page.setAttribute("aria-busy", "true");
  tell();
  await Promise.all(Array.from({ length: LANES }, lane));
  // What can be done now depends on what passed, and the server knows.
  location.replace(page.dataset.next);
}

page?.addEventListener("tested", () => {
  if (!isRunning) location.replace(page.dataset.next);
});

const testUntested = () => testAll(page.querySelectorAll("form[data-untested]"));
page?.querySelector("[data-test-all]")?.addEventListener("click", testUntested);
if (page?.hasAttribute("data-run")) testUntested();
