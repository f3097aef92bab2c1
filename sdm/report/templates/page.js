"use strict";
// Rasters inside a page: compressed numbers, and the colours of their values.
const rasters = {
  async unpack(text, n) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const out = new Uint16Array(n);
    for (let k = 0; k < n; k++) out[k] = (planes[k] << 8) | planes[n + k];
    return out;
  },
  shades(palette, levels) {
    const table = new Uint32Array(levels + 1), pixel = new Uint8ClampedArray(4), word = new Uint32Array(pixel.buffer);
    const anchors = palette.map((hex) => [0, 2, 4].map((k) => parseInt(hex.slice(k, k + 2), 16)));
    for (let k = 0; k <= levels; k++) {
      const place = (k / levels) * (anchors.length - 1), low = Math.min(Math.floor(place), anchors.length - 2);
      for (let c = 0; c < 3; c++) pixel[c] = anchors[low][c] + (anchors[low + 1][c] - anchors[low][c]) * (place - low);
      pixel[3] = 255;
      table[k] = word[0];
    }
    return table;
  },
  tints(classes) {
    const table = new Uint32Array(256), pixel = new Uint8ClampedArray(4), word = new Uint32Array(pixel.buffer);
    for (const code of Object.keys(classes)) {
      for (let c = 0; c < 3; c++) pixel[c] = parseInt(classes[code][1].slice(1 + 2 * c, 3 + 2 * c), 16);
      pixel[3] = 255;
      table[code] = word[0];
    }
    return table;
  },
  strip(canvas, colours) {
    const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, 1);
    const pixels = new Uint32Array(image.data.buffer);
    for (let k = 0; k < canvas.width; k++) pixels[k] = colours[Math.round((k / (canvas.width - 1)) * (colours.length - 1))];
    context.putImageData(image, 0, 0);
  },
  // One entry of the legend per class on the map.
  entries(classes, there) {
    return Object.keys(classes).filter((code) => there.has(Number(code))).map((code) => {
      const item = document.createElement("li"), swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = classes[code][1];
      item.append(swatch, " " + classes[code][0]);
      return item;
    });
  },
};
// Functions of all pages: save figures, enlarge charts, sort and copy tables.
const tools = {
  save(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  },
  csv(rows) {
    // Prefix text that a spreadsheet would interpret as a formula with an apostrophe.
    const cell = (value) => {
      const text = String(value), safe = /^[=@+\t\r]|^-(?![\d.])/.test(text) ? "'" + text : text;
      return /[",\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
    };
    return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  },
  saveTable(rows, name) { tools.save(new Blob([tools.csv(rows)], { type: "text/csv" }), name); },
  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch (error) {  // if the page has no permission: the older method
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  },
  button(name, label, act) {
    const one = document.createElement("button");
    one.type = "button";
    one.textContent = name;
    one.setAttribute("aria-label", label);
    one.title = label;
    one.addEventListener("click", () => act(one));
    return one;
  },
  bar(place, acts) {
    place.classList.add("tools");
    place.append(...acts.map(([name, label, act]) => tools.button(name, label, act)));
    return place;
  },
};
(function () {
  // Print collapsed sections too.
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
  const fileName = (text) => text.normalize("NFD").replace(/[^\w-]+/g, "_").replace(/^_+|_+$/g, "").slice(0, 80) || "sdm";
  const clean = (cell) => cell.textContent.replace(/\s+/g, " ").trim();

  // ---- charts
  const dialog = document.createElement("dialog");
  dialog.className = "large";
  function alone(chart) {
    const copy = chart.cloneNode(true), name = "http:" + "//www.w3.org/2000/svg";
    copy.setAttribute("xmlns", name);
    copy.setAttribute("font-family", "system-ui, Arial, sans-serif");
    copy.setAttribute("font-size", "13");
    copy.setAttribute("fill", "#2b3238");
    copy.removeAttribute("data-table");
    const sheet = document.createElementNS(name, "rect");
    for (const [key, value] of [["width", "100%"], ["height", "100%"], ["fill", "#ffffff"]]) sheet.setAttribute(key, value);
    copy.prepend(sheet);
    return new XMLSerializer().serializeToString(copy);
  }
  const called = (chart) => fileName(chart.getAttribute("aria-label"));
  function png(chart) {
    const { width, height } = chart.viewBox.baseVal, picture = new Image(), scale = 4;
    picture.onload = () => {
      const out = document.createElement("canvas");
      [out.width, out.height] = [width * scale, height * scale];
      out.getContext("2d").drawImage(picture, 0, 0, out.width, out.height);
      out.toBlob((blob) => tools.save(blob, called(chart) + ".png"));
    };
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(alone(chart));
  }
  function picture(image) {
    const out = document.createElement("canvas");
    [out.width, out.height] = [image.naturalWidth, image.naturalHeight];
    out.getContext("2d").drawImage(image, 0, 0);
    out.toBlob((blob) => tools.save(blob, fileName(image.alt) + ".png"));
  }
  const acts = (chart) => (chart.matches("img") ? [["PNG", "picture as PNG", () => picture(chart)]] : [
    ["PNG", "chart as PNG", () => png(chart)],
    ["SVG", "chart as SVG", () => tools.save(new Blob([alone(chart)], { type: "image/svg+xml" }), called(chart) + ".svg")],
    ...(chart.dataset.table ? [["CSV", "numbers of the chart as CSV", () => tools.save(new Blob([chart.dataset.table], { type: "text/csv" }), called(chart) + ".csv")]] : []),
  ]);
  function enlarge(figure) {
    const chart = figure.querySelector("svg.chart, img"), copy = chart.cloneNode(true), title = document.createElement("h2"), bar = document.createElement("p");
    title.textContent = chart.getAttribute("aria-label") || chart.alt;
    tools.bar(bar, acts(chart));
    bar.append(tools.button("Close", "close", () => dialog.close()));
    dialog.setAttribute("aria-label", title.textContent);
    dialog.replaceChildren(title, copy, bar);
    dialog.showModal();
  }
  const figures = Array.from(document.querySelectorAll("main figure")).filter((figure) => figure.id !== "plain" && figure.id !== "panel-plain" && figure.querySelector("svg.chart, img"));
  if (figures.length) document.body.append(dialog);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  for (const figure of figures) {
    const chart = figure.querySelector("svg.chart, img");
    chart.classList.add("opens");
    chart.addEventListener("click", () => enlarge(figure));
    figure.append(tools.bar(document.createElement("p"), [["Enlarge", "enlarge the chart: " + (chart.getAttribute("aria-label") || chart.alt), () => enlarge(figure)], ...acts(chart)]));
  }

  // ---- tables: the first click sorts names in ascending and numbers in descending order; the second reverses it
  function number(text) {
    const found = text.replaceAll(",", "").replaceAll("−", "-").match(/^[<±]?\s*([+-]?[\d.]+(?:e[+-]?\d+)?)/i);
    return found ? Number(found[1]) : NaN;
  }
  function sortable(table) {
    const body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
    const text = (row, column) => (row.cells[column].dataset.value !== undefined ? row.cells[column].dataset.value : clean(row.cells[column]));
    heads.forEach((head, column) => {
      let button = head.querySelector("button");
      if (!button && !table.classList.contains("sorted")) {
        button = document.createElement("button");
        button.type = "button";
        button.append(...head.childNodes);
        head.append(button);
        head.setAttribute("aria-sort", "none");
      }
      if (!button) return;
      button.addEventListener("click", () => {
        const rows = Array.from(body.rows), numeric = rows.every((row) => row.cells[column].classList.contains("n")), before = head.getAttribute("aria-sort");
        const falling = before === "none" ? numeric : before === "ascending";
        heads.forEach((other) => { if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none"); });
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        body.append(...rows.sort((one, two) => {
          const a = text(one, column), b = text(two, column), lost = (value) => value === "" || value === "–";
          if (lost(a) || lost(b)) return lost(a) - lost(b);  // missing values are last in both orders
          const order = numeric ? number(a) - number(b) : a.localeCompare(b);
          return falling ? -order : order;
        }));
      });
    });
    table.classList.add("sorted");
  }
  // Show a table that is too wide as cards, one per row; the table of species only in a narrow window.
  function fit(table) {
    const region = table.parentElement, narrow = window.matchMedia("(max-width: 40rem)");
    let before = 0;
    const look = () => {
      if (!region.clientWidth || region.clientWidth === before) return;
      before = region.clientWidth;
      table.classList.remove("stacked");
      table.classList.toggle("stacked", table.classList.contains("listed") ? narrow.matches : table.offsetWidth > region.clientWidth + 1);
    };
    if (typeof ResizeObserver !== "undefined") new ResizeObserver(look).observe(region);
    look();
    // In print, letters are smaller, and a page is about 840 pixels wide.
    window.addEventListener("beforeprint", () => { if (table.offsetWidth > 840) table.classList.add("stacked"); });
    window.addEventListener("afterprint", () => { before = 0; look(); });
  }
  document.querySelectorAll("table.listed").forEach(fit);
  const rows = (table) => Array.from(table.rows, (row) => Array.from(row.cells, (cell) => clean(cell).replace(/^−(?=[\d.])/, "-")));
  for (const table of document.querySelectorAll("main .scroll > table:not(.listed)")) {
    const region = table.parentElement, name = region.getAttribute("aria-label") || "table";
    if (table.tHead && table.tBodies[0].rows.length > 1) sortable(table);
    if (table.tHead) {
      const titles = Array.from(table.tHead.rows[0].cells, clean);
      for (const row of table.tBodies[0].rows) Array.from(row.cells).forEach((cell, k) => { cell.dataset.label = k ? titles[k] || "" : ""; });
    }
    fit(table);
    const bar = tools.bar(document.createElement("p"), [
      ["Copy", "copy the table: " + name, (button) => {
        tools.copy(rows(table).map((row) => row.join("\t")).join("\n"));
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      }],
      ["CSV", "table as CSV: " + name, () => tools.saveTable(rows(table), fileName(name) + ".csv")],
    ]);
    region.after(bar);
  }
})();
