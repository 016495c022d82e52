/**
 * Diagrams of answers. Model text is hostile, and so may be what the library makes of it: a
 * frame without an origin draws (diagram-frame.js), one diagram at a time, and what it sends
 * back is shown as an image, in which nothing runs or loads. See ADR 23.
 *
 * @typedef {{address: string, width: number, height: number} | {fault: string}} Drawing
 */

import { showLarge } from "./diagram-dialog.js";
import { configuration, onThemeChange, themeName } from "./diagram-theme.js";
import { say } from "./words.js";

const LIBRARY = new URL("../vendor/mermaid/mermaid.min.js", import.meta.url).href;
const SCRIPT = new URL("./diagram-frame.js", import.meta.url).href;
const LONGEST_SOURCE = 10_000;
const LONGEST_RESULT = 2_000_000;
const LARGEST_SIDE = 30_000;
const MOST_DIAGRAMS = 50;
/** A diagram is shrunk to the width of its answer, but no further than to this scale. */
const SMALLEST_SCALE = 0.4;
const LOADING_MS = 30_000;
const PATIENCE_MS = 5_000;
const LARGE = say("This diagram is too large to be drawn.");
const SLOW = say("This diagram takes too long to be drawn.");
const WRONG = say("This diagram cannot be drawn; its source may have a mistake.");

/** By theme and source: a page that is drawn again shows them at once. @type {Map<string, Drawing>} */
const drawings = new Map();
/** @type {{key: string, source: string, blocks: HTMLElement[]}[]} */
const waiting = [];
/** @type {HTMLIFrameElement | null} */
let frame = null;
let timer = 0;

/** Put a diagram in the place of its source, when there is time. @param {HTMLElement} block with a head and `pre` */
export function drawSoon(block) {
  block.dataset.diagram = "waiting";
  const source = block.querySelector("pre").textContent;
  const key = `${themeName()} ${source}`;
  const known = drawings.get(key) ?? refused(source);
  const task = waiting.find((each) => each.key === key);
  if (known) show(block, known);
  else if (task) task.blocks.push(block);
  else if (waiting.push({ key, source, blocks: [block] }) === 1) next();
}

/** @param {string} source @returns {Drawing | null} */
function refused(source) {
  return source.length > LONGEST_SOURCE || drawings.size + waiting.length >= MOST_DIAGRAMS ? { fault: LARGE } : null;
}

function next() {
  clearTimeout(timer);
  if (!waiting.length) closeFrame();
  else if (!frame) openFrame();
  else {
    timer = setTimeout(giveUp, PATIENCE_MS);
    frame.contentWindow.postMessage({ source: waiting[0].source, config: configuration() }, "*");
  }
}

function openFrame() {
  frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.className = "diagram-frame";
  frame.tabIndex = -1;
  frame.ariaHidden = "true";
  frame.srcdoc =
    `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${LIBRARY} ${SCRIPT}">` +
    `<body><script src="${LIBRARY}"></script><script src="${SCRIPT}"></script>`;
  document.body.append(frame);
  timer = setTimeout(giveUpAll, LOADING_MS);
}

function closeFrame() {
  frame?.remove();
  frame = null;
}

function giveUp() {
  closeFrame();
  finish({ fault: SLOW });
}

/** The library did not come. It may do so when the page is drawn again. */
function giveUpAll() {
  closeFrame();
  for (const { blocks } of waiting.splice(0)) for (const block of blocks) show(block, { fault: SLOW });
}

addEventListener("message", ({ source, data }) => {
  if (!frame || source !== frame.contentWindow || !waiting.length) return;
  if (data.isReady) next();
  else finish(drawingOf(data));
});

/** @param {any} data which a hostile frame may have sent @returns {Drawing} */
function drawingOf({ svg, width, height }) {
  if (typeof svg !== "string") return { fault: WRONG };
  const isSide = (side) => side > 0 && side <= LARGEST_SIDE;
  if (svg.length > LONGEST_RESULT || !isSide(width) || !isSide(height)) return { fault: LARGE };
  // Not a blob, which has our origin if it is opened by itself.
  return { address: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`, width, height };
}

/** @param {Drawing} drawing */
function finish(drawing) {
  const { key, blocks } = waiting.shift();
  drawings.set(key, drawing);
  for (const block of blocks) show(block, drawing);
  next();
}

/** @param {HTMLElement} block @param {Drawing} drawing */
function show(block, drawing) {
  const pre = block.querySelector("pre");
  block.querySelector(".diagram, .code-block__note")?.remove();
  if (drawing.fault) {
    block.dataset.diagram = "failed";
    const note = document.createElement("p");
    note.className = "code-block__note hint";
    note.textContent = drawing.fault;
    pre.before(note);
    pre.hidden = false;
    return;
  }
  block.dataset.diagram = "drawn";
  const image = imageOf(drawing, altOf(pre.textContent));
  image.style.minWidth = `${Math.round(drawing.width * SMALLEST_SCALE)}px`;
  const box = document.createElement("div");
  box.className = "diagram";
  box.tabIndex = 0;
  box.append(image);
  pre.before(box);
  const isSource = block.querySelector("[data-source-shown=true]") !== null;
  box.hidden = isSource;
  pre.hidden = !isSource;
  if (!block.querySelector("[data-source-shown]")) addTools(block);
}

/** @param {{address: string, width: number, height: number}} drawing @param {string} alt */
function imageOf({ address, width, height }, alt) {
  const image = new Image(Math.ceil(width), Math.ceil(height));
  image.alt = alt;
  image.src = address;
  return image;
}

/** The title that the source gives its diagram, if any. @param {string} source */
function altOf(source) {
  const title = /^\s*(?:accTitle\s*:|title\b:?)\s*(\S.*)$/m.exec(source)?.[1];
  return title ? `${say("Diagram")}: ${title}` : say("Diagram, whose source can be shown as text");
}

/** @param {HTMLElement} block */
function addTools(block) {
  const copy = block.querySelector(".code-block__head button");
  const toggle = button(say("Source code"), () => {
    const isSource = toggle.dataset.sourceShown !== "true";
    toggle.dataset.sourceShown = isSource;
    toggle.textContent = isSource ? say("Diagram") : say("Source code");
    block.querySelector(".diagram").hidden = isSource;
    block.querySelector("pre").hidden = !isSource;
  });
  toggle.dataset.sourceShown = "false";
  const enlarge = button(say("Enlarge"), () => showLarge(block.querySelector(".diagram img").cloneNode()));
  const tools = document.createElement("div");
  tools.className = "code-block__tools";
  copy.before(tools);
  tools.append(toggle, enlarge, copy);
}

/** @param {string} word as the reader knows it @param {() => void} act */
function button(word, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button button--quiet button--small";
  made.textContent = word;
  made.addEventListener("click", act);
  return made;
}

onThemeChange(() => {
  for (const block of document.querySelectorAll(".code-block[data-diagram=drawn]")) drawSoon(block);
});
