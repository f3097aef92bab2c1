"""The common grid of all layers: origin, size, and the cell of a point."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from affine import Affine
from numpy.typing import ArrayLike
from rasterio import DatasetReader
from rasterio.crs import CRS
from rasterio.errors import RasterioError
from rasterio.windows import Window

from sdm.data.crs import DEGREE_KM, WGS84, crs_name, reproject, same_crs
from sdm.errors import CrsError

GRID_TOLERANCE = 1e-6
ASSIGN_CRS = "assign one, for example with gdal_edit.py -a_srs EPSG:4326"
"""Grids whose origin and cell size differ by less than this part of a cell are equal, and a point less than this part
of a cell beyond the outer edge is on the grid."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A raster without values: size, position and coordinate reference system."""

    width: int
    height: int
    transform: Affine  # from (column, row) to (x, y) of a cell's upper left corner (lower, if south-up); never rotated
    crs: CRS | None  # None if no file has it and it cannot be inferred

    @classmethod
    def of(cls, raster: "Grid | DatasetReader") -> "Grid":
        """Return the grid of an open raster, or of layers."""
        return cls(width=raster.width, height=raster.height, transform=raster.transform, crs=raster.crs)

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
        """Return row and column of the cell of each point, both -1 outside.

        A point on an edge belongs to the cell to its right and above: columns are
        ``floor((x - x_left) / cell_width)`` and rows, counted from the bottom, ``floor((y - y_bottom) / cell_height)``.
        On the outermost right or top edge it belongs to the last cell.

        The arithmetic is plain double precision, without rounding, as in Java Maxent: if an edge is not a binary
        number, like most decimal fractions, the last bit decides. Only then are published samples reproduced (Bradypus,
        with 79 of 116 records on an edge).

        Examples
        --------
        >>> grid = Grid(width=4, height=3, transform=Affine(0.5, 0, 0, 0, -0.5, 1.5), crs=None)
        >>> grid.rowcol([0.25, 1.0, 2.0, 2.1], [1.25, 0.5, 1.5, 0.5])
        (array([ 0,  1,  0, -1]), array([ 0,  2,  3, -1]))
        """
        left, bottom, _, _ = self.bounds
        col, in_x = _cell_number(x, left, abs(self.transform.a), self.width)
        row, in_y = _cell_number(y, bottom, abs(self.transform.e), self.height)
        col = self.width - 1 - col if self.transform.a < 0 else col
        row = self.height - 1 - row if self.transform.e < 0 else row
        inside = in_x & in_y
        return np.where(inside, row, -1), np.where(inside, col, -1)

    def xy(self, rows: ArrayLike, cols: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of the centres of cells."""
        x = self.transform.c + (np.asarray(cols) + 0.5) * self.transform.a
        y = self.transform.f + (np.asarray(rows) + 0.5) * self.transform.e
        return x, y

    @property
    def is_round(self) -> bool:
        """Whether the columns span the globe, so that the first is next to the last."""
        left, _, right, _ = self.bounds
        return self.crs is not None and self.crs.is_geographic and abs(right - left - 360) < abs(self.transform.a) / 100

    def turned(self, x: ArrayLike) -> np.ndarray:
        """Return longitudes in the convention of the grid, -180 … 180, 0 … 360 or others.

        Longitudes beyond its edges are shifted by 360° if that brings them inside. Others, and coordinates that are not
        degrees, are unchanged.
        """
        x = np.asarray(x, dtype=np.float64)
        if self.crs is None or not self.crs.is_geographic:
            return x
        left, _, right, _ = self.bounds
        slack = GRID_TOLERANCE * abs(self.transform.a)
        with np.errstate(invalid="ignore"):
            away = ((x < left - slack) | (x > right + slack)) & (np.abs(x) <= 360)
            other = x - 360 * np.floor((x - left) / 360)
            return np.where(away & (other <= right + slack), other, x)

    def lonlat(self, rows: np.ndarray, cols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return longitude and latitude (WGS 84) of fractional rows and columns; whole numbers are cell corners."""
        from rasterio.warp import transform as warp

        x, y = self.transform.c + self.transform.a * cols, self.transform.f + self.transform.e * rows
        if self.crs is not None and self.crs != CRS.from_epsg(4326):
            try:
                x, y = (np.asarray(values) for values in warp(self.crs, CRS.from_epsg(4326), x, y))
            except RasterioError as problem:
                raise CrsError(
                    f"the coordinate reference system of the layers, '{crs_name(self.crs)}', has no longitude and "
                    "latitude: expected one that PROJ can transform"
                ) from problem
        return x, y

    @cached_property
    def _ellipsoid(self) -> tuple[float, float]:
        """The equatorial radius in km and the eccentricity of the ellipsoid of the CRS."""
        if self.crs is None:
            raise CrsError(f"the layers have no coordinate reference system, which areas in km² need: {ASSIGN_CRS}")
        from pyproj import CRS as ProjectionCRS

        ellipsoid = ProjectionCRS.from_wkt(self.crs.to_wkt()).ellipsoid
        if ellipsoid is None:
            raise CrsError(f"areas in km² need an ellipsoid, and '{crs_name(self.crs)}' has none: use another system")
        polar = ellipsoid.semi_minor_metre / ellipsoid.semi_major_metre
        return ellipsoid.semi_major_metre / 1000, float(np.sqrt(1.0 - polar**2))

    def km2_below(self, y: ArrayLike) -> np.ndarray:
        """Return the area in km² from the origin of y to each y, for one unit of x.

        In a geographic CRS it is the exact area on its ellipsoid (authalic latitude); in a projected one the area on
        its plane, with the distortion of the projection. A region bounded by rows and columns has the area `∮ x
        d(km2_below)`.
        """
        values = np.asarray(y, dtype=np.float64)
        if self.crs is None or not self.crs.is_geographic:
            unit = 1.0 if self.crs is None else float(self.crs.linear_units_factor[1])
            return values * (unit / 1000) ** 2
        radius, e = self._ellipsoid
        sine = np.sin(np.deg2rad(np.clip(values, -90.0, 90.0)))
        along = np.arctanh(e * sine) / e if e else sine
        return np.deg2rad(0.5 * radius**2 * (1.0 - e**2) * (sine / (1.0 - (e * sine) ** 2) + along))

    def cell_km2(self, rows: ArrayLike) -> np.ndarray:
        """Return the area of a cell in each row, in km², by `km2_below`; without a CRS, units are metres."""
        edge = self.transform.f + np.add.outer([0.0, 1.0], np.asarray(rows, dtype=np.float64)) * self.transform.e
        above, below = self.km2_below(edge)
        return np.asarray(np.abs((above - below) * self.transform.a))

    def cell_area(self, rows: ArrayLike) -> np.ndarray:
        """Return the area of a cell in each row, relative to a cell of the grid at the equator; 1 in a projection."""
        if self.crs is None or not self.crs.is_geographic:
            return np.ones(np.shape(rows))
        radius, e = self._ellipsoid
        equator = np.deg2rad(np.deg2rad(radius**2 * (1.0 - e**2))) * abs(self.transform.a * self.transform.e)
        return np.asarray(self.cell_km2(rows) / equator)

    @property
    def looks_geographic(self) -> bool:
        """Whether the coordinates may be degrees; a file without georeference has the identity as transform."""
        left, bottom, right, top = self.bounds
        degrees = left >= -360 and right <= 360 and bottom >= -90.5 and top <= 90.5
        return degrees and self.transform != Affine.identity()

    @property
    def located(self) -> "Grid":
        """The grid in degrees if it has no CRS and its coordinates can be degrees."""
        degrees = self.crs is None and self.looks_geographic
        return replace(Grid.of(self), crs=CRS.from_epsg(4326)) if degrees else Grid.of(self)

    def difference(self, other: "Grid") -> str | None:
        """Return the difference from another grid, the stack's, as the end of a sentence; None if they are equal.

        Origins and cell sizes that differ by less than ``GRID_TOLERANCE`` of a cell are equal.
        """
        if not same_crs(self.crs, other.crs):
            return f"is in {crs_name(self.crs)}, and the stack in {crs_name(other.crs)}"
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
        """Divide the grid into windows of at most this size, row by row."""
        return [
            Window(col, row, min(width, self.width - col), min(height, self.height - row))
            for row in range(0, self.height, height)
            for col in range(0, self.width, width)
        ]

    def tile_size(self, block: tuple[int, int], cells: int) -> tuple[int, int]:
        """Return height and width of tiles of complete blocks, with at most `cells` cells if possible.

        They are as wide as the grid, unless one row of blocks is already too large.
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


def _cell_number(value: ArrayLike, start: float, size: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of the cell along one axis, from its start, and whether it exists."""
    place = (np.asarray(value, dtype=np.float64) - start) / size
    inside = (place >= -GRID_TOLERANCE) & (place <= count + GRID_TOLERANCE)
    number = np.floor(np.where(inside, place, 0.0)).astype(np.int64)
    return np.clip(number, 0, count - 1), inside


def to_lonlat(x: np.ndarray, y: np.ndarray, grid: Grid, purpose: str) -> tuple[np.ndarray, np.ndarray]:
    """Return longitude and latitude of points in the coordinates of a grid; `purpose` is for the error without a
    CRS."""
    return reproject(x, y, _crs_of(grid, purpose), WGS84)


def cell_km(grid: Grid, rows: np.ndarray, purpose: str) -> tuple[np.ndarray, float]:
    """Return the width of the cells of each row, and the height of all cells, in km."""
    crs = _crs_of(grid, purpose)
    if crs.is_geographic:
        _, lat = grid.xy(rows, np.zeros_like(rows))
        return abs(grid.transform.a) * DEGREE_KM * np.cos(np.deg2rad(lat)), abs(grid.transform.e) * DEGREE_KM
    unit = float(crs.linear_units_factor[1]) / 1000
    return np.full(len(rows), abs(grid.transform.a) * unit), abs(grid.transform.e) * unit


def _crs_of(grid: Grid, purpose: str) -> CRS:
    """Return the coordinate reference system of a grid; raise without one."""
    if grid.crs is None:
        raise CrsError(f"{purpose} needs distances, and the layers have no coordinate reference system: {ASSIGN_CRS}")
    return grid.crs
