/** A diagram over the whole page, to be enlarged and moved about. */

import { say } from "./words.js";

const STEP = 1.4;
const SMALLEST = 0.1;
const LARGEST = 8;
const LARGEST_FIT = 2;
/** Free on each side of a diagram that fits; as `.diagram-dialog__place` in run.css. */
const PADDING_PX = 16;

/** @param {HTMLImageElement} image which the dialog takes */
export function showLarge(image) {
  const [width, height] = ["width", "height"].map((name) => Number(image.getAttribute(name)));
  const place = document.createElement("div");
  place.className = "diagram-dialog__place";
  place.tabIndex = 0;
  place.append(image);
  let scale = 1;
  const zoom = (/** @type {number} */ to) => {
    scale = Math.min(LARGEST, Math.max(SMALLEST, to));
    image.style.minWidth = image.style.width = `${width * scale}px`;
  };
  const dialog = document.createElement("dialog");
  dialog.className = "dialog diagram-dialog";
  dialog.setAttribute("aria-label", say("Diagram"));
  const head = document.createElement("header");
  head.className = "dialog__head";
  const title = document.createElement("h2");
  title.textContent = say("Diagram");
  const tools = document.createElement("div");
  tools.className = "code-block__tools";
  tools.append(
    button(say("Make smaller"), "−", () => zoom(scale / STEP)),
    button(say("Make larger"), "+", () => zoom(scale * STEP)),
    button(say("Close"), "×", () => dialog.close()),
  );
  head.append(title, tools);
  dialog.append(head, place);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", ({ target }) => { if (target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  const [across, down] = [place.clientWidth, place.clientHeight].map((side) => side - 2 * PADDING_PX);
  zoom(Math.min(LARGEST_FIT, across / width, down / height));
}

/** @param {string} word @param {string} sign @param {() => void} act */
function button(word, sign, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button button--quiet button--icon";
  made.textContent = sign;
  made.title = word;
  made.setAttribute("aria-label", word);
  made.addEventListener("click", act);
  return made;
}
