/** The bell: asks the server now and then what is open, and says what has changed. */

import { fetchPart } from "./parts.js";

const FRESH_MS = 15_000;
/** After so many failures in a row it asks no more, until somebody looks at the page again. */
const MOST_FAILURES = 5;

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

/** Look every 15 seconds while the page is visible, and less and less often while looks fail. */
export function setUpBell() {
  if (!document.querySelector("#bell")) return;
  let failures = 0;
  let timer = 0;
  let isLooking = false;
  const wait = () => {
    clearTimeout(timer);
    if (document.hidden || failures >= MOST_FAILURES) return;
    timer = setTimeout(look, FRESH_MS * 2 ** failures);
  };
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    try {
      await refresh();
      failures = 0;
    } catch {
      // The number on the page stays true as of then; the next look may do better.
      failures += 1;
    } finally {
      isLooking = false;
      wait();
    }
  };
  const resume = () => {
    failures = 0;
    if (document.hidden) clearTimeout(timer);
    else look();
  };
  document.addEventListener("visibilitychange", resume);
  addEventListener("online", resume);
  wait();
}
