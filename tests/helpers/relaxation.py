"""The relaxation for one tolerance by itself, in O(n log n): what every point of the path is compared with."""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from sdm.maxent.paths.homotopy import Atoms, Relaxation, make_atoms, solution_near


def solve_relaxation(u: ArrayLike, q: ArrayLike, nu: float, m: ArrayLike | None = None) -> Relaxation:
    """Solve for one ν (§5)."""
    atoms = make_atoms(u, q, m)
    return solution_near(atoms, nu, partial(_direct, atoms))


def _direct(atoms: Atoms, nu: float) -> float:
    """Walk G(ν, ·) over its 2n sorted change points to the piece where it is zero (§5)."""
    edges = np.concatenate([(nu * atoms.q - 1.0) / atoms.u, (nu * atoms.q + 1.0) / atoms.u])  # ℓ₋ⱼ, then ℓ₊ⱼ
    order = np.argsort(edges, kind="stable")
    side = np.where(order < atoms.n, 1.0, -1.0)
    u, q, m = (part[order % atoms.n] for part in (atoms.u, atoms.q, atoms.m))
    steps = np.array([m, side * m * u, side * m * q, side])
    start = np.array([[-atoms.m.sum()], [0.0], [0.0], [0.0]])
    big_m, big_u, big_q, inside = np.cumsum(np.hstack([start, steps[:, :-1]]), axis=1)  # before each change point
    reached = np.flatnonzero(big_m + big_u * edges[order] - big_q * nu >= 0.0)
    if not reached.size:
        return float(edges[order[-1]])
    k = int(reached[0])
    return float((big_q[k] * nu - big_m[k]) / big_u[k] if inside[k] else edges[order[k]])
