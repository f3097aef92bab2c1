"""The complete relaxation path of a maximum entropy problem (Dubiner & Singer 2011).

Atoms `j` (strata, letters …) have a multiplicity `m_j`, a prior `u_j` and an observed share `q_j`, both per copy. For
every tolerance `1/ν`, the solution is the distribution nearest to the prior within that tolerance of the observed
shares,

    min Σ m_j p_j ln(p_j / u_j)   with   Σ m_j p_j = 1,   |p_j − q_j| ≤ 1/ν .

It is `p_j = q_j + F(μ u_j − ν q_j)/ν`, with `F` limited to ±1 and one number μ for all atoms. μ(ν) is piecewise linear.
The path consists of its breakpoints, and of the atom that moves between the sets I₋, I₀, I₊ at each.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.errors import BadValueError, MismatchError, OptionError
from sdm.maxent.paths.tracking import BORDER, DONE, SUMS, ended, total_sums, track, track_uniform
from sdm.types import Array

Signs = NDArray[np.int8]

SAME = 1e-12  # relative distance below which breakpoints are equal up to rounding


@dataclass(frozen=True)
class Atoms:
    """A checked problem: prior `u`, observed `q` and multiplicity `m` of every atom, with `Σ m u = Σ m q = 1`."""

    u: Array
    q: Array
    m: Array

    @property
    def n(self) -> int:
        """Return the number of atoms."""
        return int(self.u.size)


@dataclass(frozen=True)
class Relaxation:
    """The solution at one ν: the distribution (per copy of each atom), μ, and the sets as −1, 0 or 1."""

    nu: float
    mu: float
    p: Array = field(repr=False)
    sign: Signs = field(repr=False)


def make_atoms(u: ArrayLike, q: ArrayLike, m: ArrayLike | None = None) -> Atoms:
    """Check a problem and scale `u` and `q` so that `Σ m u = Σ m q = 1`.

    Arguments are the prior (positive) and observed share (non-negative) of one copy of each atom, and the number of
    copies (one by default).
    """
    prior, observed = np.array(u, dtype=np.float64), np.array(q, dtype=np.float64)
    copies = np.ones_like(prior) if m is None else np.array(m, dtype=np.float64)
    if prior.ndim != 1 or not prior.size or prior.shape != observed.shape or prior.shape != copies.shape:
        raise MismatchError(
            f"prior, shares and copies have shapes {prior.shape}, {observed.shape}, {copies.shape}: expected one"
        )
    for name, values in (("prior", prior), ("multiplicity", copies)):
        bad = int(np.count_nonzero(~(values > 0) | ~np.isfinite(values)))
        if bad:
            raise BadValueError(f"{bad:,} of {values.size:,} atoms have a {name} that is not positive: remove them")
    bad = int(np.count_nonzero(~(observed >= 0) | ~np.isfinite(observed)))
    if bad:
        raise BadValueError(f"{bad:,} of {observed.size:,} observed shares are missing or negative: expected 0 or more")
    if not observed.any():
        raise BadValueError("every observed share is zero: expected at least one atom with a record")
    return Atoms(prior / (copies @ prior), observed / (copies @ observed), copies)


@dataclass(frozen=True)
class RelaxationPath:
    """All breakpoints of μ(ν), in rising order, and the moves; several moves can have the same breakpoint."""

    atoms: Atoms
    nu: Array = field(repr=False)
    mu: Array = field(repr=False)
    atom: NDArray[np.int64] = field(repr=False)  # the atom that moves
    step: Signs = field(repr=False)  # 1 up (from I₋ to I₀ or from I₀ to I₊), −1 down
    slope: float  # of μ(ν) after the last move

    @cached_property
    def knots(self) -> tuple[Array, Array]:
        """Return ν and μ of the distinct breakpoints, (0, 0) first."""
        nu, mu = np.concatenate([[0.0], self.nu]), np.concatenate([[0.0], self.mu])
        last = np.append(nu[1:] > nu[:-1] * (1 + SAME), True)
        return nu[last], mu[last]

    @property
    def n_segments(self) -> int:
        """Return the number of linear pieces of μ(ν), including the infinite last one."""
        return int(self.knots[0].size)

    @property
    def complete(self) -> bool:
        """Return whether I₀ is empty at the end, so that the path ends at a finite ν∞ (its last breakpoint)."""
        return bool(np.all(self.signs(np.inf)))

    def mu_at(self, nu: ArrayLike) -> Array:
        """Return μ(ν), with linear extrapolation beyond the last breakpoint."""
        x = np.asarray(nu, dtype=np.float64)
        knots, values = self.knots
        beyond = np.maximum(x - knots[-1], 0.0)
        return np.asarray(np.interp(x, knots, values) + self.slope * beyond)

    def signs(self, nu: float) -> Signs:
        """Return each atom's set after all moves up to ν: −1, 0 or 1 for I₋, I₀ or I₊."""
        out = np.zeros(self.atoms.n, dtype=np.int8)
        moved = int(np.searchsorted(self.nu, nu, side="right"))
        np.add.at(out, self.atom[:moved], self.step[:moved])
        return out

    def solution(self, nu: float) -> Relaxation:
        """Return the solution at ν, to the last digits."""
        return solution_near(self.atoms, nu, lambda nu: float(self.mu_at(nu)))

    def p(self, nu: float) -> Array:
        """Return the distribution at ν (per copy of each atom): the prior at 0, the observed shares at infinity."""
        return self.solution(nu).p


def track_path(u: ArrayLike, q: ArrayLike, m: ArrayLike | None = None) -> RelaxationPath:
    """Follow the complete path (§6; for equal priors §7).

    Parameters
    ----------
    u, q, m : (n,) arrays
        As for `make_atoms`.

    Examples
    --------
    >>> path = track_path([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    >>> [round(float(nu), 3) for nu in path.knots[0]]
    [0.0, 3.333]
    >>> [round(float(p), 3) for p in path.p(10.0)]
    [0.3, 0.3, 0.4]
    """
    atoms = make_atoms(u, q, m)
    uniform = bool(np.all(atoms.u == atoms.u[0]))
    order = np.argsort(-atoms.q, kind="stable") if uniform else np.lexsort((atoms.q, atoms.u))
    sorted_u, sorted_q, sorted_m = atoms.u[order], atoms.q[order], atoms.m[order]
    sign = np.zeros(atoms.n, dtype=np.int8)
    sums = np.zeros(SUMS)
    counts = np.array(total_sums(sorted_u, sorted_q, sorted_m, sign, sums), dtype=np.int64)
    follow = _follow_uniform if uniform else _follow
    nu, mu, atom, step = follow(sorted_u, sorted_q, sorted_m, sign, sums, counts)
    path = RelaxationPath(atoms, nu, mu, order[atom], step, _slope(sums, counts, nu, mu))
    return _settle(path, sums, counts)


Moves = tuple[Array, Array, NDArray[np.int64], Signs]


def _room(size: int) -> Moves:
    return np.empty(size), np.empty(size), np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int8)


def _follow_uniform(u: Array, q: Array, m: Array, sign: Signs, sums: Array, counts: NDArray[np.int64]) -> Moves:
    """Track a uniform prior: each atom moves at most once."""
    nu, mu, atom, step = _room(u.size)
    k = track_uniform(u, q, m, sign, sums, counts, nu, mu, atom, step)
    return nu[:k], mu[:k], atom[:k], step[:k]


def _follow(u: Array, q: Array, m: Array, sign: Signs, sums: Array, counts: NDArray[np.int64]) -> Moves:
    """Track any prior, in chunks with as many moves as atoms."""
    point = np.zeros(2)
    chunks: list[Moves] = []
    while True:
        chunk = _room(max(u.size, 64))
        status, k = track(u, q, m, sign, sums, counts, point, *chunk)
        chunks.append((chunk[0][:k], chunk[1][:k], chunk[2][:k], chunk[3][:k]))
        if status == DONE:
            nu, mu, atom, step = zip(*chunks)
            return np.concatenate(nu), np.concatenate(mu), np.concatenate(atom), np.concatenate(step)


def _slope(sums: Array, counts: NDArray[np.int64], nu: Array, mu: Array) -> float:
    """Return the slope of μ(ν) after the last move: `Q/U`, or along the ray from the origin if I₀ is empty."""
    if counts[0]:
        return float((sums[4] + sums[5]) / (sums[2] + sums[3]))
    return float(mu[-1] / nu[-1])


def _settle(path: RelaxationPath, sums: Array, counts: NDArray[np.int64]) -> RelaxationPath:
    """Add the final moves of atoms on a border: all of I₀ at ν∞, or atoms that follow the border and never cross it."""
    remaining = np.flatnonzero(path.signs(np.inf) == 0)
    if not path.nu.size or not remaining.size:
        return path
    atoms, big_m, big_u = path.atoms, sums[0] + sums[1], sums[2] + sums[3]
    on_border = remaining
    if not ended(sums, counts):
        u, q = atoms.u[remaining], atoms.q[remaining]
        parallel = np.abs(path.slope * u - q) <= 1e-14 * q
        on_border = remaining[parallel & (np.abs(np.abs(u * big_m / big_u) - 1.0) <= BORDER)]
    step = np.full(on_border.size, -np.sign(big_m), dtype=np.int8)
    nu, mu = (np.append(values, np.full(on_border.size, values[-1])) for values in (path.nu, path.mu))
    slope = path.slope if on_border.size < remaining.size else float(mu[-1] / nu[-1])
    return RelaxationPath(atoms, nu, mu, np.append(path.atom, on_border), np.append(path.step, step), slope)


def solution_near(atoms: Atoms, nu: float, mu_at: Callable[[float], float]) -> Relaxation:
    """Return the solution at ν from μ, after a correction of the last digits of μ.

    Without constraints (ν = 0) it is the prior, and without tolerance (ν = ∞) the observed shares.
    """
    if not nu >= 0.0:
        raise OptionError(f"nu={nu!r}: expected zero or more (the tolerance is 1/nu)")
    if nu == 0.0 or np.isinf(nu):
        p = atoms.u if nu == 0.0 else atoms.q
        return Relaxation(nu, nu, p.copy(), np.zeros(atoms.n, dtype=np.int8))
    mu = _correct(atoms.u, atoms.q, atoms.m, nu, mu_at(nu))
    z = mu * atoms.u - nu * atoms.q
    sign = ((z >= 1.0).astype(np.int8) - (z <= -1.0)).astype(np.int8)
    return Relaxation(nu, mu, np.clip(mu * atoms.u / nu, atoms.q - 1.0 / nu, atoms.q + 1.0 / nu), sign)


def _balance(u: Array, q: Array, m: Array, nu: float, mu: float) -> tuple[float, float]:
    """Return G(ν, μ) = Σ m F(μu − νq), summed exactly, and its slope U."""
    z = mu * u - nu * q
    inside = np.abs(z) < 1.0
    return fsum(m * np.clip(z, -1.0, 1.0)), float(m[inside] @ u[inside])


def _correct(u: Array, q: Array, m: Array, nu: float, mu: float) -> float:
    """Return the μ near the given one where G(ν, μ) is zero up to rounding, by Newton's method."""
    value, slope = _balance(u, q, m, nu, mu)
    for _ in range(20):
        if value == 0.0 or slope == 0.0:
            break
        new = mu - value / slope
        new_value, new_slope = _balance(u, q, m, nu, new)
        if not abs(new_value) < abs(value):
            break
        mu, value, slope = new, new_value, new_slope
    return mu
