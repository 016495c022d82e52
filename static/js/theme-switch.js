/** The theme switch: automatic, light, dark; remembered on this device. */

import { onDevice } from "./stored.js";
import { say } from "./words.js";

/** @type {readonly string[]} */
const THEMES = ["auto", "light", "dark"];
const WORDS = { auto: "Theme: automatic", light: "Theme: light", dark: "Theme: dark" };

/** @param {HTMLButtonElement} button */
export function setUpThemeSwitch(button) {
  const show = () => {
    const theme = document.documentElement.dataset.theme ?? "auto";
    button.title = say(WORDS[theme]);
    button.setAttribute("aria-label", button.title);
    for (const icon of button.querySelectorAll("[data-theme-icon]")) {
      icon.hidden = icon.dataset.themeIcon !== theme;
    }
  };
  button.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? "auto";
    const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    onDevice.set("theme", next);
    show();
  });
  show();
}
