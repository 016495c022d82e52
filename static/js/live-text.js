/**
 * The text of calls that still run. Buffers are the truth, elements only show them, so a
 * card may be redrawn at any time. Text is appended as text, or comes formatted and safe
 * from the server: it can never become markup by itself.
 *
 * @typedef {{attempt: number, text: string, reasoning: string, hasGap: boolean}} Buffer
 */

import { LiveProse } from "./live-prose.js";

const NEAR_BOTTOM_PX = 40;
const SHOWN_CHARACTERS = 20_000;
const UNBROKEN_CHARACTERS = 300;
/** A block of text takes the browser the square of its changes of script and direction. */
const PIECE = 16_000;
const SHORT_PIECE = 2_000;
const FOREIGN_IN_PIECE = 1_000;
/** Characters of a step's newest words that are looked at, and that its box shows. */
const WORDS_SEARCHED = 400;
const WORDS_SHOWN = 34;
const BYTES_PER_TOKEN = 4;
const COUNT_EVERY_MS = 250;
/** However many pieces come, the page is drawn so often at most. */
const PAINT_EVERY_MS = 75;
const OPEN = "<think>";
const CLOSE = "</think>";

/** @param {string} text @returns {string} what may be shown as an answer while it streams */
export function visibleText(text) {
  let shown = "";
  let end = 0;
  for (let open = text.indexOf(OPEN); open >= 0; open = text.indexOf(OPEN, end)) {
    shown += text.slice(end, open);
    end = text.indexOf(CLOSE, open);
    // Thinking that has not ended hides all that follows.
    end = end < 0 ? text.length : end + CLOSE.length;
  }
  shown += text.slice(end);
  return shown.replace(/<(?:t(?:h(?:i(?:n(?:k)?)?)?)?)?$/, "").trimStart();
}

export class LiveText {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {Map<string, Buffer>} */
    this.buffers = new Map();
    /** @type {Set<string>} */
    this.dirty = new Set();
    this.frame = 0;
    this.timer = 0;
    this.paintedAt = 0;
    this.countedAt = 0;
    /** @type {Map<string, LiveProse>} */
    this.prose = new Map();
  }

  /** @param {import("./socket.js").Piece} piece */
  add(piece) {
    const key = `${piece.round}-${piece.step ?? ""}`;
    let buffer = this.buffers.get(key);
    if (!buffer || buffer.attempt < piece.attempt) {
      buffer = { attempt: piece.attempt, text: "", reasoning: "", hasGap: false };
      this.buffers.set(key, buffer);
    }
    if (piece.attempt < buffer.attempt) return;
    // Offset 0 with text repeats all so far: it heals every gap, and doubles are dropped.
    const known = buffer.text.length;
    if (piece.offset === 0 && known > 0) {
      if (piece.text.length >= known) Object.assign(buffer, { text: piece.text, hasGap: false });
      if (piece.reasoning.length >= buffer.reasoning.length) buffer.reasoning = piece.reasoning;
    } else if (piece.offset <= known) {
      buffer.text += piece.text.slice(known - piece.offset);
      if (piece.offset === known) buffer.reasoning += piece.reasoning;
    } else {
      // A piece is missing. The finished text comes from the server anyway.
      buffer.text += `\n[…]\n${piece.text}`;
      buffer.hasGap = true;
    }
    this.touch(key);
  }

  /** @param {string} key */
  touch(key) {
    this.dirty.add(key);
    if (this.frame || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.frame = requestAnimationFrame(() => this.paint());
    }, Math.max(0, this.paintedAt + PAINT_EVERY_MS - performance.now()));
  }

  /** Show every buffer again, after the server's part of the page was redrawn. */
  repaint() {
    for (const key of this.buffers.keys()) this.dirty.add(key);
    this.countedAt = 0;
    this.paint();
  }

  paint() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.frame = this.timer = 0;
    this.paintedAt = performance.now();
    for (const key of this.dirty) {
      const buffer = this.buffers.get(key);
      const area = this.root.querySelector(`[data-live="${key}"]`);
      if (buffer && area && Number(area.dataset.attempt) <= buffer.attempt) fillArea(area, buffer);
      const line = this.root.querySelector(`[data-newest="${key}"]`);
      if (buffer && line && Number(line.dataset.attempt) <= buffer.attempt) line.textContent = newestWords(buffer) || line.textContent;
      const answer = this.root.querySelector(`[data-final="${key}"]`);
      if (buffer && answer) this.mirror(key, answer, visibleText(buffer.text));
    }
    this.dirty.clear();
    this.root.dispatchEvent(new Event("live-text"));
    if (performance.now() - this.countedAt > COUNT_EVERY_MS) this.count();
  }

  /** @param {string} key @param {HTMLElement} answer @param {string} text */
  mirror(key, answer, text) {
    const area = answer.querySelector("[data-mirror]");
    if (!area || !text) return;
    answer.hidden = false;
    const partial = area.closest("[data-partial]");
    if (partial) partial.hidden = false;
    if (area.dataset.formatUrl) {
      if (!this.prose.has(key)) this.prose.set(key, new LiveProse(area.dataset.formatUrl, () => this.touch(key)));
      const prose = this.prose.get(key);
      // Closed blocks are drawn once; only what is open costs more the longer it is.
      if (!isDense(text.slice(prose.closed)) && prose.show(area, text)) return;
    }
    area.classList.remove("live--formatted");
    area.classList.toggle("dense", isDense(text));
    setPieces(area, text);
  }

  /** Say how many tokens the calls in flight have written, by the length of their text. */
  count() {
    this.countedAt = performance.now();
    for (const place of this.root.querySelectorAll("[data-writing]")) {
      const tokens = place.dataset.writing.split(" ").reduce((sum, name) => sum + this.tokensOf(name), 0);
      place.querySelector("[data-estimate]").textContent = `≈ ${Math.ceil(tokens).toLocaleString("en")}`;
      place.hidden = !tokens;
    }
  }

  /** @param {string} name a call: its key and its attempt */
  tokensOf(name) {
    const [key, attempt] = name.split(":");
    const buffer = this.buffers.get(key);
    if (buffer?.attempt !== Number(attempt)) return 0;
    return new TextEncoder().encode(buffer.text + buffer.reasoning).length / BYTES_PER_TOKEN;
  }
}

/** @param {Buffer} buffer @returns {string} its last whole words, in one line */
function newestWords(buffer) {
  const text = (visibleText(buffer.text) || buffer.reasoning).slice(-WORDS_SEARCHED).replace(/\s+/g, " ").trim();
  if (text.length <= WORDS_SHOWN) return text;
  const end = text.slice(-WORDS_SHOWN);
  return `… ${end.slice(end.indexOf(" ") + 1)}`;
}

/** @param {HTMLElement} area @param {Buffer} buffer */
function fillArea(area, buffer) {
  const isAtEnd = area.scrollHeight - area.scrollTop - area.clientHeight < NEAR_BOTTOM_PX;
  if (buffer.reasoning) {
    let thoughts = area.querySelector(".live__reasoning");
    if (!thoughts) {
      thoughts = document.createElement("span");
      thoughts.className = "live__reasoning";
      thoughts.append(new Text(""));
      area.prepend(thoughts);
    }
    setText(thoughts.firstChild, buffer.text ? `${lastPart(buffer.reasoning)}\n\n` : lastPart(buffer.reasoning));
  }
  const shown = lastPart(buffer.text);
  area.classList.toggle("dense", isDense(shown) || isDense(buffer.reasoning));
  if (shown) setPieces(area, shown);
  if (isAtEnd) area.scrollTop = area.scrollHeight;
}

/** What an area shows. @type {WeakMap<HTMLElement, string>} */
const shownIn = new WeakMap();

/**
 * Show a text in blocks of a bounded length, of which only the last one grows.
 * @param {HTMLElement} area @param {string} text
 */
function setPieces(area, text) {
  let shown = shownIn.get(area) ?? "";
  if (!text.startsWith(shown) || area.querySelector(":scope > [data-formatted]")) {
    for (const part of area.querySelectorAll(":scope > .piece, :scope > [data-formatted]")) part.remove();
    shown = "";
  }
  shownIn.set(area, text);
  let last = area.querySelector(":scope > .piece:last-child")?.firstChild;
  for (let rest = text.slice(shown.length); rest || !last;) {
    if (!last) {
      const piece = document.createElement("span");
      piece.className = "piece";
      last = piece.appendChild(new Text(""));
      area.append(piece);
    }
    last.appendData(rest);
    const end = endOfPiece(last.data);
    rest = last.data.slice(end);
    last.deleteData(end, rest.length);
    if (rest) last = null;
  }
}

/** Return where a piece ends: after a line or a word if possible. @param {string} text */
function endOfPiece(text) {
  const isShort = (text.slice(0, PIECE).match(/[^\u0000-\u00ff]/g)?.length ?? 0) > FOREIGN_IN_PIECE;
  const longest = isShort ? SHORT_PIECE : PIECE;
  if (text.length <= longest) return text.length;
  return text.lastIndexOf("\n", longest - 1) + 1 || text.lastIndexOf(" ", longest - 1) + 1 || longest;
}

/**
 * The end of a text, so that drawing a frame takes the same time however long it grows.
 * The whole text follows from the server when the call has ended.
 * @param {string} text
 */
function lastPart(text) {
  if (text.length < 2 * SHOWN_CHARACTERS) return text;
  // In whole steps: the start of what is shown, and a selection in it, stay for a while.
  const cut = Math.floor((text.length - SHOWN_CHARACTERS) / SHOWN_CHARACTERS) * SHOWN_CHARACTERS;
  return `[…]\n${text.slice(cut)}`;
}

/** Say whether lines have no good place to break; see `.dense` in run.css. @param {string} text */
function isDense(text) {
  return text.length > SHOWN_CHARACTERS || text.split(/[ \t\n]/).some((word) => word.length >= UNBROKEN_CHARACTERS);
}

/** Append where possible, so a selection inside the text survives. @param {Text} node @param {string} text */
function setText(node, text) {
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}
