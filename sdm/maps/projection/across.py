"""Mean, standard deviation, range and agreement of maps over scenarios, and the sources of their variance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.opening.rasters import open_local
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.stack import Layer, Stack
from sdm.maps.rasters import BLOCK, NODATA, Raster, write_rasters
from sdm.types import AnyArray, Array, Numbers, Progress

STATISTICS = ("mean", "sd", "min", "max")
NAMES = {"mean": "mean", "sd": "standard deviation", "min": "minimum", "max": "maximum"}  # in tags and descriptions
REST = "rest"
OF_MAPS = ("scale", "model_id")  # tags of maps that apply to their statistics


def map_stack(grid: Grid, maps: Sequence[Path], presence: Sequence[Path] = ()) -> Stack:
    """Return maps of suitability, and of presence, on one grid as layers."""
    layers = [Layer(f"map {k}", str(path), 1, "float32", nodata=(NODATA,)) for k, path in enumerate(maps)]
    layers += [Layer(f"presence {k}", str(path), 1, "uint8", nodata=(255.0,)) for k, path in enumerate(presence)]
    block = min(BLOCK, grid.height), min(BLOCK, grid.width)
    place: dict[str, Any] = {"width": grid.width, "height": grid.height, "transform": grid.transform, "crs": grid.crs}
    return Stack(**place, layers=tuple(layers), block=block, dtype=np.dtype(np.float32))


def _shared_tags(maps: Sequence[Path], keys: Sequence[str]) -> dict[str, str]:
    """Return the tags with the same value in all maps."""
    tags = []
    for path in dict.fromkeys(maps):
        with open_local(path) as source:
            tags.append(source.tags())
    return {key: tags[0][key] for key in keys if key in tags[0] and len({one.get(key) for one in tags}) == 1}


def write_agreement(
    grid: Grid,
    maps: Sequence[Path],
    presence: Sequence[Path],
    places: Mapping[str, Path],
    tags: Mapping[str, str],
    *,
    threads: int = 2,
    progress: Progress | None = None,
) -> Numbers:
    """Write mean, standard deviation (n − 1), minimum and maximum over maps, and the number of maps with presence.

    Cells have a value where every map has one. `presence` may be empty; agreement is then not written.
    """
    stack, n, doing = map_stack(grid, maps, presence), len(maps), "agreement of scenarios"
    areas = grid.located
    kind, nothing = ("uint8", 255) if n < 255 else ("uint16", 65535)
    parts: dict[tuple[int, int], Array] = {}

    def bands(window: Window, values: NDArray[np.floating]) -> list[AnyArray]:
        shown = values[:n].astype(np.float64)
        valid = ~np.isnan(shown).any(axis=0)
        spread = shown.std(axis=0, ddof=1) if n > 1 else np.zeros(valid.shape)
        made = (shown.mean(axis=0), spread, shown.min(axis=0), shown.max(axis=0))
        out = [np.where(valid, band, NODATA).astype(np.float32) for band in made]
        if presence:
            count = values[n:].sum(axis=0)
            counted = valid & ~np.isnan(count)
            agreed = np.where(counted, count, nothing).astype(kind)
            out.append(agreed)
            rows = np.arange(int(window.row_off), int(window.row_off) + int(window.height))
            counts = np.zeros((len(rows), n + 1))
            for row, line in enumerate(agreed):
                counts[row] = np.bincount(line[line != nothing], minlength=n + 1)
            parts[int(window.row_off), int(window.col_off)] = areas.cell_km2(rows) @ counts
        return out

    rasters = [Raster(places[name]) for name in STATISTICS]
    if presence:
        rasters.append(Raster(places["agreement"], kind, nothing, bands=("number of suitable cases",)))
    common = {**tags, "cases": str(n), "software": f"sdm {__version__}", **_shared_tags(maps, OF_MAPS)}
    about = [{**common, "statistic": f"{NAMES[name]} over scenarios"} for name in STATISTICS]
    if presence:
        cutoff = _shared_tags(presence, ("threshold_rule", "threshold"))
        about.append({**common, **cutoff, "what": "agreement", "units": "scenarios"})
    summaries = write_rasters(stack, rasters, bands, about, threads=threads, progress=progress, empty=True, doing=doing)
    numbers: Numbers = {name: one.numbers for name, one in zip(STATISTICS, summaries)}
    if presence:
        km2 = sum((parts[key] for key in sorted(parts)), np.zeros(n + 1))
        numbers["agreement"] = {str(k): float(value) for k, value in enumerate(km2)}
    return numbers


@dataclass(frozen=True)
class Design:
    """The level of each map for every source of variance."""

    levels: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, cases: Sequence[Mapping[str, str]]) -> "Design":
        """Return the design of cases from their fields; fields with one value are not sources."""
        names = dict.fromkeys(name for fields in cases for name in fields)
        levels = {}
        for name in names:
            values = [fields.get(name, "") for fields in cases]
            distinct = sorted(set(values))
            if len(distinct) > 1:
                levels[name] = tuple(distinct.index(value) for value in values)
        return cls(levels)

    @property
    def balanced(self) -> bool:
        """Whether all combinations of levels occur equally often."""
        rows = list(zip(*self.levels.values()))
        combinations = int(np.prod([max(level) + 1 for level in self.levels.values()])) if self.levels else 0
        return len(set(rows)) == combinations and len({rows.count(row) for row in set(rows)}) == 1

    def decompose(self, values: Array) -> Array:
        """Return the variance (n) of values `(n, …)`, the variance between the level means of each source, and the rest
        (interactions)."""
        mean = values.mean(axis=0)
        total = ((values - mean) ** 2).mean(axis=0)
        parts = []
        for level in self.levels.values():
            place = np.array(level)
            part = np.zeros_like(mean)
            for k in range(place.max() + 1):
                chosen = place == k
                part += chosen.mean() * (values[chosen].mean(axis=0) - mean) ** 2
            parts.append(part)
        return np.array([total, *parts, np.maximum(total - sum(parts), 0.0)])


def write_variance(
    grid: Grid,
    maps: Sequence[Path],
    design: Design,
    places: Mapping[str, Path],
    tags: Mapping[str, str],
    *,
    threads: int = 2,
    progress: Progress | None = None,
) -> Numbers:
    """Write the variance of maps by source, and the rest; return means over the area and shares."""
    stack, doing = map_stack(grid, maps), "variance of scenarios"
    areas, names = grid.located, [*design.levels, REST]
    parts: dict[tuple[int, int], Array] = {}

    def bands(window: Window, values: NDArray[np.floating]) -> list[AnyArray]:
        shown = values.astype(np.float64)
        valid = ~np.isnan(shown).any(axis=0)
        components = design.decompose(shown)
        rows = np.arange(int(window.row_off), int(window.row_off) + int(window.height))
        area = areas.cell_km2(rows)[:, None] * valid
        sums = np.array([area.sum(), *((np.where(valid, part, 0.0) * area).sum() for part in components)])
        parts[int(window.row_off), int(window.col_off)] = sums
        return [np.where(valid, part, NODATA).astype(np.float32) for part in components[1:]]

    rasters = [Raster(places[name], bands=(f"variance by {name}",)) for name in names]
    common = {**tags, "software": f"sdm {__version__}", **_shared_tags(maps, OF_MAPS), "what": "variance"}
    about = [{**common, "source": name, "statistic": f"variance by {name}"} for name in names]
    write_rasters(stack, rasters, bands, about, threads=threads, progress=progress, empty=True, doing=doing)
    sums = sum((parts[key] for key in sorted(parts)), np.zeros(len(names) + 2))
    total, *each = (sums[1:] / sums[0] if sums[0] else sums[1:]).tolist()
    sources = []
    for name, value in zip(names, each):
        count = max(design.levels[name]) + 1 if name in design.levels else None
        sources.append({"source": name, "levels": count, "variance": value, "share": value / total if total else None})
    return {"total": total, "sources": sources, "balanced": design.balanced}
