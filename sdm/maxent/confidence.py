"""Confidence radii of feature means at the presences, and the resulting penalties.

Dudík, Phillips & Schapire (2007), §5: with probability at least `1 − δ` over `m` independent records, every mean
`π̃[f_j]` is within a radius of the true `π[f_j]`. With a penalty as large as the radius, the truth is feasible. Theorem
4 then bounds the excess loss of the fitted model over any other. Features are in [0, 1], so the diameter `D_∞` is at
most one. `L` is the norm of the weights of the competing models, which some theorems require in advance.
"""

import numpy as np

from sdm.errors import ConflictError
from sdm.features.feature_set import FeatureSet
from sdm.types import Array

# The penalty of each result.
PENALTY_OF = {
    "corollary5": "l1",
    "corollary6": "l1",
    "theorem8": "smoothed_l1",
    "corollary9": "smoothed_l1",
    "theorem11": "l2",
    "theorem13": "l2sq",
    "theorem15": "elastic",
}
SLACK = 0.1  # the ε of Theorem 8 and Corollary 9: the largest relative increase of the bound by smoothing


def hoeffding_radius(n_features: int, m: float, delta: float) -> float:
    """Return `√(ln(2n/δ)/(2m))`, the radius for `n` features in [0, 1] (Corollary 5)."""
    return float(np.sqrt(np.log(2 * n_features / delta) / (2 * m)))


def vc_radius(dimension: float, m: float, delta: float) -> float:
    """Return the radius for any number of binary features of a VC dimension (Corollary 6)."""
    grown = dimension * (1.0 + np.log(m**2 / dimension))
    return float(np.sqrt((grown + np.log(1 / delta) + np.log(4.0) + 8.0) / (2 * m)))


def deviation_radius(deviation: Array, m: float, n_features: int, delta: float) -> Array:
    """Return the radius of every feature from its standard deviation at the presences (Corollary 7, Appendix A)."""
    e = np.log(4 * n_features / delta) / (3 * m)
    spread = deviation**2 + np.sqrt(np.log(2 * n_features / delta) / (2 * m))
    return np.asarray(np.sqrt(6 * e) * np.sqrt(spread + e / 6) + e)


def uniform_radius(log_count: Array, families: int, m: float, delta: float) -> Array:
    """Return `2 R_m(H_k) + √(ln(2p/δ)/(2m))` for `p` families of functions into [0, 1] (Cortes et al. 2015, eq. 1).

    `R_m` is `√(2 ln N/m)` (their Appendix E) for a family with at most `N` different columns on the records. Radii are
    at most 1.
    """
    rademacher = np.sqrt(2.0 * log_count / m)
    return np.minimum(2.0 * rademacher + hoeffding_radius(families, m, delta), 1.0)


def ball_radius(diameter: float, m: float, delta: float) -> float:
    """Return the radius of the vector of all means in the l2 norm, for features of an l2 diameter (Lemma 10)."""
    return float(diameter / np.sqrt(2 * m) * (1.0 + np.sqrt(np.log(1 / delta))))


def vc_dimension(features: FeatureSet) -> int:
    """Return a bound on the VC dimension of thresholds and categories.

    `d` points have `2^d` subsets. The thresholds of one variable give at most `d + 1` of them, including the empty and
    the full set, and a category gives one.
    """
    letters = set(features.letters().tolist())
    if not letters <= {"t", "c"}:
        raise ConflictError("beta='corollary6' needs threshold features: use --features t")
    thresholds = len({int(v) for f in features.families if f.letter == "t" for v in f.var})
    categories = sum(f.size for f in features.families if f.letter == "c")
    d = 1
    while 2 ** (d + 1) <= thresholds * d + 2 + categories:
        d += 1
    return d


def theory_weights(
    rule: str, features: FeatureSet, deviation: Array, m: float, delta: float = 0.05, norm: float = 10.0
) -> Array:
    """Return the `β_j` of a theoretical result."""
    n = features.size
    if rule in ("corollary7", "theorem8"):
        return deviation_radius(deviation, m, n, delta)
    if rule == "corollary6":
        value = vc_radius(vc_dimension(features), m, delta)
    elif rule == "theorem11":
        value = ball_radius(features.diameter.largest, m, delta)
    elif rule == "theorem13":  # with the s that minimises the bound of probability 1 − δ
        value = (1.0 + np.sqrt(np.log(1 / delta))) * features.diameter.largest / (norm * np.sqrt(m))
    else:
        value = hoeffding_radius(n, m, delta)
    return np.full(n, value)


def theory_shape(
    rule: str | float, features: FeatureSet, beta: Array, m: float, delta: float = 0.05, norm: float = 10.0
) -> dict[str, Array]:
    """Return the parameters of a result besides `β_j`: the smoothing of smoothed_l1, the l2² strength of elastic."""
    n = features.size
    if rule == "theorem8":
        return {"smoothing": SLACK * norm / (n * beta * np.log(2.0))}
    if rule == "corollary9":
        return {"smoothing": np.full(n, SLACK * norm / (n * np.log(2.0)))}
    if rule == "theorem15":
        strength = features.diameter.largest * min(1 / np.sqrt(2.0), np.sqrt(m * delta)) / (2 * norm * np.sqrt(m))
        return {"ridge": np.full(n, strength)}
    return {}


def theory_notes(rule: str | float, features: FeatureSet) -> list[str]:
    """Return notes on penalties above their theorem's value, if `D₂` was bounded instead of computed."""
    if rule not in ("theorem11", "theorem13", "theorem15") or features.diameter.least == features.diameter.largest:
        return []
    least, largest = features.diameter.least, features.diameter.largest
    return [
        f"the l2 diameter of the features is between {least:.4g} and {largest:.4g} (too many cells and features to "
        f"compute it). The l2 penalty of {rule} uses the larger number: at most {largest / least:.3g} times the "
        "necessary one"
    ]
