"""One numbering over all families, and names that a person reads."""

import re

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from strategies import Case, cases, small_case

from sdm import Maxent
from sdm.errors import DataError
from sdm.features import diameter
from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.features.terms import KINDS, Terms


@given(cases())
def test_a_vector_is_cut_where_the_families_meet(case):
    assume(case.dense())
    features = case.features()
    vector = np.arange(features.size, dtype=float)
    parts = features.split(vector)
    assert [part.size for part in parts] == [family.size for family in features.families]
    np.testing.assert_array_equal(np.concatenate(parts), vector)


@given(cases())
def test_groups_never_mix_families_or_variables(case):
    """Newton lets one feature a group in at a time: a group of strangers would starve some of them."""
    assume(case.dense())
    features = case.features()
    kind, var = features.terms().kind, features.terms().var
    groups = features.groups()
    for group in np.unique(groups):
        members = groups == group
        assert np.unique(kind[members]).size == 1
        assert np.unique(var[members]).size == 1


def distances(features):
    """Return the distance between the features of every two cells."""
    f = np.array([features.column(j) for j in range(features.size)]).T
    return np.linalg.norm(f[:, None] - f[None], axis=2)


@given(cases())
def test_the_diameter_is_the_largest_distance(case):
    assume(case.dense())
    features = case.features()
    assert features.diameter.least == features.diameter.largest == pytest.approx(distances(features).max(), abs=1e-12)


@pytest.mark.parametrize("limit", [None, "CHUNK", "BLOCK", "MOST_PRODUCTS", "MOST_NUMBERS"])
@pytest.mark.parametrize("classes, variables", [("lq", 5), ("lqp", 4), ("lqpht", 3)])
def test_the_diameter_of_many_cells(classes, variables, limit, monkeypatch):
    """Most cells are outside the ball around the farthest two: in parts, as a whole, and bounded."""
    x = np.random.default_rng(variables).normal(size=(300, variables))
    domain = Domain(x, [f"v{v}" for v in range(variables)])
    features = build_features(domain, classes, knots=12, sample=np.full(300, 1 / 300))
    if limit:
        monkeypatch.setattr(diameter, limit, 0)
    true, bounds = distances(features).max(), features.diameter
    if limit in ("MOST_PRODUCTS", "MOST_NUMBERS"):
        assert 0.3 * true < bounds.least <= true * (1 + 1e-12)
        assert true < bounds.largest < 3 * true
    else:
        assert bounds.least == bounds.largest == pytest.approx(true, rel=1e-12)


def test_names():
    domain = Domain(np.array([[1.0, 5.0, 7], [2.0, 6.0, 8], [4.0, 9.0, 8]]), ["heat", "rain", "soil"], ["soil"])
    features = build_features(domain, "lqpht", knots="all", sample=np.full(3, 1 / 3))
    names = features.terms().names(["heat", "rain", "soil"])
    assert names[:5] == ["heat", "rain", "heat^2", "rain^2", "heat*rain"]
    assert "hinge(heat, 1.5..)" in names
    assert "hinge(rain, ..5.5)" in names
    assert "threshold(rain, 7.5)" in names
    assert names[-2:] == ["(soil=7)", "(soil=8)"]
    assert len(set(names)) == len(names)
    heat = np.linspace(0.9, 4.1, 50)
    values = features.terms().evaluate(np.column_stack([heat, np.full(50, 6.0), np.full(50, 7.0)]))
    for name, column in zip(names, values.T):
        if found := re.fullmatch(r"hinge\(heat, (\.\.)?([\d.]+?)(\.\.)?\)", name):
            beyond = heat < float(found[2]) if found[1] else heat > float(found[2])
            assert np.all(np.abs(column[beyond]) > 0), name
            assert np.all(column[~beyond] <= 0), name


def test_classes_read_by_their_labels():
    terms = Terms.build(KINDS.index("category"), np.array([0, 0]), knot=np.array([0.0, 1.0]))
    assert terms.names(["soil"], {0: {0: "clay", 1: "sand"}}) == ["(soil=clay)", "(soil=sand)"]


def test_java_drops_classes_without_presence_and_maxnet_keeps_them():
    x = np.array([1.0, 1.0, 2.0, 3.0])[:, None]
    sample = np.array([0.5, 0.0, 0.5, 0.0])
    domain = Domain(x, ["soil"], ["soil"])
    java = build_features(domain, "l", knots="maxent", sample=sample)
    maxnet = build_features(domain, "l", knots="maxnet", sample=sample, empty_categories=True)
    assert java.terms().knot.tolist() == [1.0, 2.0]
    assert maxnet.terms().knot.tolist() == [1.0, 2.0, 3.0]


def test_constant_features_are_left_out():
    """|x| is constant for x = ±2: its square says nothing, and scaling it would divide by zero."""
    x = np.array([[-2.0, 3.0, 0.5], [2.0, 3.0, -0.5]])
    features = build_features(Domain(x, ["a", "flat", "b"]), "lqp", sample=np.full(2, 0.5))
    assert features.terms().names(["a", "flat", "b"]) == ["a", "b", "a*flat", "flat*b"]


def test_no_feature_at_all_is_an_error():
    with pytest.raises(DataError, match="no feature to fit: every variable is constant"):
        build_features(Domain(np.ones((5, 2)), ["a", "b"]), "lqpht", sample=np.full(5, 0.2))


@pytest.mark.parametrize(
    ("classes", "x", "reason"),
    [
        ("t", np.arange(12.0).reshape(6, 2), "between the values at the presences"),
        ("p", np.arange(6.0)[:, None], "two variables that vary"),
        ("q", np.resize([-2.0, 2.0], (6, 1)), "changes its sign"),
        ("c", np.arange(6.0)[:, None], "a categorical variable"),
    ],
)
def test_classes_that_make_no_feature_are_told_why(classes, x, reason):
    """With one presence there is no threshold: nothing is constant then, and the message must not say so."""
    y = np.repeat([1, 0], [1, len(x) - 1])
    with pytest.raises(DataError, match="no feature to fit") as caught:
        Maxent(classes).fit(x, y)
    assert reason in str(caught.value)
    assert "constant over" not in str(caught.value)
    assert Maxent(classes + "l").fit(x, y).coef_.size > 0


@given(cases())
def test_slopes_turn_scaled_weights_into_raw_ones(case: Case):
    """Warm starts onto another domain rely on it."""
    assume(case.dense())
    terms = case.features().terms()
    values = terms.evaluate(case.x)
    for j, (kind, slope) in enumerate(zip(terms.kind, terms.slopes())):
        x, y, knot = case.x[:, terms.var[j]], case.x[:, terms.other[j]], terms.knot[j]
        raw = {
            "linear": x,
            "quadratic": x * x,
            "product": x * y,
            "forward": np.maximum(x - knot, 0),
            "reverse": np.maximum(knot - x, 0),
        }.get(KINDS[kind], values[:, j])
        np.testing.assert_allclose(values[:, j], slope * (raw - raw.min()) + values[:, j].min(), atol=1e-6)


def test_take_keeps_the_order_asked_for():
    terms = small_case(0).features("lqp").terms()
    part = terms.take(np.array([3, 0]), np.array([2.0, -1.0]))
    assert part.names(["v0", "v1"]) == ["v1^2", "v0"]
    assert part.weight.tolist() == [2.0, -1.0]


def test_scores_without_any_weight_are_zero():
    features = small_case(1).features("lqpht")
    assert not features.scores(np.zeros(features.size)).any()


def test_scores_of_many_cells_match_the_columns():
    """More cells than the kernels' blocks."""
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.normal(size=9000), rng.integers(0, 30, 9000)])
    sample = np.full(9000, 1 / 9000)
    features = build_features(Domain(x, ["a", "b"]), "lqpht", knots="maxnet", sample=sample)
    weights = rng.normal(size=features.size)
    expected = naive.matrix(naive.dense_features(x, "lqpht", "maxnet", sample)) @ weights
    np.testing.assert_allclose(features.scores(weights), expected, atol=1e-10)
