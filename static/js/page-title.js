/** Marks the title of a tab that is not looked at when its run has ended. */

const MARKS = { completed: "✓", failed: "✗", cancelled: "■" };
const title = document.title;

/** @param {string} state of the run */
export function markTitle(state) {
  if (document.hidden && MARKS[state]) document.title = `${MARKS[state]} ${title}`;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) document.title = title;
});
