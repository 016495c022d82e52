/** What every page needs: theme switch, local times, copy buttons, menus, notices, palette, bell. */

import { setUpBell } from "./bell.js";
import { addCodeButtons, setUpCopyButtons } from "./copy.js";
import { setUpNotices } from "./notices.js";
import { setUpPalette } from "./palette.js";
import { setUpShortcuts } from "./shortcuts.js";
import { setUpThemeSwitch } from "./theme-switch.js";
import { localiseTimes, startClocks } from "./times.js";

setUpThemeSwitch(document.querySelectorAll("[data-theme-switch]"));
localiseTimes(document);
addCodeButtons(document);
setUpCopyButtons();
startClocks();
setUpShortcuts();
setUpNotices();
setUpPalette();
setUpBell();
for (const link of document.querySelectorAll(":is(.rail, .place-tabs) [aria-current]")) {
  link.scrollIntoView({ behavior: "instant", block: "nearest", inline: "nearest" });
}

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary")?.focus();
  }
});
for (const form of document.querySelectorAll("form[data-autosubmit]")) {
  form.addEventListener("change", (event) => {
    if (event.target.matches("select")) form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    // Empty filters stay out of the address.
    for (const field of form.querySelectorAll("input, select")) field.disabled = !field.value;
  });
}
window.addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("form[data-autosubmit] :disabled")) field.disabled = false;
});
