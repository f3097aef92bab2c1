"""Conditional random fields with penalties on the weights: `min_w  log loss + Σ_k l1_k |w_k| + ½ l2_k w_k²`.

The certificate mixes each site's fitted distribution with the smallest sufficient share of its true labels. This is a
feasible point of the dual `max Σ_i H(q_i) − Σ_k U_k(ε_k)`, with `ε = Σ_i f(x_i, y_i) − E_q[f]`. `U_k` is zero up to
l1_k, then a parabola.

The curvature of the log loss is exact on a forest (`sdm.joint.curvature`). With the curvature of the penalty it is used
for Newton's method. Its inverse is the covariance of the weights, and the diagonal contains the squared standard
errors.
"""

import numpy as np

from sdm.errors import OptionError
from sdm.joint.curvature import curvature
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.inference import marginals
from sdm.joint.learners.learned_weights import LearnedWeights
from sdm.joint.likelihood import EPS, Details, LogLoss
from sdm.maxent.solvers.lbfgs import Inverse, Iterate, minimise
from sdm.types import Array

LARGEST = 2000  # largest number of weights for a square matrix in every few steps
LARGEST_ONCE = 5000  # largest number of weights for a single square matrix
SAME = 0.98  # relative to the variance under the penalty alone: above it, the sites are uninformative for a weight
COLLINEAR = 1e8  # relative to the variance without the other weights: above it, features are collinear
FLAT = 1e-11  # relative increase of the diagonal, because the curvature is singular for duplicate features


def fit_crf(
    discriminant: Discriminant,
    sites: LabelledSites,
    l1: Array,
    l2: Array,
    *,
    start: Array | None = None,
    tolerance: float = 1e-4,
    max_iterations: int = 500,
) -> LearnedWeights:
    """Fit a conditional random field to a duality gap of `tolerance` nats per observed label.

    `l1` and `l2` are penalties on absolute values and half squares of the weights; every weight needs one of them.
    """
    if np.any((l1 <= 0) & (l2 <= 0)):
        raise OptionError("every weight needs a positive penalty, l1 or l2: else a CRF may have no finite optimum")
    loss = LogLoss(discriminant, sites)
    labels = np.count_nonzero(sites.labels >= 0)
    gaps: list[float] = []

    def smooth(w: Array) -> tuple[float, Array]:
        value, gradient = loss(w)
        return value + 0.5 * float(l2 @ w**2), gradient + l2 * w

    def done(point: Iterate) -> bool:
        gaps.append(duality_gap(loss.details(point.w), l1, l2) / labels)
        return gaps[-1] <= tolerance

    def inverse(w: Array) -> Inverse:
        curve = hessian(discriminant, sites, w, l2)
        return _inverse_of_blocks(discriminant, curve) if discriminant.in_blocks else _inverse(curve).dot

    begin = np.zeros(discriminant.size) if start is None else start
    newton = discriminant.size <= LARGEST and not l1.any()
    last, iterations = minimise(smooth, begin, l1, done, max_iterations, inverse if newton else None)
    converged = done(last)
    status = "converged" if converged else "iteration limit" if iterations >= max_iterations else "stalled"
    return LearnedWeights(last.w, None, last.value, gaps[-1], status, iterations)


def _inverse_of_blocks(discriminant: Discriminant, curve: Array) -> Inverse:
    """Return the inverse of a curvature that is block-diagonal by species."""
    species, k = discriminant.forest.size, discriminant.n_features
    index = np.arange(species)
    blocks = _inverse(curve.reshape(species, k, species, k)[index, :, index])
    return lambda vector: np.matmul(blocks, vector.reshape(species, k, 1)).ravel()


def _inverse(curve: Array) -> Array:
    """Return the inverse of one curvature or of several, with a small curvature in singular directions."""
    diagonal = np.diagonal(curve, axis1=-2, axis2=-1)
    width = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    both = width[..., :, None] * width[..., None, :]
    return np.asarray(np.linalg.inv(curve / both + FLAT * np.eye(curve.shape[-1])) / both, dtype=np.float64)


def hessian(discriminant: Discriminant, sites: LabelledSites, weights: Array, l2: Array) -> Array:
    """Return the curvature of log loss and squares at a point, `(size, size)`."""
    d = discriminant
    fitted = marginals(d.forest, d.unary(weights, sites.x), d.table(weights), sites.states)
    out = curvature(d, sites, fitted)
    out[np.diag_indices_from(out)] += l2
    return out


def squared_errors(
    discriminant: Discriminant, sites: LabelledSites, weights: Array, l1: Array, l2: Array
) -> Array | None:
    """Return the squared standard error of every weight: the diagonal of the inverse curvature at the optimum.

    Weights without a standard error have zero: weights at zero by the l1 penalty, weights that the sites do not inform,
    and weights of collinear features. With traits, errors are of the total weight of a species, `b + Γ τ`. None if
    there are more than 5,000 weights.
    """
    if discriminant.size > LARGEST_ONCE:
        return None
    free = np.flatnonzero((weights != 0) | (l1 <= 0))
    curve = hessian(discriminant, sites, weights, l2)[np.ix_(free, free)]
    inverse = _inverse(curve)
    errors, alone = np.diag(inverse), np.diag(curve)
    out = np.zeros(discriminant.size)
    informed = (errors * l2[free] < SAME) & (alone > 0.0) & (errors * alone < COLLINEAR)
    out[free] = np.where(informed, errors, 0.0)
    if discriminant.traits is not None:
        _add_traits(discriminant, inverse, out)
    return out


def _add_traits(discriminant: Discriminant, covariance: Array, out: Array) -> None:
    """Replace the variances of the specific weights `b` by the variances of the total weights, including traits."""
    d, traits = discriminant, discriminant.traits
    if traits is None:
        return
    nodes, species = d.split(out)[0], np.arange(d.forest.size)
    for row, k in enumerate(d.crossed):
        rows = species * d.n_features + k
        shared = d.n_unshared + row * traits.shape[1] + np.arange(traits.shape[1])
        mixed = np.sum(traits * covariance[np.ix_(rows, shared)], axis=1)
        common = np.sum((traits @ covariance[np.ix_(shared, shared)]) * traits, axis=1)
        nodes[:, k] = covariance[rows, rows] + 2.0 * mixed + common
    d.corner(out)[:] = d.corner(np.diag(covariance))


def duality_gap(point: Details, l1: Array, l2: Array) -> float:
    """Return the duality gap, in nats."""
    boxed = l2 <= 0
    size = np.abs(point.gradient)
    excess = np.where(boxed & (size > l1), 1.0 - l1 / np.maximum(size, 1e-300), 0.0)
    t = float(excess.max(initial=0.0))
    entropy = point.entropy if t == 0.0 else _mixed_entropy(point.site_losses, point.entropy, t)
    over = np.maximum((1.0 - t) * size - l1, 0.0)[~boxed]
    potential = float(np.sum(over**2 / (2.0 * l2[~boxed])))
    penalty = float(l1 @ np.abs(point.weights) + 0.5 * (l2 @ point.weights**2))
    rounding = point.rounding + 8.0 * EPS * (penalty + potential)
    return float(point.site_losses.sum()) + penalty - (entropy - potential) + rounding


def _mixed_entropy(site_losses: Array, entropy: float, t: float) -> float:
    """Return `Σ_i H((1 − t) p_i + t δ_i)`, from the sum of `H(p_i)` and each `−ln p_i(y_i)`."""
    if t >= 1.0:
        return 0.0
    p = np.exp(-site_losses)
    rest = entropy - float(p @ site_losses)  # the labellings other than the true one
    share = (1.0 - t) * p + t
    others = (1.0 - t) * rest - (1.0 - t) * np.log1p(-t) * float(np.sum(1.0 - p))
    return float(others - share @ np.log(share))
