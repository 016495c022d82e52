/** Copy buttons: `data-copy` names the element whose text is copied. */

import { highlightSoon } from "./highlight.js";
import { say } from "./words.js";

/** @param {string} text @returns {Promise<boolean>} whether it worked */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** For pages served without TLS, where the clipboard API is missing. @param {string} text */
function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const worked = document.execCommand("copy");
  area.remove();
  return worked;
}

/** Copy, and say so on the button for a moment. @param {HTMLElement} button @param {string} text */
export async function copyAndSay(button, text) {
  const label = button.querySelector("span") ?? button;
  button.dataset.label ??= label.textContent ?? "";
  label.textContent = say((await copyText(text)) ? "Copied" : "Copying is blocked");
  setTimeout(() => { label.textContent = button.dataset.label ?? ""; }, 1600);
}

/** Listen once for the whole page; buttons may come and go. */
export function setUpCopyButtons() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    if (source) copyAndSay(button, source.value ?? source.textContent ?? "");
  });
}

/** Give each code block of model text a line with its language and a copy button. @param {ParentNode} root */
export function addCodeButtons(root) {
  for (const block of root.querySelectorAll(".prose pre")) {
    if (block.parentElement?.classList.contains("code-block")) continue;
    const frame = document.createElement("div");
    frame.className = "code-block";
    const head = document.createElement("div");
    head.className = "code-block__head";
    const language = document.createElement("span");
    language.textContent = languageOf(block);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button button--quiet button--small";
    button.textContent = say("Copy");
    button.addEventListener("click", () => copyAndSay(button, block.textContent ?? ""));
    head.append(language, button);
    block.replaceWith(frame);
    frame.append(head, block);
    if (language.textContent === "mermaid") drawDiagram(frame);
    else if (block.firstElementChild) highlightSoon(block.firstElementChild, language.textContent);
  }
}

/** @param {HTMLElement} frame */
async function drawDiagram(frame) {
  // While an answer is written, its diagrams change, or move what is being read.
  if (frame.closest("[data-mirror]")) return;
  const { drawSoon } = await import("./diagrams.js");
  drawSoon(frame);
}

/** @param {Element} block @returns {string} the language that its author named; empty: none */
function languageOf(block) {
  const name = [...(block.firstElementChild?.classList ?? [])].find((each) => each.startsWith("language-"));
  return name?.slice("language-".length) ?? "";
}
