"""Penalties by the theory: their formulas, that they are large enough, and fits with them against a plain optimiser."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from sdm import ConditionalMaxent, Maxent, StructMaxent
from sdm.assess.measures.performance_bound import performance_bound
from sdm.errors import OptionError
from sdm.features import diameter
from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.features.growing.oracles import ExactTreeOracle
from sdm.maxent.confidence import (
    ball_radius,
    deviation_radius,
    hoeffding_radius,
    uniform_radius,
    vc_dimension,
    vc_radius,
)
from sdm.maxent.penalty import Elastic, SmoothedL1

LN2 = np.log(2)


@pytest.fixture(scope="module")
def world():
    """Cells, a true distribution on them, and a sample of 60 records."""
    rng = np.random.default_rng(11)
    x = rng.random((250, 2))
    truth = np.exp(3 * x[:, 0] - 4 * (x[:, 1] - 0.5) ** 2)
    truth /= truth.sum()
    return x, truth, rng.choice(250, 60, p=truth)


def fit(world, **options):
    x, _, records = world
    labelled = np.vstack([x[records], x]), np.repeat([1, 0], [len(records), len(x)])
    return Maxent("lq", add_presences="distinct", tolerance=1e-9, **options).fit(*labelled)


def matrix(model):
    return np.array([model.feature_set_.column(j) for j in range(model.feature_set_.size)])


def test_formulas():
    n, m, delta = 7, 60, 0.1
    assert hoeffding_radius(n, m, delta) == pytest.approx(np.sqrt(np.log(140) / 120))
    assert vc_radius(3, m, delta) == pytest.approx(
        np.sqrt((3 * np.log(np.e * 3600 / 3) + np.log(10) + np.log(4 * np.e**8)) / 120)
    )
    assert ball_radius(2.0, m, delta) == pytest.approx(2 / np.sqrt(120) * (1 + np.sqrt(np.log(10))))


@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_radii_hold_as_often_as_they_promise(world, delta):
    x, truth, _ = world
    features = build_features(Domain(x, ["a", "b"]), "lq", sample=truth)
    f = np.array([features.column(j) for j in range(features.size)])
    rng = np.random.default_rng(5)
    inside = np.zeros(3)
    for _ in range(400):
        drawn = f[:, rng.choice(len(x), 60, p=truth)]
        off = drawn.mean(axis=1) - f @ truth
        inside[0] += np.all(np.abs(off) <= hoeffding_radius(len(f), 60, delta))
        inside[1] += np.all(np.abs(off) <= deviation_radius(drawn.std(axis=1, ddof=1), 60, len(f), delta))
        inside[2] += np.linalg.norm(off) <= ball_radius(features.diameter.largest, 60, delta)
    assert np.all(inside / 400 >= 1 - delta)


def test_the_vc_dimension_is_not_below_what_is_shattered():
    rng = np.random.default_rng(2)
    for variables in (1, 2, 3, 6):
        x = rng.random((7, variables))
        domain = Domain(x, [f"v{k}" for k in range(variables)])
        features = build_features(domain, "t", knots="all", sample=np.full(7, 1 / 7))
        columns = np.array([features.column(j) for j in range(features.size)]).astype(bool)
        shattered = 0
        for d in range(1, 5):
            for points in itertools.combinations(range(7), d):
                if len({tuple(row) for row in columns[:, points].tolist()}) == 2**d:
                    shattered = d
        assert shattered <= vc_dimension(features)
    with pytest.raises(OptionError, match="needs threshold features"):
        vc_dimension(build_features(domain, "l", sample=np.full(7, 1 / 7)))


# What each result minimises beside the log loss, written down once more.
def _settings(rule, f, deviation, m, delta, norm):
    n = len(f)
    hoeffding = np.sqrt(np.log(2 * n / delta) / (2 * m))
    e = np.log(4 * n / delta) / (3 * m)
    seventh = np.sqrt(6 * e) * np.sqrt(deviation**2 + np.sqrt(np.log(2 * n / delta) / (2 * m)) + e / 6) + e
    wide = max(np.linalg.norm(f - cell[:, None], axis=0).max() for cell in f.T)
    root = 1 + np.sqrt(np.log(1 / delta))
    if rule == "theorem8":
        a = 0.1 * norm / (n * seventh * LN2)
        return lambda w: np.sum(a * seventh * np.log(np.cosh(w / a)))
    if rule == "corollary9":
        a = 0.1 * norm / (n * LN2)
        return lambda w: a * hoeffding * np.sum(np.log(np.cosh(w / a)))
    if rule == "theorem11":
        return lambda w: wide * root / np.sqrt(2 * m) * np.sqrt(w @ w + 1e-18)
    if rule == "theorem13":
        return lambda w: root * wide / (norm * np.sqrt(m)) * (w @ w) / 2
    ridge = wide * min(1 / np.sqrt(2), np.sqrt(m * delta)) / (2 * norm * np.sqrt(m))
    smooth = 1e-7
    absolute = {"theorem15": hoeffding, "corollary5": hoeffding, "corollary7": seventh}[rule]
    quadratic = ridge if rule == "theorem15" else 0.0
    return lambda w: np.sum(absolute * np.sqrt(w**2 + smooth**2)) + quadratic * (w @ w) / 2


@pytest.mark.parametrize(
    ("rule", "regularization"),
    [
        ("corollary5", "l1"),
        ("corollary7", "l1"),
        ("theorem8", "smoothed_l1"),
        ("corollary9", "smoothed_l1"),
        ("theorem11", "l2"),
        ("theorem13", "l2sq"),
        ("theorem15", "elastic"),
    ],
)
def test_the_optimum_is_that_of_a_plain_optimiser(world, rule, regularization):
    delta, norm = 0.2, 30.0
    model = fit(world, beta=rule, regularization=regularization, delta=delta, norm=norm)
    assert model.solution_.status == "converged"
    f, sample = matrix(model), model.problem_.sample
    mean = f @ sample
    deviation = np.sqrt(np.maximum(f**2 @ sample - mean**2, 0) * 60 / 59)
    penalty = _settings(rule, f, deviation, 60, delta, norm)

    def objective(w):
        score = w @ f
        return np.log(np.mean(np.exp(score - score.max()))) + score.max() - w @ mean + penalty(w)

    starts = [np.zeros(len(f)), model.coef_]
    best = min(minimize(objective, start, method="L-BFGS-B", options={"ftol": 1e-15}).fun for start in starts)
    assert model.solution_.objective == pytest.approx(best, abs=2e-6)
    assert model.solution_.gap <= 1e-9


@pytest.mark.parametrize("rule", ["theorem11", "theorem13", "theorem15"])
def test_a_diameter_that_is_not_computed_is_noted(world, rule, monkeypatch):
    """The penalty is then larger than the theorem's: the user must learn by how much at most."""
    regularization = {"theorem11": "l2", "theorem13": "l2sq", "theorem15": "elastic"}[rule]
    assert not any("diameter" in note for note in fit(world, beta=rule, regularization=regularization).notes_)
    monkeypatch.setattr(diameter, "MOST_NUMBERS", 0)
    model = fit(world, beta=rule, regularization=regularization)
    note = next(note for note in model.notes_ if "diameter" in note)
    bounds = model.feature_set_.diameter
    assert f"at most {bounds.largest / bounds.least:.3g} times" in note


def test_a_result_wants_its_penalty():
    x, y = np.arange(20.0)[:, None], np.repeat([1, 0], 10)
    with pytest.raises(OptionError, match="regularization='l2'"):
        Maxent("l", beta="theorem11").fit(x, y)
    with pytest.raises(OptionError, match="not to classes"):
        ConditionalMaxent("l", beta="corollary5").fit(x, y)
    with pytest.raises(OptionError, match="delta"):
        Maxent("l", beta="corollary5", delta=1.5).fit(x, y)
    with pytest.raises(OptionError, match="needs threshold features"):
        Maxent("l", beta="corollary6").fit(x, y)
    assert Maxent("t", beta="corollary6").fit(x, y).solution_.status == "converged"


def test_smoothing_and_ridge_of_each_feature(world):
    """Each feature has its own smoothing; the l2² strength of elastic does not depend on the l1 penalty."""
    beta, a = np.array([0.1, 0.2]), np.array([0.5, 2.0])
    w, u = np.array([1.0, -3.0]), np.array([0.05, -0.1])
    one = SmoothedL1(beta, a)
    parts = [SmoothedL1(beta[[j]], float(a[j])) for j in range(2)]
    assert one.value(w) == pytest.approx(sum(part.value(w[[j]]) for j, part in enumerate(parts)))
    assert one.potential(u) == pytest.approx(sum(part.potential(u[[j]]) for j, part in enumerate(parts)))
    np.testing.assert_allclose(Elastic(beta, ridge=0.3).ridge, [0.3, 0.3])
    with pytest.raises(OptionError, match="smoothing"):
        SmoothedL1(beta, np.array([0.1, 0.0]))
    for solver in ("newton", "summet", "plummet"):
        model = fit(world, regularization="smoothed_l1", smoothing=[0.1, 0.5, 1.0, 2.0], solver="newton")
        other = fit(world, regularization="smoothed_l1", smoothing=[0.1, 0.5, 1.0, 2.0], solver=solver)
        assert other.solution_.objective == pytest.approx(model.solution_.objective, abs=1e-8)
    weak = fit(world, regularization="elastic", ridge=1e-9)
    plain = fit(world)
    assert weak.solution_.objective == pytest.approx(plain.solution_.objective, abs=1e-6)
    assert np.abs(fit(world, regularization="elastic", ridge=10.0).coef_).max() < 0.1 * np.abs(plain.coef_).max()


def test_the_bound_holds_for_the_truth(world):
    """No model of weights as large as the fitted ones has a true loss that is lower by more than the bound."""
    _, truth, _ = world
    model = fit(world, beta="deviation")
    bound = performance_bound(model, 0.05)
    f = matrix(model)

    def true_loss(w):
        score = w @ f
        return np.log(np.mean(np.exp(score - score.max()))) + score.max() - score @ truth

    best = minimize(true_loss, np.zeros(len(f)), method="L-BFGS-B").fun
    assert 0 <= true_loss(model.coef_) - best <= bound["excess"]
    n, m, spread = len(f), 60, np.sqrt(np.maximum(f**2 @ model.problem_.sample - (f @ model.problem_.sample) ** 2, 0))
    radius = np.minimum(deviation_radius(spread * np.sqrt(60 / 59), m, n, 0.025), hoeffding_radius(n, m, 0.025))
    assert bound["excess"] == pytest.approx(2 * radius @ np.abs(model.coef_) + model.solution_.gap)
    assert not bound["informs"]  # 60 records are too few
    assert performance_bound(fit(world, entropy=1.5)) is None


def test_the_bound_informs_when_there_are_many_records():
    rng = np.random.default_rng(1)
    x = rng.random((400, 1))
    truth = np.where(x[:, 0] > 0.5, 1.0, 0.05)
    records = x[rng.choice(400, 20_000, p=truth / truth.sum())]
    labelled = np.vstack([records, x]), np.repeat([1, 0], [20_000, 400])
    bound = performance_bound(Maxent("l", add_presences="distinct").fit(*labelled))
    assert bound["informs"]
    assert bound["excess"] < 0.3


def structural(families, m, seed, **options):
    """Fit a structural model to `m` records of a uniform truth on 500 cells with six variables."""
    rng = np.random.default_rng(seed)
    x = rng.random((500, 6)).round(2)
    labelled = np.vstack([x[rng.integers(0, 500, m)], x]), np.repeat([1, 0], [m, 500])
    return StructMaxent(families, **{"beta": 0.1, "knots": 8, "add_presences": "none", **options}).fit(*labelled)


def coverage_of_structural_bounds(families, lam, draws):
    """Return how often the true excess is within the bound. The truth is the model whose weights are all zero."""
    inside = 0
    for seed in range(draws):
        model = structural(families, 100, seed, lam=lam)
        true_loss = -np.log(model.solution_.p[:500] / model.solution_.p[:500].sum()).mean()
        inside += true_loss - np.log(500) <= performance_bound(model)["excess"]
    return inside / draws


STRUCTURES = [("l,q,p,h,trees:2", np.inf), ("l,q,trees:2", 0.05), ("trees:2,mono:2", 0.05)]


@pytest.mark.parametrize("families, lam", STRUCTURES)
def test_the_bound_of_a_structural_model_holds(families, lam):
    assert coverage_of_structural_bounds(families, lam, 4) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("families, lam", STRUCTURES)
def test_the_bound_of_a_structural_model_holds_as_often_as_it_promises(families, lam):
    assert coverage_of_structural_bounds(families, lam, 200) >= 0.95


def test_the_same_model_has_the_same_bound_in_both_kinds():
    """Without trees a structural model is one of feature classes: a user who compares them sees one number."""
    model = structural("l,q,trees:2", 100, 1, lam=np.inf)
    cells = model.problem_.domain
    x = np.column_stack([a.values[code] for a, code in zip(cells.variables, cells.codes)])
    m = np.rint(model.problem_.sample * 100).astype(int)
    labelled = np.vstack([np.repeat(x, m, axis=0), x]), np.repeat([1, 0], [100, len(x)])
    plain = Maxent("lq", knots=8, add_presences="none", tolerance=1e-4).fit(*labelled)
    assert performance_bound(model)["excess"] == pytest.approx(performance_bound(plain)["excess"], rel=1e-3)


@pytest.mark.parametrize("complexity", ["bound", "sample"])
def test_the_bound_divides_delta_between_classes_and_trees(complexity):
    """Penalties that come from the sample change the weights of a model, and not the radii of its bound."""
    model = structural("l,trees:2,mono:1", 100, 2, lam=0.05, complexity=complexity)
    weight, grown = np.abs(model.coef_), model.growth_.grown
    f, m = matrix(model)[:6], 100
    variance = f**2 @ model.problem_.sample - (f @ model.problem_.sample) ** 2
    deviation = np.sqrt(np.maximum(variance, 0) * m / (m - 1))
    finite = np.minimum(deviation_radius(deviation, m, 6, 0.0125), hoeffding_radius(6, m, 0.0125))
    counts = np.array([oracle.log_count(shape.size, m) for oracle, shape in zip(grown.sources, grown.shapes)])
    radius = np.append(finite, uniform_radius(counts, 3, m, 0.025))
    assert grown.size
    assert performance_bound(model)["excess"] == pytest.approx(2 * radius @ weight + model.solution_.gap)


def test_a_structural_model_with_exact_zeros_has_no_bound():
    """Its true log loss is infinite where the truth has mass on a cell of density zero."""
    assert performance_bound(structural("l,trees:1", 30, 1, lam=0.05, entropy=1.5, add_presences="all")) is None


@pytest.mark.parametrize("m", [30, 1000])
def test_the_uniform_radius_holds_for_all_trees_at_once(m):
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.random((60, 2)).round(1), rng.integers(0, 8, 60)])
    oracle, truth, inside = ExactTreeOracle(Domain(x, ["a", "b", "soil"], ["soil"]), 2), np.full(60, 1 / 60), 0
    radii = {k: float(uniform_radius(np.array(oracle.log_count(k, m)), 2, m, 0.05)) for k in (1, 2)}
    for _ in range(40):
        sample = rng.multinomial(m, truth) / m
        inside += all(item.violation <= radii[item.shape.size] for item in oracle.propose(truth - sample))
    assert inside / 40 >= 0.95
    assert radii[1] < radii[2] <= 1.0 or m == 30


@pytest.mark.parametrize("temperature", [0.25, 4.0])
def test_the_bound_is_of_the_map_that_a_temperature_makes(world, temperature):
    x, truth, _ = world
    plain, scaled = fit(world, beta="deviation"), fit(world, beta="deviation", temperature=temperature)
    plain_loss, scaled_loss = (-truth @ np.log(model.model_.predict(x, "raw")) for model in (plain, scaled))
    assert scaled_loss > plain_loss + 0.1
    weights, problem = plain.coef_ / temperature, plain.problem_
    gap = plain.solution_.gap + problem.state(weights).objective - plain.solution_.objective
    radii = (performance_bound(plain)["excess"] - plain.solution_.gap) / temperature
    assert performance_bound(scaled)["excess"] == pytest.approx(radii + gap)
    assert scaled_loss - plain_loss <= performance_bound(scaled)["excess"]
    assert not performance_bound(scaled)["informs"]
