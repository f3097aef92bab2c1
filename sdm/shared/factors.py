"""Weights as a product of two thin factors: axes, and the places of species on them.

`‖W‖_*` is the minimum of `(‖A‖² + ‖B‖²)/2` over all `W = A B`, so the penalty is smooth in the factors.
"""

from dataclasses import dataclass

import numpy as np

from sdm.shared.problem import SharedProblem, add_up
from sdm.shared.specific import SpecificWeights
from sdm.types import Array


@dataclass(frozen=True)
class Factors:
    """`W = A B`: the axes as combinations of features (F, r), and the place of each species on them (r, S)."""

    a: Array
    b: Array

    @classmethod
    def none(cls, features: int, species: int) -> "Factors":
        """Return factors without an axis."""
        return cls(np.zeros((features, 0)), np.zeros((0, species)))

    @property
    def rank(self) -> int:
        """Return the number of axes."""
        return int(self.a.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of features and species."""
        return len(self.a), self.b.shape[1]

    @property
    def product(self) -> Array:
        """Return the shared weights, (F, S)."""
        return self.a @ self.b

    @property
    def norm(self) -> float:
        """Return half the squares of both factors: the nuclear norm of balanced factors."""
        return 0.5 * float(np.sum(self.a**2) + np.sum(self.b**2))

    @property
    def flat(self) -> Array:
        """Return both factors as one vector."""
        return np.concatenate([self.a.ravel(), self.b.ravel()])

    def with_flat(self, flat: Array) -> "Factors":
        """Return factors of the same shapes from a vector like `flat`."""
        a, b = np.split(flat, [self.a.size])
        return Factors(a.reshape(self.a.shape), b.reshape(self.b.shape))

    def joined(self, more: "Factors") -> "Factors":
        """Return the factors with further axes."""
        return Factors(np.hstack([self.a, more.a]), np.vstack([self.b, more.b]))

    def balanced(self, least: float = 0.0) -> "Factors":
        """Return balanced factors with the same product: singular vectors times the roots of the singular values.

        Singular values of at most `least` times the largest are dropped.
        """
        if not self.rank:
            return self
        qa, ra = np.linalg.qr(self.a)
        qb, rb = np.linalg.qr(self.b.T)
        u, size, v = np.linalg.svd(ra @ rb.T, full_matrices=False)
        keep = size > least * size[0]
        root = np.sqrt(size[keep])
        return Factors((qa @ u[:, keep]) * root, root[:, None] * (v[keep] @ qb.T))


@dataclass(frozen=True)
class GroupState:
    """A point of the fit: the weights, the value without penalties, and the terms of its gradient."""

    factors: Factors
    axes: Array  # the sites on the axes, (n, r)
    mass: Array  # (n, S): the densities of the species times their weights
    normaliser: Array  # (S,), in logarithms
    linear: float  # Σ π φ̃·w
    loss: float
    specific: SpecificWeights | None = None

    @property
    def weights(self) -> Array:
        """Return all weights, (F, S)."""
        return self.factors.product if self.specific is None else self.factors.product + self.specific.dense

    def objective(self, strength: float) -> float:
        """Return the value of the problem with penalties, for balanced factors."""
        penalty = 0.0 if self.specific is None else self.specific.penalty
        return self.loss + strength * self.factors.norm + penalty


def evaluate_factors(problem: SharedProblem, factors: Factors, specific: SpecificWeights | None = None) -> GroupState:
    """Return the state of factors; species-specific parts are optimised for them, starting from `specific`."""
    phi, records = problem.phi, problem.records
    axes, theta = np.empty((len(problem.q), factors.rank)), np.empty((len(problem.q), records.count))

    def score(block: slice) -> None:
        np.matmul(phi[block], factors.a, out=axes[block])
        np.matmul(axes[block], factors.b, out=theta[block])

    problem.over_sites(score)
    linear = float(np.sum((problem.means.T @ factors.a).T * factors.b))
    if specific is not None:
        specific = specific.solved(theta)
        linear += float(np.sum(problem.means * specific.dense))
    mass, normaliser = problem.densities(theta)
    return GroupState(factors, axes, mass, normaliser, linear, float(records.weight @ normaliser) - linear, specific)


def factor_gradient(problem: SharedProblem, state: GroupState, strength: float) -> Array:
    """Return the gradient of the value with the penalty `strength · norm` in both factors, as a vector like `flat`.

    Species-specific parts are optimal, so their change does not contribute.
    """
    a, b, phi = state.factors.a, state.factors.b, problem.phi

    def part(block: slice) -> tuple[Array, Array]:
        mass = state.mass[block]
        return phi[block].T @ (mass @ b.T), state.axes[block].T @ mass

    into_a, into_b = (add_up(list(each)) for each in zip(*problem.over_sites(part)))
    into_a += strength * a - problem.means @ b.T
    into_b += strength * b - a.T @ problem.means
    return np.concatenate([into_a.ravel(), into_b.ravel()])


def shown_axes(problem: SharedProblem, factors: Factors) -> tuple[Array, Array, Array]:
    """Return uncorrelated axes of standard deviation 1 over the sites, the places of species, and explained shares.

    The shares are of the variance of the log densities.
    """
    if not factors.rank:
        return factors.a, factors.b, np.empty(0)
    values, vectors = problem.covariance
    turned = vectors.T @ factors.a
    size, turn = np.linalg.eigh(turned.T @ (values[:, None] * turned))
    keep = size > 1e-12 * size[-1]
    root = turn[:, keep] * np.sqrt(size[keep])  # cov = root rootᵀ
    inverse = turn[:, keep] / np.sqrt(size[keep])
    rotation, spread, _ = np.linalg.svd((root.T @ factors.b) * np.sqrt(problem.records.weight), full_matrices=False)
    axes, places = factors.a @ inverse @ rotation, rotation.T @ root.T @ factors.b
    sign = np.where(places[np.arange(len(places)), np.abs(places).argmax(axis=1)] < 0, -1.0, 1.0)
    return axes * sign, places * sign[:, None], spread**2 / np.sum(spread**2)
