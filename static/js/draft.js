/**
 * Keeps what is being written, and its settings, for as long as the tab is open, for
 * each page by itself. The next person in the same tab, or another team, does not see it.
 */

import { inTab } from "./stored.js";

/** Fields that the page itself fills. */
const GIVEN = ["csrfmiddlewaretoken", "conversation", "run", "replaces", "attachment", "preset", "preset_version"];

/**
 * @param {HTMLFormElement} form
 * @param {HTMLTextAreaElement} prompt
 * @returns {() => void} forgets the draft, once it was sent
 */
export function keepDraft(form, prompt) {
  // The address changes when a preset is chosen.
  const key = () => `draft:${prompt.dataset.draft}${location.pathname}${location.search}`;
  if (!prompt.value || form.elements.namedItem("preset")) restore(form, inTab.get(key()));
  const keep = () => {
    const texts = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !GIVEN.includes(name));
    inTab.set(key(), JSON.stringify(Object.fromEntries(texts)));
  };
  form.addEventListener("input", keep);
  // Fields beside the form belong to it, but their events pass it by.
  for (const field of form.elements) if (!form.contains(field)) field.addEventListener("input", keep);
  return () => inTab.remove(key());
}

/** @param {HTMLFormElement} form @param {string | null} kept */
function restore(form, kept) {
  for (const [name, value] of Object.entries(JSON.parse(kept ?? "{}"))) {
    const field = form.elements.namedItem(name);
    if (field && field.type !== "hidden") field.value = value;
  }
}
