"""Importance of variables: permutation importance, percent contribution and the jackknife.

All three work for every entropy, penalty and feature family, including trees, monomials and ridges.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sdm.assess.assessor import PRESENCE_ONLY, Assessor
from sdm.assess.fits import run_all
from sdm.assess.measures.basic import auc
from sdm.assess.splits.folds import Divisible, at_least
from sdm.data.place import variable_groups
from sdm.estimators.params import Parameters
from sdm.executors.ahead import over_cells
from sdm.features.family import Family
from sdm.features.finite.ridge import RidgeFamily
from sdm.features.growing.grown import GrownFamily
from sdm.maxent.problem import Problem
from sdm.models.species import Model
from sdm.progress.telling import step_by_step
from sdm.types import Array, Index, Progress

NODES = 32  # quadrature nodes: exact to rounding for Shannon, to 1e-5 nats for others


@dataclass(frozen=True)
class Permutation:
    """The mean decrease in performance when a variable is shuffled, its standard deviation, and both in percent."""

    variable: str
    percent: float
    deviation: float
    drop: float
    drop_deviation: float


def permutation_importance(
    model: Model,
    presence: Array,
    background: Array,
    *,
    repeats: int = 10,
    seed: int = 1,
    progress: Progress | None = None,
) -> list[Permutation]:
    """Shuffle each variable in turn over presences and background together, and measure the decrease in performance.

    The variables of place are shuffled together and have one row. Performance is the training AUC, with presences as
    part of the domain, as in Java Maxent. Percentages are of the sum of positive mean decreases. `deviation` is the
    standard deviation over the repeats, also in percent.
    """

    def quality(columns: list[Array]) -> float:
        raw = model.predict_columns(columns, "raw")
        return auc(raw[:m], raw)

    rows, m = np.vstack([presence, background]), len(presence)
    rng = np.random.default_rng(seed)
    return permute_variables(quality, rows, model.names, repeats, rng, progress)


def permute_variables(
    quality: Callable[[list[Array]], float],
    rows: Array,
    names: Sequence[str],
    repeats: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[Permutation]:
    """Shuffle each variable in turn over the rows `(n, V)`, and measure the decrease in `quality`; place is one
    variable."""
    at_least(1, "repeats", repeats)
    columns, groups = list(np.ascontiguousarray(rows.T)), variable_groups(names)
    baseline = quality(columns)
    drops = np.empty((len(groups), repeats))

    def quality_after(group: Sequence[int], order: Index) -> float:
        return quality([column[order] if v in group else column for v, column in enumerate(columns)])

    for row, group in step_by_step(list(zip(drops, groups.values())), progress, "importance"):
        orders = (rng.permutation(len(rows)) for _ in range(repeats))
        row[:] = [baseline - q for q in over_cells(partial(quality_after, group), orders, len(rows))]
    mean = drops.mean(axis=1)
    spread = drops.std(axis=1, ddof=1) if repeats > 1 else np.full(len(mean), np.nan)
    total = float(np.maximum(mean, 0.0).sum())
    scale = 100.0 / total if total > 0 else 0.0
    return [
        Permutation(name, max(float(a), 0.0) * scale, float(b) * scale, float(a), float(b))
        for name, a, b in zip(groups, mean, spread)
    ]


@dataclass(frozen=True)
class Contribution:
    """A variable's part of the training gain, in nats and in percent of all positive parts."""

    variable: str
    percent: float
    gain: float


def percent_contribution(problem: Problem, weights: Array) -> list[Contribution]:
    """Divide the training gain of a fit (`problem_`, `coef_`) among the variables, independently of the solver's path.

    Java Maxent credits each step of its algorithm to the feature that was changed, so its percentages depend on the
    path. Here the weights grow in proportion from 0 to `λ`. The gain `G(tλ) = tλ·π̃[f] − Ω*(tFλ)` rises along that line
    at the rate `Σ_j λ_j (π̃[f_j] − p_t[f_j])`. So feature `j` contributes `λ_j ∫₀¹ (π̃[f_j] − p_t[f_j]) dt` (its
    Aumann–Shapley value). The parts sum to the gain without its penalty.

    A feature of several variables is divided among them equally, and a ridge by the squares of its direction. The
    variables of place count as one.
    """
    groups = variable_groups([variable.name for variable in problem.domain.variables])
    each = _shares(problem, weights)
    shares = np.array([each[columns].sum(axis=0) for columns in groups.values()])
    nothing = np.zeros(problem.domain.n)
    parts = np.array([problem.features.scores(weights * share) if share.any() else nothing for share in shares])
    theta = parts.sum(axis=0)
    node, measure = np.polynomial.legendre.leggauss(NODES)
    mean = np.zeros_like(theta)
    for t, dt in zip(0.5 * (node + 1.0), 0.5 * measure):
        mean += dt * problem.q0 * problem.entropy.gibbs(t * theta, problem.q0).ratio
    gains = parts @ (problem.sample - mean)
    total = float(np.maximum(gains, 0.0).sum())
    scale = 100.0 / total if total > 0 else 0.0
    return [Contribution(name, max(float(g), 0.0) * scale, float(g)) for name, g in zip(groups, gains)]


def _shares(problem: Problem, weights: Array) -> Array:
    """Return the share of every variable in every feature with a nonzero weight.

    It is one over the feature's number of variables, or for a ridge the square of the variable's coefficient in its
    direction.
    """
    out = np.zeros((len(problem.domain.variables), weights.size))
    for family, first in zip(problem.features.families, problem.features.offsets):
        members = np.flatnonzero(weights[first : first + family.size])
        if isinstance(family, RidgeFamily):
            out[:, first + members] = family.ridges.shares()[members].T
            continue
        for j in members:
            used = used_variables(family, int(j))
            out[used, first + j] = 1.0 / len(used)
    return out


def used_variables(family: Family, j: int) -> list[int]:
    """Return the variables of a family's feature `j`."""
    if isinstance(family, GrownFamily):
        return sorted({int(v) for v in family.shapes[j].var})
    if isinstance(family, RidgeFamily):
        return np.flatnonzero(family.ridges.directions[j]).tolist()
    return sorted({int(family.var[j]), int(getattr(family, "other", family.var)[j])})


@dataclass(frozen=True)
class Jackknife:
    """A model without a variable, with it only, or with all variables (`variable` is empty).

    For a species, `train_gain` is the regularised training gain; `train_auc` and `test_auc` are against the training
    domain. For classes, gains are decreases in log loss against the null model, and AUCs are means over the classes.
    Values that need test records are NaN without them.
    """

    variable: str
    kind: str
    train_gain: float
    train_auc: float
    test_gain: float
    test_auc: float


def jackknife(
    table: Divisible,
    estimator: Parameters,
    test: Any = None,
    *,
    assessor: Assessor = PRESENCE_ONLY,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Jackknife]:
    """Fit with all variables, without each of them, and with each of them only.

    `test` is an array of values `(k, V)` at the test records of a species, or a `ClassSample`. If no varying variable
    remains, the model is constant: gains are 0 and AUCs 0.5.
    """
    rows, names = assessor.values(table), table.names
    every = list(range(len(names)))
    plans: list[tuple[str, str, list[int]]] = [("", "all", every)]
    for name, group in variable_groups(names).items():
        plans += [(name, "without", [u for u in every if u not in group]), (name, "only", group)]
    varies = [bool(np.ptp(rows[:, v]) > 0) for v in every]
    jobs = [
        (table, estimator, test, assessor, name, kind, [v for v in columns if varies[v]])
        for name, kind, columns in plans
    ]
    return run_all(_jackknife, jobs, executor, progress, "jackknife")


def _jackknife(
    table: Divisible, estimator: Parameters, test: Any, assessor: Assessor, name: str, kind: str, columns: list[int]
) -> Jackknife:
    """Fit one plan and measure it."""
    if columns:
        train, held_out = assessor.gains(assessor.fit(table, estimator, columns), table, test, columns)
    else:
        train, held_out = (0.0, 0.5), (0.0, 0.5) if test is not None else (float("nan"), float("nan"))
    return Jackknife(name, kind, *train, *held_out)
