"""The discriminant function of a joint model: `F(x, y; w) = Σ_s y_s w_s·f(x) + Σ_(s,t) w_st·g(y_s, y_t)`.

Species (or positions of a chain) may share weights: `node_block` says which block of weights each node has, and
`edge_block` each edge. For species every node and edge has its own; for a chain of like positions all share one.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdm.joint.graph import Forest
from sdm.joint.inference import ABSENT, FREE, States
from sdm.types import Array

# g of an edge: +1 if both species are there or both are not, −1 otherwise. Its weight is their association.
AGREEMENT = np.array([[[1.0, -1.0], [-1.0, 1.0]]])


@dataclass(frozen=True)
class Discriminant:
    """The shape of `F`: its weights, and the functions that they multiply."""

    forest: Forest
    n_features: int  # length of `f(x)`
    pair: Array  # (G, 2, 2): the functions `g` of the labels at an edge's first and second end
    node_block: NDArray[np.int64]  # (S,)
    edge_block: NDArray[np.int64]  # (E,)
    traits: Array | None = None  # (S, T): of the species; each changes the weights of the crossed features
    first: int = 0  # traits change the weights of the features from this one to the bias, which is the last

    @classmethod
    def of_species(cls, forest: Forest, n_features: int) -> "Discriminant":
        """Return the discriminant in which every species and every edge has weights of its own."""
        return cls(forest, n_features, AGREEMENT, np.arange(forest.size), np.arange(len(forest.edges)))

    def with_traits(self, traits: Array, first: int) -> "Discriminant":
        """Return it with traits of the species, that change the weights of features from the `first` to the bias."""
        return replace(self, traits=traits, first=first)

    @property
    def crossed(self) -> NDArray[np.int64]:
        """The features whose weights have a part `Γ τ_s` that species share through their traits."""
        return np.arange(self.first, self.n_features - 1)

    @property
    def n_node_blocks(self) -> int:
        """How many blocks of node weights."""
        return int(self.node_block.max()) + 1

    @property
    def n_edge_blocks(self) -> int:
        """How many blocks of edge weights."""
        return int(self.edge_block.max(initial=-1)) + 1

    @property
    def size(self) -> int:
        """How many weights."""
        return self.own_size + self.n_shared

    @property
    def own_size(self) -> int:
        """How many weights of blocks of nodes and edges: all but those that species share through traits."""
        return self.n_node_blocks * self.n_features + self.n_edge_blocks * len(self.pair)

    @property
    def n_shared(self) -> int:
        """How many weights species share through their traits."""
        return 0 if self.traits is None else len(self.crossed) * self.traits.shape[1]

    def split(self, vector: Array) -> tuple[Array, Array]:
        """Return the node weights, one row per block, and the edge weights, one row per block."""
        cut = self.n_node_blocks * self.n_features
        nodes = vector[:cut].reshape(self.n_node_blocks, self.n_features)
        return nodes, vector[cut : self.own_size].reshape(self.n_edge_blocks, len(self.pair))

    def corner(self, vector: Array) -> Array:
        """Return the weights of traits and features, Γ: one row per crossed feature, one column per trait."""
        return vector[self.own_size :].reshape(len(self.crossed), -1)

    def node_weights(self, weights: Array) -> Array:
        """Return the weights of every node, `(S, K)`, with what its traits add."""
        blocks = self.split(weights)[0][self.node_block]
        if self.traits is not None:
            blocks[:, self.crossed] += self.traits @ self.corner(weights).T
        return blocks

    @property
    def in_blocks(self) -> bool:
        """Whether the weights of a species have nothing to do with those of others: no edges, and nothing shared."""
        return not len(self.forest.edges) and self.traits is None and self.n_node_blocks == self.forest.size

    @property
    def slopes(self) -> Array:
        """`(3, G)`: what `E[g]` gains per unit of `P(y_s)`, of `P(y_t)` and of `P(y_s, y_t)`."""
        g = self.pair
        return np.array(
            [g[:, 1, 0] - g[:, 0, 0], g[:, 0, 1] - g[:, 0, 0], g[:, 1, 1] - g[:, 1, 0] - g[:, 0, 1] + g[:, 0, 0]]
        )

    def unary(self, weights: Array, x: Array) -> Array:
        """Return `w_s·f(x_i)` for every site and node; `x` is `(n, 1, K)`, or `(n, S, K)` if nodes differ in it."""
        blocks = self.node_weights(weights)
        if x.shape[1] == 1:
            return np.ascontiguousarray(x[:, 0] @ blocks.T)
        return np.ascontiguousarray(np.einsum("nsk,sk->ns", x, blocks))

    def table(self, weights: Array) -> Array:
        """Return every edge's `w·g` for its four pairs of labels, `(E, 2, 2)`."""
        return np.ascontiguousarray(np.einsum("eg,gab->eab", self.split(weights)[1][self.edge_block], self.pair))

    def moments(self, x: Array, nodes: Array, edges: Array, states: States) -> Array:
        """Return `Σ_i E_i[∂F/∂w]` from the sites' marginals; species and edges that states leave out count nothing."""
        total = np.zeros(self.size)
        node_total, edge_total = self.split(total)
        if x.shape[1] == 1:
            sums = nodes.T @ x[:, 0]
        else:
            sums = np.einsum("ns,nsk->sk", nodes, x)
        np.add.at(node_total, self.node_block, sums)
        if self.traits is not None:
            self.corner(total)[:] = sums[:, self.crossed].T @ self.traits
        known = (states != ABSENT).astype(np.float64)
        first, second = self.forest.edges.T
        both = known[:, first] * known[:, second]
        parts = [np.einsum("ne,ne->e", both, part) for part in (nodes[:, first], nodes[:, second], edges)]
        sums = np.outer(both.sum(axis=0), self.pair[:, 0, 0]) + np.stack(parts, axis=1) @ self.slopes
        np.add.at(edge_total, self.edge_block, sums)
        return total


@dataclass(frozen=True)
class LabelledSites:
    """Features and labels of sites, which a joint model learns from."""

    x: Array  # (n, 1, K), or (n, S, K): `f(x)`, the same for all nodes of a site or one each
    labels: States  # (n, S): 1, 0, or −1: not known, so that the species is left out of the site, with its edges

    @property
    def n(self) -> int:
        """How many sites."""
        return int(self.labels.shape[0])

    @property
    def states(self) -> States:
        """The states when learning: every label that is known varies."""
        return np.where(self.labels >= 0, FREE, ABSENT).astype(np.int8)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "LabelledSites":
        """Return some of the sites."""
        return LabelledSites(np.ascontiguousarray(self.x[rows]), np.ascontiguousarray(self.labels[rows]))


def of_labels(forest: Forest, labels: States) -> tuple[Array, Array]:
    """Return labelings as marginals: which species are there, and which edges have both ends there."""
    nodes = (labels > 0).astype(np.float64)
    return nodes, nodes[:, forest.edges[:, 0]] * nodes[:, forest.edges[:, 1]]
