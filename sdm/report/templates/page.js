"use strict";
// Rasters inside a page: packed numbers, and the colours of their values.
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
  // One entry of a legend per class that is on the map.
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
(function () {
  const byId = (id) => document.getElementById(id);
  // What is folded away is printed all the same.
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
  // Tables sort themselves: names rise first, figures fall first; a second click turns it round.
  document.querySelectorAll("table.sorted").forEach((table) => {
    const body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const numeric = head.classList.contains("n"), before = head.getAttribute("aria-sort");
        const falling = before === "none" ? numeric : before === "ascending";
        heads.forEach((other) => { if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none"); });
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.value;
        body.append(...Array.from(body.rows).sort((one, two) => {
          const a = key(one), b = key(two);
          if (a === "" || b === "") return (a === "") - (b === "");  // what is not known comes last, either way
          const order = numeric ? Number(a) - Number(b) : a.localeCompare(b);
          return falling ? -order : order;
        }));
      });
    });
  });
  const source = byId("live-data");
  if (!source || typeof DecompressionStream === "undefined") return;  // the picture stays
  const map = JSON.parse(source.textContent);
  const canvas = byId("values"), marks = byId("marks"), plate = byId("plate"), slider = byId("threshold");
  const state = { layer: 0, above: false, threshold: map.top / 2, named: null, cursor: null };
  const colours = rasters.shades(map.palette, map.levels);
  let values = null, shown = null;

  const step = (value) => Math.floor((value / map.top) * map.levels + 1e-4);
  const digits = (value) => (map.top === 1 ? value.toFixed(3) : map.top === 100 ? value.toFixed(1) : value.toPrecision(3));
  const percent = (value) => (value === null || value === undefined ? "–" : (100 * value).toFixed(1) + " %");

  // The colours of a layer by value: of its classes, or the palette.
  const tints = (layer) => (Object.keys(layer.classes).length ? rasters.tints(layer.classes) : colours);

  // What the colours of a layer mean: a strip from low to high, or one entry per class that is on the map.
  function explain(layer) {
    const codes = Object.keys(layer.classes), list = byId("legend"), there = new Set(values);
    byId("scale").hidden = codes.length > 0;
    list.hidden = codes.length === 0;
    list.replaceChildren(...rasters.entries(layer.classes, there));
    byId("label").textContent = layer.label;
    byId("high").textContent = layer.top === 1 || layer.top === 100 ? String(layer.top) : layer.top.toPrecision(2);
  }

  function paint() {
    const layer = map.layers[state.layer], context = canvas.getContext("2d");
    const image = context.createImageData(layer.width, layer.height), pixels = new Uint32Array(image.data.buffer);
    const level = step(state.threshold), above = state.above && layer.threshold, table = tints(layer), present = colours[Math.round(0.62 * map.levels)], absent = colours[Math.round(0.12 * map.levels)];
    for (let k = 0; k < values.length; k++) {
      const value = values[k];
      pixels[k] = value === map.nothing ? 0 : above ? (value >= level ? present : absent) : table[value];
    }
    context.putImageData(image, 0, 0);
    mark();
  }

  function mark() {
    const box = plate.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    marks.width = Math.max(1, Math.round(box.width * ratio));
    marks.height = Math.max(1, Math.round(box.height * ratio));
    const context = marks.getContext("2d");
    context.scale(ratio, ratio);
    const [left, bottom, right, top] = map.layers[state.layer].bounds;
    context.lineWidth = 1;
    context.strokeStyle = "#000000";
    for (const group of map.records) {
      if (!byId("show-" + group.id).checked) continue;
      context.fillStyle = group.colour;
      const size = group.places.length > 500 ? 2 : 3.2;
      for (const [x, y] of group.places) {
        context.beginPath();
        context.arc(((x - left) / (right - left)) * box.width, ((top - y) / (top - bottom)) * box.height, size, 0, 2 * Math.PI);
        context.fill();
        context.stroke();
      }
    }
    if (state.cursor) {
      const layer = map.layers[state.layer], [column, row] = state.cursor;
      const x = ((column + 0.5) / layer.width) * box.width, y = ((row + 0.5) / layer.height) * box.height;
      for (const [width, colour] of [[4, "#ffffff"], [2, "#c81e1e"]]) {
        context.lineWidth = width;
        context.strokeStyle = colour;
        context.beginPath();
        context.moveTo(x - 10, y); context.lineTo(x + 10, y); context.moveTo(x, y - 10); context.lineTo(x, y + 10);
        context.stroke();
      }
    }
  }

  function tell() {
    let area, train, test;
    if (state.named !== null) {
      ({ area, train, test } = map.thresholds[state.named]);
    } else {
      let best = null;  // the nearest row of the stored table: the slider's steps are all in it
      for (const row of map.sweep) if (best === null || Math.abs(row[0] - state.threshold) < Math.abs(best[0] - state.threshold)) best = row;
      if (best) [, area, train, test] = best;
    }
    byId("at").textContent = digits(state.threshold);
    for (const [id, share] of [["area", area], ["train", train], ["test", test]]) if (byId(id)) byId(id).textContent = percent(share);
    slider.setAttribute("aria-valuetext", "threshold " + digits(state.threshold) + ", " + (byId("area") ? byId("area").previousElementSibling.textContent.toLowerCase() : "area") + " " + percent(area) + ", training omission " + percent(train));
  }

  function read(column, row) {
    const layer = map.layers[state.layer], [left, bottom, right, top] = layer.bounds;
    const x = left + ((column + 0.5) / layer.width) * (right - left), y = top - ((row + 0.5) / layer.height) * (top - bottom);
    const value = values[row * layer.width + column];
    const place = map.geographic ? x.toFixed(3) + "°, " + y.toFixed(3) + "°" : Math.round(x) + ", " + Math.round(y);
    const side = !layer.threshold ? "" : value >= step(state.threshold) ? ", above the threshold" : ", below the threshold";
    const said = value === map.nothing ? "no data" : layer.classes[value] ? layer.classes[value][0] : digits((value / map.levels) * layer.top) + side;
    byId("hover").textContent = place + ": " + said;
  }

  function pointed(event) {
    const layer = map.layers[state.layer], box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * layer.width);
    const row = Math.floor(((event.clientY - box.top) / box.height) * layer.height);
    if (column >= 0 && row >= 0 && column < layer.width && row < layer.height) read(column, row);
  }

  function move(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const layer = map.layers[state.layer], far = event.shiftKey ? 10 : 1;
    const [column, row] = state.cursor || [Math.floor(layer.width / 2), Math.floor(layer.height / 2)];
    const [dx, dy] = steps[event.key];
    state.cursor = [Math.min(Math.max(column + dx * far, 0), layer.width - 1), Math.min(Math.max(row + dy * far, 0), layer.height - 1)];
    read(...state.cursor);
    mark();
  }

  async function show(k) {
    const layer = map.layers[k], wanted = {};
    shown = wanted;
    const unpacked = await rasters.unpack(layer.values, layer.width * layer.height);
    if (shown !== wanted) return;  // another layer was asked for meanwhile
    values = unpacked;
    state.layer = k;
    state.cursor = null;
    canvas.width = layer.width;
    canvas.height = layer.height;
    plate.style.aspectRatio = String(Math.max(layer.aspect, 0.2));
    plate.style.maxWidth = "calc(46rem * " + Math.max(layer.aspect, 0.2) + ")";
    explain(layer);
    paint();
  }

  function set(threshold, named) {
    state.threshold = threshold;
    state.named = named;
    slider.value = String(threshold);
    if (byId("named")) byId("named").value = named === null ? "" : String(named);
    tell();
    if (state.above) paint();
  }

  function wire() {
    if (slider) slider.addEventListener("input", () => set(Number(slider.value), null));
    const named = byId("named");
    if (named) named.addEventListener("change", () => {
      if (named.value !== "") set(map.thresholds[Number(named.value)].value, Number(named.value));
      else set(state.threshold, null);
    });
    document.querySelectorAll("input[name=view]").forEach((radio) => radio.addEventListener("change", () => {
      state.above = radio.value === "above";
      paint();
    }));
    const layer = byId("layer");
    if (layer) layer.addEventListener("change", () => show(Number(layer.value)));
    document.querySelectorAll("input.show").forEach((box) => box.addEventListener("change", mark));
    canvas.addEventListener("pointermove", pointed);
    canvas.addEventListener("pointerdown", pointed);
    canvas.addEventListener("keydown", move);
    if (typeof ResizeObserver !== "undefined") new ResizeObserver(() => { if (values) mark(); }).observe(plate);
  }

  (async function begin() {
    byId("live").hidden = false;
    try {
      await show(0);
    } catch (error) {  // a browser that cannot unpack it: the picture stays
      byId("live").hidden = true;
      return;
    }
    if (byId("plain")) byId("plain").hidden = true;
    rasters.strip(byId("key"), colours);
    wire();
    const first = map.chosen === null ? -1 : map.thresholds.findIndex((row) => Math.abs(row.value - map.chosen) < 1e-12);
    if (slider) set(map.chosen === null ? map.top / 2 : map.chosen, first >= 0 ? first : null);
    byId("live").dataset.ready = "yes";
  })();
})();
