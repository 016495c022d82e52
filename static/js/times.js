/** Times in the viewer's zone (the exact UTC stays in the title), and running clocks. */

// The pages speak English, and write every date as the server does: 25 Nov 2026, 17:32.
const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const TIME = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** Rewrite every server-rendered UTC time below `root`. @param {ParentNode} root */
export function localiseTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const format = element.dataset.format === "time" ? TIME : MOMENT;
    element.textContent = format.format(new Date(element.dateTime));
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

/** Keep all elapsed times of the page going. */
export function startClocks() {
  setInterval(() => {
    for (const element of document.querySelectorAll("[data-since]")) {
      element.textContent = duration(Date.now() - Date.parse(element.dataset.since));
    }
  }, 200);
}
