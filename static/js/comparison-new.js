/** A new comparison: how many candidates are chosen, and what they may cost together. */

import { say } from "./words.js";

const form = document.querySelector("#candidates");
const MICROS = 1_000_000;

if (form) {
  form.addEventListener("change", show);
  show();
}

function show() {
  const total = form.querySelector("#total");
  const most = Number(total.dataset.limit);
  const chosen = [...form.querySelectorAll("[data-candidate]:checked")];
  const paid = chosen.filter((box) => box.name === "candidate");
  const blind = form.querySelector("#is-blind");
  const kept = chosen.some((box) => box.name === "keep");
  if (kept) blind.checked = false;
  blind.disabled = kept;
  form.querySelector("#start").disabled = chosen.length < 2 || chosen.length > most;
  const words = say("{count} chosen.").replace("{count}", chosen.length);
  total.textContent = [words, advice(chosen.length, most), cost(paid)].filter(Boolean).join(" ");
}

/** @param {number} count @param {number} most */
function advice(count, most) {
  if (count < 2) return say("Choose at least two.");
  return count > most ? say("Choose {number} at most.").replace("{number}", most) : "";
}

/** @param {HTMLInputElement[]} boxes */
function cost(boxes) {
  if (!boxes.length) return "";
  const sums = ["most", "typical"].map((name) => {
    const known = boxes.map((box) => box.dataset[name]);
    return known.includes("") ? null : known.reduce((sum, micros) => sum + Number(micros), 0);
  });
  const [highest, typical] = sums;
  if (typical === null) return say("The cost of at least one is unknown.");
  const words = highest === null ? say("Together typically under {typical}.") : say("Together typically under {typical}, at most {most}.");
  return words.replace("{most}", dollars(highest)).replace("{typical}", dollars(typical));
}

/** @param {number} micros @returns {string} rounded up to cents */
function dollars(micros) {
  return `$${(Math.max(1, Math.ceil((micros * 100) / MICROS)) / 100).toFixed(2)}`;
}
