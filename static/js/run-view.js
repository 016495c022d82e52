/**
 * One run on a page, live. The server renders all structure; this class refetches the
 * body when an entry was recorded and swaps what changed, and streams text in between.
 */

import { addCodeButtons } from "./copy.js";
import { startNumbers } from "./live-numbers.js";
import { LiveText } from "./live-text.js";
import { fetchPart, remember, restore, withSeqs } from "./parts.js";
import { Refresher, startBeat } from "./refresher.js";
import { setUpPlanView } from "./plan-view.js";
import { RunSocket } from "./socket.js";
import { localiseTimes } from "./times.js";
import { say } from "./words.js";

const OVER = new Set(["completed", "failed", "cancelled"]);
/** Attributes of a body that decide which of its parts comes first and how high it is. */
const PLACES = ["data-live", "data-awaited", "data-held"];
const LINK_WORDS = {
  lost: say("Connection lost, reconnecting. The run continues and is on record."),
  slow: say("The server has not answered for a while. The run continues and is on record."),
  unreached: say("The server cannot be reached, so the run is not stopped yet. Stop is sent again until it arrives."),
  unstopped: say("The run could not be stopped and goes on. Try again, or reload the page."),
  refused: say("Live updates are not available any more. Reload the page to go on."),
};

/** How long the server may take to answer before the page says so. */
const PATIENCE_MS = 1_500;
const STOP_AGAIN_MS = 1_000;

export class RunView {
  /**
   * @param {HTMLElement} slot holds the run's body
   * @param {{onState?: (state: string) => void}} [options]
   */
  constructor(slot, options = {}) {
    this.slot = slot;
    this.onState = options.onState ?? (() => {});
    this.live = new LiveText(slot);
    this.plan = setUpPlanView(slot);
    this.refresher = new Refresher(() => this.refresh());
    /** True while the page says that the server did not answer it. */
    this.hasFailed = false;
  }

  /** @returns {HTMLElement | null} */
  get body() { return this.slot.querySelector("#run-body"); }
  get state() { return this.body?.dataset.state ?? ""; }
  get isOver() { return OVER.has(this.state); }

  /** Follow the run whose body is in the slot. */
  follow() {
    this.announce();
    if (!this.body || this.isOver) return;
    this.socket = new RunSocket(`runs/${this.body.dataset.runId}`, Number(this.body.dataset.seq), {
      onEvent: () => this.refresher.soon(),
      onPiece: (piece) => this.live.add(piece),
      onEnd: () => this.refresher.soon(),
      onLink: (state) => showLink(this.slot.querySelector("#run-link"), state),
    });
    this.beat = startBeat(this.refresher, () => this.isOver);
    this.stopNumbers = startNumbers(this.slot, () => this.live);
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
    this.stopNumbers?.();
    this.refresher.stop();
  }

  get link() { return this.slot.querySelector("#run-link"); }

  /**
   * Ask for the run to be stopped, again and again while the server cannot be reached.
   * @returns {Promise<boolean>} whether it was asked; if the server refused, the page says so
   */
  async stop() {
    const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
    const { cancelUrl, runId } = this.body.dataset;
    const isOurs = () => this.body?.dataset.runId === runId && !this.isOver;
    while (isOurs()) {
      const response = await fetch(cancelUrl, {
        method: "POST",
        headers: { "X-CSRFToken": token, Accept: "application/json" },
      }).catch(() => null);
      if (response) {
        showLink(this.link, response.ok ? "open" : "unstopped");
        return response.ok;
      }
      if (isOurs()) showLink(this.link, "unreached");
      await new Promise((resolve) => { setTimeout(resolve, STOP_AGAIN_MS); });
    }
    return true;
  }

  async refresh() {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      if (this.link?.hidden) showLink(this.link, "slow");
    }, PATIENCE_MS);
    try {
      const fresh = await fetchPart(withSeqs(this.body.dataset.bodyUrl, this.body.dataset.seq), "#run-body");
      if (isSlow || this.hasFailed) showLink(this.link, "open");
      this.hasFailed = false;
      if (fresh.dataset.runId === this.body?.dataset.runId) this.swap(fresh);
    } catch (reason) {
      if (this.link?.hidden) {
        this.hasFailed = true;
        showLink(this.link, "lost");
      }
      throw reason;
    } finally {
      clearTimeout(timer);
    }
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
    const isMoved = PLACES.some((name) => fresh.hasAttribute(name) !== this.body.hasAttribute(name));
    const cards = [this.body, fresh].map((body) => body.querySelector("#run-cards"));
    if (isMoved) cards[0].replaceWith(cards[1]);
    else if (isNews) mergeCards(...cards);
    for (const name of PLACES) this.body.toggleAttribute(name, fresh.hasAttribute(name));
    Object.assign(this.body.dataset, { state: fresh.dataset.state, seq: fresh.dataset.seq });
    restore(this.body, memory);
    this.dress();
    if (isNews) document.dispatchEvent(new Event("run-news"));
    if (before !== this.state) this.announce();
  }

  dress() {
    localiseTimes(this.slot);
    addCodeButtons(this.slot);
    this.live.repaint();
    this.plan.show();
  }

  announce() {
    const status = document.querySelector("#run-status");
    const word = this.body?.querySelector("#run-summary .badge")?.textContent ?? "";
    if (status && word) status.textContent = say("Run: {state}").replace("{state}", word);
    if (this.isOver) this.endNumbers();
    this.onState(this.state);
  }

  /** Let no number count on. Their line stays, so that the answer does not move. */
  endNumbers() {
    this.stopNumbers?.();
    const left = this.body?.querySelector("#run-pace [data-left]");
    if (left) left.textContent = "\u00a0";
    this.body?.querySelector("#run-pace [data-notify]")?.remove();
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
