/**
 * One run on a page, live. The server renders all structure; this class refetches the
 * body when an entry was recorded and swaps what changed, and streams text in between.
 */

import { addCodeButtons } from "./copy.js";
import { LiveText } from "./live-text.js";
import { RunSocket } from "./socket.js";
import { localiseTimes } from "./times.js";

const REFRESH_EVERY_MS = 125;
const RETRY_MS = 1500;
const OVER = new Set(["completed", "failed", "cancelled"]);
const LINK_WORDS = {
  lost: "Connection lost, reconnecting. The run goes on and is on record.",
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
    this.isFetching = false;
    this.isStale = false;
    this.lastFetch = 0;
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
      onEvent: () => this.refreshSoon(),
      onPiece: (piece) => this.live.add(piece),
      onEnd: () => this.refreshSoon(),
      onLink: (state) => this.showLink(state),
    });
  }

  /** Fetch and show a run's body, then follow it. @param {string} bodyUrl */
  async load(bodyUrl) {
    this.leave();
    this.live = new LiveText(this.slot);
    const fresh = await fetchBody(bodyUrl);
    this.slot.replaceChildren(fresh);
    this.dress();
    this.follow();
  }

  /** Stop following. */
  leave() {
    this.socket?.close();
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** @returns {Promise<void>} */
  async stop() {
    const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
    await fetch(this.body.dataset.cancelUrl, {
      method: "POST",
      headers: { "X-CSRFToken": token, Accept: "application/json" },
    });
  }

  refreshSoon() {
    this.isStale = true;
    if (this.isFetching || this.timer) return;
    const wait = Math.max(0, this.lastFetch + REFRESH_EVERY_MS - performance.now());
    this.timer = setTimeout(() => this.refresh(), wait);
  }

  async refresh() {
    const runId = this.body.dataset.runId;
    this.timer = 0;
    this.isFetching = true;
    this.isStale = false;
    this.lastFetch = performance.now();
    try {
      const fresh = await fetchBody(this.body.dataset.bodyUrl);
      if (fresh.dataset.runId === this.body?.dataset.runId) this.swap(fresh);
    } catch {
      // The server could not be reached; entries are safe there, so ask again.
      this.timer = setTimeout(() => this.refresh(), RETRY_MS);
    } finally {
      this.isFetching = false;
    }
    if (this.isStale && !this.timer && runId === this.body?.dataset.runId) this.refreshSoon();
  }

  /** @param {HTMLElement} fresh */
  swap(fresh) {
    const before = this.state;
    if (Number(fresh.dataset.seq) < Number(this.body.dataset.seq)) return;
    const memory = remember(this.body);
    for (const part of fresh.querySelectorAll("[data-swap]")) {
      this.body.querySelector(`#${part.id}`)?.replaceWith(part);
    }
    mergeCards(this.body.querySelector("#run-cards"), fresh.querySelector("#run-cards"));
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

  /** @param {"open" | "lost" | "refused"} state */
  showLink(state) {
    const line = this.slot.querySelector("#run-link");
    if (!line) return;
    line.hidden = state === "open";
    line.textContent = LINK_WORDS[state] ?? "";
  }
}

/** @param {string} url @returns {Promise<HTMLElement>} */
async function fetchBody(url) {
  const response = await fetch(url, { headers: { Accept: "text/html" } });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const body = page.querySelector("#run-body");
  if (!body) throw new Error(`${url} holds no run`);
  return document.adoptNode(body);
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

/** Note what belongs to the reader: open parts, scroll positions, focus. @param {HTMLElement} root */
function remember(root) {
  const details = new Map([...root.querySelectorAll("details[id]")].map((d) => [d.id, d.open]));
  const scrolls = new Map([...root.querySelectorAll(".graph[id]")].map((g) => [g.id, g.scrollLeft]));
  const focused = document.activeElement;
  const href = root.contains(focused) ? focused.getAttribute("href") : null;
  const id = root.contains(focused) ? focused.id : "";
  const section = focused?.closest?.("[data-swap], [data-card]")?.id;
  return { details, scrolls, id, href, section };
}

/** @param {HTMLElement} root @param {ReturnType<typeof remember>} memory */
function restore(root, memory) {
  for (const [id, isOpen] of memory.details) {
    const element = root.querySelector(`#${CSS.escape(id)}`);
    if (element) element.open = isOpen;
  }
  for (const [id, left] of memory.scrolls) {
    const element = root.querySelector(`#${CSS.escape(id)}`);
    if (element) element.scrollLeft = left;
  }
  if (root.contains(document.activeElement) || !(memory.id || memory.href)) return;
  const scope = memory.section ? `#${CSS.escape(memory.section)} ` : "";
  const target = memory.id
    ? root.querySelector(`#${CSS.escape(memory.id)}`)
    : root.querySelector(`${scope}[href="${CSS.escape(memory.href)}"]`);
  target?.focus({ preventScroll: true });
}
