/**
 * Draws diagrams inside a frame that has no origin and may fetch nothing. The frame inherits the
 * policy of our pages, which allows no inline styles: so styles go through the object model,
 * which is free, and have other names wherever markup is parsed.
 */
(() => {
  const CSS = "data-css";
  const STYLE = "data-style";
  const SVG = "http://www.w3.org/2000/svg";
  // What the library says on the console would read as faults of our page.
  console.warn = console.error = () => {};
  // Pictures of elsewhere are not fetched; a diagram that has them cannot be drawn.
  window.Image = class {
    decode() {
      throw new Error("the diagram has a picture");
    }
  };
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [sheet];

  const { setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function (name, value) {
    if (name === "style" && this.style) this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };

  const { createElement, createElementNS } = Document.prototype;
  /** Stands for a sheet of styles, whose text is kept and is put in force apart. */
  const standIn = (owner) => {
    const element = createElementNS.call(owner, SVG, "desc");
    setAttribute.call(element, CSS, "");
    return element;
  };
  Document.prototype.createElement = function (name, ...rest) {
    return name === "style" ? standIn(this) : createElement.call(this, name, ...rest);
  };
  Document.prototype.createElementNS = function (space, name, ...rest) {
    return name === "style" ? standIn(this) : createElementNS.call(this, space, name, ...rest);
  };
  for (const name of ["insertBefore", "appendChild"]) {
    const insert = Node.prototype[name];
    Node.prototype[name] = function (node, ...rest) {
      if (node instanceof Element && node.hasAttribute(CSS)) sheet.replaceSync(node.textContent);
      return insert.call(this, node, ...rest);
    };
  }

  const parse = DOMParser.prototype.parseFromString;
  DOMParser.prototype.parseFromString = function (markup, type) {
    return parse.call(this, renamed(String(markup)), type);
  };
  const inner = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
  Object.defineProperty(Element.prototype, "innerHTML", {
    ...inner,
    set(markup) {
      inner.set.call(this, renamed(String(markup)));
      for (const element of this.querySelectorAll(`[${STYLE}]`)) {
        element.style.cssText = element.getAttribute(STYLE);
        element.removeAttribute(STYLE);
      }
    },
  });

  /** @param {string} markup */
  function renamed(markup) {
    const quiet = markup.replaceAll(/([\s"'/])style(?=\s*=)/gi, `$1${STYLE}`);
    // Handlers of events never run here; without their names nothing complains of them.
    return /^<svg/.test(markup) || !markup.includes("<") ? quiet : quiet.replaceAll(/([\s"'/])(on\w+\s*=)/gi, "$1data-$2");
  }

  /** Dark letters on a light ground that the source chose, light ones on a dark one. @param {Element} image */
  function contrast(image) {
    const styleOf = (element) => element?.getAttribute(STYLE) ?? "";
    for (const label of image.querySelectorAll("g.node > .label, g.cluster > .cluster-label")) {
      const ground = label.parentElement.querySelector(`:scope > [${STYLE}*="fill:"]`);
      const parts = /fill: rgb\((\d+), (\d+), (\d+)\)/.exec(styleOf(ground));
      const texts = [...label.querySelectorAll("text")];
      if (!parts || [label, ...texts].some((each) => /(?:fill|color):/.test(styleOf(each)))) continue;
      const light = 0.299 * parts[1] + 0.587 * parts[2] + 0.114 * parts[3];
      for (const text of texts) setAttribute.call(text, STYLE, `fill: ${light > 140 ? "#12161d" : "#ffffff"} !important`);
    }
  }

  /** An image of its own: well-formed, with a size. @param {string} svg */
  function asImage(svg) {
    const image = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
    const [, , width, height] = (image.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
    if (!(width > 0 && height > 0)) throw new Error("the diagram is empty");
    contrast(image);
    image.setAttribute("width", width);
    image.setAttribute("height", height);
    const text = new XMLSerializer()
      .serializeToString(image)
      .replaceAll(` ${STYLE}=`, " style=")
      .replaceAll(new RegExp(`<desc ${CSS}="">(.*?)</desc>`, "gs"), "<style>$1</style>");
    return { svg: text, width, height };
  }

  addEventListener("message", async ({ data: { source, config } }) => {
    try {
      mermaid.initialize(config);
      parent.postMessage(asImage((await mermaid.render("diagram", source)).svg), "*");
    } catch (error) {
      parent.postMessage({ error: String(error?.message ?? error) }, "*");
    }
  });
  parent.postMessage({ isReady: true }, "*");
})();
