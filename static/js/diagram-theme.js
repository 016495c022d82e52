/** The colours of diagrams: those of the page, which the library is told. */

/** What the source of a diagram must not change. */
const SECURE = [
  "secure", "securityLevel", "startOnLoad", "maxTextSize", "maxEdges", "suppressErrorRendering", "dompurifyConfig",
  "htmlLabels", "theme", "themeVariables", "themeCSS", "darkMode", "fontFamily", "altFontFamily", "look",
];
const MOST_EDGES = 200;
const SERIES = ["accent", "good", "warn", "stopped", "bad", "code-type", "code-number", "code-keyword"];
const system = matchMedia("(prefers-color-scheme: dark)");

/** @returns {"light" | "dark"} */
export function themeName() {
  return /** @type {any} */ (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light"));
}

/** @param {() => void} act */
export function onThemeChange(act) {
  system.addEventListener("change", act);
  new MutationObserver(act).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

/** @returns {object} for the library */
export function configuration() {
  return {
    startOnLoad: false,
    suppressErrorRendering: true,
    securityLevel: "strict",
    secure: SECURE,
    maxEdges: MOST_EDGES,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    class: { htmlLabels: false },
    // An image has the fonts of the system, not those of the page.
    fontFamily: "system-ui, Arial, sans-serif",
    theme: "base",
    ...colours(),
  };
}

/** @param {string} name of a token @param {HTMLElement} probe @returns {string} as the library reads it */
function hex(name, probe) {
  probe.style.color = `var(--${name})`;
  const parts = getComputedStyle(probe).color.match(/\d+/g).slice(0, 3);
  return `#${parts.map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}

function colours() {
  const probe = document.body.appendChild(document.createElement("i"));
  const colour = (/** @type {string} */ name) => hex(name, probe);
  const themeCSS = `
    .edgeLabel rect { opacity: 1; }
    .mindmap-node circle ~ .label text { text-anchor: middle; }
    .lineWrapper line { stroke: ${colour("ink-soft")}; }`;
  const themeVariables = variables(colour);
  probe.remove();
  return { themeCSS, themeVariables };
}

/** @param {(name: string) => string} colour */
function variables(colour) {
  const series = SERIES.map(colour);
  return {
    darkMode: themeName() === "dark",
    fontSize: "14px",
    background: colour("surface"),
    mainBkg: colour("accent-wash"),
    primaryColor: colour("accent-wash"),
    primaryBorderColor: colour("line-strong"),
    secondaryColor: colour("surface-sunk"),
    tertiaryColor: colour("surface-sunk"),
    tertiaryBorderColor: colour("line"),
    clusterBkg: colour("surface-sunk"),
    clusterBorder: colour("line"),
    lineColor: colour("ink-soft"),
    edgeLabelBackground: colour("surface"),
    noteBkgColor: colour("warn-wash"),
    noteBorderColor: colour("warn"),
    actorLineColor: colour("line-strong"),
    pieSectionTextColor: colour("accent-ink"),
    pieStrokeColor: colour("surface"),
    pieOuterStrokeColor: colour("line"),
    pieOpacity: "1",
    scaleLabelColor: colour("accent-ink"),
    commitLabelBackground: colour("surface-sunk"),
    doneTaskBkgColor: colour("idle-wash"),
    doneTaskBorderColor: colour("idle"),
    critBkgColor: colour("bad-wash"),
    critBorderColor: colour("bad"),
    activeTaskBkgColor: colour("good-wash"),
    activeTaskBorderColor: colour("good"),
    taskBkgColor: colour("accent-wash"),
    taskBorderColor: colour("accent"),
    gridColor: colour("line-strong"),
    todayLineColor: colour("bad"),
    ...all(TEXTS, () => colour("ink")),
    ...all(numbered("cScale", 0, 12), (n) => series[n % series.length]),
    ...all(numbered("cScaleLabel", 0, 12), () => colour("accent-ink")),
    ...all(numbered("pie", 1, 12), (n) => series[n % series.length]),
    ...all(numbered("git", 0, 8), (n) => series[n]),
    ...all(numbered("gitBranchLabel", 0, 8), () => colour("accent-ink")),
    xyChart: {
      ...all(CHART_TEXTS, () => colour("ink")),
      backgroundColor: colour("surface"),
      plotColorPalette: series.join(","),
    },
  };
}

/** @param {string[]} names @param {(index: number) => string} valueOf */
const all = (names, valueOf) => Object.fromEntries(names.map((name, index) => [name, valueOf(index)]));

/** @param {string} name @param {number} first @param {number} count */
const numbered = (name, first, count) => Array.from({ length: count }, (_, n) => `${name}${n + first}`);

const CHART_TEXTS = ["titleColor", "dataLabelColor"].concat(
  ...["xAxis", "yAxis"].map((axis) => ["LabelColor", "TitleColor", "TickColor", "LineColor"].map((part) => axis + part)),
);
const TEXTS = [
  "textColor", "primaryTextColor", "secondaryTextColor", "tertiaryTextColor", "nodeTextColor", "titleColor",
  "noteTextColor", "actorTextColor", "labelTextColor", "loopTextColor", "signalTextColor", "signalColor",
  "taskTextColor", "taskTextDarkColor", "taskTextLightColor", "taskTextOutsideColor", "sectionTextColor",
  "pieTitleTextColor", "pieLegendTextColor", "commitLabelColor", "classText", "relationLabelColor",
];
