"""A run of `sdm classify`: sites with their classes, a model, what it is worth, and its maps."""

import logging
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sdm._version import __version__
from sdm.commit import claim, staging
from sdm.conditional.estimator import ConditionalMaxent
from sdm.conditional.measures import ClassMeasures, fold_numbers, gather, measure_classes, permute_classes
from sdm.conditional.targets import read_targets
from sdm.errors import DataError, OptionError
from sdm.features.domain import Array
from sdm.maxent.solution import CONVERGED
from sdm.predict import Progress
from sdm.run.class_sites import Sites, read_sites
from sdm.run.classify_options import ClassifyOptions
from sdm.run.writing_classes import write_classes

log = logging.getLogger("sdm")
SLOW = 5.0
"""Seconds of a fit after which folds are announced one by one, for whoever has no progress bar."""


@dataclass
class ClassifyResult:
    """A finished run: its folder, the numbers, the files by what they are, and what the user should be told."""

    folder: Path
    numbers: dict[str, Any]
    files: dict[str, str]
    notices: list[str]


def classify(options: ClassifyOptions, *, command: str = "", progress: Progress | None = None) -> ClassifyResult:
    """Read sites and layers, fit, test, map, and write everything."""
    _check(options)
    folder = Path(str(options.folder))
    with claim(folder, overwrite=options.overwrite):
        return _classify(options, folder, command, progress)


def _classify(options: ClassifyOptions, folder: Path, command: str, progress: Progress | None) -> ClassifyResult:
    """Do a run whose output folder is held for it."""
    sites = read_sites(options)
    _, targets = read_targets(sites.target, len(sites.values))
    rng = np.random.default_rng([options.seed, 7])
    label = np.argmax(targets, axis=0)
    train = _training(label, sites.cell, options.test_percent, rng)
    began = perf_counter()
    log.info("fitting %d classes to %s sites", len(targets), f"{int(train.sum()):,}")
    if progress:
        progress(0, 1 + options.folds, f"fitting {len(targets)} classes")
    fitted = fit_sites(sites, options, train)
    seconds = perf_counter() - began
    log.debug("fitted in %.1f s", seconds)
    sites.notices += _unfinished(fitted)
    model = replace(fitted.model_, meta={**fitted.model_.meta, "title": sites.title, "seed": options.seed})
    tested = {"training": measure_classes(model.distributions(sites.values[train]), targets[:, train])}
    if not train.all():
        tested["test"] = measure_classes(model.distributions(sites.values[~train]), targets[:, ~train])
    if options.folds:
        tested["cross-validation"] = _cross_validate(sites, targets, options, rng, progress, slow=seconds > SLOW)
    held = ~train if not train.all() else train
    importance = permute_classes(
        model, sites.values[held], targets[:, held], repeats=options.repeats, seed=options.seed
    )
    numbers = _numbers(sites, fitted, tested, train)
    numbers["permutation_importance"] = [asdict(row) for row in importance]
    with staging(folder, overwrite=options.overwrite) as stage:
        files = write_classes(stage, sites, model, targets, tested, importance, numbers, options, command, progress)
    return ClassifyResult(folder, numbers, files, [*sites.notices, *fitted.notes_])


def _check(options: ClassifyOptions) -> None:
    """Raise for options that are missing or contradict each other."""
    if options.folder is None:
        raise OptionError("no folder for the results: add -o, as in -o results")
    if not options.layers:
        raise OptionError("no layers: give a folder of them, as in 'sdm classify points.csv layers/ -o results'")
    if options.classes is None and options.records is None:
        raise OptionError("no points: give a file with a class column first, or a raster of classes as --classes")
    if options.classes is not None and (
        options.class_column or options.proportions or options.records or options.select
    ):
        raise OptionError("give a file of points or a raster of classes (--classes), not both")
    if options.records is not None and bool(options.class_column) == bool(options.proportions):
        raise OptionError("say where the classes are: one --class-column, or the --proportions of several columns")


def fit_sites(sites: Sites, options: ClassifyOptions, rows: NDArray[np.bool_]) -> ConditionalMaxent:
    """Fit a model to some of the sites."""
    names = ("features", "regularization", "multiplier", "entropy", "knots", "beta", "lam", "price_folds", "seed")
    chosen = {name: getattr(options, name) for name in (*names, "tolerance", "max_iterations", "smoothing", "ratio")}
    table = pd.DataFrame(sites.values[rows], columns=list(sites.stack.names))
    target = sites.target[rows] if isinstance(sites.target, np.ndarray) else sites.target.loc[rows]
    return ConditionalMaxent(**chosen, categorical=list(sites.stack.categorical)).fit(table, target)


def _training(
    label: NDArray[np.int64], cell: NDArray[np.int64], percent: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which sites are for training: of every class a share of the cells is set aside, but two stay."""
    member, own = gather(label, cell)
    train = np.ones(own.size, dtype=bool)
    if percent:
        for c in np.unique(own):
            some = rng.permutation(np.flatnonzero(own == c))
            train[some[: max(0, min(round(some.size * percent / 100), some.size - 2))]] = False
        if train.all():
            raise DataError(
                f"{label.size:,} sites in {own.size:,} cells are too few to set {percent:g} % of every class aside for "
                "testing"
            )
    return train[member]


def _cross_validate(
    sites: Sites,
    targets: Array,
    options: ClassifyOptions,
    rng: np.random.Generator,
    progress: Progress | None,
    slow: bool,
) -> ClassMeasures:
    """Predict every site by a model that was fitted without its fold; where fits are slow, say so."""
    fold = fold_numbers(np.argmax(targets, axis=0), options.folds, rng, sites.cell)
    found = np.unique(fold)
    if found.size < options.folds:
        sites.notices.append(f"{options.folds:,} folds were asked for, and {found.size:,} cells make {found.size:,}")
    p = np.empty_like(targets)
    for k in found:
        log.log(logging.INFO if slow else logging.DEBUG, "fold %d of %d", k + 1, found.size)
        if progress:
            progress(1 + int(k), 1 + found.size, f"fold {k + 1} of {found.size}")
        held = fold == k
        try:
            fitted = fit_sites(sites, options, ~held)
        except DataError as error:
            raise DataError(f"fold {k + 1} of {found.size}: {error}") from error
        sites.notices += _unfinished(fitted, f"fold {k + 1} of {found.size}: ")
        p[:, held] = fitted.model_.distributions(sites.values[held])
    return measure_classes(p, targets)


def _unfinished(fitted: ConditionalMaxent, whose: str = "") -> list[str]:
    """Return what is to be said of a fit that did not converge."""
    solution = fitted.solution_
    return [] if solution.status == CONVERGED else [f"{whose}{solution.status}: {solution.message}"]


def _numbers(
    sites: Sites, fitted: ConditionalMaxent, tested: dict[str, ClassMeasures], train: NDArray[np.bool_]
) -> dict[str, Any]:
    solution, model = fitted.solution_, fitted.model_
    used = model.weights.shape[1]
    return {
        "title": sites.title,
        "version": __version__,
        "classes": list(model.labels),
        "sites": len(sites.values),
        "training_sites": int(train.sum()),
        "variables": list(model.names),
        **({"lambda": fitted.lam_, "beta": fitted.beta_} if hasattr(fitted, "lam_") else {}),
        "status": solution.status,
        "gap": solution.gap,
        "iterations": solution.iterations,
        "objective": solution.objective,
        "order": model.alpha,
        "feature_classes": str(fitted.features),
        "features": fitted.feature_set_.size - 1,
        "features_with_weight": used,
        "measures": {name: measures.numbers(model.labels) for name, measures in tested.items()},
    }
