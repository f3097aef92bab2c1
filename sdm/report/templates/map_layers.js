// The rasters of a map: tiles are decompressed when visible, painted once, and drawn by view; and the controls of the view.
const mapLayers = {
  shades: new Map(),
  coded(layer) { return Object.keys(layer.classes).length > 0; },
  colours(layer) {
    if (mapLayers.coded(layer)) return rasters.tints(layer.classes);
    const key = layer.palette.join() + layer.levels;
    if (!mapLayers.shades.has(key)) mapLayers.shades.set(key, rasters.shades(layer.palette, layer.levels));
    return mapLayers.shades.get(key);
  },
  // A map of a scenario as a layer; null without this map.
  ofPanel(panel, entry, kind) {
    if (!(kind in entry.layers)) return null;
    const look = panel.kinds[kind], hatched = entry.hatched && entry.hatched in entry.layers;
    const novel = hatched ? { values: entry.layers[entry.hatched], range: panel.kinds[entry.hatched].novel } : null;
    return { ...panel.grids[entry.grid], ...look, label: look.name, values: entry.layers[kind], fine: (entry.fine || {})[kind], nothing: panel.nothing, threshold: false, novel };
  },

  // Parts of a raster: the reduced raster, and tiles of a finer level, which are decompressed when visible.
  part(layer, key, text, width, height, bounds) {
    layer.parts = layer.parts || new Map();
    if (!layer.parts.has(key)) {
      const one = { width, height, bounds, values: null, painted: null, look: "" };
      layer.parts.set(key, one);
      one.ready = rasters.unpack(text, width * height).then((values) => { one.values = values; return one; });
    }
    return layer.parts.get(key);
  },
  base(layer) { return mapLayers.part(layer, "base", layer.values, layer.width, layer.height, layer.bounds); },
  novel(layer) { return layer.novel ? mapLayers.part(layer, "novel", layer.novel.values, layer.width, layer.height, layer.bounds) : null; },
  ready(layer) { return Promise.all([mapLayers.base(layer).ready, layer.novel ? mapLayers.novel(layer).ready : null]); },
  // The tiles between two points of a map in coordinates, upper left and lower right.
  tiles(layer, from, to) {
    const fine = layer.fine;
    if (!fine) return [];
    const [left, bottom, right, top] = layer.bounds, edge = fine.tile, across = Math.ceil(fine.width / edge), down = Math.ceil(fine.height / edge), found = [];
    const column = (x) => Math.floor((((x - left) / (right - left)) * fine.width) / edge), row = (y) => Math.floor((((top - y) / (top - bottom)) * fine.height) / edge);
    const x = (cells) => left + (cells / fine.width) * (right - left), y = (cells) => top - (cells / fine.height) * (top - bottom);
    for (let i = Math.max(0, row(from[1])); i <= Math.min(down - 1, row(to[1])); i++) {
      for (let j = Math.max(0, column(from[0])); j <= Math.min(across - 1, column(to[0])); j++) {
        const wide = Math.min(edge, fine.width - j * edge), high = Math.min(edge, fine.height - i * edge);
        const bounds = [x(j * edge), y(i * edge + high), x(j * edge + wide), y(i * edge)];
        found.push(mapLayers.part(layer, i * across + j, fine.tiles[i * across + j], wide, high, bounds));
      }
    }
    return found;
  },

  // A part as a picture with one pixel per cell; painted again when the threshold of presence (null: none) changes.
  painted(layer, one, level) {
    const look = level === null ? "all" : "above " + level;
    if (one.painted && one.look === look) return one.painted;
    const out = one.painted || new OffscreenCanvas(one.width, one.height), context = out.getContext("2d");
    const image = context.createImageData(one.width, one.height), pixels = new Uint32Array(image.data.buffer), table = mapLayers.colours(layer);
    const present = table[Math.round(0.62 * layer.levels)], absent = table[Math.round(0.12 * layer.levels)], values = one.values;
    for (let k = 0; k < values.length; k++) pixels[k] = values[k] === layer.nothing ? 0 : level === null ? table[values[k]] : values[k] >= level ? present : absent;
    context.putImageData(image, 0, 0);
    return Object.assign(one, { painted: out, look }).painted;
  },

  // A frame contains the bounds of the map, the view, and the size of the window in units and in pixels per unit.
  place(frame, at) {
    const [left, bottom, right, top] = frame.bounds, [u, v] = mapView.toMap(frame.view, at);
    return [left + u * (right - left), top - v * (top - bottom)];
  },
  share(frame, x, y) {
    const [left, bottom, right, top] = frame.bounds;
    return [(x - left) / (right - left), (top - y) / (top - bottom)];
  },
  box(bounds, frame, size) {
    const [a, b] = [[bounds[0], bounds[3]], [bounds[2], bounds[1]]].map(([x, y]) => mapView.toWindow(frame.view, mapLayers.share(frame, x, y)));
    return [a[0] * size[0], a[1] * size[1], (b[0] - a[0]) * size[0], (b[1] - a[1]) * size[1]];
  },
  // Draw a layer; parts that are still compressed are drawn later by `again`. Return whether all cells of the finer level are drawn.
  draw(context, layer, frame, again, level = null) {
    const { bounds, view, size, ratio } = frame, share = (layer.bounds[2] - layer.bounds[0]) / (bounds[2] - bounds[0]);
    const enlarged = layer.fine && (size[0] * ratio * view.zoom * share) / layer.width > 1.2;
    const parts = enlarged ? mapLayers.tiles(layer, mapLayers.place(frame, [0, 0]), mapLayers.place(frame, [1, 1])) : [];
    const waiting = parts.filter((one) => !one.values), sharp = parts.length > 0 && !waiting.length;
    waiting.forEach((one) => one.ready.then(again));
    context.imageSmoothingEnabled = false;
    for (const one of sharp ? parts : [mapLayers.base(layer), ...parts]) if (one.values) context.drawImage(mapLayers.painted(layer, one, level), ...mapLayers.box(one.bounds, frame, size));
    return sharp;
  },
  // Stripes for extrapolation, dark next to light, visible on any colour.
  hatch(context, layer, frame) {
    const one = mapLayers.novel(layer), { size, ratio } = frame;
    if (!one || !one.values) return;
    if (!one.mask) {
      one.mask = new OffscreenCanvas(one.width, one.height);
      const own = one.mask.getContext("2d"), image = own.createImageData(one.width, one.height), pixels = new Uint32Array(image.data.buffer), [low, beyond] = layer.novel.range;
      for (let k = 0; k < one.values.length; k++) if (one.values[k] >= low && one.values[k] < beyond) pixels[k] = 0xff000000;
      own.putImageData(image, 0, 0);
    }
    const wide = Math.max(1, Math.round(size[0] * ratio)), high = Math.max(1, Math.round(size[1] * ratio)), stripes = new OffscreenCanvas(wide, high), own = stripes.getContext("2d");
    for (const [colour, shift, width] of [["#ffffffdd", 0, 1.5], ["#141414dd", 1.5, 1.5]]) {
      own.strokeStyle = colour;
      own.lineWidth = width * ratio;
      own.beginPath();
      for (let x = -high; x < wide; x += 8 * ratio) { own.moveTo(x + shift * ratio, high); own.lineTo(x + shift * ratio + high, 0); }
      own.stroke();
    }
    own.globalCompositeOperation = "destination-in";
    own.imageSmoothingEnabled = false;
    own.drawImage(one.mask, ...mapLayers.box(one.bounds, frame, [wide, high]));
    context.drawImage(stripes, 0, 0, size[0], size[1]);
  },

  cell(one, x, y) {
    const column = Math.floor(((x - one.bounds[0]) / (one.bounds[2] - one.bounds[0])) * one.width), row = Math.floor(((one.bounds[3] - y) / (one.bounds[3] - one.bounds[1])) * one.height);
    return column < 0 || row < 0 || column >= one.width || row >= one.height ? undefined : one.values[row * one.width + column];
  },
  // The value of a layer at a point, from the finest available part.
  value(layer, x, y) {
    for (const one of [...mapLayers.tiles(layer, [x, y], [x, y]), mapLayers.base(layer)]) {
      const found = one.values ? mapLayers.cell(one, x, y) : undefined;
      if (found !== undefined) return found;
    }
    return layer.nothing;
  },
  outside(layer, x, y) {
    const one = mapLayers.novel(layer), code = one && one.values ? mapLayers.cell(one, x, y) : undefined;
    return code !== undefined && code >= layer.novel.range[0] && code < layer.novel.range[1];
  },

  // Draw the legend of a layer with a title into a file; return its height.
  end(value) { return (Number.isInteger(value) ? String(value) : value.toPrecision(2)).replace("-", "−"); },
  legend(pen, layer, there, title, species, top, wide) {
    pen.title(0, top + 14, title, species);
    if (mapLayers.coded(layer)) {
      const shown = Object.keys(layer.classes).filter((code) => there.has(Number(code)));
      shown.forEach((code, k) => {
        pen.box((k % 4) * (wide / 4), top + 24 + 18 * Math.floor(k / 4), 12, 12, layer.classes[code][1]);
        pen.text((k % 4) * (wide / 4) + 17, top + 34 + 18 * Math.floor(k / 4), layer.classes[code][0], "start", true);
      });
      return 40 + 18 * Math.ceil(shown.length / 4);
    }
    const low = mapLayers.end(layer.low), from = 8 + 8 * low.length;
    for (let k = 0; k < 64; k++) pen.box(from + k * 3, top + 24, 3.5, 10, "#" + layer.palette[Math.round((k / 63) * (layer.palette.length - 1))]);
    pen.text(from - 4, top + 33, low, "end", true);
    pen.title(from + 198, top + 33, mapLayers.end(layer.high) + "  " + layer.label, layer.species);
    return 48;
  },
};
// Zoom and pan by pointer, wheel, keys and buttons. A map has a `state` with view and cursor, the visible `layer`, and `draw` and `read`.
function mapControl(canvas, plate, buttons, map) {
  const MOST = 1 << 12, { state } = map;
  const largest = () => {
    const layer = map.layer(), cells = layer.fine ? layer.fine.width : layer.width;
    return Math.min(MOST, Math.max(8, (cells / Math.max(1, plate.getBoundingClientRect().width)) * 24));
  };
  function look(view) {
    state.view = mapView.clamp(view, largest());
    map.draw();
  }
  const zoom = (factor, at) => look(mapView.enlarge(state.view, factor, at || [0.5, 0.5], largest()));
  const pan = (dx, dy) => look({ ...state.view, x: state.view.x + dx / state.view.zoom, y: state.view.y + dy / state.view.zoom });
  const place = (event) => {
    const room = plate.getBoundingClientRect();
    return [(event.clientX - room.left) / room.width, (event.clientY - room.top) / room.height];
  };
  const read = (event) => map.read(mapView.toMap(state.view, place(event)), place(event));
  const acts = { in: () => zoom(1.5), out: () => zoom(1 / 1.5), whole: () => look(mapView.whole()), left: () => pan(-0.25, 0), right: () => pan(0.25, 0), up: () => pan(0, -0.25), down: () => pan(0, 0.25) };

  function key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const keys = { "+": acts.in, "=": acts.in, "-": acts.out, 0: acts.whole, Home: acts.whole };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in steps || event.key in keys)) return;
    event.preventDefault();
    if (event.key in keys) return keys[event.key]();
    const layer = map.layer(), grid = layer.fine && state.view.zoom > 1.5 ? layer.fine : layer, far = event.shiftKey ? 10 : 1, [dx, dy] = steps[event.key];
    const [x, y] = state.cursor || [state.view.x, state.view.y], move = (part, by, n) => (Math.min(Math.max(Math.floor(part * n) + by * far, 0), n - 1) + 0.5) / n;
    state.cursor = [move(x, dx, grid.width), move(y, dy, grid.height)];
    const at = mapView.toWindow(state.view, state.cursor);  // move the view with a cursor that leaves the window
    if (Math.min(...at) < 0.05 || Math.max(...at) > 0.95) state.view = mapView.clamp({ ...state.view, x: state.cursor[0], y: state.cursor[1] }, largest());
    map.draw();
    map.read(state.cursor, mapView.toWindow(state.view, state.cursor));
  }

  const held = new Map();
  let spread = 0;
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, place(event));
    if (event.pointerType !== "touch" || state.view.zoom > 1 || held.size > 1) canvas.setPointerCapture(event.pointerId);
    spread = 0;
    canvas.focus({ preventScroll: true });
    read(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event), before = held.get(event.pointerId);
    if (!before) return read(event);
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
  // The wheel scrolls the page until the map is clicked.
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    zoom(2 ** (-event.deltaY * (event.deltaMode === 1 ? 16 : 1) / 240), place(event));
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoom(2, place(event)));
  canvas.addEventListener("keydown", key);
  buttons.forEach((button) => button.addEventListener("click", acts[button.dataset.act]));
}
