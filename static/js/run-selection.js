/** Selected runs of the list: the bar at the foot says how many, and what can be done with them. */

import { sayCount } from "./words.js";

const BOXES = "#run-results input[name=run]";
const results = () => document.querySelector("#run-results");
/** @returns {HTMLInputElement[]} */
const boxes = () => [...document.querySelectorAll(BOXES)];

/** Say what is selected now; without a selection there is no bar. */
function show() {
  const bar = document.querySelector("#selection");
  if (!bar) return;
  const all = bar.querySelector("#selection-all");
  const every = boxes();
  const selected = every.filter((box) => box.checked).length;
  const count = all?.checked ? Number(all.dataset.count) : selected;
  const words = count ? sayCount("{count} run selected", "{count} runs selected", count) : "";
  const status = bar.querySelector("#selection-count");
  if (status.textContent !== words) status.textContent = words;
  bar.toggleAttribute("data-open", count > 0);
  const head = document.querySelector("#selection-head");
  head.checked = selected > 0 && selected === every.length;
  head.indeterminate = selected > 0 && selected < every.length;
}

/** @param {boolean} isSelected */
function selectPage(isSelected) {
  for (const box of boxes()) box.checked = isSelected;
}

document.addEventListener("change", (event) => {
  if (!results().contains(event.target)) return;
  const all = document.querySelector("#selection-all");
  if (event.target.matches("#selection-head, #selection-all")) selectPage(event.target.checked);
  // All that match are no longer wanted once one of them is not.
  if (all && event.target.matches(`${BOXES}, #selection-head`) && !event.target.checked) all.checked = false;
  show();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("#selection-page, #selection-clear");
  if (!button) return;
  const isClear = button.id === "selection-clear";
  const all = document.querySelector("#selection-all");
  selectPage(!isClear);
  if (all && isClear) all.checked = false;
  show();
  if (isClear) boxes()[0]?.focus({ preventScroll: true });
});
// In a form Enter would press the first button; on a box it does what the space bar does.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches?.(`${BOXES}, #selection-all`)) return;
  event.preventDefault();
  event.target.click();
});
// The list is drawn again by filters, and its rows as runs go on.
new MutationObserver(show).observe(document.querySelector("main"), { childList: true, subtree: true });
// The browser may have kept a selection.
addEventListener("pageshow", show);
