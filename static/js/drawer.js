/** Opens links with `data-drawer` in a side drawer; without this script they are pages. */

import { addCodeButtons } from "./copy.js";
import { localiseTimes } from "./times.js";

/** @param {HTMLAnchorElement | SVGAElement} link @returns {string} */
const addressOf = (link) => new URL(link.getAttribute("href"), location.href).href;

/** @param {HTMLDialogElement} drawer */
export function setUpDrawer(drawer) {
  const title = drawer.querySelector("#drawer-title");
  const body = drawer.querySelector("#drawer-body");
  let shown = "";

  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-drawer]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    shown = addressOf(link);
    body.replaceChildren();
    if (!(await fill())) {
      location.href = shown;
      return;
    }
    if (!drawer.open) drawer.showModal();
    body.scrollTop = 0;
  });
  document.addEventListener("run-news", () => {
    if (drawer.open) fill(); // what cannot be fetched now comes with the next entry
  });

  /** Show what the server has at the address now. @returns {Promise<boolean>} whether it answered */
  async function fill() {
    const address = shown;
    const response = await fetch(address, { headers: { "X-Partial": "true" } }).catch(() => null);
    if (!response?.ok) return false;
    const part = new DOMParser().parseFromString(await response.text(), "text/html");
    if (address !== shown) return true; // another one was opened meanwhile
    title.textContent = part.querySelector("[data-title]")?.dataset.title ?? "";
    body.replaceChildren(...part.body.children);
    localiseTimes(body);
    addCodeButtons(body);
    return true;
  }

  drawer.addEventListener("click", (event) => {
    if (event.target === drawer) drawer.close();
  });
}
