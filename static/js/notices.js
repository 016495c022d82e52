/** Notices that lie over the page: closed by a button; a success also closes by itself. */

const SHOWN_MS = 8000;

/** @param {HTMLElement} notice */
function close(notice) {
  const list = notice.parentElement;
  notice.remove();
  if (!list.childElementCount) list.remove();
}

/** Close a notice in a while, unless somebody is reading it. @param {HTMLElement} notice */
function closeLater(notice) {
  let timer = 0;
  const start = () => { timer = setTimeout(() => close(notice), SHOWN_MS); };
  const stop = () => clearTimeout(timer);
  for (const event of ["pointerenter", "focusin"]) notice.addEventListener(event, stop);
  for (const event of ["pointerleave", "focusout"]) notice.addEventListener(event, start);
  start();
}

export function setUpNotices() {
  for (const notice of document.querySelectorAll(".notice")) {
    const button = notice.querySelector(".notice__close");
    button.hidden = false;
    button.addEventListener("click", () => close(notice));
    // What was there when the page was read is no change: put it in again, so that it is announced.
    const words = notice.querySelector("p");
    words.replaceChildren(...words.childNodes);
    if (notice.dataset.level === "success" && !notice.querySelector("a")) closeLater(notice);
  }
}
