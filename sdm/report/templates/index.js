// The table of many species, with sorting, filters and pages; the document contains the rows of one page.
(function () {
  const byId = (id) => document.getElementById(id), source = byId("rows");
  if (!source) return;
  const data = JSON.parse(source.textContent), count = data.species.length, columns = data.columns;
  const body = byId("species").tBodies[0], heads = Array.from(byId("species").tHead.rows[0].cells);
  const find = byId("find"), status = byId("status"), reason = byId("reason"), size = byId("size");
  const limits = Array.from(document.querySelectorAll("#numbers input"));
  // The keys of a column for sorting and filters: lower case without accents, or numbers, NaN if missing.
  const plain = (text) => text.normalize("NFD").replace(/\p{M}+/gu, "").toLowerCase();
  const names = data.species.map(plain);
  const keys = columns.map((column, c) => column.kind === "text"
    ? data.values[c].map((value) => plain(value || ""))
    : Float64Array.from(data.values[c], (value) => (value === null ? NaN : value)));
  const states = data.status.map((code) => data.statuses[code]);
  const state = { column: -1, falling: false, page: 0 };
  let order = Uint32Array.from({ length: count }, (_, k) => k), shown = order, saving = 0;

  const counts = new Intl.NumberFormat("en-US"), whole = (value) => counts.format(value);
  const minus = (text) => text.replace("-", "−");
  function written(value, column) {
    if (value === null) return "–";
    if (column.kind === "text") return value;
    if (column.kind === "whole") return minus(whole(value));
    if (column.kind === "fixed" && (value === 0 || Math.abs(value) >= 0.5 * 10 ** -column.digits)) return minus(value.toFixed(column.digits));
    const text = String(Number(value.toPrecision(Math.abs(value) >= 1e-3 ? Math.max(column.digits, 2) : 2)));
    return minus(text);
  }

  // The columns of the document: map, name, figures, status.
  const sortKeys = [null, names, ...keys, states];
  const numeric = (column) => column > 1 && column < heads.length - 1 && columns[column - 2].kind !== "text";

  function sort() {
    const by = state.column < 0 ? null : sortKeys[state.column], turn = state.falling ? -1 : 1;
    order = Uint32Array.from({ length: count }, (_, k) => k);
    if (by && numeric(state.column)) {
      // Missing numbers are last in both orders; ties keep the order of the summary.
      order.sort((a, b) => {
        const x = by[a], y = by[b];
        return x === y ? a - b : x !== x ? (y !== y ? a - b : 1) : y !== y ? -1 : x < y ? -turn : turn;
      });
    } else if (by) {
      order.sort((a, b) => (by[a] === by[b] ? a - b : by[a] < by[b] ? -turn : turn));
    }
    heads.forEach((head, column) => {
      if (head.hasAttribute("aria-sort")) head.setAttribute("aria-sort", column !== state.column ? "none" : state.falling ? "descending" : "ascending");
    });
  }

  function filter() {
    const word = plain(find.value.trim()), onlyStatus = status.value, why = reason && reason.value !== "" ? Number(reason.value) : -1;
    const ends = limits.filter((input) => input.value !== "" && Number.isFinite(input.valueAsNumber)).map((input) => ({
      key: keys[columns.findIndex((column) => column.key === input.dataset.column)], low: input.dataset.end === "low", value: input.valueAsNumber,
    }));
    if (!word && !onlyStatus && why < 0 && !ends.length) {
      shown = order;
      return;
    }
    shown = order.filter((k) => (!word || names[k].includes(word)) && (!onlyStatus || states[k] === onlyStatus) && (why < 0 || data.reason[k] === why)
      && ends.every((end) => (end.low ? end.key[k] >= end.value : end.key[k] <= end.value)));
  }

  const address = (path) => path.split("/").map(encodeURIComponent).join("/");
  const folder = (k) => (data.folder[k] === 1 ? data.species[k].replaceAll(" ", "_") : data.folder[k] || "");
  function place(k, what, ending) {
    const known = data[what][k], own = folder(k);
    return known === 0 ? null : address(known === 1 ? own + "/" + own.slice(own.lastIndexOf("/") + 1) + ending : known);
  }

  // Rows are created once and updated.
  const lines = [];
  function line() {
    const row = document.createElement("tr"), cells = heads.map((head, c) => {
      const item = document.createElement("td");
      item.className = c === 0 ? "preview soft" : head.className;
      item.dataset.label = c < 2 ? "" : head.textContent.trim();
      row.append(item);
      return item;
    });
    const name = document.createElement("i"), link = document.createElement("a"), why = document.createElement("td");
    why.className = "failed";
    why.colSpan = Math.max(1, columns.length);
    cells[1].append(name);
    return { row, cells, name, link, why, failed: false };
  }

  const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  function fill(one, k) {
    const page = place(k, "page", ".html"), preview = place(k, "preview", "_preview.png"), failed = data.error[k] >= 0;
    const [map, named] = one.cells, figures = one.cells.slice(2, -1), end = one.cells[one.cells.length - 1];
    if (preview === null) {
      put(map, "no map");
    } else {
      const image = document.createElement("img");  // a new element, so that the map of another species is never visible
      image.loading = "lazy";
      image.decoding = "async";
      image.alt = "Map of " + data.species[k];
      image.src = preview;
      const link = document.createElement("a");  // for the mouse; the name next to it is the link for the keyboard
      link.tabIndex = -1;
      if (page !== null) link.href = page;
      link.append(image);
      map.replaceChildren(link);
    }
    put(one.name, data.species[k]);
    if (page === null) {
      named.replaceChildren(one.name);
    } else {
      one.link.href = page;
      if (one.name.parentNode !== one.link) {
        one.link.append(one.name);
        named.replaceChildren(one.link);
      }
    }
    if (failed !== one.failed) {
      if (failed && figures.length) figures[0].before(one.why);
      else one.why.remove();
      for (const item of figures) if (failed) item.remove(); else end.before(item);
      end.classList.toggle("failed", failed);
      one.failed = failed;
    }
    if (failed) put(one.why, data.errors[data.error[k]]);
    else figures.forEach((item, c) => put(item, written(data.values[c][k], columns[c])));
    put(end, (states[k] || "–") + (failed && !figures.length ? ": " + data.errors[data.error[k]] : ""));
    return one.row;
  }

  const pages = () => Math.max(1, Math.ceil(shown.length / Number(size.value)));
  function draw() {
    const rows = Number(size.value), last = pages() - 1;
    state.page = Math.min(Math.max(state.page, 0), last);
    const first = state.page * rows, part = shown.subarray(first, first + rows);
    part.forEach((k, i) => {
      if (i === lines.length) lines.push(line());
      const row = fill(lines[i], k);
      if (row.parentNode !== body) body.append(row);
    });
    while (body.rows.length > part.length) body.lastElementChild.remove();
    const range = shown.length ? whole(first + 1) + "–" + whole(first + part.length) + " of " : "";
    byId("found").textContent = range + whole(shown.length) + (shown.length === count ? " species" : " species of " + whole(count));
    document.querySelectorAll(".pager").forEach((pager) => {
      const at = pager.querySelector(".at");
      at.value = String(state.page + 1);
      at.max = String(last + 1);
      pager.querySelector(".of").textContent = "of " + whole(last + 1);
      pager.querySelectorAll("button").forEach((button) => {
        button.disabled = state.page === (button.dataset.go === "first" || button.dataset.go === "back" ? 0 : last);
      });
    });
    clearTimeout(saving);
    saving = setTimeout(remember, 250);
  }

  // The address stores the state, so that the user returns from the page of a species to the same rows.
  function remember() {
    const words = new URLSearchParams();
    const put = (key, value, usual) => { if (String(value) !== String(usual)) words.set(key, value); };
    put("name", find.value, "");
    put("status", status.value, "");
    if (reason) put("reason", reason.value, "");
    put("rows", size.value, 25);
    put("page", state.page + 1, 1);
    put("sort", state.column < 0 ? "" : state.column, "");
    put("falling", state.falling ? 1 : 0, 0);
    limits.forEach((input) => put(input.dataset.end + " " + input.dataset.column, input.value, ""));
    const text = words.toString();
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  }

  function recall() {
    const words = new URLSearchParams(location.hash.slice(1));
    const choose = (list, value) => { if (value !== null && Array.from(list.options).some((option) => option.value === value)) list.value = value; };
    find.value = words.get("name") || "";
    choose(status, words.get("status"));
    if (reason) choose(reason, words.get("reason"));
    choose(size, words.get("rows"));
    const column = Number(words.get("sort") || -1);
    if (Number.isInteger(column) && sortKeys[column]) state.column = column;
    state.falling = words.get("falling") === "1";
    state.page = (Number.parseInt(words.get("page"), 10) || 1) - 1;
    limits.forEach((input) => {
      input.value = words.get(input.dataset.end + " " + input.dataset.column) || "";
      if (input.value !== "") byId("numbers").open = true;
    });
  }

  function refilter() {
    state.page = 0;
    filter();
    draw();
  }

  function go(page) {
    state.page = page;
    draw();
  }

  function choices(list, labels) {
    list.append(...labels.map(([value, label]) => new Option(label, value)));
  }

  function wire() {
    const amounts = data.statuses.map(() => 0);
    data.status.forEach((code) => { amounts[code] += 1; });
    choices(status, [["", "all"], ...data.statuses.map((name, k) => [name, name + " (" + whole(amounts[k]) + ")"])]);
    if (reason) choices(reason, [["", "any"], ...data.reasons.map((text, k) => [String(k), text.length > 45 ? text.slice(0, 44) + "…" : text])]);
    limits.forEach((input) => {
      const values = keys[columns.findIndex((column) => column.key === input.dataset.column)], low = input.dataset.end === "low";
      let end = NaN;
      for (const value of values) if (value === value && !(low ? end <= value : end >= value)) end = value;
      if (end === end) input.placeholder = end !== 0 && Math.abs(end) < 1e-3 ? end.toExponential(1) : String(Number(end.toPrecision(3)));
      input.addEventListener("input", refilter);
    });
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (button) button.addEventListener("click", () => {
        // The first click sorts names in ascending and numbers in descending order; the second reverses it.
        state.falling = state.column === column ? !state.falling : numeric(column);
        state.column = column;
        sort();
        refilter();
      });
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    find.addEventListener("input", refilter);
    [status, reason, size].forEach((list) => { if (list) list.addEventListener("change", refilter); });
    byId("clear").addEventListener("click", () => {
      [find, status, reason, ...limits].forEach((input) => { if (input) input.value = ""; });
      refilter();
    });
    document.querySelectorAll("[data-reason]").forEach((button) => button.addEventListener("click", () => {
      [find, status, ...limits].forEach((input) => { input.value = ""; });
      reason.value = button.dataset.reason;
      refilter();
      byId("h-species").scrollIntoView();
    }));
    document.querySelectorAll(".pager").forEach((pager) => {
      const places = { first: () => 0, back: () => state.page - 1, on: () => state.page + 1, last: () => pages() - 1 };
      pager.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => go(places[button.dataset.go]())));
      const at = pager.querySelector(".at");
      at.addEventListener("change", () => go((Number.parseInt(at.value, 10) || 1) - 1));
    });
    for (const id of ["filters", "bar", "below"]) byId(id).hidden = false;
  }

  wire();
  recall();
  sort();
  filter();
  draw();
  byId("species").dataset.ready = "yes";
})();
