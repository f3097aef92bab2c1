"""Variables of place: the coordinates of a cell or a record, in the system of the layers.

A model with them maps only the region of its fit; it does not transfer to other places or times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sdm.errors import DuplicateNameError, IncompleteModelError, RegionError
from sdm.types import Array, Numbers

if TYPE_CHECKING:  # models need only the names
    from rasterio.windows import Window

    from sdm.data.rasters.grid import Grid

PLACE = ("place_x", "place_y")
PLACE_ROW = "place"  # both variables, in tables with one row per variable
PLACE_WARNING = (
    "The model has spatial features (smooth functions of the coordinates): its map is valid in the training region "
    "only, not at other places or times"
)
ELSEWHERE = "the model has spatial features, which are valid in the training region only"
TABLE_MARGIN = 0.05  # of each side of the box around the points of a table, which do not reach its border

Box = tuple[float, float, float, float]  # left, bottom, right and top


def is_place(name: str) -> bool:
    """Whether a variable is a variable of place."""
    return name in PLACE


def has_place(names: Sequence[str]) -> bool:
    """Whether variables of place are among the names."""
    return any(name in PLACE for name in names)


def without_place(names: Sequence[str]) -> tuple[str, ...]:
    """Return the variables of the environment, in order."""
    return tuple(name for name in names if name not in PLACE)


def variable_groups(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the columns of each variable of the environment, and then of place as one group.

    Examples
    --------
    >>> variable_groups(["heat", "place_x", "rain", "place_y"])
    {'heat': [0], 'rain': [2], 'place': [1, 3]}
    """
    groups = {name: [v] for v, name in enumerate(names) if name not in PLACE}
    place = [v for v, name in enumerate(names) if name in PLACE]
    return groups | ({PLACE_ROW: place} if place else {})


def refuse_place_names(names: Sequence[str], noun: str, source: str, *, row: bool = False) -> None:
    """Raise if layers or columns (`noun`) have the names of variables of place, or with `row`, the name of their
    group."""
    if taken := [name for name in names if name in PLACE or (row and name == PLACE_ROW)]:
        raise DuplicateNameError(
            f"{noun} '{taken[0]}'{f' of {source}' if source else ''} has a name that is reserved for spatial features "
            "(--spatial): rename it"
        )


def place_values(axis: str, grid: "Grid", window: "Window", out: np.ndarray) -> None:
    """Write the coordinates along an axis (x or y) of the cell centres of a window into an array (h, w)."""
    rows = np.arange(int(window.row_off), int(window.row_off + window.height))
    cols = np.arange(int(window.col_off), int(window.col_off + window.width))
    x, y = grid.xy(rows, cols)
    out[:] = x[None, :] if axis == "x" else y[:, None]


@dataclass(frozen=True)
class Region:
    """The region of the fit of a model with variables of place: a box and its coordinate system."""

    box: Box
    crs: str = ""  # as WKT; empty if unknown, as in a table

    @classmethod
    def of_layers(cls, grid: "Grid", inside: Box | None = None) -> "Region":
        """Return the region of layers, or its intersection with a study area."""
        return cls(common_box(grid.bounds, inside), "" if grid.crs is None else grid.crs.to_wkt())

    @classmethod
    def of_points(cls, x: Array, y: Array) -> "Region":
        """Return the region of the points of a table: the box around them with a margin on each side."""
        sides = [(float(np.min(part)), float(np.max(part))) for part in (x, y)]
        (left, right), (bottom, top) = ((a - TABLE_MARGIN * (b - a), b + TABLE_MARGIN * (b - a)) for a, b in sides)
        return cls((left, bottom, right, top))

    @classmethod
    def around(cls, regions: Sequence["Region | None"]) -> "Region | None":
        """Return the region around several in the same coordinates; None if one is unknown."""
        regions_with_box = [one for one in regions if one is not None]
        if not regions_with_box or len(regions_with_box) < len(regions):
            return None
        left, bottom, right, top = zip(*(one.box for one in regions_with_box))
        return cls((min(left), min(bottom), max(right), max(top)), regions_with_box[0].crs)

    @classmethod
    def of_model(cls, model: Any) -> "Region | None":
        """Return the region of a fitted model; None without variables of place."""
        if not has_place(model.names):
            return None
        stored = model.meta.get("region")
        if stored is not None:
            return cls._read(stored)
        box = [-np.inf, -np.inf, np.inf, np.inf]
        for variable in getattr(model, "variables", ()):
            if variable.name in PLACE:
                k = PLACE.index(variable.name)
                margin = TABLE_MARGIN * (variable.hi - variable.lo)
                box[k], box[k + 2] = variable.lo - margin, variable.hi + margin
        return cls((box[0], box[1], box[2], box[3]))

    @classmethod
    def _read(cls, stored: Any) -> "Region":
        try:
            left, bottom, right, top = (float(number) for number in stored["box"])
            if not (left <= right and bottom <= top):
                raise ValueError("a box without an inside")
            return cls((left, bottom, right, top), str(stored["crs"]))
        except (KeyError, TypeError, ValueError) as error:
            raise IncompleteModelError("the model file lacks the region of the fit: fit the model again") from error

    @property
    def text(self) -> str:
        """The box as text."""
        return _box_text(self.box)

    def as_dict(self) -> Numbers:
        """Return the region as JSON values, for the metadata of a model."""
        return {"box": list(self.box), "crs": self.crs}

    def check_crs(self, grid: "Grid") -> None:
        """Raise if layers are in another coordinate system."""
        if not self.crs or grid.crs is None:
            return
        from rasterio.crs import CRS
        from rasterio.errors import RasterioError

        from sdm.data.crs import crs_name, same_crs

        try:
            region_crs = CRS.from_wkt(self.crs)
        except RasterioError:
            return  # this version of PROJ cannot read it: only the box is checked
        if not same_crs(region_crs, grid.crs):
            raise RegionError(
                f"{ELSEWHERE}; the layers are in {crs_name(grid.crs)}, and the training layers were in "
                f"{crs_name(region_crs)}: use layers in the same coordinate reference system"
            )

    def check(self, grid: "Grid", inside: Box | None = None) -> None:
        """Raise if layers, or their part in a study area, extend beyond the region by more than a cell, or are in
        another coordinate system."""
        self.check_crs(grid)
        extent = common_box(grid.bounds, inside)
        cell = (abs(grid.transform.a), abs(grid.transform.e)) * 2
        beyond = [low - end if k < 2 else end - low for k, (low, end) in enumerate(zip(self.box, extent))]
        if any(more > size * (1 + 1e-6) for more, size in zip(beyond, cell)):
            raise RegionError(
                f"{ELSEWHERE}; the extent of the layers is {_box_text(extent)}, and of the training region "
                f"{_box_text(self.box)}: use layers of that region, or a --study-area within it"
            )

    def beyond(self, x: Array, y: Array) -> np.ndarray:
        """Return a mask of points outside the region; points without coordinates are not."""
        left, bottom, right, top = self.box
        with np.errstate(invalid="ignore"):
            return np.asarray((x < left) | (x > right) | (y < bottom) | (y > top))


def common_box(one: Box, other: Box | None) -> Box:
    """Return the intersection of two boxes; without a second one, the first."""
    if other is None:
        return one
    return max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])


def _box_text(box: Box) -> str:
    return f"x {box[0]:.6g} to {box[2]:.6g}, y {box[1]:.6g} to {box[3]:.6g}"
