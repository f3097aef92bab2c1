"""The study area, outlined by polygons."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rasterio.crs import CRS
from rasterio.windows import Window

from sdm.data.crs import same_crs
from sdm.data.opening.rasters import WARNING_FILTERS
from sdm.data.rasters.globe import open_at, over_grid, seam, turns_over, unwrap_polygon
from sdm.data.rasters.grid import Grid
from sdm.data.vectors import read_vector, split_layer
from sdm.errors import StudyAreaError

if TYPE_CHECKING:
    from shapely import Geometry


@dataclass(frozen=True)
class StudyArea:
    """Polygons that limit the background, in the CRS of the layers."""

    geometries: tuple[Geometry, ...]  # shapely polygons and multipolygons
    source: str  # the file of the polygons
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(
        cls, path: str | Path, crs: CRS | str | None, *, layer: str | None = None, grid: Grid | None = None
    ) -> StudyArea:
        """Read the polygons of any vector file and reproject them to `crs`, the CRS of the stack.

        Polygons in degrees may cross the date line or surround a pole. With `grid`, layers in degrees, they are shifted
        to its longitudes: -180 … 180°, 0 … 360° or others.
        """
        import shapely

        frame, notes = read_vector(path, layer, kind="polygon")
        name = split_layer(path)[0].name
        polygons = (
            frame[frame.geom_type.isin(["Polygon", "MultiPolygon"])] if hasattr(frame, "geom_type") else frame[:0]
        )
        if len(polygons) == 0:
            raise StudyAreaError(f"study area '{name}' contains no polygon: expected a vector file of polygons")
        if len(polygons) < len(frame):
            notes.append(
                f"study area '{name}': {len(frame) - len(polygons):,} features that are not polygons were dropped"
            )
        target = None if crs is None else CRS.from_user_input(crs)
        source = target if polygons.crs is None else CRS.from_wkt(polygons.crs.to_wkt())
        if polygons.crs is None:
            notes.append(f"study area '{name}' has no coordinate reference system: assumed to be the one of the layers")
        shapes = list(polygons.geometry)
        if source is not None and source.is_geographic:
            shapes = _unwrap_polygons(shapes, grid, name, notes)
        if source is not None and target is not None and not same_crs(source, target):
            shapes = _projected(polygons.set_geometry(shapes, crs=polygons.crs), source, target, name)
        shapes = [shapely.make_valid(shape) for shape in shapes]
        if grid is not None:
            if count := sum(any(turns_over(shape, grid)) for shape in shapes):
                left, _, right, _ = grid.bounds
                shift = f"shifted by 360° to the longitudes of the layers ({left:g} … {right:g}°)"
                notes.append(f"study area '{name}': the longitudes of {count:,} polygons were {shift}")
            shapes = [over_grid(shape, grid) for shape in shapes]
        return cls(tuple(shapes), str(path), notes)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of all polygons."""
        box = np.array([geometry.bounds for geometry in self.geometries])
        left, bottom = box[:, :2].min(axis=0)
        right, top = box[:, 2:].max(axis=0)
        return float(left), float(bottom), float(right), float(top)

    def check(self, grid: Grid) -> None:
        """Raise DataError if the study area does not overlap the grid."""
        if not _overlap(self.bounds, grid.bounds):
            ours, theirs = (", ".join(f"{v:g}" for v in box) for box in (self.bounds, grid.bounds))
            raise StudyAreaError(
                f"study area '{Path(self.source).name}' (left, bottom, right, top: {ours}) does not overlap the layers "
                f"({theirs}): check its coordinate reference system"
            )

    def mask(self, grid: Grid, window: Window | None = None) -> np.ndarray:
        """Return a mask (h, w) of the cells of a window with their centre in the study area."""
        from rasterio.features import geometry_mask

        window = window or Window(0, 0, grid.width, grid.height)
        shape = (int(window.height), int(window.width))
        transform = grid.window_transform(window)
        part = Grid(width=shape[1], height=shape[0], transform=transform, crs=grid.crs)
        near = [g for g in self.geometries if _overlap(g.bounds, part.bounds)]
        if not near:
            return np.zeros(shape, dtype=bool)
        with WARNING_FILTERS:  # rasterio changes the warning filters
            return np.asarray(geometry_mask(near, shape, transform, invert=True))

    def contains(self, grid: Grid, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return a mask of the cells with their centre in the study area."""
        import shapely

        x, y = grid.xy(rows, cols)
        inside = np.zeros(x.shape, dtype=bool)
        for geometry in self.geometries:
            shapely.prepare(geometry)
            inside |= shapely.contains_xy(geometry, x, y)
        return inside


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    """Whether two boxes (left, bottom, right, top) overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _unwrap_polygons(shapes: list[Geometry], grid: Grid | None, name: str, notes: list[str]) -> list[Geometry]:
    """Return polygons in degrees with those across the date line in one piece.

    An edge that jumps by more than half a turn crosses the date line, unless only the long way meets the layers.
    """
    out, crossing = [], 0
    for shape in shapes:
        unwrapped = unwrap_polygon(shape)
        if unwrapped is not shape and grid is not None and _meets(shape, grid) and not _meets(unwrapped, grid):
            unwrapped = shape
        crossing += unwrapped is not shape
        out.append(unwrapped)
    if crossing:
        notes.append(
            f"study area '{name}': {crossing:,} polygons have edges of more than 180° and are assumed to cross the "
            "date line; if they do not, add corners to their edges"
        )
    return out


def _meets(shape: Geometry, grid: Grid) -> bool:
    """Whether polygons in degrees overlap layers in degrees."""
    import shapely

    if grid.crs is None or not grid.crs.is_geographic:
        return True
    return bool(over_grid(shapely.make_valid(shape), grid).intersects(shapely.box(*grid.bounds)))


def _projected(polygons: Any, source: CRS, target: CRS, name: str) -> list[Geometry]:
    """Return polygons in another coordinate reference system; polygons in degrees are cut at the edge of the world
    map."""
    left, bottom, right, top = polygons.total_bounds
    try:
        if source.is_geographic and not target.is_geographic:
            edge = seam(target, float(np.clip((bottom + top) / 2, -80, 80)))
            if edge is not None and not edge - 360 <= left <= right <= edge:
                polygons = polygons.set_geometry([open_at(shape, edge) for shape in polygons.geometry])
        shapes = list(polygons.to_crs(target.to_wkt()).geometry)
        # Vertices beyond ±180° may have been shifted one by one.
        torn = target.is_geographic and (not source.is_geographic or left < -180 or right > 180)
        return [unwrap_polygon(shape) for shape in shapes] if torn else shapes
    except (RuntimeError, ValueError) as problem:  # from pyproj
        raise StudyAreaError(
            f"study area '{name}' cannot be transformed to the system of the layers: {problem}"
        ) from problem
