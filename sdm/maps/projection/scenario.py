"""All maps and numbers of one scenario for all models, in one pass over its layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import Layer, Stack
from sdm.errors import NoCellError, ScenarioError
from sdm.maps.cells import KnownCells
from sdm.maps.gis.tags import PRESENCE_WORDS
from sdm.maps.novelty import MEASURES, NoveltyMaps
from sdm.maps.projection.change import CODES, PRESENT, Ground, change_codes, change_numbers, change_raster, change_tags
from sdm.maps.projection.targets import ProjectedModel
from sdm.maps.rasters import BINARY_NODATA, BLOCK, NODATA, Raster, write_rasters
from sdm.storage.files import safe_names
from sdm.types import AnyArray, Array, Numbers, Progress

SHARED = ("mess", "exdet", "mop")  # measures that depend on the environment of a model alone


@dataclass(frozen=True)
class Target:
    """A target of a model: its title, and the paths of its maps in the folder of a scenario."""

    name: str  # the species or class
    title: str  # with the fields of its model
    model: int
    band: int
    suitability: str
    presence: Mapping[str, str]  # by rule
    change: str


@dataclass(frozen=True)
class ScenarioFiles:
    """The files of a scenario, which are the same for all scenarios."""

    targets: tuple[Target, ...]
    novelty: tuple[Mapping[str, str], ...]  # by model and content
    together: tuple[Mapping[str, str], ...]  # by model: maps of all its targets

    @classmethod
    def of(cls, models: Sequence[ProjectedModel], measures: Sequence[str]) -> "ScenarioFiles":
        """Return the files of models; shared maps are written once."""
        titles = [("_".join([target, *one.fields.values()]), k, band)
                  for k, one in enumerate(models) for band, target in enumerate(one.targets)]  # fmt: skip
        words = [title for title, _, _ in titles]
        if twice := [
            word for names in (words, [one.title for one in models]) for word in names if names.count(word) > 1
        ]:
            raise ScenarioError(f"two models are of '{twice[0]}': add a field, as in 'runs/{{multiplier}}/sp.npz'")
        groups = [one.environment for one in models]
        endings = ["change", *dict.fromkeys(rule for one in models for rule in one.cutoffs)]
        taken = ["scenario", *(name for one in MEASURES.values() for name in one)]
        taken += [name for one in models for name in one.together]
        safe_of = safe_names(words, taken=taken)
        used = list(safe_of.values())
        made: dict[tuple[str, str], str] = {}
        for word in words:
            for ending, name in safe_names([f"{safe_of[word]}_{e}" for e in endings], taken=[*taken, *used]).items():
                made[word, ending.removeprefix(f"{safe_of[word]}_")] = name
                used.append(name)
        targets = tuple(
            Target(
                models[k].targets[band], title, k, band, f"{safe_of[title]}.tif",
                {rule: f"{made[title, rule]}.tif" for rule in models[k].cutoffs}, f"{made[title, 'change']}.tif",
            )
            for title, k, band in titles
        )  # fmt: skip
        heads = safe_names([one.title for one in models], taken=taken)

        def beside(title: str, name: str) -> str:
            """Return the file name of a map of a model that has no target."""
            ((_, free),) = safe_names([f"{heads[title]}_{name}"], taken=used).items()
            return f"{free}.tif"

        leaders = {group: k for k, group in reversed(list(enumerate(groups)))}
        novelty: list[Mapping[str, str]] = []
        for k, group in enumerate(groups):
            names = {}
            for measure in measures:
                for name in MEASURES[measure]:
                    alone = len(models) == 1 or (measure in SHARED and len(leaders) == 1)
                    of = models[leaders[group]] if measure in SHARED else models[k]
                    names[name] = f"{name}.tif" if alone else beside(of.title, name)
            novelty.append(names)
        alone = len(models) == 1
        together = tuple(
            {name: f"{name}.tif" if alone else beside(one.title, name) for name in one.together} for one in models
        )
        return cls(targets, tuple(novelty), together)


@dataclass(frozen=True)
class ScenarioPass:
    """Settings of all scenarios."""

    models: Sequence[ProjectedModel]
    files: ScenarioFiles
    measures: Sequence[str] = ()
    dispersal: bool = True  # whether newly suitable cells are reached
    study_area: StudyArea | None = None
    threads: int = 2

    def write(
        self,
        stack: Stack,
        folder: Path,
        *,
        before: Mapping[str, Path] | None = None,
        tags: Mapping[str, str] | None = None,
        novelty: bool = True,
        progress: Progress | None = None,
        doing: str = "scenario",
    ) -> Numbers:
        """Write the maps of a scenario into a folder; return its numbers as JSON values, by model and target.

        `stack` has the variables of all models, each once. `before` are the maps of presence in the reference, by the
        targets' titles; without them there is no change.
        """
        stack = stack.within(None if self.study_area is None else self.study_area.bounds)
        work = _Work(self, stack, folder, before or {}, novelty)
        rasters, described = work.files(tags or {})
        settings: dict[str, Any] = {"threads": self.threads, "progress": progress, "empty": True, "doing": doing}
        return work.numbers(write_rasters(work.stack, rasters, work.bands, described, **settings))


class _Work:
    """The state of one scenario during the pass."""

    def __init__(
        self, plan: ScenarioPass, stack: Stack, folder: Path, before: Mapping[str, Path], novelty: bool
    ) -> None:
        self.plan, self.folder, self.before = plan, folder, before
        self.names, self.categorical = list(stack.names), stack.categorical
        self.columns = [[self.names.index(name) for name in one.model.names] for one in plan.models]
        self.ground = Ground(stack)
        groups = [one.environment for one in plan.models]
        self.leaders = [groups.index(group) for group in groups]
        shared = [name for name in plan.measures if name in SHARED] if novelty else []
        alone = [name for name in plan.measures if name not in SHARED] if novelty else []
        self.counted: dict[int, NoveltyMaps] = {}
        self.alone: list[NoveltyMaps] = []
        for k, one in enumerate(plan.models):
            paths = {name: folder / file for name, file in plan.files.novelty[k].items()}
            if self.leaders[k] == k:
                self.counted[k] = NoveltyMaps(one.model, paths, shared, _scale(one))
                self.counted[k].start(stack)
            self.alone.append(NoveltyMaps(one.model, paths, alone, _scale(one)))
        self.by_model = [[t for t in plan.files.targets if t.model == k] for k in range(len(plan.models))]
        self.before_at = {title: len(self.names) + k for k, title in enumerate(before)}
        past = [Layer(f"before {k}", str(path), 1, "uint8") for k, path in enumerate(before.values())]
        least = BLOCK if past else 1  # the block size of maps
        block = min(max(stack.block[0], least), stack.height), min(max(stack.block[1], least), stack.width)
        self.stack = replace(stack, layers=(*stack.layers, *past), block=block)
        self._parts: dict[tuple[int, int], tuple[list[Array], dict[int, Array]]] = {}

    def files(self, tags: Mapping[str, str]) -> tuple[list[Raster], list[dict[str, str]]]:
        """Return the rasters in the order of their bands, with their tags."""
        rasters: list[Raster] = []
        listed: list[dict[str, str]] = []
        for k, one in enumerate(self.plan.models):
            common = {"model_id": one.identity, "software": f"sdm {__version__}", **tags}
            for target in self.by_model[k]:
                about = common | {"species": target.name, "scale": one.shown_scale}
                rasters.append(Raster(self.folder / target.suitability))
                listed.append(about)
                for rule, level in one.cutoffs.items():
                    rasters.append(Raster.presence(self.folder / target.presence[rule]))
                    cutoff = {} if level is None else {"threshold": f"{level:.9g}"}
                    listed.append(about | {"what": "presence", "threshold_rule": rule, **cutoff, **PRESENCE_WORDS})
                if target.title in self.before:
                    rasters.append(change_raster(self.folder / target.change))
                    rule, cut = next(iter(one.cutoffs.items()))
                    cutoff = {"threshold_rule": rule} | ({} if cut is None else {"threshold": f"{cut:.9g}"})
                    listed.append(about | cutoff | change_tags(self.plan.dispersal))
            for name, raster in one.together.items():
                rasters.append(replace(raster, path=self.folder / self.plan.files.together[k][name]))
                listed.append(common | one.together_tags(name))
            if k in self.counted:
                rasters += self.counted[k].rasters
                listed += [{**about, **tags} for about in self.counted[k].tags]
            rasters += self.alone[k].rasters
            listed += [{**about, **tags} for about in self.alone[k].tags]
        return rasters, listed

    def bands(self, window: Window, values: NDArray[np.floating]) -> list[AnyArray]:
        """Compute a window of every raster, and store its counts."""
        shape = values.shape[1:]
        flat = values.reshape(values.shape[0], -1)
        rows = np.arange(int(window.row_off), int(window.row_off) + shape[0])
        area = self.ground.grid.cell_km2(rows)
        inside = None if self.plan.study_area is None else self.plan.study_area.mask(self.stack, window).ravel()
        out: list[AnyArray] = []
        sums: list[Array] = []
        over: dict[int, Array] = {}
        cells_of: dict[tuple[int, ...], KnownCells] = {}
        outside_of: dict[int, NDArray[np.bool_] | None] = {}
        for k, one in enumerate(self.plan.models):
            positions = tuple(self.columns[k])
            if positions not in cells_of:
                cells_of[positions] = KnownCells(flat, positions, shape[1], inside)
            cells, clamped = cells_of[positions], one.extrapolation != "free"
            base, shown, present = one.compute(cells.values, np.ones(cells.count, dtype=np.bool_))
            leader, beside = self.leaders[k], list[AnyArray]()
            if leader == k:
                outside = self.counted[k].count(window, [flat[i] for i in positions], cells.known)
                outside_of[k] = None if outside is None else outside[cells.known]
                beside = self.counted[k].measured_at(cells, base, clamped)
                over[k] = cells.sums(area)
            beside += self.alone[k].measured_at(cells, base, clamped)
            for target in self.by_model[k]:
                made, counted = self._target(window, target, cells, shown, present, outside_of[leader], flat, area)
                out += made
                sums.append(counted)
            out += one.together_bands(shown, present, cells) + beside
        out = [band.reshape(shape) for band in out]
        self._parts[int(window.row_off), int(window.col_off)] = sums, over
        return out

    def _target(
        self,
        window: Window,
        target: Target,
        cells: KnownCells,
        shown: Array,
        present: Sequence[NDArray[np.bool_]],
        outside: NDArray[np.bool_] | None,
        flat: AnyArray,
        area: Array,
    ) -> tuple[list[AnyArray], Array]:
        """Return the bands of one target and its sums, from the values at the valid cells."""
        level = shown[target.band]
        empty = np.isnan(level)
        partial = bool(empty.any())
        made = [cells.spread(np.where(empty, NODATA, level) if partial else level, NODATA, np.float32)]
        present_cells = [part[target.band] & ~empty if partial else part[target.band] for part in present]
        sizes: list[Array] = []
        for part in present_cells:
            now = part.view(np.uint8)
            made.append(cells.spread(np.where(empty, np.uint8(BINARY_NODATA), now) if partial else now, BINARY_NODATA))
            sizes.append(cells.size(area, part))
        if not present_cells:
            return made, np.zeros(0)
        codes = made[1]
        if target.title in self.before:
            codes = change_codes(flat[self.before_at[target.title]], made[1], self.plan.dispersal)
            made.append(codes)
        novel = np.zeros(2) if outside is None else cells.size(area, present_cells[0] & outside)
        means = cells.sums(area, present_cells[0])
        return made, np.concatenate([self.ground.tally(window, codes, PRESENT), *sizes, novel, means])

    def numbers(self, summaries: Sequence[Any]) -> Numbers:
        """Return all counts. Windows are summed in their order on the grid, whatever the order of the threads."""
        parts = [self._parts[key] for key in sorted(self._parts)]
        by_file = {summary.path: summary.numbers for summary in summaries}
        models: Numbers = {}
        targets: Numbers = {}
        k_of = 0
        for k, one in enumerate(self.plan.models):
            leader = self.leaders[k]
            counted = self.counted[leader]
            files = {name: file for name, file in self.plan.files.novelty[k].items() if (self.folder / file) in by_file}
            sums = sum((over[leader] for _, over in parts), np.zeros(1))
            if not sums[0]:
                raise NoCellError(f"no cell of the layers has a value in every variable of the model of {one.title}")
            overall = _mean_values(sums, one.model.names, self.categorical)
            models[one.title] = {
                "outside": counted.outside,
                "novelty": {name: by_file[self.folder / file] for name, file in files.items()},
                "files": files | dict(self.plan.files.together[k]),
                "variables": overall,
            }
            for target in self.by_model[k]:
                total = sum((sums[k_of] for sums, _ in parts), np.zeros(1))
                targets[target.title] = self._target_numbers(one, target, total, by_file)
                k_of += 1
        return {"models": models, "targets": targets}

    def _target_numbers(
        self, one: ProjectedModel, target: Target, total: Array, by_file: Mapping[Path, Any]
    ) -> Numbers:
        changed = target.title in self.before
        files: Numbers = {"suitability": target.suitability, "presence": dict(target.presence)}
        numbers: Numbers = {
            "name": target.name,
            "model": one.title,
            "fields": dict(one.fields),
            "suitability": by_file[self.folder / target.suitability],
            "rules": {},
        }
        if one.cutoffs:
            n, rules = 2 * len(CODES) + 4, list(one.cutoffs.items())
            sizes = total[n : n + 2 * len(rules)].reshape(-1, 2)
            cells, km2 = total[n + 2 * len(rules) : n + 2 * len(rules) + 2]
            for (rule, level), size in zip(rules, sizes):
                numbers["rules"][rule] = {"cutoff": level, "cells": int(size[0]), "km2": float(size[1])}
            if self.counted[self.leaders[target.model]].outside is not None:
                share = float(km2 / sizes[0, 1]) if sizes[0, 1] else 0.0
                numbers["suitable_outside"] = {"cells": int(cells), "km2": float(km2), "share": share}
            means = total[n + 2 * len(rules) + 2 :]
            numbers["where_suitable"] = _mean_values(means, one.model.names, self.categorical)
            numbers["centroid"] = self.ground.centroid(total[:n])
        if changed:
            numbers["change"] = change_numbers(total)
            files["change"] = target.change
        return {**numbers, "files": files}


def _scale(one: ProjectedModel) -> str:
    return "" if one.value_model is None else one.shown_scale


def _mean_values(sums: Array, names: Sequence[str], categorical: Sequence[str]) -> dict[str, float | None]:
    """Return the mean of every numeric variable from sums."""
    total = sums[0] if len(sums) > 1 else 0.0
    return {
        name: float(sums[k] / total) if total else None
        for k, name in enumerate(names, start=1)
        if name not in categorical
    }
