// The panel of scenarios: two maps side by side, or one over the other with a divider; stripes where MESS is below 0.
(function () {
  const byId = (id) => document.getElementById(id);
  const source = byId("panel-data");
  if (!source || typeof DecompressionStream === "undefined") return;  // the picture stays
  const data = JSON.parse(source.textContent), pair = byId("panel-pair"), divider = byId("panel-divider");
  const state = { kind: "suitability", swipe: false, split: 50, stripes: true, cursor: null };
  const memory = new Map();
  const sides = [0, 1].map((k) => ({
    choice: byId("panel-choice-" + k), caption: byId("panel-caption-" + k), said: byId("panel-said-" + k), plate: byId("panel-plate-" + k),
    values: byId("panel-values-" + k), marks: byId("panel-marks-" + k), none: byId("panel-none-" + k),
    entry: null, cells: null, novel: null, wanted: null,
  }));
  const gridOf = (entry) => data.grids[entry.grid];

  function cells(entry, kind) {
    const key = data.entries.indexOf(entry) + " " + kind, grid = gridOf(entry);
    if (!(kind in entry.layers)) return Promise.resolve(null);
    if (!memory.has(key)) memory.set(key, rasters.unpack(entry.layers[kind], grid.width * grid.height));
    return memory.get(key);
  }

  const colours = (kind) => (kind.palette.length ? rasters.shades(kind.palette, kind.levels) : rasters.tints(kind.classes));

  function paint(side) {
    const grid = gridOf(side.entry), kind = data.kinds[state.kind], table = colours(kind);
    side.values.width = grid.width;
    side.values.height = grid.height;
    side.none.hidden = side.cells !== null;
    side.none.textContent = "There is no such map: " + kind.name.toLowerCase() + ".";
    if (side.cells) {
      const context = side.values.getContext("2d"), image = context.createImageData(grid.width, grid.height);
      const pixels = new Uint32Array(image.data.buffer);
      for (let k = 0; k < side.cells.length; k++) pixels[k] = side.cells[k] === data.nothing ? 0 : table[side.cells[k]];
      context.putImageData(image, 0, 0);
    }
    mark(side);
  }

  // Stripes and the cursor are drawn in the pixels of the screen; dark beside light, so that they show on any colour.
  function mark(side) {
    const box = side.plate.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    const wide = Math.max(1, Math.round(box.width * ratio)), high = Math.max(1, Math.round(box.height * ratio));
    side.marks.width = wide;
    side.marks.height = high;
    if (!side.entry) return;
    const grid = gridOf(side.entry), context = side.marks.getContext("2d");
    if (state.stripes && side.novel && side.cells) {
      const [low, beyond] = data.kinds[side.entry.hatched].novel;
      const image = context.createImageData(wide, high), pixels = new Uint32Array(image.data.buffer);
      const period = Math.round(7 * ratio), first = Math.round(1.5 * ratio), second = Math.round(3 * ratio);
      for (let y = 0; y < high; y++) {
        const row = Math.floor((y / high) * grid.height) * grid.width;
        for (let x = 0; x < wide; x++) {
          const phase = (x + y) % period, code = side.novel[row + Math.floor((x / wide) * grid.width)];
          if (phase < second && code >= low && code < beyond) pixels[y * wide + x] = phase < first ? 0xdd141414 : 0xddffffff;
        }
      }
      context.putImageData(image, 0, 0);
    }
    if (state.cursor) {
      const x = state.cursor[0] * wide, y = state.cursor[1] * high, arm = 10 * ratio;
      for (const [width, colour] of [[4, "#ffffff"], [2, "#c81e1e"]]) {
        context.lineWidth = width * ratio;
        context.strokeStyle = colour;
        context.beginPath();
        context.moveTo(x - arm, y); context.lineTo(x + arm, y); context.moveTo(x, y - arm); context.lineTo(x, y + arm);
        context.stroke();
      }
    }
  }

  function explain() {
    const kind = data.kinds[state.kind], ranged = kind.palette.length > 0;
    byId("panel-scale").hidden = !ranged;
    byId("panel-legend").hidden = ranged;
    if (ranged) {
      const ends = kind.low < 0 ? " or less" : "";
      byId("panel-low").textContent = (kind.low < 0 ? "−" + -kind.low : kind.low) + ends;
      byId("panel-high").textContent = Number.isInteger(kind.high) ? String(kind.high) : kind.high.toPrecision(2);
      rasters.strip(byId("panel-key"), colours(kind));
    } else {
      const there = new Set();
      for (const side of sides) for (const code of new Set(side.cells || [])) there.add(code);
      byId("panel-legend").replaceChildren(...rasters.entries(kind.classes, there));
    }
    byId("panel-label").textContent = kind.name;
    if (byId("panel-hatched")) byId("panel-hatched").hidden = !state.stripes;
  }

  function arrange() {
    const same = sides[0].entry.grid === sides[1].entry.grid, swipe = state.swipe && same;
    byId("panel-apart").hidden = !state.swipe || same;
    pair.classList.toggle("swipe", swipe);
    divider.hidden = !swipe;
    sides.forEach((side) => {
      const aspect = Math.max(gridOf(side.entry).aspect, 0.2);
      side.plate.style.aspectRatio = String(aspect);
      side.plate.style.maxWidth = "calc(40rem * " + aspect + ")";
    });
    divider.style.maxWidth = sides[0].plate.style.maxWidth;
    split(state.split);
    sides.forEach(mark);
  }

  async function show(k) {
    const side = sides[k], entry = data.entries[Number(side.choice.value)], wanted = {};
    side.wanted = wanted;
    const [found, novel] = await Promise.all([cells(entry, state.kind), entry.hatched ? cells(entry, entry.hatched) : null]);
    if (side.wanted !== wanted) return;  // another one was asked for meanwhile
    Object.assign(side, { entry, cells: found, novel });
    side.caption.textContent = entry.title;
    side.said.textContent = entry.said;
    side.values.setAttribute("aria-label", "Map of " + entry.title + ": arrow keys move a cursor that reads values");
    if (!sides.every((other) => other.entry)) return;
    arrange();
    paint(side);
    explain();
    if (state.cursor) read();
    byId("panel").dataset["shown" + k] = state.kind + " " + side.choice.value;
  }

  function value(side, column, row) {
    const kind = data.kinds[state.kind], at = row * gridOf(side.entry).width + column, code = side.cells ? side.cells[at] : data.nothing;
    if (code === data.nothing) return "no data";
    const [low, beyond] = side.novel ? data.kinds[side.entry.hatched].novel : [0, 0];
    const outside = side.novel && side.novel[at] >= low && side.novel[at] < beyond ? " (outside the training range)" : "";
    if (!kind.palette.length) return (kind.classes[code] ? kind.classes[code][0] : String(code)) + outside;
    const number = kind.low + (code / kind.levels) * (kind.high - kind.low);
    return (kind.low < 0 ? number.toFixed(0).replace("-", "−") : kind.high === 1 ? number.toFixed(2) : number.toPrecision(3)) + outside;
  }

  function read() {
    const [across, down] = state.cursor, grid = gridOf(sides[0].entry), [left, bottom, right, top] = grid.bounds;
    const x = left + across * (right - left), y = top - down * (top - bottom);
    const place = data.geographic ? x.toFixed(3) + "°, " + y.toFixed(3) + "°" : Math.round(x) + ", " + Math.round(y);
    const told = sides.map((side) => {
      const own = gridOf(side.entry), last = (share, n) => Math.min(n - 1, Math.floor(share * n));
      return side.entry.title + ": " + value(side, last(across, own.width), last(down, own.height));
    });
    byId("panel-hover").textContent = place + " – " + told.join(" – ");
  }

  function point(side, event) {
    const box = side.plate.getBoundingClientRect(), clip = (share) => Math.min(Math.max(share, 0), 0.999999);
    state.cursor = [clip((event.clientX - box.left) / box.width), clip((event.clientY - box.top) / box.height)];
    read();
    sides.forEach(mark);
  }

  function move(side, event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const grid = gridOf(side.entry), far = event.shiftKey ? 10 : 1, [dx, dy] = steps[event.key], [x, y] = state.cursor || [0.5, 0.5];
    const step = (share, by, n) => (Math.min(Math.max(Math.floor(share * n) + by * far, 0), n - 1) + 0.5) / n;
    state.cursor = [step(x, dx, grid.width), step(y, dy, grid.height)];
    read();
    sides.forEach(mark);
  }

  function split(percent) {
    state.split = Math.min(Math.max(percent, 0), 100);
    pair.style.setProperty("--split", state.split + "%");
    divider.setAttribute("aria-valuenow", String(Math.round(state.split)));
  }

  function wire() {
    sides.forEach((side, k) => {
      side.choice.addEventListener("change", () => show(k));
      side.plate.addEventListener("pointermove", (event) => point(side, event));
      side.plate.addEventListener("pointerdown", (event) => point(side, event));
      side.values.addEventListener("keydown", (event) => move(side, event));
    });
    byId("panel-kind").addEventListener("change", () => {
      state.kind = byId("panel-kind").value;
      sides.forEach((_, k) => show(k));
    });
    document.querySelectorAll("input[name=panel-mode]").forEach((radio) => radio.addEventListener("change", () => {
      state.swipe = radio.value === "swipe";
      arrange();
    }));
    const box = byId("panel-stripes");
    if (box) box.addEventListener("change", () => {
      state.stripes = box.checked;
      sides.forEach(mark);
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
    if (typeof ResizeObserver !== "undefined") sides.forEach((side) => new ResizeObserver(() => mark(side)).observe(side.plate));
  }

  (async function begin() {
    byId("panel").hidden = false;
    sides.forEach((side, k) => { side.choice.value = String(data.first[k]); });
    state.kind = byId("panel-kind").value;
    try {
      await Promise.all(sides.map((_, k) => show(k)));
      sides.forEach(paint);
      explain();
    } catch (error) {  // a browser that cannot unpack it: the picture stays
      byId("panel").hidden = true;
      return;
    }
    if (byId("panel-plain")) byId("panel-plain").hidden = true;
    wire();
    byId("panel").dataset.ready = "yes";
  })();
})();
