"""A virtual world strip by strip: one pass writes its rasters and draws its records, in bounded memory."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm.data.rasters.grid import Grid
from sdm.executors.ahead import ahead
from sdm.progress.telling import StepCount
from sdm.simulate.axes import AnySpecies, AxisSpecies, HiddenAxes
from sdm.simulate.drawing import CellDraws, Floats, Niche, compile_niche, niche_values
from sdm.simulate.landscape import CLASSES, LAYERS, WARMED, Landscape
from sdm.simulate.niche import VirtualSpecies
from sdm.types import AnyArray, Progress

NODATA = -9999.0
_BLOCK = 256  # side of a tile, and rows in a strip
_CACHE = 64 * 2**20  # bytes of GDAL's block cache; the default, 5 % of the memory, is far more than needed
_WORKERS = min(3, os.cpu_count() or 1)
_OPEN = 64  # truth rasters written at a time: systems limit open files
_TOGETHER = 16  # species per task of a thread


@dataclass(frozen=True)
class WorldPlan:
    """The settings of all files."""

    world: Landscape
    grid: Grid
    layers: tuple[str, ...]
    species: tuple[AnySpecies, ...]
    towns: list[dict[str, float]]
    records: tuple[int, ...]  # of each species
    sites: int
    warming: float
    truth: bool  # whether to write rasters of suitability

    def truth_path(self, species: AnySpecies) -> str:
        """Return the path of the truth raster of a species in the result folder."""
        return f"truth/{species.name.replace(' ', '_')}.tif"

    @property
    def axes(self) -> HiddenAxes | None:
        """The axes shared by all species, if there are any."""
        first = self.species[0]
        return first.axes if isinstance(first, AxisSpecies) else None

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The layers on which niches depend."""
        needed = {name for species in self.species for name in species.variables}
        return tuple(name for name in self.layers if name in needed)

    @cached_property
    def niches(self) -> tuple[Niche, ...]:
        """The niches of species without shared axes, on the layers ``used``."""
        return tuple(compile_niche(one, self.used) for one in self.species if isinstance(one, VirtualSpecies))

    def predictors(self, layers: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """Return the predictors of the species from layers: the layers ``used``, or the shared axes."""
        if self.axes is not None:
            return dict(zip(self.axes.names, self.axes.values(layers)))
        return {name: layers[name] for name in self.used}

    def suitability(self, number: int, columns: Floats) -> Floats:
        """Return the suitability for a species from its predictors (:meth:`predictors`), rounded to 1e-4 unless species
        share axes."""
        species, out = self.species[number], np.empty(columns.shape[1], np.float32)
        if isinstance(species, AxisSpecies):
            level = np.full(columns.shape[1], species.intercept)
            for slope, axis in zip(species.slopes, columns):
                level += slope * axis.astype(np.float64)
            out[:] = np.exp(level)
        else:
            niche_values(out, columns, *self.niches[number])
        return out


@dataclass(frozen=True)
class _Strip:
    """A strip of the world: its rasters by path, and its land cells."""

    rasters: dict[str, AnyArray]
    land: NDArray[np.bool_]
    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    effort: Floats
    columns: Floats  # layers × cells


def _layers(world: Landscape, top: int, names: Sequence[str]) -> tuple[dict[str, AnyArray], NDArray[np.bool_]]:
    """Return the layers ``names`` of the strip that begins at row ``top``, and its land cells."""
    bottom = min(top + _BLOCK, world.rows)
    few = max(8, 2**18 // world.cols)  # rows at a time: the intermediate arrays fit into the cache
    parts = [world.strip(row, min(row + few, bottom), names) for row in range(top, bottom, few)]
    layers = {name: np.concatenate([part[0][name] for part in parts]) for name in names}
    return layers, np.concatenate([part[1] for part in parts])


def count_strips(world: Landscape) -> int:
    """Return the number of strips of a landscape."""
    return len(range(0, world.rows, _BLOCK))


def land_strips(world: Landscape, names: Sequence[str]) -> Iterator[Floats]:
    """Yield the layers ``names`` at the land cells of every strip (layer × cell)."""

    def columns(top: int) -> Floats:
        layers, land = _layers(world, top, names)
        return np.array([layers[name][land] for name in names], np.float32)

    with closing(ahead(columns, range(0, world.rows, _BLOCK), _WORKERS)) as strips:
        yield from strips


def _strip(plan: WorldPlan, top: int, names: Sequence[str]) -> _Strip:
    """Return the strip that begins at row ``top``, with the layers ``names``."""
    world, bottom = plan.world, min(top + _BLOCK, plan.world.rows)
    layers, land = _layers(world, top, names)
    effort = world.effort(plan.towns, top, bottom) if plan.towns else np.ones(land.shape, np.float32)
    predictors = plan.predictors(layers)
    rows, cols = (part.astype(np.int32) for part in np.nonzero(land))
    columns = np.array([values[land] for values in predictors.values()], np.float32)
    near = effort[land]
    rasters: dict[str, AnyArray] = {f"layers/{name}.tif": values for name, values in layers.items()}
    if plan.warming:
        warmer = {name: values.copy() for name, values in layers.items()}
        for name in {*WARMED} & {*warmer}:
            warmer[name] += np.float32(plan.warming)
        rasters |= {f"warmer/{name}.tif": values for name, values in warmer.items()}
    rasters |= {"effort.tif": effort} if plan.towns else {}
    rasters |= {f"truth/{name}.tif": values for name, values in predictors.items()} if plan.axes else {}
    for values in rasters.values():
        values[~land] = 0 if values.dtype == np.uint8 else NODATA
    return _Strip(rasters, land, rows + np.int32(top), cols, near, columns)


def _create(path: Path, plan: WorldPlan) -> Any:
    """Open one raster for writing. The differences of rounded numbers compress best."""
    path.parent.mkdir(exist_ok=True)
    dtype, nodata = ("uint8", 0.0) if path.stem == "landcover" else ("float32", NODATA)
    target = rasterio.open(
        path, "w", driver="GTiff", width=plan.grid.width, height=plan.grid.height, count=1, crs=plan.grid.crs,
        transform=plan.grid.transform, dtype=dtype, nodata=nodata, tiled=True, blockxsize=_BLOCK, blockysize=_BLOCK,
        compress="deflate", zlevel=4, predictor=2, bigtiff="if_safer",
    )  # fmt: skip
    for layer in LAYERS:
        if layer.name == path.stem:
            target.set_band_description(1, layer.text)
            target.set_band_unit(1, layer.unit)
    if plan.axes and path.stem in plan.axes.names:
        target.set_band_description(1, "an axis that all species share")
    if path.stem == "landcover":
        target.update_tags(1, **{f"CLASS_{number}": text for number, text in CLASSES.items()})
    return target


def _chunks(numbers: range) -> list[range]:
    """Divide species into the tasks of threads."""
    return [numbers[k : k + _TOGETHER] for k in range(0, len(numbers), _TOGETHER)]


class WorldPass:
    """The state of a pass over the world: the draws of every species, the survey sites and their environment, the
    number of land cells, and the sum of suitability of each species."""

    def __init__(self, plan: WorldPlan) -> None:
        self.plan = plan
        most = plan.grid.n_cells
        self.draws = [CellDraws(min(count, most)) for count in plan.records]
        self.sites = CellDraws(plan.sites, len(plan.axes.names if plan.axes else plan.used))
        self.land = 0
        self.sums = np.zeros(len(plan.species))

    def write(self, stage: Path, progress: Progress | None) -> None:
        """Write all rasters and draw, strip by strip. If there are many truth rasters, further passes write them."""
        everyone = range(len(self.plan.species))
        with_truth = everyone if self.plan.truth else everyone[:0]
        groups = [with_truth[k : k + _OPEN] for k in range(0, len(with_truth), _OPEN)] or [with_truth]
        passes = [(self.plan.layers, everyone, groups[0]), *((self.plan.used, group, group) for group in groups[1:])]
        strips = count_strips(self.plan.world)
        count = StepCount(progress, "landscape", strips * sum(len(_chunks(looked_at)) for _, looked_at, _ in passes))
        for turn, one in enumerate(passes):
            self._pass(stage, *one, count, draw=turn == 0)

    def _pass(
        self, stage: Path, names: Sequence[str], looked_at: range, mapped: range, count: StepCount, *, draw: bool
    ) -> None:
        """Pass over the world once, for the species ``looked_at``. With ``draw`` also draw, and write all rasters
        except those of truth, which are written for ``mapped`` species."""
        tops = range(0, self.plan.grid.height, _BLOCK)
        with rasterio.Env(GDAL_CACHEMAX=_CACHE), ExitStack() as stack:
            files: dict[str, Any] = {}

            def write(rasters: dict[str, AnyArray], top: int) -> None:
                for name, values in rasters.items():
                    if name not in files:
                        files[name] = stack.enter_context(_create(stage / name, self.plan))
                    files[name].write(values, 1, window=Window(0, top, self.plan.grid.width, len(values)))

            pool = stack.enter_context(ThreadPoolExecutor(_WORKERS))
            strips = stack.enter_context(closing(ahead(lambda top: _strip(self.plan, top, names), tops, _WORKERS)))
            for top, strip in zip(tops, strips):
                looks = [pool.submit(self._look, strip, chunk, mapped, draw) for chunk in _chunks(looked_at)]
                if draw:
                    write(strip.rasters, top)
                    self._survey(strip)
                for look in looks:
                    write(look.result(), top)
                    count.step()

    def _look(self, strip: _Strip, chunk: range, mapped: range, draw: bool) -> dict[str, AnyArray]:
        """Compute a strip for some species: sum and draw with ``draw``; return the truth rasters of mapped species."""
        rasters = dict[str, AnyArray]()
        for number in chunk:
            values = self.plan.suitability(number, strip.columns)
            if draw:
                self.sums[number] += values.sum(dtype=np.float64)
                u = self.plan.world.white(self.plan.species[number].name, strip.rows, strip.cols)
                self.draws[number].add(u, values * strip.effort, strip.rows, strip.cols)
            if number in mapped:
                truth = np.full(strip.land.shape, NODATA, np.float32)
                truth[strip.land] = values
                rasters[self.plan.truth_path(self.plan.species[number])] = truth
        return rasters

    def _survey(self, strip: _Strip) -> None:
        """Count land cells, and update the sites of lowest rank."""
        self.land += len(strip.rows)
        u = self.plan.world.white("sites", strip.rows, strip.cols)
        self.sites.add(u, np.ones(u.size, np.float32), strip.rows, strip.cols, *strip.columns)
