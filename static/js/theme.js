// Runs before the first paint, so it is a plain blocking script: no flash of the wrong theme or
// view, and styles know from the start that there is a script.
(() => {
  document.documentElement.dataset.script = "";
  document.documentElement.dataset.view = "full";
  document.documentElement.dataset.firstMinute = "";
  try {
    if (localStorage.getItem("view") === "simple") document.documentElement.dataset.view = "simple";
    if (localStorage.getItem("first-minute")) document.documentElement.dataset.firstMinute = "begun";
    if (localStorage.getItem("first-minute-over")) delete document.documentElement.dataset.firstMinute;
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; the system's theme and the full view apply.
  }
})();
