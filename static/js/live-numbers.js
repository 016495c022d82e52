/**
 * The numbers of a run that go on between two answers of the server: its time line, the
 * time and the cost so far, the time that is left. What is estimated is marked with ≈ and
 * gone once the server knows.
 */

import { duration, onTick } from "./times.js";
import { say } from "./words.js";

/** When a part of the page was first seen: the server's figures are of that moment. @type {WeakMap<Element, number>} */
const seen = new WeakMap();

/** @param {Element} element @returns {number} milliseconds that it has been on the page */
function ageOf(element) {
  if (!seen.has(element)) seen.set(element, performance.now());
  return performance.now() - seen.get(element);
}

/**
 * @param {HTMLElement} slot holds the run's body
 * @param {() => import("./live-text.js").LiveText} live
 * @returns {() => void} stops
 */
export function startNumbers(slot, live) {
  return onTick(() => {
    const timeline = slot.querySelector("#run-timeline[data-span-ms]");
    if (!timeline) return;
    const isHeld = Boolean(slot.querySelector("#run-body[data-held]"));
    const elapsed = Number(timeline.dataset.spanMs) + (isHeld ? 0 : ageOf(timeline));
    stretch(timeline, elapsed);
    for (const place of slot.querySelectorAll("[data-counts-ms]")) {
      place.textContent = duration(Number(place.dataset.countsMs) + ageOf(place));
    }
    const pace = slot.querySelector("#run-pace");
    if (!pace) return;
    if (pace.dataset.usualMs) sayLeft(pace, elapsed, isHeld);
    showCost(slot, JSON.parse(pace.dataset.prices), live());
  });
}

/** @param {HTMLElement} timeline @param {number} elapsed */
function stretch(timeline, elapsed) {
  const span = Math.max(elapsed, 100);
  for (const mark of timeline.querySelectorAll("[data-at-ms]")) {
    const at = Number(mark.dataset.atMs);
    const x = `${(100 * at) / span}%`;
    if (mark.tagName === "line") {
      mark.setAttribute("x1", x);
      mark.setAttribute("x2", x);
      continue;
    }
    mark.setAttribute("x", x);
    if (mark.tagName !== "rect") continue;
    const length = Number(mark.dataset.forMs ?? elapsed - at);
    mark.setAttribute("width", `${Math.min(Math.max((100 * length) / span, 0.6), 100)}%`);
  }
}

/** @param {HTMLElement} pace @param {number} elapsed @param {boolean} isHeld true: it waits for people, however long they take */
function sayLeft(pace, elapsed, isHeld) {
  const usual = Number(pace.dataset.usualMs);
  const left = Math.ceil((usual - elapsed) / 1000);
  const rest = left > 0 ? say("≈ {time} left").replace("{time}", `${left} s`) : say("longer than usual");
  const words = say("Usually about {time}; {rest}.").replace("{time}", duration(usual)).replace("{rest}", rest);
  const place = pace.querySelector("[data-left]");
  const shown = isHeld ? "" : words;
  if (place.textContent !== shown) place.textContent = shown;
}

/**
 * Say what the text of the calls in flight has cost so far, by the prices of today.
 * @param {HTMLElement} slot @param {Record<string, number>} prices @param {import("./live-text.js").LiveText} live
 */
function showCost(slot, prices, live) {
  const place = slot.querySelector("[data-more-cost]");
  if (!place) return;
  const calls = slot.querySelector("#run-summary [data-writing]")?.dataset.writing.split(" ") ?? [];
  const micros = calls.reduce((sum, call) => {
    const worker = slot.querySelector(`#step-${call.split(":")[0]}`)?.dataset.worker ?? "";
    return sum + (live.tokensOf(call) * (prices[worker] ?? 0)) / 1e6;
  }, 0);
  place.hidden = micros <= 0;
  const spent = place.previousElementSibling;
  spent.hidden = !place.hidden && spent.textContent === "–";
  place.textContent = `${spent.hidden ? "" : " + "}≈ ${money(micros)}`;
}

/** @param {number} micros */
function money(micros) {
  if (micros < 100) return "<$0.0001";
  return `$${(micros / 1e6).toFixed(4)}`;
}
