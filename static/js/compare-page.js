/** Two runs side by side: each side follows its own run, the server draws both again. */

import { addCodeButtons } from "./copy.js";
import { setUpFormatting } from "./formatted.js";
import { LiveText } from "./live-text.js";
import { fetchPart, remember, restore } from "./parts.js";
import { Refresher } from "./refresher.js";
import { showLink } from "./run-view.js";
import { RunSocket } from "./socket.js";
import { localiseTimes } from "./times.js";

const root = document.querySelector("#comparison");
setUpFormatting();
const refresher = new Refresher(refresh);
/** @type {Map<string, LiveText>} */
const texts = new Map();

for (const side of root.querySelectorAll(".side")) {
  if (!("over" in side.dataset)) follow(side);
}

/** @param {HTMLElement} side */
function follow(side) {
  const text = new LiveText(side);
  texts.set(side.id, text);
  new RunSocket(side.dataset.runId, Number(side.dataset.seq), {
    onEvent: () => refresher.soon(),
    onPiece: (piece) => text.add(piece),
    onEnd: () => refresher.soon(),
    onLink: (state) => showLink(side.querySelector("[data-link]"), state),
  });
}

async function refresh() {
  const fresh = await fetchPart(root.dataset.bodyUrl, "#comparison");
  for (const side of root.querySelectorAll(".side")) swap(side, fresh.querySelector(`#${side.id}`));
  const words = root.querySelector("#comparison-words");
  const newWords = fresh.querySelector("#comparison-words");
  // The same words again would be read out again.
  if (words.textContent !== newWords.textContent) words.replaceChildren(...newWords.children);
}

/** @param {HTMLElement} side @param {HTMLElement} fresh */
function swap(side, fresh) {
  if (Number(fresh.dataset.seq) <= Number(side.dataset.seq)) return;
  const memory = remember(side);
  side.querySelector("[data-part]").replaceWith(fresh.querySelector("[data-part]"));
  side.dataset.seq = fresh.dataset.seq;
  restore(side, memory);
  localiseTimes(side);
  addCodeButtons(side);
  texts.get(side.id)?.repaint();
}
