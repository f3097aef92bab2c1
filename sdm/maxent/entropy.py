"""Tsallis entropies relative to a base measure, Shannon among them (Blondel, Martins & Niculae 2020, §4.3).

With density ratios `r_i = p_i / q0_i`, the negative entropy is `Ω(p) = Σ q0_i φ_α(r_i)`, with `φ_1(r) = r ln r` and
`φ_α(r) = (r^α − r) / (α(α − 1))`. Its conjugate's gradient is `r_i = exp(θ_i − τ)` for α = 1 and
`r_i = [1 + (α − 1)(θ_i − τ)]₊^{1/(α−1)}` for α in (1, 2], where τ makes the probabilities sum to one.
"""

from dataclasses import dataclass

import numpy as np

from sdm._jit import jit
from sdm.errors import OptionError
from sdm.types import Array


@dataclass(frozen=True)
class Gibbs:
    """The distribution that scores `θ` define: density ratios `r`, normaliser `tau`, conjugate `Ω*(θ)`."""

    ratio: Array
    tau: float
    conjugate: float


class Entropy:
    """The entropy of order `alpha` in [1, 2]: 1 is Shannon, 2 gives sparsemax."""

    def __init__(self, alpha: float = 1.0) -> None:
        if not (isinstance(alpha, (int, float, np.floating, np.integer)) and 1.0 <= alpha <= 2.0):
            raise OptionError(f"entropy={alpha!r}: expected a number from 1 (Shannon) to 2 (sparsemax)")
        self.alpha = float(alpha)

    def gibbs(self, theta: Array, q0: Array, tau: float = np.nan) -> Gibbs:
        """Return the distribution of scores `theta`; `tau` is a guess from nearby scores."""
        ratio = np.empty_like(theta)
        if self.alpha == 1.0:
            tau = conjugate = _shannon(theta, q0, ratio)
        else:
            tau, conjugate = _tsallis(theta, q0, self.alpha, tau, ratio)
        return Gibbs(ratio, tau, conjugate)

    def ratio(self, theta: Array, tau: float) -> Array:
        """Return the density ratios of scores `theta` under a known normaliser."""
        out = np.empty_like(theta)
        _ratios(theta, self.alpha, tau, out)
        return out

    def value(self, p: Array, q0: Array) -> float:
        """Return `Ω(p)`, the negative entropy relative to `q0`."""
        return float(_value(p, q0, self.alpha))

    def curvature(self, ratio: Array, q0: Array) -> Array:
        """Return `w_i = q0_i r_i^{2−α}` (zero where `r_i` is): the Hessian of `Ω*` is `diag(w) − w wᵀ / Σw`."""
        if self.alpha == 1.0:
            return q0 * ratio
        if self.alpha == 2.0:
            return np.where(ratio > 0, q0, 0.0)
        return q0 * ratio ** (2.0 - self.alpha)


@jit
def _power(s, alpha):  # type: ignore[no-untyped-def]
    """[1 + (α − 1) s]₊^{1/(α−1)}, the inverse of φ' up to a constant; exp(s) at α = 1."""
    if alpha == 1.0:
        return np.exp(s)
    base = 1.0 + (alpha - 1.0) * s
    if base <= 0.0:
        return 0.0
    if alpha == 2.0:
        return base
    if alpha == 1.5:
        return base * base
    return np.exp(np.log1p((alpha - 1.0) * s) / (alpha - 1.0))  # near α = 1 a power of `base` loses digits


@jit
def _ratios(theta, alpha, tau, out):  # type: ignore[no-untyped-def]
    """r_i = [1 + (α − 1)(θ_i − τ)]₊^{1/(α−1)}."""
    for i in range(theta.size):
        out[i] = _power(theta[i] - tau, alpha)


@jit
def _phi(r, alpha):  # type: ignore[no-untyped-def]
    """φ_α(r), zero at r = 0 and r = 1."""
    if r <= 0.0:
        return 0.0
    if alpha == 1.0:
        return r * np.log(r)
    if alpha == 2.0:
        return 0.5 * (r * r - r)
    return r * np.expm1((alpha - 1.0) * np.log(r)) / (alpha * (alpha - 1.0))


@jit
def _value(p, q0, alpha):  # type: ignore[no-untyped-def]
    """Σ q0_i φ_α(p_i / q0_i)."""
    total = 0.0
    for i in range(p.size):
        total += q0[i] * _phi(p[i] / q0[i], alpha)
    return total


@jit
def _shannon(theta, q0, ratio):  # type: ignore[no-untyped-def]
    """Fill `ratio` for α = 1; return τ, which is also Ω*(θ)."""
    top = _largest(theta)
    total = 0.0
    for i in range(theta.size):
        ratio[i] = np.exp(theta[i] - top)
        total += q0[i] * ratio[i]
    for i in range(theta.size):
        ratio[i] /= total
    return top + np.log(total)


@jit
def _largest(theta):  # type: ignore[no-untyped-def]
    """The largest score, or NaN if there is one: numpy's own function takes a second to compile."""
    top = theta[0]
    for i in range(1, theta.size):
        if not theta[i] <= top:
            top = theta[i]
            if np.isnan(top):
                break
    return top


@jit
def _tsallis(theta, q0, alpha, tau, ratio):  # type: ignore[no-untyped-def]
    """Fill `ratio` for α > 1; return τ and Ω*(θ)."""
    tau, _ = find_tau(theta, q0, alpha, tau)
    _ratios(theta, alpha, tau, ratio)
    # Ω*(θ) is the minimum over m of m + Σ q0_i φ*(θ_i − m), reached at m = τ − 1/α: what rounding leaves of τ's error
    # counts only by its square, and never makes the result too small.
    conjugate = tau - 1.0 / alpha
    for i in range(theta.size):
        conjugate += q0[i] * (ratio[i] * (theta[i] - tau + 1.0 / alpha) - _phi(ratio[i], alpha))
    return tau, conjugate


@jit
def find_tau(theta, q0, alpha, guess):  # type: ignore[no-untyped-def]
    """Return the τ at which Σ q0_i r_i(τ) = 1, and how many passes over the cells it took.

    By Newton's method on the (α − 1)th power of the sum. That is a norm of the bases [1 + (α − 1)(θ_i − τ)]₊, convex
    and decreasing in τ for α ≤ 2, so from any point left of the root Newton climbs to it without passing it, and from
    a point right of it one step leads to its left. It is less curved than the sum: a straight line where all scores
    are equal, and piecewise straight for α = 2, where the step from the last piece is exact. Left of the root are the
    mean score, by Jensen's inequality, and the point where the cell of the largest score alone has all mass; from the
    larger of both it is a few passes, however many cells there are (`benchmarks/roots.py` compares it with others).
    For α = 2 without a guess, selection is exact and faster.
    """
    mean = 0.0
    best = 0
    for i in range(theta.size):
        mean += q0[i] * theta[i]
        if theta[i] > theta[best]:
            best = i
    alone = theta[best] - np.expm1((1.0 - alpha) * np.log(q0[best])) / (alpha - 1.0)
    low = max(mean, alone)
    guessed = low <= guess < theta[best] + 1.0 / (alpha - 1.0)
    if alpha == 2.0 and not guessed:
        return select_tau(theta, q0, low)
    tau = guess if guessed else low
    close = 1e-9 if alpha <= 1.5 else 0.0  # the error left is this squared, while the curvature is bounded
    for turn in range(200):
        total, slope = 0.0, 0.0
        for i in range(theta.size):
            base = 1.0 + (alpha - 1.0) * (theta[i] - tau)
            if base > 0.0:
                r = _power(theta[i] - tau, alpha)
                total += q0[i] * r
                slope += q0[i] * r / base
        if slope == 0.0:
            tau = low
            continue
        step = -total * np.expm1((1.0 - alpha) * np.log(total)) / ((alpha - 1.0) * slope)
        new = max(tau + step, low)
        if new == tau or (turn > 0 and step <= 0.0):  # only rounding is left
            break
        tau = new
        if abs(step) <= close:
            break
    return tau, turn + 1


@jit
def select_tau(theta, q0, low):  # type: ignore[no-untyped-def]
    """Return the τ of α = 2 exactly, in O(n) expected, and how many times cells were split. The root of Σ q0_i [1 + θ_i
    − τ]₊ = 1 is known once the cells above τ − 1 are: as quickselect does, those left are split by the score of one of
    them, and the side where τ − 1 lies is kept. Cells not above `low` − 1, with `low` left of the root, are out from
    the start. Scores are taken from the largest, so that little is lost of them."""
    top = _largest(theta)
    score, weight = np.empty(theta.size), np.empty(theta.size)
    end = 0
    for i in range(theta.size):
        if theta[i] >= low - 1.0 - 1e-9 * (1.0 + abs(low)):
            score[end], weight[end] = theta[i] - top, q0[i]
            end += 1
    start = 0
    mass, moment = 0.0, 0.0  # of cells that are in the support for certain
    turns = 0
    random = 12345
    while start < end:
        turns += 1
        random = (1103515245 * random + 12345) % 2147483648
        pivot = score[start + random % (end - start)]
        above, part_mass, part_moment = start, 0.0, 0.0
        for i in range(start, end):  # those above the pivot to the front
            if score[i] > pivot:
                part_mass += weight[i]
                part_moment += weight[i] * score[i]
                score[i], score[above] = score[above], score[i]
                weight[i], weight[above] = weight[above], weight[i]
                above += 1
        if moment + part_moment - (mass + part_mass) * pivot >= 1.0:  # the support ends above the pivot
            end = above
            continue
        mass, moment = mass + part_mass, moment + part_moment
        start = above
        for i in range(start, end):  # and the pivot is in it, with all that are equal
            if score[i] == pivot:
                mass += weight[i]
                moment += weight[i] * pivot
                score[i], score[start] = score[start], score[i]
                weight[i], weight[start] = weight[start], weight[i]
                start += 1
    return top + (moment - 1.0) / mass + 1.0, turns
