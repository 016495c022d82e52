/** Lets the drawing of a plan edit it: its nodes choose a step, and what that step reads. */

import { say } from "./words.js";

/** The server makes the drawing anew after each change; its nodes are in the order of the steps.
 * @param {HTMLElement} root
 * @param {{steps: () => object[], open: (place: number) => void, toggle: (reader: number, read: number) => void}} editor
 *   `open` focuses a step in the form; `toggle` changes whether one step reads an earlier one. */
export function editableDrawing(root, editor) {
  let chosen = null;

  root.addEventListener("click", (event) => act(placeOf(event.target)));
  root.addEventListener("keydown", (event) => {
    const place = placeOf(event.target);
    if (place < 0) return;
    if (event.key === "Escape") choose(null);
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act(place);
  });
  mark();

  function nodes() {
    return [...root.querySelectorAll(".node")];
  }

  /** Return the place of the step whose node holds an element; -1 of any other element. */
  function placeOf(target) {
    return nodes().indexOf(target.closest(".node"));
  }

  function act(place) {
    if (place < 0) return;
    if (place === chosen) choose(null);
    else if (chosen !== null && place < chosen) editor.toggle(chosen, place);
    else editor.open(place);
  }

  /** Choose a step; null: none. */
  function choose(place) {
    chosen = place;
    mark();
  }

  /** Say on each node what it is and what pressing it does. */
  function mark() {
    const steps = editor.steps();
    const reads = steps[chosen]?.access ?? [];
    nodes().forEach((node, place) => {
      if (!steps[place]) return; // a step was removed, and the new drawing is on its way
      node.setAttribute("role", "button");
      node.setAttribute("tabindex", "0");
      node.setAttribute("aria-label", label(steps[place], place));
      node.toggleAttribute("data-chosen", place === chosen);
      if (chosen !== null && place < chosen) node.setAttribute("aria-pressed", String(reads.includes(place)));
      else node.removeAttribute("aria-pressed");
    });
  }

  function label(step, place) {
    const name = say("Step {number}, {worker}").replace("{number}", place + 1).replace("{worker}", () => step.worker);
    if (place === chosen) return say("{name}, chosen").replace("{name}", () => name);
    if (chosen === null || place > chosen) return name;
    return say("{name}, read by step {number}").replace("{number}", chosen + 1).replace("{name}", () => name);
  }

  /** Show a new drawing; focus and place stay where they are. */
  function redraw(parts) {
    const focused = placeOf(document.activeElement);
    const scrolled = root.querySelector(".graph")?.scrollLeft ?? 0;
    root.replaceChildren(...parts);
    mark();
    const graph = root.querySelector(".graph");
    if (graph) graph.scrollLeft = scrolled;
    nodes()[focused]?.focus();
  }

  return { choose, mark, redraw };
}
