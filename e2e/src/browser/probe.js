// Looks at a page from within: what moved, what does not fit, what is said, where the keyboard can go. Put into each
// page that a test opens; `probe` is asked by the tests beside this.
(() => {
  const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  /** Rows of a grid whose cells are gone through; the others are as these. */
  const GRID_ROWS = 3;
  /** Pixels that a text may reach over its place: accents, and sizes that are rounded. */
  const SLACK = 2;
  const ARROW_PIXELS = 20;
  const canvas = document.createElement("canvas").getContext("2d");
  let moves = [];
  let controls = [];
  /** Elements that the walk looked at, stop by stop. */
  const stops = new Set();
  /** Elements that had the focus: past the last control the browser may give it to the first between two keys. */
  const reached = new Set();
  document.addEventListener("focusin", ({ target }) => reached.add(target));

  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      const way = ({ previousRect: from, currentRect: to }) =>
        `(${from.x}, ${from.y}, ${from.width} × ${from.height} to ${to.x}, ${to.y}, ${to.width} × ${to.height})`;
      moves.push({ value, names: sources.map((source) => `${nameOf(source.node)} ${way(source)}`) });
    }
  }).observe({ type: "layout-shift", buffered: true });

  function nameOf(node) {
    const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    if (!(element instanceof Element)) return "something gone";
    const text = (element.getAttribute("aria-label") ?? element.textContent).trim().slice(0, 40);
    const classes = [...element.classList].map((each) => `.${each}`).join("");
    return `${element.localName}${classes} "${text}"`;
  }

  function isSeen(element) {
    return element.checkVisibility({ visibilityProperty: true }) && element.closest("[role='tooltip']") === null;
  }

  /** Elements with a text of their own, said to the eye or to who cannot see, with the place of the text. */
  function texts() {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      if (node.data.trim() === "" || !isSeen(element) || element.closest("option") !== null) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      found.push({ text: node.data.trim(), element, place: range.getBoundingClientRect() });
    }
    return found;
  }

  /** Says how an element cuts a text off; undefined when it does not, null when it can be scrolled to the text. */
  function cutBy(element, text, place) {
    const { overflowX, overflowY, textOverflow } = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (["auto", "scroll"].includes(overflowX) || ["auto", "scroll"].includes(overflowY)) return null;
    const isWide = place.right > box.right + SLACK || place.left < box.left - SLACK;
    const isHigh = place.bottom > box.bottom + SLACK || place.top < box.top - SLACK;
    // A long name of a file may end in dots, no word of ours.
    const isOurs = text.includes("⟦");
    if (overflowX !== "visible" && isWide && (isOurs || textOverflow !== "ellipsis")) return "cut at the side";
    if (overflowY !== "visible" && isHigh) return "cut below";
    const isFrame = element.matches(".card, .dialog, .menu, .notice, .head, .side, nav, button, a.button");
    return isFrame && isWide && overflowX === "visible" ? "over the edge of its frame" : undefined;
  }

  /** Says of what does not fit where it is. */
  function misfits() {
    const found = [];
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) found.push(`goes ${scrollWidth - clientWidth} pixels over the edge`);
    for (const { text, element, place } of texts()) {
      if (element.closest(".unseen") !== null) continue;
      for (let at = element; at !== null && at !== document.body; at = at.parentElement) {
        const cut = cutBy(at, text, place);
        if (cut === null) break;
        if (cut !== undefined) found.push(`${nameOf(element)} is ${cut}, ${nameOf(at).split(" ")[0]}`);
      }
    }
    for (const element of document.querySelectorAll("body *")) {
      const isTable = element.matches(".table-scroll, pre, input");
      const isScrolled = element.scrollWidth > element.clientWidth + 1;
      const isScroller = ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
      if (isScroller && isScrolled && !isTable && isSeen(element)) found.push(`${nameOf(element)} scrolls sideways`);
    }
    for (const field of document.querySelectorAll("select, input[placeholder]")) {
      const isSelect = field.localName === "select";
      const text = isSelect ? field.selectedOptions[0]?.text : field.value === "" ? field.placeholder : "";
      const { font, paddingLeft, paddingRight } = getComputedStyle(field);
      canvas.font = font;
      const taken = Number.parseFloat(paddingLeft) + Number.parseFloat(paddingRight) + (isSelect ? ARROW_PIXELS : 0);
      const width = canvas.measureText(text ?? "").width;
      if (isSeen(field) && width > field.clientWidth - taken + 1) found.push(`"${text}" is longer than its field`);
    }
    return found;
  }

  /** Returns all that is said, to the eye or to who cannot see; commands and logs apart. */
  function sayings() {
    const found = texts()
      .filter(({ element }) => element.closest("code, pre") === null)
      .map(({ text }) => text);
    for (const attribute of ["aria-label", "title", "placeholder", "alt"])
      for (const element of document.querySelectorAll(`body [${attribute}]`))
        if (element.checkVisibility()) found.push(element.getAttribute(attribute));
    for (const { text } of document.querySelectorAll("option")) found.push(text);
    return found;
  }

  /** Marks what a mouse can use; nothing is reached yet. */
  function beginWalk() {
    stops.clear();
    controls = [...document.querySelectorAll(CONTROLS)].filter((element) => {
      const row = element.closest("[role='row']")?.ariaRowIndex ?? "0";
      const isOtherRadio = element.matches("input[type='radio']:not(:checked)");
      return element.checkVisibility() && !element.disabled && !isOtherRadio && Number(row) <= GRID_ROWS;
    });
    const isOff = document.activeElement === document.body;
    if (!isOff) document.activeElement.blur();
    reached.clear();
  }

  function shown(element) {
    return [element, element.closest("label")].some((each) => {
      if (each === null) return false;
      const { outlineStyle, outlineWidth } = getComputedStyle(each);
      return outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2;
    });
  }

  /** Tells of the element with the focus: whether it had it before, and what is wrong with that it has it. */
  function stop() {
    const element = document.activeElement;
    if (element === document.body || element === null) return { isNowhere: true, isOld: false, row: 0, faults: [] };
    const isOld = stops.has(element);
    stops.add(element);
    const faults = [];
    const name = nameOf(element);
    if (!shown(element)) faults.push(`${name} does not show that it has the focus`);
    const { left, right, top, bottom } = (element.closest("label") ?? element).getBoundingClientRect();
    const [fromX, toX] = [Math.max(0, left), Math.min(innerWidth, right)];
    const [fromY, toY] = [Math.max(0, top), Math.min(innerHeight, bottom)];
    const hit = document.elementFromPoint((fromX + toX) / 2, (fromY + toY) / 2);
    const isInSight = fromX < toX && fromY < toY && hit !== null && (hit.contains(element) || element.contains(hit));
    const isOfLabel = element.closest("label")?.contains(hit) ?? false;
    if (!isInSight && !isOfLabel) faults.push(`${name} has the focus out of sight`);
    return { isNowhere: false, isOld, row: Number(element.closest("[role='row']")?.ariaRowIndex ?? 0), faults };
  }

  /** Says of what a mouse can use, and the keyboard did not come to. */
  function unreached() {
    const missed = controls.filter((element) => element.isConnected && !reached.has(element));
    const pressed = [...document.querySelectorAll("body *")].filter(
      (element) =>
        getComputedStyle(element).cursor === "pointer" && element.closest(`${CONTROLS}, button, label`) === null,
    );
    return [
      ...missed.map((element) => `${nameOf(element)} is not reached by Tab`),
      ...pressed.map((element) => `${nameOf(element)} is for the mouse alone`),
    ];
  }

  globalThis.probe = {
    misfits,
    sayings,
    beginWalk,
    stop,
    unreached,
    /** Takes what moved since it was asked last. */
    takeMoves() {
      const taken = moves;
      moves = [];
      return taken;
    },
    /** Resolves once all that was changed is drawn. */
    drawn: () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    go: (path) => history.pushState(null, "", path),
    isFocusWithin: (selector) => document.activeElement?.closest(selector) !== null,
  };
})();
