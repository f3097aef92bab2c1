"""Ticks and numbers beside axes, drawn by one object for each side instead of one for each tick.

matplotlib makes five objects for a tick and measures them again and again while it lays a figure out: half of the time
of a chart. A ruler moves one tick from place to place. What it draws is the same, pixel by pixel.
"""

from functools import lru_cache

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axis import Axis, Tick, XAxis
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.ticker import NullFormatter, NullLocator
from matplotlib.transforms import Bbox


class Ruler(Artist):
    """What is beside one side of axes: ticks, their numbers, and the label."""

    def __init__(self, axis: Axis) -> None:
        super().__init__()
        self._axis = axis
        self._lies = isinstance(axis, XAxis)
        self._tick = axis.get_major_ticks(1)[0]
        self._small_tick = None if isinstance(axis.get_minor_locator(), NullLocator) else axis.get_minor_ticks(1)[0]
        self._words = [text for text in (self._tick.label1, self._tick.label2) if text.get_visible()]
        self.set_zorder(axis.get_zorder())

    def draw(self, renderer: RendererBase) -> None:
        """Draw all that is beside the axes."""
        if not self.get_visible():
            return
        places, numbers = self._numbers()
        self._put_label(renderer, places, numbers)
        for place in places if self._tick.gridline.get_visible() else ():
            self._tick.update_position(place)
            self._tick.gridline.draw(renderer)
        self._draw_marks(self._tick, places, renderer)
        if self._small_tick is not None:
            self._draw_marks(self._small_tick, self._inside(self._axis.get_minorticklocs())[0], renderer)
        for words in self._words:
            for place, number in zip(places, numbers):
                self._move(words, place, number)
                words.draw(renderer)
        for text in (self._axis.label, self._axis.get_offset_text()):
            text.draw(renderer)

    def get_tightbbox(self, renderer: RendererBase | None = None) -> Bbox:
        """Return the room that all takes; the length of the label, which no layout can mend, is left out of it."""
        if renderer is None:
            renderer = FigureCanvasAgg(self._axis.axes.get_figure(root=True)).get_renderer()
        places, numbers = self._numbers()
        boxes = [*self._put_label(renderer, places, numbers), self._edge(places)]
        if _is_shown(self._axis.label):
            box = self._axis.label.get_window_extent(renderer)
            x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
            boxes.append(Bbox([[x, box.y0], [x, box.y1]] if self._lies else [[box.x0, y], [box.x1, y]]))
        if _is_shown(self._axis.get_offset_text()):
            boxes.append(self._axis.get_offset_text().get_window_extent(renderer))
        return Bbox.union(boxes)

    def _edge(self, places: np.ndarray) -> Bbox:
        """Return the room of the axes with the marks of the ticks."""
        left, bottom, right, top = self._axis.axes.bbox.extents
        points = self._axis.axes.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
        near, far = (
            line.get_markersize() * points if line.get_visible() and len(places) else 0.0
            for line in (self._tick.tick1line, self._tick.tick2line)
        )
        if self._lies:
            return Bbox.from_extents(left, bottom - near, right, top + far)
        return Bbox.from_extents(left - near, bottom, right + far, top)

    def _numbers(self) -> tuple[np.ndarray, list[str]]:
        """Return where ticks are, and what is written beside them."""
        places = self._axis.get_majorticklocs()
        numbers = self._axis.get_major_formatter().format_ticks(list(places))
        kept, inside = self._inside(places)
        return kept, [number for number, keep in zip(numbers, inside) if keep]

    def _inside(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the places that the axes show, and which of all they are."""
        places = np.asarray(places, dtype=float)
        scaled = self._axis.get_transform().transform
        low, high = sorted(scaled(np.asarray(self._axis.get_view_interval(), dtype=float)))
        room = 1e-10 * (high - low)
        at = scaled(places)
        inside = (at >= low - room) & (at <= high + room)
        return places[inside], inside

    def _move(self, words: Text, place: float, number: str) -> None:
        words.set_text(number)
        if self._lies:
            words.set_x(place)
        else:
            words.set_y(place)

    def _put_label(self, renderer: RendererBase, places: np.ndarray, numbers: list[str]) -> list[Bbox]:
        """Put the label, and the power of ten that all numbers share, beyond the numbers; return the room of those."""
        axis, axes = self._axis, self._axis.axes
        points = axes.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
        boxes = [box for words in self._words for box in self._rooms(words, places, numbers, renderer)]
        box = Bbox.union([*boxes, self._edge(places)])
        pad = axis.labelpad * points
        x, y = axis.label.get_position()
        beyond = {"bottom": (x, box.y0 - pad), "top": (x, box.y1 + pad), "left": (box.x0 - pad, y)}
        axis.label.set_position(beyond.get(axis.get_label_position(), (box.x1 + pad, y)))
        power = axis.get_offset_text()
        power.set_text(axis.get_major_formatter().get_offset())
        low = min((box.y0 for box in boxes), default=axes.bbox.ymin)
        pad = axis.OFFSETTEXTPAD * points
        power.set_position((power.get_position()[0], low - pad if self._lies else axes.bbox.ymax + pad))
        return boxes

    def _rooms(self, words: Text, places: np.ndarray, numbers: list[str], renderer: RendererBase) -> list[Bbox]:
        """Return the rooms of the first, the last and the widest number: all others are between them."""
        if not numbers:
            return []
        font, dpi = words.get_fontproperties().copy(), float(getattr(renderer, "dpi", 0.0))
        if isinstance(renderer, RendererAgg):
            wide = [_width(number, font, dpi) for number in numbers]
        else:
            wide = [renderer.get_text_width_height_descent(number, font, False)[0] for number in numbers]
        found = []
        for k in sorted({0, len(numbers) - 1, int(np.argmax(wide))}):
            self._move(words, places[k], numbers[k])
            found.append(words.get_window_extent(renderer))
        return found

    def _draw_marks(self, tick: Tick, places: np.ndarray, renderer: RendererBase) -> None:
        """Draw the marks of all ticks as one line of them."""
        for line in (tick.tick1line, tick.tick2line):
            if line.get_visible() and len(places):
                across = np.full(len(places), (line.get_ydata() if self._lies else line.get_xdata())[0])  # type: ignore[index]
                line.set_data(places, across) if self._lies else line.set_data(across, places)
                line.draw(renderer)


@lru_cache(maxsize=4096)
def _width(number: str, font: FontProperties, dpi: float) -> float:
    """Return the width of a number in pixels: figures have many numbers in common."""
    return RendererAgg(1, 1, dpi).get_text_width_height_descent(number, font, False)[0]


def put_rulers(figure: Figure) -> None:
    """Give the axes of a finished figure rulers in place of their ticks, where a ruler can draw the same."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axes.axison and axis.get_visible() and _is_plain(axis):
                ruler = Ruler(axis)
                axis.set_visible(False)
                axes.add_artist(ruler)
                ruler.set_clip_on(False)


def _is_shown(text: Text) -> bool:
    return bool(text.get_visible() and text.get_text())


def _is_plain(axis: Axis) -> bool:
    """Tell whether small ticks, if there are any, have no numbers."""
    return isinstance(axis.get_minor_locator(), NullLocator) or isinstance(axis.get_minor_formatter(), NullFormatter)
