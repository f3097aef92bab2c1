"""A few possible communities per site: SparseMAP on a forest (Niculae et al. 2018).

The best labelling is a single community, and the Gibbs distribution has all 2^S. SparseMAP is between them: the
solution of

    max_p  Σ_y p(y) F(y) − ½ Σ_s (μ_s² + (1 − μ_s)²),      μ_s = Σ_y p(y) y_s

over all distributions of labellings. For a single species, `μ = (1 + F)/2`, limited to [0, 1]. The problem depends on p
through its marginals, a point of the marginal polytope. It has a solution with at most S + E + 1 labellings, usually
few.

The active set method keeps labellings with their probabilities. It solves the problem among them and drops labellings
with negative probability. Then it adds the labelling with the largest `F(y) + (1 − 2μ)·y`, which max-product finds
exactly. The excess of this value over the average bounds the distance to the optimum.
"""

from dataclasses import dataclass

import numpy as np

from sdm.joint.graph import Forest
from sdm.joint.inference import ABSENT, States, maximise, scores
from sdm.types import Array

ROUNDS = 500
FLAT = 1e-9  # added to the diagonal, because labellings may be affinely dependent
TINY = 1e-12


@dataclass(frozen=True)
class PossibleCommunities:
    """The possible communities of a site, the most probable first."""

    labels: States  # (k, S)
    probability: Array  # (k,)
    gap: float  # duality gap, in the units of the scores


def possible_communities(
    forest: Forest, unary: Array, table: Array, states: States, tolerance: float = 1e-6
) -> list[PossibleCommunities]:
    """Return the possible communities of every row of `unary`; `states` contain observed labels.

    Absent species have label 0 in all communities, and do not contribute.
    """
    return [_of_site(forest, u[None].copy(), table, state[None].copy(), tolerance) for u, state in zip(unary, states)]


def _of_site(forest: Forest, u: Array, table: Array, state: States, tolerance: float) -> PossibleCommunities:
    u = u + 1.0  # the linear part of the two squares
    first, _ = maximise(forest, u, table, state)
    labels, value = [first[0]], [_score(forest, u, table, state, first)]
    p = np.ones(1)
    gap = np.inf
    for _ in range(ROUNDS):
        p, labels, value = _among(np.array(labels, dtype=np.float64), np.array(value), p, labels)
        mean = p @ np.array(labels, dtype=np.float64)
        best, top = maximise(forest, u - 2.0 * mean, table, state)
        slopes = np.array(value) - 2.0 * np.array(labels, dtype=np.float64) @ mean
        gap = float(top[0] - p @ slopes)
        if gap <= tolerance or any(np.array_equal(best[0], one) for one in labels):
            break
        labels, p = [*labels, best[0]], np.append(p, 0.0)
        value = [*value, _score(forest, u, table, state, best)]
    order = np.argsort(-p, kind="stable")
    return PossibleCommunities(np.array(labels, dtype=np.int8)[order], p[order], max(gap, 0.0))


def _score(forest: Forest, u: Array, table: Array, state: States, labels: States) -> float:
    return float(scores(forest, u, table, np.where(state == ABSENT, ABSENT, labels).astype(np.int8))[0])


def _among(y: Array, value: Array, p: Array, labels: list[States]) -> tuple[Array, list[States], list[float]]:
    """Return the best probabilities of the labellings, without labellings of probability zero."""
    keep = np.arange(len(p))
    while True:
        k = keep.size
        system = np.ones((k + 1, k + 1))
        system[:k, :k] = 2.0 * y[keep] @ y[keep].T + FLAT * np.eye(k)
        system[k, k] = 0.0
        new = np.linalg.solve(system, np.append(value[keep], 1.0))[:k]
        if np.all(new > -TINY):
            new = np.maximum(new, 0.0)
            return new / new.sum(), [labels[i] for i in keep], value[keep].tolist()
        down = new < p[keep]
        length = np.full(k, np.inf)
        length[down] = p[keep][down] / (p[keep] - new)[down]
        length[new > -TINY] = np.inf
        step = float(min(1.0, length.min()))
        p = p.copy()
        p[keep] += step * (new - p[keep])
        keep = np.delete(keep, int(np.argmin(length)))
        p[np.setdiff1d(np.arange(len(p)), keep)] = 0.0
