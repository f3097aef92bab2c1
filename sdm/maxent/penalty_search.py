"""Choose λ and β of structural penalties by held-out log loss over repeated folds (Cortes et al. 2015, §4).

λ = ∞ stands for the ordinary features alone. For each β, λ decreases, and each fit starts from the columns and weights
of the previous one. A path ends when the held-out loss is well above its minimum twice in a row, or far above it once.
Smaller penalties overfit more and take the longest. Settings that are clearly worse than the best are excluded from the
next repeat. If λ = ∞ is the best, there is no further repeat.

Growing families are included only if their best setting has a lower held-out loss than λ = ∞ by more than one standard
error (Breiman et al. 1984, §3.4.3). This is the standard error of the best setting's loss, over records. The error of
the *difference* is smaller, but ignores that the best of several settings was selected.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm.maxent.entropy import floored_log_loss
from sdm.maxent.solution import Solution
from sdm.maxent.solvers.newton import solve_structural
from sdm.maxent.structural import Growth
from sdm.progress.telling import StepCount
from sdm.types import Array

LAMBDAS = (0.1, 0.05, 0.025)
# Default candidates: λ for each β, which is divided by the square root of the number of presences.
PATHS = {2.0: (0.05, 0.025), 1.0: (0.1, 0.05), 0.3: (0.1,)}
WORSE, FAR_WORSE = 0.05, 0.15  # nats above the best that end a path: twice in a row, or once
CLEARLY = 2.0  # standard errors above the best that exclude a setting from the next repeat
ROUNDS = 40  # sufficient for a choice: held-out losses differ by far more than the gap
GAP = 3e-3

Key = tuple[float, float]
FINITE_ONLY: Key = (np.inf, 0.0)
Fit = tuple[Growth, Solution]


@dataclass(frozen=True)
class PenaltySetting:
    """A choice of λ and β, with its held-out loss relative to the base measure, in nats.

    `losses` are the losses of the parts: of records (means over the repeats), or of folds for classes.
    """

    lam: float
    beta: float
    loss: float
    error: float
    losses: tuple[float, ...]


@dataclass(frozen=True)
class PenaltyFold:
    """Cells with held-out records; `begin(lam, beta)` starts a fit on the rest.

    Densities are relative to the first `n_background` cells. Presences that were added to the domain have more weight
    there than on the map, which would disfavour concentrated models.
    """

    held_out: NDArray[np.int64]
    begin: Callable[[float, float], Growth]
    n_background: int


class HeldOutLosses:
    """Held-out losses of every setting: for each repeat an array over the cells with records (NaN: not held out)."""

    def __init__(self, sample: Array) -> None:
        self.cells = np.flatnonzero(sample)
        self.share = sample[self.cells]
        self.of: dict[Key, list[Array]] = {}

    def settings(self) -> list[PenaltySetting]:
        """Return all settings with their mean losses."""
        out = []
        for key, repeats in self.of.items():
            loss, error, parts = self._mean(repeats)
            out.append(PenaltySetting(*key, loss, error, tuple(parts.tolist())))
        return out

    def best(self) -> Key:
        """Return the setting with the lowest loss among the settings in every repeat."""
        most = max(map(len, self.of.values()))
        complete = [key for key, repeats in self.of.items() if len(repeats) == most]
        return min(complete, key=lambda key: self._mean(self.of[key])[0])

    def may_win(self, key: Key, best: Key) -> bool:
        """Return whether a setting may be better than the best, by their differences on the same records."""
        excess, error, _ = self._mean([loss - best_loss for loss, best_loss in zip(self.of[key], self.of[best])])
        return excess <= CLEARLY * error

    def last(self, key: Key) -> float:
        """Return a setting's loss in its last repeat."""
        return self._mean(self.of[key][-1:])[0]

    def _mean(self, repeats: Sequence[Array]) -> tuple[float, float, Array]:
        """Return the mean over records by their share of the sample, its standard error, and the records' means."""
        valid = ~np.isnan(repeats)
        used = valid.any(axis=0)
        parts = np.sum(repeats, axis=0, where=valid)[used] / valid.sum(axis=0)[used]
        share = self.share[used] / self.share[used].sum()
        mean, n = float(share @ parts), parts.size
        return mean, float(np.sqrt(share**2 @ (parts - mean) ** 2 * n / max(n - 1, 1))), parts


def search_penalties(
    repeats: Sequence[Sequence[PenaltyFold]],
    sample: Array,
    *,
    paths: Mapping[float, Sequence[float]],
    optional: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> tuple[PenaltySetting, list[PenaltySetting]]:
    """Return the chosen setting, and all settings: for each β of `paths` its values of λ.

    `repeats` are divisions of the records into folds, and `sample` is the share of each cell in the records. If
    `optional`, growing families must be better than λ = ∞ by one standard error; otherwise the lowest held-out loss is
    chosen.
    """
    losses = HeldOutLosses(sample)
    todo = {beta: sorted(paths[beta], reverse=True) for beta in sorted(paths, reverse=True)}
    fits = StepCount(progress, "penalties", _fits(repeats, todo, optional))
    for k, folds in enumerate(repeats):
        fits.remain(_fits(repeats[k:], todo, optional))
        ordinary: list[Fit | None] = [None] * len(folds)
        if optional:
            ordinary = _try(folds, FINITE_ONLY, ordinary, losses, fits)
        for beta, path in todo.items():
            todo[beta] = _follow(folds, path, beta, ordinary, losses, fits)
        best = losses.best()
        if best == FINITE_ONLY:
            break
        todo = {beta: [lam for lam in path if losses.may_win((lam, beta), best)] for beta, path in todo.items()}
    fits.end()
    tried = {(setting.lam, setting.beta): setting for setting in losses.settings()}
    chosen = tried[losses.best()]
    if optional and chosen.loss + chosen.error >= tried[FINITE_ONLY].loss:
        chosen = tried[FINITE_ONLY]
    return chosen, list(tried.values())


def _fits(repeats: Sequence[Sequence[PenaltyFold]], paths: Mapping[float, Sequence[float]], optional: bool) -> int:
    """Return the largest number of fits for all settings."""
    return sum(map(len, repeats)) * (optional + sum(map(len, paths.values())))


def _follow(
    folds: Sequence[PenaltyFold],
    lambdas: Sequence[float],
    beta: float,
    earlier: list[Fit | None],
    losses: HeldOutLosses,
    fits: StepCount,
) -> list[float]:
    """Fit falling λ, each from the previous fit; return the values before the loss rose for good."""
    lowest, worse, tried = np.inf, 0, []
    for lam in lambdas:
        earlier = _try(folds, (lam, beta), earlier, losses, fits)
        tried.append(lam)
        loss = losses.last((lam, beta))
        worse = worse + 1 if loss > lowest + WORSE else 0
        lowest = min(lowest, loss)
        if worse == 2 or loss > lowest + FAR_WORSE:
            fits.total -= (len(lambdas) - len(tried)) * len(folds)
            break
    return tried


def _try(
    folds: Sequence[PenaltyFold], key: Key, earlier: Sequence[Fit | None], losses: HeldOutLosses, count: StepCount
) -> list[Fit | None]:
    """Fit every fold of a repeat at one setting, and store the loss of each held-out record."""
    held_out = np.full(losses.cells.size, np.nan)
    fits: list[Fit | None] = []
    for fold, before in zip(folds, earlier):
        growth = fold.begin(*key)
        start = None
        if before is not None:
            growth.adopt(before[0].grown)
            start = before[1].weights
        solution = solve_structural(growth, start=start, tolerance=GAP, max_iterations=ROUNDS)
        held_out[np.searchsorted(losses.cells, fold.held_out)] = _held_out(fold, growth, solution)
        fits.append((growth, solution))
        count.step()
    losses.of.setdefault(key, []).append(held_out)
    return fits


def held_out_ratio(p: Array, q0: Array, cells: NDArray[np.int64], n_background: int) -> Array:
    """Return the density of cells relative to the base measure, over the first `n_background` cells."""
    return np.asarray(p[cells] / q0[cells] / (p[:n_background].sum() / q0[:n_background].sum()))


def _held_out(fold: PenaltyFold, growth: Growth, solution: Solution) -> Array:
    """Return the log loss of the held-out cells."""
    ratio = held_out_ratio(solution.p, growth.domain.q0, fold.held_out, fold.n_background)
    if growth.problem.entropy.alpha > 1.0:
        return floored_log_loss(ratio)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(ratio))
