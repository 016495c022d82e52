/** Code samples as tabs; without a script they stand below each other. */

import { setUpTabs } from "./code-samples.js";

const samples = document.querySelector("#samples");
if (samples) {
  const list = samples.querySelector("[role=tablist]");
  for (const [number, panel] of [...samples.querySelectorAll(".code")].entries()) {
    panel.setAttribute("role", "tabpanel");
    panel.hidden = number > 0;
  }
  list.hidden = false;
  setUpTabs(list);
}
