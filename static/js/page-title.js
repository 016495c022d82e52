/**
 * Says in the title of the tab whether the run is going on, or waits for people, and,
 * until it is looked at, how it ended.
 */

import { say } from "./words.js";

const MARKS = { completed: "✓", failed: "✗", cancelled: "■" };
const LIVE = "…";
const title = document.title;

/** @param {string} state of the run; "" if there is none */
export function markTitle(state) {
  const ending = document.hidden ? MARKS[state] : "";
  const live = state === "approval" ? `${LIVE} ${say("Waiting for approval")} ·` : LIVE;
  const mark = state && !MARKS[state] ? live : ending;
  document.title = mark ? `${mark} ${title}` : title;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !document.title.startsWith(LIVE)) document.title = title;
});
