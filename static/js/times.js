/** Times in the viewer's zone (the exact UTC stays in the title), and running clocks. */

// Every date as the server writes it: 25 Nov 2026, 17:32. The month is a word of the page's language.
const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const MONTH = new Intl.DateTimeFormat(document.documentElement.lang || "en", { month: "short" });
const TIME = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** @param {Date} moment @returns {string} */
function momentOf(moment) {
  if (document.documentElement.lang === "en") return MOMENT.format(moment);
  const month = MONTH.format(moment).slice(0, 3);
  return MOMENT.formatToParts(moment).map((part) => (part.type === "month" ? month : part.value)).join("");
}

/** Rewrite every server-rendered UTC time below `root`. @param {ParentNode} root */
export function localiseTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const moment = new Date(element.dateTime);
    element.textContent = element.dataset.format === "time" ? TIME.format(moment) : momentOf(moment);
    element.dataset.local = "";
  }
}

/** @param {number} milliseconds @returns {string} the same words as the server's filter */
export function duration(milliseconds) {
  if (milliseconds < 59950) return `${(Math.max(0, milliseconds) / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const TICK_MS = 200;
/** What moves with time: all of it at once, so that a tick costs one frame. @type {Set<() => void>} */
const works = new Set();
let timer = 0;

/** @param {() => void} work is done at every tick @returns {() => void} stops */
export function onTick(work) {
  works.add(work);
  timer ||= setInterval(() => works.forEach((each) => each()), TICK_MS);
  return () => works.delete(work);
}

/** Keep all elapsed times of the page going. */
export function startClocks() {
  onTick(() => {
    for (const element of document.querySelectorAll("[data-since]")) {
      element.textContent = duration(Date.now() - Date.parse(element.dataset.since));
    }
  });
}
