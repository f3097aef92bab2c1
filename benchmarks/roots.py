"""Root finding for the normaliser τ of entropies above 1, as in Blondel et al. (2020), Figure 9, on 10⁴ to 10⁷ cells.

All solve `Σ q0_i [1 + (α − 1)(θ_i − τ)]₊^{1/(α−1)} = 1` until that is within 10⁻¹⁰ of one, from the same bracket.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.harness import save, table
from sdm._jit import jit
from sdm.maxent.entropy import Entropy, find_tau

CLOSE = 1e-10
Array = NDArray[np.float64]


@jit
def _total(theta, q0, alpha, tau):  # type: ignore[no-untyped-def]
    """Σ q0 r and minus its derivative, at τ."""
    total, slope = 0.0, 0.0
    for i in range(theta.size):
        base = 1.0 + (alpha - 1.0) * (theta[i] - tau)
        if base > 0.0:
            if alpha == 2.0:
                total += q0[i] * base
                slope += q0[i]
            elif alpha == 1.5:
                total += q0[i] * base * base
                slope += q0[i] * base
            else:
                r = base ** (1.0 / (alpha - 1.0))
                total += q0[i] * r
                slope += q0[i] * r / base
    return total, slope


@jit
def _bracket(theta, q0, alpha):  # type: ignore[no-untyped-def]
    """A τ with too much mass (the mean score, or all on the best cell), and one with too little (the largest score)."""
    best = np.argmax(theta)
    alone = theta[best] - np.expm1((1.0 - alpha) * np.log(q0[best])) / (alpha - 1.0)
    return max((q0 * theta).sum(), alone), theta[best]


@jit
def bisection(theta, q0, alpha):  # type: ignore[no-untyped-def]
    """Halve the bracket."""
    low, high = _bracket(theta, q0, alpha)
    for turn in range(200):
        middle = 0.5 * (low + high)
        value = _total(theta, q0, alpha, middle)[0] - 1.0
        if abs(value) <= CLOSE or not low < middle < high:
            return middle, turn + 1
        if value > 0.0:
            low = middle
        else:
            high = middle
    return low, 200


@jit
def brent(theta, q0, alpha):  # type: ignore[no-untyped-def]
    """Brent's method: inverse quadratic interpolation or secant where they are safe, else halving."""
    a, b = _bracket(theta, q0, alpha)
    fa, fb = _total(theta, q0, alpha, a)[0] - 1.0, _total(theta, q0, alpha, b)[0] - 1.0
    c, fc, d, e = a, fa, b - a, b - a
    for turn in range(200):
        if fb * fc > 0.0:
            c, fc, d, e = a, fa, b - a, b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        tiny = 2e-16 * abs(b)
        middle = 0.5 * (c - b)
        if abs(fb) <= CLOSE or abs(middle) <= tiny:
            return b, turn + 2
        if abs(e) >= tiny and abs(fa) > abs(fb):
            s = fb / fa
            if a == c:
                p, q = 2.0 * middle * s, 1.0 - s
            else:
                q, r = fa / fc, fb / fc
                p = s * (2.0 * middle * q * (q - r) - (b - a) * (r - 1.0))
                q = (q - 1.0) * (r - 1.0) * (s - 1.0)
            if p > 0.0:
                q = -q
            p = abs(p)
            if 2.0 * p < min(3.0 * middle * q - abs(tiny * q), abs(e * q)):
                e, d = d, p / q
            else:
                d = e = middle
        else:
            d = e = middle
        a, fa = b, fb
        b += d if abs(d) > tiny else (tiny if middle > 0.0 else -tiny)
        fb = _total(theta, q0, alpha, b)[0] - 1.0
    return b, 202


@jit
def newton(theta, q0, alpha):  # type: ignore[no-untyped-def]
    """Newton's method on the sum itself, from the left."""
    tau, _ = _bracket(theta, q0, alpha)
    for turn in range(200):
        total, slope = _total(theta, q0, alpha, tau)
        if total - 1.0 <= CLOSE:
            return tau, turn + 1
        tau += (total - 1.0) / slope
    return tau, 200


@jit
def newton_norm(theta, q0, alpha):  # type: ignore[no-untyped-def]
    """Newton's method on the (α − 1)th power of the sum, a norm of the bases: convex, but less curved."""
    tau, _ = _bracket(theta, q0, alpha)
    for turn in range(200):
        total, slope = _total(theta, q0, alpha, tau)
        if total - 1.0 <= CLOSE:
            return tau, turn + 1
        tau += (total - total ** (2.0 - alpha)) / ((alpha - 1.0) * slope)
    return tau, 200


@jit
def _select(theta, q0, low):  # type: ignore[no-untyped-def]
    """Return the τ of α = 2 exactly, in O(n) expected, and how many times cells were split. The root of Σ q0_i [1 + θ_i
    − τ]₊ = 1 is known once the cells above τ − 1 are: as quickselect does, those left are split by the score of one of
    them, and the side where τ − 1 lies is kept. Cells not above `low` − 1, with `low` left of the root, are out from
    the start. Scores are taken from the largest, so that little is lost of them."""
    top = theta.max()
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


@jit
def selection(theta, q0, alpha):  # type: ignore[no-untyped-def]
    """Exact for α = 2 in O(n) expected, from the same left end."""
    low, _ = _bracket(theta, q0, alpha)
    return _select(theta, q0, low)


def kept(theta: Array, q0: Array, alpha: float) -> tuple[float, int]:
    """What `Entropy` does, to the last digit."""
    return find_tau(theta, q0, alpha)


METHODS: dict[str, Callable[..., tuple[float, int]]] = {
    "bisection": bisection,
    "Brent": brent,
    "Newton": newton,
    "Newton on the norm": newton_norm,
    "selection": selection,
    "sdm": kept,
}


def compare(n: int, alpha: float, samples: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Time every method on scores `N(0, σ)` with `ln σ` uniform in (−4, 4), over an uneven base measure."""
    times: dict[str, list[float]] = {name: [] for name in METHODS}
    passes: dict[str, list[int]] = {name: [] for name in METHODS}
    worst = dict.fromkeys(METHODS, 0.0)
    for _ in range(samples):
        theta = np.exp(rng.uniform(-4, 4)) * rng.normal(size=n)
        q0 = rng.random(n) + 0.1
        q0 /= q0.sum()
        for name, method in METHODS.items():
            if name == "selection" and alpha != 2.0:
                continue
            began = time.perf_counter()
            tau, turns = method(theta, q0, alpha)
            times[name].append(time.perf_counter() - began)
            passes[name].append(turns)
            worst[name] = max(worst[name], abs(float(q0 @ Entropy(alpha).ratio(theta, tau)) - 1.0))
    return [
        {
            "cells": n,
            "alpha": alpha,
            "method": name,
            "milliseconds": 1e3 * float(np.median(taken)),
            "slowest": 1e3 * float(np.max(taken)),
            "passes": float(np.median(passes[name])),
            "most": int(np.max(passes[name])),
            "error": worst[name],
        }
        for name, taken in times.items()
        if taken
    ]


def main() -> None:
    began = time.perf_counter()
    rng = np.random.default_rng(1)
    results: dict[str, Any] = {}
    for alpha in (1.2, 1.5, 2.0):
        compare(100, alpha, 1, rng)
        rows = []
        for n, samples in ((10_000, 100), (100_000, 30), (1_000_000, 10), (10_000_000, 3)):
            rows += compare(n, alpha, samples, rng)
        results[f"alpha {alpha}"] = rows
        table(f"Normaliser for α = {alpha}", rows)
    save("roots", results)
    print(f"roots: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
