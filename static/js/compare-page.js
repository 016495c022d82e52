/** Answers side by side: one socket follows them all, the server draws them again. */

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
const link = document.querySelector("#comparison-link");
const refresher = new Refresher(refresh);
const columns = [...root.querySelectorAll("[data-column]")];
const texts = columns.map((column) => new LiveText(column));
const isOver = () => columns.every((column) => "over" in column.dataset);
const isSettled = () => isOver() && !("judging" in root.dataset);

tick("compare");
setUpFormatting();
if (!isOver()) follow();
// Figures move while answers are written, but before the vote there are none to show.
if (!isSettled() && ("revealed" in root.dataset || isOver())) startBeat(refresher, isSettled);

function follow() {
  new RunSocket(`comparisons/${root.dataset.comparisonId}`, 0, {
    onEvent: () => refresher.soon(),
    onPiece: (piece) => texts[piece.column].add(piece),
    onEnd: () => refresher.soon(),
    onLink: (state) => showLink(link, state),
  });
}

async function refresh() {
  const seqs = columns.map((column) => column.dataset.seq);
  const fresh = await fetchPart(withSeqs(root.dataset.bodyUrl, ...seqs), "#comparison");
  const wasOver = isOver();
  columns.forEach((column, i) => swap(column, fresh.querySelector(`#${column.id}`), texts[i]));
  const words = root.querySelector("#comparison-words");
  const newWords = fresh.querySelector("#comparison-words");
  // The same words again would be read out again.
  if (words.textContent !== newWords.textContent) words.replaceChildren(...newWords.children);
  root.querySelector("#step-pairs").replaceWith(fresh.querySelector("#step-pairs"));
  // What is being written in the forms stays, unless there were none or a judge is done.
  const wasJudging = "judging" in root.dataset;
  if (wasOver === isOver() && wasJudging === ("judging" in fresh.dataset)) return;
  root.toggleAttribute("data-judging", "judging" in fresh.dataset);
  for (const id of ["comparison-tools", "comparison-decide"]) {
    root.querySelector(`#${id}`).replaceWith(fresh.querySelector(`#${id}`));
  }
  localiseTimes(root);
}

/** @param {HTMLElement} column @param {HTMLElement} fresh @param {LiveText} text */
function swap(column, fresh, text) {
  const news = Number(fresh.dataset.seq) - Number(column.dataset.seq);
  if (news < 0 || (news === 0 && "over" in column.dataset)) return;
  if (news === 0) {
    // Only times have moved; text that is being read stays as it is.
    const moving = fresh.querySelector("[data-moves]");
    if (moving) column.querySelector("[data-moves]")?.replaceWith(moving);
    text.repaint();
    return;
  }
  const memory = remember(column);
  column.querySelector("[data-part]").replaceWith(fresh.querySelector("[data-part]"));
  column.dataset.seq = fresh.dataset.seq;
  if ("over" in fresh.dataset) column.dataset.over = "";
  restore(column, memory);
  localiseTimes(column);
  addCodeButtons(column);
  text.repaint();
}
