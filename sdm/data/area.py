"""Where things are: the grid of cells that all layers share, and the study area on it."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from affine import Affine
from numpy.typing import ArrayLike
from rasterio.crs import CRS
from rasterio.windows import Window

from sdm.errors import DataError

EDGE_RULE = (
    "a point exactly on an edge between cells belongs to the cell to the east and to the south; "
    "on the outer east or south edge of the raster, to the last cell"
)
EDGE_SNAP = 1e-6
"""A point closer to an edge than this part of a cell counts as on the edge: -65.4 is not a binary number."""

GRID_TOLERANCE = 1e-6
"""Grids whose origin and cell size differ by less than this part of a cell are one grid."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A north-up raster without its values: size, place and coordinate reference system.

    Parameters
    ----------
    width, height
        Number of columns and of rows.
    transform
        From (column, row) to (x, y) of a cell's upper left corner; never rotated.
    crs
        None when no file says it and it cannot be guessed.
    """

    width: int
    height: int
    transform: Affine
    crs: CRS | None

    @property
    def n_cells(self) -> int:
        """Number of cells, valid or not."""
        return self.width * self.height

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, bottom, right and top, in the units of the CRS."""
        x0, y0 = self.transform.c, self.transform.f
        x1, y1 = x0 + self.width * self.transform.a, y0 + self.height * self.transform.e
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)

    def rowcol(self, x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return row and column of the cell that holds each point, both -1 where there is none.

        A point exactly on an edge between cells belongs to the cell to the east and to the south
        (``floor((x - x0) / dx)``, ``floor((y0 - y) / dy)``); on the outer east or south edge of the
        raster it belongs to the last cell. "Exactly" means within ``EDGE_SNAP`` of a cell, because most
        decimal fractions are not binary numbers.

        Examples
        --------
        >>> grid = Grid(width=4, height=3, transform=Affine(0.1, 0, 0, 0, -0.1, 0.3), crs=None)
        >>> grid.rowcol([0.05, 0.3, 0.4, 0.41], [0.25, 0.2, 0.0, 0.1])
        (array([ 0,  1,  2, -1]), array([ 0,  3,  3, -1]))
        """
        col, in_x = _cell_number(x, self.transform.c, self.transform.a, self.width)
        row, in_y = _cell_number(y, self.transform.f, self.transform.e, self.height)
        inside = in_x & in_y
        return np.where(inside, row, -1), np.where(inside, col, -1)

    def xy(self, rows: ArrayLike, cols: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of the centres of cells."""
        x = self.transform.c + (np.asarray(cols) + 0.5) * self.transform.a
        y = self.transform.f + (np.asarray(rows) + 0.5) * self.transform.e
        return x, y

    def cell_area(self, rows: ArrayLike) -> np.ndarray:
        """Return the area of a cell in each row, relative to a cell of the same grid at the equator.

        In a geographic CRS a cell between latitudes b and t covers (sin t - sin b) / (t - b) of what it
        would at the equator (on the sphere, exact for a cell of any height); otherwise all are 1.
        """
        row = np.asarray(rows, dtype=np.float64)
        if self.crs is None or not self.crs.is_geographic:
            return np.ones_like(row)
        step = np.deg2rad(self.transform.e)
        one = np.deg2rad(self.transform.f) + row * step
        limit = np.pi / 2
        covered = np.sin(np.clip(one, -limit, limit)) - np.sin(np.clip(one + step, -limit, limit))
        return np.abs(covered / step)

    @property
    def looks_geographic(self) -> bool:
        """Whether the coordinates may be degrees; a file without georeference has the identity as transform."""
        left, bottom, right, top = self.bounds
        degrees = left >= -360 and right <= 360 and bottom >= -90.5 and top <= 90.5
        return degrees and self.transform != Affine.identity()

    def difference(self, other: "Grid") -> str | None:
        """Return in what way this grid is not the other one, the stack's, as the end of a sentence; None if it is.

        Origins and cell sizes that differ by less than ``GRID_TOLERANCE`` of a cell are the same.
        """
        if not same_crs(self.crs, other.crs):
            return f"is in {_crs_name(self.crs)}, the stack is in {_crs_name(other.crs)}"
        if (self.width, self.height) != (other.width, other.height):
            return f"has {self.width:,}×{self.height:,} cells, the stack has {other.width:,}×{other.height:,}"
        one, two = self.transform, other.transform
        apart = max(abs(one.a - two.a), abs(one.c - two.c)) / abs(two.a)
        apart = max(apart, max(abs(one.e - two.e), abs(one.f - two.f)) / abs(two.e))
        if apart < GRID_TOLERANCE:
            return None
        return (
            f"starts at ({one.c:.10g}, {one.f:.10g}) with cells of {one.a:.10g}×{-one.e:.10g}, "
            f"the stack at ({two.c:.10g}, {two.f:.10g}) with cells of {two.a:.10g}×{-two.e:.10g}"
        )

    def tiles(self, height: int, width: int) -> list[Window]:
        """Cut the grid into windows of at most this size, row by row."""
        return [
            Window(col, row, min(width, self.width - col), min(height, self.height - row))
            for row in range(0, self.height, height)
            for col in range(0, self.width, width)
        ]

    def tile_size(self, block: tuple[int, int], cells: int) -> tuple[int, int]:
        """Return height and width of tiles made of whole blocks, of at most so many cells if that is possible.

        They are as wide as the grid, unless one row of blocks is too large already.
        """
        height, width = min(block[0], self.height), min(block[1], self.width)
        if height * self.width <= cells:
            return height * (cells // (height * self.width)), self.width
        width = min(self.width, width * max(1, cells // (height * width)))
        return max(1, min(height, cells // width)), width

    def window_transform(self, window: Window) -> Affine:
        """Return the transform of a window of this grid."""
        t = self.transform
        return Affine(t.a, 0.0, t.c + window.col_off * t.a, 0.0, t.e, t.f + window.row_off * t.e)


def _cell_number(value: ArrayLike, origin: float, step: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of the cell along one axis, and whether there is one."""
    place = (np.asarray(value, dtype=np.float64) - origin) / step
    nearest = np.rint(place)
    with np.errstate(invalid="ignore"):
        place = np.where(np.abs(place - nearest) < EDGE_SNAP, nearest, place)
    inside = (place >= 0) & (place <= count)
    number = np.floor(np.where(inside, place, 0.0)).astype(np.int64)
    return np.minimum(number, count - 1), inside


def _crs_name(crs: CRS | None) -> str:
    """Return a short name of a reference system."""
    return "no known CRS" if crs is None else crs.to_string()[:60]


def same_crs(one: CRS | None, other: CRS | None) -> bool:
    """Whether two reference systems are the same, whatever dialect of WKT they are written in."""
    if one is None or other is None:
        return one is other
    return bool(one == other) or bool(one.to_dict() and one.to_dict() == other.to_dict())


def read_vector(path: str | Path, layer: str | None = None) -> tuple[Any, list[str]]:
    """Read any vector file; return a GeoDataFrame (or a DataFrame, for Parquet without geometry) and notes.

    Raises
    ------
    DataError
        If the file is missing, cannot be read, or holds several layers and none is named.
    """
    import geopandas
    import pyogrio

    path = Path(path)
    if not path.exists():
        raise DataError(f"file '{path}' does not exist: check the path")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if path.suffix.lower() in {".parquet", ".geoparquet", ".pq"}:
                return _read_parquet(path), []
            names = [str(name) for name in pyogrio.list_layers(path)[:, 0]]
            if layer is not None and layer not in names:
                raise DataError(
                    f"file '{path.name}' has no layer '{layer}', only {', '.join(names)}: name one of these"
                )
            if layer is None and len(names) > 1:
                raise DataError(f"file '{path.name}' has the layers {', '.join(names)}: say which one to read")
            frame = geopandas.read_file(path, layer=layer)
        except (OSError, RuntimeError, ValueError) as problem:
            if isinstance(problem, DataError):
                raise
            reason = " ".join(str(problem).split())
            raise DataError(f"file '{path.name}' cannot be read as a vector file: {reason}") from problem
    # DeprecationWarnings are between the libraries, not for the user.
    return frame, [str(w.message) for w in caught if not issubclass(w.category, DeprecationWarning | FutureWarning)]


def _read_parquet(path: Path) -> Any:
    """Read GeoParquet, or a plain table when the file carries no geometry."""
    import geopandas
    import pyarrow.parquet

    if b"geo" in (pyarrow.parquet.read_schema(path).metadata or {}):
        return geopandas.read_parquet(path)
    return pyarrow.parquet.read_table(path).to_pandas()


@dataclass(frozen=True)
class StudyArea:
    """Polygons that limit where background is drawn, in the CRS of the layers.

    Parameters
    ----------
    geometries
        Shapely polygons and multipolygons.
    source
        The file they come from, for messages.
    notes
        What the user should be told about the file.
    """

    geometries: tuple[Any, ...]
    source: str
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: str | Path, crs: CRS | str | None, *, layer: str | None = None) -> "StudyArea":
        """Read the polygons of any vector file and reproject them to `crs`, that of the stack.

        Raises
        ------
        DataError
            If there is no polygon in the file, or it cannot be read.
        """
        frame, notes = read_vector(path, layer)
        name = Path(path).name
        polygons = (
            frame[frame.geom_type.isin(["Polygon", "MultiPolygon"])] if hasattr(frame, "geom_type") else frame[:0]
        )
        if len(polygons) == 0:
            raise DataError(f"study area '{name}' holds no polygon: give a vector file of polygons")
        if polygons.crs is None:
            notes.append(f"study area '{name}' has no CRS: taken to be in that of the layers")
        elif crs is not None:
            polygons = polygons.to_crs(CRS.from_user_input(crs).to_wkt())
        if len(polygons) < len(frame):
            notes.append(f"study area '{name}': {len(frame) - len(polygons):,} features that are not polygons left out")
        return cls(tuple(polygons.geometry.make_valid()), str(path), notes)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of all polygons together."""
        box = np.array([geometry.bounds for geometry in self.geometries])
        left, bottom = box[:, :2].min(axis=0)
        right, top = box[:, 2:].max(axis=0)
        return float(left), float(bottom), float(right), float(top)

    def check(self, grid: Grid) -> None:
        """Raise DataError if the study area does not overlap the grid."""
        if not _overlap(self.bounds, grid.bounds):
            ours, theirs = (", ".join(f"{v:g}" for v in box) for box in (self.bounds, grid.bounds))
            raise DataError(
                f"study area '{Path(self.source).name}' (left, bottom, right, top: {ours}) does not overlap the "
                f"layers ({theirs}): check its coordinate reference system"
            )

    def mask(self, grid: Grid, window: Window | None = None) -> np.ndarray:
        """Return whether the centre of each cell of a window lies in the study area, as (h, w) booleans."""
        from rasterio.features import geometry_mask

        window = window or Window(0, 0, grid.width, grid.height)
        shape = (int(window.height), int(window.width))
        transform = grid.window_transform(window)
        part = Grid(width=shape[1], height=shape[0], transform=transform, crs=grid.crs)
        near = [g for g in self.geometries if _overlap(g.bounds, part.bounds)]
        if not near:
            return np.zeros(shape, dtype=bool)
        return np.asarray(geometry_mask(near, shape, transform, invert=True))

    def contains(self, grid: Grid, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return whether the centre of each of these cells lies in the study area."""
        import shapely

        x, y = grid.xy(rows, cols)
        inside = np.zeros(x.shape, dtype=bool)
        for geometry in self.geometries:
            shapely.prepare(geometry)
            inside |= shapely.contains_xy(geometry, x, y)
        return inside


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    """Whether two boxes (left, bottom, right, top) share some area."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
