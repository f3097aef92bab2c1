"""Style of all figures: printed width, fonts, colours, truncation of names, and file formats.

A figure is laid out at its printed width, so that fonts have their printed size: at least `SMALL`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from sdm.report.charts import COLOURS, short
from sdm.report.paper import COLUMN, INCH, PLAIN, SMALL, TEXT, Paper
from sdm.types import Array

INK, ACCENT = COLOURS[:2]
GREY = "#8a8f94"
PALE = "#f3efe2"
# Keep text as text. Omit date and version, so that equal figures have identical files.
_PLAIN: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "sdm", "pdf.fonttype": 42}
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None},
}


class Sheet(Figure):
    """A figure with the settings of its paper."""

    paper: Paper = PLAIN


def new_figure(width: float, height: float, paper: Paper = PLAIN) -> Sheet:
    """Return an empty figure, in millimetres; its parts adjust to each other. The width of the paper has priority, and
    the height scales with it."""
    if paper.width is not None:
        width, height = paper.width, height * max(paper.width / width, 0.75)
    figure = Sheet(figsize=(width / INCH, height / INCH), dpi=paper.dpi, layout="constrained")
    figure.paper = paper
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)  # type: ignore[union-attr, call-arg]
    return figure


def one_plot(width: float, height: float, paper: Paper = PLAIN) -> tuple[Sheet, Axes]:
    """Return an empty figure, in millimetres, and its only axes."""
    figure = new_figure(width, height, paper)
    return figure, figure.add_subplot()


def own_axes(ax: Axes | None, width: float = COLUMN, height: float = 62.0) -> Axes:
    """Return the given axes, or the axes of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(width / INCH, height / INCH), layout="constrained")
    return figure.add_subplot()


def tidy(axes: Axes, *, x: str = "", y: str = "") -> Axes:
    """Label axes, with the font sizes of all figures."""
    axes.tick_params(which="both", labelsize=SMALL, width=0.6)
    axes.tick_params(which="major", length=2.5)
    axes.tick_params(which="minor", length=1.5)
    for edge in axes.spines.values():
        edge.set_linewidth(0.6)
    if x:
        axes.set_xlabel(x, fontsize=TEXT)
    if y:
        axes.set_ylabel(y, fontsize=TEXT)
    return axes


def write_cells(axes: Axes, values: Array, form: Callable[[float], str], is_dark: NDArray[np.bool_]) -> None:
    """Write the finite values of a matrix into its cells, white on dark ones."""
    for (row, place), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "white" if is_dark[row, place] else "black"
            axes.text(place, row, form(value), ha="center", va="center", size=SMALL, color=colour)


def few_ticks(strip: Colorbar) -> None:
    """Set the font size of a colour bar, and reduce its ticks so that they do not overlap."""
    strip.locator = MaxNLocator(4)
    strip.update_ticks()
    tidy(strip.ax)


def log_ticks(axis: Axis) -> None:
    """Label a logarithmic axis at 0.1, 0.2, 0.5, 1, …"""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path, formats: Sequence[str] = ()) -> Path:
    """Write a figure in some formats, by default the picture formats of its paper; the format replaces the ending of
    the path. Return the first path. Vector files contain text, not outlines."""
    paper = figure.paper if isinstance(figure, Sheet) else PLAIN
    kinds = formats or paper.of_pictures
    if engine := figure.get_layout_engine():  # else `savefig` draws everything an additional time for the layout
        engine.execute(figure)
        figure.set_layout_engine(None)
    with rc_context(_PLAIN):
        for kind in kinds:
            quick: dict[str, Any] = {"pil_kwargs": {"compress_level": 1}} if kind == "png" else {}
            figure.savefig(path.with_suffix(f".{kind}"), format=kind, dpi=paper.dpi, metadata=_METADATA[kind], **quick)
    return path.with_suffix(f".{kinds[0]}")


def drawable(text: str, longest: int = 40) -> str:
    """Truncate a name, with a box for each character that the font lacks."""
    return "".join(letter if _has_letter(letter) else "□" for letter in short(text, longest))


@cache
def _has_letter(letter: str) -> bool:
    """Whether the font has a character. Line ends and surrogates of file names are not characters."""
    font = get_font(findfont(FontProperties()))
    return category(letter) not in ("Cc", "Cs") and font.get_char_index(ord(letter)) != 0


def safe_text(text: str, longest: int = 40) -> str:
    """Return a name for matplotlib: truncated, and escaped so that it is not a formula."""
    return drawable(text, longest).replace("$", r"\$")
