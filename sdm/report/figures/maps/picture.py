"""The picture of a map: painted at once where it is plain, drawn by the plotting library where it is not."""

from pathlib import Path
from typing import TYPE_CHECKING

from sdm.report.figures.maps.plan import Shades
from sdm.report.paper import COLUMN, PLAIN, Paper
from sdm.report.pictures import read_picture
from sdm.types import Array

if TYPE_CHECKING:
    from sdm.data.rasters.area import StudyArea

PIXELS = 900


def is_plain(shades: Shades, edges: bool, paper: Paper) -> bool:
    """Tell whether the map of a model needs no plotting library."""
    return not edges and not paper.vectors and not isinstance(shades.colours, str)


def draw_map(
    raster: Path,
    path: Path,
    *,
    title: str,
    species: bool = False,
    shades: Shades | None = None,
    band: int = 1,
    x: Array | None = None,
    y: Array | None = None,
    test: tuple[Array, Array] | None = None,
    area: "StudyArea | None" = None,
    edges: bool = False,
    paper: Paper = PLAIN,
) -> Path:
    """Draw a map with the records (and `test` records) and the outline of the study area, from the raster's overviews.

    A map of classes has its own colours, and a legend. With `edges`, cells of exactly zero are pale, and the range has
    a line around it. The title is in italics if it is that of a `species`.
    """
    picture = read_picture(raster, PIXELS if paper.width in (None, COLUMN) else 2 * PIXELS, band)
    records = {"training record": (x, y)} if x is not None and y is not None else {}
    records |= {} if test is None else {"test record": test}
    shades = shades or Shades("")
    if is_plain(shades, edges, paper) and not picture.legend:
        from sdm.report.figures.maps.painted import paint_map
        from sdm.report.png import png_bytes

        path.write_bytes(png_bytes(paint_map(picture, shades, records, title, species, area, paper), paper.dpi))
        return path
    from sdm.report.figures.maps.drawn import map_figure
    from sdm.report.figures.style import save

    return save(map_figure(picture, shades, records, title, species, area, edges, paper), path)
