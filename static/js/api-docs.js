// Gives Swagger UI the theme of the other pages, before the first paint.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const { theme } = document.documentElement.dataset;
    document.documentElement.classList.toggle("dark-mode", theme === "dark" || (theme !== "light" && system.matches));
  };
  system.addEventListener("change", apply);
  apply();
})();
