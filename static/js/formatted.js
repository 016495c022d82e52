/** "Show formatted": a long text is formatted by the server only when its reader asks. */

import { addCodeButtons } from "./copy.js";

/** Listen once for the whole page; texts may come and go. */
export function setUpFormatting() {
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-show-formatted]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const response = await fetch(link.href, { headers: { "X-Partial": "true" } }).catch(() => null);
    if (!response?.ok) {
      location.href = link.href;
      return;
    }
    const part = new DOMParser().parseFromString(await response.text(), "text/html");
    const place = link.closest("[data-unformatted]");
    const box = place.closest(".prose");
    place.replaceWith(...part.body.children);
    // The link that had the focus is gone; its text is the place to go on from.
    if (!box.hasAttribute("tabindex")) box.tabIndex = -1;
    box.focus({ preventScroll: true });
    addCodeButtons(box);
    // A text of which only the beginning was there can be copied from now on.
    for (const button of document.querySelectorAll("[data-copy][hidden]")) {
      if (document.querySelector(button.dataset.copy)) button.hidden = false;
    }
  });
}
