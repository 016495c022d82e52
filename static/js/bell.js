/** The bell: asks the server now and then what is open, and says what has changed. */

import { fetchPart } from "./parts.js";

const FRESH_MS = 15_000;

/** Put the server's bell in place of the present one; an open menu and its focus stay. */
async function refresh() {
  const bell = document.querySelector("#bell");
  const fresh = await fetchPart(bell.dataset.url, "#bell");
  const words = fresh.dataset.words;
  if (fresh.innerHTML === bell.innerHTML) return;
  const focused = bell.contains(document.activeElement) ? document.activeElement : null;
  const href = focused?.getAttribute("href");
  fresh.open = bell.open;
  bell.replaceWith(fresh);
  if (focused) ((href && fresh.querySelector(`[href="${CSS.escape(href)}"]`)) || fresh.querySelector("summary")).focus();
  if (words !== bell.dataset.words) document.querySelector("#bell-news").textContent = words;
}

export function setUpBell() {
  if (!document.querySelector("#bell")) return;
  const look = () => {
    // The number on the page stays true as of then; the next look may do better.
    if (!document.hidden) refresh().catch(() => {});
  };
  setInterval(look, FRESH_MS);
  document.addEventListener("visibilitychange", look);
}
