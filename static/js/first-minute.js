/** The guided first minute of the demo: three things to do, ticked off as they are done. */

import { onDevice } from "./stored.js";

const KEY = "first-minute";
const SKIPPED = "skipped";
const LAST = "why";
const STEPS = ["run", "compare", LAST];
/** Known before the first paint, so that the page does not move: see theme.js. */
const OVER = "first-minute-over";

const known = new Set();

/** @returns {Set<string>} what was done on this device, on other pages too */
function done() {
  for (const step of onDevice.get(KEY)?.split(" ") ?? []) known.add(step);
  return known;
}

/** Note that a step of the guide was done, and show it. @param {string} step */
export function tick(step) {
  if (done().has(step) || known.has(SKIPPED)) return;
  known.add(step);
  onDevice.set(KEY, [...known].join(" "));
  if (isOver()) onDevice.set(OVER, "yes");
  show();
}

/** Note that the last step was done, if no other one is open. @returns {boolean} whether it is done now for the first time */
export function tickLast() {
  if (done().has(LAST) || !STEPS.every((step) => step === LAST || known.has(step))) return false;
  tick(LAST);
  return true;
}

function isOver() {
  return known.has(SKIPPED) || STEPS.every((step) => done().has(step));
}

/** Show the guide on pages that have it, until it is done or skipped. */
export function setUpFirstMinute() {
  document.querySelector("#first-minute-skip")?.addEventListener("click", () => {
    tick(SKIPPED);
    document.querySelector("#prompt")?.focus();
  });
  show();
}

function show() {
  const guide = document.querySelector("#first-minute");
  if (!guide) return;
  const steps = [...guide.querySelectorAll("[data-tick]")];
  const open = steps.filter((step) => !done().has(step.dataset.tick));
  document.documentElement.toggleAttribute("data-first-minute", !isOver());
  for (const step of steps) {
    const isDone = !open.includes(step);
    step.toggleAttribute("data-done", isDone);
    step.querySelector("[data-done-word]").hidden = !isDone;
    if (step === open[0]) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
  }
}
