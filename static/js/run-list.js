/** The list of runs: filters act while they are typed, and rows keep up with their runs. */

import { fetchPart } from "./parts.js";
import { localiseTimes } from "./times.js";
import { sayCount } from "./words.js";

const TYPED_MS = 350;
const FRESH_MS = 5000;
const form = document.querySelector("#run-filters");
const count = document.querySelector("#run-count");
const folded = document.querySelector("#filters-summary");
const news = document.querySelector("#run-news");
/** The rows as the server drew them, by run. @type {Map<string, string>} */
const drawn = new Map();
let newest = 0;
let timer = 0;

/** @returns {string} the address of the list that the form asks for */
function asked() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value) query.append(name, value);
  const text = query.toString();
  return text ? `?${text}` : location.pathname;
}

/** @param {HTMLElement} main */
function noteRows(main) {
  for (const row of main.querySelectorAll("[data-run-id]")) drawn.set(row.dataset.runId, row.outerHTML);
}

/** Show the list at an address, unless another one was asked for meanwhile. */
async function show(address) {
  const mine = ++newest;
  const results = document.querySelector("#run-results");
  results.setAttribute("aria-busy", "true");
  try {
    const main = await fetchPart(address, "main");
    if (mine !== newest) return;
    drawn.clear();
    noteRows(main);
    count.textContent = main.querySelector("#run-count").textContent;
    news.textContent = count.textContent;
    folded.textContent = main.querySelector("#filters-summary").textContent;
    const fresh = main.querySelector("#run-results");
    localiseTimes(fresh);
    results.replaceWith(fresh);
    history.replaceState(null, "", address);
  } catch {
    // The page itself says what is wrong.
    if (mine === newest) location.assign(address);
  }
}

form.addEventListener("input", (event) => {
  clearTimeout(timer);
  const isTyped = event.target.matches("input");
  timer = setTimeout(() => show(asked()), isTyped ? TYPED_MS : 0);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  show(asked());
});

/** Put the rows of the server in place of those that differ; others stay untouched. */
function update(main) {
  const body = document.querySelector("#run-results tbody");
  const rows = [...main.querySelectorAll("#run-results [data-run-id]")];
  if (!rows.length) return;
  if (!body) {
    const fresh = main.querySelector("#run-results");
    localiseTimes(fresh);
    document.querySelector("#run-results").replaceWith(fresh);
    return;
  }
  const shown = new Map([...body.children].map((row) => [row.dataset.runId, row]));
  const focused = document.activeElement?.closest?.("[data-run-id]")?.dataset.runId;
  const wasBox = document.activeElement?.matches("[name=run]");
  const query = new URLSearchParams(location.search);
  const isNewestFirst = !query.get("sort") && !(Number(query.get("page")) > 1);
  let added = 0;
  let place = body.firstElementChild;
  for (const row of rows) {
    const id = row.dataset.runId;
    const old = shown.get(id);
    const html = row.outerHTML;
    if (!old) {
      if (!isNewestFirst) continue;
      added += 1;
      body.insertBefore(row, place);
    } else {
      if (drawn.get(id) !== html) {
        row.querySelector("[name=run]").checked = old.querySelector("[name=run]").checked;
        old.replaceWith(row);
      }
      place = (drawn.get(id) !== html ? row : old).nextElementSibling;
      shown.delete(id);
    }
    drawn.set(id, html);
  }
  // A selected run stays, though it may be on the next page by now.
  if (isNewestFirst) for (const row of shown.values()) if (!row.querySelector(":checked")) row.remove();
  localiseTimes(body);
  if (added) {
    news.textContent = sayCount("{count} new run", "{count} new runs", added);
    count.textContent = main.querySelector("#run-count").textContent;
  }
  if (focused && !body.contains(document.activeElement)) {
    body.querySelector(`[data-run-id="${CSS.escape(focused)}"] ${wasBox ? "input" : "a"}`)?.focus({ preventScroll: true });
  }
}

setInterval(async () => {
  // A search reads texts: it is not repeated by itself.
  if (document.hidden || new URLSearchParams(location.search).get("q")) return;
  const mine = newest;
  try {
    const main = await fetchPart(location.href, "main");
    if (mine === newest) update(main);
  } catch {
    // The next look may do better; the rows on the page stay true as of then.
  }
}, FRESH_MS);
