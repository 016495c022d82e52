/** Keys that work on every page, where nothing is being written. */

import { onDevice } from "./stored.js";

const dialog = document.querySelector("#shortcuts");
const choice = document.querySelector("#single-keys");
const STORED = "single-keys";
const ways = {
  "?": () => dialog.showModal(),
  "/": () => document.querySelector("main input[type=search]")?.focus(),
  n: () => document.querySelector("#new-chat")?.click(),
};

/** @param {KeyboardEvent} event */
function isFree(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (!choice.checked || document.querySelector("dialog[open]")) return false;
  return !event.target.closest?.("input, textarea, select, [contenteditable]");
}

export function setUpShortcuts() {
  if (!dialog) return;
  choice.checked = onDevice.get(STORED) !== "off";
  choice.addEventListener("change", () => onDevice.set(STORED, choice.checked ? "on" : "off"));
  // Review pages have keys of their own.
  if (!document.querySelector("#review-keys")) {
    document.addEventListener("keydown", (event) => {
      if (!ways[event.key] || !isFree(event)) return;
      event.preventDefault();
      ways[event.key]();
    });
  }
  for (const button of document.querySelectorAll("[data-show-shortcuts]")) {
    button.addEventListener("click", () => {
      button.closest("details").open = false;
      dialog.showModal();
    });
  }
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}
