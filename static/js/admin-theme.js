// Runs before the first paint: the theme of the record lists has a class for dark, and follows
// the switch in the top bar, which sets an attribute.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    root.classList.toggle("dark", isDark);
  };
  follow();
  system.addEventListener("change", follow);
  new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });
})();
