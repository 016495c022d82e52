/** Finds conversations while words are typed; without this script Enter does. */

const WAIT_MS = 250;

/** Listen to the search field of the list, if there is one. */
export function setUpChatSearch() {
  const field = document.querySelector("#chat-query");
  if (!field) return;
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, WAIT_MS);
  });

  /** Show what the server finds, unless something else was typed meanwhile. */
  async function find() {
    const wanted = field.value;
    const address = `${field.dataset.url}?query=${encodeURIComponent(wanted)}`;
    const response = await fetch(address).catch(() => null);
    if (!response?.ok || field.value !== wanted) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const found = page.querySelector(".chats__body nav");
    if (found) document.querySelector(".chats__body nav").replaceWith(found);
  }
}
