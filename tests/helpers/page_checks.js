// What tests ask a page: is any text cut off, out of its chart, too pale, or broken inside a word?
const checks = {
  // Texts outside the window, or wider than a box that hides what sticks out of it.
  clipped() {
    const found = [], range = document.createRange(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const own = node.parentElement, text = node.textContent.trim();
      if (!text || own.closest("script, style, noscript, svg, option, .skip, .lead > h2, [hidden]")) continue;
      range.selectNodeContents(node);
      const box = range.getBoundingClientRect();
      if (!box.width || !box.height) continue;
      if (box.left < -1 || box.right > innerWidth + 1) found.push("outside: " + text.slice(0, 60));
      const tile = own.closest(".tiles > div");
      if (tile && box.right > tile.getBoundingClientRect().right + 1) found.push("over its tile: " + text.slice(0, 60));
      for (let up = own; up && up !== document.body; up = up.parentElement) {
        const hides = getComputedStyle(up).overflowX !== "visible", room = up.getBoundingClientRect();
        if (hides && (box.right > room.right + 1 || box.left < room.left - 1)) {
          found.push("cut: " + text.slice(0, 60));
          break;
        }
      }
    }
    return found;
  },
  outOfChart() {
    return Array.from(document.querySelectorAll("svg.chart text")).filter((text) => {
      const a = text.getBoundingClientRect(), b = text.closest("svg").getBoundingClientRect();
      return a.width && (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1);
    }).map((text) => text.textContent);
  },
  // Texts whose contrast with what is behind them is below AA (WCAG 2.1: 4.5, or 3 for large letters); how many there are.
  contrast() {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }), found = {};
    const rgba = (text) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      return Array.from(canvas.getImageData(0, 0, 1, 1).data);
    };
    const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const behind = (element) => {
      for (let up = element; up; up = up.parentElement) {
        const colour = rgba(getComputedStyle(up).backgroundColor);
        if (colour[3] > 200) return colour;
      }
      return [255, 255, 255, 255];
    };
    let count = 0;
    for (const element of document.querySelectorAll("body *")) {
      const own = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!own || element.closest("script, style, noscript, option, [hidden], .dot, button:disabled")) continue;
      const style = getComputedStyle(element), size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
      const a = light(rgba(element.closest("svg") ? style.fill : style.color)), b = light(behind(element));
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), large = size >= 24 || (size >= 18.66 && bold);
      count += 1;
      if (ratio < (large ? 3 : 4.5)) found[element.tagName + "." + element.className + " " + style.color] = ratio;
    }
    return [count, found];
  },
  // Names of the index that go on in another line in the middle of a word.
  broken() {
    const range = document.createRange();
    return Array.from(document.querySelectorAll("#species tbody i")).filter((name) => Array.from(name.textContent.matchAll(/\S+/g)).some((word) => {
      range.setStart(name.firstChild, word.index);
      range.setEnd(name.firstChild, word.index + word[0].length);
      return range.getClientRects().length > 1;
    })).map((name) => name.textContent);
  },
  // What the tab key should come to.
  reachable() {
    const all = document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]');
    return Array.from(all).filter((e) => !e.disabled && e.tabIndex >= 0 && e.getClientRects().length && !(e.type === "radio" && !e.checked)).length;
  },
  labelled() {
    const named = (e) => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || (e.labels && e.labels.length) || (e.tagName === "BUTTON" && e.textContent.trim());
    return Array.from(document.querySelectorAll("input, select, button, [role=region], [role=group]")).filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 80));
  },
};
