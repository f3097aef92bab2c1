"""Choosing λ and β of trees and monomials over classes, by the loss at sites that were held out.

For each β, λ goes from the largest down until the held-out loss has risen twice in a row: smaller prices only overfit
more, and cost most.
"""

from collections.abc import Callable, Sequence

import numpy as np

from sdm.conditional.losses import ClassEntropy
from sdm.conditional.measures import fold_numbers
from sdm.conditional.model import ClassModel
from sdm.features.domain import Array
from sdm.maxent.price_search import Setting

LAMBDAS = (1e-3, 3e-3, 0.01, 0.03, 0.1)
BETAS = (1e-3, 5e-3, 0.02)


def choose_prices(
    fit: Callable[[Array, Array, Array, float, float], ClassModel],
    x: Array,
    targets: Array,
    weight: Array,
    entropy: ClassEntropy,
    *,
    lambdas: Sequence[float] = LAMBDAS,
    betas: Sequence[float] = BETAS,
    folds: int = 3,
    seed: int = 1,
) -> tuple[Setting, list[Setting]]:
    """Return the setting with the lowest held-out loss, and every setting tried.

    Parameters
    ----------
    fit : callable
        `fit(x, targets, weight, lam, beta)` returns a model of some sites.
    x : (n, V) array
    targets : (C, n) array
    weight : (n,) array
    entropy : ClassEntropy
        Whose loss is meant.
    """
    fold = fold_numbers(np.argmax(targets, axis=0), folds, np.random.default_rng([seed, 13]))
    tried: list[Setting] = []
    for beta in sorted(betas, reverse=True):
        best, risen = np.inf, 0
        for lam in sorted(lambdas, reverse=True):
            if lam + beta <= 0:
                continue
            losses = []
            for k in np.unique(fold):
                held = fold == k
                model = fit(x[~held], targets[:, ~held], weight[~held], lam, beta)
                own = entropy.losses(model.scores(x[held]), np.ascontiguousarray(targets[:, held]))
                losses.append(float(np.average(own, weights=weight[held])))
            loss, error = float(np.mean(losses)), float(np.std(losses, ddof=1) / np.sqrt(len(losses)))
            tried.append(Setting(lam, beta, loss, error, tuple(losses)))
            best, risen = (loss, 0) if loss < best else (best, risen + 1)
            if risen == 2:
                break
    return min(tried, key=lambda setting: setting.loss), tried
