"""The style of every figure: size of a pixel, colours, how names are cut, and how a figure becomes a PNG."""

from functools import cache
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from sdm.report.charts import short

DPI = 100
INK = "#1f3b4d"
ACCENT = "#c8553d"
PALE = "#f3efe2"
NOWHERE = "#e8e8e8"  # cells of a map without data
COLOURS = (
    INK, ACCENT, "#5b8e55", "#8a6fa8", "#d9a441", "#4a90a4", "#9c5b3b", "#6b7a8f", "#b5527f", "#7d8c2c",
)  # fmt: skip


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, in inches; its parts make room for each other."""
    return Figure(figsize=(width, height), dpi=DPI, layout="constrained")


def one_plot(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty figure and its only axes."""
    figure = new_figure(width, height)
    return figure, figure.add_subplot()


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG without the date or version that would make two equal pictures differ."""
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})
    return path


def drawable(text: str, longest: int = 40) -> str:
    """Keep a name from running out of the picture, with a box for each letter that the font does not have."""
    text = short(text, longest)
    return "".join(letter if ord(letter) in _letters() else "□" for letter in text)


def safe_text(text: str, longest: int = 40) -> str:
    """Return a name as matplotlib is to show it: cut, and no formula."""
    return drawable(text, longest).replace("$", r"\$")


def font_file() -> str:
    """Return where the font of the figures is."""
    return findfont(FontProperties())


@cache
def _letters() -> frozenset[int]:
    """Return the letters that the font has; for others matplotlib would warn."""
    return frozenset(get_font(font_file()).get_charmap())
