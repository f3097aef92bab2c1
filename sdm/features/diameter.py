"""The l2 diameter `D₂` of features: the largest distance between the features of two cells."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdm.types import Array

MOST_NUMBERS = 500_000_000  # largest feature matrix for computing distances
MOST_PRODUCTS = 30_000_000_000  # largest number of products to compare all relevant pairs of cells
CHUNK = 1_000_000  # approximate number of distances per block
BLOCK = 10_000_000  # numbers of the feature matrix per block


@dataclass(frozen=True)
class Diameter:
    """Bounds of the diameter, which are equal if it was computed exactly."""

    least: float
    largest: float


def l2_diameter(column: Callable[[int], Array], size: int, means: Array, variances: Array) -> Diameter:
    """Return the diameter of `size` features in [0, 1]; `column` returns their values at all cells.

    The search starts at the cell farthest from the mean, and moves to the farthest cell until the distance does not
    grow. The result is a pair of cells `a` and `b`. A pair with a larger distance has a cell outside the ball around
    their midpoint, so only distances from such cells are computed. If that takes too long, the diameter is bounded.
    Upper bounds are balls around the mean and the midpoint, and the number of features. Lower bounds are a distance, or
    the variances.
    """
    limit = float(np.sqrt(size))
    n = column(0).size
    if size * n > MOST_NUMBERS:  # the mean squared distance is twice the trace of the covariance
        return Diameter(min(float(np.sqrt(2.0 * variances.sum())), limit), limit)

    def squared_distances(cell: int | None) -> Array:
        total = np.zeros(n)
        for j in range(size):
            values = column(j)
            total += (values - (means[j] if cell is None else values[cell])) ** 2
        return total

    around_mean = squared_distances(None)
    a = int(np.argmax(around_mean))
    from_a = squared_distances(a)
    b = int(np.argmax(from_a))
    while (from_b := squared_distances(b)).max() > from_a[b]:
        a, b, from_a = b, int(np.argmax(from_b)), from_b
    square = float(from_a[b])
    squared_radii = np.maximum(0.5 * (from_a + from_b) - 0.25 * square, 0.0)  # distances from the midpoint
    order = np.argsort(-squared_radii, kind="stable")
    radii, longest = np.sqrt(squared_radii[order]), float(np.sqrt(square))
    # Two cells can only be farther apart than `a` and `b` if the sum of their radii is larger, so one is outside the
    # ball.
    outside = int(np.count_nonzero(2.0 * radii > longest))
    reach = np.searchsorted(-radii, radii[:outside] - longest)
    if (reach - np.arange(outside)).sum() * size > MOST_PRODUCTS:
        return Diameter(longest, min(2.0 * float(radii[0]), 2.0 * float(np.sqrt(around_mean.max())), limit))
    rows, wide = max(CHUNK // n, 16), max(BLOCK // n, 1)
    for first in range(0, outside, rows):
        these, others = order[first : min(first + rows, outside)], order[first : int(reach[first])]
        products = np.zeros((these.size, others.size))
        for start in range(0, size, wide):
            block = np.array([column(j) for j in range(start, min(start + wide, size))])
            block -= 0.5 * (block[:, [a]] + block[:, [b]])
            products += block[:, these].T @ block[:, others]
        sums = np.add.outer(squared_radii[these], squared_radii[others])
        square = max(square, float((sums - 2.0 * products).max(initial=0.0)))
    return Diameter(float(np.sqrt(square)), float(np.sqrt(square)))
