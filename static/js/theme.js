// Runs before the first paint, so it is a plain blocking script: no flash of the wrong theme.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; the system's theme applies.
  }
})();
