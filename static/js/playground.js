/** The playground: settings, prompt, Run and Stop, the run in place, code samples. */

import { codeSamples, setUpTabs } from "./code-samples.js";
import { copyAndSay } from "./copy.js";
import { setUpDrawer } from "./drawer.js";
import { setUpEstimate } from "./estimate.js";
import { setUpFormatting } from "./formatted.js";
import { RunView } from "./run-view.js";

const form = document.querySelector("#composer");
const prompt = document.querySelector("#prompt");
const start = document.querySelector("#start");
const stop = document.querySelector("#stop");
const error = document.querySelector("#composer-error");
const mayRun = !start.disabled;
const estimate = document.querySelector("#estimate");
const askEstimate = estimate ? setUpEstimate(form, estimate) : () => {};
const GOES_ON = "A run is in progress. Stop it, or wait until it ends, before you start another one.";
let lastPrompt = prompt.value;
let shown = location.search;
const view = new RunView(document.querySelector("#run"), { onState: showButtons });

function showButtons() {
  start.hidden = isLive();
  stop.hidden = !isLive() || !mayRun;
  stop.disabled = false;
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
  askEstimate();
}

function model() {
  const { tier, pool, worker } = chosen();
  if (worker) return worker;
  return document.querySelector(`[data-limits="${pool}/${tier}"]`)?.dataset.model ?? `conductor-${tier}`;
}

// --- Prompt -----------------------------------------------------------------------

function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  prompt.rows = Math.min(16, Math.max(3, prompt.value.split("\n").length + 1));
}

function usePrompt(text) {
  prompt.value = text;
  grow();
  askEstimate();
  prompt.focus();
}

/** @param {string} message */
function showError(message) {
  error.textContent = message;
  error.hidden = !message;
  prompt.toggleAttribute("aria-invalid", Boolean(message));
}

/** @param {string} words @returns {string} the words of an API error as a page writes them */
const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

const isLive = () => Boolean(view.body) && !view.isOver;

async function run() {
  if (mayRun && isLive()) {
    showError(GOES_ON);
    return;
  }
  if (!mayRun || start.disabled || !form.reportValidity()) return;
  showError("");
  start.disabled = true;
  lastPrompt = prompt.value;
  try {
    const response = await fetch(form.action, {
      method: "POST",
      body: new FormData(form),
      headers: { Accept: "application/json" },
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(sentence(answer.error?.message ?? "the run could not be started."));
    await show(answer);
  } catch (reason) {
    const isOurs = reason instanceof Error && !(reason instanceof TypeError || reason instanceof SyntaxError);
    showError(isOurs ? reason.message : "The server could not be reached. Your prompt is still here; try again.");
  } finally {
    start.disabled = false;
  }
}

/** @param {{id: string, url: string}} created */
async function show(created) {
  shown = `?run=${created.id}`;
  history.pushState({}, "", `/${shown}`);
  document.querySelector("#first-steps").hidden = true;
  document.querySelector("#run-actions").hidden = false;
  document.querySelector("#open-run").href = created.url;
  await view.load(`${created.url}body/`);
}

async function stopRun() {
  if (stop.hidden || stop.disabled) return;
  stop.disabled = true;
  stop.disabled = await view.stop();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
    event.preventDefault();
    run();
  } else if (event.key === "Escape" && !document.querySelector("dialog[open], details.menu[open]")) {
    stopRun();
  }
});
stop.addEventListener("click", stopRun);
prompt.addEventListener("input", () => {
  grow();
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
function rerun() {
  if (!isLive()) usePrompt(lastPrompt);
  run();
}

document.querySelector("#rerun").addEventListener("click", rerun);
document.querySelector("#run").addEventListener("click", (event) => {
  if (!event.target.closest("[data-retry]") || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  rerun();
});
document.querySelector("#share").addEventListener("click", (event) => {
  copyAndSay(event.currentTarget, new URL(view.body.dataset.pageUrl, location.href).href);
});
// A link to a card changes only the fragment; another run needs its own page.
window.addEventListener("popstate", () => { if (location.search !== shown) location.reload(); });

// --- Code -------------------------------------------------------------------------

const dialog = document.querySelector("#code-dialog");
const viewCode = document.querySelector("#view-code");
setUpTabs(dialog.querySelector("[role=tablist]"));
viewCode.addEventListener("click", () => {
  const samples = codeSamples({
    base: dialog.dataset.base,
    model: model(),
    prompt: prompt.value || "What is 17 × 23 + 4?",
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
setUpFormatting();
setUpDrawer(document.querySelector("#drawer"));
showSettings();
grow();
view.follow();
