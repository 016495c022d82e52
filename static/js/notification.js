/** Tells people of the end of a run whose tab they do not look at, if they want that. */

import { onDevice } from "./stored.js";
import { say } from "./words.js";

const STORED = "notify-end";
const WORDS = { completed: say("Run completed"), failed: say("Run failed"), cancelled: say("Run stopped") };

const isWanted = () => onDevice.get(STORED) === "on" && Notification.permission === "granted";

/** @param {HTMLElement} button */
function show(button) {
  const isOn = isWanted();
  button.setAttribute("aria-pressed", String(isOn));
  button.textContent = isOn ? say("You will be notified") : say("Notify me");
  button.hidden = Notification.permission === "denied";
}

/**
 * @param {HTMLElement} slot holds the run, and the button while it is live
 * @returns {(state: string) => void} to be called with each state of the run
 */
export function setUpNotification(slot) {
  if (!("Notification" in window)) return () => {};
  slot.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-notify]");
    if (!button) return;
    if (isWanted()) onDevice.set(STORED, "off");
    else if ((await Notification.requestPermission()) === "granted") onDevice.set(STORED, "on");
    show(button);
  });
  let last = "";
  return (state) => {
    const button = slot.querySelector("[data-notify]");
    if (button) show(button);
    // A run that was over when the page came is no news.
    if (last && last !== state && WORDS[state] && document.hidden && isWanted()) {
      new Notification(WORDS[state], { body: document.title, tag: "run" });
    }
    last = state;
  };
}
