"""Choosing λ and β of structural prices by held-out log loss (structural-maxent.txt §4).

For each β from the largest down, λ goes from the largest down, each fit starting from the columns and weights of the
one before. A path ends when held-out loss has risen well above its best twice in a row, or far above it once: smaller
prices only overfit more, and cost most. Around the best setting of the grid, finer ones are tried.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sdm.features.domain import Array
from sdm.maxent.newton import solve_structural
from sdm.maxent.solution import Solution
from sdm.maxent.structural import Growth

GRID = (1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 2.0)
WORSE, FAR = 0.05, 0.15  # nats above the best of a path, twice in a row or once, that end it
ROUNDS = 40  # a choice needs no more: held-out losses differ by far more than the gap
GAP = 3e-3


@dataclass(frozen=True)
class Setting:
    """One choice of prices, with its held-out loss (relative to the base measure, in nats) over the folds."""

    lam: float
    beta: float
    loss: float
    error: float
    losses: tuple[float, ...]


@dataclass(frozen=True)
class Fold:
    """A part of the sample held out, as a distribution on cells; `begin(lam, beta)` starts a fit on the rest.

    Densities are taken relative to the first `n_background` cells: presences that were added to the domain count for
    more there than they do on the map, which would speak against every model that is sharp around them.
    """

    held: Array
    begin: Callable[[float, float], Growth]
    n_background: int


def search_prices(
    folds: Sequence[Fold],
    *,
    lambdas: Sequence[float] = GRID,
    betas: Sequence[float] = GRID,
    refine: int = 2,
    progress: Callable[[int, int, str], None] | None = None,
) -> tuple[Setting, list[Setting]]:
    """Return the setting with the lowest mean held-out loss, and every setting tried."""
    tried: dict[tuple[float, float], Setting] = {}
    total = len(betas)
    for done, beta in enumerate(sorted(betas, reverse=True)):
        _path(folds, sorted(lambdas, reverse=True), beta, tried)
        if progress:
            progress(done + 1, total, "choosing prices")
    for _ in range(refine):
        best = min(tried.values(), key=lambda s: s.loss)
        for lam, beta in _around(best, [lam for lam, _ in tried], [beta for _, beta in tried]):
            if (lam, beta) not in tried:
                _path(folds, [lam], beta, tried)
    return min(tried.values(), key=lambda s: s.loss), list(tried.values())


def _around(best: Setting, lambdas: Sequence[float], betas: Sequence[float]) -> list[tuple[float, float]]:
    """Return settings half-way (in logarithms) to the nearest that were tried on either side of the best."""

    def middles(value: float, grid: Sequence[float]) -> list[float]:
        below = [x for x in grid if x < value * 0.999]
        above = [x for x in grid if x > value * 1.001]
        near = ([max(below)] if below else []) + ([min(above)] if above else [])
        return [float(f"{np.sqrt(value * x):.3g}") for x in near] if value > 0 else []

    return [
        (lam, beta)
        for beta in sorted([best.beta, *middles(best.beta, betas)], reverse=True)
        for lam in sorted([best.lam, *middles(best.lam, lambdas)], reverse=True)
    ]


def _path(
    folds: Sequence[Fold], lambdas: Sequence[float], beta: float, tried: dict[tuple[float, float], Setting]
) -> None:
    """Fit along falling λ, warm-started; note the mean held-out loss of each setting."""
    earlier: list[tuple[Growth, Solution] | None] = [None] * len(folds)
    best, worse = np.inf, 0
    for lam in lambdas:
        losses = []
        for k, fold in enumerate(folds):
            loss, earlier[k] = _fit(fold, lam, beta, earlier[k])
            losses.append(loss)
        loss = float(np.mean(losses))
        error = float(np.std(losses, ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else 0.0
        tried[lam, beta] = Setting(lam, beta, loss, error, tuple(losses))
        worse = worse + 1 if loss > best + WORSE else 0
        best = min(best, loss)
        if worse == 2 or loss > best + FAR:
            return


def _fit(
    fold: Fold, lam: float, beta: float, earlier: tuple[Growth, Solution] | None
) -> tuple[float, tuple[Growth, Solution]]:
    """Fit one fold at one setting, from an earlier fit where there is one; return the held-out loss."""
    growth = fold.begin(lam, beta)
    start = None
    if earlier is not None:
        growth.adopt(earlier[0].grown)
        start = earlier[1].weights
    solution = solve_structural(growth, start=start, tolerance=GAP, max_iterations=ROUNDS)
    q0, base = growth.domain.q0, fold.n_background
    ratio = solution.p / q0
    ratio /= solution.p[:base].sum() / q0[:base].sum()
    held = fold.held > 0
    # Where an entropy above 1 leaves a density of zero, one part in a thousand of the base measure keeps the loss
    # finite.
    floor = 0.0 if growth.problem.entropy.alpha == 1.0 else 1e-3
    with np.errstate(divide="ignore"):
        loss = -float(fold.held[held] @ np.log((1 - floor) * ratio[held] + floor))
    return loss, (growth, solution)
