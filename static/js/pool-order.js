/** The order of a pool's workers: moves rows in place; saving sends them as they stand. */

import { say } from "./words.js";

const list = document.querySelector("[data-order]");
const status = document.querySelector("[data-order-status]");

list?.addEventListener("click", (event) => {
  const button = event.target.closest("[data-move]");
  if (!button) return;
  event.preventDefault();
  const row = button.closest("li");
  const other = button.dataset.move === "up" ? row.previousElementSibling : row.nextElementSibling;
  if (!other) return;
  if (button.dataset.move === "up") other.before(row);
  else other.after(row);
  button.focus();
  const place = [...list.children].indexOf(row) + 1;
  status.textContent = say("{name} is number {place} of {total}. Save to keep it.")
    .replace("{place}", place).replace("{total}", list.children.length).replace("{name}", () => row.dataset.name);
});
