"""Every family's oracle against its dense matrix: were one wrong, each fit with that class would be quietly wrong."""

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import CLASSES, PRESETS, Case, cases, rounding, seeds

from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet
from sdm.features.finite.knotted import HingeFamily, ThresholdFamily


def masses(case: Case, seed: int, signed: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mass = rng.normal(size=len(case.x)) if signed else rng.random(len(case.x)) ** 4
    mass[rng.random(len(case.x)) < 0.2] = 0.0
    return mass


def build(case: Case, classes: str, knots: str | int, empty: bool) -> tuple[FeatureSet, list[naive.Feature]]:
    dense = case.dense(classes, knots, empty)
    assume(dense)
    return case.features(classes, knots, empty), dense


options = (cases(), st.sampled_from(CLASSES), st.sampled_from(PRESETS), st.booleans())


@given(*options)
def test_features_are_those_of_the_definitions_in_the_same_order(case, classes, knots, empty):
    features, dense = build(case, classes, knots, empty)
    assert features.size == len(dense)
    assert features.letters().tolist() == [f.letter for f in dense]
    terms = features.terms()
    assert terms.var.tolist() == [f.var for f in dense]
    assert terms.other.tolist() == [f.other for f in dense]
    np.testing.assert_array_equal(terms.knot, [f.knot for f in dense])


@given(*options)
def test_columns(case, classes, knots, empty):
    features, dense = build(case, classes, knots, empty)
    tolerance = rounding(case, dense)
    for j, feature in enumerate(dense):
        np.testing.assert_allclose(features.column(j), feature.column, rtol=0, atol=tolerance[j])


@given(*options, seeds, st.booleans())
def test_moments(case, classes, knots, empty, seed, signed):
    features, dense = build(case, classes, knots, empty)
    columns, mass = naive.matrix(dense), masses(case, seed, signed)
    size = np.abs(mass).sum()
    measure = features.domain.measure(mass)
    tolerance = rounding(case, dense) * size + 1e-300
    first = naive.expectations(columns, mass)
    second = naive.expectations(columns**2, mass)
    assert np.all(np.abs(features.expectations(measure) - first) <= tolerance)
    mean = np.concatenate([family.moments(measure)[0] for family in features.families])
    square = np.concatenate([family.moments(measure)[1] for family in features.families])
    assert np.all(np.abs(mean - first) <= tolerance)
    assert np.all(np.abs(square - second) <= 3 * tolerance)


@given(*options, seeds)
def test_variances(case, classes, knots, empty, seed):
    features, dense = build(case, classes, knots, empty)
    columns, mass = naive.matrix(dense), masses(case, seed, signed=False)
    assume(mass.sum() > 0)
    share = mass / mass.sum()
    expected = naive.expectations((columns - naive.expectations(columns, share)) ** 2, share)
    actual = features.variances(features.domain.measure(mass))
    assert np.all(np.abs(actual - expected) <= 6 * rounding(case, dense))


@given(*options, seeds, st.sampled_from([1.0, 0.3]))
def test_scores(case, classes, knots, empty, seed, share):
    features, dense = build(case, classes, knots, empty)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=features.size) * (rng.random(features.size) < share)
    expected = naive.matrix(dense) @ weights
    tolerance = np.abs(weights) @ rounding(case, dense) + 1e-13
    assert np.all(np.abs(features.scores(weights) - expected) <= tolerance)


@given(*options)
def test_terms_evaluate_to_the_columns(case, classes, knots, empty):
    """A model keeps only the terms: they must say the same as the families on the training cells."""
    features, dense = build(case, classes, knots, empty)
    actual = features.terms().evaluate(case.x)
    assert np.all(np.abs(actual - naive.matrix(dense)) <= rounding(case, dense))


@given(*options)
def test_features_lie_between_zero_and_one(case, classes, knots, empty):
    """SUMMET, PLUMMET and every penalty assume it."""
    features, dense = build(case, classes, knots, empty)
    tolerance = rounding(case, dense)
    for j in range(features.size):
        column = features.column(j)
        assert column.min() >= -tolerance[j]
        assert column.max() <= 1 + tolerance[j]


@given(*options, seeds)
def test_subset_is_the_marked_features(case, classes, knots, empty, seed):
    features, dense = build(case, classes, knots, empty)
    rng = np.random.default_rng(seed)
    keep = rng.random(features.size) < 0.5
    keep[rng.integers(features.size)] = True
    part, columns = features.subset(keep), naive.matrix(dense)[:, keep]
    assert part.size == keep.sum()
    measure = features.domain.measure(rng.random(len(case.x)))
    assert part.expectations(measure) == pytest.approx(features.expectations(measure)[keep], abs=1e-12, rel=1e-12)
    weights = rng.normal(size=part.size)
    tolerance = np.abs(weights) @ rounding(case, dense)[keep] + 1e-13
    assert np.all(np.abs(part.scores(weights) - columns @ weights) <= tolerance)
    assert part.letters().tolist() == features.letters()[keep].tolist()
    assert part.terms().names(case.names) == np.array(features.terms().names(case.names))[keep].tolist()


@given(cases(classes=False), seeds)
def test_knots_exactly_on_values(case, seed):
    """A step is up at its knot, not after it: maxnet's knots fall on values of whole-numbered variables."""
    domain = case.domain()
    knots = [variable.values for variable in domain.variables]
    rng = np.random.default_rng(seed)
    mass = rng.random(domain.n)
    families = [
        ThresholdFamily(domain, knots),
        HingeFamily(domain, knots, "forward"),
        HingeFamily(domain, knots, "reverse"),
    ]
    for family in families:
        assert family.size == sum(len(k) - 1 for k in knots)
        columns = np.column_stack([family.column(j) for j in range(family.size)])
        x, knot = case.x[:, family.var], family.knots
        if isinstance(family, ThresholdFamily):
            np.testing.assert_array_equal(columns, x >= knot)
        else:
            np.testing.assert_array_equal(columns == 0.0, family.sign * (x - knot) <= 0)
        np.testing.assert_allclose(family.expectations(domain.measure(mass)), mass @ columns, atol=1e-12)
        weights, table, theta = rng.normal(size=family.size), np.zeros(domain.values.size), np.zeros(domain.n)
        family.add_scores(weights, table, theta)
        np.testing.assert_allclose(domain.lookup(table) + theta, columns @ weights, atol=1e-10)


@given(st.floats(1e-3, 1e3), st.integers(3, 50), st.sampled_from(["forward", "reverse"]))
def test_a_hinge_near_the_end_keeps_its_relative_accuracy(spread, n, direction):
    """A difference of prefix sums would lose it: the last knots' expectations are tiny beside the first's."""
    x = 1e4 + spread * np.arange(n, dtype=float)[:, None]
    domain = Domain(x, ["a"])
    mass = np.exp(-0.5 * np.arange(n)) if direction == "forward" else np.exp(-0.5 * np.arange(n)[::-1])
    hinge = HingeFamily(domain, [np.array(naive.midpoints(x[:, 0]))], direction)
    actual = hinge.expectations(domain.measure(mass))
    columns = np.column_stack([hinge.column(j) for j in range(hinge.size)])
    np.testing.assert_allclose(actual, naive.expectations(columns, mass), rtol=1e-10)
