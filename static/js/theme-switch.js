/** The theme switch: automatic, light, dark; remembered on this device. */

import { onDevice } from "./stored.js";
import { say } from "./words.js";

/** @type {readonly string[]} */
const THEMES = ["auto", "light", "dark"];
const WORDS = { auto: "Theme: automatic", light: "Theme: light", dark: "Theme: dark" };

/**
 * Buttons with an icon for each theme show that of the chosen one, others say it.
 * @param {NodeListOf<HTMLButtonElement>} buttons
 */
export function setUpThemeSwitch(buttons) {
  const show = () => {
    const theme = document.documentElement.dataset.theme ?? "auto";
    const words = say(WORDS[theme]);
    for (const button of buttons) {
      const icons = button.querySelectorAll("[data-theme-icon]");
      for (const icon of icons) icon.hidden = icon.dataset.themeIcon !== theme;
      if (!icons.length) button.textContent = words;
      else {
        button.setAttribute("aria-label", words);
        button.title = words;
      }
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const now = document.documentElement.dataset.theme ?? "auto";
      const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
      if (next === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = next;
      onDevice.set("theme", next);
      show();
    });
  }
  show();
}
