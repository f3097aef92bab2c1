// The map of a page: layers over each other, zoom and pan, records, the threshold, and what lies under the pointer.
(function () {
  const byId = (id) => document.getElementById(id), source = byId("live-data");
  if (!source || typeof DecompressionStream === "undefined") return;  // the picture stays
  const map = JSON.parse(source.textContent), canvas = byId("values"), plate = byId("plate"), slider = byId("threshold");
  const state = { layer: 0, under: -1, opacity: 1, above: false, threshold: map.top / 2, named: null, cursor: null, view: mapView.whole(), byFold: false };
  const NOWHERE = "#e8e8e8", MOST = 1 << 12;
  Object.assign(map, { bounds: map.layers[0].bounds });

  // Layers of scenarios are those of the panel further down the page: they are stored once.
  const panel = byId("panel-data") ? JSON.parse(byId("panel-data").textContent) : null;
  const layers = map.layers.map((layer) => ({ palette: map.palette, low: 0, high: layer.top, levels: map.levels, ...layer }));
  for (const entry of panel ? panel.entries : []) {
    for (const kind of ["suitability", "change"].filter((one) => one in entry.layers)) {
      const look = panel.kinds[kind], novel = entry.hatched && entry.hatched in entry.layers ? { values: entry.layers[entry.hatched], range: panel.kinds[entry.hatched].novel } : null;
      layers.push({ ...panel.grids[entry.grid], ...look, name: "scenario " + entry.title + (kind === "change" ? ", change" : ""), label: look.name, values: entry.layers[kind], threshold: false, novel });
    }
  }
  const coded = (layer) => Object.keys(layer.classes).length > 0;
  const shades = new Map();
  function colours(layer) {
    if (coded(layer)) return rasters.tints(layer.classes);
    const key = layer.palette.join() + layer.levels;
    if (!shades.has(key)) shades.set(key, rasters.shades(layer.palette, layer.levels));
    return shades.get(key);
  }
  const step = (value) => Math.floor((value / map.top) * map.levels + 1e-4);
  const digits = (value) => (map.top === 1 ? value.toFixed(3) : map.top === 100 ? value.toFixed(1) : value.toPrecision(3));
  const percent = (value) => (value === null || value === undefined ? "–" : (100 * value).toFixed(1) + " %");

  // Parts of a raster: the whole of it, reduced; and tiles of a finer level, which are unpacked when they are seen.
  function part(layer, key, text, width, height, bounds) {
    layer.parts = layer.parts || new Map();
    if (!layer.parts.has(key)) {
      const one = { width, height, bounds, values: null, painted: null, look: "" };
      layer.parts.set(key, one);
      one.ready = rasters.unpack(text, width * height).then((values) => { one.values = values; return one; });
    }
    return layer.parts.get(key);
  }
  const base = (layer) => part(layer, "base", layer.values, layer.width, layer.height, layer.bounds);
  const novel = (layer) => (layer.novel ? part(layer, "novel", layer.novel.values, layer.width, layer.height, layer.bounds) : null);
  function tiles(layer, view) {
    const fine = layer.fine;
    if (!fine) return [];
    const [left, bottom, right, top] = layer.bounds, across = Math.ceil(fine.width / fine.tile), down = Math.ceil(fine.height / fine.tile), found = [];
    const [from, to] = [mapView.toMap(view, [0, 0]), mapView.toMap(view, [1, 1])], edge = fine.tile;
    const first = (share, n) => Math.max(0, Math.floor((share * n) / edge)), last = (share, n, most) => Math.min(most - 1, Math.floor((share * n) / edge));
    for (let row = first(from[1], fine.height); row <= last(to[1], fine.height, down); row++) {
      for (let column = first(from[0], fine.width); column <= last(to[0], fine.width, across); column++) {
        const wide = Math.min(edge, fine.width - column * edge), high = Math.min(edge, fine.height - row * edge);
        const x = (cells) => left + (cells / fine.width) * (right - left), y = (cells) => top - (cells / fine.height) * (top - bottom);
        const bounds = [x(column * edge), y(row * edge + high), x(column * edge + wide), y(row * edge)];
        found.push(part(layer, row * across + column, fine.tiles[row * across + column], wide, high, bounds));
      }
    }
    return found;
  }

  // A part as a picture of one pixel per cell; it is painted again when the threshold or the view of it changes.
  function painted(layer, one) {
    const above = state.above && layer.threshold, look = above ? "above " + step(state.threshold) : "all";
    if (one.painted && one.look === look) return one.painted;
    const out = one.painted || new OffscreenCanvas(one.width, one.height), context = out.getContext("2d");
    const image = context.createImageData(one.width, one.height), pixels = new Uint32Array(image.data.buffer), table = colours(layer), level = step(state.threshold);
    const present = table[Math.round(0.62 * layer.levels)], absent = table[Math.round(0.12 * layer.levels)], values = one.values;
    for (let k = 0; k < values.length; k++) pixels[k] = values[k] === map.nothing ? 0 : above ? (values[k] >= level ? present : absent) : table[values[k]];
    context.putImageData(image, 0, 0);
    return Object.assign(one, { painted: out, look }).painted;
  }

  const share = (x, y) => [(x - map.bounds[0]) / (map.bounds[2] - map.bounds[0]), (map.bounds[3] - y) / (map.bounds[3] - map.bounds[1])];
  function box(bounds, view, size) {
    const [a, b] = [mapView.toWindow(view, share(bounds[0], bounds[3])), mapView.toWindow(view, share(bounds[2], bounds[1]))];
    return [a[0] * size[0], a[1] * size[1], (b[0] - a[0]) * size[0], (b[1] - a[1]) * size[1]];
  }

  function drawLayer(context, layer, view, size, ratio) {
    const wanted = layer.fine && (size[0] * ratio * view.zoom) / layer.width > 1.2 ? tiles(layer, view) : [];
    const waiting = wanted.filter((one) => !one.values);
    waiting.forEach((one) => one.ready.then(draw));
    const shown = wanted.length && !waiting.length ? wanted : [base(layer), ...wanted];
    canvas.dataset.sharp = wanted.length && !waiting.length ? "yes" : "no";
    for (const one of shown) if (one.values) context.drawImage(painted(layer, one), ...box(one.bounds, view, size));
  }

  // Stripes where the model extrapolates, dark beside light, so that they show on any colour.
  function hatch(context, layer, view, size, ratio) {
    const one = novel(layer);
    if (!one || !one.values || !byId("hatching") || !byId("hatching").checked) return;
    if (!one.mask) {
      one.mask = new OffscreenCanvas(one.width, one.height);
      const own = one.mask.getContext("2d"), image = own.createImageData(one.width, one.height), pixels = new Uint32Array(image.data.buffer), [low, beyond] = layer.novel.range;
      for (let k = 0; k < one.values.length; k++) if (one.values[k] >= low && one.values[k] < beyond) pixels[k] = 0xff000000;
      own.putImageData(image, 0, 0);
    }
    const wide = Math.round(size[0] * ratio), high = Math.round(size[1] * ratio), stripes = new OffscreenCanvas(wide, high), own = stripes.getContext("2d");
    for (const [colour, shift, width] of [["#ffffffdd", 0, 1.5], ["#141414dd", 1.5, 1.5]]) {
      own.strokeStyle = colour;
      own.lineWidth = width * ratio;
      own.beginPath();
      for (let x = -high; x < wide; x += 8 * ratio) { own.moveTo(x + shift * ratio, high); own.lineTo(x + shift * ratio + high, 0); }
      own.stroke();
    }
    own.globalCompositeOperation = "destination-in";
    own.imageSmoothingEnabled = false;
    own.drawImage(one.mask, ...box(one.bounds, view, [wide, high]));
    context.drawImage(stripes, 0, 0, size[0], size[1]);
  }

  const rows = (group) => byId("show-" + group.id).checked;
  function drawRecords(pen, view, size) {
    const groups = state.byFold ? map.folds : map.records.filter(rows);
    for (const group of groups) {
      const dot = (group.places.length > 500 ? 2 : 3.2) * Math.min(2, 1 + 0.15 * Math.log2(view.zoom));
      for (const [x, y] of group.places) {
        const [a, b] = mapView.toWindow(view, share(x, y));
        if (a < 0 || b < 0 || a > 1 || b > 1) continue;
        const [px, py] = [a * size[0], b * size[1]];
        if (group.cross) {
          for (const [colour, width] of [["#ffffff", 4], [group.colour, 2]]) {
            pen.line([[px - 4, py - 4], [px + 4, py + 4]], colour, width);
            pen.line([[px - 4, py + 4], [px + 4, py - 4]], colour, width);
          }
        } else pen.dot(px, py, dot, group.colour);
      }
    }
  }

  function drawRasters(context, size, ratio) {
    context.imageSmoothingEnabled = false;
    context.fillStyle = NOWHERE;
    context.fillRect(0, 0, size[0], size[1]);
    if (state.under >= 0 && base(layers[state.under]).values) drawLayer(context, layers[state.under], state.view, size, ratio);
    context.globalAlpha = state.opacity;
    drawLayer(context, layers[state.layer], state.view, size, ratio);
    hatch(context, layers[state.layer], state.view, size, ratio);
    context.globalAlpha = 1;
  }

  function drawMarks(pen, size) {
    if (byId("graticule").checked) mapView.graticule(pen, map, state.view, size);
    drawRecords(pen, state.view, size);
    return mapView.scaleBar(pen, map, state.view, size);
  }

  function draw() {
    const room = plate.getBoundingClientRect(), ratio = window.devicePixelRatio || 1, size = [Math.max(1, room.width), Math.max(1, room.height)];
    canvas.width = Math.round(size[0] * ratio);
    canvas.height = Math.round(size[1] * ratio);
    const context = canvas.getContext("2d");
    context.scale(canvas.width / size[0], canvas.height / size[1]);
    drawRasters(context, size, ratio);
    const pen = mapView.canvasPen(context);
    plate.dataset.bar = drawMarks(pen, size);
    plate.dataset.zoom = state.view.zoom.toFixed(3);
    canvas.style.touchAction = state.view.zoom > 1 ? "none" : "pan-y";
    if (state.cursor) {
      const [x, y] = mapView.toWindow(state.view, state.cursor).map((part, k) => part * size[k]);
      for (const [width, colour] of [[4, "#ffffff"], [2, "#c81e1e"]]) {
        pen.line([[x - 10, y], [x + 10, y]], colour, width);
        pen.line([[x, y - 10], [x, y + 10]], colour, width);
      }
    }
  }

  // What the colours of a layer mean: a strip from low to high, or one entry per class that is on the map.
  const end = (value) => (Number.isInteger(value) ? String(value) : value.toPrecision(2)).replace("-", "−");
  function explain(layer) {
    byId("scale").hidden = coded(layer);
    byId("legend").hidden = !coded(layer);
    byId("legend").replaceChildren(...(coded(layer) ? rasters.entries(layer.classes, new Set(base(layer).values)) : []));
    byId("label").textContent = layer.label;
    byId("low").textContent = end(layer.low);
    byId("high").textContent = end(layer.high);
    if (!coded(layer)) rasters.strip(byId("key"), colours(layer));
    if (byId("hatched")) byId("hatched").hidden = !layer.novel;
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
    for (const [id, part] of [["area", area], ["train", train], ["test", test]]) if (byId(id)) byId(id).textContent = percent(part);
    slider.setAttribute("aria-valuetext", "threshold " + digits(state.threshold) + ", " + (byId("area") ? byId("area").previousElementSibling.textContent.toLowerCase() : "area") + " " + percent(area) + ", training omission " + percent(train));
  }

  // The value of a layer at a place: of the finest part that is there.
  function cell(layer, one, x, y) {
    const column = Math.floor(((x - one.bounds[0]) / (one.bounds[2] - one.bounds[0])) * one.width), row = Math.floor(((one.bounds[3] - y) / (one.bounds[3] - one.bounds[1])) * one.height);
    return column < 0 || row < 0 || column >= one.width || row >= one.height ? undefined : one.values[row * one.width + column];
  }
  function value(layer, x, y) {
    const at = share(x, y), near = layer.fine ? tiles(layer, { x: at[0], y: at[1], zoom: 1e9 }) : [];
    for (const one of [...near, base(layer)]) if (one.values) {
      const found = cell(layer, one, x, y);
      if (found !== undefined) return found;
    }
    return map.nothing;
  }
  function said(layer, x, y) {
    const code = value(layer, x, y), extra = novel(layer), [low, beyond] = layer.novel ? layer.novel.range : [0, 0];
    if (code === map.nothing) return "no data";
    const strange = extra && extra.values ? cell(layer, extra, x, y) : -1, outside = strange >= low && strange < beyond ? " (outside the training range)" : "";
    if (coded(layer)) return (layer.classes[code] ? layer.classes[code][0] : String(code)) + outside;
    const side = !layer.threshold ? "" : code >= step(state.threshold) ? ", above the threshold" : ", below the threshold";
    return digits(layer.low + (code / layer.levels) * (layer.high - layer.low)) + side + outside;
  }
  function nearby(at) {
    const room = plate.getBoundingClientRect(), groups = state.byFold ? map.folds : map.records.filter(rows);
    let best = null, least = 7;
    for (const group of groups) for (const place of group.places) {
      const [a, b] = mapView.toWindow(state.view, share(place[0], place[1])), far = Math.hypot((a - at[0]) * room.width, (b - at[1]) * room.height);
      if (far < least) [best, least] = [group.name + (place.length > 2 ? ": " + map.reasons[place[2]] : ""), far];
    }
    return best === null ? "" : " – record: " + best;
  }
  function read(place, at) {
    const x = map.bounds[0] + place[0] * (map.bounds[2] - map.bounds[0]), y = map.bounds[3] - place[1] * (map.bounds[3] - map.bounds[1]);
    const where = map.geographic ? x.toFixed(3) + "°, " + y.toFixed(3) + "°" : Math.round(x) + ", " + Math.round(y);
    const below = state.under >= 0 && base(layers[state.under]).values ? " – " + layers[state.under].name + ": " + said(layers[state.under], x, y) : "";
    byId("hover").textContent = where + ": " + said(layers[state.layer], x, y) + below + nearby(at);
  }

  const largest = () => {
    const layer = layers[state.layer], cells = layer.fine ? layer.fine.width : layer.width;
    return Math.min(MOST, Math.max(8, (cells / Math.max(1, plate.getBoundingClientRect().width)) * 24));
  };
  function look(view) {
    state.view = mapView.clamp(view, largest());
    draw();
  }
  const zoom = (factor, at) => look(mapView.enlarge(state.view, factor, at || [0.5, 0.5], largest()));
  const pan = (dx, dy) => look({ ...state.view, x: state.view.x + dx / state.view.zoom, y: state.view.y + dy / state.view.zoom });
  const place = (event) => {
    const room = plate.getBoundingClientRect();
    return [(event.clientX - room.left) / room.width, (event.clientY - room.top) / room.height];
  };

  function key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const acts = { "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: () => look(mapView.whole()), Home: () => look(mapView.whole()) };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in steps || event.key in acts)) return;
    event.preventDefault();
    if (event.key in acts) return acts[event.key]();
    const layer = layers[state.layer], grid = layer.fine && state.view.zoom > 1.5 ? layer.fine : layer, far = event.shiftKey ? 10 : 1, [dx, dy] = steps[event.key];
    const [x, y] = state.cursor || [state.view.x, state.view.y], move = (part, by, n) => (Math.min(Math.max(Math.floor(part * n) + by * far, 0), n - 1) + 0.5) / n;
    state.cursor = [move(x, dx, grid.width), move(y, dy, grid.height)];
    const at = mapView.toWindow(state.view, state.cursor);  // what leaves the window takes it along
    if (Math.min(...at) < 0.05 || Math.max(...at) > 0.95) state.view = mapView.clamp({ ...state.view, x: state.cursor[0], y: state.cursor[1] }, largest());
    draw();
    read(state.cursor, mapView.toWindow(state.view, state.cursor));
  }

  function pointing() {
    const held = new Map();
    let spread = 0;
    canvas.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, place(event));
      if (event.pointerType !== "touch" || state.view.zoom > 1 || held.size > 1) canvas.setPointerCapture(event.pointerId);
      spread = 0;
      canvas.focus({ preventScroll: true });
      read(mapView.toMap(state.view, place(event)), place(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = place(event), before = held.get(event.pointerId);
      if (!before) return read(mapView.toMap(state.view, now), now);
      held.set(event.pointerId, now);
      const all = [...held.values()];
      if (all.length > 1) {
        const wide = Math.hypot(all[0][0] - all[1][0], all[0][1] - all[1][1]), middle = [(all[0][0] + all[1][0]) / 2, (all[0][1] + all[1][1]) / 2];
        if (spread > 0) zoom(wide / spread, middle);
        spread = wide;
      }
      pan((before[0] - now[0]) / all.length, (before[1] - now[1]) / all.length);
    });
    for (const kind of ["pointerup", "pointercancel", "pointerleave"]) canvas.addEventListener(kind, (event) => { held.delete(event.pointerId); spread = 0; });
    // The wheel turns the page until the map was clicked on, so that nobody is caught in it.
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      zoom(2 ** (-event.deltaY * (event.deltaMode === 1 ? 16 : 1) / 240), place(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => zoom(2, place(event)));
    canvas.addEventListener("keydown", key);
    const acts = { in: () => zoom(1.5), out: () => zoom(1 / 1.5), whole: () => look(mapView.whole()), left: () => pan(-0.25, 0), right: () => pan(0.25, 0), up: () => pan(0, -0.25), down: () => pan(0, 0.25) };
    document.querySelectorAll(".zoom [data-act]").forEach((button) => button.addEventListener("click", acts[button.dataset.act]));
  }

  let wanted = null;
  async function show(k) {
    const layer = layers[k], mine = {};
    wanted = mine;
    await Promise.all([base(layer).ready, novel(layer) ? novel(layer).ready : null]);
    if (wanted !== mine) return;  // another layer was asked for meanwhile
    state.layer = k;
    explain(layer);
    draw();
    byId("live").dataset.layer = layer.name;
  }

  function set(threshold, named) {
    state.threshold = threshold;
    state.named = named;
    slider.value = String(threshold);
    if (byId("named")) byId("named").value = named === null ? "" : String(named);
    tell();
    if (state.above) draw();
  }

  function wire() {
    const on = (id, kind, act) => { if (byId(id)) byId(id).addEventListener(kind, act); };
    on("threshold", "input", () => set(Number(slider.value), null));
    on("named", "change", () => {
      const chosen = byId("named").value;
      if (chosen !== "") set(map.thresholds[Number(chosen)].value, Number(chosen));
      else set(state.threshold, null);
    });
    document.querySelectorAll("input[name=view]").forEach((radio) => radio.addEventListener("change", () => {
      state.above = radio.value === "above";
      draw();
    }));
    on("layer", "change", () => show(Number(byId("layer").value)));
    on("under", "change", async () => {
      state.under = Number(byId("under").value);
      if (state.under >= 0) await base(layers[state.under]).ready;
      draw();
    });
    on("opacity", "input", () => {
      state.opacity = Number(byId("opacity").value) / 100;
      draw();
    });
    on("by-fold", "change", () => {
      state.byFold = byId("by-fold").checked;
      byId("fold-legend").hidden = !state.byFold;
      draw();
    });
    for (const id of ["graticule", "hatching"]) on(id, "change", draw);
    document.querySelectorAll("input.show").forEach((box) => box.addEventListener("change", draw));
    pointing();
    if (typeof ResizeObserver !== "undefined") new ResizeObserver(() => draw()).observe(plate);
  }

  // The map as it is seen, for a file: the rasters as one picture, everything else as lines, and what the colours mean.
  function legend(pen, layer, top, wide) {
    pen.text(0, top + 14, byId("live").dataset.title + " – " + layer.name, "start", true);
    if (coded(layer)) {
      const there = new Set(base(layer).values);
      Object.keys(layer.classes).filter((code) => there.has(Number(code))).forEach((code, k) => {
        pen.box((k % 4) * (wide / 4), top + 24 + 18 * Math.floor(k / 4), 12, 12, layer.classes[code][1]);
        pen.text((k % 4) * (wide / 4) + 17, top + 34 + 18 * Math.floor(k / 4), layer.classes[code][0], "start", true);
      });
      return 40 + 18 * Math.ceil(there.size / 4);
    }
    for (let k = 0; k < 64; k++) pen.box(30 + k * 3, top + 24, 3.5, 10, "#" + layer.palette[Math.round((k / 63) * (layer.palette.length - 1))]);
    pen.text(26, top + 33, end(layer.low), "end", true);
    pen.text(228, top + 33, end(layer.high) + "  " + layer.label, "start", true);
    return 48;
  }
  function picture(scale) {
    const room = plate.getBoundingClientRect(), size = [room.width, room.height], layer = layers[state.layer], blank = { text() {}, box() {} };
    const out = document.createElement("canvas"), high = size[1] + legend(blank, layer, size[1], size[0]), context = out.getContext("2d");
    [out.width, out.height] = [Math.round(size[0] * scale), Math.round(high * scale)];
    context.scale(scale, scale);
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, size[0], high);
    drawRasters(context, size, scale);
    return { out, context, size, high, layer };
  }
  function png() {
    const { out, context, size, layer } = picture(3), pen = mapView.canvasPen(context);
    drawMarks(pen, size);
    legend(pen, layer, size[1], size[0]);
    out.toBlob((blob) => tools.save(blob, byId("live").dataset.file + "_map.png"));
  }
  function vector() {
    const { out, size, high, layer } = picture(2), pen = mapView.svgPen();
    pen.image(out.toDataURL("image/png"), size[0], high);
    drawMarks(pen, size);
    legend(pen, layer, size[1], size[0]);
    tools.save(new Blob([pen.file(size[0], high, byId("live").dataset.title)], { type: "image/svg+xml" }), byId("live").dataset.file + "_map.svg");
  }
  function table() {
    const rows = [["x", "y", "use", "reason", "value"]];
    for (const group of map.records) for (const [x, y, why] of group.places) rows.push([x, y, group.name, why === undefined ? "" : map.reasons[why], said(layers[state.layer], x, y).split(",")[0]]);
    tools.saveTable(rows, byId("live").dataset.file + "_records.csv");
  }

  (async function begin() {
    byId("live").hidden = false;
    plate.style.aspectRatio = String(Math.max(layers[0].aspect, 0.2));
    plate.style.maxWidth = "calc(min(46rem, 78vh) * " + Math.max(layers[0].aspect, 0.2) + ")";
    try {
      await show(0);
    } catch (error) {  // a browser that cannot unpack it: the picture stays
      byId("live").hidden = true;
      return;
    }
    if (byId("plain")) byId("plain").hidden = true;
    for (const [id, first] of [["layer", []], ["under", [new Option("nothing", "-1")]]]) if (byId(id)) byId(id).replaceChildren(...first, ...layers.map((layer, k) => new Option(layer.name, String(k))));
    if (byId("layers")) byId("layers").hidden = layers.length < 2;
    wire();
    tools.bar(byId("map-tools"), [["PNG", "map as PNG", png], ["SVG", "map as SVG", vector], ...(map.records.length ? [["CSV", "records as CSV", table]] : [])]);
    const first = map.chosen === null ? -1 : map.thresholds.findIndex((row) => Math.abs(row.value - map.chosen) < 1e-12);
    if (slider) set(map.chosen === null ? map.top / 2 : map.chosen, first >= 0 ? first : null);
    byId("live").dataset.ready = "yes";
  })();
})();
