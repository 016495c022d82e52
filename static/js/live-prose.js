/**
 * An answer that is being written, formatted. The server formats: blocks that no further
 * text can change come once and are never drawn again; the open block at the end is drawn
 * anew now and then, and text that came since is added to it as text.
 */

import { addCodeButtons } from "./copy.js";

const PAUSE_MS = 200;
/** Of the time that the server took: it must not do much else but this. */
const REST = 3;
/** From the first of these on, further text waits until it is formatted. */
const MARK = /[\n`*_~[\]|$\\&]/;
const MARK_IN_CODE = /\n[ >]*[`~]/;
const BLOCKS = new Set(["P", "UL", "OL", "LI", "BLOCKQUOTE", "PRE", "DIV", "SECTION", "H1", "H2", "H3", "H4", "H5", "H6"]);

export class LiveProse {
  /** @param {string} url formats a text @param {() => void} onFormatted */
  constructor(url, onFormatted) {
    this.url = url;
    this.onFormatted = onFormatted;
    this.text = "";
    this.reset();
  }

  reset() {
    this.box = document.createElement("div");
    this.box.dataset.formatted = "";
    /** Characters in closed blocks, and characters that are drawn. */
    this.closed = 0;
    this.drawn = 0;
    /** @type {Element[]} */
    this.open = [];
    this.tail = new Text("");
    /** What the server formatted since: it is drawn with the text that came meanwhile. @type {(() => void) | null} */
    this.formatted = null;
    this.isAsking = false;
    this.pause = 0;
    this.isPlain = false;
    this.version = (this.version ?? 0) + 1;
  }

  /**
   * Show the text in an area.
   * @param {HTMLElement} area @param {string} text
   * @returns {boolean} whether it is shown; if not, it cannot be formatted
   */
  show(area, text) {
    if (!text.startsWith(this.text.slice(0, this.drawn))) this.reset();
    this.text = text;
    this.formatted?.();
    this.formatted = null;
    if (this.isPlain) return false;
    if (!this.drawn && !this.isAsking) this.ask();
    // Until the first part is there, nothing: plain text would jump.
    if (!this.drawn) return true;
    if (this.box.parentElement !== area) {
      area.replaceChildren(this.box);
      area.classList.add("live--formatted");
    }
    const rest = text.slice(this.drawn);
    const mark = rest.search(this.tail.parentElement?.tagName === "CODE" ? MARK_IN_CODE : MARK);
    this.tail.data = mark < 0 ? rest : rest.slice(0, mark);
    if (mark >= 0 || (rest && !this.tail.isConnected)) this.ask();
    return true;
  }

  async ask() {
    if (this.isAsking || performance.now() < this.pause) {
      this.later ||= setTimeout(() => { this.later = 0; this.onFormatted(); }, PAUSE_MS);
      return;
    }
    this.isAsking = true;
    const { version, closed } = this;
    const asked = this.text.slice(closed);
    const began = performance.now();
    const answer = await this.fetch(asked);
    if (version !== this.version) return;
    this.isAsking = false;
    this.pause = performance.now() + Math.max(PAUSE_MS, REST * (performance.now() - began));
    if (answer) this.formatted = () => this.draw(answer, closed + asked.length);
    else this.isPlain = true;
    this.onFormatted();
  }

  /** @param {string} text */
  async fetch(text) {
    const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
    try {
      const response = await fetch(this.url, {
        method: "POST",
        body: text,
        headers: { "X-CSRFToken": token, "Content-Type": "text/plain;charset=UTF-8", Accept: "application/json" },
      });
      return response.ok ? (await response.json()).formatted : null;
    } catch {
      return null;
    }
  }

  /** @param {{closed: number, closed_html: string, open_html: string}} answer @param {number} drawn */
  draw(answer, drawn) {
    for (const block of this.open) block.remove();
    this.box.append(...elementsOf(answer.closed_html));
    addCodeButtons(this.box);
    this.closed += answer.closed;
    this.drawn = drawn;
    const closedBlocks = this.box.childElementCount;
    this.box.append(...elementsOf(answer.open_html));
    addCodeButtons(this.box);
    this.open = [...this.box.children].slice(closedBlocks);
    this.tail.data = "";
    this.tail.remove();
    placeOfTail(this.box)?.append(this.tail);
  }
}

/** @param {string} html which the server has made safe */
function elementsOf(html) {
  return [...new DOMParser().parseFromString(html, "text/html").body.children].map((each) => document.adoptNode(each));
}

/** Where further text goes until it is formatted; in a table or formula: nowhere. @param {Element} box */
function placeOfTail(box) {
  let place = box;
  for (let last = place.lastElementChild; last && isBlock(last); last = place.lastElementChild) place = last;
  if (place.closest(".table-scroll") || place.querySelector(":scope > math[display=block]")) return null;
  return place === box ? null : place;
}

/** @param {Element} element */
function isBlock(element) {
  return BLOCKS.has(element.tagName) || (element.tagName === "CODE" && element.parentElement.tagName === "PRE");
}
