/** Parts of a page that the server draws again: fetch them, keep what is the reader's. */

/** @param {string} url @param {string} selector @returns {Promise<HTMLElement>} */
export async function fetchPart(url, selector) {
  const response = await fetch(url, { headers: { Accept: "text/html" } });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const part = page.querySelector(selector);
  if (!part) throw new Error(`${url} holds no ${selector}`);
  return document.adoptNode(part);
}

/**
 * Name the newest entries that are shown: without a newer one only what moves is sent.
 * @param {string} url @param {...string} seqs
 */
export function withSeqs(url, ...seqs) {
  const address = new URL(url, location.href);
  for (const seq of seqs) address.searchParams.append("seq", seq);
  return address.href;
}

/** Note what belongs to the reader: open parts, scroll positions, focus. @param {HTMLElement} root */
export function remember(root) {
  const details = new Map([...root.querySelectorAll("details[id]")].map((d) => [d.id, d.open]));
  const scrolls = new Map([...root.querySelectorAll(".graph[id]")].map((g) => [g.id, { left: g.scrollLeft, top: g.scrollTop }]));
  const focused = document.activeElement;
  const href = root.contains(focused) ? focused.getAttribute("href") : null;
  const id = root.contains(focused) ? focused.id : "";
  const section = focused?.closest?.("[data-swap], [data-card]")?.id;
  return { details, scrolls, id, href, section };
}

/** @param {HTMLElement} root @param {ReturnType<typeof remember>} memory */
export function restore(root, memory) {
  for (const [id, isOpen] of memory.details) {
    const element = root.querySelector(`#${CSS.escape(id)}`);
    if (element) element.open = isOpen;
  }
  for (const [id, place] of memory.scrolls) {
    root.querySelector(`#${CSS.escape(id)}`)?.scrollTo({ ...place, behavior: "instant" });
  }
  if (root.contains(document.activeElement) || !(memory.id || memory.href)) return;
  const scope = memory.section ? `#${CSS.escape(memory.section)} ` : "";
  const target = memory.id
    ? root.querySelector(`#${CSS.escape(memory.id)}`)
    : root.querySelector(`${scope}[href="${CSS.escape(memory.href)}"]`);
  target?.focus({ preventScroll: true });
}
