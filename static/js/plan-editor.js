/** Edits a plan that waits for an approval; the server draws it and finds its faults. */

import { editableDrawing } from "./plan-drawing.js";
import { say } from "./words.js";

const data = document.getElementById("plan-data");
const form = document.getElementById("decide");
if (data && form) begin(JSON.parse(data.textContent), form);

/** `draft`: steps that were sent before and not taken; else those of the plan.
 * @param {{steps: object[], draft: object[], workers: string[], max_steps: number}} plan */
function begin(plan, form) {
  const editor = document.getElementById("plan-editor");
  const list = editor.querySelector("ol");
  const open = document.getElementById("edit-plan");
  const approve = form.querySelector("[value=approve]");
  const original = JSON.stringify(plan.steps);
  const given = document.getElementById("plan-steps");
  const said = document.getElementById("plan-said");
  let steps = plan.draft.map((step) => ({ ...step }));
  let timer = 0;
  let asking = new AbortController();
  const drawing = editableDrawing(document.getElementById("plan-drawing"), { steps: () => steps, open: edit, toggle });
  open.hidden = document.getElementById("drawing-hint").hidden = false;

  open.addEventListener("click", () => edit(0));
  list.addEventListener("focusin", (event) => {
    drawing.choose(Number(event.target.closest("li").dataset.place));
  });
  editor.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("add" in button.dataset) add();
    if ("reset" in button.dataset) steps = JSON.parse(original);
    const place = Number(button.closest("li")?.dataset.place);
    if (button.dataset.move) move(place, Number(button.dataset.move));
    if ("remove" in button.dataset) remove(place);
    render();
    changed();
    const moved = button.dataset.move ? place + Number(button.dataset.move) : place;
    const again = list.children[moved]?.querySelector(`[data-move="${button.dataset.move}"]`);
    (again && !again.disabled ? again : list.children[Math.min(moved || 0, steps.length - 1)]?.querySelector("textarea"))?.focus();
  });
  editor.addEventListener("input", (event) => {
    const item = event.target.closest("li");
    if (!item) return;
    const step = steps[Number(item.dataset.place)];
    if (event.target.matches("textarea")) step.subtask = event.target.value;
    if (event.target.matches("select")) step.worker = event.target.value;
    if (event.target.matches("[type=checkbox]")) {
      const boxes = item.querySelectorAll("[type=checkbox]:checked");
      step.access = Array.from(boxes, (box) => Number(box.value));
    }
    changed();
  });
  form.addEventListener("submit", () => {
    // What is decided waits no more: there is nothing left to draw.
    clearTimeout(timer);
    asking.abort();
    form.elements.plan.value = isEdited() ? sent() : "";
  });

  if (JSON.stringify(steps) !== original) {
    show();
    changed();
  }

  /** Put the cursor into a step, and so choose it. */
  function edit(place) {
    if (editor.hidden) show();
    list.children[place]?.querySelector("textarea").focus();
  }

  /** Let a step read an earlier one, or no longer, and say so. */
  function toggle(reader, read) {
    const reads = new Set(steps[reader].access);
    const isNew = !reads.delete(read);
    if (isNew) reads.add(read);
    steps[reader].access = [...reads].sort((a, b) => a - b);
    const words = isNew ? say("Step {reader} now reads step {read}.") : say("Step {reader} no longer reads step {read}.");
    said.textContent = words.replace("{reader}", reader + 1).replace("{read}", read + 1);
    if (editor.hidden) show();
    else render();
    changed();
  }

  function show() {
    editor.hidden = false;
    open.hidden = given.hidden = true;
    render();
  }

  function isEdited() {
    return !editor.hidden && JSON.stringify(steps) !== original;
  }

  function sent() {
    return JSON.stringify({ steps });
  }

  function add() {
    const access = steps.length ? [steps.length - 1] : [];
    steps.push({ worker: plan.workers[0], subtask: "", access });
  }

  function remove(place) {
    steps.splice(place, 1);
    for (const step of steps) {
      const kept = step.access.filter((index) => index !== place);
      step.access = kept.map((index) => (index > place ? index - 1 : index));
    }
  }

  /** Swap a step with its neighbour; who read one of them reads it in its new place. */
  function move(place, by) {
    const other = place + by;
    if (other < 0 || other >= steps.length) return;
    [steps[place], steps[other]] = [steps[other], steps[place]];
    const places = new Map([[place, other], [other, place]]);
    steps.forEach((step, index) => {
      const moved = step.access.map((each) => places.get(each) ?? each);
      step.access = moved.filter((each) => each < index).sort((a, b) => a - b);
    });
  }

  function changed() {
    approve.textContent = isEdited() ? approve.dataset.edited : approve.dataset.label;
    clearTimeout(timer);
    asking.abort();
    timer = setTimeout(preview, 250);
  }

  async function preview() {
    asking = new AbortController();
    const body = new FormData(form);
    body.set("plan", sent());
    const text = await previewText(body, asking.signal);
    if (text === null) return;
    const fresh = new DOMParser().parseFromString(text, "text/html");
    drawing.redraw(fresh.body.childNodes);
    approve.disabled = Boolean(document.querySelector("#plan-drawing [data-fault]"));
  }

  /** Null where the server draws nothing, or where nobody waits for it any more. */
  async function previewText(body, signal) {
    try {
      const response = await fetch(form.dataset.preview, { method: "POST", body, signal });
      return response.ok && !response.redirected ? await response.text() : null;
    } catch (error) {
      if (error.name === "AbortError") return null;
      throw error;
    }
  }

  function render() {
    list.replaceChildren(...steps.map(item));
    editor.querySelector("[data-add]").disabled = steps.length >= plan.max_steps;
    drawing.mark();
  }

  function item(step, place) {
    const row = element("li", "plan-editor__step");
    row.dataset.place = String(place);
    const head = element("div", "plan-editor__head");
    head.append(element("strong", "", numbered(say("Step {number}"), place)), workers(step, place));
    head.append(
      button(say("Up"), { move: "-1" }, numbered(say("Move step {number} up"), place), place === 0),
      button(say("Down"), { move: "1" }, numbered(say("Move step {number} down"), place), place === steps.length - 1),
      button(say("Remove"), { remove: "" }, numbered(say("Remove step {number}"), place), steps.length === 1),
    );
    const text = element("textarea", "input");
    text.rows = 3;
    text.value = step.subtask;
    text.setAttribute("aria-label", numbered(say("Subtask of step {number}"), place));
    row.append(head, text);
    if (place) row.append(reads(step, place));
    return row;
  }

  function workers(step, place) {
    const select = element("select", "input");
    select.setAttribute("aria-label", numbered(say("Worker of step {number}"), place));
    const names = plan.workers.includes(step.worker) ? plan.workers : [step.worker, ...plan.workers];
    for (const name of names) select.append(new Option(name, name, false, name === step.worker));
    return select;
  }

  function reads(step, place) {
    const group = element("div", "plan-editor__reads");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", numbered(say("Step {number} reads"), place));
    group.append(say("Reads"));
    for (let index = 0; index < place; index += 1) {
      const label = element("label", "");
      const box = element("input", "");
      box.type = "checkbox";
      box.value = String(index);
      box.checked = step.access.includes(index);
      label.append(box, numbered(say("step {number}"), index));
      group.append(label);
    }
    return group;
  }
}

/** People count steps from 1. @param {string} words with `{number}` @param {number} place */
function numbered(words, place) {
  return words.replace("{number}", place + 1);
}

function element(name, className, text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

function button(text, values, label, isDisabled) {
  const made = element("button", "button button--quiet button--small", text);
  made.type = "button";
  made.disabled = isDisabled;
  made.setAttribute("aria-label", label);
  Object.assign(made.dataset, values);
  return made;
}
