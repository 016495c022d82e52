/** Colours code in a thread of its own: hostile code may take long, and is given up. */

import highlighter from "../vendor/highlight/highlight.min.js";

addEventListener("message", ({ data: { language, code } }) => {
  const isKnown = Boolean(highlighter.getLanguage(language));
  postMessage(isKnown ? highlighter.highlight(code, { language, ignoreIllegals: true }).value : "");
});
