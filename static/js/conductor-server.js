/** A conductor's page: how its server is doing, asked once the page stands. */

import { localiseTimes } from "./times.js";

const place = document.querySelector("[data-server]");

async function look() {
  const response = await fetch(place.dataset.server, { headers: { "X-Partial": "true" } });
  if (!response.ok || response.redirected) throw new Error(`answered ${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  place.replaceChildren(...page.body.childNodes);
  localiseTimes(place);
}

if (place) {
  // The link that stands there leads to the same, or to what is wrong.
  look().catch(() => {});
}
