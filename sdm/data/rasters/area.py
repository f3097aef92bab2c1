"""The study area, outlined by polygons."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rasterio.crs import CRS
from rasterio.windows import Window

from sdm.data.rasters.grid import Grid
from sdm.data.vectors import read_vector, split_layer
from sdm.errors import DataError


@dataclass(frozen=True)
class StudyArea:
    """Polygons that limit where background is drawn, in the CRS of the layers."""

    geometries: tuple[Any, ...]  # shapely polygons and multipolygons
    source: str  # the file they come from
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: str | Path, crs: CRS | str | None, *, layer: str | None = None) -> "StudyArea":
        """Read the polygons of any vector file and reproject them to `crs`, that of the stack."""
        frame, notes = read_vector(path, layer, kind="polygon")
        name = split_layer(path)[0].name
        polygons = (
            frame[frame.geom_type.isin(["Polygon", "MultiPolygon"])] if hasattr(frame, "geom_type") else frame[:0]
        )
        if len(polygons) == 0:
            raise DataError(f"study area '{name}' holds no polygon: give a vector file of polygons")
        if polygons.crs is None:
            notes.append(f"study area '{name}' has no CRS: taken to be in that of the layers")
        elif crs is not None:
            try:
                polygons = polygons.to_crs(CRS.from_user_input(crs).to_wkt())
            except (RuntimeError, ValueError) as problem:  # of pyproj
                raise DataError(
                    f"study area '{name}' cannot be brought into the layers' coordinate system: {problem}"
                ) from problem
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
