/**
 * The websocket of one run, or of a comparison. Reconnects from the last entry it has
 * seen, with backoff, until all has ended. Knows frames, not the page.
 *
 * @typedef {{type: "event", seq: number, action: string}} EventFrame
 * @typedef {{round: number, step: number | null, attempt: number,
 *            offset: number, text: string, reasoning: string}} Piece
 * @typedef {{onEvent: (frame: EventFrame) => void, onPiece: (piece: Piece) => void,
 *            onEnd: () => void, onLink: (state: "open" | "lost" | "refused") => void}} Listener
 */

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;
const REFUSED = new Set([4401, 4404, 4429]);

export class RunSocket {
  /** @param {string} path of the socket @param {number} seq last entry the page shows @param {Listener} listener */
  constructor(path, seq, listener) {
    this.path = path;
    this.seq = seq;
    this.listener = listener;
    this.delay = FIRST_DELAY_MS;
    this.isDone = false;
    this.connect();
    // A lost network shows at once; the socket itself would notice only after a while.
    this.listening = new AbortController();
    const { signal } = this.listening;
    addEventListener("offline", () => this.listener.onLink("lost"), { signal });
    addEventListener("online", () => this.again(), { signal });
  }

  /** Connect anew: the old connection may be dead without knowing. */
  again() {
    if (this.isDone) return;
    clearTimeout(this.timer);
    const old = this.socket;
    this.connect();
    old.close();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const address = `${scheme}://${location.host}/ws/${this.path}/?after=${this.seq}`;
    const socket = new WebSocket(address);
    this.socket = socket;
    socket.addEventListener("message", (message) => this.take(JSON.parse(message.data)));
    socket.addEventListener("close", (event) => { if (socket === this.socket) this.lost(event.code); });
  }

  /** @param {{type: string} & Record<string, any>} frame */
  take(frame) {
    this.delay = FIRST_DELAY_MS;
    if (frame.type === "event") {
      if (frame.seq <= this.seq) return;
      this.seq = frame.seq;
      this.listener.onEvent(frame);
    } else if (frame.type === "news") {
      this.listener.onEvent(frame);
    } else if (frame.type === "pieces") {
      frame.pieces.forEach(this.listener.onPiece);
    } else if (frame.type === "caught_up") {
      this.listener.onLink("open");
    } else if (frame.type === "end") {
      this.finish();
      this.listener.onLink("open");
      this.listener.onEnd();
    }
  }

  /** @param {number} code */
  lost(code) {
    if (this.isDone) return;
    if (REFUSED.has(code)) {
      this.finish();
      this.listener.onLink("refused");
      return;
    }
    this.listener.onLink("lost");
    const jitter = 0.75 + Math.random() / 2;
    this.timer = setTimeout(() => this.connect(), this.delay * jitter);
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY_MS);
  }

  finish() {
    this.isDone = true;
    this.listening.abort();
    clearTimeout(this.timer);
  }

  close() {
    this.finish();
    this.socket.close();
  }
}
