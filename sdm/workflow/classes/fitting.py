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
from sdm.assess.measures.classes import ClassMeasures, measure_classes, permute_classes
from sdm.commit import claim, staging
from sdm.conditional.targets import read_targets
from sdm.data.site_folds import check_folds, check_training, fold_numbers, training_rows
from sdm.errors import DataError, OptionError
from sdm.estimators.classes import ConditionalMaxent
from sdm.maxent.solution import CONVERGED
from sdm.models.classes import ClassModel, label_text
from sdm.options.classes import ClassifyOptions
from sdm.types import Array, Index, Progress
from sdm.workflow.classes.inputs import Sites, read_sites
from sdm.workflow.classes.writing import write_classes

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
    classes, targets = read_targets(sites.target, len(sites.values))
    train, fold = divide_classes(sites, targets, list(map(label_text, classes)), options)
    began = perf_counter()
    log.info("fitting %d classes to %s sites", len(targets), f"{int(train.sum()):,}")
    if progress:
        progress(0, 1 + options.folds, f"fitting {len(targets)} classes")
    fitted = fit_sites(sites, options, train)
    seconds = perf_counter() - began
    log.debug("fitted in %.1f s", seconds)
    sites.notices += _unfinished(fitted)
    if np.isinf(fitted.multiplier_):
        sites.notices.append("no feature predicts held-out sites better than the classes' frequencies: it has none")
    model = replace(fitted.model_, meta={**fitted.model_.meta, "title": sites.title, "seed": options.seed})
    tested = {"training": _measure(model, sites, targets, train)}
    if not train.all():
        tested["test"] = _measure(model, sites, targets, ~train)
    if fold is not None:
        tested["cross-validation"] = _cross_validate(sites, targets, fold, options, progress, slow=seconds > SLOW)
    warnings = [text for kind, measures in tested.items() if (text := measures.warning(kind))]
    for text in warnings:
        log.warning("warning: %s", text)
    held = ~train if not train.all() else train
    importance = permute_classes(
        model, sites.values[held], targets[:, held], repeats=options.repeats, seed=options.seed
    )
    numbers = _numbers(sites, fitted, tested, train)
    numbers["permutation_importance"] = [asdict(row) for row in importance]
    numbers["warnings"] = warnings
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
    model = ConditionalMaxent(**chosen, categorical=list(sites.stack.categorical))
    return model.fit(table, target, groups=sites.group[rows])


def divide_classes(
    sites: Sites, targets: Array, classes: list[str], options: ClassifyOptions
) -> tuple[NDArray[np.bool_], Index | None]:
    """Return which sites train, and the fold of every site; refuse what cannot work before anything is fitted."""
    rng, label = np.random.default_rng([options.seed, 7]), np.argmax(targets, axis=0)
    train, fold = np.ones(label.size, dtype=bool), None
    if options.test_percent:
        train = training_rows(label, options.test_percent, rng, sites.group)
        check_training(targets, train, classes, "--test-percent")
    if options.folds:
        check_folds(options.folds, sites.group)
        fold = fold_numbers(label, options.folds, rng, sites.group)
        for k in range(options.folds):
            check_training(targets, fold != k, classes, "--folds")
    return train, fold


def _measure(model: ClassModel, sites: Sites, targets: Array, rows: NDArray[np.bool_]) -> ClassMeasures:
    return measure_classes(model.distributions(sites.values[rows]), targets[:, rows], model.shares)


def _cross_validate(
    sites: Sites, targets: Array, fold: Index, options: ClassifyOptions, progress: Progress | None, slow: bool
) -> ClassMeasures:
    """Predict every site by a model that was fitted, and its penalty chosen, without its fold."""
    count = options.folds
    p, shares = np.empty_like(targets), np.empty_like(targets)
    for k in range(count):
        log.log(logging.INFO if slow else logging.DEBUG, "fold %d of %d", k + 1, count)
        if progress:
            progress(1 + k, 1 + count, f"fold {k + 1} of {count}")
        held = fold == k
        try:
            fitted = fit_sites(sites, options, ~held)
        except DataError as error:
            raise DataError(f"fold {k + 1} of {count}: {error}") from error
        sites.notices += _unfinished(fitted, f"fold {k + 1} of {count}: ")
        p[:, held] = fitted.model_.distributions(sites.values[held])
        shares[:, held] = fitted.model_.shares
    return measure_classes(p, targets, shares)


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
        "regularization": fitted.regularization_,
        "multiplier": fitted.multiplier_,
        "multiplier_search": [] if fitted.multiplier_search_ is None else fitted.multiplier_search_.rows(),
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
