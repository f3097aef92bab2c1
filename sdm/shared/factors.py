"""Weights as a product of two thin factors, axes and the places of species on them, and what is each species' own.

`‖W‖_*` is the least of `(‖A‖² + ‖B‖²)/2` over all `W = A B`, and `|o|` the least of `(u² + v²)/2` over all `o = u v`:
so both penalties are smooth in their factors.
"""

from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from sdm.shared.problem import SharedProblem, add_up
from sdm.types import Array


@dataclass(frozen=True)
class OwnPart:
    """Weights that are one species' own: for each the feature, the species, and two factors, scaled so that the penalty
    of all is `μ (u² + v²)/2`; the weight is `u v / scale`."""

    feature: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    species: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    u: Array = field(default_factory=lambda: np.empty(0))
    v: Array = field(default_factory=lambda: np.empty(0))
    scale: Array = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.u)

    def dense(self, shape: tuple[int, int]) -> Array:
        """Return the weights as a matrix (F, S)."""
        out = np.zeros(shape)
        out[self.feature, self.species] = self.u * self.v / self.scale
        return out

    def joined(self, more: "OwnPart") -> "OwnPart":
        """Return the part with further weights."""
        return OwnPart(*(np.concatenate([getattr(one, f.name) for one in (self, more)]) for f in fields(OwnPart)))

    def balanced(self, least: float) -> "OwnPart":
        """Return the same weights with factors of one size, without those that are as good as zero."""
        size, sign = np.sqrt(np.abs(self.u * self.v)), np.sign(self.u * self.v)
        keep = size > least * size.max(initial=0.0)
        return replace(self, u=size, v=sign * size).take(keep)

    def take(self, keep: NDArray[np.bool_]) -> "OwnPart":
        """Return some of the weights."""
        return OwnPart(*(getattr(self, f.name)[keep] for f in fields(OwnPart)))


@dataclass(frozen=True)
class Factors:
    """`W = A B`: the axes as combinations of features (F, r), and the place of each species on them (r, S); and what
    is each species' own."""

    a: Array
    b: Array
    own: OwnPart = field(default_factory=OwnPart)

    @classmethod
    def none(cls, features: int, species: int) -> "Factors":
        """Return factors without an axis."""
        return cls(np.zeros((features, 0)), np.zeros((0, species)))

    @property
    def rank(self) -> int:
        """How many axes there are."""
        return int(self.a.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """How many features and species there are."""
        return len(self.a), self.b.shape[1]

    @property
    def product(self) -> Array:
        """The weights that are shared, (F, S)."""
        return self.a @ self.b

    @property
    def weights(self) -> Array:
        """All weights, (F, S)."""
        return self.product + self.own.dense(self.shape) if len(self.own) else self.product

    @property
    def norm(self) -> float:
        """Half the squares of all factors: where they are balanced, the nuclear norm and the scaled l1 norm."""
        return 0.5 * float(sum(np.sum(part**2) for part in (self.a, self.b, self.own.u, self.own.v)))

    @property
    def flat(self) -> Array:
        """All factors as one vector."""
        return np.concatenate([self.a.ravel(), self.b.ravel(), self.own.u, self.own.v])

    def moved(self, direction: Array, size: float) -> "Factors":
        """Return the factors after a step along a vector like `flat`."""
        ends = np.cumsum([self.a.size, self.b.size, len(self.own)])
        a, b, u, v = np.split(direction, ends)
        own = replace(self.own, u=self.own.u + size * u, v=self.own.v + size * v) if len(self.own) else self.own
        return Factors(self.a + size * a.reshape(self.a.shape), self.b + size * b.reshape(self.b.shape), own)

    def joined(self, more: "Factors") -> "Factors":
        """Return the factors with further axes and further own weights."""
        return Factors(np.hstack([self.a, more.a]), np.vstack([self.b, more.b]), self.own.joined(more.own))

    def balanced(self, least: float = 0.0) -> "Factors":
        """Return the same product from its singular vectors, each factor with the roots of the singular values, and
        without those that are at most `least` of the largest."""
        own = self.own.balanced(least)
        if not self.rank:
            return replace(self, own=own)
        qa, ra = np.linalg.qr(self.a)
        qb, rb = np.linalg.qr(self.b.T)
        u, size, v = np.linalg.svd(ra @ rb.T, full_matrices=False)
        keep = size > least * size[0]
        root = np.sqrt(size[keep])
        return Factors((qa @ u[:, keep]) * root, root[:, None] * (v[keep] @ qb.T), own)


@dataclass(frozen=True)
class GroupState:
    """Where a fit is: the weights, the value of the problem without penalties, and what its gradient needs."""

    factors: Factors
    axes: Array  # the sites on the axes, (n, r)
    mass: Array  # the densities of the species, each times its weight (n, S)
    normaliser: Array  # (S,), logarithms
    linear: float  # Σ π φ̃·w
    loss: float


def evaluate_factors(problem: SharedProblem, factors: Factors) -> GroupState:
    """Return the state of some weights."""
    phi, records = problem.phi, problem.records
    axes, theta = np.empty((len(problem.q), factors.rank)), np.empty((len(problem.q), records.count))
    own = factors.own.dense(factors.shape) if len(factors.own) else None

    def score(some: slice) -> None:
        np.matmul(phi[some], factors.a, out=axes[some])
        np.matmul(axes[some], factors.b, out=theta[some])
        if own is not None:
            theta[some] += phi[some] @ own

    problem.over_sites(score)
    mass, normaliser = problem.densities(theta)
    linear = float(np.sum((problem.means.T @ factors.a).T * factors.b))
    if own is not None:
        linear += float(np.sum(problem.means * own))
    return GroupState(factors, axes, mass, normaliser, linear, float(records.weight @ normaliser) - linear)


def factor_gradient(problem: SharedProblem, state: GroupState, strength: float) -> Array:
    """Return the gradient of the loss and the penalty `strength · norm` in all factors, as a vector like `flat`."""
    a, b, own, phi = state.factors.a, state.factors.b, state.factors.own, problem.phi
    if len(own):  # many single weights: from the gradient over all features, which is one product
        whole = problem.gradient(state.mass)
        into_a, into_b = whole @ b.T + strength * a, a.T @ whole + strength * b
        slope = whole[own.feature, own.species] / own.scale
        singles = [slope * own.v + strength * own.u, slope * own.u + strength * own.v]
        return np.concatenate([into_a.ravel(), into_b.ravel(), *singles])

    def part(some: slice) -> tuple[Array, Array]:
        mass = state.mass[some]
        return phi[some].T @ (mass @ b.T), state.axes[some].T @ mass

    into_a, into_b = (add_up(list(each)) for each in zip(*problem.over_sites(part)))
    into_a += strength * a - problem.means @ b.T
    into_b += strength * b - a.T @ problem.means
    return np.concatenate([into_a.ravel(), into_b.ravel()])
