"""Variables far from zero: squares and products are as exact there as near it, in the fit and in the prediction."""

from fractions import Fraction

import naive
import numpy as np
import pytest

from sdm import Maxent


def exact_matrix(terms, x):
    """Every linear, quadratic and product term in rational arithmetic, rounded once at the end."""
    rows, columns = [[Fraction(value) for value in row] for row in x], []
    for kind, v, other, lo, hi in zip(terms.kind, terms.var, terms.other, terms.lo, terms.hi):
        second = {0: None, 1: v, 2: other}[int(kind)]
        raw = [row[v] * (1 if second is None else row[second]) for row in rows]
        columns.append([float((value - Fraction(lo)) / (Fraction(hi) - Fraction(lo))) for value in raw])
    return np.array(columns).T


@pytest.mark.parametrize("offset", [0.0, 300.0, -1e9, 1e9, 1e12])
@pytest.mark.parametrize("beta", [None, 0.03])
@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_the_objective_is_that_of_exact_features(offset, beta, alpha):
    rng = np.random.default_rng(1)
    x = offset * np.array([1.0, -1.0, 0.5]) + np.vstack([rng.normal(0.7, 0.6, (30, 3)), rng.normal(size=(150, 3))])
    y = np.repeat([1, 0], [30, 150])
    model = Maxent("lqp", entropy=alpha, tolerance=1e-8, beta=beta).fit(x, y)
    cells, problem, solution = np.vstack([x[y == 0], x[y == 1]]), model.problem_, model.solution_
    matrix = exact_matrix(model.feature_set_.terms(), cells)
    assert matrix.shape[1] == 9
    assert -1e-15 <= matrix.min() <= 1e-4
    assert 1.0 - 1e-4 <= matrix.max() <= 1.0 + 1e-15
    own = np.column_stack([model.feature_set_.column(j) for j in range(9)])
    np.testing.assert_allclose(own, matrix, atol=1e-14)
    np.testing.assert_allclose(problem.expectations(solution.p), solution.p @ matrix, atol=1e-14)
    dense = naive.Dense(matrix, problem.q0, problem.sample, alpha, "l1", problem.penalty.beta)
    assert dense.objective(model.coef_) == pytest.approx(solution.objective, abs=1e-12)
    assert solution.status == "converged"
    assert solution.objective - dense.optimum() <= solution.gap + 1e-9
    np.testing.assert_allclose(
        model.predict(cells, "raw") * len(cells), solution.p / problem.q0, rtol=1e-12, atol=1e-12
    )
