"""Coordinate steps: the best change of each weight under the lower bounds of SUMMET and PLUMMET.

Dudík, Phillips & Schapire (2007) bound the change of `Q` when `δ` is added to weight `j`. With `q = p[f_j]`, `μ =
π̃[f_j]` and the penalty `P` on the weight, the lower bounds are

- SUMMET, eq. (24): `−ln(1 + (e^δ − 1) q) + δμ − P(λ + δ) + P(λ)`;
- PLUMMET, eq. (40): `−q(e^δ − 1) + δμ − P(λ + δ) + P(λ)`.

Both are concave in δ. For the l1 penalty the best δ is explicit (Fig. 3 and 5); for the others it is found by
bisection.
"""

import numpy as np

from sdm._jit import jit
from sdm.maxent.penalty import CODE_ELASTIC, CODE_L1, CODE_L2SQ, CODE_NONE, CODE_SMOOTHED_L1

SELECTIVE, PARALLEL = 0, 1

# Without a penalty, for features with mean 0 or 1 at the presences: the smallest change of their weight, and the share
# of the distribution below which further changes have no effect.
_SMALLEST_CHANGE, _NEGLIGIBLE = 30.0, 1e-14

_NONE, _L1, _SMOOTHED, _L2SQ, _ELASTIC = CODE_NONE, CODE_L1, CODE_SMOOTHED_L1, CODE_L2SQ, CODE_ELASTIC


@jit
def best_changes(bound, q, mu, lam, code, beta, ridge, smoothing, delta, gain):  # type: ignore[no-untyped-def]
    """Fill in the best change of every weight, and its lower bound of the gain."""
    for j in range(q.size):
        delta[j], gain[j] = 0.0, 0.0
        if q[j] <= 0.0 or (bound == SELECTIVE and q[j] >= 1.0):
            continue
        if code == _L1 and lam[j] == 0.0 and abs(q[j] - mu[j]) <= beta[j]:
            continue  # stays at zero, like most weights
        if code in (_NONE, _L1):
            delta[j] = _explicit(bound, q[j], mu[j], lam[j], beta[j] if code == _L1 else 0.0)
        else:
            delta[j] = _bisection(bound, q[j], mu[j], lam[j], code, beta[j], ridge[j], smoothing[j])
        d = delta[j]
        if bound == SELECTIVE:
            loss = np.log1p(np.expm1(d) * q[j])
        else:
            loss = q[j] * np.expm1(d)
        old = _penalty(lam[j], code, beta[j], ridge[j], smoothing[j])
        gain[j] = d * mu[j] - loss - _penalty(lam[j] + d, code, beta[j], ridge[j], smoothing[j]) + old


@jit
def _explicit(bound, q, mu, lam, beta):  # type: ignore[no-untyped-def]
    """Return the step of Fig. 3 and 5: δ₊ if it makes the weight positive, δ₋ if negative, else the step to zero.

    Without a penalty, features with mean 0 or 1 at the presences have no best change, because larger weights are always
    better. Appendix G removes the cells that such a feature separates from the presences. Here its weight is at least
    doubled until these cells have a negligible mass, which is the same in the limit.
    """
    for sign in (1.0, -1.0):
        target = mu - sign * beta
        odds = 1.0 - target if bound == SELECTIVE else 1.0
        if target > 0.0 and odds > 0.0:
            delta = np.log(target / q)
            if bound == SELECTIVE:
                delta += np.log((1.0 - q) / odds)
            if sign * (lam + delta) > 0.0 or beta == 0.0:
                return delta
    if beta > 0.0:
        return -lam
    down = mu <= 0.0
    if (q if down else 1.0 - q) <= _NEGLIGIBLE or abs(lam) > 1e300:
        return 0.0
    return -max(_SMALLEST_CHANGE, abs(lam)) if down else max(_SMALLEST_CHANGE, abs(lam))


@jit
def _penalty(z, code, beta, ridge, smoothing):  # type: ignore[no-untyped-def]
    """Return U*_π̃ of one weight."""
    if code == _NONE:
        return 0.0
    if code == _SMOOTHED:
        u = abs(z) / smoothing
        return smoothing * beta * (u + np.log1p(np.exp(-2.0 * u)) - np.log(2.0))
    penalty = 0.5 * ridge * z * z
    if code != _L2SQ:
        penalty += beta * abs(z)
    return penalty


@jit
def _slope(bound, z, q, mu, lam, code, beta, ridge, smoothing, side):  # type: ignore[no-untyped-def]
    """Return the derivative of the bound at the new weight `z`; `side` is the sign for a penalty with a kink at
    zero."""
    e = np.exp(z - lam)
    slope = mu - (q * e / (1.0 + (e - 1.0) * q) if bound == SELECTIVE else q * e)
    if code == _SMOOTHED:
        return slope - beta * np.tanh(z / smoothing)
    slope -= ridge * z
    return slope - side * beta if code == _ELASTIC else slope


@jit
def _bisection(bound, q, mu, lam, code, beta, ridge, smoothing):  # type: ignore[no-untyped-def]
    """Return the change to the new weight where the slope changes sign, after finding its side of zero."""
    side = 0.0
    if _slope(bound, 0.0, q, mu, lam, code, beta, ridge, smoothing, 1.0) > 0.0:
        side = 1.0
    elif _slope(bound, 0.0, q, mu, lam, code, beta, ridge, smoothing, -1.0) < 0.0:
        side = -1.0
    if side == 0.0:
        return -lam
    inner, outer = 0.0, side
    while side * _slope(bound, outer, q, mu, lam, code, beta, ridge, smoothing, side) > 0.0 and abs(outer) < 1e6:
        inner, outer = outer, 2.0 * outer
    for _ in range(200):
        middle = 0.5 * (inner + outer)
        if middle in (inner, outer):
            break
        if side * _slope(bound, middle, q, mu, lam, code, beta, ridge, smoothing, side) > 0.0:
            inner = middle
        else:
            outer = middle
    return 0.5 * (inner + outer) - lam
