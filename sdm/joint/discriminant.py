"""The discriminant function of a joint model: `F(x, y; w) = Σ_s y_s w_s·f(x) + Σ_(s,t) w_st g(y_s, y_t)`.

Every species has a weight for each feature of a site, and every edge has one weight, the association of its ends.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdm.joint.graph import Forest
from sdm.joint.inference import ABSENT, FREE, States
from sdm.types import Array

# g of an edge: +1 if both species are present or both absent, −1 otherwise. So `E[g] = 1 − 2 P(y_s) − 2 P(y_t) + 4
# P(y_s, y_t)`.
AGREEMENT = np.array([[1.0, -1.0], [-1.0, 1.0]])


@dataclass(frozen=True)
class Discriminant:
    """The structure of `F`: the layout of its weights and the functions that they multiply."""

    forest: Forest
    n_features: int  # length of `f(x)`
    traits: Array | None = None  # (S, T): traits of the species; each changes the weights of the crossed features
    first: int = 0  # crossed features are from this one to the last before the bias

    def with_traits(self, traits: Array, first: int) -> "Discriminant":
        """Return the discriminant with traits of the species, which change the weights of features from `first` on."""
        return replace(self, traits=traits, first=first)

    @property
    def crossed(self) -> NDArray[np.int64]:
        """Return the features whose weights have a part `Γ τ_s` that species share through their traits."""
        return np.arange(self.first, self.n_features - 1)

    @property
    def size(self) -> int:
        """Return the number of weights."""
        return self.n_unshared + self.n_shared

    @property
    def n_unshared(self) -> int:
        """Return the number of weights of species and edges, without weights that species share through traits."""
        return self.forest.size * self.n_features + len(self.forest.edges)

    @property
    def n_shared(self) -> int:
        """Return the number of weights that species share through their traits."""
        return 0 if self.traits is None else len(self.crossed) * self.traits.shape[1]

    def split(self, vector: Array) -> tuple[Array, Array]:
        """Return the weights of the species, one row each, and the weights of the edges."""
        cut = self.forest.size * self.n_features
        return vector[:cut].reshape(self.forest.size, self.n_features), vector[cut : self.n_unshared]

    def corner(self, vector: Array) -> Array:
        """Return the weights of traits and features, Γ: one row per crossed feature, one column per trait."""
        return vector[self.n_unshared :].reshape(len(self.crossed), -1)

    def node_weights(self, weights: Array) -> Array:
        """Return the total weights of every node, `(S, K)`, including the effect of its traits."""
        nodes = self.split(weights)[0].copy()
        if self.traits is not None:
            nodes[:, self.crossed] += self.traits @ self.corner(weights).T
        return nodes

    @property
    def in_blocks(self) -> bool:
        """Return whether the weights of different species are independent: no edges, and no shared weights."""
        return not len(self.forest.edges) and self.traits is None

    def unary(self, weights: Array, x: Array) -> Array:
        """Return `w_s·f(x_i)` for every site and species; `x` is `(n, K)`."""
        return np.ascontiguousarray(x @ self.node_weights(weights).T)

    def table(self, weights: Array) -> Array:
        """Return every edge's `w g` for its four pairs of labels, `(E, 2, 2)`."""
        return np.asarray(self.split(weights)[1][:, None, None] * AGREEMENT)

    def moments(self, x: Array, nodes: Array, edges: Array, states: States) -> Array:
        """Return `Σ_i E_i[∂F/∂w]` from the sites' marginals; absent species and their edges do not contribute."""
        total = np.zeros(self.size)
        node_total, edge_total = self.split(total)
        node_total[:] = nodes.T @ x
        if self.traits is not None:
            self.corner(total)[:] = node_total[:, self.crossed].T @ self.traits
        observed = states != ABSENT
        first, second = self.forest.edges.T
        agreement = 1.0 - 2.0 * nodes[:, first] - 2.0 * nodes[:, second] + 4.0 * edges
        edge_total[:] = np.sum(agreement, axis=0, where=observed[:, first] & observed[:, second])
        return total


@dataclass(frozen=True)
class LabelledSites:
    """Features and labels of the sites of a fit."""

    x: Array  # (n, K): `f(x)`
    labels: States  # (n, S): 1, 0, or −1 for a missing label, which excludes the species and its edges at the site

    @property
    def n(self) -> int:
        """Return the number of sites."""
        return int(self.labels.shape[0])

    @property
    def states(self) -> States:
        """Return the states of a fit: all observed labels are free."""
        return np.where(self.labels >= 0, FREE, ABSENT).astype(np.int8)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "LabelledSites":
        """Return a subset of the sites."""
        return LabelledSites(np.ascontiguousarray(self.x[rows]), np.ascontiguousarray(self.labels[rows]))


def of_labels(forest: Forest, labels: States) -> tuple[Array, Array]:
    """Return labellings as marginals: present species, and edges with both ends present."""
    nodes = (labels > 0).astype(np.float64)
    return nodes, nodes[:, forest.edges[:, 0]] * nodes[:, forest.edges[:, 1]]
