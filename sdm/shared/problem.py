"""One convex problem for a group of species: densities over the same sites, and weights on a few shared axes.

    min_W  Σ_s π_s [ ln Σ_i q_i e^{φ(i)·w_s} − φ̃_s·w_s ] + μ ‖W‖_*

With species-specific parts `O`, `W + O` replaces `W` and `Σ_js π_s β_js |O_js|` is added.

`φ` are features of the sites, centred and of unit variance under `q`. `π_s` is the share of all records that belong to
species `s`, and `φ̃_s` the mean of the features at them. The nuclear norm favours few axes, which are combinations of
features that the whole group responds to. Sites are processed in blocks of a fixed size, so that results do not depend
on threads.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.types import Array

BLOCK = 2048  # sites per block


@dataclass(frozen=True)
class Records:
    """The records: one entry for each site and species with records."""

    site: NDArray[np.int64]
    species: NDArray[np.int64]
    share: Array  # share of the species' records; the sum is one for each species
    weight: Array  # π, the share of all records that each species has

    @property
    def count(self) -> int:
        """Return the number of species."""
        return len(self.weight)

    def means(self, phi: Array) -> Array:
        """Return `π_s φ̃_s`, one column for each species."""
        out = np.zeros((self.count, phi.shape[1]))
        np.add.at(out, self.species, (self.share * self.weight[self.species])[:, None] * phi[self.site])
        return out.T


class SharedProblem:
    """Features of the sites `phi` (n, F), their base measure `q`, and the records."""

    def __init__(self, phi: Array, q: Array, records: Records, threads: int = 1) -> None:
        self.phi, self.q, self.records = phi, q, records
        self.means = records.means(phi)
        self.blocks = [slice(a, min(a + BLOCK, len(q))) for a in range(0, len(q), BLOCK)]
        self.threads = max(1, min(threads, len(self.blocks)))

    @property
    def features(self) -> int:
        """Return the number of features."""
        return int(self.phi.shape[1])

    @cached_property
    def covariance(self) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors of the covariance of the features under the base measure."""
        parts = self.over_sites(lambda block: self.phi[block].T @ (self.phi[block] * self.q[block, None]))
        values, vectors = np.linalg.eigh(add_up(parts))
        return np.maximum(values, 0.0), vectors

    @property
    def largest(self) -> float:
        """Return the smallest strength at which the model has no axis."""
        uniform = self.phi.T @ self.q
        return float(np.linalg.norm(uniform[:, None] * self.records.weight - self.means, 2))

    def over_sites(self, work: Callable[[slice], Any]) -> list[Any]:
        """Call a function for every block of sites, in threads, and return the results in order."""
        return self.over_each(self.blocks, work)

    def over_each(self, items: Sequence[Any], work: Callable[[Any], Any]) -> list[Any]:
        """Call a function for every item, in threads, and return the results in order."""
        if self.threads == 1:
            return [work(one) for one in items]
        return list(self._pool.map(work, items))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads)

    def densities(self, theta: Array) -> tuple[Array, Array]:
        """Convert scores (n, S) in place to densities times the weights of their species; return also log
        normalisers."""
        top = np.max(self.over_sites(lambda block: theta[block].max(axis=0)), axis=0)

        def ratios(block: slice) -> Array:
            part = theta[block]
            np.subtract(part, top, out=part)
            np.exp(part, out=part)
            part *= self.q[block, None]
            return np.asarray(part.sum(axis=0))

        total = add_up(self.over_sites(ratios))
        scale = self.records.weight / total

        def finish(block: slice) -> None:
            theta[block] *= scale

        self.over_sites(finish)
        return theta, np.log(total) + top

    def gradient(self, mass: Array) -> Array:
        """Return `G`, one column per species, from densities times the weights of the species."""
        return add_up(self.over_sites(lambda block: self.phi[block].T @ mass[block])) - self.means


def add_up(parts: Sequence[Array]) -> Array:
    """Return the sum of arrays, added in their order."""
    out = parts[0].copy()
    for part in parts[1:]:
        out += part
    return out
