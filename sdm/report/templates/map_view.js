// The view of a map: its visible part, the marks over it, and drawing to a canvas or an SVG file.
const PALE_LINE = [["#ffffff40", 2.5], ["#00000050", 1]];  // dark next to light, visible on any colour
const mapView = {
  nowhere: "#e8e8e8",  // cells without data
  // A view is the centre of the visible part, as shares of the width and height of the map, and the zoom factor.
  whole() { return { x: 0.5, y: 0.5, zoom: 1 }; },
  clamp(view, most) {
    const zoom = Math.min(Math.max(view.zoom, 1), most), half = 0.5 / zoom, inside = (v) => Math.min(Math.max(v, half), 1 - half);
    return { x: inside(view.x), y: inside(view.y), zoom };
  },
  // Zoom around a fixed point of the window (shares of its size).
  enlarge(view, factor, at, most) {
    const zoom = Math.min(Math.max(view.zoom * factor, 1), most), keep = 1 / view.zoom - 1 / zoom;
    return mapView.clamp({ x: view.x + (at[0] - 0.5) * keep, y: view.y + (at[1] - 0.5) * keep, zoom }, most);
  },
  toMap(view, at) { return [view.x + (at[0] - 0.5) / view.zoom, view.y + (at[1] - 0.5) / view.zoom]; },
  toWindow(view, place) { return [(place[0] - view.x) * view.zoom + 0.5, (place[1] - view.y) * view.zoom + 0.5]; },
  // The largest round number (1, 2 or 5 times a power of ten) up to a length.
  round(length) {
    const power = 10 ** Math.floor(Math.log10(length));
    return [5, 2, 1].find((factor) => factor * power <= length) * power;
  },
  degrees(value, letters) {
    const size = Math.abs(value), text = Number.isInteger(size) ? String(size) : String(Number(size.toFixed(4)));
    return text + "°" + (size === 0 ? "" : letters[value < 0 ? 0 : 1]);
  },
  // Positions and labels of the lines of the graticule between two ends.
  lines(low, high, most, name) {
    let step = mapView.round((high - low) / most) || 1;
    while ((high - low) / step > most) step = mapView.round(step * 2.5);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push([k * step, name(Number((k * step).toPrecision(12)))]);
    return found;
  },
  // Lines of equal longitude and latitude, or of equal coordinates in km, with labels inside the frame.
  graticule(pen, map, view, size) {
    const [left, bottom, right, top] = map.bounds, [wide, high] = size;
    const ends = [mapView.toMap(view, [0, 0]), mapView.toMap(view, [1, 1])];
    const x = (share) => left + share * (right - left), y = (share) => top - share * (top - bottom);
    const km = (value) => (map.unit === null ? String(value) : Math.round(value * map.unit / 10) / 100 + " km");
    const across = map.geographic ? (v) => mapView.degrees(v, "WE") : km, up = map.geographic ? (v) => mapView.degrees(v, "SN") : km;
    for (const [value, name] of mapView.lines(x(ends[0][0]), x(ends[1][0]), Math.max(2, wide / 130), across)) {
      const at = mapView.toWindow(view, [(value - left) / (right - left), 0])[0] * wide;
      for (const [colour, width] of PALE_LINE) pen.line([[at, 0], [at, high]], colour, width);
      if (at > 24 && at < wide - 24) pen.text(at, 13, name, "middle");
    }
    for (const [value, name] of mapView.lines(y(ends[1][1]), y(ends[0][1]), Math.max(2, high / 110), up)) {
      const at = mapView.toWindow(view, [0, (top - value) / (top - bottom)])[1] * high;
      for (const [colour, width] of PALE_LINE) pen.line([[0, at], [wide, at]], colour, width);
      if (at > 34 && at < high - 34) pen.text(4, at - 3, name, "start");
    }
  },
  // The length of the scale bar at the centre of the visible part; none if the unit of the map is unknown.
  scaleBar(pen, map, view, size) {
    const [left, bottom, right, top] = map.bounds, middle = top - view.y * (top - bottom);
    const metres = map.geographic ? 111320 * Math.cos((Math.min(Math.max(middle, -89), 89) * Math.PI) / 180) : map.unit;
    if (!metres) return "";
    const whole = ((right - left) * metres) / view.zoom, length = mapView.round(whole * 0.28), wide = (length / whole) * size[0];
    const name = length >= 1000 ? length / 1000 + " km" : length + " m", [x, y] = [12, size[1] - 12];
    pen.line([[x, y - 6], [x, y], [x + wide, y], [x + wide, y - 6]], "#ffffff", 5);
    pen.line([[x, y - 6], [x, y], [x + wide, y], [x + wide, y - 6]], "#111111", 2);
    pen.text(x + wide / 2, y - 8, name, "middle");
    return name;
  },
  // The cursor of the keyboard.
  cross(pen, state, size) {
    if (!state.cursor) return;
    const [x, y] = mapView.toWindow(state.view, state.cursor).map((part, k) => part * size[k]);
    for (const [width, colour] of [[4, "#ffffff"], [2, "#c81e1e"]]) {
      pen.line([[x - 10, y], [x + 10, y]], colour, width);
      pen.line([[x, y - 10], [x, y + 10]], colour, width);
    }
  },
  // A pen with another origin.
  shifted(pen, dx, dy) {
    return {
      line: (points, ...rest) => pen.line(points.map(([x, y]) => [x + dx, y + dy]), ...rest),
      text: (x, y, ...rest) => pen.text(x + dx, y + dy, ...rest),
      title: (x, y, ...rest) => pen.title(x + dx, y + dy, ...rest),
      box: (x, y, ...rest) => pen.box(x + dx, y + dy, ...rest),
    };
  },
  // Parts of a text: the name of a species in italics, and the text before and after it.
  parts(words, species) {
    const at = species ? words.indexOf(species) : -1;
    return at < 0 ? [[words, false]] : [[words.slice(0, at), false], [species, true], [words.slice(at + species.length), false]].filter(([text]) => text);
  },
  named(words, species) {
    return mapView.parts(words, species).map(([text, italic]) => {
      const part = document.createElement(italic ? "i" : "span");
      part.textContent = text;
      return part;
    });
  },
  canvasPen(context) {
    context.font = "12px system-ui, sans-serif";
    return {
      line(points, colour, width) {
        context.beginPath();
        points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
        context.strokeStyle = colour;
        context.lineWidth = width;
        context.stroke();
      },
      text(x, y, words, anchor, plain) {
        context.textAlign = anchor === "middle" ? "center" : anchor;
        if (!plain) {
          context.lineWidth = 3;
          context.lineJoin = "round";
          context.strokeStyle = "#ffffffd0";
          context.strokeText(words, x, y);
        }
        context.fillStyle = "#111111";
        context.fillText(words, x, y);
      },
      title(x, y, words, species) {
        const plain = context.font;
        context.textAlign = "start";
        context.fillStyle = "#111111";
        for (const [text, italic] of mapView.parts(words, species)) {
          context.font = (italic ? "italic " : "") + plain;
          context.fillText(text, x, y);
          x += context.measureText(text).width;
        }
        context.font = plain;
      },
      dot(x, y, size, colour) {
        context.beginPath();
        context.arc(x, y, size, 0, 2 * Math.PI);
        context.fillStyle = colour;
        context.fill();
        context.strokeStyle = "#000000";
        context.lineWidth = 1;
        context.stroke();
      },
      box(x, y, wide, high, colour) {
        context.fillStyle = colour;
        context.fillRect(x, y, wide, high);
      },
    };
  },
  svgPen() {
    const parts = [], n = (value) => String(Math.round(value * 10) / 10);
    const safe = (text) => String(text).replace(/[&<>"]/g, (c) => "&#" + c.charCodeAt(0) + ";");
    // Write a colour with opacity (#rrggbbaa) as two attributes, which all programs support.
    const paint = (what, colour) => what + '="' + safe(colour.slice(0, 7)) + '"' + (colour.length === 9 ? " " + what + '-opacity="' + (parseInt(colour.slice(7), 16) / 255).toFixed(2) + '"' : "");
    return {
      parts,
      line(points, colour, width) {
        parts.push('<path d="M' + points.map(([x, y]) => n(x) + " " + n(y)).join("L") + '" fill="none" ' + paint("stroke", colour) + ' stroke-width="' + width + '"/>');
      },
      text(x, y, words, anchor, plain) {
        const halo = plain ? "" : ' paint-order="stroke" stroke="#ffffff" stroke-width="3" stroke-linejoin="round"';
        parts.push('<text x="' + n(x) + '" y="' + n(y) + '" text-anchor="' + anchor + '" fill="#111111"' + halo + ">" + safe(words) + "</text>");
      },
      title(x, y, words, species) {
        const spans = mapView.parts(words, species).map(([text, italic]) => (italic ? '<tspan font-style="italic">' + safe(text) + "</tspan>" : safe(text))).join("");
        parts.push('<text x="' + n(x) + '" y="' + n(y) + '" xml:space="preserve" fill="#111111">' + spans + "</text>");
      },
      dot(x, y, size, colour) {
        parts.push('<circle cx="' + n(x) + '" cy="' + n(y) + '" r="' + size + '" ' + paint("fill", colour) + ' stroke="#000000"/>');
      },
      box(x, y, wide, high, colour) {
        parts.push('<rect x="' + n(x) + '" y="' + n(y) + '" width="' + n(wide) + '" height="' + n(high) + '" ' + paint("fill", colour) + "/>");
      },
      image(address, wide, high) {
        parts.push('<image href="' + address + '" width="' + n(wide) + '" height="' + n(high) + '"/>');
      },
      file(wide, high, title) {
        const size = 'viewBox="0 0 ' + n(wide) + " " + n(high) + '" width="' + n(wide) + '" height="' + n(high) + '"';
        const name = "http:" + "//www.w3.org/2000/svg";
        return '<svg xmlns="' + name + '" ' + size + ' font-family="system-ui, Arial, sans-serif" font-size="12"><title>' + safe(title) + "</title>" + parts.join("") + "</svg>";
      },
    };
  },
};
