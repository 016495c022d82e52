/**
 * One run on a page, live. The server renders all structure; this class refetches the
 * body when an entry was recorded and swaps what changed, and streams text in between.
 */

import { addCodeButtons } from "./copy.js";
import { LiveText } from "./live-text.js";
import { fetchPart, remember, restore, withSeqs } from "./parts.js";
import { Refresher, startBeat } from "./refresher.js";
import { RunSocket } from "./socket.js";
import { localiseTimes } from "./times.js";

const OVER = new Set(["completed", "failed", "cancelled"]);
const LINK_WORDS = {
  lost: "Connection lost, reconnecting. The run goes on and is on record.",
  unreached: "The server could not be reached, so the run was not stopped and goes on. Try again.",
  unstopped: "The run could not be stopped and goes on. Try again, or reload the page.",
  refused: "Live updates are not available any more. Reload the page to go on.",
};

export class RunView {
  /**
   * @param {HTMLElement} slot holds the run's body
   * @param {{onState?: (state: string) => void}} [options]
   */
  constructor(slot, options = {}) {
    this.slot = slot;
    this.onState = options.onState ?? (() => {});
    this.live = new LiveText(slot);
    this.refresher = new Refresher(() => this.refresh());
  }

  /** @returns {HTMLElement | null} */
  get body() { return this.slot.querySelector("#run-body"); }
  get state() { return this.body?.dataset.state ?? ""; }
  get isOver() { return OVER.has(this.state); }

  /** Follow the run whose body is in the slot. */
  follow() {
    this.announce();
    if (!this.body || this.isOver) return;
    this.socket = new RunSocket(this.body.dataset.runId, Number(this.body.dataset.seq), {
      onEvent: () => this.refresher.soon(),
      onPiece: (piece) => this.live.add(piece),
      onEnd: () => this.refresher.soon(),
      onLink: (state) => showLink(this.slot.querySelector("#run-link"), state),
    });
    this.beat = startBeat(this.refresher, () => this.isOver);
  }

  /** Fetch and show a run's body, then follow it. @param {string} bodyUrl */
  async load(bodyUrl) {
    this.leave();
    this.live = new LiveText(this.slot);
    const fresh = await fetchPart(bodyUrl, "#run-body");
    this.slot.replaceChildren(fresh);
    this.dress();
    this.follow();
  }

  /** Stop following. */
  leave() {
    this.socket?.close();
    clearInterval(this.beat);
    this.refresher.stop();
  }

  /** Ask for the run to be stopped; if that fails, say so. @returns {Promise<boolean>} whether it was asked */
  async stop() {
    const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
    const response = await fetch(this.body.dataset.cancelUrl, {
      method: "POST",
      headers: { "X-CSRFToken": token, Accept: "application/json" },
    }).catch(() => null);
    if (!response?.ok) showLink(this.slot.querySelector("#run-link"), response ? "unstopped" : "unreached");
    return Boolean(response?.ok);
  }

  async refresh() {
    const fresh = await fetchPart(withSeqs(this.body.dataset.bodyUrl, this.body.dataset.seq), "#run-body");
    if (fresh.dataset.runId === this.body?.dataset.runId) this.swap(fresh);
  }

  /** @param {HTMLElement} fresh */
  swap(fresh) {
    const before = this.state;
    if (Number(fresh.dataset.seq) < Number(this.body.dataset.seq)) return;
    const memory = remember(this.body);
    // Without a new entry only times have moved; text that is being read stays as it is.
    const isNews = Number(fresh.dataset.seq) > Number(this.body.dataset.seq) || fresh.dataset.state !== before;
    for (const part of fresh.querySelectorAll(isNews ? "[data-swap]" : "[data-moves]")) {
      this.body.querySelector(`#${part.id}`)?.replaceWith(part);
    }
    if (isNews) mergeCards(this.body.querySelector("#run-cards"), fresh.querySelector("#run-cards"));
    Object.assign(this.body.dataset, { state: fresh.dataset.state, seq: fresh.dataset.seq });
    restore(this.body, memory);
    this.dress();
    if (before !== this.state) this.announce();
  }

  dress() {
    localiseTimes(this.slot);
    addCodeButtons(this.slot);
    this.live.repaint();
  }

  announce() {
    const status = document.querySelector("#run-status");
    const word = this.body?.querySelector("#run-summary .badge")?.textContent ?? "";
    if (status && word) status.textContent = `Run: ${word}`;
    this.onState(this.state);
  }

}

/** Say on a line of the page how the connection is. @param {HTMLElement | null} line @param {keyof typeof LINK_WORDS | "open"} state */
export function showLink(line, state) {
  if (!line) return;
  line.hidden = state === "open";
  line.textContent = LINK_WORDS[state] ?? "";
}

/** Take new and changed cards; leave the others, and all they hold, alone. @param {HTMLElement} old @param {HTMLElement} fresh */
function mergeCards(old, fresh) {
  let place = old.firstElementChild;
  for (const card of [...fresh.children]) {
    const known = old.querySelector(`:scope > #${CSS.escape(card.id)}`);
    if (!known) {
      old.insertBefore(card, place);
    } else if (known.dataset.version !== card.dataset.version) {
      known.replaceWith(card);
      place = card.nextElementSibling;
    } else {
      place = known.nextElementSibling;
    }
  }
}
