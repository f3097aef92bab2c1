// The panel of scenarios: two maps with a common view, side by side or with a divider, and stripes for extrapolation.
(function () {
  const byId = (id) => document.getElementById(id);
  const source = byId("panel-data");
  if (!source || typeof DecompressionStream === "undefined") return;  // keep the picture
  const data = JSON.parse(source.textContent), pair = byId("panel-pair"), divider = byId("panel-divider");
  const state = { kind: "suitability", swipe: false, split: 50, cursor: null, view: mapView.whole() };
  const memory = new Map();
  const sides = [0, 1].map((k) => ({
    choice: byId("panel-choice-" + k), caption: byId("panel-caption-" + k), said: byId("panel-said-" + k), plate: byId("panel-plate-" + k),
    values: byId("panel-values-" + k), marks: byId("panel-marks-" + k), none: byId("panel-none-" + k),
    entry: null, layer: null, token: null,
  }));
  const gridOf = (entry) => data.grids[entry.grid], kindNow = () => data.kinds[state.kind];
  const on = (id) => byId(id) !== null && byId(id).checked;
  const swiped = () => state.swipe && sides[0].entry.grid === sides[1].entry.grid;

  // The layer of an entry and a kind; null without this map.
  function layerOf(entry, kind) {
    const key = data.entries.indexOf(entry) + " " + kind;
    if (!memory.has(key)) memory.set(key, mapLayers.ofPanel(data, entry, kind));
    return memory.get(key);
  }

  const frameOf = (side, size, ratio) => ({ bounds: gridOf(side.entry).bounds, view: state.view, size, ratio });
  function canvasOf(canvas, size, ratio) {
    [canvas.width, canvas.height] = size.map((part) => Math.max(1, Math.round(part * ratio)));
    const context = canvas.getContext("2d");
    context.scale(canvas.width / size[0], canvas.height / size[1]);
    return context;
  }
  function drawRasters(context, side, size, ratio) {
    return side.layer ? mapLayers.draw(context, side.layer, frameOf(side, size, ratio), () => draw(side)) : false;
  }
  function drawLines(pen, side, size) {
    if (!on("panel-graticule")) return "";
    const map = { bounds: gridOf(side.entry).bounds, geographic: data.geographic, unit: data.unit };
    mapView.graticule(pen, map, state.view, size);
    return mapView.scaleBar(pen, map, state.view, size);
  }

  const ground = () => (mapLayers.coded(kindNow()) ? "#ffffff" : mapView.nowhere);  // classes may be grey
  const sizeOf = (side) => {
    const room = side.plate.getBoundingClientRect();
    return [Math.max(1, room.width), Math.max(1, room.height)];
  };
  const ratioNow = () => window.devicePixelRatio || 1;
  function draw(side) {
    if (!side.entry) return;
    const size = sizeOf(side), ratio = ratioNow();
    side.none.hidden = side.layer !== null;
    side.none.textContent = "No map of this type: " + kindNow().name.toLowerCase() + ".";
    side.plate.style.background = ground();
    side.values.dataset.sharp = drawRasters(canvasOf(side.values, size, ratio), side, size, ratio) ? "yes" : "no";
    mark(side, size, ratio);
    side.plate.dataset.zoom = state.view.zoom.toFixed(3);
    side.values.style.touchAction = state.view.zoom > 1 ? "none" : "pan-y";
  }
  // Marks over a map: stripes, lines, and the cursor, at the same point of both maps.
  function mark(side, size, ratio) {
    const context = canvasOf(side.marks, size, ratio), pen = mapView.canvasPen(context);
    if (side.layer && on("panel-stripes")) mapLayers.hatch(context, side.layer, frameOf(side, size, ratio));
    if (side.layer) side.plate.dataset.bar = drawLines(pen, side, size);
    mapView.cross(pen, state, size);
  }
  const drawBoth = () => sides.forEach(draw);

  const there = () => new Set(sides.flatMap((side) => (side.layer ? [...new Set(mapLayers.base(side.layer).values)] : [])));
  function explain() {
    const kind = kindNow(), ranged = kind.palette.length > 0;
    byId("panel-scale").hidden = !ranged;
    byId("panel-legend").hidden = ranged;
    if (ranged) {
      byId("panel-low").textContent = mapLayers.end(kind.low) + (kind.low < 0 ? " or less" : "");
      byId("panel-high").textContent = mapLayers.end(kind.high) + (kind.low < 0 && kind.high < 100 ? " or more" : "");
      rasters.strip(byId("panel-key"), mapLayers.colours(kind));
    } else {
      byId("panel-legend").replaceChildren(...rasters.entries(kind.classes, there()));
    }
    byId("panel-label").textContent = kind.name;
    if (byId("panel-hatched")) byId("panel-hatched").hidden = !on("panel-stripes");
  }

  function arrange() {
    const swipe = swiped();
    byId("panel-apart").hidden = !state.swipe || swipe;
    pair.classList.toggle("swipe", swipe);
    divider.hidden = !swipe;
    sides.forEach((side) => {
      const aspect = Math.max(gridOf(side.entry).aspect, 0.2);
      side.plate.style.aspectRatio = String(aspect);
      side.plate.style.maxWidth = "calc(40rem * " + aspect + ")";
    });
    divider.style.maxWidth = sides[0].plate.style.maxWidth;
    split(state.split);
    drawBoth();
  }

  async function show(k) {
    const side = sides[k], entry = data.entries[Number(side.choice.value)], token = {}, layer = layerOf(entry, state.kind);
    side.token = token;
    if (layer) await mapLayers.ready(layer);
    if (side.token !== token) return;  // another one was selected meanwhile
    Object.assign(side, { entry, layer });
    side.caption.textContent = entry.title;
    side.said.textContent = entry.said;
    side.values.setAttribute("aria-label", "Map of " + entry.title + ": arrow keys move the cursor. Plus and minus zoom; 0 shows the full extent");
    if (!sides.every((other) => other.entry)) return;
    arrange();
    explain();
    if (state.cursor) read(state.cursor);
    byId("panel").dataset["shown" + k] = state.kind + " " + side.choice.value;
  }

  function value(side, x, y) {
    const kind = kindNow(), code = side.layer ? mapLayers.value(side.layer, x, y) : data.nothing;
    if (code === data.nothing) return "no data";
    const outside = mapLayers.outside(side.layer, x, y) ? " (outside the training range)" : "";
    if (!kind.palette.length) return (kind.classes[code] ? kind.classes[code][0] : String(code)) + outside;
    const number = kind.low + (code / kind.levels) * (kind.high - kind.low);
    return (kind.low < 0 ? number.toFixed(kind.high < 10 ? 2 : kind.high < 100 ? 1 : 0).replace("-", "−") : kind.high === 1 ? number.toFixed(2) : number.toPrecision(3)) + outside;
  }

  function read(place) {
    state.cursor = place;
    sides.forEach((side) => mark(side, sizeOf(side), ratioNow()));
    const at = (side) => {
      const [left, bottom, right, top] = gridOf(side.entry).bounds;
      return [left + place[0] * (right - left), top - place[1] * (top - bottom)];
    };
    const [x, y] = at(sides[0]);
    const where = data.geographic ? x.toFixed(3) + "°, " + y.toFixed(3) + "°" : Math.round(x) + ", " + Math.round(y);
    byId("panel-hover").textContent = [where, ...sides.map((side) => side.entry.title + ": " + value(side, ...at(side)))].join(" – ");
  }

  function split(percent) {
    state.split = Math.min(Math.max(percent, 0), 100);
    pair.style.setProperty("--split", state.split + "%");
    divider.setAttribute("aria-valuenow", String(Math.round(state.split)));
  }

  // Both visible maps as a file: rasters and stripes as one picture, marks as lines, and the legend.
  function layout() {
    const swipe = swiped(), rooms = sides.map((side) => side.plate.getBoundingClientRect()), head = 20, gap = swipe ? 0 : 14;
    const places = rooms.map((room, k) => ({ side: sides[k], size: [room.width, room.height], x: k && !swipe ? rooms[0].width + gap : 0 }));
    const wide = swipe ? rooms[0].width : rooms[0].width + gap + rooms[1].width, high = head + Math.max(...rooms.map((room) => room.height));
    return { swipe, places, head, wide, high, cut: (state.split / 100) * rooms[0].width };
  }
  function legend(pen, plan) {
    const shown = byId("panel").dataset, look = { ...kindNow(), label: kindNow().name };
    const used = mapLayers.legend(pen, look, there(), shown.title, "species" in shown ? shown.title : "", plan.high, plan.wide);
    const striped = on("panel-stripes") && sides.some((side) => side.layer && side.layer.novel);
    if (striped) pen.text(0, plan.high + used + 8, byId("panel-hatched").textContent.trim(), "start", true);
    return used + (striped ? 16 : 0);
  }
  function picture(scale) {
    const plan = layout(), blank = { text() {}, box() {}, title() {} }, out = document.createElement("canvas");
    const high = plan.high + legend(blank, plan), context = canvasOf(out, [plan.wide, high], scale);
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, plan.wide, high);
    plan.places.forEach(({ side, size, x }, k) => {
      context.save();
      context.translate(x, plan.head);
      context.beginPath();
      if (plan.swipe) context.rect(k ? plan.cut : 0, 0, k ? size[0] - plan.cut : plan.cut, size[1]);
      else context.rect(0, 0, ...size);
      context.clip();
      context.fillStyle = ground();
      context.fillRect(0, 0, ...size);
      drawRasters(context, side, size, scale);
      if (side.layer && on("panel-stripes")) mapLayers.hatch(context, side.layer, frameOf(side, size, scale));
      context.restore();
    });
    return { out, context, plan, high };
  }
  function lines(pen, plan) {
    plan.places.forEach(({ side, size, x }, k) => {
      const last = plan.swipe && k === 1;
      pen.text(last ? plan.wide : x, 13, side.entry.title, last ? "end" : "start", true);
      if (!last) drawLines(mapView.shifted(pen, x, plan.head), side, size);
    });
    if (plan.swipe) pen.line([[plan.cut, plan.head], [plan.cut, plan.high]], "#111111", 1.5);
    legend(pen, plan);
  }
  function png() {
    const { out, context, plan } = picture(3);
    lines(mapView.canvasPen(context), plan);
    out.toBlob((blob) => tools.save(blob, byId("panel").dataset.file + "_maps.png"));
  }
  function vector() {
    const { out, plan, high } = picture(2), pen = mapView.svgPen();
    pen.image(out.toDataURL("image/png"), plan.wide, high);
    lines(pen, plan);
    tools.save(new Blob([pen.file(plan.wide, high, byId("panel").dataset.title)], { type: "image/svg+xml" }), byId("panel").dataset.file + "_maps.svg");
  }

  function wire() {
    sides.forEach((side, k) => {
      side.choice.addEventListener("change", () => show(k));
      const buttons = k ? [] : byId("panel").querySelectorAll(".zoom [data-act]");
      mapControl(side.values, side.plate, buttons, { state, layer: () => side.layer || gridOf(side.entry), draw: drawBoth, read });
    });
    byId("panel-kind").addEventListener("change", () => {
      state.kind = byId("panel-kind").value;
      sides.forEach((_, k) => show(k));
    });
    document.querySelectorAll("input[name=panel-mode]").forEach((radio) => radio.addEventListener("change", () => {
      state.swipe = radio.value === "swipe";
      arrange();
    }));
    for (const id of ["panel-stripes", "panel-graticule"]) if (byId(id)) byId(id).addEventListener("change", () => {
      drawBoth();
      explain();
    });
    const follow = (event) => {
      const room = sides[0].plate.getBoundingClientRect();
      split(((event.clientX - room.left) / room.width) * 100);
    };
    divider.addEventListener("pointerdown", (event) => {
      divider.setPointerCapture(event.pointerId);
      divider.focus();
      event.preventDefault();
    });
    divider.addEventListener("pointermove", (event) => { if (divider.hasPointerCapture(event.pointerId)) follow(event); });
    divider.addEventListener("keydown", (event) => {
      const far = event.shiftKey ? 10 : 2;
      const to = { ArrowLeft: state.split - far, ArrowDown: state.split - far, ArrowRight: state.split + far, ArrowUp: state.split + far, PageDown: state.split - 10, PageUp: state.split + 10, Home: 0, End: 100 };
      if (!(event.key in to)) return;
      event.preventDefault();
      split(to[event.key]);
    });
    if (typeof ResizeObserver !== "undefined") sides.forEach((side) => new ResizeObserver(() => draw(side)).observe(side.plate));
    tools.bar(byId("panel-tools"), [["PNG", "maps as PNG", png], ["SVG", "maps as SVG", vector]]);
  }

  (async function begin() {
    byId("panel").hidden = false;
    sides.forEach((side, k) => { side.choice.value = String(data.first[k]); });
    state.kind = byId("panel-kind").value;
    try {
      await Promise.all(sides.map((_, k) => show(k)));
      drawBoth();
      explain();
    } catch (error) {  // the browser cannot decompress it: keep the picture
      byId("panel").hidden = true;
      return;
    }
    if (byId("panel-plain")) byId("panel-plain").hidden = true;
    wire();
    byId("panel").dataset.ready = "yes";
  })();
})();
