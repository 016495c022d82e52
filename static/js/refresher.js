/** Turns many "something changed" into few calls of one piece of work, one at a time. */

const EVERY_MS = 125;
const RETRY_MS = 1500;
/** How often the server draws the times of a run again while it goes on. */
const BEAT_MS = 1000;

export class Refresher {
  /** @param {() => Promise<void>} work is tried again later if it fails */
  constructor(work) {
    this.work = work;
    this.isBusy = false;
    this.isStale = false;
    this.timer = 0;
    this.lastStart = 0;
  }

  /** Ask for the work to be done, now or as soon as it may be. */
  soon() {
    this.isStale = true;
    if (this.isBusy || this.timer) return;
    this.schedule(Math.max(0, this.lastStart + EVERY_MS - performance.now()));
  }

  /** Forget what was asked for. */
  stop() {
    this.isStale = false;
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** @param {number} wait */
  schedule(wait) {
    this.timer = setTimeout(() => this.run(), wait);
  }

  async run() {
    this.timer = 0;
    this.isBusy = true;
    this.isStale = false;
    this.lastStart = performance.now();
    let hasFailed = false;
    try {
      await this.work();
    } catch {
      // The server could not be reached; entries are safe there, so ask again.
      hasFailed = true;
    } finally {
      this.isBusy = false;
    }
    if (hasFailed) this.schedule(RETRY_MS);
    else if (this.isStale) this.soon();
  }
}

/**
 * Ask for the work again and again until all is over, unless the tab is hidden.
 * @param {Refresher} refresher @param {() => boolean} isOver @returns {number} the interval
 */
export function startBeat(refresher, isOver) {
  const beat = setInterval(() => {
    if (isOver()) clearInterval(beat);
    else if (!document.hidden) refresher.soon();
  }, BEAT_MS);
  return beat;
}
