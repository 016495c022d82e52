/**
 * Keeps the end of an answer in sight while it is written. Whoever scrolls up stays
 * there, until they come back to the end or press the button that leads to it.
 */

const NEAR_END_PX = 80;
const GAP_PX = 24;

/**
 * @param {HTMLElement} slot holds the run's body
 * @param {HTMLFormElement} composer covers the lower end of the screen
 * @param {HTMLButtonElement} button leads to the end
 * @returns {() => void} to be called when the run is over
 */
export function followAnswer(slot, composer, button) {
  let isFollowing = true;
  let isOver = false;
  let last = scrollY;
  let room = 0;

  /** Return by how much the end of the text is below what can be seen. */
  function hidden() {
    const text = slot.querySelector("#run-answer [data-mirror]")?.lastElementChild;
    if (!text) return 0;
    const cover = composer.getBoundingClientRect();
    const limit = cover.top > innerHeight / 2 ? Math.min(cover.top, innerHeight) : innerHeight;
    return text.getBoundingClientRect().bottom + GAP_PX - limit;
  }

  /** Keep what stands below the answer out of sight, so that nobody sees it pushed down. */
  function keepRoom() {
    const text = slot.querySelector("#run-answer [data-mirror]");
    if (!text || room - text.offsetHeight > innerHeight) return;
    room = text.offsetHeight + 2 * innerHeight;
    slot.style.setProperty("--answer-room", `${room}px`);
  }

  function follow() {
    // Until the answer has its place above the plan, its first words do not move the page.
    if (isOver || slot.querySelector("#run-body[data-awaited]")) return;
    keepRoom();
    const distance = hidden();
    button.hidden = isFollowing || distance <= 0;
    if (!isFollowing || distance <= 0 || isSelecting(slot)) return;
    scrollBy({ top: distance, behavior: "instant" });
    last = scrollY;
  }

  addEventListener("scroll", () => {
    if (scrollY < last) isFollowing = false;
    else if (scrollY > last && hidden() < NEAR_END_PX) isFollowing = true;
    last = scrollY;
    follow();
  }, { passive: true });
  button.addEventListener("click", () => {
    isFollowing = true;
    follow();
  });
  slot.addEventListener("live-text", follow);
  return () => {
    isOver = true;
    button.hidden = true;
  };
}

/** A page that moves takes the text from under the pointer. @param {HTMLElement} slot */
function isSelecting(slot) {
  const selection = getSelection();
  return Boolean(selection && !selection.isCollapsed && slot.contains(selection.anchorNode));
}
