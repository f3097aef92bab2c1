"""Settings of figures, without importing matplotlib."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdm.options.writing import OutputOptions

DPI = 300
INCH = 25.4
COLUMN, PAGE = 85.0, 180.0  # printed widths in millimetres: one and two columns of a journal
SMALL, TEXT, TITLE = 7.0, 8.0, 9.0  # font sizes in points: ticks and legends, labels, titles
NOWHERE = "#e8e8e8"  # map cells without data


@dataclass(frozen=True)
class Paper:
    """Settings of figures: additional formats, resolution, and a common printed width in millimetres (None: every
    figure has its own)."""

    formats: Sequence[str] = ()
    dpi: int = DPI
    width: float | None = None
    pictures_as: Sequence[str] = ("png",)  # formats that maps always have for pages

    @property
    def of_pictures(self) -> list[str]:
        """The formats of maps and other raster figures."""
        return list(dict.fromkeys([*self.pictures_as, *self.formats]))

    @property
    def of_charts(self) -> list[str]:
        """The formats of printed charts; SVG files are written as pages show them."""
        return [kind for kind in self.formats if kind != "svg"]


PLAIN = Paper()


def paper_of(output: "OutputOptions") -> Paper:
    """Return the figure settings of a run."""
    from sdm.options.kinds import read_width

    width = None if output.figure_width is None else read_width(output.figure_width)
    return Paper(tuple(output.figures), output.dpi, width)
