/** The palette: Ctrl K or ⌘ K opens it, letters search, arrows choose, Enter goes there. */

import { say, sayCount } from "./words.js";

const PAUSE_MS = 120;
const dialog = document.querySelector("#palette");
const input = dialog?.querySelector("input");
const list = dialog?.querySelector("#palette-list");
const state = dialog?.querySelector(".palette__state");
let timer = 0;
let asked = new AbortController();
/** The words that the list is for; Enter waits until they are those in the field. */
let shownFor = "";
let isEntered = false;

/** @returns {HTMLElement[]} */
const options = () => [...list.querySelectorAll('[role="option"]')];

/** @param {HTMLElement | undefined} option */
function choose(option) {
  for (const each of options()) each.setAttribute("aria-selected", String(each === option));
  if (option) {
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  } else input.removeAttribute("aria-activedescendant");
}

/** @param {{title: string, url: string, note: string}} hit @param {string} id */
function optionOf(hit, id) {
  const option = document.createElement("a");
  Object.assign(option, { id, href: hit.url, className: "palette__hit", tabIndex: -1 });
  option.setAttribute("role", "option");
  for (const [name, text] of [["palette__title", hit.title], ["palette__note", hit.note]]) {
    if (!text) continue;
    const words = document.createElement("bdi");
    words.className = name;
    words.textContent = text;
    option.append(words);
  }
  return option;
}

/** @param {{groups: {title: string, hits: object[]}[]}} found */
function show(found) {
  const groups = found.groups.map((group, number) => {
    const box = document.createElement("div");
    const head = document.createElement("p");
    Object.assign(head, { id: `palette-${number}`, className: "palette__head", textContent: group.title });
    box.setAttribute("role", "group");
    box.setAttribute("aria-labelledby", head.id);
    box.append(head, ...group.hits.map((hit, place) => optionOf(hit, `palette-${number}-${place}`)));
    return box;
  });
  list.replaceChildren(...groups);
  const count = options().length;
  state.textContent = count ? sayCount("{count} result", "{count} results", count) : say("Nothing found. Try fewer or other words.");
  choose(options()[0]);
}

/** Ask the server; of several questions only the last one is answered. */
async function search() {
  asked.abort();
  asked = new AbortController();
  const address = new URL(dialog.dataset.url, location.href);
  address.searchParams.set("q", input.value.trim());
  try {
    const response = await fetch(address, { headers: { Accept: "application/json" }, signal: asked.signal });
    if (!response.ok) throw new Error(`${address.pathname} answered ${response.status}`);
    show(await response.json());
    shownFor = address.searchParams.get("q");
    if (isEntered) go();
  } catch (error) {
    if (error.name === "AbortError") return;
    list.replaceChildren();
    isEntered = false;
    state.textContent = say("The search did not work. Check the connection, or reload the page.");
  }
}

/** Go to what is chosen; if the list is not for these words yet, once it is. */
function go() {
  isEntered = shownFor !== input.value.trim();
  if (isEntered) {
    clearTimeout(timer);
    search();
  } else list.querySelector('[aria-selected="true"]')?.click();
}

/** @param {number} step */
function move(step) {
  const all = options();
  const now = all.findIndex((each) => each.getAttribute("aria-selected") === "true");
  if (all.length) choose(all[(now + step + all.length) % all.length]);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (event.isComposing) return;
  if (event.key in steps) move(steps[event.key]);
  else if (event.key === "Enter") go();
  else return;
  event.preventDefault();
}

function open() {
  if (dialog.open) return;
  input.value = "";
  state.textContent = "";
  list.replaceChildren();
  isEntered = false;
  dialog.showModal();
  input.focus();
  search();
}

export function setUpPalette() {
  if (!dialog) return;
  const button = document.querySelector("#show-palette");
  button.addEventListener("click", open);
  if (/Mac|iPhone|iPad/.test(navigator.platform)) button.querySelector("kbd").textContent = "⌘ K";
  document.addEventListener("keydown", (event) => {
    const isPalette = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k";
    if (!isPalette || document.querySelector("dialog[open]:not(#palette)")) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  });
  input.addEventListener("input", () => {
    isEntered = false;
    clearTimeout(timer);
    timer = setTimeout(search, PAUSE_MS);
  });
  input.addEventListener("keydown", onKey);
  list.addEventListener("pointermove", (event) => {
    const option = event.target.closest('[role="option"]');
    if (option && option.getAttribute("aria-selected") !== "true") choose(option);
  });
  // A link to a place on this page leaves the page as it is.
  list.addEventListener("click", (event) => { if (event.target.closest("a")) dialog.close(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}
