"""Charts as inline SVG: crisp, small, readable by a screen reader, and free of anything that a name could inject."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDE, HIGH = 440, 300
SMALL = (300, 210)
COLOURS = ("#1f3b4d", "#c8553d", "#2a7f78", "#8a6d1d", "#6b4c9a", "#3b7a2a", "#b0487a", "#4a6fa5", "#7a5230", "#5f6b73")
DASHES = ("", "6 3", "2 3", "8 3 2 3")
_LETTER = 7.8  # of a text of 13 units, in a wide font
_NARROW = 6.9  # in most fonts


@dataclass(frozen=True)
class Line:
    """One curve: its name in the legend, and its points; `colour` and `dash` are positions in the palettes."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 0
    dash: int = 0


@dataclass(frozen=True)
class Dots:
    """Points of one colour, with a name in the legend."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 0


@dataclass(frozen=True)
class Frame:
    """Where a chart's axes lie in it, and the ranges that they show."""

    size: tuple[float, float]
    left: float
    top: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    right: float = 12.0
    bottom: float = 40.0

    def x(self, value: float) -> float:
        """Return where a value lies across."""
        low, high = self.x_range
        return self.left + (value - low) / ((high - low) or 1.0) * (self.size[0] - self.left - self.right)

    def y(self, value: float) -> float:
        """Return where a value lies down."""
        low, high = self.y_range
        return (
            self.size[1] - self.bottom - (value - low) / ((high - low) or 1.0) * (self.size[1] - self.bottom - self.top)
        )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return up to `most` round numbers within a range."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else []
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for factor in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0):
        step = factor * power
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [k * step for k in range(first, last + 1)]
    return [low, high]


def label(value: float) -> str:
    """Return a tick's number, as short as tells it from its neighbours."""
    text = f"{value:.6g}"
    return "0" if text in ("-0", "0") else text.replace("-", "−")


def line_chart(
    lines: Sequence[Line],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    shade: tuple[float, float] | None = None,
    size: tuple[float, float] = (WIDE, HIGH),
) -> Markup:
    """Draw curves over one pair of axes.

    Parameters
    ----------
    shade : pair, optional
        A range of x to shade, such as that of the training data.
    """
    x_range = x_range or _range([v for line in lines for v in line.x])
    y_range = y_range or _range([v for line in lines for v in line.y])
    legend, top = _legend([(line.name, line.colour, line.dash) for line in lines], size[0])
    frame = Frame(size, _margin(y_range, size[1]), top, x_range, y_range)
    parts = [legend]
    if shade is not None:
        a, b = (frame.x(min(max(v, x_range[0]), x_range[1])) for v in shade)
        parts.append(_rect(a, frame.top, b - a, size[1] - frame.bottom - frame.top, "#eef2f4"))
    parts.append(_axes(frame, x_label, y_label))
    for line in lines:
        points = [(frame.x(a), frame.y(b)) for a, b in zip(line.x, line.y)]
        parts.append(_path(points, _colour(line.colour), DASHES[line.dash % len(DASHES)], 2.0))
    return _svg(parts, size, title)


def column_chart(
    names: Sequence[str],
    groups: Sequence[tuple[str, Sequence[float]]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    y_range: tuple[float, float] | None = None,
    size: tuple[float, float] = SMALL,
) -> Markup:
    """Draw upright bars, one group of values over each name, such as the classes of a variable."""
    values = [v for _, group in groups for v in group]
    low, high = y_range or _range([0.0, *values])
    legend, top = _legend([(name, k, 0) for k, (name, _) in enumerate(groups)], size[0])
    frame = Frame(size, _margin((low, high), size[1]), top, (0.0, float(len(names))), (low, high))
    parts = [legend, _axes(frame, x_label, y_label, across=False)]
    step = -(-len(names) // 10)
    breadth = 0.8 / max(len(groups), 1)
    base = frame.y(min(max(0.0, low), high))
    for k, name in enumerate(names):
        for g, (_, group) in enumerate(groups):
            left, right = frame.x(k + 0.1 + g * breadth), frame.x(k + 0.1 + (g + 1) * breadth)
            y = frame.y(group[k])
            parts.append(_rect(left, min(y, base), right - left, abs(base - y), _colour(g)))
        if k % step == 0:
            longest = max(2, int((size[0] - frame.left) / len(names) * step / _LETTER))
            parts.append(_text(frame.x(k + 0.5), size[1] - frame.bottom + 15, short(name, longest), "middle"))
    return _svg(parts, size, title)


def bar_chart(
    names: Sequence[str],
    groups: Sequence[tuple[str, Sequence[float | None]]],
    *,
    title: str,
    x_label: str,
    spread: Sequence[float | None] | None = None,
    rule: tuple[str, float] | None = None,
    width: float = WIDE,
) -> Markup:
    """Draw lying bars, one group of values beside each name.

    Parameters
    ----------
    spread : sequence, optional
        Half the length of a whisker on each bar of the first group.
    rule : (name, value), optional
        An upright line to compare with, such as the gain of the model with all variables.
    """
    values = [v for _, group in groups for v in group if v is not None]
    low, high = _range([0.0, *values, *([rule[1]] if rule else []), *_ends(groups, spread)])
    keys = [(name, k, 0) for k, (name, _) in enumerate(groups)] if len(groups) > 1 or rule else []
    legend, top = _legend([*keys, *([(rule[0], 3, 1)] if rule else [])], width)
    thick = 16.0 if len(groups) == 1 else 11.0
    pitch = thick * len(groups) + 8
    size = (width, top + pitch * len(names) + 40)
    left = min(0.5 * width, 14 + _LETTER * max(map(len, names), default=1))
    frame = Frame(size, left, top, (low, high), (0.0, 1.0))
    parts = [legend, _axes(frame, x_label, "", up=False)]
    base = frame.x(0.0)
    for k, name in enumerate(names):
        y = top + pitch * k + 4
        room = int((left - 12) / _LETTER)
        parts.append(_text(left - 6, y + thick * len(groups) / 2 + 4, short(name, room), "end"))
        for g, (_, group) in enumerate(groups):
            value = group[k]
            if value is None:
                continue
            x = frame.x(value)
            parts.append(_rect(min(x, base), y + g * thick, abs(x - base), thick - 2, _colour(g)))
            length = spread[k] if g == 0 and spread is not None else None
            if length:
                middle = y + thick / 2 - 1
                ends = [(frame.x(value - length), middle), (frame.x(value + length), middle)]
                parts += [_path(ends, "#ffffff", "", 3.5), _path(ends, "#777777", "", 1.5)]
    if rule:
        x = frame.x(rule[1])
        parts.append(_path([(x, top), (x, size[1] - frame.bottom)], _colour(3), DASHES[1], 1.5))
    return _svg(parts, size, title)


def dot_chart(
    groups: Sequence[Dots], *, title: str, x_label: str, y_label: str, aspect: float = 1.0, width: float = WIDE
) -> Markup:
    """Draw points as on a map; `aspect` is how much longer a unit is upwards than across."""
    x_range = _range([v for group in groups for v in group.x], 0.04)
    y_range = _range([v for group in groups for v in group.y], 0.04)
    legend, top = _legend([(group.name, group.colour, -1) for group in groups], width)
    tall = (y_range[1] - y_range[0]) * aspect / ((x_range[1] - x_range[0]) or 1.0)
    size = (width, top + 40 + min(max(tall, 0.3), 1.6) * (width - 64))
    frame = Frame(size, _margin(y_range, size[1]), top, x_range, y_range)
    parts = [legend, _axes(frame, x_label, y_label)]
    for group in groups:
        spots = "".join(
            f'<circle cx="{frame.x(a):.1f}" cy="{frame.y(b):.1f}" r="3"/>' for a, b in zip(group.x, group.y)
        )
        parts.append(f'<g fill="{_colour(group.colour)}" fill-opacity=".85">{spots}</g>')
    return _svg(parts, size, title)


def short(text: str, longest: int) -> str:
    """Cut a text that would run out of its place."""
    return text if len(text) <= longest else text[: max(longest - 1, 1)] + "…"


def _ends(groups: Sequence[tuple[str, Sequence[float | None]]], spread: Sequence[float | None] | None) -> list[float]:
    """Return where the whiskers end."""
    if spread is None:
        return []
    return [v + s for v, s in zip(groups[0][1], spread) if v is not None and s is not None]


def _range(values: Sequence[float], margin: float = 0.0) -> tuple[float, float]:
    """Return the range of finite values, never empty."""
    finite = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return low - margin * (high - low), high + margin * (high - low)


def _colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def _margin(y_range: tuple[float, float], high: float) -> float:
    """Return the room that the numbers of an upright axis need, and what it shows beside them."""
    return max(52.0, 30 + _LETTER * max((len(label(value)) for value in _up(y_range, high)), default=1))


def _up(y_range: tuple[float, float], high: float) -> list[float]:
    return ticks(*y_range, most=5 if high < 240 else 6)


def _axes(frame: Frame, x_label: str, y_label: str, *, across: bool = True, up: bool = True) -> str:
    """Draw the axes, their ticks, and what they show; `across` and `up` say which of them have numbers."""
    wide, high = frame.size
    floor, end = high - frame.bottom, wide - frame.right
    parts = []
    for value in _up(frame.y_range, high) if up else []:
        y = frame.y(value)
        parts += [
            _path([(frame.left, y), (end, y)], "#e3e6e8", "", 1.0),
            _text(frame.left - 6, y + 4, label(value), "end"),
        ]
    for value in ticks(*frame.x_range, most=5 if wide < 350 else 6) if across else []:
        x = frame.x(value)
        parts += [_path([(x, floor), (x, floor + 4)], "#444444", "", 1.0), _text(x, floor + 17, label(value), "middle")]
    parts.append(_path([(frame.left, frame.top), (frame.left, floor), (end, floor)], "#444444", "", 1.0))
    centre = (frame.left + end) / 2
    parts.append(_text(centre, high - 6, short(x_label, int(2 * min(centre, wide - centre) / _NARROW)), "middle"))
    if y_label:
        middle = (frame.top + floor) / 2
        said = escape(short(y_label, int(high / _NARROW) - 2))
        parts.append(f'<text transform="translate(13 {middle:.1f}) rotate(-90)" text-anchor="middle">{said}</text>')
    return "".join(parts)


def _legend(entries: Sequence[tuple[str, int, int]], width: float) -> tuple[str, float]:
    """Draw what the colours mean, in as many rows as needed; return it, and where the chart may begin."""
    if len(entries) < 2:
        return "", 12.0
    x, y, parts = 10.0, 14.0, []
    for name, colour, dash in entries:
        said = short(name, 44)
        room = 30 + _LETTER * len(said) + 14
        if x + room > width and x > 10:
            x, y = 10.0, y + 17
        if dash < 0:
            parts.append(f'<circle cx="{x + 11:.1f}" cy="{y - 4:.1f}" r="4" fill="{_colour(colour)}"/>')
        else:
            parts.append(_path([(x, y - 4), (x + 24, y - 4)], _colour(colour), DASHES[dash % len(DASHES)], 3.0))
        parts.append(_text(x + 30, y, said, "start"))
        x += room
    return "".join(parts), y + 12


def _path(points: Sequence[tuple[float, float]], colour: str, dash: str, width: float) -> str:
    """Draw a line through points; it has a gap where one is not finite."""
    told, pen = [], "M"
    for x, y in points:
        if not (math.isfinite(x) and math.isfinite(y)):
            pen = "M"
            continue
        told.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{"".join(told)}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def _rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    if not (math.isfinite(y) and math.isfinite(height)):
        return ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str], size: tuple[float, float], title: str) -> Markup:
    """Wrap a drawing; its title is what a screen reader says."""
    said = escape(title)
    box = f'viewBox="0 0 {size[0]:g} {size[1]:g}" width="{size[0]:g}" height="{size[1]:g}"'
    # Everything in `parts` was escaped where it was made: names by `escape`, the rest are numbers and constants.
    return Markup(f'<svg class="chart" role="img" aria-label="{said}" {box}>{"".join(parts)}</svg>')  # noqa: S704
