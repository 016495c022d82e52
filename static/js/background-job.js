/** Pages with a background job: show how far it is, until it is over. */

import { fetchPart, remember, restore } from "./parts.js";
import { Refresher, startBeat } from "./refresher.js";
import { localiseTimes } from "./times.js";

/** @param {string} id of an element with `data-job`, its address, and `data-state` */
function follow(id) {
  const shown = () => document.getElementById(id);
  const isOver = () => shown().dataset.state === "idle";
  const refresher = new Refresher(async () => {
    const fresh = await fetchPart(shown().dataset.job, `#${id}`);
    const memory = remember(shown());
    shown().replaceWith(fresh);
    restore(fresh, memory);
    localiseTimes(fresh);
  });
  if (!isOver()) startBeat(refresher, isOver);
}

for (const part of document.querySelectorAll("[data-job]")) follow(part.id);
