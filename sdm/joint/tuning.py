"""C and λ by cross-validation: the setting with the fewest wrong labels at held-out sites."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sdm.features.domain import Array
from sdm.joint.discriminant import Discriminant, Sites
from sdm.joint.inference import free, maximise
from sdm.joint.learned import Learned
from sdm.joint.learners import Learner

log = logging.getLogger("sdm")


def predict_labels(discriminant: Discriminant, weights: Array, x: Array) -> NDArray[np.int8]:
    """Return every site's best labeling."""
    unary, table = discriminant.unary(weights, x), discriminant.table(weights)
    return maximise(discriminant.forest, unary, table, free(*unary.shape))[0]


def cross_validate(
    learner: Learner,
    grid: Sequence[tuple[float, float]],
    discriminant: Discriminant,
    sites: Sites,
    bias: NDArray[np.bool_],
    folds: NDArray[np.integer],
    what: str = "joint model",
) -> Array:
    """Return the share of wrong labels of every `(C, λ)` in `grid`, over all folds.

    Each setting starts from where the one before ended, so grids are best given from weak to strong. Fits of `what`
    that do not converge are named in a warning.
    """
    wrong, known = np.zeros(len(grid)), 0
    open_ends: list[str] = []
    for fold in np.unique(folds):
        train, test = sites.take(folds != fold), sites.take(folds == fold)
        start: Learned | None = None
        for k, (c, lam) in enumerate(grid):
            start = replace(learner, c=c, lam=lam).fit(discriminant, train, bias, start)
            if start.status != "converged":
                also = f", lambda {lam:g}" if learner.name == "laplace" else ""
                open_ends.append(f"C {c:g}{also} in part {int(fold) + 1} at a gap of {start.gap:.2g} a label")
            wrong[k] += hamming(test.labels, predict_labels(discriminant, start.weights, test.x)) * _known(test)
        known += _known(test)
    if open_ends:
        count = len(grid) * np.unique(folds).size
        more = f", … ({len(open_ends) - 3} more)" if len(open_ends) > 3 else ""
        text = f"{', '.join(open_ends[:3])}{more}"
        log.warning("%s: %d of %d fits of its cross-validation did not converge: %s", what, len(open_ends), count, text)
    return wrong / known


def choose(
    learner: Learner,
    grid: Sequence[tuple[float, float]],
    discriminant: Discriminant,
    sites: Sites,
    bias: NDArray[np.bool_],
    folds: int = 5,
    seed: int = 0,
    what: str = "joint model",
) -> tuple[Learner, list[dict[str, float]]]:
    """Return the learner with the best setting of `grid` (the first, where several are), and every setting's error."""
    parts = np.random.default_rng(seed).permutation(sites.n) % folds
    errors = cross_validate(learner, grid, discriminant, sites, bias, parts, what)
    c, lam = grid[int(np.argmin(errors))]
    record = [{"C": float(a), "lambda": float(b), "error": float(e)} for (a, b), e in zip(grid, errors)]
    return replace(learner, c=c, lam=lam), record


def hamming(labels: NDArray[np.int8], predicted: NDArray[np.integer]) -> float:
    """Return the share of known labels that are predicted wrongly."""
    known = labels >= 0
    return float(np.mean(labels[known] != predicted[known])) if known.any() else 0.0


def _known(sites: Sites) -> int:
    return int(np.count_nonzero(sites.labels >= 0))
