/** The playground: settings, prompt, Run and Stop, the run in place, code samples. */

import { setUpBusyChoice } from "./busy-choice.js";
import { codeSamples, setUpTabs } from "./code-samples.js";
import { setUpAttachments } from "./attachments.js";
import { setUpChatSearch } from "./chat-search.js";
import { copyAndSay } from "./copy.js";
import { setUpComposerFold } from "./composer-fold.js";
import { keepDraft } from "./draft.js";
import { setUpDrawer } from "./drawer.js";
import { setUpEstimate } from "./estimate.js";
import { setUpFirstMinute, tick } from "./first-minute.js";
import { followAnswer } from "./follow-answer.js";
import { setUpFormatting } from "./formatted.js";
import { setUpNotification } from "./notification.js";
import { markTitle } from "./page-title.js";
import { setUpPresets } from "./presets.js";
import { RunView } from "./run-view.js";
import { onDevice } from "./stored.js";
import { setUpThumbs } from "./thumbs.js";
import { say } from "./words.js";

const form = document.querySelector("#composer");
const prompt = document.querySelector("#prompt");
const start = document.querySelector("#start");
const stop = document.querySelector("#stop");
const error = document.querySelector("#composer-error");
const settings = document.querySelector("#composer-settings");
const mayRun = !start.disabled;
const estimate = document.querySelector("#estimate");
const askEstimate = estimate ? setUpEstimate(form, estimate) : () => {};
const TOO_LONG = say("The prompt is too long: {length} (limit {limit}).");
const GOES_ON = say("A run is in progress. Stop it, or wait until it ends, before you start another one.");
const notify = setUpNotification(document.querySelector("#run"));
const view = new RunView(document.querySelector("#run"), { onState: changed });
const busy = setUpBusyChoice({ send: run, stop: stopRun, isLive, field: prompt });

const chips = document.querySelector("#attachments");
const isUploading = chips
  ? setUpAttachments(form, chips, { onError: (message) => showError(message, false), onChange: () => { fold(); checkLength(); askEstimate(); } })
  : () => false;
const forgetDraft = keepDraft(form, prompt);
const fold = setUpComposerFold(form, prompt);
const endFollowing = followAnswer(document.querySelector("#run"), form, document.querySelector("#to-newest"));
setUpThumbs();
setUpChatSearch();

/** @param {string} state of the run */
function changed(state) {
  markTitle(state);
  notify(state);
  if (state === "completed") tick("run");
  stop.disabled = false;
  showButtons();
  if (isLive()) return;
  endFollowing();
  busy.runEnded();
}

function showButtons() {
  start.hidden = isLive() && !prompt.value.trim();
  stop.hidden = !isLive() || !mayRun;
  if (!isLive() && error.textContent === GOES_ON) showError("");
}

// --- Settings ---------------------------------------------------------------------

function chosen() {
  const data = new FormData(form);
  return { tier: data.get("tier"), pool: data.get("pool"), worker: data.get("worker") };
}

/** Let only those tiers be chosen that the pool has. */
function offerTiers() {
  const { pool } = chosen();
  if (!pool) return;
  const tiers = [...document.querySelectorAll("#tiers input")];
  for (const tier of tiers) tier.disabled = !document.querySelector(`[data-limits="${pool}/${tier.value}"]`);
  const open = tiers.filter((tier) => !tier.disabled);
  if (open.length && !open.some((tier) => tier.checked)) open[0].checked = true;
  document.querySelector("#no-ultra").hidden = open.length === tiers.length;
}

function showSettings() {
  offerTiers();
  const { tier, pool, worker } = chosen();
  for (const list of document.querySelectorAll("[data-limits]")) {
    list.hidden = Boolean(worker) || list.dataset.limits !== `${pool}/${tier}`;
  }
  for (const note of document.querySelectorAll("[data-simulated]")) {
    note.hidden = note.dataset.simulated !== pool;
  }
  document.querySelector("#tiers").toggleAttribute("data-off", Boolean(worker));
  showLimits(worker ? null : document.querySelector(`[data-limits="${pool}/${tier}"]`));
  showCount();
  askEstimate();
}

/** Say in the empty fields of limits what the tier allows. @param {HTMLElement | null} limits */
function showLimits(limits) {
  for (const field of settings.querySelectorAll("[data-limit]")) {
    const most = limits?.dataset[field.dataset.limit];
    field.placeholder = most ? say("at most {number}").replace("{number}", most) : say("no limit");
  }
}

/** Say beside the folded settings how many are set. */
function showCount() {
  const count = [...settings.querySelectorAll("[name]")].filter((field) => field.value.trim()).length;
  document.querySelector("#settings-count").textContent = count ? ` · ${say("{count} set").replace("{count}", count)}` : "";
}

function model() {
  const { tier, pool, worker } = chosen();
  if (worker) return worker;
  return document.querySelector(`[data-limits="${pool}/${tier}"]`)?.dataset.model ?? `conductor-${tier}`;
}

// --- Prompt -----------------------------------------------------------------------

function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  prompt.rows = Math.min(16, Math.max(1, prompt.value.split("\n").length));
}

function usePrompt(text) {
  prompt.value = text;
  fold();
  grow();
  askEstimate();
  prompt.focus();
}

/**
 * @param {string} message
 * @param {boolean} [isOfPrompt] false: it is of a file
 * @param {{url: string, text: string}} [way] a link to where it can be mended
 */
function showError(message, isOfPrompt = true, way = undefined) {
  error.textContent = message;
  if (way) {
    const link = document.createElement("a");
    link.href = way.url;
    link.textContent = way.text;
    error.append(". ", link);
  }
  error.hidden = !message;
  prompt.setAttribute("aria-invalid", String(Boolean(message) && isOfPrompt));
}

/** Say at once, not after sending it, that a prompt is too long. */
function checkLength() {
  const most = Number(prompt.dataset.maxBytes);
  // A character has one byte at least, so nearly all texts need no count.
  const length = prompt.value.length * 3 > most ? new TextEncoder().encode(prompt.value).length : 0;
  const isTooLong = length > most;
  if (isTooLong) showError(TOO_LONG.replace("{length}", size(length)).replace("{limit}", size(most)));
  else if (error.textContent.startsWith(TOO_LONG.split("{")[0])) showError("");
  if (mayRun) start.disabled = isTooLong || isUploading();
}

/** @param {number} bytes @returns {string} the same words as the server's, rounded up */
function size(bytes) {
  for (const [unit, factor] of [["MB", 1_000_000], ["kB", 1_000]]) {
    if (bytes >= factor) return `${(Math.ceil((bytes * 100) / factor) / 100).toLocaleString("en")} ${unit}`;
  }
  return `${bytes} bytes`;
}

/** @param {string} words @returns {string} the words of an API error as a page writes them */
const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

/** @param {{code?: string}} [fault] @returns {{url: string, text: string} | undefined} where to mend it */
function wayOut(fault) {
  const url = form.dataset.prices;
  return url && fault?.code === "price_missing" ? { url, text: say("Add prices") } : undefined;
}

function isLive() {
  return Boolean(view.body) && !view.isOver;
}

/** @param {{isNew?: boolean}} [options] isNew: not in this conversation, whose run may go on */
async function run({ isNew = false } = {}) {
  if (!mayRun || start.disabled || !form.reportValidity()) return;
  if (isLive() && !isNew) {
    busy.ask();
    return;
  }
  showError("");
  start.disabled = true;
  const data = new FormData(form);
  if (isNew) for (const name of ["conversation", "run", "replaces"]) data.delete(name);
  try {
    const response = await fetch(form.action, {
      method: "POST",
      body: data,
      headers: { Accept: "application/json" },
    });
    const answer = await response.json();
    if (!response.ok) {
      showError(sentence(answer.error?.message ?? say("The run could not be started.")), true, wayOut(answer.error));
      start.disabled = false;
      return;
    }
    forgetDraft();
    go(answer.url);
  } catch {
    showError(say("The server could not be reached. Your prompt is still here; try again."));
    start.disabled = false;
  }
}

/** Open an address anew, also if only its fragment differs. @param {string} url */
function go(url) {
  if (new URL(url, location.href).pathname === location.pathname) {
    history.replaceState({}, "", url);
    history.scrollRestoration = "manual";
    location.reload();
  } else {
    location.assign(url);
  }
}

/** A reload comes back to the old place; that of `go` shows the turn it is for. */
function showNewTurn() {
  if (history.scrollRestoration !== "manual") return;
  addEventListener("load", () => {
    document.querySelector("#now").scrollIntoView({ behavior: "instant" });
    setTimeout(() => { history.scrollRestoration = "auto"; }); // within `load` the old place would still come back
  });
}

async function stopRun() {
  if (stop.hidden || stop.disabled) return;
  stop.disabled = true;
  stop.disabled = await view.stop();
}

form.addEventListener("submit", (event) => {
  if (event.submitter?.hasAttribute("formaction")) return;
  event.preventDefault();
  run();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
    event.preventDefault();
    run();
  } else if (event.key === "Escape" && !document.fullscreenElement && !document.querySelector("dialog[open], details.menu[open]")) {
    stopRun();
  }
});
stop.addEventListener("click", stopRun);
settings.addEventListener("input", showCount);
prompt.addEventListener("input", () => {
  grow();
  showButtons();
  checkLength();
  askEstimate();
});
form.addEventListener("change", showSettings);
for (const field of document.querySelectorAll("[form=composer]")) field.addEventListener("change", showSettings);
document.querySelector("#first-steps").addEventListener("click", (event) => {
  const chip = event.target.closest("[data-prompt]");
  if (!chip || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  usePrompt(chip.dataset.prompt);
});
const again = document.querySelector("#again");
again?.addEventListener("submit", (event) => {
  if (!isLive()) return;
  event.preventDefault();
  showError(GOES_ON);
});
document.querySelector("#run").addEventListener("click", (event) => {
  if (!again || !event.target.closest("[data-retry]") || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  again.requestSubmit();
});
document.querySelector("#run").addEventListener("click", (event) => {
  if (event.target.closest("[data-view-switch]")) switchView();
});
document.querySelector("#share")?.addEventListener("click", (event) => {
  copyAndSay(event.currentTarget, new URL(view.body.dataset.pageUrl, location.href).href);
});

/** @returns {{system: string, temperature: number | null, limits: object}} as the API takes them */
function codeSettings() {
  const value = (name) => settings.querySelector(`[name=${name}]`).value.trim();
  const whole = { max_steps: value("max_steps"), max_time_s: value("max_time_s") };
  const limits = Object.fromEntries(Object.entries(whole).filter(([, text]) => text).map(([name, text]) => [name, Number(text)]));
  if (value("max_cost")) limits.max_cost_usd = value("max_cost");
  return { system: value("system"), temperature: value("temperature") ? Number(value("temperature")) : null, limits };
}

/** Change between the answer with its plan and the whole run; remembered on this device. */
function switchView() {
  const next = document.documentElement.dataset.view === "simple" ? "full" : "simple";
  document.documentElement.dataset.view = next;
  onDevice.set("view", next);
}

// --- Code -------------------------------------------------------------------------

const dialog = document.querySelector("#code-dialog");
const viewCode = document.querySelector("#view-code");
setUpTabs(dialog.querySelector("[role=tablist]"));
viewCode.addEventListener("click", () => {
  const samples = codeSamples({
    base: dialog.dataset.base,
    model: model(),
    prompt: prompt.value || "What is 17 × 23 + 4?",
    ...codeSettings(),
  });
  for (const [language, text] of Object.entries(samples)) {
    dialog.querySelector(`#code-text-${language}`).textContent = text;
  }
  dialog.showModal();
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

viewCode.hidden = false;
for (const keys of document.querySelectorAll("[data-keys]")) keys.hidden = false;
if (/Mac|iPhone|iPad/.test(navigator.platform)) document.querySelector("[data-mod]")?.replaceChildren("⌘");
setUpPresets({ form, prompt, onChange: () => { fold(); grow(); showButtons(); checkLength(); showSettings(); } });
setUpFormatting();
setUpDrawer(document.querySelector("#drawer"));
setUpFirstMinute();
showSettings();
grow();
view.follow();
showNewTurn();
form.dataset.ready = "";
