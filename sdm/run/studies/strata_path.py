"""The exact path over strata, from a prior by area or effort to the observed shares, and the map at the selected
tolerance.

The prior of a stratum is its share of the area or of the sampling effort. Its observed share is its share of the
records, and its multiplicity is its number of cells. Within a stratum, cells share by their prior.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.assess.paths.strata import Choice, PathValidation, validate_path
from sdm.assess.splits.folds import Split
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.effort import Effort
from sdm.data.rasters.stack import Stack
from sdm.data.rasters.strata import SQUARES, Strata, make_division, square_km, stratum_of, survey_strata
from sdm.errors import MissingInputError, OptionError, TooFewError, UnusableRecordsError
from sdm.kinds.model_task import Artefact
from sdm.kinds.species.inputs import SpeciesPrepared
from sdm.kinds.species.kind import SpeciesTask
from sdm.kinds.species.outputs import draw_with_records
from sdm.kinds.splitting import RecordPlan, with_default_folds
from sdm.kinds.task import Destination, Files, ModelMaps, ModelResult
from sdm.kinds.terminal import record_lines
from sdm.maps.rasters import NODATA, Raster, write_rasters
from sdm.maxent.paths.homotopy import RelaxationPath, track_path
from sdm.options.definitions import RunOptions
from sdm.options.fitting import FitOptions
from sdm.options.rules import ON_STRATA, broken
from sdm.progress.telling import going_on
from sdm.report.paper import paper_of
from sdm.storage.files import safe_name
from sdm.types import AnyArray, Array, Index, Numbers, Progress, Row

SETS = {-1: "I-", 0: "I0", 1: "I+"}  # strata at the lower end of the tolerance, inside it, and at the upper end


@dataclass
class StrataPath:
    """The path of one species over strata, and its results."""

    strata: Strata
    records: Array  # (n,), records or their weights in each stratum
    path: RelaxationPath
    validation: PathValidation
    split: Split
    chosen: Choice
    name: str = ""
    numbers: Numbers = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def probability(self) -> Array:
        """The selected probability of every stratum."""
        return np.asarray(self.path.atoms.m * self.path.p(self.chosen.nu))

    @property
    def density(self) -> Array:
        """The selected density in every stratum relative to area, corrected for effort: one everywhere is no
        preference."""
        ratio = self.probability / self.strata.prior
        return np.asarray(ratio / np.average(ratio, weights=self.strata.area))

    @property
    def tolerance(self) -> float:
        """The selected tolerance, for the probability of a cell."""
        return _tolerance(self.chosen)


def _tolerance(choice: Choice) -> float:
    return 1.0 / choice.nu if choice.nu else np.inf


STRATA_TABLES: tuple[Artefact[StrataPath], ...] = (
    Artefact("breakpoints", "{name}_breakpoints.csv", lambda fit: breakpoint_rows(fit)),
    Artefact("strata", "{name}_strata.csv", lambda fit: stratum_rows(fit)),
    Artefact("validation", "{name}_validation.csv", lambda fit: validation_rows(fit.validation)),
)


class StrataTask(SpeciesTask):
    """The exact path of species over strata, with the inputs of a fit but without features."""

    kind: ClassVar[str] = "strata"
    options_of: ClassVar[str] = "species"
    command: ClassVar[str] = "sdm path"
    artefacts: ClassVar[Sequence[Artefact[Any]]] = STRATA_TABLES

    def __init__(self) -> None:
        self._surveyed: dict[int, Strata] = {}

    def problems(self, options: RunOptions) -> Iterator[OptionError]:
        """Yield the problems of options: options that strata do not support, then the problems of species."""
        yield from broken(ON_STRATA, options, self.kind)
        yield from super().problems(strata_options(options))

    def check_model(self, options: RunOptions) -> None:
        """Raise for missing strata; there is no model of features."""
        super().check_model(strata_options(options))

    def prepare(self, options: RunOptions) -> SpeciesPrepared:
        """Read and clean the records; the layer of categories is one of the layers."""
        prepared = super().prepare(strata_options(options))
        changed = [name for name, value in options.fit if value != FitOptions.model_fields[name].get_default()]
        if changed:
            prepared.notices.append(f"strata have no features: fit.{', fit.'.join(changed)} not used")
        return prepared

    def plan(self, prepared: SpeciesPrepared, name: str, options: RunOptions) -> RecordPlan:
        """Divide the records of one species, by default in five folds."""
        return super().plan(prepared, name, with_default_folds(strata_options(options)))

    def fit(self, prepared: SpeciesPrepared, name: str, options: RunOptions, progress: Progress | None) -> StrataPath:
        """Compute the path of one species."""
        plan, options = self.plan(prepared, name, options), strata_options(options)
        area = prepared.area_of(name)
        if id(area) not in self._surveyed:
            with going_on(progress, "strata"):
                self._surveyed[id(area)] = survey(prepared, options, area)
        with going_on(progress, "path"):
            path = follow_strata(plan, self._surveyed[id(area)], options, cast("Stack", prepared.stack))
        numbers = _numbers(path, name, plan.table.n_presences, prepared.effort, options)
        return replace(path, name=name, numbers=numbers, notes=list(plan.table.notes))

    def measure(
        self, fit: Any, prepared: SpeciesPrepared, options: RunOptions, progress: Progress | None
    ) -> StrataPath:
        """Return the path, which was measured during the selection of its tolerance."""
        return cast(StrataPath, fit)

    @staticmethod
    def make_maps(fit: Any, prepared: Any, options: RunOptions, folder: Path, progress: Progress | None) -> ModelMaps:
        """Write the map of one species."""
        path = folder / f"{safe_name(fit.name)}.tif"
        _write_map(fit, prepared, path, options.threads, progress)
        return ModelMaps(folder, {"map": path.name}, {})

    @staticmethod
    def map_together(fits: Any, options: RunOptions, folder: Path, progress: Progress | None) -> list[ModelMaps]:
        """Return none: each path is mapped when it is written."""
        return []

    @staticmethod
    def draw_maps(fit: Any, maps: ModelMaps, prepared: Any, options: RunOptions) -> Files:
        """Draw the map with the records, if figures are requested."""
        table, area = prepared.tables[fit.name], prepared.area_of(fit.name)
        records = {"training record": (table.presence_x, table.presence_y)}
        return draw_with_records(fit.name, maps, options, "density", records, area)

    @staticmethod
    def write(measured: Any, prepared: Any, to: Destination) -> list[str]:
        """Write the figures of one species."""
        _draw(measured, to)
        return []

    def lines(self, result: ModelResult) -> list[str]:
        """Describe the path over strata and the selected point."""
        n, line = result.numbers["strata"], result.line
        counts = f"{n['strata']:,} ({n['strata_with_records']:,} with records) of {n['of']}, {n['cells']:,} cells"
        out = [
            *record_lines(result),
            line("strata", f"{counts}; prior by {n['prior']}"),
            line("path", f"exact, {n['segments']:,} segments; {n['folds']} folds ({n['method']})"),
        ]
        for key, label in (("best", "least loss"), ("one_se", "simplest")):
            loss = f"held-out loss {n[key]['held_out_loss']:.4f} ± {n[key]['standard_error']:.4f} over the prior's"
            mapped = " (mapped)" if key == n["choice"] else ""
            out.append(line(label, f"tolerance {n[key]['tolerance']:.4g}, {loss}{mapped}"))
        return [*out, *result.file_lines(("map", "picture", "breakpoints", "strata", "validation", "numbers"))]


def strata_options(options: RunOptions) -> RunOptions:
    """Return the options for cleaning records: the layer of categories is one of the layers."""
    strata, background, files = str(options.path.strata), options.background, list(options.layers.files)
    squares = strata.lower().startswith(SQUARES)
    if squares:
        square_km(strata)
        if not files:
            raise MissingInputError(f"path.strata={strata} needs the cells of a layer: give one after the records")
    elif Path(strata).is_file():
        files, strata = [*files, strata], Path(strata).stem
    elif not files:
        raise MissingInputError(f"path.strata={strata!r} is not a file: expected a raster, or layers after the records")
    classes = list(dict.fromkeys([*options.layers.categorical, *([] if squares else [strata])]))
    chosen = [*options.layers.variables, *(classes[-1:] if options.layers.variables and not squares else [])]
    # Strata need no random points; clusters of the environment are computed at background points.
    points = background.points if options.test.split == "environment" else 1
    treatment = "prior" if background.bias else background.bias_treatment
    return options.with_values(
        layers={"files": files, "categorical": classes, "variables": chosen},
        background={"points": points, "bias_treatment": treatment},
        fit=dict(FitOptions()),
        path={"strata": strata},
    )


def survey(prepared: SpeciesPrepared, options: RunOptions, area: StudyArea | None) -> Strata:
    """Count cells, area and prior of the strata in a study area."""
    stack = prepared.stack
    if stack is None:
        raise MissingInputError("strata need layers, and tables of samples were given: give a folder of layers")
    return survey_strata(
        stack,
        make_division(str(options.path.strata), stack),
        study_area=area,
        effort=prepared.effort,
        area_weighted=options.background.area_weighted,
        threads=options.threads,
    )


def follow_strata(plan: RecordPlan, strata: Strata, options: RunOptions, stack: Stack) -> StrataPath:
    """Compute the path of one species, and its held-out loss along the path."""
    table, split = plan.table, cast(Split, plan.split)
    cells = stack.rowcol(table.presence_x, table.presence_y)
    place = strata.place(strata.division.codes(cells, table.presence.T))
    weight = np.ones(table.n_presences) if table.presence_weights is None else table.presence_weights
    source = strata.division.source
    if lost := np.count_nonzero(place < 0):
        raise UnusableRecordsError(f"{table.species}: {lost:,} of {place.size:,} records are in no stratum of {source}")
    if strata.codes.size < 2:
        raise TooFewError(f"{source} is a single stratum in the study area: there is no path")

    def count(which: Index) -> Array:
        return np.bincount(place[which], weight[which], minlength=strata.codes.size).astype(np.float64)

    def path(counts: Array) -> RelaxationPath:
        return track_path(strata.prior / strata.cells, counts / strata.cells, strata.cells)

    records = count(np.arange(place.size))
    folds = [(path(count(fold.train)), count(fold.test)) for fold in split.folds]
    validation = validate_path([fold_path for fold_path, _ in folds], [held for _, held in folds])
    chosen = validation.best if options.path.choice == "best" else validation.one_error
    return StrataPath(strata, records, path(records), validation, split, chosen)


def breakpoint_rows(result: StrataPath) -> list[Row]:
    """Return one row per move: position, stratum, and the sets before and after."""
    path, names = result.path, result.strata.names
    sign = np.zeros(path.atoms.n, dtype=np.int64)
    rows = []
    for nu, mu, j, step in zip(path.nu.tolist(), path.mu.tolist(), path.atom.tolist(), path.step.tolist()):
        before = int(sign[j])
        sign[j] += step
        sets = {"from": SETS[before], "to": SETS[before + step]}
        rows.append({"nu": nu, "mu": mu, "tolerance": 1.0 / nu, "stratum": names[j], **sets})
    return rows


def stratum_rows(result: StrataPath) -> list[Row]:
    """Return one row per stratum: its prior, records, and selected probability."""
    strata, path = result.strata, result.path
    sign = path.solution(result.chosen.nu).sign
    columns = {
        "stratum": strata.names,
        "cells": strata.cells.tolist(),
        "area_km2": strata.area.tolist(),
        "records": result.records.tolist(),
        "prior": strata.prior.tolist(),
        "observed": (path.atoms.m * path.atoms.q).tolist(),
        "probability": result.probability.tolist(),
        "density": result.density.tolist(),
        "set": [SETS[int(s)] for s in sign],
    }
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def validation_rows(validation: PathValidation) -> list[Row]:
    """Return the held-out loss at the breakpoints of all folds; it is convex between them."""
    columns = zip(validation.nu.tolist(), validation.mean.tolist(), validation.error.tolist())
    return [{"nu": nu, "tolerance": 1.0 / nu, "held-out loss": m, "standard error": e} for nu, m, e in columns]


def _numbers(path: StrataPath, species: str, presences: int, effort: Effort | None, options: RunOptions) -> Numbers:
    choices = {
        name: {"nu": c.nu, "tolerance": _tolerance(c), "held_out_loss": c.mean, "standard_error": c.error}
        for name, c in (("best", path.validation.best), ("one_se", path.validation.one_error))
    }
    strata = {
        "of": path.strata.division.source,
        "prior": "area" if effort is None else effort.name,
        "strata": int(path.strata.codes.size),
        "strata_with_records": int(np.count_nonzero(path.records)),
        "cells": int(path.strata.cells.sum()),
        "records": float(path.records.sum()),
        "segments": path.path.n_segments,
        "folds": len(path.split.folds),
        "method": path.split.method,
        **choices,
        "choice": options.path.choice,
        "tolerance": path.tolerance,
    }
    head = {"species": species, "version": __version__, "status": "exact", "training_presences": presences}
    return {**head, "strata": strata}


def _write_map(
    result: StrataPath, prepared: SpeciesPrepared, path: Path, threads: int, progress: Progress | None
) -> None:
    """Write the selected density relative to area."""
    stack, area = cast("Stack", prepared.stack), prepared.area_of(result.name)
    # the last value is for cells outside, with stratum −1
    density: NDArray[np.float32] = np.append(result.density, NODATA).astype(np.float32)

    def bands(window: Window, values: AnyArray) -> list[AnyArray]:
        return [density[stratum_of(stack, result.strata, window, values, area, prepared.effort)]]

    tags = {
        "species": result.name,
        "what": "density relative to area",
        "strata": result.strata.division.source,
        "tolerance": f"{result.tolerance:.9g}",
    }
    write_rasters(stack, [Raster(path)], bands, [tags], threads=threads, progress=progress)


def _draw(path: StrataPath, to: Destination) -> None:
    """Draw μ(ν), the shares of strata against the tolerance, and the held-out loss."""
    from sdm.report.figures.paths import draw_mu, draw_strata, draw_validation

    name, validation, folder = safe_name(path.name), path.validation, to.folder
    marks = [("least held-out loss", validation.best.nu), ("within one standard error", validation.one_error.nu)]
    common: Numbers = {"title": path.name, "paper": paper_of(to.options.output)}
    shares = folder / f"{name}_shares.png"
    pictures = {
        "mu picture": draw_mu(path.path, folder / f"{name}_mu.png", **common),
        "shares picture": draw_strata(path.path, shares, names=path.strata.names, marks=marks, **common),
        "validation picture": draw_validation(validation, folder / f"{name}_validation.png", **common),
    }
    to.files.update({key: picture.name for key, picture in pictures.items()})
