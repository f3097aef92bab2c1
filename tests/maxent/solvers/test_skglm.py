"""L1 Shannon maxent against skglm, whose Poisson regression with an l1 penalty is the same problem with an intercept.

With counts `y_i = N π̃_i`, intercept `b` and base measure 1/N, skglm minimises over b and w

    (1/N) Σ_i [e^{b + f_i·w} − y_i (b + f_i·w)] + Σ_j α_j |w_j|.

At the best b, `(1/N) Σ e^{b + f_i·w} = 1`, so `b = −ln((1/N) Σ e^{f_i·w})` and the value is `1 + F(w)`: our objective.
The intercept is a column of ones without a penalty, since skglm's own has none of the penalties' length.
"""

import os
import subprocess
import sys

import naive
import numpy as np
import pytest
from strategies import small_case

from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L1
from sdm.maxent.problem import Problem
from sdm.maxent.solvers.newton import solve_newton

pytest.importorskip("skglm")

# In a process of its own without the JIT: compiling skglm's classes takes longer than all else here.
SKGLM = """
import sys, numpy as np
from skglm.datafits import Poisson
from skglm.penalties import WeightedL1
from skglm.solvers import ProxNewton
given = np.load(sys.argv[1])
out = {}
for name in sorted({key.split("_")[0] for key in given}):
    x, y, penalty = (given[f"{name}_{part}"] for part in ("x", "y", "penalty"))
    solver = ProxNewton(tol=1e-9, max_iter=200, max_pn_iter=2000, fit_intercept=False)
    out[name], _, stop = solver.solve(np.asfortranarray(x), y, Poisson(), WeightedL1(1.0, penalty))
    assert stop < 1e-7, (name, stop)
np.savez(sys.argv[2], **out)
"""


def problem_of(seed, scale):
    case = small_case(seed, n=150, variables=3, presences=30, weighted=False)
    columns = naive.matrix(case.dense("lqph", 5))
    return case, columns, scale * (1 + np.arange(columns.shape[1]) % 3)


SETTINGS = {f"case{k}": (30 + k, scale) for k, scale in enumerate([0.005, 0.02, 0.05, 0.01, 0.03])}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """skglm's weights (the last is the intercept) for every setting."""
    folder = tmp_path_factory.mktemp("skglm")
    given = {}
    for name, (seed, scale) in SETTINGS.items():
        case, columns, beta = problem_of(seed, scale)
        given[f"{name}_x"] = np.hstack([columns, np.ones((len(columns), 1))])
        given[f"{name}_y"] = len(columns) * case.sample
        given[f"{name}_penalty"] = np.append(beta, 0.0)
    np.savez(folder / "given.npz", **given)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", SKGLM, str(folder / "given.npz"), str(folder / "out.npz")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(np.load(folder / "out.npz"))


@pytest.mark.thorough
@pytest.mark.parametrize("name", SETTINGS)
def test_the_same_objective_to_a_millionth(name, theirs):
    case, columns, beta = problem_of(*SETTINGS[name])
    ours = solve_newton(Problem(case.features("lqph", 5), case.sample, Entropy(1.0), L1(beta)), tolerance=1e-9)
    weights, intercept = theirs[name][:-1], theirs[name][-1]
    dense = naive.Dense(columns, case.q0, case.sample, 1.0, "l1", beta)
    assert ours.objective == pytest.approx(dense.objective(weights), abs=1e-6)
    eta = columns @ weights + intercept
    value = float(np.mean(np.exp(eta) - len(columns) * case.sample * eta) + beta @ np.abs(weights))
    assert value == pytest.approx(1.0 + ours.objective, abs=1e-6)
    np.testing.assert_allclose(np.exp(eta) / len(columns), ours.p, atol=1e-5)
    assert 0 < ours.n_nonzero < len(beta)
