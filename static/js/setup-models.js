/** Marking models: a filter for long lists, and which of the marked ones would plan. */

import { say } from "./words.js";

const form = document.querySelector("form:has([data-models])");

function suited() {
  nameButton();
  const marked = [...form.querySelectorAll("[name=models]:checked[data-rank]")];
  const best = marked.sort((one, other) => one.dataset.rank - other.dataset.rank)[0];
  const place = form.querySelector("[data-suited]");
  if (!place) return;
  const isChosen = form.elements.namedItem("planner").value !== "";
  place.textContent = best && !isChosen ? say("Of the marked ones that would be {name}.").replace("{name}", () => best.value) : "";
}

function shownBoxes() {
  return [...form.querySelectorAll(".model:not([hidden]) [name=models]")];
}

/** Names what pressing the button would do to the models that are shown. */
function nameButton() {
  const button = form.querySelector("[data-select-all]");
  if (!button) return;
  const chosen = shownBoxes().slice(0, Number(button.dataset.most));
  button.textContent = chosen.every((box) => box.checked) ? say("Select none") : say("Select all");
}

/** Marks the models that are shown, as many as may be tested at a time; or none of them. */
function selectAll(button) {
  const most = Number(button.dataset.most);
  const shown = shownBoxes();
  const chosen = shown.slice(0, most);
  const isOn = chosen.some((box) => !box.checked);
  for (const box of form.querySelectorAll("[name=models]")) box.checked = isOn && chosen.includes(box);
  form.querySelector("[data-most-marked]").textContent = isOn && shown.length > most
    ? say("The first {most} are marked; more are not tested at a time.").replace("{most}", most) : "";
  suited();
}

function filter(words) {
  for (const model of form.querySelectorAll(".model")) {
    model.hidden = !model.textContent.toLowerCase().includes(words.toLowerCase().trim());
  }
  nameButton();
}

function ready() {
  const box = form.querySelector("[data-filter]");
  if (box) box.hidden = false;
  suited();
}

form.addEventListener("change", suited);
form.addEventListener("click", (event) => {
  if (event.target.matches?.("[data-select-all]")) selectAll(event.target);
});
form.addEventListener("listed", ready);
form.addEventListener("input", (event) => {
  if (event.target.id === "model-filter") filter(event.target.value);
});
form.addEventListener("keydown", (event) => {
  // Enter in the filter would ask the provider again, and lose the marks.
  if (event.target.id === "model-filter" && event.key === "Enter") event.preventDefault();
});
ready();
