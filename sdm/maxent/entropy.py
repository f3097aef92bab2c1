"""Tsallis entropies relative to a base measure, including Shannon's (Blondel, Martins & Niculae 2020, §4.3).

With density ratios `r_i = p_i / q0_i`, the negative entropy is `Ω(p) = Σ q0_i φ_α(r_i)`, with `φ_1(r) = r ln r` and
`φ_α(r) = (r^α − r) / (α(α − 1))`. The gradient of its conjugate is `r_i = exp(θ_i − τ)` for α = 1 and `r_i = [1 + (α −
1)(θ_i − τ)]₊^{1/(α−1)}` for α in (1, 2], where τ normalises the probabilities.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdm.errors import OptionError
from sdm.types import Array


@dataclass(frozen=True)
class Gibbs:
    """The distribution of scores `θ`: density ratios `r`, normaliser `tau`, conjugate `Ω*(θ)`; arrays for several
    columns."""

    ratio: Array
    tau: Any
    conjugate: Any


class Entropy:
    """The entropy of order `alpha` in [1, 2]: 1 is Shannon, 2 gives sparsemax."""

    def __init__(self, alpha: float = 1.0) -> None:
        if not (isinstance(alpha, (int, float, np.floating, np.integer)) and 1.0 <= alpha <= 2.0):
            raise OptionError(f"entropy={alpha!r}: expected a number from 1 (Shannon) to 2 (sparsemax)")
        self.alpha = float(alpha)

    def gibbs(self, theta: Array, q0: Array, tau: float = np.nan) -> Gibbs:
        """Return the distribution of scores `theta`, or of each column of them; `tau` is an initial value of the
        normaliser."""
        if self.alpha == 1.0:
            top = theta.max(axis=0)
            ratio = np.exp(theta - top)
            total = (q0 * ratio).sum(axis=0)
            tau = top + np.log(total)
            return Gibbs(ratio / total, _number(tau), _number(tau))
        tau, _ = find_tau(theta, q0, self.alpha, tau)
        ratio, mean = self.ratio(theta, tau), 1.0 / self.alpha
        # Ω*(θ) is the minimum over m of m + Σ q0_i φ*(θ_i − m), at m = τ − 1/α. So a rounding error of τ has only a
        # quadratic effect, and never makes the result too small.
        terms = q0 * (ratio * (theta - tau + mean) - self.phi(ratio))
        return Gibbs(ratio, tau, _number(tau - mean + terms.sum(axis=0)))

    def ratio(self, theta: Array, tau: float | Array) -> Array:
        """Return the density ratios of scores `theta` for a known normaliser."""
        alpha, s = self.alpha, theta - tau
        if alpha == 1.0:
            return np.asarray(np.exp(s))
        s *= alpha - 1.0
        np.maximum(s, -1.0, out=s)
        if alpha == 2.0:
            return np.asarray(s + 1.0)
        if alpha == 1.5:
            return np.asarray(np.square(s + 1.0))
        with np.errstate(divide="ignore"):  # near α = 1 a power of `s + 1` would lose digits
            return np.asarray(np.exp(np.log1p(s) / (alpha - 1.0)))

    def phi(self, r: Array) -> Array:
        """Return `φ_α(r)`, zero where `r` is 0 or 1."""
        alpha = self.alpha
        if alpha == 2.0:
            return 0.5 * (r * r - r)
        log = np.log(np.where(r > 0.0, r, 1.0))
        if alpha == 1.0:
            return r * log
        return np.asarray(r * np.expm1((alpha - 1.0) * log) / (alpha * (alpha - 1.0)))

    def value(self, p: Array, q0: Array) -> float:
        """Return `Ω(p)`, the negative entropy relative to `q0`."""
        return float(q0 @ self.phi(p / q0))

    def curvature(self, ratio: Array, q0: Array | float) -> Array:
        """Return `w_i = q0_i r_i^{2−α}` (zero where `r_i` is): the Hessian of `Ω*` is `diag(w) − w wᵀ / Σw`."""
        if self.alpha == 1.0:
            return np.asarray(q0 * ratio)
        return np.asarray(q0 * (ratio > 0.0 if self.alpha == 2.0 else ratio ** (2.0 - self.alpha)))


class ClassEntropy(Entropy):
    """The entropy of order `alpha` in [1, 2] over the classes of each site, without a base measure.

    Order 1 is the logistic loss and softmax, 2 is sparsemax. All arrays are `(C, n)`, one row per class.
    """

    def distributions(self, theta: Array) -> tuple[Array, Array]:
        """Return each site's distribution `∇Ω*(θ_i)`, and `Ω*(θ_i)`; NaN where a score is NaN."""
        gibbs = self.gibbs(theta, np.ones((len(theta), 1)))
        return gibbs.ratio, np.asarray(gibbs.conjugate)

    def values(self, p: Array) -> Array:
        """Return `Ω(p_i)` of every site."""
        return np.asarray(self.phi(p).sum(axis=0))

    def bends(self, p: Array) -> Array:
        """Return `w_ic = p_ic^{2−α}` (zero where `p_ic` is): a site's Hessian is `diag(w) − w wᵀ / Σw`."""
        return self.curvature(p, 1.0)

    def losses(self, theta: Array, targets: Array) -> Array:
        """Return the Fenchel–Young loss `Ω*(θ_i) − ⟨θ_i, y_i⟩ + Ω(y_i)` of every site."""
        _, conjugate = self.distributions(theta)
        return np.asarray(conjugate - np.sum(theta * targets, axis=0) + self.values(targets))


def find_tau(theta: Array, q0: Array, alpha: float, guess: float = np.nan) -> tuple[Any, int]:
    """Return the τ with Σ q0_i r_i(τ) = 1 for each column of `theta`, and the number of passes over the cells.

    The method is Newton's on the (α − 1)th power of the sum. This is a norm of the bases [1 + (α − 1)(θ_i − τ)]₊,
    convex and decreasing in τ for α ≤ 2. From a point below the root Newton's method increases monotonically to it, and
    from a point above it one step leads below it. The power is less curved than the sum. It is linear if all scores are
    equal, and piecewise linear for α = 2, where the step from the last piece is exact.

    Lower bounds of the root are the mean score, by Jensen's inequality, and the solution for a single cell with all
    mass. From the largest of these only a few passes are needed, for any number of cells (`benchmarks/roots.py`
    compares methods).
    """
    entropy, power = Entropy(alpha), alpha - 1.0
    single = (theta - np.expm1(-power * np.log(q0)) / power).max(axis=0)
    low = np.maximum((q0 * theta).sum(axis=0) / q0.sum(), single)
    tau = np.where((low <= guess) & (guess < theta.max(axis=0) + 1.0 / power), guess, low)
    close = 1e-9 if alpha <= 1.5 else 0.0  # the remaining error is the square of this, for a bounded curvature
    for turn in range(200):
        ratio = entropy.ratio(theta, tau)
        total, slope = (q0 * ratio).sum(axis=0), entropy.curvature(ratio, q0).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(slope > 0.0, -total * np.expm1(-power * np.log(total)) / (power * slope), low - tau)
        new = np.maximum(tau + step, low)
        ended = (new == tau) | np.isnan(new) | ((turn > 0) & (step <= 0.0))  # only rounding remains
        tau = np.where(ended, tau, new)
        if np.all(ended | (np.abs(step) <= close)):
            break
    return _number(tau), turn + 1


def _number(value: Any) -> Any:
    """Return a NumPy number as a Python number; arrays are unchanged."""
    return value if np.ndim(value) else float(value)


ORDERS = (1.0, 1.25, 1.5, 2.0)  # candidates
FLOOR = 1e-3  # share of the null model
FOLDS = 5


@dataclass(frozen=True)
class OrderTrial:
    """An order of the entropy with its mean held-out log loss (nats) and standard error."""

    order: float
    loss: float
    error: float


def floored_log_loss(ratio: Array) -> Array:
    """Return `−ln` of probabilities relative to the null model, which has a small share so that losses are finite."""
    return np.asarray(-np.log((1.0 - FLOOR) * ratio + FLOOR))


def choose_order(losses: Mapping[float, Array], share: Array | None = None) -> tuple[float, list[OrderTrial]]:
    """Return the order with the lowest mean loss, weighted by `share`, and every order's trial."""
    trials = []
    for order in sorted(losses):
        each = losses[order]
        weight = np.full(each.size, 1.0 / each.size) if share is None else share / share.sum()
        mean = float(weight @ each)
        spread = weight**2 @ (each - mean) ** 2 * each.size / max(each.size - 1, 1)
        trials.append(OrderTrial(order, mean, float(np.sqrt(spread))))
    return min(trials, key=lambda trial: trial.loss).order, trials


def order_note(order: float, trials: list[OrderTrial]) -> str:
    """Return a note on the chosen order and the losses of all."""
    listed = ", ".join(f"{trial.order:g}: {trial.loss:.4f}" for trial in trials)
    return f"entropy of order {order:g}, chosen by the held-out log loss ({listed} nats)"
