// The map of a page: layers, zoom and pan, records, the threshold, and the values at the pointer.
(function () {
  const byId = (id) => document.getElementById(id), source = byId("live-data");
  if (!source || typeof DecompressionStream === "undefined") return;  // keep the picture
  const map = JSON.parse(source.textContent), canvas = byId("values"), plate = byId("plate"), slider = byId("threshold");
  const state = { layer: 0, under: -1, opacity: 1, above: false, threshold: map.top / 2, named: null, cursor: null, view: mapView.whole(), byFold: false };
  const { coded, base } = mapLayers;
  Object.assign(map, { bounds: map.layers[0].bounds });

  // Layers of scenarios are stored once, in the panel of scenarios.
  const panel = byId("panel-data") ? JSON.parse(byId("panel-data").textContent) : null;
  const layers = map.layers.map((layer) => ({ low: 0, high: layer.top, levels: map.levels, nothing: map.nothing, ...layer }));
  for (const entry of panel ? panel.entries : []) {
    for (const kind of ["suitability", "change"].filter((one) => one in entry.layers)) {
      layers.push({ ...mapLayers.ofPanel(panel, entry, kind), name: "scenario " + entry.title + (kind === "change" ? ", change" : "") });
    }
  }
  const step = (value) => Math.floor((value / map.top) * map.levels + 1e-4);
  const digits = (value) => (map.top === 1 ? value.toFixed(3) : map.top === 100 ? value.toFixed(1) : value.toPrecision(3));
  const percent = (value) => (value === null || value === undefined ? "–" : (100 * value).toFixed(1) + " %");

  const frame = (size, ratio) => ({ bounds: map.bounds, view: state.view, size, ratio });
  const share = (x, y) => mapLayers.share(frame(), x, y);
  const level = (layer) => (state.above && layer.threshold ? step(state.threshold) : null);

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
    const shown = frame(size, ratio), one = layers[state.layer], under = state.under >= 0 ? layers[state.under] : null;
    context.fillStyle = mapView.nowhere;
    context.fillRect(0, 0, size[0], size[1]);
    if (under && base(under).values) mapLayers.draw(context, under, shown, draw, level(under));
    context.globalAlpha = state.opacity;
    canvas.dataset.sharp = mapLayers.draw(context, one, shown, draw, level(one)) ? "yes" : "no";
    if (byId("hatching") && byId("hatching").checked) mapLayers.hatch(context, one, shown);
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
    mapView.cross(pen, state, size);
  }

  // The legend of a layer: a ramp from low to high, or one entry per class on the map.
  function explain(layer) {
    byId("scale").hidden = coded(layer);
    byId("legend").hidden = !coded(layer);
    byId("legend").replaceChildren(...(coded(layer) ? rasters.entries(layer.classes, new Set(base(layer).values)) : []));
    byId("label").replaceChildren(...mapView.named(layer.label, layer.species));
    byId("low").textContent = mapLayers.end(layer.low);
    byId("high").textContent = mapLayers.end(layer.high);
    if (!coded(layer)) rasters.strip(byId("key"), mapLayers.colours(layer));
    if (byId("hatched")) byId("hatched").hidden = !layer.novel;
  }

  function tell() {
    let area, train, test;
    if (state.named !== null) {
      ({ area, train, test } = map.thresholds[state.named]);
    } else {
      let best = null;  // the nearest row of the stored table, which contains all steps of the slider
      for (const row of map.sweep) if (best === null || Math.abs(row[0] - state.threshold) < Math.abs(best[0] - state.threshold)) best = row;
      if (best) [, area, train, test] = best;
    }
    byId("at").textContent = digits(state.threshold);
    for (const [id, part] of [["area", area], ["train", train], ["test", test]]) if (byId(id)) byId(id).textContent = percent(part);
    slider.setAttribute("aria-valuetext", "threshold " + digits(state.threshold) + ", " + (byId("area") ? byId("area").previousElementSibling.textContent.toLowerCase() : "area") + " " + percent(area) + ", training omission " + percent(train));
  }

  function valueText(layer, x, y) {
    const code = mapLayers.value(layer, x, y), outside = mapLayers.outside(layer, x, y) ? " (outside the training range)" : "";
    if (code === map.nothing) return "no data";
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
    const below = state.under >= 0 && base(layers[state.under]).values ? " – " + layers[state.under].name + ": " + valueText(layers[state.under], x, y) : "";
    byId("hover").textContent = where + ": " + valueText(layers[state.layer], x, y) + below + nearby(at);
  }

  let latest = null;
  async function show(k) {
    const layer = layers[k], mine = {};
    latest = mine;
    await mapLayers.ready(layer);
    if (latest !== mine) return;  // another layer was selected meanwhile
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
    mapControl(canvas, plate, byId("live").querySelectorAll(".zoom [data-act]"), { state, layer: () => layers[state.layer], draw, read });
    if (typeof ResizeObserver !== "undefined") new ResizeObserver(() => draw()).observe(plate);
  }

  // The visible map as a file: the rasters as one picture, marks as lines, and the legend.
  function legend(pen, layer, top, wide) {
    const shown = byId("live").dataset, species = layer.species || ("species" in shown ? shown.title : "");
    return mapLayers.legend(pen, layer, new Set(base(layer).values), shown.title + " – " + layer.name, species, top, wide);
  }
  function picture(scale) {
    const room = plate.getBoundingClientRect(), size = [room.width, room.height], layer = layers[state.layer], blank = { text() {}, box() {}, title() {} };
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
    for (const group of map.records) for (const [x, y, why] of group.places) rows.push([x, y, group.name, why === undefined ? "" : map.reasons[why], valueText(layers[state.layer], x, y).split(",")[0]]);
    tools.saveTable(rows, byId("live").dataset.file + "_records.csv");
  }

  (async function begin() {
    byId("live").hidden = false;
    plate.style.aspectRatio = String(Math.max(layers[0].aspect, 0.2));
    plate.style.maxWidth = "calc(min(46rem, 78vh) * " + Math.max(layers[0].aspect, 0.2) + ")";
    try {
      await show(0);
    } catch (error) {  // the browser cannot decompress it: keep the picture
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
