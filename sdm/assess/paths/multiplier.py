"""Follow a model's path over all multipliers on a table, and compute the held-out loss along it.

Each fold has its own path, with fits at its own multipliers. At any multiplier the fit in use is certified to be within
ε of the fold's optimum there. So folds can be compared at the same multipliers.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sdm.assess.fits import fit_table, run_all
from sdm.assess.measures.basic import relative_gain
from sdm.assess.measures.presence_only import FLOOR
from sdm.assess.splits.folds import Fold, Split
from sdm.errors import ConflictError, FoldsError
from sdm.estimators.maxent import Maxent
from sdm.estimators.model_parts import weighted_features
from sdm.maxent.paths.multiplier import CertifiedPath, Knot, follow_path
from sdm.models.species import with_temperature
from sdm.types import Array, Numbers, Progress

if TYPE_CHECKING:  # for annotations only
    from sdm.data.table import SampleTable

ANY_GAP = 1e6  # a gap that any weights have: only the problem of the fit is used


@dataclass(frozen=True)
class TablePath:
    """A path over the multiplier, and the estimator with its problem; the estimator's own weights are not used."""

    path: CertifiedPath
    problem: Maxent = field(repr=False)
    classes: str  # the feature classes, which depend on the number of records with `auto`

    @property
    def names(self) -> list[str]:
        """Return the name of every feature, in the order of the knots' weights."""
        return self.problem.feature_names_


@dataclass(frozen=True)
class MultiplierChoice:
    """A point of the path: its position, multiplier, mean held-out loss and standard error."""

    index: int
    multiplier: float
    mean: float
    error: float


@dataclass(frozen=True)
class MultiplierValidation:
    """The held-out loss of every fold at K multipliers of a path."""

    multipliers: Array  # (K,), falling
    losses: Array = field(repr=False)  # (folds, K): nats per record, as `loss.val` of a cross-validation
    gaps: Array  # (folds,): the largest gap along each fold's path

    @property
    def mean(self) -> Array:
        """Return the mean over folds at every multiplier."""
        return np.asarray(self.losses.mean(axis=0))

    @property
    def error(self) -> Array:
        """Return the standard error of the mean at every multiplier."""
        return np.asarray(self.losses.std(axis=0, ddof=1) / np.sqrt(len(self.losses)))

    @property
    def best(self) -> MultiplierChoice:
        """Return the choice with the least mean loss; for ties, the largest multiplier."""
        return self._choice(int(np.argmin(self.mean)))

    @property
    def one_error(self) -> MultiplierChoice:
        """Return the largest multiplier whose mean loss is within one standard error of the least."""
        best = self.best
        return self._choice(int(np.flatnonzero(self.mean <= best.mean + best.error)[0]))

    def _choice(self, k: int) -> MultiplierChoice:
        return MultiplierChoice(k, float(self.multipliers[k]), float(self.mean[k]), float(self.error[k]))


def follow_table(
    table: "SampleTable",
    estimator: Maxent,
    *,
    epsilon: float = 1e-3,
    smallest: float = 0.1,
    progress: Progress | None = None,
) -> TablePath:
    """Follow the path of an estimator's features and penalties on a table, from the empty model down (`follow_path`).

    The estimator's multiplier is not used. Penalties other than l1 are refused, because their objective is not linear
    in the multiplier.
    """
    if estimator.regularization != "l1":
        raise ConflictError(f"a path over the multiplier needs the l1 penalty, not {estimator.regularization}")
    fitted = fit_table(table, estimator.changed(multiplier=1.0, tolerance=ANY_GAP, solver="newton"))
    meter = None if progress is None else _meter(smallest, progress)
    limits: Numbers = {"epsilon": epsilon, "smallest": smallest, "progress": meter}
    if estimator.max_iterations is not None:
        limits["max_iterations"] = int(estimator.max_iterations)
    p = fitted.problem_
    path = follow_path(p.features, p.sample, p.entropy, p.penalty.beta, **limits)
    return TablePath(path, fitted, str(fitted.model_.meta["classes"]))


def _meter(smallest: float, progress: Progress) -> Callable[[int, float], None]:
    """Return a function that reports the progress of a path, in the logarithm of the multiplier."""
    first: list[float] = []

    def report(_: int, multiplier: float) -> None:
        first.append(multiplier)
        total, remaining = (max(np.log(value / smallest), 0.0) for value in (first[0], multiplier))
        progress(round(100 * (1 - remaining / total)) if total else 100, 100, "path")

    return report


def validate_multipliers(
    table: "SampleTable",
    full_path: TablePath,
    estimator: Maxent,
    split: Split,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> MultiplierValidation:
    """Follow the path without each fold in turn, and measure it on the fold at the multipliers of the full path.

    Folds have the feature classes of the full table, so that only the multiplier is chosen.
    """
    fold_estimator = estimator.changed(features=full_path.classes)
    multipliers, epsilon = full_path.path.multipliers, full_path.path.epsilon
    jobs = [(table, fold_estimator, fold, multipliers, epsilon) for fold in split.folds]
    per_fold = run_all(_fold_losses, jobs, executor, progress, "cross-validation")
    losses = np.array([values for values, _ in per_fold])
    if not np.isfinite(losses).all():
        raise FoldsError("a held-out record has no density at some multiplier: use another split")
    return MultiplierValidation(multipliers, losses, np.array([gap for _, gap in per_fold]))


def _fold_losses(
    table: "SampleTable", estimator: Maxent, fold: Fold, multipliers: Array, epsilon: float
) -> tuple[Array, float]:
    """Return a fold's held-out loss at every multiplier, and the largest gap of its path."""
    train, test = fold.training(table), fold.testing(table)
    fitted = follow_table(train, estimator, epsilon=epsilon, smallest=float(multipliers[-1]))
    serving = [fitted.path.at(t)[0] for t in multipliers]
    losses = {id(knot): _held_out_loss(fitted, knot, test) for knot in {id(knot): knot for knot in serving}.values()}
    return np.array([losses[id(knot)] for knot in serving]), fitted.path.gap


def _held_out_loss(fitted: TablePath, knot: Knot, test: "SampleTable") -> float:
    """Return the loss of held-out records, with the density scaled to one over the background of the fold."""
    features = fitted.problem.feature_set_
    terms, shapes = weighted_features(features.families, knot.weights)
    model = replace(fitted.problem.model_, terms=terms, shapes=shapes, tau=knot.tau)
    if fitted.problem.temperature != 1.0:
        scores = features.scores(knot.weights)
        model = with_temperature(model, scores, fitted.problem.problem_.domain.q0, float(fitted.problem.temperature))
    held_out, background = model.predict(test.presence, "raw"), model.predict(test.background, "raw")
    floor = 0.0 if model.alpha == 1.0 else FLOOR
    return float(np.log(background.size)) - relative_gain(held_out, background, test.weights, floor)
