"""A window as the domain of a point pattern: a regular grid of cells, with the coordinates as variables.

No layers are needed. The density of the points depends on their coordinates: in a plane, on a map, or in any two
columns of numbers, such as the hour and the day of an event.
"""

from collections.abc import Sequence

import numpy as np
from affine import Affine
from rasterio.crs import CRS

from sdm.data.crs import WGS84, crs_name
from sdm.data.place import Box
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.stack import Layer, Stack
from sdm.data.records.occurrences import Occurrences
from sdm.errors import DataError, NoRecordsError, OptionError

AUTO = "auto"
NO_CRS = "none"  # word for plain coordinates
MARGIN = 0.05  # of each side of the box around the points, for automatic bounds
MOST_CELLS = 4_000_000


def window_stack(
    records: Occurrences, bounds: Sequence[float] | str, cells: Sequence[int], crs: str | None = None
) -> Stack:
    """Return the cells of a window as a stack of two layers, x and y, the coordinates of their centres.

    Parameters
    ----------
    records
        The points; the window has their coordinate system, unless `crs` is set.
    bounds
        Left, bottom, right and top; or ``auto``, a box around the points.
    cells
        Number of square cells along the longer side; or numbers of columns and rows.
    crs
        A coordinate system, or ``none`` for plain coordinates. By default the one of the records; if that is unknown,
        it is degrees if the complete window can be.
    """
    left, bottom, right, top = box_around(records) if isinstance(bounds, str) else bounds
    width, height = _size((left, bottom, right, top), cells)
    if width * height > MOST_CELLS:
        raise OptionError(f"layers.cells gives {width:,} × {height:,} cells: expected at most {MOST_CELLS:,} cells")
    step = (right - left) / width, (top - bottom) / height
    if len(cells) == 1:  # square cells, which extend slightly beyond the window
        step = (max(step), max(step))
    transform = Affine(step[0], 0.0, left, 0.0, -step[1], bottom + height * step[1])
    grid = Grid(width=width, height=height, transform=transform, crs=None)
    system = _crs_of(records, grid, crs)
    system_text = "plain coordinates" if system is None else crs_name(system)
    if crs is None and system is not None and records.crs == WGS84:
        system_text = f"{system_text}, because the coordinates look like degrees; otherwise use --crs none"
    box = f"x {left:.6g} to {grid.bounds[2]:.6g}, y {bottom:.6g} to {grid.bounds[3]:.6g}"
    notice = f"a window of {width:,} × {height:,} cells without layers: {box} ({system_text})"
    return Stack(
        width=width,
        height=height,
        transform=transform,
        crs=system,
        layers=(Layer.of_axis("x", "x"), Layer.of_axis("y", "y")),
        block=(256, width),
        dtype=np.dtype(np.float64),
        notices=(notice,),
    )


def box_around(records: Occurrences) -> Box:
    """Return the box around points, with a margin of a twentieth on each side."""
    finite = np.isfinite(records.x) & np.isfinite(records.y)
    if not finite.any():
        raise NoRecordsError(f"{records.source} has no record with coordinates: check --x-column and --y-column")
    low, high = (np.array([of(part[finite]) for part in (records.x, records.y)]) for of in (np.min, np.max))
    if not (high > low).all():
        raise DataError("all points have the same x, or the same y: add --bounds xmin,ymin,xmax,ymax")
    margin = MARGIN * (high - low)
    (left, bottom), (right, top) = low - margin, high + margin
    return float(left), float(bottom), float(right), float(top)


def _size(box: Box, cells: Sequence[int]) -> tuple[int, int]:
    """Return the numbers of columns and rows."""
    if len(cells) == 2:
        return int(cells[0]), int(cells[1])
    sides = box[2] - box[0], box[3] - box[1]
    step = max(sides) / cells[0]
    width, height = (max(1, int(np.ceil(side / step - 1e-9))) for side in sides)
    return width, height


def _crs_of(records: Occurrences, grid: Grid, crs: str | None) -> CRS | None:
    if crs == NO_CRS or (crs is None and records.crs == WGS84 and not grid.looks_geographic):
        return None
    return CRS.from_user_input(records.crs if crs is None else crs)
