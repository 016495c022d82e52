/**
 * The drawing of a plan: its size, moving about in it, and full screen. The server draws
 * the plan anew with each entry, so what the reader chose is kept here and put on again.
 */

import { say } from "./words.js";

const STEP = 1.25;
const SMALLEST = 0.4;
const LARGEST = 2.5;

/** @param {HTMLElement} slot holds the run's body, and is what fills the screen */
export function setUpPlanView(slot) {
  let size = 0; // 0: fits the page

  slot.addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom]");
    if (button) zoom(button.dataset.zoom);
    else if (event.target.closest("[data-plan-full]")) toggleFull();
  });
  slot.addEventListener("keydown", (event) => {
    const ways = { "+": "in", "-": "out", 0: "fit" };
    if (!event.target.closest(".graph") || event.ctrlKey || event.metaKey || !(event.key in ways)) return;
    event.preventDefault();
    zoom(ways[event.key]);
  });
  slot.addEventListener("wheel", (event) => {
    if (!event.target.closest(".graph") || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? "in" : "out");
  }, { passive: false });
  document.addEventListener("fullscreenchange", () => {
    slot.toggleAttribute("data-plan-full", document.fullscreenElement === slot);
    show();
  });
  new ResizeObserver(show).observe(slot);
  dragToMove(slot);

  /** @param {"in" | "out" | "fit"} way */
  function zoom(way) {
    const drawing = slot.querySelector(".graph__svg");
    if (!drawing) return;
    const now = size || drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
    size = way === "fit" ? 0 : Math.min(LARGEST, Math.max(SMALLEST, way === "in" ? now * STEP : now / STEP));
    show();
  }

  function toggleFull() {
    if (document.fullscreenElement) document.exitFullscreen();
    else slot.requestFullscreen();
  }

  /** Put the chosen size on the drawings, and offer what makes sense for them. */
  function show() {
    const full = slot.hasAttribute("data-plan-full");
    let isLarge = Boolean(size) || full;
    for (const drawing of slot.querySelectorAll(".graph__svg")) {
      const { width, height } = drawing.viewBox.baseVal;
      drawing.toggleAttribute("data-sized", Boolean(size));
      drawing.style.width = size ? `${width * size}px` : "";
      drawing.style.height = size ? `${height * size}px` : "";
      isLarge ||= width > drawing.parentElement.clientWidth || height > 420;
    }
    const tools = slot.querySelector("[data-zoom-tools]");
    if (tools) tools.hidden = !isLarge;
    const button = slot.querySelector("#plan-full");
    if (!button) return;
    button.hidden = !document.fullscreenEnabled || !slot.querySelector(".graph__svg");
    button.setAttribute("aria-label", full ? say("Leave full screen") : say("Plan in full screen"));
  }

  return { show };
}

/** Move the drawing with the pointer, where there is more of it than fits. @param {HTMLElement} slot */
function dragToMove(slot) {
  let from = null;
  slot.addEventListener("pointerdown", (event) => {
    const graph = event.target.closest(".graph");
    if (!graph || event.button || event.pointerType === "touch" || event.target.closest(".node")) return;
    from = { graph, x: event.clientX + graph.scrollLeft, y: event.clientY + graph.scrollTop };
  });
  window.addEventListener("pointermove", (event) => {
    from?.graph.scrollTo({ left: from.x - event.clientX, top: from.y - event.clientY, behavior: "instant" });
  });
  for (const end of ["pointerup", "pointercancel", "blur"]) window.addEventListener(end, () => { from = null; });
}
