"""Charts as inline SVG: small, accessible to screen readers, with all names escaped."""

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from markupsafe import Markup, escape

from sdm.report.charts import (
    RULE,
    SHADE,
    WHISKER,
    BarChart,
    Biplot,
    Chart,
    ColumnChart,
    DotChart,
    Line,
    LineChart,
    Range,
    Rug,
    Values,
    colour_of,
    short,
)
from sdm.report.tables import quoted

WIDE, HIGH = 520, 340
SMALL = (400, 280)
DASHES = ("", "6 3", "2 3", "8 3 2 3")
INK, LETTERS = "#1d2429", "system-ui, Helvetica, Arial, sans-serif"  # of a separate file
_LETTER = 7.8  # width of a character of 13 units in a wide font
_NARROW = 6.9  # in most fonts
Drawn = tuple[list[str], tuple[float, float]]  # elements of a chart, and its size
Key = tuple[str, int | str, int]  # text of a legend entry, its colour, and its dashes (negative: a dot)


@dataclass(frozen=True)
class Frame:
    """Position of the axes in a chart, and their ranges."""

    size: tuple[float, float]
    left: float
    top: float
    x_range: Range
    y_range: Range
    right: float = 12.0
    bottom: float = 40.0

    def x(self, value: float) -> float:
        """Return the horizontal position of a value."""
        low, high = self.x_range
        return self.left + (value - low) / ((high - low) or 1.0) * (self.size[0] - self.left - self.right)

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        (low, high), floor = self.y_range, self.size[1] - self.bottom
        return floor - (value - low) / ((high - low) or 1.0) * (floor - self.top)


def label(value: float) -> str:
    """Return the label of a tick."""
    text = f"{value:.6g}"
    return "0" if text in ("-0", "0") else text.replace("-", "−")


def svg(chart: Chart) -> Markup:
    """Draw a chart of any kind, for a page."""
    drawn, size = _drawn(chart)
    box = f'viewBox="0 0 {size[0]:g} {size[1]:g}" width="{size[0]:g}" height="{size[1]:g}"'
    # All parts of `drawn` were escaped when they were created: names by `escape`, the rest are numbers and constants.
    start = f'<svg class="chart" role="img" aria-label="{escape(chart.title)}" {box}'
    return Markup(f'{start} data-table="{escape(chart_table(chart))}">{drawn}</svg>')  # noqa: S704


def svg_file(charts: Sequence[Chart]) -> str:
    """Return the text of an SVG file with charts side by side, in the colours of a light page."""
    drawings = [_drawn(chart) for chart in charts]
    across = min(3, len(drawings))
    wide, high = (max(size[k] for _, size in drawings) for k in (0, 1))
    size = f"{wide * across:g} {high * -(-len(drawings) // across):g}"
    parts = [
        f'<g transform="translate({k % across * wide:g} {k // across * high:g})">{drawn}</g>'
        for k, (drawn, _) in enumerate(drawings)
    ]
    letters = f'font-family="{LETTERS}" font-size="13" fill="{INK}"'
    width, height = size.split()
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{width}" height="{height}" {letters}>'
    title = f"<title>{escape(charts[0].title)}</title>" if len(charts) == 1 else ""
    return f'{start}{title}<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(parts)}</svg>\n'


def _drawn(chart: Chart) -> tuple[str, tuple[float, float]]:
    """Return the elements of a chart as text, and its size."""
    drawers: dict[type, Callable[..., Drawn]] = {
        LineChart: _lines, ColumnChart: _columns, BarChart: _bars, DotChart: _dots, Biplot: _biplot,
    }  # fmt: skip
    parts, size = drawers[type(chart)](chart)
    return "".join(parts), size


def _lines(chart: LineChart) -> Drawn:
    size, lines = SMALL if chart.small else (WIDE, HIGH), chart.lines
    x_range = chart.x_range or _range([v for line in lines for v in line.x])
    limits = [v for line in lines for side in line.limits or () for v in side]
    y_range = chart.y_range or _range([*(v for line in lines for v in line.y), *limits])
    keys: list[Key] = [(line.name, line.colour, line.dash) for line in lines]
    legend, top = _legend(keys if chart.legend else [], size[0])
    frame = Frame(size, _margin(y_range, size[1]), top, x_range, y_range)
    parts = [legend]
    if chart.shade is not None:
        a, b = (frame.x(min(max(v, x_range[0]), x_range[1])) for v in chart.shade)
        parts.append(_rect(a, frame.top, b - a, size[1] - frame.bottom - frame.top, SHADE))
    parts.append(_axes(frame, chart.x_label, chart.y_label))
    parts += [_rug(rug, frame) for rug in chart.rugs]
    for line in lines:
        colour = escape(colour_of(line.colour))
        if line.limits is not None:
            sides = [[(frame.x(a), frame.y(b)) for a, b in zip(line.x, side)] for side in line.limits]
            around = [place for place in [*sides[0], *sides[1][::-1]] if all(map(math.isfinite, place))]
            outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in around)
            parts.append(f'<polygon points="{outline}" fill="{colour}" fill-opacity=".18"/>')
        points = [(frame.x(a), frame.y(b)) for a, b in zip(line.x, line.y)]
        parts.append(_path(points, colour, DASHES[line.dash % len(DASHES)], 2.0))
        if line.sizes is not None:
            most = max(line.sizes) or 1.0
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + 5 * math.sqrt(size / most):.1f}" fill="{colour}"/>'
                for (x, y), size in zip(points, line.sizes)
            ]
    return parts, size


def _rug(rug: Rug, frame: Frame) -> str:
    """Draw a rug with one line per distinct position."""
    low, high = frame.x_range
    places = sorted({round(frame.x(v), 1) for v in rug.values if low <= v <= high})
    y, down = (frame.top, "v7") if rug.top else (frame.size[1] - frame.bottom, "v-7")
    ticks = "".join(f"M{x:g} {y:g}{down}" for x in places)
    colour = escape(colour_of(rug.colour))
    return f'<path d="{ticks}" fill="none" stroke="{colour}" stroke-opacity=".55"/>' if ticks else ""


def _columns(chart: ColumnChart) -> Drawn:
    size, names, groups = SMALL, chart.names, chart.groups
    colours = [k if bars.colour is None else bars.colour for k, bars in enumerate(groups)]
    ends = [v + s for bars in groups for v, s in _whiskers(bars.values, bars.spread)]
    low, high = chart.y_range or _range([0.0, *ends])
    keys: list[Key] = [(bars.name, colour, 0) for bars, colour in zip(groups, colours)]
    legend, top = _legend(keys if chart.legend else [], size[0])
    frame = Frame(size, _margin((low, high), size[1]), top, (0.0, float(len(names))), (low, high))
    parts = [legend, _axes(frame, chart.x_label, chart.y_label, across=False)]
    step = -(-len(names) // 10)
    breadth = 0.8 if chart.stacked else 0.8 / max(len(groups), 1)
    for k, name in enumerate(names):
        begin = min(max(0.0, low), high)
        for g, bars in enumerate(groups):
            start = k + 0.1 + (0 if chart.stacked else g) * breadth
            left, right, value = frame.x(start), frame.x(start + breadth), bars.values[k] or 0.0
            end = begin + value if chart.stacked else value
            y, base = frame.y(end), frame.y(begin)
            parts.append(_rect(left, min(y, base), right - left, abs(base - y), escape(colour_of(colours[g]))))
            if bars.spread is not None and (length := bars.spread[k]):
                reach = [frame.y(max(value - length, low)), frame.y(min(value + length, high))]
                parts += _whisker(*(((left + right) / 2, y) for y in reach))
            begin = end if chart.stacked else begin
        if k % step == 0:
            longest = max(2, int((size[0] - frame.left) / len(names) * step / _LETTER))
            parts.append(_text(frame.x(k + 0.5), size[1] - frame.bottom + 15, short(name, longest), "middle"))
    return parts, size


def _bars(chart: BarChart) -> Drawn:
    names, groups, rule, width = chart.names, chart.groups, chart.rule, float(WIDE)
    ends = [v + s for bars in groups for v, s in _whiskers(bars.values, bars.spread)]
    values = [v for bars in groups for v in bars.values if v is not None]
    low, high = _range([chart.low, *values, *([rule[1]] if rule else []), *ends])
    keys: list[Key] = [(bars.name, k, 0) for k, bars in enumerate(groups)] if len(groups) > 1 or rule else []
    legend, top = _legend([*keys, *([(rule[0], RULE, 1)] if rule else [])], width)
    thick = 16.0 if len(groups) == 1 else 11.0
    pitch = thick * len(groups) + 8
    size = (width, top + pitch * len(names) + 40)
    left = min(0.5 * width, 14 + _LETTER * max(map(len, names), default=1))
    frame = Frame(size, left, top, (low, high), (0.0, 1.0))
    parts = [legend, _axes(frame, chart.x_label, "", up=False)]
    base = frame.x(chart.low)
    for k, name in enumerate(names):
        y = top + pitch * k + 4
        room = int((left - 12) / _LETTER)
        parts.append(_text(left - 6, y + thick * len(groups) / 2 + 4, short(name, room), "end", chart.species))
        for g, bars in enumerate(groups):
            value = bars.values[k]
            if value is None:
                continue
            x = frame.x(value)
            parts.append(_rect(min(x, base), y + g * thick, abs(x - base), thick - 2, colour_of(g)))
            if bars.spread is not None and (length := bars.spread[k]):
                middle = y + g * thick + thick / 2 - 1
                parts += _whisker((frame.x(max(value - length, low)), middle), (frame.x(value + length), middle))
    if rule:
        x = frame.x(rule[1])
        parts.append(_path([(x, top), (x, size[1] - frame.bottom)], colour_of(RULE), DASHES[1], 1.5))
    return parts, size


def _dots(chart: DotChart) -> Drawn:
    groups, width = chart.groups, float(WIDE)
    x_range = _range([v for group in groups for v in group.x], 0.04)
    y_range = _range([v for group in groups for v in group.y], 0.04)
    legend, top = _legend([(group.name, group.colour, -1) for group in groups], width)
    tall = (y_range[1] - y_range[0]) * chart.aspect / ((x_range[1] - x_range[0]) or 1.0)
    size = (width, top + 40 + min(max(tall, 0.3), 1.6) * (width - 64))
    frame = Frame(size, _margin(y_range, size[1]), top, x_range, y_range)
    parts = [legend, _axes(frame, chart.x_label, chart.y_label)]
    for group in groups:
        places = [(frame.x(a), frame.y(b)) for a, b in zip(group.x, group.y)]
        spots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
        parts.append(f'<g fill="{escape(colour_of(group.colour))}" fill-opacity=".85">{spots}</g>')
    return parts, size


def _biplot(chart: Biplot) -> Drawn:
    side = 640.0
    size, both = (side, side - 12), (-chart.reach, chart.reach)
    frame = Frame(size, 64.0, 12.0, both, both)
    floor, end = size[1] - frame.bottom, size[0] - frame.right
    middle = frame.x(0.0), frame.y(0.0)
    parts = [_axes(frame, chart.x_label, chart.y_label)]
    parts.append(_path([(frame.left, middle[1]), (end, middle[1])], "#b9c1c6", "", 1.0))
    parts.append(_path([(middle[0], frame.top), (middle[0], floor)], "#b9c1c6", "", 1.0))
    places = [(frame.x(x), frame.y(y)) for x, y in chart.points]
    spots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in places)
    rug = "".join(f"M{x:.1f} {floor:.1f}v-6M{frame.left:.1f} {y:.1f}h6" for x, y in places)
    parts.append(f'<g fill="#9aa5ac" fill-opacity=".55">{spots}</g><path d="{rug}" stroke="#9aa5ac" fill="none"/>')
    labelled = {tip.arrow for tip in chart.named}
    for k, (x, y) in enumerate(chart.tips):
        tip = frame.x(x), frame.y(y)
        colour, width = (colour_of(0), 1.4) if k in labelled else ("#8fa3b0", 0.9)
        parts.append(_path([middle, tip], colour, "", width))
        parts.append(f'<circle cx="{tip[0]:.1f}" cy="{tip[1]:.1f}" r="2.6" fill="{colour}"/>')
    for one in chart.named:
        text = _text(frame.x(one.x), frame.y(one.y), one.name, "start" if one.begins else "end", italic=True)
        # A light outline keeps names readable above arrows.
        parts.append(f'<g paint-order="stroke" stroke="#ffffff" stroke-width="3" stroke-linejoin="round">{text}</g>')
    return parts, size


def _whiskers(values: Values, spread: Values | None) -> list[tuple[float, float]]:
    """Return values with the lengths of their whiskers."""
    lengths = [0.0] * len(values) if spread is None else spread
    return [(v, s or 0.0) for v, s in zip(values, lengths) if v is not None]


def _whisker(one: tuple[float, float], other: tuple[float, float]) -> list[str]:
    return [_path([one, other], "#ffffff", "", 3.5), _path([one, other], WHISKER, "", 1.5)]


def _range(values: Sequence[float], margin: float = 0.0) -> Range:
    """Return the range of finite values; it is never empty."""
    finite = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return low - margin * (high - low), high + margin * (high - low)


def round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """Return up to `most` rounded numbers within a range, at distances of 1, 2 or 5 times a power of ten."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else []
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (power * factor for factor in (1, 2, 5, 10, 20, 50)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [k * step for k in range(first, last + 1)]
    return [low, high]


def _margin(y_range: Range, high: float) -> float:
    """Return the space for the numbers and the label of a vertical axis."""
    return max(52.0, 30 + _LETTER * max((len(label(value)) for value in _up(y_range, high)), default=1))


def _up(y_range: Range, high: float) -> list[float]:
    return round_numbers(*y_range, most=5 if high < 240 else 6)


def _axes(frame: Frame, x_label: str, y_label: str, *, across: bool = True, up: bool = True) -> str:
    """Draw the axes with ticks and labels; `across` and `up` are whether an axis has numbers."""
    wide, high = frame.size
    floor, end = high - frame.bottom, wide - frame.right
    parts = []
    for value in _up(frame.y_range, high) if up else []:
        y = frame.y(value)
        parts.append(_path([(frame.left, y), (end, y)], "#e3e6e8", "", 1.0))
        parts.append(_text(frame.left - 6, y + 4, label(value), "end"))
    for value in round_numbers(*frame.x_range, most=5 if wide < 350 else 6) if across else []:
        x = frame.x(value)
        parts += [_path([(x, floor), (x, floor + 4)], "#444444", "", 1.0), _text(x, floor + 17, label(value), "middle")]
    parts.append(_path([(frame.left, frame.top), (frame.left, floor), (end, floor)], "#444444", "", 1.0))
    centre = (frame.left + end) / 2
    parts.append(_text(centre, high - 6, short(x_label, int(2 * min(centre, wide - centre) / _NARROW)), "middle"))
    if y_label:
        middle = (frame.top + floor) / 2
        text = escape(short(y_label, int(high / _NARROW) - 2))
        parts.append(f'<text transform="translate(13 {middle:.1f}) rotate(-90)" text-anchor="middle">{text}</text>')
    return "".join(parts)


def _legend(entries: Sequence[Key], width: float) -> tuple[str, float]:
    """Draw the legend in as many rows as needed; return it, and the top of the axes."""
    if len(entries) < 2:
        return "", 12.0
    x, y, parts = 10.0, 14.0, []
    for name, colour, dash in entries:
        text = short(name, 44)
        room = 30 + _LETTER * len(text) + 14
        if x + room - 14 > width and x > 10:
            x, y = 10.0, y + 17
        tint = escape(colour_of(colour))
        if dash < 0:
            parts.append(f'<circle cx="{x + 11:.1f}" cy="{y - 4:.1f}" r="4" fill="{tint}"/>')
        else:
            parts.append(_path([(x, y - 4), (x + 24, y - 4)], tint, DASHES[dash % len(DASHES)], 3.0))
        parts.append(_text(x + 30, y, text, "start"))
        x += room
    return "".join(parts), y + 12


def _path(points: Sequence[tuple[float, float]], colour: str, dash: str, width: float) -> str:
    """Draw a line through points, with gaps at values that are not finite."""
    steps, pen = [], "M"
    for x, y in points:
        finite = math.isfinite(x) and math.isfinite(y)
        steps += [f"{pen}{x:.1f} {y:.1f}"] if finite else []
        pen = "L" if finite else "M"
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{"".join(steps)}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def _rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    if not (math.isfinite(y) and math.isfinite(height)):
        return ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str, italic: bool = False) -> str:
    style = ' font-style="italic"' if italic else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(text)}</text>'


DIGITS = 6  # significant digits


def chart_table(chart: Chart) -> str:
    """Return the data of a chart as CSV: a row per x or name."""
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows([_cell(value) for value in row] for row in _rows(chart))
    return out.getvalue()


def _rows(chart: Chart) -> Iterator[Sequence[Any]]:
    if isinstance(chart, LineChart):
        yield from _line_rows(chart)
    elif isinstance(chart, (ColumnChart, BarChart)):
        pairs = [((bars.name, bars.values), (f"{bars.name}, ±", bars.spread)) for bars in chart.groups]
        columns = [(head, values) for pair in pairs for head, values in pair if values is not None]
        yield ["name", *(head for head, _ in columns)]
        yield from zip(chart.names, *(values for _, values in columns))
    elif isinstance(chart, DotChart):
        yield ["group", chart.x_label, chart.y_label]
        for group in chart.groups:
            yield from ((group.name, x, y) for x, y in zip(group.x, group.y))
    elif isinstance(chart, Biplot):
        yield ["name", chart.x_label, chart.y_label]
        names = {tip.arrow: tip.name for tip in chart.named}
        yield from ((names.get(k, ""), *tip) for k, tip in enumerate(chart.tips))


def _line_rows(chart: LineChart) -> Iterator[Sequence[Any]]:
    """Return lines with the same x side by side, and other lines below each other."""
    groups: dict[tuple[float, ...], list[Line]] = {}
    for line in chart.lines:
        groups.setdefault(tuple(line.x), []).append(line)
    for k, (places, group) in enumerate(groups.items()):
        if k:
            yield []
        yield [chart.x_label, *(head for one in group for head in (one.name, *("lower", "upper") * bool(one.limits)))]
        yield from zip(places, *(values for one in group for values in (one.y, *(one.limits or ()))))


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    return "" if value is None or not math.isfinite(value) else f"{value:.{DIGITS}g}"
