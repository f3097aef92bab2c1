"""Slow, obvious sums over all labelings, and small problems to try them on."""

import itertools

import numpy as np

from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.graph import Forest

MISSING = [0.0, 0.3]  # share of the labels


def random_forest(rng, size, share=0.8) -> Forest:
    edges = [(int(rng.integers(t)), t) for t in range(1, size) if rng.random() < share]
    edges = [edge if rng.random() < 0.5 else edge[::-1] for edge in edges]
    relabel = rng.permutation(size)
    return Forest(size, relabel[np.array(edges, dtype=np.int64).reshape(-1, 2)].astype(np.int64))


def labelings(state):
    """Every labeling that a site's states allow; species left out have label −1."""
    choices = {-1: (-1,), 0: (0,), 1: (1,), 2: (0, 1)}
    return np.array(list(itertools.product(*(choices[int(s)] for s in state))), dtype=np.int8)


def score(forest, u, table, y):
    total = sum(u[s] for s in range(forest.size) if y[s] == 1)
    for e, (s, t) in enumerate(forest.edges):
        if y[s] >= 0 and y[t] >= 0:
            total += table[e, y[s], y[t]]
    return total


def gibbs(forest, u, table, state):
    """Log-partition, node and edge marginals, best score and labelings with their probability."""
    all_y = labelings(state)
    values = np.array([score(forest, u, table, y) for y in all_y])
    log_z = values.max() + np.log(np.exp(values - values.max()).sum())
    p = np.exp(values - log_z)
    nodes = (p[:, None] * (all_y == 1)).sum(axis=0)
    edges = np.array([(p * ((all_y[:, s] == 1) & (all_y[:, t] == 1))).sum() for s, t in forest.edges])
    return log_z, nodes, edges, values.max(), all_y, p


def problem(seed, missing=0.0, n=25, size=4, features=3):
    """Sites with labels that depend on the environment and on each other."""
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, size, 0.9)
    x = rng.normal(size=(n, features))
    x[:, -1] = 1.0
    truth = Discriminant(forest, features)
    w = rng.normal(size=truth.size)
    unary = truth.unary(w, x) + rng.logistic(size=(n, size))
    labels = (unary > 0).astype(np.int8)
    for s, t in forest.edges:
        copy = rng.random(n) < 0.3
        labels[copy, t] = labels[copy, s]
    labels[rng.random(labels.shape) < missing] = -1
    return truth, LabelledSites(x, labels)


def hinge_of(d, sites):
    """Σ_i max_y [wrong labels − ΔF], over all labelings, which are listed once: a function of the weights."""
    listed = []
    for x, own, state in zip(sites.x, sites.labels, sites.states):
        all_y = labelings(state)
        difference = np.array([features_of(d, x, y) for y in all_y]) - features_of(d, x, own)
        listed.append((difference, np.sum(all_y != own, axis=1)))
    return lambda w: sum(np.max(difference @ w + wrong) for difference, wrong in listed)


def features_of(d, x, y):
    """f(x, y) of one labeling, by definition, in extended precision."""
    out = np.zeros(d.size, dtype=np.longdouble)
    nodes, edges = d.split(out)
    for s in range(d.forest.size):
        if y[s] == 1:
            nodes[s] += x
    for e, (s, t) in enumerate(d.forest.edges):
        if y[s] >= 0 and y[t] >= 0:
            edges[e] += 1.0 if y[s] == y[t] else -1.0
    return out


def interior_points(slope, rows, limits, size, steps=80):
    """Points that approach the minimum of a convex function under `rows @ z >= limits`; `slope` returns its gradient
    and its curvature."""
    z = np.zeros(size)
    slack, price = np.maximum(rows @ z - limits, 1.0), np.ones(len(limits))
    for _ in range(steps):
        gradient, curve = slope(z)
        mean = slack @ price / len(slack)
        missing, aim = rows @ z - slack - limits, 0.1 * mean
        system = curve + rows.T @ ((price / slack)[:, None] * rows)
        system[np.diag_indices(size)] += 1e-14 * np.trace(system) / size
        right = rows.T @ (price + (aim - slack * price - price * missing) / slack) - gradient
        move = np.linalg.solve(system, right)
        slack_move = rows @ move + missing
        price_move = (aim - slack * price - price * slack_move) / slack
        shrinks = [-v[m < 0] / m[m < 0] for v, m in ((slack, slack_move), (price, price_move))]
        length = min(1.0, 0.95 * float(np.min(np.concatenate(shrinks), initial=np.inf)))
        z, slack, price = z + length * move, slack + length * slack_move, price + length * price_move
        if not np.isfinite(z).all() or mean < 1e-15:
            return
        yield z


def least_margin_value(d, sites, c, slope_of, value):
    """The least `R(w) + C Σ_i ξ_i` over all labelings, where `slope_of` returns the slope and the curvature of each
    `r_k(w_k)` for `w_k = u_k − v_k`, `u, v ≥ 0`, and `value(w)` the whole in extended precision."""
    k, n = d.size, sites.n
    rows, limits = [], []
    for i, (x, own, state) in enumerate(zip(sites.x, sites.labels, sites.states)):
        for y in labelings(state):
            difference = np.asarray(features_of(d, x, y) - features_of(d, x, own), dtype=float)
            rows.append(np.concatenate([-difference, difference, np.eye(n)[i]]))
            limits.append(float(np.sum(y != own)))
    rows = np.vstack([rows, np.eye(2 * k, 2 * k + n)])
    limits = np.concatenate([limits, np.zeros(2 * k)])

    def slope(z):
        up, down, curve = slope_of(z[:k], z[k : 2 * k])
        full = np.zeros((len(z), len(z)))
        full[: 2 * k, : 2 * k] = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.diag(curve))
        return np.concatenate([up, down, np.full(n, c)]), full

    points = interior_points(slope, rows, limits, 2 * k + n)
    return min(value(z[:k] - z[k : 2 * k]) for z in points)
