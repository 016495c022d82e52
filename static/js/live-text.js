/**
 * The text of calls that still run. Buffers are the truth, elements only show them, so a
 * card may be redrawn at any time. Text is appended as text: it can never become markup.
 *
 * @typedef {{attempt: number, text: string, reasoning: string, hasGap: boolean}} Buffer
 */

const NEAR_BOTTOM_PX = 40;

/** @param {string} text @returns {string} what may be shown as an answer while it streams */
export function visibleText(text) {
  let shown = text.replace(/<think>[\s\S]*?<\/think>/g, "");
  const open = shown.indexOf("<think>");
  if (open >= 0) shown = shown.slice(0, open);
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
    this.frame ||= requestAnimationFrame(() => this.paint());
  }

  /** Show every buffer again, after the server's part of the page was redrawn. */
  repaint() {
    for (const key of this.buffers.keys()) this.dirty.add(key);
    this.paint();
  }

  paint() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    for (const key of this.dirty) {
      const buffer = this.buffers.get(key);
      const area = this.root.querySelector(`[data-live="${key}"]`);
      if (buffer && area && Number(area.dataset.attempt) <= buffer.attempt) fillArea(area, buffer);
      const answer = this.root.querySelector(`[data-final="${key}"]`);
      if (buffer && answer) mirror(answer, visibleText(buffer.text));
    }
    this.dirty.clear();
  }
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
    setText(thoughts.firstChild, buffer.text ? `${buffer.reasoning}\n\n` : buffer.reasoning);
  }
  let text = area.lastChild;
  if (text?.nodeType !== Node.TEXT_NODE) {
    text = new Text("");
    if (buffer.text) area.append(text);
  }
  setText(text, buffer.text);
  if (isAtEnd) area.scrollTop = area.scrollHeight;
}

/** @param {HTMLElement} answer @param {string} text */
function mirror(answer, text) {
  const area = answer.querySelector("[data-mirror]");
  if (!area || !text) return;
  answer.hidden = false;
  if (!area.firstChild) area.append(new Text(""));
  setText(area.firstChild, text);
}

/** Append where possible, so a selection inside the text survives. @param {Text} node @param {string} text */
function setText(node, text) {
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}
