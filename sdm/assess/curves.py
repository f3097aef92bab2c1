"""Learning and sensitivity curves (Dudík et al. 2007, §8): held-out loss against records and penalties."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sdm.assess.assessor import averages
from sdm.assess.fits import fit_table, run_all
from sdm.assess.measures.presence_only import measure_presences
from sdm.assess.splits.folds import Fold, Split
from sdm.errors import OptionError, TooFewError
from sdm.estimators.species import SpeciesEstimator
from sdm.types import Index, Progress

if TYPE_CHECKING:  # for annotations only
    from sdm.data.table import SampleTable

BETAS = tuple(float(f"{10**e:.2g}") for e in np.arange(-2.0, 1.01, 0.25))


@dataclass(frozen=True)
class CurvePoint:
    """One point of a curve: means and standard deviations over the partitions.

    The loss is in nats, with the density scaled over the background. A uniform prediction has the logarithm of its
    size.
    """

    label: str  # names the set of features
    presences: int  # training presences
    multiplier: float  # the penalty factor (β₀ with `beta="deviation"`)
    loss: float
    loss_sd: float
    auc: float
    auc_sd: float
    partitions: int


def learning_curve(
    table: "SampleTable",
    settings: Mapping[str, SpeciesEstimator],
    split: Split,
    *,
    sizes: Sequence[int] | None = None,
    seed: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[CurvePoint]:
    """Fit to growing subsets of each partition's training presences, and measure on its test presences.

    `settings` are the estimators to compare, by label. Dudík et al. use ten partitions of 70 % and 30 %: `subsample(m,
    10, 30)`. The default is ten `sizes`, evenly spaced in the logarithm. Smaller subsets are part of larger ones, in an
    order drawn with `seed`. With ``beta="deviation"`` the multiplier is their β₀.
    """
    chosen = _sizes(split, sizes, default_sizes)
    jobs = [
        (label, setting, [float(setting.get_params()["multiplier"])], size)
        for label, setting in settings.items()
        for size in chosen
    ]
    return _curve(table, jobs, split, seed, executor, progress, "learning curve")


def sensitivity_curve(
    table: "SampleTable",
    settings: Mapping[str, SpeciesEstimator],
    split: Split,
    *,
    multipliers: Sequence[float] = BETAS,
    sizes: Sequence[int] | None = None,
    seed: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[CurvePoint]:
    """Fit with each multiplier, from the largest down and each from the previous fit, and measure.

    Arguments are the same as for `learning_curve`. There is one curve for each number of training presences in `sizes`;
    the default is the smallest training set. Points are sorted by rising multiplier.
    """
    if not multipliers or min(multipliers) <= 0:
        raise OptionError(f"multipliers={multipliers!r}: expected positive numbers, such as 0.1, 1, 10")
    chosen = _sizes(split, sizes, lambda most: [most])
    falling = sorted({float(value) for value in multipliers}, reverse=True)
    jobs = [(label, setting, falling, size) for label, setting in settings.items() for size in chosen]
    points = _curve(table, jobs, split, seed, executor, progress, "sensitivity curve")
    order = {label: k for k, label in enumerate(settings)}
    return sorted(points, key=lambda point: (order[point.label], point.presences, point.multiplier))


def default_sizes(most: int) -> list[int]:
    """Return ten numbers of presences from 10 (or fewer, if there are few) to `most`, evenly spaced in the
    logarithm."""
    sizes: list[int] = np.unique(np.geomspace(min(10, max(2, most // 2)), most, 10).round().astype(int)).tolist()
    return sizes


def _sizes(split: Split, sizes: Sequence[int] | None, default: Callable[[int], list[int]]) -> list[int]:
    """Return the numbers of training presences; refuse numbers above the smallest training set."""
    most = min(fold.train.size for fold in split.folds)
    chosen = default(most) if sizes is None else sorted({int(size) for size in sizes})
    if chosen[0] < 2 or chosen[-1] > most:
        raise TooFewError(f"sizes from {chosen[0]} to {chosen[-1]}: expected 2 to {most}, the smallest training set")
    return chosen


def _curve(
    table: "SampleTable",
    jobs: Sequence[tuple[str, SpeciesEstimator, list[float], int]],
    split: Split,
    seed: int,
    executor: Executor | None,
    progress: Progress | None,
    text: str,
) -> list[CurvePoint]:
    """Fit every job on every partition and average."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(fold.train) for fold in split.folds]
    tasks = [
        (table, setting, multipliers, order[:size], fold)
        for (_, setting, multipliers, size), (fold, order) in itertools.product(jobs, zip(split.folds, orders))
    ]
    results = iter(run_all(_fit, tasks, executor, progress, text))
    points = []
    for label, _, multipliers, size in jobs:
        rows = [next(results) for _ in split.folds]
        for j, multiplier in enumerate(multipliers):
            loss, loss_sd, score, score_sd = averages([row[j] for row in rows], ["loss.val", "auc.val"]).values()
            points.append(CurvePoint(label, size, multiplier, loss, loss_sd, score, score_sd, len(rows)))
    return points


def _fit(
    table: "SampleTable",
    estimator: SpeciesEstimator,
    multipliers: Sequence[float],
    train: Index,
    fold: Fold,
) -> list[dict[str, float]]:
    """Fit to a subset of one partition's presences with each multiplier, and measure on its test presences."""
    part, test = table.take(np.sort(train), fold.background_train), fold.testing(table)
    out: list[dict[str, float]] = []
    earlier: SpeciesEstimator | None = None
    for multiplier in multipliers:
        earlier = fit_table(part, estimator.changed(multiplier=multiplier), start=earlier)
        out.append(measure_presences(earlier.model_, part, test))
    return out
