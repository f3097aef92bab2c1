"""C, λ and the spread of a random effect by cross-validation: the setting with the least loss at held-out sites.

That is the joint log loss for a conditional random field, and the share of wrong labels for a max-margin learner.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

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
from sdm.types import AnyArray, Array, Progress

log = logging.getLogger("sdm")

Loss = Callable[[Learner, Discriminant, Array, LabelledSites], float]
BY_LOG_LOSS, BY_HAMMING = "log loss per site", "wrong labels"


def predict_labels(discriminant: Discriminant, weights: Array, x: Array) -> NDArray[np.int8]:
    """Return every site's best labeling."""
    unary, table = discriminant.unary(weights, x), discriminant.table(weights)
    return maximise(discriminant.forest, unary, table, free_states(*unary.shape))[0]


def held_out_loss(learner: Learner, discriminant: Discriminant, weights: Array, test: LabelledSites) -> float:
    """Return the criterion of the choice, summed over sites: joint log loss of a CRF, wrong labels of the others."""
    if learner.is_crf:
        return float(LogLoss(discriminant, test).details(weights).site_losses.sum())
    return hamming(test.labels, predict_labels(discriminant, weights, test.x)) * np.count_nonzero(test.labels >= 0)


def cross_validate_settings(
    learner: Learner,
    grid: Sequence[tuple[float, float]],
    discriminant: Discriminant,
    sites: LabelledSites,
    bias: NDArray[np.bool_],
    folds: NDArray[np.integer],
    *,
    loss: Loss = held_out_loss,
    patience: int | None = None,
    first: int = 0,
    title: str = "joint model",
    progress: Progress | None = None,
) -> Array:
    """Return the held-out loss of every `(C, λ)` in `grid`, summed over all folds.

    Each setting starts from where the one before ended, so grids are best given from strong regularisation to weak.
    When `patience` settings in a row are worse than the best, the rest is not tried, and its loss is NaN. Those before
    the `first` are tried backwards, and only if it is the best of the others. Fits that do not converge are named in a
    warning, with the `title` of the model.
    """
    parts = [(sites.take(folds != fold), sites.take(folds == fold)) for fold in np.unique(folds)]
    starts: list[LearnedWeights | None] = [None] * len(parts)
    total = np.full(len(grid), np.nan)
    open_ends: list[str] = []
    fits = StepCount(progress, f"penalties, {title}", len(grid) * len(parts))
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
            solution = replace(learner, c=c, lam=lam).fit(discriminant, train, bias, starts[i])
            if solution.status != "converged":
                open_ends.append(f"C {c:g}{prior} in part {i + 1} at a gap of {solution.gap:.2g} per site")
            total[k] += loss(learner, discriminant, solution.weights, test)
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
    learner: Learner,
    grid: Sequence[tuple[float, float]],
    discriminant: Discriminant,
    sites: LabelledSites,
    bias: NDArray[np.bool_],
    folds: int = 5,
    seed: int = 0,
    group: AnyArray | None = None,
    **limits: Any,
) -> tuple[Learner, list[dict[str, Any]]]:
    """Return the learner with the best setting of `grid` (the first, where several are), and the loss of each.

    Sites of one `group` are never divided; `limits` are passed on to `cross_validate_settings`.
    """
    member, groups = number_sites(np.zeros(sites.n, dtype=np.int64), group)
    parts = np.random.default_rng(seed).permutation(groups.size)[member] % folds
    total = cross_validate_settings(learner, grid, discriminant, sites, bias, parts, **limits)
    c, lam = grid[int(np.nanargmin(total))]
    measure, scale = (BY_LOG_LOSS, sites.n) if learner.is_crf else (BY_HAMMING, np.count_nonzero(sites.labels >= 0))
    record = [
        {"C": float(a), "lambda": float(b), "measure": measure, "loss": float(e) / scale}
        for (a, b), e in zip(grid, total)
        if np.isfinite(e)
    ]
    return replace(learner, c=c, lam=lam), record


def hamming(labels: NDArray[np.int8], predicted: NDArray[np.integer]) -> float:
    """Return the share of known labels that are predicted wrongly."""
    known = labels >= 0
    return float(np.mean(labels[known] != predicted[known])) if known.any() else 0.0


def choose_spread(
    learner: Learner,
    discriminant: Discriminant,
    sites: LabelledSites,
    bias: NDArray[np.bool_],
    levels: Levels,
    folds: int,
    seed: int,
    held: AnyArray | None = None,
    *,
    patience: int,
    title: str = "joint model",
    progress: Progress | None = None,
) -> tuple[float, list[dict[str, Any]]]:
    """Return the best σ of those to try, and the loss of each; no more are tried when `patience` in a row were worse.

    `sites` have the features of the environment, `discriminant` and `bias` also one per level. Sites with one number
    in `held` are held out together.
    """
    tried: list[dict[str, Any]] = []
    best = 0
    for spread in SPREADS:
        own = levels.beside(sites, spread, learner.c)
        at = (learner, [(learner.c, learner.lam)], discriminant, own, bias, folds, seed, held)
        said: dict[str, Any] = {"title": f"{title}, random spread {spread:g}", "progress": progress}
        tried.append({**choose_regularization(*at, **said)[1][0], "random spread": spread})
        best = int(np.argmin([row["loss"] for row in tried]))
        if len(tried) - 1 - best >= patience:
            break
    log.info("%s: spread %g of the random effect chosen by held-out %s", title, SPREADS[best], tried[best]["measure"])
    return SPREADS[best], tried
