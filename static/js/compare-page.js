/** Two runs side by side: each side follows its own run, the server draws both again. */

import { addCodeButtons } from "./copy.js";
import { tick } from "./first-minute.js";
import { setUpFormatting } from "./formatted.js";
import { LiveText } from "./live-text.js";
import { fetchPart, remember, restore, withSeqs } from "./parts.js";
import { Refresher, startBeat } from "./refresher.js";
import { showLink } from "./run-view.js";
import { RunSocket } from "./socket.js";
import { localiseTimes } from "./times.js";

const root = document.querySelector("#comparison");
tick("compare");
setUpFormatting();
const refresher = new Refresher(refresh);
/** @type {Map<string, LiveText>} */
const texts = new Map();

const sides = [...root.querySelectorAll(".side")];
const isOver = (side) => "over" in side.dataset;

for (const side of sides) if (!isOver(side)) follow(side);
if (!sides.every(isOver)) startBeat(refresher, () => sides.every(isOver));

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
  const seqs = sides.map((side) => side.dataset.seq);
  const fresh = await fetchPart(withSeqs(root.dataset.bodyUrl, ...seqs), "#comparison");
  for (const side of sides) swap(side, fresh.querySelector(`#${side.id}`));
  const words = root.querySelector("#comparison-words");
  const newWords = fresh.querySelector("#comparison-words");
  // The same words again would be read out again.
  if (words.textContent !== newWords.textContent) words.replaceChildren(...newWords.children);
  root.querySelector("#step-pairs").replaceWith(fresh.querySelector("#step-pairs"));
}

/** @param {HTMLElement} side @param {HTMLElement} fresh */
function swap(side, fresh) {
  const news = Number(fresh.dataset.seq) - Number(side.dataset.seq);
  if (news < 0 || (news === 0 && isOver(side))) return;
  if (news === 0) {
    // Only times have moved; text that is being read stays as it is.
    side.querySelector("[data-moves]").replaceWith(fresh.querySelector("[data-moves]"));
    texts.get(side.id)?.repaint();
    return;
  }
  const memory = remember(side);
  side.querySelector("[data-part]").replaceWith(fresh.querySelector("[data-part]"));
  side.dataset.seq = fresh.dataset.seq;
  if (isOver(fresh)) side.dataset.over = "";
  restore(side, memory);
  localiseTimes(side);
  addCodeButtons(side);
  texts.get(side.id)?.repaint();
}
