"""Rademacher complexity of a family, estimated on the sample by Monte Carlo.

`R̂_m(H_k) = E_σ sup_{f ∈ H_k} (1/m) Σ σ_i f(x_i)` with random signs σ: how well the family fits pure noise on these
presences. The supremum is the oracle's: for trees and monomials that are grown greedily it is what greedy growth
finds.
"""

import numpy as np

from sdm.features.domain import Domain
from sdm.features.growing.grown import Oracle
from sdm.types import Array

DRAWS = 50


def sample_complexity(oracle: Oracle, domain: Domain, sample: Array, *, seed: int = 1, draws: int = DRAWS) -> Array:
    """Return the estimate for each size 1 … largest, made non-decreasing in the size. Signs are put on the cells with
    presences; `draws` sets of them are averaged over."""
    rng = np.random.default_rng([seed, 3])
    cells = np.flatnonzero(sample)
    total = np.zeros(oracle.largest)
    for _ in range(draws):
        g = np.zeros(domain.n)
        g[cells] = sample[cells] * rng.choice([-1.0, 1.0], cells.size)
        best = 0.0
        best_of = {proposal.shape.size: proposal for proposal in oracle.propose(g)}
        for size in range(1, oracle.largest + 1):
            if size in best_of:
                best = max(best, abs(float(g @ oracle.column(best_of[size].shape))))
            total[size - 1] += best
    return total / draws
