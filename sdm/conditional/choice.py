"""Choose the penalties of class models by the loss at held-out sites.

The multiplier of ordinary features decreases from infinity, where the model is the null model (class frequencies). Each
fit starts from the weights of the previous one. The search ends when the held-out loss is clearly above its minimum.
The multiplier with the least loss is chosen if it is better than the null model by half the standard error of the
paired difference. Otherwise the model has no features.

For λ and β of trees and monomials, λ decreases for each β until the held-out loss has risen twice in a row. Smaller
penalties overfit more and take the longest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sdm.data.site_folds import fold_numbers
from sdm.errors import TooFewError
from sdm.maxent.entropy import ClassEntropy, floored_log_loss
from sdm.maxent.penalty_search import PenaltySetting
from sdm.progress.telling import StepCount
from sdm.types import Array, Index, Progress

MULTIPLIERS = (np.inf, *(2.0**k for k in range(7, -9, -1)))
EVIDENCE = 0.5  # number of standard errors by which the best must be better than the null model
PATIENCE, NEAR = 2, 2e-3  # consecutive multipliers that end a search, if worse than the best by an error and NEAR nats
MANY = 300, 5000  # numbers of sites from which there is one division into folds instead of two, and only one fold


class Scorer(Protocol):
    """A fitted model of classes."""

    def scores(self, x: Any) -> Array:
        """Return the score of every class, one row per class."""


@dataclass(frozen=True)
class MultiplierSearch:
    """The held-out loss along K falling multipliers."""

    multipliers: Array  # (K,); the first is infinite (the null model)
    losses: Array  # (K,): mean over held-out sites, in nats
    errors: Array  # (K,): standard errors of the differences from the least loss
    log_losses: Array  # (K, n): the log loss of each site, to compare entropies

    @property
    def chosen(self) -> int:
        """Return the position of the chosen multiplier: the best, or the null model if it is about as good."""
        best = int(np.argmin(self.losses))
        return best if self.losses[0] - self.losses[best] > EVIDENCE * self.errors[0] else 0

    def rows(self) -> list[dict[str, float | bool]]:
        """Return the search as a table."""
        columns = zip(self.multipliers.tolist(), self.losses.tolist(), self.errors.tolist())
        return [
            {"multiplier": t, "held-out log loss": loss, "error of the difference": error, "chosen": k == self.chosen}
            for k, (t, loss, error) in enumerate(columns)
        ]


@dataclass(frozen=True)
class HeldOutSites:
    """The sites of a choice: their targets `(C, n)` and the parameters of the folds."""

    targets: Array
    weight: Array
    entropy: ClassEntropy
    group: Index | None = None  # sites of one group are held out together
    folds: int = 5
    seed: int = 1


def search_multipliers(
    begin: Callable[[NDArray[np.bool_]], Callable[[float], Array]],
    sites: HeldOutSites,
    *,
    progress: Progress | None = None,
    text: str = "penalties",
    multipliers: Sequence[float] | None = None,
) -> MultiplierSearch:
    """Return the held-out loss of every multiplier of the search.

    `begin(held_out)` returns a function that is called with falling multipliers. It fits the other sites and returns
    the scores of every class at the held-out sites. `targets` are `(C, n)`, the weights of the sites sum to one, and
    sites of one `group` are never divided.
    """
    multipliers = MULTIPLIERS if multipliers is None else multipliers
    targets, weight, entropy = sites.targets, sites.weight, sites.entropy
    group = np.arange(weight.size) if sites.group is None else sites.group
    parts = [(begin(held_out), held_out) for held_out in _held_out(targets, group, sites.folds, sites.seed)]
    times = np.sum([held_out for _, held_out in parts], axis=0)
    share = weight * (times > 0) / weight[times > 0].sum()
    rows: list[Array] = []
    log_rows: list[Array] = []
    worse = 0
    fits = StepCount(progress, text, len(multipliers) * len(parts))
    for multiplier in multipliers:
        loss, log_loss = np.zeros(weight.size), np.zeros(weight.size)
        for fit, held_out in parts:
            scores, labels = fit(multiplier), np.ascontiguousarray(targets[:, held_out])
            loss[held_out] += entropy.losses(scores, labels)
            p, _ = entropy.distributions(scores)
            log_loss[held_out] += np.log(len(p)) + np.sum(labels * floored_log_loss(p * len(p)), axis=0)
            fits.step()
        rows.append(loss / np.maximum(times, 1))
        log_rows.append(log_loss / np.maximum(times, 1))
        best = rows[int(np.argmin([share @ row for row in rows]))]
        excess = rows[-1] - best
        worse = worse + 1 if share @ excess > NEAR + _error(excess, share, group) else 0
        if worse == PATIENCE:
            break
    fits.end()
    errors = [_error(row - best, share, group) for row in rows]
    return MultiplierSearch(
        np.array(multipliers[: len(rows)]),
        np.array([float(share @ row) for row in rows]),
        np.array(errors),
        np.array(log_rows),
    )


def _held_out(targets: Array, group: Index, folds: int, seed: int) -> list[NDArray[np.bool_]]:
    """Return a mask of held-out sites for each part; no class is held out completely."""
    label = np.argmax(targets, axis=0)
    sites = np.unique(group).size
    out = []
    for repeat in range(1 if sites >= MANY[0] else 2):
        fold = fold_numbers(label, min(folds, sites), np.random.default_rng([seed, 17, repeat]), group)
        for k in range(1 if sites >= MANY[1] else int(fold.max()) + 1):
            mask = fold == k
            lost = targets[:, ~mask].sum(axis=1) == 0
            mask &= ~np.isin(group, group[mask & (targets[lost] > 0).any(axis=0)])
            if mask.any() and not mask.all():
                out.append(mask)
    if not out:
        raise TooFewError("every class is at one site only, so that the multiplier cannot be chosen: set --multiplier")
    return out


def _error(difference: Array, share: Array, group: Index) -> float:
    """Return the standard error of a weighted mean of differences, which may be correlated within a group."""
    by_group = np.bincount(group, share * (difference - share @ difference))
    sites = np.unique(group[share > 0]).size
    return float(np.sqrt(np.sum(by_group**2) * sites / max(sites - 1, 1)))


LAMBDAS = (1e-3, 3e-3, 0.01, 0.03, 0.1)
BETAS = (1e-3, 5e-3, 0.02)


def choose_penalties(
    fit: Callable[[Array, Array, Array, float, float], Scorer],
    x: Array,
    sites: HeldOutSites,
    *,
    lambdas: Sequence[float] = LAMBDAS,
    betas: Sequence[float] = BETAS,
    progress: Progress | None = None,
) -> tuple[PenaltySetting, list[PenaltySetting]]:
    """Return the setting with the lowest held-out loss, and all settings.

    `fit(x, targets, weight, lam, beta)` returns a model; sites of one `group` are never divided.
    """
    targets, weight, rng = sites.targets, sites.weight, np.random.default_rng([sites.seed, 13])
    fold = fold_numbers(np.argmax(targets, axis=0), sites.folds, rng, sites.group)
    tried: list[PenaltySetting] = []
    fits = StepCount(progress, "penalties of trees and monomials", len(betas) * len(lambdas) * np.unique(fold).size)
    for beta in sorted(betas, reverse=True):
        best, risen = np.inf, 0
        for lam in sorted(lambdas, reverse=True):
            if lam + beta <= 0:
                continue
            losses = []
            for k in np.unique(fold):
                test = fold == k
                model = fit(x[~test], targets[:, ~test], weight[~test], lam, beta)
                site_losses = sites.entropy.losses(model.scores(x[test]), np.ascontiguousarray(targets[:, test]))
                losses.append(float(np.average(site_losses, weights=weight[test])))
                fits.step()
            loss, error = float(np.mean(losses)), float(np.std(losses, ddof=1) / np.sqrt(len(losses)))
            tried.append(PenaltySetting(lam, beta, loss, error, tuple(losses)))
            best, risen = (loss, 0) if loss < best else (best, risen + 1)
            if risen == 2:
                break
    fits.end()
    return min(tried, key=lambda setting: setting.loss), tried
