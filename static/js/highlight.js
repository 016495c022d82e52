/** Colours of code on a page. The library is loaded when the first block of code is. */

const LONGEST = 20_000;
const PATIENCE_MS = 1_000;
/** @type {HTMLElement[]} */
const waiting = [];
/** @type {Worker | null} */
let worker = null;
/** @type {HTMLElement | null} */
let current = null;
let timer = 0;

/** Colour a block as soon as there is time. @param {HTMLElement} code @param {string} language */
export function highlightSoon(code, language) {
  if (!language || code.dataset.highlight || code.textContent.length > LONGEST) return;
  code.dataset.highlight = language;
  waiting.push(code);
  if (!current) next();
}

function next() {
  clearTimeout(timer);
  do current = waiting.shift() ?? null; while (current && !current.isConnected);
  if (!current) return;
  worker ??= started();
  timer = setTimeout(giveUp, PATIENCE_MS);
  worker.postMessage({ language: current.dataset.highlight, code: current.textContent });
}

function started() {
  const fresh = new Worker(new URL("./highlight-worker.js", import.meta.url), { type: "module" });
  fresh.addEventListener("message", ({ data }) => {
    if (data && current.isConnected) paint(current, data);
    next();
  });
  // Without the library code stays as it is.
  fresh.addEventListener("error", giveUp);
  return fresh;
}

function giveUp() {
  worker.terminate();
  worker = null;
  next();
}

/**
 * Put the library's spans around the code, if they hold the same text; nothing else.
 * @param {HTMLElement} code @param {string} html
 */
function paint(code, html) {
  const coloured = new DOMParser().parseFromString(html, "text/html").body;
  if (coloured.textContent === code.textContent) code.replaceChildren(...copied(coloured));
}

/** @param {Element} element @returns {Node[]} */
function copied(element) {
  return [...element.childNodes].map((node) => {
    if (node.nodeType === Node.TEXT_NODE) return new Text(node.data);
    const span = document.createElement("span");
    span.className = node.className;
    span.append(...copied(node));
    return span;
  });
}
