/** The review queue by keyboard alone, calls in place, and a reservation that is kept. */

import { localiseTimes } from "./times.js";
import { say } from "./words.js";

const RENEW_MS = 5 * 60 * 1000;
const TEXT = "textarea, select, input:not([type=radio])";
const NATIVE = "a[href], button, summary";
const dialog = document.querySelector("#review-keys");
const form = document.querySelector("#verdict-form");
const reason = document.querySelector("#verdict-reason");
const questions = [...document.querySelectorAll("[data-question]")];

for (const button of document.querySelectorAll("[data-keys]")) {
  button.hidden = false;
  button.addEventListener("click", () => dialog.showModal());
}

/** Go along the queue; before and after its rows are the links to other pages. @param {number} by */
function move(by) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const link = (rel) => [...document.querySelectorAll(`#queue a[rel="${rel}"]`)];
  const stops = [...link("prev"), ...rows, ...link("next")];
  if (!stops.length) return;
  const focused = stops.indexOf(document.activeElement);
  const opened = stops.findIndex((stop) => stop.getAttribute("aria-current") === "page");
  const from = focused >= 0 ? focused : opened;
  const next = stops[Math.min(stops.length - 1, Math.max(0, from + by))];
  (from < 0 ? (rows[0] ?? stops[0]) : next).focus();
}

/** Mark a question: the keys 1 to 9 answer it. @param {HTMLElement | undefined} question */
function mark(question) {
  const radio = question?.querySelector(":checked") ?? question?.querySelector("input");
  radio?.focus({ preventScroll: true });
  question?.scrollIntoView({ block: "nearest" });
}

/** Answer the marked question, or the first that is open. @param {number} number */
function answer(number) {
  const isOpen = (question) => !question.querySelector(":checked");
  const marked = questions.find((question) => question.contains(document.activeElement));
  const question = marked ?? questions.find(isOpen) ?? questions.at(-1);
  const radio = question?.querySelectorAll("input")[number - 1];
  if (!radio) return;
  radio.checked = true;
  const next = questions[questions.indexOf(question) + 1];
  if (next) mark(next);
  else if (radio.value !== "pass" && !reason.value.trim()) reason.focus();
  else radio.focus({ preventScroll: true });
}

/** Show the calls of a step, or of a plan, in place. @param {HTMLAnchorElement} link */
async function show(link) {
  const place = document.querySelector("#exchange-body");
  const response = await fetch(link.dataset.part, { headers: { "X-Partial": "true" } }).catch(() => null);
  if (!response?.ok) {
    location.href = link.href;
    return;
  }
  const part = new DOMParser().parseFromString(await response.text(), "text/html");
  place.replaceChildren(...part.body.children);
  localiseTimes(place);
  for (const each of document.querySelectorAll("[data-part]")) each.removeAttribute("aria-current");
  link.setAttribute("aria-current", "true");
  link.scrollIntoView({ block: "nearest" });
}

/** Show the calls before or after those that are shown. @param {number} by */
function turn(by) {
  const links = [...document.querySelectorAll("[data-part]")];
  const shown = links.findIndex((link) => link.getAttribute("aria-current"));
  const next = links[shown + by];
  if (next) show(next);
}

/** Do what Enter stands for where nothing has a meaning of its own for it. */
function enter() {
  if (form) form.requestSubmit();
  else (document.querySelector("#reserve") ?? document.querySelector("[data-next]"))?.click();
}

const KEYS = {
  ArrowDown: () => move(1),
  j: () => move(1),
  ArrowUp: () => move(-1),
  k: () => move(-1),
  ArrowRight: () => turn(1),
  ArrowLeft: () => turn(-1),
  Enter: enter,
  r: () => reason?.focus(),
  c: () => document.querySelector("#comment")?.focus(),
  "?": () => dialog.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog.open) return;
  const { target, key } = event;
  if (target.matches(TEXT)) {
    if (key === "Escape") target.blur();
    if (target !== reason || key !== "Enter" || event.shiftKey) return;
  } else if (key === "Enter" && target.matches(NATIVE)) {
    return;
  }
  const action = /^[1-9]$/.test(key) ? () => answer(Number(key)) : KEYS[key];
  if (!action) return;
  event.preventDefault();
  action();
});

document.addEventListener("click", (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  const near = event.target.closest?.("a[data-part]");
  const far = event.target.closest?.('#review-run a[href^="#step-"], #review-run a[href^="#plan-"]');
  const link = near ?? (far && document.querySelector(`${far.getAttribute("href")}[data-part]`));
  if (!link) return;
  event.preventDefault();
  show(link);
});

/** Keep the reservation while the page is open. */
async function renew() {
  const response = await fetch(form.dataset.renew, {
    method: "POST",
    headers: { "X-CSRFToken": form.querySelector("[name=csrfmiddlewaretoken]").value, Accept: "application/json" },
  }).catch(() => null);
  if (response?.ok) return;
  document.querySelector("#renewal").textContent =
    say("Your reservation could not be renewed. Copy your reason, then reload the page.");
}

if (form) {
  setInterval(renew, RENEW_MS);
  // Without scrolling: on a small screen the answer comes first.
  const first = questions.find((question) => !question.querySelector(":checked")) ?? questions.at(-1);
  (first.querySelector(":checked") ?? first.querySelector("input")).focus({ preventScroll: true });
} else {
  document.querySelector("#reserve")?.focus({ preventScroll: true });
}
document.querySelector("[data-row][aria-current]")?.scrollIntoView({ block: "nearest" });
