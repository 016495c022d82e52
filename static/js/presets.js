/**
 * Presets in the composer: a list to choose from, a field for each variable, and the prompt
 * that comes of them, which can be read before it is sent, or edited by hand.
 */

import { onDevice } from "./stored.js";
import { say, sayCount } from "./words.js";

const MOST_RECENT = 20;
const slot = document.querySelector("#preset-slot");
const dialog = document.querySelector("#preset-picker");
const input = dialog?.querySelector("input");
const list = dialog?.querySelector("#preset-options");
const state = dialog?.querySelector("[role=status]");

/** @returns {HTMLElement | null} */
const bar = () => slot.querySelector("#preset-bar");

/**
 * @param {object} parts
 * @param {HTMLFormElement} parts.form
 * @param {HTMLTextAreaElement} parts.prompt
 * @param {() => void} parts.onChange is called after the prompt or a setting was changed
 */
export function setUpPresets({ form, prompt, onChange }) {
  if (!dialog) return;
  const key = `recent-presets:${prompt.dataset.draft}`;
  /** What the composer held before a preset was chosen. @type {Map<string, string> | null} */
  let before = null;

  // --- The prompt ------------------------------------------------------------------

  /** @returns {string} the prompt; of a variable that must be given and is not yet, its place */
  function composed() {
    return JSON.parse(bar().dataset.parts).map((part) => {
      if (!part.variable) return part.text;
      const value = form.elements.namedItem(`variable-${part.variable}`).value;
      return value || (part.needed ? `{{${part.variable}}}` : "");
    }).join("");
  }

  function compose() {
    prompt.value = composed();
    onChange();
  }

  /** @param {boolean} isByHand true: the text is written, not made of the variables */
  function edit(isByHand) {
    const fields = bar().querySelector("fieldset");
    const button = bar().querySelector("[data-preset-edit]");
    prompt.readOnly = !isByHand && Boolean(fields);
    button.hidden = !fields;
    button.setAttribute("aria-pressed", String(isByHand));
    button.textContent = isByHand ? say("Use variables") : say("Edit text");
    if (!fields) return;
    fields.hidden = isByHand;
    for (const field of fields.querySelectorAll("[data-needed]")) field.required = !isByHand;
  }

  /** Go on with what the server has filled in, or with a draft of it. */
  function start() {
    const isByHand = prompt.value !== prompt.defaultValue && prompt.value !== composed();
    edit(isByHand);
    if (!isByHand) compose();
  }

  // --- Settings --------------------------------------------------------------------

  /** @param {string} model as the API names it */
  function chooseModel(model) {
    const worker = form.elements.namedItem("worker");
    if ([...worker.options].some((option) => option.value === model)) worker.value = model;
    const place = [...document.querySelectorAll("[data-limits]")].find((each) => each.dataset.model === model);
    if (!place) return;
    const split = place.dataset.limits.lastIndexOf("/");
    worker.value = "";
    form.elements.namedItem("pool").value = place.dataset.limits.slice(0, split);
    form.elements.namedItem("tier").value = place.dataset.limits.slice(split + 1);
  }

  /** @param {Record<string, string>} settings by the names of fields, and `model` */
  function apply({ model, ...settings }) {
    for (const [name, value] of Object.entries(settings)) {
      const field = form.elements.namedItem(name);
      if (field && (value || name !== "data_class")) field.value = value;
    }
    if (model) chooseModel(model);
  }

  /** @returns {Map<string, string>} */
  const held = () => new Map(["prompt", "system", "temperature", "max_steps", "max_cost", "max_time_s", "data_class", "worker", "pool", "tier"]
    .filter((name) => form.elements.namedItem(name))
    .map((name) => [name, form.elements.namedItem(name).value]));

  // --- Choosing --------------------------------------------------------------------

  const options = () => [...list.querySelectorAll('[role="option"]')];
  const shown = () => options().filter((option) => !option.hidden);
  const chosen = () => list.querySelector('[aria-selected="true"]:not([hidden])');

  /** @param {HTMLElement | undefined} option */
  function mark(option) {
    for (const each of options()) each.setAttribute("aria-selected", String(each === option));
    if (option) {
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  }

  function filter() {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const option of options()) {
      const text = option.textContent.toLowerCase();
      option.hidden = !words.every((word) => text.includes(word));
    }
    const count = shown().length;
    if (count) state.textContent = sayCount("{count} preset", "{count} presets", count);
    else state.textContent = options().length ? say("No preset matches.") : say("No presets yet. Write a prompt, with {{name}} for what changes, and save it.");
    mark(shown()[0]);
  }

  /** @param {string} address @returns {Promise<Document | null>} a part of a page */
  async function part(address) {
    const response = await fetch(address, { headers: { "X-Partial": "true" } }).catch(() => null);
    return response?.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
  }

  async function open() {
    if (dialog.open) return;
    input.value = "";
    dialog.showModal();
    input.focus();
    const found = await part(dialog.dataset.url);
    if (!found) {
      state.textContent = say("The presets could not be loaded. Check the connection, and try again.");
      return;
    }
    const recent = JSON.parse(onDevice.get(key) ?? "[]");
    const place = (option) => (recent.includes(option.dataset.preset) ? recent.indexOf(option.dataset.preset) : MOST_RECENT);
    list.replaceChildren(...[...found.body.children].sort((one, other) => place(one) - place(other)));
    filter();
  }

  /** @param {HTMLElement} option */
  async function use(option) {
    const found = await part(option.dataset.url);
    if (!found) {
      state.textContent = say("This preset could not be loaded. Try again.");
      return;
    }
    const recent = JSON.parse(onDevice.get(key) ?? "[]").filter((id) => id !== option.dataset.preset);
    onDevice.set(key, JSON.stringify([option.dataset.preset, ...recent].slice(0, MOST_RECENT)));
    before ??= held();
    slot.replaceChildren(...found.body.children);
    setAddress(option.dataset.preset);
    apply(JSON.parse(bar().dataset.settings));
    edit(false);
    compose();
    dialog.close();
    (slot.querySelector("fieldset textarea") ?? prompt).focus();
  }

  /**
   * What the composer holds without a preset that the page came with; what was changed
   * since stays. @param {Record<string, string>} settings @returns {string[][]}
   */
  function without({ model, ...settings }) {
    const set = Object.entries({ ...settings, ...(model && { worker: model }) })
      .map(([name, value]) => [form.elements.namedItem(name), String(value)])
      .filter(([field, value]) => field && value && field.value === value)
      .map(([field]) => [field.name, field.options?.[0].value ?? ""]);
    return [["prompt", ""], ...set];
  }

  function remove() {
    const values = before ?? without(JSON.parse(bar().dataset.settings));
    slot.replaceChildren();
    setAddress(null);
    prompt.readOnly = false;
    for (const [name, value] of values) form.elements.namedItem(name).value = value;
    before = null;
    onChange();
    prompt.focus();
  }

  /** Let a reload show the same. @param {string | null} preset */
  function setAddress(preset) {
    const url = new URL(location.href);
    url.searchParams.delete("version");
    if (preset) url.searchParams.set("preset", preset);
    else url.searchParams.delete("preset");
    history.replaceState({}, "", url);
  }

  // --- Keys and buttons ------------------------------------------------------------

  const button = document.querySelector("#choose-preset");
  button.hidden = false;
  button.addEventListener("click", open);
  prompt.addEventListener("keydown", (event) => {
    if (event.key !== "/" || prompt.value || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    event.preventDefault();
    open();
  });
  input.addEventListener("input", filter);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const all = shown();
      if (all.length) mark(all[(all.indexOf(chosen()) + step + all.length) % all.length]);
    } else if (event.key === "Enter") {
      if (chosen()) use(chosen());
    } else if (event.key === "/" && !input.value) {
      // Twice: the prompt itself begins with it.
      dialog.close();
      prompt.setRangeText("/", 0, 0, "end");
      prompt.focus();
      onChange();
    } else return;
    event.preventDefault();
  });
  list.addEventListener("click", (event) => {
    const option = event.target.closest('[role="option"]');
    if (!option || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    use(option);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  slot.addEventListener("input", compose);
  slot.addEventListener("click", (event) => {
    if (event.target.closest("[data-preset-remove]")) {
      event.preventDefault();
      remove();
    } else if (event.target.closest("[data-preset-edit]")) {
      const isByHand = !bar().querySelector("fieldset").hidden;
      edit(isByHand);
      if (isByHand) prompt.focus();
      else compose();
    }
  });
  if (bar()) start();
}
