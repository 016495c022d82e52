/** One run's page: follows the run, verifies its entries in place. */

import { setUpDrawer } from "./drawer.js";
import { tickLast } from "./first-minute.js";
import { setUpFormatting } from "./formatted.js";
import { setUpNotification } from "./notification.js";
import { markTitle } from "./page-title.js";
import { RunView } from "./run-view.js";
import { setUpThumbs } from "./thumbs.js";
import { localiseTimes } from "./times.js";
import { say } from "./words.js";

const cancelForm = document.querySelector("#cancel-form");
const notify = setUpNotification(document.querySelector("#run"));
const view = new RunView(document.querySelector("#run"), {
  onState: (state) => {
    if (cancelForm) cancelForm.hidden = view.isOver;
    markTitle(state);
    notify(state);
  },
});
view.follow();
setUpFormatting();
setUpDrawer(document.querySelector("#drawer"));
setUpThumbs();
const why = document.querySelector("[id^=plan-][id$=-why]");
if (why && tickLast()) {
  const end = document.querySelector("#guide-end");
  end.querySelector("a").href = `#${why.id}`;
  end.hidden = false;
}

cancelForm?.addEventListener("submit", (event) => {
  event.preventDefault();
  view.stop();
});

document.querySelector("#verify-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const button = form.querySelector("button");
  const place = document.querySelector("#verification");
  button.disabled = true;
  try {
    const response = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { "X-Partial": "true" } });
    if (!response.ok) throw new Error(`verification answered ${response.status}`);
    const part = new DOMParser().parseFromString(await response.text(), "text/html");
    place.replaceChildren(...part.querySelectorAll(".verification"));
    localiseTimes(place);
  } catch {
    place.textContent = say("The verification could not be run. This says nothing about the entries; try again.");
  } finally {
    button.disabled = false;
  }
});
