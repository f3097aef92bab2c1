"""What figures are made for. It is known without the library that draws them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdm.options.writing import OutputOptions

DPI = 300
INCH = 25.4
COLUMN, PAGE = 85.0, 180.0  # printed widths in millimetres: one column of a journal, and two
SMALL, TEXT, TITLE = 7.0, 8.0, 9.0  # sizes of letters in points: of ticks and legends, of labels, of titles
NOWHERE = "#e8e8e8"  # cells of a map without data


@dataclass(frozen=True)
class Paper:
    """What figures are made for: formats beside those that are always written, dots per inch, and a printed width in
    millimetres that all of them get; None: every figure has its own."""

    formats: Sequence[str] = ()
    dpi: int = DPI
    width: float | None = None
    pictures_as: Sequence[str] = ("png",)  # formats that maps always have, as pages show them

    @property
    def of_pictures(self) -> list[str]:
        """The formats of maps and of other pictures that are not charts."""
        return list(dict.fromkeys([*self.pictures_as, *self.formats]))

    @property
    def of_charts(self) -> list[str]:
        """The formats in which charts are drawn for print; as SVG they are written as pages show them."""
        return [kind for kind in self.formats if kind != "svg"]


PLAIN = Paper()


def paper_of(output: "OutputOptions") -> Paper:
    """Return what the options of a run say about figures."""
    from sdm.options.kinds import read_width

    width = None if output.figure_width is None else read_width(output.figure_width)
    return Paper(tuple(output.figures), output.dpi, width)
