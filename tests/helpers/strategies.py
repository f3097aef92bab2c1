"""Random problems for the property tests: domains with ties, offsets, constants and classes, and samples on them."""

from dataclasses import dataclass

import naive
import numpy as np
from hypothesis import strategies as st

from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet, build_features
from sdm.maxent.correlation import feature_correlation
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import PENALTIES, make_penalty
from sdm.maxent.problem import Problem

ALPHAS = (1.0, 1.2, 1.5, 2.0)
PRESETS = ("maxent", "maxnet", "all", 1, 3, 7)
CLASSES = ("l", "lq", "lqp", "h", "t", "lqpht", "lh", "qt")

seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Case:
    """Cells, which of their columns are classes, a base measure and an empirical distribution."""

    x: np.ndarray
    categorical: tuple[int, ...]
    q0: np.ndarray
    sample: np.ndarray

    @property
    def names(self) -> list[str]:
        return [f"v{v}" for v in range(self.x.shape[1])]

    def domain(self) -> Domain:
        return Domain(self.x, self.names, [f"v{v}" for v in self.categorical], self.q0)

    def features(self, classes: str = "lqpht", knots: str | int = "maxent", empty: bool = False) -> FeatureSet:
        return build_features(self.domain(), classes, knots=knots, sample=self.sample, empty_categories=empty)

    def dense(self, classes: str = "lqpht", knots: str | int = "maxent", empty: bool = False) -> list[naive.Feature]:
        return naive.dense_features(self.x, classes, knots, self.sample, self.categorical, empty)


def rounding(case: Case, dense: list[naive.Feature]) -> np.ndarray:
    """What double precision loses when a raw feature far from zero is scaled to [0, 1], feature by feature."""
    raw = {"q": lambda f: case.x[:, f.var] ** 2, "p": lambda f: case.x[:, f.var] * case.x[:, f.other]}
    out = np.full(len(dense), 1e-12)
    for j, feature in enumerate(dense):
        if feature.letter in raw:
            values = raw[feature.letter](feature)
            out[j] += 1e-14 * np.abs(values).max() / np.ptp(values)
    return out


@st.composite
def columns(draw, n: int) -> np.ndarray:
    """One variable: distinct, tied, with two values, constant; near zero, negative, or far from it."""
    kind = draw(st.sampled_from(["normal", "tied", "binary", "constant", "skewed"]))
    rng = np.random.default_rng(draw(seeds))
    match kind:
        case "normal":
            x = rng.normal(size=n)
        case "tied":
            x = rng.integers(0, draw(st.integers(2, 6)), n).astype(float)
        case "binary":
            x = (rng.random(n) < draw(st.sampled_from([0.1, 0.5]))).astype(float)
        case "constant":
            x = np.zeros(n)
        case _:
            x = np.exp(2 * rng.normal(size=n))
    return draw(st.sampled_from([0.0, -2.5, 1000.0, -1e6])) + draw(st.sampled_from([1.0, 0.01, 300.0])) * x


@st.composite
def cases(draw, max_cells: int = 40, max_variables: int = 3, classes: bool = True) -> Case:
    """A domain of up to `max_cells` cells with at least one variable that varies, and a sample on it."""
    n = draw(st.integers(4, max_cells))
    x = [draw(columns(n)) for _ in range(draw(st.integers(1, max_variables)))]
    rng = np.random.default_rng(draw(seeds))
    categorical: tuple[int, ...] = ()
    if classes and draw(st.booleans()):
        categorical = (len(x),)
        x.append(rng.integers(1, 5, n).astype(float) * 10)
    if all(np.ptp(column) == 0 for column in x):
        x[0] = np.arange(n, dtype=float)
    q0 = rng.random(n) + 0.1 if draw(st.booleans()) else np.ones(n)
    return Case(np.column_stack(x), categorical, q0 / q0.sum(), sample_on(n, rng))


def sample_on(n: int, rng: np.random.Generator) -> np.ndarray:
    """Presences on some cells, now and then several on one, with equal or unequal weights."""
    cells = rng.integers(0, n, rng.integers(1, n + 1))
    weights = rng.random(cells.size) + 0.1 if rng.random() < 0.5 else np.ones(cells.size)
    mass = np.bincount(cells, weights=weights, minlength=n)
    return mass / mass.sum()


@dataclass(frozen=True)
class Pair:
    """The same problem twice: the engine's, and the dense one."""

    problem: Problem
    dense: naive.Dense


SHRINKAGE = 0.01


def make_pair(
    case: Case, alpha: float, penalty: str, *, classes: str = "lq", scale: float = 0.05, power: float = 1.5
) -> Pair:
    """Build both with prices that differ from feature to feature around `scale`."""
    features = case.features(classes, 3)
    columns = naive.matrix(case.dense(classes, 3))
    beta = scale * (1 + np.arange(features.size) % 3)
    correlation = naive.correlations(columns, case.q0, SHRINKAGE) if penalty == "mahalanobis" else None
    own = None if correlation is None else feature_correlation(features, SHRINKAGE).matrix
    problem = Problem(features, case.sample, Entropy(alpha), make_penalty(penalty, beta, power=power, correlation=own))
    shape = {"power": power, "correlation": correlation}
    return Pair(problem, naive.Dense(columns, case.q0, case.sample, alpha, penalty, beta, **shape))


def small_case(seed: int, n: int = 60, variables: int = 2, presences: int = 15, weighted: bool = True) -> Case:
    """A fixed, well-behaved problem: presences drawn where the first variable is high, nothing separable."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, variables))
    q0 = rng.random(n) + 0.5 if weighted else np.ones(n)
    cells = rng.choice(n, presences, p=np.exp(x[:, 0]) / np.exp(x[:, 0]).sum())
    return Case(x, (), q0 / q0.sum(), np.bincount(cells, minlength=n) / presences)


combinations = [(alpha, penalty) for alpha in ALPHAS for penalty in PENALTIES]
