/** The ledger's page: show how far a verification is, until it is over. */

import { fetchPart } from "./parts.js";
import { Refresher, startBeat } from "./refresher.js";
import { localiseTimes } from "./times.js";

const ID = "ledger-status";
const isOver = () => document.getElementById(ID).dataset.state === "idle";

const refresher = new Refresher(async () => {
  const old = document.getElementById(ID);
  const fresh = await fetchPart(old.dataset.status, `#${ID}`);
  old.replaceWith(fresh);
  localiseTimes(fresh);
});

if (!isOver()) startBeat(refresher, isOver);
