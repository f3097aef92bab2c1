"""Slow and obvious: losses over classes by bisection and sorting, and fits by proximal gradient on dense features."""

import numpy as np
from hypothesis import strategies as st

from sdm.conditional.problem import ClassProblem
from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.maxent.entropy import ClassEntropy
from sdm.maxent.penalty import make_penalty


def phi(p, alpha):
    return p * np.log(np.where(p > 0, p, 1.0)) if alpha == 1 else (p**alpha - p) / (alpha * (alpha - 1))


def project(theta):
    """Project vectors (sites × classes, or one site) on the simplex by sorting: sparsemax."""
    u = np.sort(theta)[..., ::-1]
    level = (np.cumsum(u, axis=-1) - 1) / np.arange(1, u.shape[-1] + 1)
    last = np.count_nonzero(u > level, axis=-1, keepdims=True) - 1
    return np.maximum(theta - np.take_along_axis(level, last, axis=-1), 0.0)


def distribution(theta, alpha):
    """Distributions of sites (sites × classes, or one site): softmax, sparsemax, or the root by bisection."""
    top = theta.max(axis=-1, keepdims=True)
    if alpha == 1:
        e = np.exp(theta - top)
        return e / e.sum(axis=-1, keepdims=True)
    if alpha == 2:
        return project(theta)
    low, high = top, top + 1 / (alpha - 1)
    for _ in range(70):
        tau = 0.5 * (low + high)
        p = np.maximum(1 + (alpha - 1) * (theta - tau), 0.0) ** (1 / (alpha - 1))
        over = p.sum(axis=-1, keepdims=True) > 1
        low, high = np.where(over, tau, low), np.where(over, high, tau)
    return p


def loss(theta, y, alpha):
    """The Fenchel–Young loss of one site, from its definition."""
    p = distribution(theta, alpha)
    conjugate = theta @ p - phi(p, alpha).sum()
    return conjugate - theta @ y + phi(y, alpha).sum()


def objective(w, x, y, alpha, l1=0.0, l2=0.0):
    """Mean loss of weights `(C, J)` on dense features `(n, J)` with targets `(n, C)`, plus penalties."""
    fit = np.mean([loss(w @ x[i], y[i], alpha) for i in range(len(x))])
    return fit + np.sum(l1 * np.abs(w)) + 0.5 * np.sum(l2 * w**2)


def descend(x, y, alpha, l1=0.0, l2=0.0, ball=0.0, rounds=4000):
    """Fit by accelerated proximal gradient descent, restarted where it overshoots; `ball` penalises the norm of all."""
    n, j = x.shape
    w = v = np.zeros((y.shape[1], j))
    step = 1.0 / (np.linalg.norm(x, 2) ** 2 / n + np.max(l2))
    k = 1.0
    for _ in range(rounds):
        p = distribution(x @ v.T, alpha)
        move = v - step * ((p - y).T @ x / n + l2 * v)
        new = np.sign(move) * np.maximum(np.abs(move) - step * l1, 0.0)
        if ball:
            new = new * max(0.0, 1.0 - step * ball / np.linalg.norm(new))
        if np.sum((v - new) * (new - w)) > 0:
            k = 1.0
        after = 0.5 * (1 + np.sqrt(1 + 4 * k * k))
        moved = np.abs(new - w).max()
        v, w, k = new + (k - 1) / after * (new - w), new, after
        if moved < 1e-7:
            break
    return w


@st.composite
def sites(draw):
    """Values, labels and shares at some sites."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, c = draw(st.integers(8, 40)), draw(st.integers(2, 4))
    x = rng.normal(size=(n, 2))
    theta = x @ rng.normal(size=(2, c)) + rng.gumbel(size=(n, c))
    label = np.argmax(theta, axis=1)
    label[: 2 * c] = np.arange(2 * c) % c
    shares = rng.dirichlet(np.full(c, 0.4), size=n)
    return x, label, shares


def make_problem(x, targets, alpha, penalty, penalty_weight, classes="lq", weight=None, same=False):
    """The engine's problem on ordinary features, with penalties that differ from one to the next unless `same`."""
    domain = Domain(x, [f"v{v}" for v in range(x.shape[1])], q0=weight)
    features = build_features(domain, classes, knots=3, sample=domain.q0)
    beta = penalty_weight * (1.0 + (0 if same else 1) * (np.arange(features.size * targets.shape[0]) % 3))
    return ClassProblem(features, targets, ClassEntropy(alpha), make_penalty(penalty, beta))


def dense(problem):
    return np.array([problem.features.column(j) for j in range(problem.features.size)]).T
