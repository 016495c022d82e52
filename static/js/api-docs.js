// Gives Swagger UI the theme of the other pages, before the first paint, and puts its
// headings and its landmark below those of the page that it is a part of.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const { theme } = document.documentElement.dataset;
    document.documentElement.classList.toggle("dark-mode", theme === "dark" || (theme !== "light" && system.matches));
  };
  system.addEventListener("change", apply);
  apply();
  document.addEventListener("DOMContentLoaded", () => {
    const root = document.querySelector("#swagger-ui");
    const subordinate = () => {
      root.querySelector("main:not([role])")?.setAttribute("role", "group");
      root.querySelector(".title:is(h1, h2)")?.setAttribute("aria-level", "2");
      // A link within a button cannot be reached by all readers; the button opens the same.
      for (const link of root.querySelectorAll("button a[href]")) link.removeAttribute("href");
      for (const head of root.querySelectorAll("section.models > h4")) head.setAttribute("aria-level", "3");
    };
    new MutationObserver(subordinate).observe(root, { childList: true, subtree: true });
  });
})();
