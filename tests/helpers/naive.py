"""Slow and obvious re-implementations of what the engine computes, written from the definitions and from nothing else.

Nothing here imports `sdm`. Features are dense columns, sums are taken in extended precision, normalisers are found by
bisection, optima by a general-purpose optimiser. Every fast path is compared with these.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

LONG = np.longdouble

# What an objective of double precision can be off by, for each unit of weight.
ROUNDING = 1e-14

# ------------------------------------------------------------------------------------------------------- ground


def ellipsoid_km2(degrees: float, south: float, north: float) -> float:
    """The area on WGS 84 between two latitudes, so many degrees wide: Gauss–Legendre sum of its area element."""
    a, f = 6378.137, 1 / 298.257223563
    square = f * (2 - f)
    node, weight = np.polynomial.legendre.leggauss(60)
    lat = np.radians(0.5 * (north + south) + 0.5 * (north - south) * node)
    element = a**2 * (1 - square) * np.cos(lat) / (1 - square * np.sin(lat) ** 2) ** 2
    return float(np.radians(degrees) * np.radians(0.5 * (north - south)) * (weight @ element))


# ---------------------------------------------------------------------------------------------------- features


@dataclass(frozen=True)
class Feature:
    """One dense column, and what it is: class letter, variable(s), knot."""

    letter: str
    var: int
    column: np.ndarray
    knot: float = 0.0
    other: int = -1
    direction: str = ""


def scaled(raw):
    """Scale to [0, 1] by the range over the domain; None for a constant."""
    raw = np.asarray(raw, dtype=float)
    return None if raw.max() == raw.min() else (raw - raw.min()) / (raw.max() - raw.min())


def midpoints(x):
    """Between every two consecutive distinct values."""
    values = sorted(set(x.tolist()))
    return [a / 2 + b / 2 if a / 2 + b / 2 > a else b for a, b in pairwise(values)]


def quantiles(x, count):
    """For each level k/(count+1): the mid-point above the first value with that share of cells at or below it."""
    values, knots = sorted(set(x.tolist())), midpoints(x)
    chosen = set()
    for k in range(1, count + 1):
        at = next(i for i, v in enumerate(values) if np.mean(x <= v) >= k / (count + 1))
        chosen.add(min(at, len(values) - 2))
    return [knots[i] for i in sorted(chosen)]


def hinge_knots(x, preset):
    if preset == "maxnet":
        return np.linspace(x.min(), x.max(), 50).tolist()
    return midpoints(x) if isinstance(preset, str) else quantiles(x, preset)


def threshold_knots(x, preset, present):
    if preset == "maxnet":
        return np.linspace(x.min(), x.max(), 52)[1:-1].tolist()
    if not isinstance(preset, str):
        return quantiles(x, preset)
    if preset == "all":
        return midpoints(x)
    return [k for k in midpoints(x) if x[present].min() < k <= x[present].max()]


def dense_features(x, classes, knots="maxent", sample=None, categorical=(), empty_categories=False):
    """Return every feature of the given classes in the engine's order: family by family, variable by variable."""
    n_variables = x.shape[1]
    present = np.ones(len(x), dtype=bool) if sample is None else np.asarray(sample) > 0
    continuous = [v for v in range(n_variables) if v not in categorical]
    varied = [v for v in continuous if x[:, v].max() > x[:, v].min()]
    out = []

    def add(letter, var, column, **more):
        if column is not None:
            out.append(Feature(letter, var, np.asarray(column, dtype=float), **more))

    if "l" in classes:
        for v in continuous:
            add("l", v, scaled(x[:, v]))
    if "q" in classes:
        for v in continuous:
            add("q", v, scaled(x[:, v] ** 2))
    if "p" in classes:
        for a, v in enumerate(continuous):
            for w in continuous[a + 1 :]:
                add("p", v, scaled(x[:, v] * x[:, w]), other=w)
    if "h" in classes:
        for v in varied:
            top = x[:, v].max()
            for k in hinge_knots(x[:, v], knots):
                if k < top:
                    add("h", v, np.maximum(x[:, v] - k, 0) / (top - k), knot=k, direction="forward")
        for v in varied:
            bottom = x[:, v].min()
            for k in hinge_knots(x[:, v], knots):
                if k > bottom:
                    add("h", v, np.maximum(k - x[:, v], 0) / (k - bottom), knot=k, direction="reverse")
    if "t" in classes:
        for v in varied:
            for k in threshold_knots(x[:, v], knots, present):
                add("t", v, x[:, v] >= k, knot=k)
    for v in categorical:
        levels = sorted(set(x[:, v].tolist()))
        for level in levels if len(levels) > 1 else []:
            column = x[:, v] == level
            if empty_categories or np.any(column[present]):
                add("c", v, column, knot=level)
    return out


def matrix(features):
    """Return the `(n, J)` matrix of a list of features."""
    return np.column_stack([feature.column for feature in features])


def expectations(columns, mass):
    """Return Σ_i mass_i f_j(x_i) for every column, in extended precision."""
    return np.array([(LONG(1) * columns[:, j] * mass).sum() for j in range(columns.shape[1])], dtype=float)


def deviations(columns, weights):
    """Return the sample standard deviation of every column at presences with weights; m is Kish's size."""
    share = np.asarray(weights, dtype=LONG) / np.sum(weights, dtype=LONG)
    m = 1 / np.sum(share**2)
    mean = share @ columns
    variance = share @ (columns - mean) ** 2
    return np.sqrt(np.asarray(variance * (m / (m - 1) if m > 1 else 1), dtype=float))


# ------------------------------------------------------------------------------------------------------ penalties

TABLES = {
    "l": [(10, 1.0), (30, 0.2), (100, 0.05)],
    "q": [(0, 1.3), (10, 0.8), (17, 0.5), (30, 0.25), (100, 0.05)],
    "p": [(0, 2.6), (10, 1.6), (17, 0.9), (30, 0.55), (100, 0.05)],
    "t": [(0, 2.0), (100, 1.0)],
    "h": [(0, 0.5)],
    "c": [(0, 0.65), (10, 0.5), (17, 0.25)],
}


def interpolate(table, m):
    """Linear between the rows, flat beyond the ends."""
    if m <= table[0][0]:
        return table[0][1]
    for (a, u), (b, v) in pairwise(table):
        if m <= b:
            return u + (v - u) * (m - a) / (b - a)
    return table[-1][1]


def tabulated_penalty(letter, classes, m, s, mean, rule, multiplier=1.0):
    """Penalties of Java Maxent and maxnet: table · multiplier · s/√m, with each program's exceptions."""
    if letter in "lqp":
        table = TABLES["p" if "p" in classes else "q" if "q" in classes else "l"]
    else:
        table = TABLES[letter]
    if rule == "maxnet" and letter == "t" and mean in (0.0, 1.0):
        return multiplier
    if rule == "maxent":
        s = min(s, 0.5)
    if letter == "h":
        s = max(s, 1 / np.sqrt(m))
    return multiplier * max(interpolate(table, m) * s / np.sqrt(m), 0.001)


def corollary7(sigma2, m, n, delta):
    """generalized-maxent.txt, Appendix A: β_j = √(6ε) √(σ̃² + √(ln(2n/δ)/(2m)) + ε/6) + ε, ε = ln(4n/δ)/(3m)."""
    epsilon = np.log(4 * n / delta) / (3 * m)
    return np.sqrt(6 * epsilon) * np.sqrt(sigma2 + np.sqrt(np.log(2 * n / delta) / (2 * m)) + epsilon / 6) + epsilon


# --------------------------------------------------------------------------------------------------- entropies


def phi(r, alpha):
    """φ_1(r) = r ln r, φ_α(r) = (r^α − r)/(α(α − 1))."""
    r = np.asarray(r, dtype=LONG)
    if alpha == 1:
        return r * np.log(np.where(r > 0, r, 1))
    return (r ** LONG(alpha) - r) / (LONG(alpha) * (LONG(alpha) - 1))


def omega(p, q0, alpha):
    """Ω(p) = Σ q0 φ_α(p/q0)."""
    return float(np.sum(q0 * phi(np.asarray(p, dtype=LONG) / q0, alpha)))


def ratios(theta, tau, alpha):
    s = np.asarray(theta, dtype=LONG) - tau
    if alpha == 1:
        return np.exp(s)
    base = np.maximum(1 + (LONG(alpha) - 1) * s, 0)
    return base ** (1 / (LONG(alpha) - 1))


def gibbs(theta, q0, alpha):
    """Return `p` and `Ω*(θ) = θ·p − Ω(p)` in extended precision, with bisection where there is no formula."""
    theta, q0 = np.asarray(theta, dtype=LONG), np.asarray(q0, dtype=LONG)
    low, high = theta.min() - 1, theta.max() + 1
    if alpha == 1:
        low = high = theta.max() + np.log(np.sum(q0 * np.exp(theta - theta.max())))
    while low < (middle := (low + high) / 2) < high:  # until there is no number between them
        if np.sum(q0 * ratios(theta, middle, alpha)) > 1:
            low = middle
        else:
            high = middle
    p = q0 * ratios(theta, (low + high) / 2, alpha)
    p = p / p.sum()
    conjugate = np.sum(p * theta) - np.sum(q0 * phi(p / q0, alpha))
    return np.asarray(p, dtype=float), float(conjugate)


# --------------------------------------------------------------------------------------------------- penalties


def penalty_value(lam, name, beta, smoothing=0.1, ratio=1.0, power=1.5, correlation=None, dtype=LONG):
    """U*(λ) of each penalty (generalized-maxent.txt Table 1)."""
    lam, beta = np.asarray(lam, dtype=dtype), np.asarray(beta, dtype=dtype)
    match name:
        case "none":
            return 0.0
        case "l1":
            return float(np.sum(beta * np.abs(lam)))
        case "smoothed_l1":
            z = lam / smoothing
            return float(np.sum(smoothing * beta * (np.logaddexp(z, -z) - np.log(dtype(2)))))
        case "l2":
            return float(np.sqrt(np.sum((beta * lam) ** 2)))
        case "l2sq":
            return float(np.sum(beta * lam**2) / 2)
        case "elastic":
            return float(np.sum(beta * np.abs(lam) + ratio * beta * lam**2 / 2))
        case "lp":
            return float(np.sum((beta * np.abs(lam)) ** power) ** (1 / dtype(power)))
        case "mahalanobis":
            root = np.sqrt(beta)
            return float(sum(root[j] * lam[j] * correlation[j] @ (root * lam) for j in range(len(lam))) / 2)
    raise AssertionError(name)


def correlations(f, q0, shrinkage):
    """Return the correlations of the columns of `f` under `q0`, pair by pair, with a share of them left out."""
    mean = q0 @ f
    covariance = np.array([[np.sum(q0 * (a - i) * (b - j)) for b, j in zip(f.T, mean)] for a, i in zip(f.T, mean)])
    spread = np.sqrt(np.diag(covariance))
    out = np.eye(f.shape[1])
    for i in range(len(out)):
        for j in range(len(out)):
            if i != j and spread[i] > 1e-6 and spread[j] > 1e-6:
                out[i, j] = (1 - shrinkage) * covariance[i, j] / (spread[i] * spread[j])
    return out


def penalty_gradient(lam, name, beta, smoothing=0.1, ratio=1.0, power=1.5, correlation=None):
    """∇U*(λ), where it has one."""
    match name:
        case "none":
            return np.zeros_like(lam)
        case "l1":
            return beta * np.sign(lam)
        case "smoothed_l1":
            return beta * np.tanh(lam / smoothing)
        case "l2":
            size = np.sqrt(np.sum((beta * lam) ** 2))
            return beta**2 * lam / size if size > 0 else np.zeros_like(lam)
        case "l2sq":
            return beta * lam
        case "elastic":
            return beta * np.sign(lam) + ratio * beta * lam
        case "lp":
            size = np.sum((beta * np.abs(lam)) ** power) ** (1 / power)
            return beta * np.sign(lam) * (beta * np.abs(lam) / size) ** (power - 1) if size > 0 else np.zeros_like(lam)
        case "mahalanobis":
            return np.sqrt(beta) * (correlation @ (np.sqrt(beta) * lam))
    raise AssertionError(name)


# ----------------------------------------------------------------------------------------------------- problem


@dataclass(frozen=True)
class Dense:
    """The maximum entropy problem with a dense feature matrix `f` of shape (n, J)."""

    f: np.ndarray
    q0: np.ndarray
    sample: np.ndarray
    alpha: float
    name: str
    beta: np.ndarray
    smoothing: float = 0.1
    ratio: float = 1.0
    power: float = 1.5
    correlation: np.ndarray | None = None

    def objective(self, lam):
        """F(λ) = Ω*(Fλ) − λ·μ̃ + U*(λ)."""
        _, conjugate = gibbs(self.f @ lam, self.q0, self.alpha)
        cost = penalty_value(lam, self.name, self.beta, *self._shape)
        return conjugate - float(self.sample @ self.f @ lam) + cost

    @property
    def _shape(self):
        return self.smoothing, self.ratio, self.power, self.correlation

    def optimum(self):
        """Return the least objective that a general-purpose optimiser finds (l2 has no slope at zero)."""
        start = np.random.default_rng(0).normal(size=self.f.shape[1]) * 0.1
        return min(0.0, self._minimise(start))

    def _minimise(self, start):
        mu = self.sample @ self.f
        split = self.name in ("l1", "elastic")

        def smooth(lam):
            theta = self.f @ lam
            p, conjugate = fast_gibbs(theta, self.q0, self.alpha)
            return conjugate - mu @ lam, self.f.T @ p - mu

        def whole(z):
            if split:  # λ = u − v with u, v ≥ 0 makes |λ| linear
                u, v = np.split(z, 2)
                value, gradient = smooth(u - v)
                ridge = self.ratio * self.beta if self.name == "elastic" else 0.0 * self.beta
                value += self.beta @ (u + v) + 0.5 * ridge @ (u - v) ** 2
                bend = ridge * (u - v)
                return value, np.concatenate([gradient + self.beta + bend, -gradient + self.beta - bend])
            value, gradient = smooth(z)
            args = (z, self.name, self.beta, *self._shape)
            return value + penalty_value(*args, dtype=np.float64), gradient + penalty_gradient(*args)

        z = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)]) if split else start
        bounds = [(0, None)] * z.size if split else None
        best = whole(z)[0]
        for _ in range(2):  # restarting forgets the curvature of a bad region
            options = {"maxiter": 1000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30}
            found = minimize(whole, z, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            z, best = found.x, min(best, found.fun)
        return float(best) + ROUNDING * float(np.abs(z).sum())


def fast_gibbs(theta, q0, alpha):
    """`gibbs` in double precision, with bisection on a tight bracket: quick enough to sit inside an optimiser."""
    if alpha == 1:
        top = theta.max()
        weights = q0 * np.exp(theta - top)
        return weights / weights.sum(), float(top + np.log(weights.sum()))
    low, high = float(q0 @ theta), float(theta.max())
    while low < (tau := 0.5 * (low + high)) < high:
        total = q0 @ np.maximum(1 + (alpha - 1) * (theta - tau), 0) ** (1 / (alpha - 1))
        if total > 1:
            low = tau
        else:
            high = tau
    p = q0 * np.maximum(1 + (alpha - 1) * (theta - tau), 0) ** (1 / (alpha - 1))
    p /= p.sum()
    r = p / q0
    return p, float(p @ theta - np.sum(q0 * (r**alpha - r)) / (alpha * (alpha - 1)))


# -------------------------------------------------------------------------------------------------- prediction


def predict_scores(terms, x, lo, hi, clamp):
    """Return λ·f(x) cell by cell and term by term; `terms` are tuples (kind, var, other, knot, lo, hi, weight).

    With `clamp`, continuous variables are held at their training ranges `lo, hi`, and squares and products at theirs.
    """
    out = np.zeros(len(x))
    for i, row in enumerate(np.asarray(x, dtype=float)):
        if np.any(np.isnan(row)):
            out[i] = np.nan
            continue
        for kind, v, w, knot, low, high, weight in terms:
            a = min(max(row[v], lo[v]), hi[v]) if clamp and kind != "category" else row[v]
            b = min(max(row[w], lo[w]), hi[w]) if clamp else row[w]
            match kind:
                case "linear":
                    f = (a - low) / (high - low)
                case "quadratic":
                    f = (a * a - low) / (high - low)
                    f = max(f, 0.0) if clamp else f
                case "product":
                    f = (a * b - low) / (high - low)
                    f = min(max(f, 0.0), 1.0) if clamp else f
                case "forward":
                    f = max(a - knot, 0.0) / (high - knot)
                case "reverse":
                    f = max(knot - a, 0.0) / (knot - low)
                case "threshold":
                    f = 1.0 if a >= knot else 0.0
                case "category":
                    f = 1.0 if a == knot else 0.0
            out[i] += weight * f
    return out


# -------------------------------------------------------------------------------------------------- shared axes


def shared_objective(phi, q, counts, low, own, mu, beta):
    """Return the value of a group's problem; `counts` (n, S) are records at sites, `low` and `own` are (F, S)."""
    weight = counts.sum(axis=0) / counts.sum()
    value = mu * np.linalg.norm(low, "nuc")
    if own is not None:
        value += float(np.sum(weight * beta * np.abs(own)))
    theta = phi @ (low if own is None else low + own)
    for s in range(counts.shape[1]):
        top = theta[:, s].max()
        share = counts[:, s] / counts[:, s].sum()
        value += weight[s] * (top + np.log(q @ np.exp(theta[:, s] - top)) - share @ theta[:, s])
    return float(value)


def shared_proximal(phi, q, counts, mu, beta=None, rounds=30_000):
    """Return the least value of a group's problem, by proximal gradient steps with momentum that begins anew where the
    value rises: slow, and with nothing in common with the solver."""
    features, species = phi.shape[1], counts.shape[1]
    weight, share = counts.sum(axis=0) / counts.sum(), counts / counts.sum(axis=0)
    parts = 1 if beta is None else 2
    step = 1.0 / (parts * np.linalg.eigvalsh(phi.T @ phi).max() * weight.max())  # variance is below the largest square
    here = [np.zeros((features, species)) for _ in range(parts)]
    ahead, inertia = [part.copy() for part in here], 1.0
    value = shared_objective(phi, q, counts, here[0], here[1] if parts > 1 else None, mu, beta)
    value_then = np.inf
    for k in range(rounds):
        if k % 200 == 199:
            if value_then - value < 1e-13:
                break
            value_then = value
        theta = phi @ sum(ahead)
        p = q[:, None] * np.exp(theta - theta.max(axis=0))
        gradient = weight * (phi.T @ (p / p.sum(axis=0) - share))
        u, size, v = np.linalg.svd(ahead[0] - step * gradient, full_matrices=False)
        new = [u * np.maximum(size - step * mu, 0.0) @ v]
        if parts > 1:
            moved = ahead[1] - step * gradient
            new.append(np.sign(moved) * np.maximum(np.abs(moved) - step * weight * beta, 0.0))
        now = shared_objective(phi, q, counts, new[0], new[1] if parts > 1 else None, mu, beta)
        if now > value + 1e-15:
            ahead, inertia = [part.copy() for part in here], 1.0
            continue
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * inertia**2))
        ahead = [a + (inertia - 1.0) / faster * (a - b) for a, b in zip(new, here)]
        here, value, inertia = new, now, faster
    return value


def ridge_values(ridges, x):
    """Return every ridge at every cell, (n, K), one number at a time: the definition."""
    out = np.empty((len(x), len(ridges)))
    for i, row in enumerate(np.asarray(x, dtype=float)):
        for k in range(len(ridges)):
            z = float(ridges.bend[k])
            for v, value in enumerate(row):
                z += float(ridges.directions[k, v]) * (value - float(ridges.centre[v])) / float(ridges.scale[v])
            value = math.cos(z) if ridges.kind[k] == 1 else max(0.0, z)
            out[i, k] = (value - ridges.lo[k]) / (ridges.hi[k] - ridges.lo[k])
    return out


# ------------------------------------------------------------------------------------------------ relaxation path


def exact_path(u, q, m):
    """Return the knots (ν, μ) of a relaxation path in fractions, whether it ends at ν∞, and the sets after each knot.

    Right of every ν the direct solution (Dubiner & Singer 2011, §5) is computed for ν + ε, where numbers are pairs
    (value, multiple of ε) in lexicographic order. The path ends where every atom is on or beyond a border.
    """
    m = [Fraction(x) for x in m]
    u, q = ([Fraction(x) / sum(a * Fraction(b) for a, b in zip(m, v)) for x in v] for v in (u, q))
    nu, knots, sets = Fraction(0), [(Fraction(0), Fraction(0))], []
    while True:
        edges = [((nu * b + s) / a, b / a, j, s) for j, (a, b) in enumerate(zip(u, q)) for s in (-1, 1)]
        big_m, big_u, big_q = -sum(m), Fraction(0), Fraction(0)
        for value, slope, j, s in sorted(edges, key=lambda edge: edge[:2]):
            if (big_m + big_u * value - big_q * nu, big_u * slope - big_q) >= (0, 0):
                break
            big_m, big_u, big_q = big_m + m[j], big_u - s * m[j] * u[j], big_q - s * m[j] * q[j]
        mu, slope = (big_q * nu - big_m) / big_u, big_q / big_u
        z = [(mu * a - nu * b, slope * a - b) for a, b in zip(u, q)]
        sets.append([int(pair >= (1, 0)) - int(pair <= (-1, 0)) for pair in z])
        crossings = [nu + (s - at) / rate for at, rate in z for s in (-1, 1) if rate]
        following = min((at for at in crossings if at > nu), default=None)
        if following is None:
            return knots, False, sets
        mu, nu = mu + slope * (following - nu), following
        knots.append((nu, mu))
        z = [mu * a - nu * b for a, b in zip(u, q)]
        if all(abs(at) >= 1 for at in z):
            return knots, True, [*sets, [1 if at > 0 else -1 for at in z]]
