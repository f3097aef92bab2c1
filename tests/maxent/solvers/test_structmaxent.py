"""StructMaxent1 and 2 follow the authors' own program round by round, and end where `newton` ends."""

import csv

import numpy as np
import pytest

from sdm.errors import OptionError
from sdm.features.domain import Domain
from sdm.features.family import Family
from sdm.features.feature_set import FeatureSet
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L1, L2Squared
from sdm.maxent.problem import Problem
from sdm.maxent.solvers.newton import solve_newton
from sdm.maxent.solvers.structmaxent import solve_structmaxent1, solve_structmaxent2, step1, step2

SOLVERS = {"v1": solve_structmaxent1, "v2": solve_structmaxent2}


class Dense(Family):
    """Features given by their matrix, for tests."""

    letter = "d"

    def __init__(self, domain, matrix):
        self.domain, self.matrix = domain, matrix
        self.var = np.zeros(matrix.shape[1], dtype=np.int64)

    groups = property(lambda self: np.arange(self.size))

    def moments(self, measure):
        return measure.mass @ self.matrix, measure.mass @ self.matrix**2

    def column(self, j):
        return self.matrix[:, j].copy()

    def add_scores(self, weights, table, theta):
        theta += self.matrix @ weights

    def terms(self):
        raise AssertionError("not needed")

    def subset(self, keep):
        return Dense(self.domain, self.matrix[:, keep])


def dense_problem(matrix, sample, beta, alpha=1.0):
    domain = Domain(matrix, [f"x{j}" for j in range(matrix.shape[1])])
    return Problem(FeatureSet(domain, [Dense(domain, matrix)]), sample, Entropy(alpha), L1(beta))


def reference(shared, run, version):
    """Read one of the reference runs: the problem, and round by round direction, step and objective."""
    folder = shared / "reference" / "structmaxent"
    with open(folder / "problem.csv") as file:
        rows = list(csv.DictReader(file))
    x = np.array([[float(row[name]) for name in list(row)[1:6]] for row in rows])
    count = np.array([float(row["n_train"]) for row in rows])
    (features,) = folder.glob(f"{run}_*_{version}.features.csv")
    with open(features) as file:
        features = list(csv.DictReader(file, delimiter=";"))
    columns = []
    for feature in features:
        text = feature["definition"]
        if ">" in text:
            v, knot = text.split(">")
            columns.append((x[:, int(v[1:])] > float(knot)).astype(float))
        else:
            columns.append(np.prod([x[:, int(v[1:])] for v in text.split("*")], axis=0))
    complexity = np.array([float(feature["complexity"]) for feature in features])
    expected = np.array([float(feature["sample_expectation"]) for feature in features])
    (curve,) = folder.glob(f"{run}_*_{version}.curve.csv")
    with open(curve) as file:
        rounds = list(csv.DictReader(file))
    return np.column_stack(columns), count / count.sum(), complexity, expected, rounds


# The program charges 2λB + β where the paper's §4 has λB + β (reference/README.md).
PRICES = {"A": (0.0, 0.05), "B": (0.05, 0.01)}


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("run", ["A", "B"])
def test_follows_the_authors_program(shared, run, version):
    matrix, sample, complexity, expected, rounds = reference(shared, run, version)
    lam, beta = PRICES[run]
    problem = dense_problem(matrix, sample, 2 * lam * complexity + beta)
    np.testing.assert_allclose(problem.mu, expected, atol=1e-7)
    steps = 120
    solution = SOLVERS[version](
        problem, tolerance=1e-12, max_iterations=steps, bound=1.0
    )  # it does not centre features
    objectives = [item.objective for item in solution.history]
    np.testing.assert_allclose(objectives, [float(row["objective"]) for row in rounds[:steps]], atol=2e-7)


@pytest.mark.parametrize("run", ["A", "B"])
def test_same_optimum_as_newton(shared, run):
    matrix, sample, complexity, _, rounds = reference(shared, run, "v1")
    lam, beta = PRICES[run]
    problem = dense_problem(matrix, sample, 2 * lam * complexity + beta)
    best = solve_newton(problem, tolerance=1e-10)
    assert best.objective == pytest.approx(float(rounds[-1]["objective"]), abs=1e-6)
    for solve in SOLVERS.values():
        solution = solve(problem, tolerance=1e-6, max_iterations=20_000)
        assert solution.status == "converged"
        assert solution.objective == pytest.approx(best.objective, abs=1e-6)
        assert solution.iterations > 10 * best.iterations


@pytest.mark.parametrize("solve", SOLVERS.values())
def test_decreases_monotonically_and_converges(solve):
    rng = np.random.default_rng(5)
    for _ in range(10):
        matrix = rng.random((40, 6)) * (rng.random((40, 6)) < 0.8)
        sample = rng.multinomial(12, np.full(40, 1 / 40)) / 12
        problem = dense_problem(matrix, sample, rng.uniform(0.02, 0.2, 6))
        solution = solve(problem, tolerance=1e-7, max_iterations=20_000)
        objectives = np.array([item.objective for item in solution.history])
        assert np.all(np.diff(objectives) <= 1e-12)
        assert solution.objective == pytest.approx(solve_newton(problem, tolerance=1e-9).objective, abs=1e-6)


@pytest.mark.parametrize("solve", SOLVERS.values())
def test_centred_features_take_fewer_rounds_to_the_same_optimum(solve):
    """The program of the authors takes features in [0, 1] as if they could be anywhere in [−1, 1]."""
    rng = np.random.default_rng(6)
    matrix = rng.random((60, 8)) < 0.4
    sample = rng.multinomial(20, np.full(60, 1 / 60)) / 20
    problem = dense_problem(matrix.astype(float), sample, np.full(8, 0.03))
    centred, plain = (solve(problem, tolerance=1e-6, max_iterations=20_000, bound=bound) for bound in (0.5, 1.0))
    assert centred.objective == pytest.approx(plain.objective, abs=2e-6)
    assert centred.iterations < 0.7 * plain.iterations
    assert np.all(np.diff([item.objective for item in centred.history]) <= 1e-12)


def test_a_step_minimises_the_bound_that_it_is_derived_from():
    """Against a search over steps, of the bounds of §2.4 written down once more."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        w, q, mu, beta = rng.normal(), rng.uniform(0.05, 0.95), rng.uniform(0.3, 0.7), rng.uniform(0.01, 0.2)
        steps = np.linspace(-6, 6, 240_001)
        penalty = beta * np.abs(w + steps) - steps * mu
        convex = np.log(1 - q + q * np.exp(steps))  # f in [0, 1], so that Φ = f − ½ is in [−½, ½]
        hoeffding = steps * q + steps**2 / 8
        assert step1(w, q, mu, beta) == pytest.approx(steps[np.argmin(penalty + convex)], abs=1e-4)
        assert step2(w, q - mu, beta) == pytest.approx(steps[np.argmin(penalty + hoeffding)], abs=1e-4)


def test_refuses_what_it_is_not_derived_for():
    matrix = np.random.default_rng(1).random((20, 2))
    sample = np.full(20, 0.05)
    with pytest.raises(OptionError, match="Shannon"):
        solve_structmaxent2(dense_problem(matrix, sample, np.full(2, 0.1), alpha=1.5))
    problem = dense_problem(matrix, sample, np.full(2, 0.1))
    problem.penalty = L2Squared(np.full(2, 0.1))
    with pytest.raises(OptionError, match="l1"):
        solve_structmaxent1(problem)
