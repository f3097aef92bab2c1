"""A proof for weights of any origin: what no weights can be below."""

import numpy as np

from sdm.shared.factors import GroupState
from sdm.shared.problem import SharedProblem
from sdm.types import Array


def lower_bound(
    problem: SharedProblem, state: GroupState, strength: float, gradient: Array, own_beta: Array | None = None
) -> float:
    """Return minus the divergence from the base measure of densities that meet every constraint: `‖G‖₂ ≤ μ`, and for
    own parts `|G_js| ≤ π_s β_js`. They are mixed from the densities of the state and the records themselves, which
    have `G = 0`, with the least share of the records that does it."""
    records = problem.records
    weight, tiny = records.weight, np.finfo(float).tiny
    excess = float(np.linalg.norm(gradient, 2)) / strength
    if own_beta is not None:
        excess = max(excess, float(np.max(np.abs(gradient) / np.maximum(own_beta * weight, tiny))))
    t = 1.0 - 1.0 / excess if excess > 1.0 else 0.0
    expected = float(np.sum(gradient * state.weights)) + state.linear  # Σ π E_p[θ]
    divergence = expected - float(weight @ state.normaliser)
    if t == 0.0:
        return -divergence
    # All sites have (1 − t) p in place of p; those with records of the species get t π̃ besides.
    at, of = records.site, records.species
    q, less = problem.q[at], (1.0 - t) * state.mass[at, of] / weight[of]
    mixed = less + t * records.share
    before = less * np.log(np.maximum(less, tiny) / q)
    after = mixed * np.log(np.maximum(mixed, tiny) / q)
    rest = (1.0 - t) * (divergence + np.log1p(-t))
    return -(rest + float(weight[of] @ (after - before)))
