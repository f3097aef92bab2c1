"""Choose C, λ and the spread of a random effect by cross-validation with the least held-out loss.

The loss is the joint log loss for a conditional random field, and the share of wrong labels for a max-margin learner.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdm.data.site_folds import number_sites
from sdm.errors import name_list
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.inference import free_states, maximise
from sdm.joint.learners.learned_weights import LearnedWeights
from sdm.joint.learners.registry import Learner
from sdm.joint.levels import SPREADS, Levels
from sdm.joint.likelihood import LogLoss
from sdm.progress.telling import StepCount
from sdm.types import AnyArray, Array, Index, Progress, Row

log = logging.getLogger("sdm")

BY_LOG_LOSS, BY_HAMMING = "log loss per site", "wrong labels"


@dataclass(frozen=True)
class Trials:
    """The data that all trial fits of a model share; rows of one group are held out together."""

    discriminant: Discriminant
    sites: LabelledSites
    bias: NDArray[np.bool_]
    folds: int
    seed: int
    group: AnyArray | None = None
    title: str = "joint model"
    progress: Progress | None = None

    def draw_folds(self) -> Index:
        """Return a random fold of every site."""
        member, groups = number_sites(np.zeros(self.sites.n, dtype=np.int64), self.group)
        return np.asarray(np.random.default_rng(self.seed).permutation(groups.size)[member] % self.folds)


def held_out_loss(learner: Learner, discriminant: Discriminant, weights: Array, test: LabelledSites) -> float:
    """Return the held-out loss, summed over sites: joint log loss of a CRF, number of wrong labels of the others."""
    if learner.is_crf:
        return float(LogLoss(discriminant, test).details(weights).site_losses.sum())
    unary, table = discriminant.unary(weights, test.x), discriminant.table(weights)
    predicted = maximise(discriminant.forest, unary, table, free_states(*unary.shape))[0]
    return hamming(test.labels, predicted) * np.count_nonzero(test.labels >= 0)


def cross_validate_settings(
    trials: Trials, learner: Learner, grid: Sequence[tuple[float, float]], patience: int | None = None, first: int = 0
) -> Array:
    """Return the held-out loss of every `(C, λ)` in `grid`, summed over all folds.

    Each setting starts from the previous fit, so grids should go from strong regularisation to weak. After `patience`
    consecutive settings that are worse than the best, the search ends, and the remaining losses are NaN. Settings
    before `first` are tried backwards, and only if `first` is better than the others. A warning lists fits that do not
    converge, with the title of the model.
    """
    sites, title, folds = trials.sites, trials.title, trials.draw_folds()
    parts = [(sites.take(folds != fold), sites.take(folds == fold)) for fold in np.unique(folds)]
    starts: list[LearnedWeights | None] = [None] * len(parts)
    total = np.full(len(grid), np.nan)
    open_ends: list[str] = []
    fits = StepCount(trials.progress, f"penalties, {title}", len(grid) * len(parts))
    tried: list[int] = []
    for k in (*range(first, len(grid)), *reversed(range(first))):
        best = int(np.nanargmin(total)) if tried else k
        if k < first and best > min(tried):  # a weaker regularisation was better
            break
        if k > first and patience is not None and tried[-1] - best >= patience:
            continue
        (c, lam), tried = grid[k], [*tried, k]
        total[k], prior = 0.0, f", lambda {lam:g}" if learner.name == "laplace" else ""
        for i, (train, test) in enumerate(parts):
            solution = replace(learner, c=c, lam=lam).fit(trials.discriminant, train, trials.bias, starts[i])
            if solution.status != "converged":
                open_ends.append(f"C {c:g}{prior} in part {i + 1} at a gap of {solution.gap:.2g} per site")
            total[k] += held_out_loss(learner, trials.discriminant, solution.weights, test)
            starts[i] = solution
            fits.step()
        log.info("%s: C %g%s: held-out loss %.5g per site", title, c, prior, total[k] / sites.n)
    fits.end()
    if open_ends:
        count = np.count_nonzero(np.isfinite(total)) * len(parts)
        text = name_list(open_ends, 3)
        log.warning(
            "%s: %d of %d fits of its cross-validation did not converge: %s", title, len(open_ends), count, text
        )
    return total


def choose_regularization(
    trials: Trials, learner: Learner, grid: Sequence[tuple[float, float]], patience: int | None = None, first: int = 0
) -> tuple[Learner, list[Row]]:
    """Return the learner with the best setting of `grid` (the first one for ties), and the loss of each setting."""
    sites, total = trials.sites, cross_validate_settings(trials, learner, grid, patience, first)
    c, lam = grid[int(np.nanargmin(total))]
    measure, scale = (BY_LOG_LOSS, sites.n) if learner.is_crf else (BY_HAMMING, np.count_nonzero(sites.labels >= 0))
    record = [
        {"C": float(a), "lambda": float(b), "measure": measure, "loss": float(e) / scale}
        for (a, b), e in zip(grid, total)
        if np.isfinite(e)
    ]
    return replace(learner, c=c, lam=lam), record


def hamming(labels: NDArray[np.int8], predicted: NDArray[np.integer]) -> float:
    """Return the share of observed labels with a wrong prediction."""
    observed = labels >= 0
    return float(np.mean(labels[observed] != predicted[observed])) if observed.any() else 0.0


def choose_spread(trials: Trials, learner: Learner, levels: Levels, patience: int) -> tuple[float, list[Row]]:
    """Return the best candidate for σ, and the loss of each; stop after `patience` consecutive worse ones.

    The sites of the trials are without levels.
    """
    tried: list[Row] = []
    best = 0
    for spread in SPREADS:
        augmented = levels.augment(trials.sites, spread, learner.c)
        spread_trials = replace(trials, sites=augmented, title=f"{trials.title}, random spread {spread:g}")
        _, (row,) = choose_regularization(spread_trials, learner, [(learner.c, learner.lam)])
        tried.append({**row, "random spread": spread})
        best = int(np.argmin([row["loss"] for row in tried]))
        if len(tried) - 1 - best >= patience:
            break
    measure = tried[best]["measure"]
    log.info("%s: spread %g of the random effect chosen by held-out %s", trials.title, SPREADS[best], measure)
    return SPREADS[best], tried
