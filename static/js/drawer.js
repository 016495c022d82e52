/** Opens links with `data-drawer` in a side drawer; without this script they are pages. */

import { localiseTimes } from "./times.js";

/** @param {HTMLDialogElement} drawer */
export function setUpDrawer(drawer) {
  const title = drawer.querySelector("#drawer-title");
  const body = drawer.querySelector("#drawer-body");
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-drawer]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    body.replaceChildren();
    const response = await fetch(link.href, { headers: { "X-Partial": "true" } }).catch(() => null);
    if (!response?.ok) {
      location.href = link.href;
      return;
    }
    const part = new DOMParser().parseFromString(await response.text(), "text/html");
    title.textContent = part.querySelector("[data-title]")?.dataset.title ?? "";
    body.replaceChildren(...part.body.children);
    localiseTimes(body);
    drawer.showModal();
    body.scrollTop = 0;
  });
  drawer.addEventListener("click", (event) => {
    if (event.target === drawer) drawer.close();
  });
}
