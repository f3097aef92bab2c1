"""The certificate of a fit: the coverage of its duality gap, in words, and a bound for the map.

For Shannon's entropy, the optimum `p*` and a fit `p`, `D(p*‖p) ≤ gap` with any penalty. Let the variance of `g` under
`p` be `v`, and its largest distance from `p[g]` be `b`. Then `|p*[g] − p[g]| ≤ √(2 v gap) + b gap/3`, by Bernstein's
inequality and the Gibbs variational principle (Boucheron, Lugosi & Massart 2013, chapters 2 and 4).
"""

from collections.abc import Iterable

import numpy as np

from sdm.types import Array, Numbers

MODEL, FOUND, MEMBERS, GROUP = "model", "features found", "members", "group"
MOST = 700.0  # exp of larger numbers overflows


def certified(gap: float, over: str, unit: str = "nats") -> Numbers:
    """Return the certificate of a model whose gap is over all weights of all its features."""
    return {"covers": MODEL, "text": f"certified, duality gap {gap:.2g} {unit}, over {over}"}


def certified_found(gap: float, features: int, families: Iterable[str]) -> Numbers:
    """Return the certificate of a model with a search for features in growing families, such as `trees:8`."""
    searched = [name for name in families if not name.startswith("exact")]
    if not searched:
        return certified(gap, f"the {features:,} features found and every tree of the family (exhaustive search)")
    text = f"duality gap {gap:.2g} nats over the {features:,} features found; only an estimate for all of "
    return {"covers": FOUND, "text": f"{text}{' and '.join(searched)}, whose search is not exhaustive"}


def certified_group(gap: float) -> Numbers:
    """Return the certificate of species that were fitted together."""
    over = f"duality gap {gap:.2g} nats per record of the group, over all weights of all species"
    return {"covers": GROUP, "text": f"certified for all species together, {over}"}


def certified_map(p: Array, q0: Array, gap: float) -> Numbers:
    """Return the bounds on the cloglog values of the map that a gap implies."""
    largest, mean = cloglog_bounds(p, q0, gap)
    text = f"cloglog at background points differs from the optimum by at most {largest:.2g} (mean: {mean:.2g})"
    return {"cloglog": {"largest": largest, "mean": mean}, "map": text}


def cloglog_bounds(p: Array, q0: Array, gap: float) -> tuple[float, float]:
    """Bound the difference of the cloglog values of a fit from the optimum: at any cell, and on average over `q0`.

    `cloglog = 1 − exp(−x)` with `x = p/q0 · exp(−Ω(p))`. The inequality is applied to the indicator of each cell and,
    with `g = ln(p/q0)`, to `Ω(p*) = D(p*‖p) + p*[g]`. The average also follows from Pinsker's `Σ|p* − p| ≤ √(2 gap)`.
    """
    if not np.all(p > 0.0):  # underflow: the entropy of the optimum is not bounded
        return 1.0, 1.0
    score = np.log(p / q0)
    omega = float(p @ score)
    away = score - omega
    shift = min(np.sqrt(2.0 * float(p @ away**2) * gap) + float(np.abs(away).max()) * gap / 3.0, MOST)
    spread = np.sqrt(2.0 * p * (1.0 - p) * gap)
    least = np.maximum(p - spread - p * gap / 3.0, 0.0) * np.exp(-shift - gap)
    most = (p + spread + (1.0 - p) * gap / 3.0) * np.exp(shift)
    low, value, high = (-np.expm1(-mass / q0 * np.exp(-omega)) for mass in (least, p, most))
    difference = np.maximum(high - value, value - low)
    mean = np.exp(-omega) * (np.sqrt(2.0 * gap) + np.expm1(min(shift + gap, MOST)))
    return float(difference.max()), float(min(q0 @ difference, mean))
