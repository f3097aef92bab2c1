"""Ridges, random rectified features and waves, against their definition one number at a time."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import cases, seeds

from sdm.errors import DataError, OptionError
from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.features.finite.ridge import RidgeFamily
from sdm.features.ridges import RELU, WAVE, CompiledRidges, Ridges, draw_rectified, draw_waves
from sdm.features.shapes import CompiledShapes, Shapes

kinds = st.sampled_from(["relu", "waves"])


def drawn(domain: Domain, kind: str, seed: int, count: int = 12) -> RidgeFamily:
    rng = np.random.default_rng(seed)
    if kind == "relu":
        return RidgeFamily.rectified(domain, count, rng)
    return RidgeFamily.waves(domain, count, rng, domain.continuous)


def some_ridges(seed: int = 3) -> tuple[Ridges, Domain]:
    """Rectified features of three variables and a category, with weights."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(12, 4, 300), rng.gamma(2, 400, 300), rng.integers(1, 4, 300), rng.random(300)])
    domain = Domain(x, ["heat", "rain", "soil", "slope"], ["soil"], rng.random(300) + 0.1)
    ridges = RidgeFamily.rectified(domain, 20, rng).ridges
    return replace(ridges, weight=rng.normal(size=len(ridges))), domain


def values(domain: Domain) -> np.ndarray:
    return np.column_stack([domain.spread(v, a.values) for v, a in enumerate(domain.variables)])


@given(cases(), kinds, seeds, st.booleans())
def test_a_family_is_what_its_ridges_are(case, kind, seed, signed):
    domain = case.domain()
    family = drawn(domain, kind, seed)
    assume(family.size)
    expected = naive.ridge_values(family.ridges, case.x)
    tolerance = 1e-9  # a wave of a variable far from zero loses digits where its centre is subtracted
    np.testing.assert_allclose(family.ridges.evaluate(case.x), expected, rtol=0, atol=tolerance)
    for j in range(family.size):
        np.testing.assert_allclose(family.column(j), expected[:, j], rtol=0, atol=tolerance)
    assert expected.min(axis=0).max() <= tolerance
    assert expected.max(axis=0).min() >= 1 - tolerance
    rng = np.random.default_rng(seed)
    mass = rng.normal(size=len(case.x)) if signed else rng.random(len(case.x))
    mass[rng.random(len(case.x)) < rng.random()] = 0.0
    mean, square = family.moments(domain.measure(mass))
    slack = tolerance * (1 + np.abs(mass).sum())
    np.testing.assert_allclose(mean, mass @ expected, rtol=0, atol=slack)
    np.testing.assert_allclose(square, mass @ expected**2, rtol=0, atol=2 * slack)
    np.testing.assert_array_equal(family.expectations(domain.measure(mass)), mean)
    weights, theta = rng.normal(size=family.size), np.zeros(domain.n)
    family.add_scores(weights, np.empty(0), theta)
    np.testing.assert_allclose(theta, expected @ weights, rtol=0, atol=tolerance * (1 + np.abs(weights).sum()))


@given(cases(), kinds, seeds)
def test_fewer_ridges_are_the_same_ridges(case, kind, seed):
    family = drawn(case.domain(), kind, seed)
    keep = np.random.default_rng(seed).random(family.size) < 0.5
    part = family.subset(keep)
    assert part.size == keep.sum()
    for j, full in enumerate(np.flatnonzero(keep)):
        np.testing.assert_array_equal(part.column(j), family.column(int(full)))


def test_directions_are_on_the_sphere_of_the_continuous_variables_that_vary():
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(size=50), np.full(50, 7.0), rng.integers(0, 3, 50), rng.random(50)])
    ridges = RidgeFamily.rectified(Domain(x, list("abcd"), ["c"]), 40, rng).ridges
    assert len(ridges) > 30
    np.testing.assert_allclose(np.linalg.norm(ridges.directions, axis=1), 1.0)
    np.testing.assert_array_equal(ridges.used, [True, False, False, True])
    np.testing.assert_allclose(ridges.shares().sum(axis=1), 1.0)


def test_variables_are_standardised_by_the_base_measure():
    """Cells that stand for much count for much: else a dense background would decide where features bend."""
    ridges, domain = some_ridges()
    u = ridges.standardised(values(domain))[:, [0, 1, 3]]
    np.testing.assert_allclose(domain.q0 @ u, 0.0, atol=1e-12)
    np.testing.assert_allclose(domain.q0 @ u**2, 1.0)


def test_waves_of_two_lengths_in_shares_of_the_extent():
    directions, phase = draw_waves(4000, 2, (0.05, 0.2), np.random.default_rng(2))
    size = np.sqrt((directions**2).mean(axis=1))
    assert np.sqrt((size[:2000] ** 2).mean()) == pytest.approx(1 / 0.05, rel=0.05)
    assert np.sqrt((size[2000:] ** 2).mean()) == pytest.approx(1 / 0.2, rel=0.05)
    assert 0 <= phase.min() < 0.01 < 6.27 < phase.max() < 2 * np.pi
    x = np.random.default_rng(3).uniform([100, -40], [140, 0], (200, 2))
    ridges = RidgeFamily.waves(Domain(x, ["east", "north"]), 10, np.random.default_rng(4), [0, 1]).ridges
    np.testing.assert_allclose(ridges.scale, np.ptp(x, axis=0))
    np.testing.assert_allclose(ridges.centre, (x.min(axis=0) + x.max(axis=0)) / 2)
    assert set(ridges.kind) == {WAVE}


def test_ridges_that_are_zero_everywhere_are_left_out():
    x = np.random.default_rng(5).normal(size=(80, 2))
    domain = Domain(x, ["a", "b"])
    family = RidgeFamily(domain, Ridges.build(RELU, np.eye(2), np.array([0.5, -99.0]), np.zeros(2), np.ones(2)))
    assert family.ridges.number.tolist() == [1]
    assert family.size == 1


def test_without_a_continuous_variable_there_is_none():
    x = np.random.default_rng(5).integers(0, 3, (30, 1)).astype(float)
    domain = Domain(x, ["soil"], ["soil"])
    family = RidgeFamily.rectified(domain, 10, np.random.default_rng(1))
    assert family.size == 0
    constant = Domain(np.ones((5, 1)), ["flat"])
    none = RidgeFamily.rectified(constant, 10, np.random.default_rng(1))
    with pytest.raises(DataError, match="every variable is constant"):
        build_features(constant, "", sample=constant.q0, ridges=[none])


def test_values_too_large_to_be_multiplied_are_refused():
    x = np.array([[1e200], [-1e200], [0.0]])
    with pytest.raises(OptionError, match=r"'relu'.*'a'"):
        RidgeFamily.rectified(Domain(x, ["a"]), 5, np.random.default_rng(1))


def test_joined_ridges_are_the_same_functions_whatever_they_count_from():
    first, domain = some_ridges()
    rng = np.random.default_rng(8)
    place = RidgeFamily.waves(domain, 15, rng, [0, 3]).ridges
    place = replace(place, weight=rng.normal(size=len(place)))
    joined = Ridges.concatenate([Ridges.none(), first, place])
    x = values(domain)
    np.testing.assert_allclose(joined.evaluate(x), np.hstack([first.evaluate(x), place.evaluate(x)]), atol=1e-10)
    np.testing.assert_array_equal(joined.weight, np.concatenate([first.weight, place.weight]))
    apart = replace(place, directions=place.directions * [0, 0, 0, 1])  # of a variable that the others do not have
    others = first.take(np.arange(len(first)))
    others = replace(others, directions=others.directions * [1, 1, 1, 0])
    exact = Ridges.concatenate([others, apart])
    np.testing.assert_array_equal(exact.bend, np.concatenate([others.bend, apart.bend]))


@pytest.mark.parametrize("clamp", [True, False])
def test_predictions_are_those_of_the_definition_and_clamped(clamp):
    ridges, domain = some_ridges()
    lo, hi = values(domain).min(axis=0), values(domain).max(axis=0)
    lo[2], hi[2] = -np.inf, np.inf
    rng = np.random.default_rng(9)
    x = values(domain)[:100] + rng.normal(size=(100, 4)) * [8, 900, 0, 1]
    held_out = np.clip(x, lo, hi) if clamp else x
    theta = np.full(100, 2.0)
    CompiledShapes(Shapes(ridges=ridges), lo, hi).add_scores(np.ascontiguousarray(x.T), clamp, theta)
    np.testing.assert_allclose(theta, 2.0 + naive.ridge_values(ridges, held_out) @ ridges.weight, atol=1e-11)


@pytest.mark.parametrize("kind", ["relu", "waves"])
def test_a_place_has_one_prediction_whatever_is_predicted_with_it(kind):
    """Records are cells of the map: one that differs from its own cell by a last digit falls below its own cutoff."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(700, 7))
    ridges = drawn(Domain(x, list("abcdefg")), kind, 6, 30).ridges
    ridges = replace(ridges, weight=rng.normal(size=len(ridges)))
    compiled = CompiledRidges(ridges, x.min(axis=0), x.max(axis=0))
    full = np.zeros(700)
    compiled.add_scores(np.ascontiguousarray(x.T), True, full)
    for subset in (slice(0, 1), slice(3, 8), slice(509, 523), slice(100, 700, 7)):
        part = np.zeros(len(x[subset]))
        compiled.add_scores(np.ascontiguousarray(x[subset].T), True, part)
        np.testing.assert_array_equal(part, full[subset])


def test_cosines_of_many_turns():
    z = np.concatenate([np.linspace(-900, 900, 20_001), [0.0, np.pi, -np.pi / 2]])
    one = Ridges.build(WAVE, np.ones((1, 1)), np.zeros(1), np.zeros(1), np.ones(1)).take(np.array([0]), np.ones(1))
    out = np.zeros(z.size)
    CompiledRidges(one, np.full(1, -np.inf), np.full(1, np.inf)).add_scores(z[None], False, out)
    np.testing.assert_allclose(out, np.cos(z), rtol=0, atol=3e-15)


def test_names_have_the_variables_that_matter_most():
    directions = np.array([[0.6, 0.0, -0.3, 0.1], [0.0, 0.0, 0.0, -2.0]])
    ridges = Ridges.build(RELU, directions, np.zeros(2), np.zeros(4), np.ones(4))
    names = ridges.names(["bio1", "soil", "bio12", "slope"])
    assert names == ["relu 1 (0.6 bio1 − 0.3 bio12 …)", "relu 2 (−2 slope)"]
    assert ridges.take(np.array([1])).names(["bio1", "soil", "bio12", "slope"]) == names[1:]


def test_arrays_of_a_file_and_back():
    ridges, _ = some_ridges()
    again = Shapes.from_arrays(Shapes(ridges=ridges).to_arrays())
    assert len(again) == len(ridges)
    np.testing.assert_array_equal(again.weight, ridges.weight)
    for name, array in ridges.to_arrays().items():
        np.testing.assert_array_equal(getattr(again.ridges, name), array)
    assert not any(name.startswith("ridge") for name in Shapes().to_arrays())
    assert len(Shapes.from_arrays(Shapes().to_arrays())) == 0


@pytest.mark.parametrize(
    "name, change",
    [
        ("kind", lambda a: a + np.int8(2)),
        ("kind", lambda a: a - np.int8(1)),
        ("kind", lambda a: a.astype(np.int64)),
        ("number", lambda a: a[:-1]),
        ("directions", lambda a: a[:, :-1]),
        ("directions", lambda a: a[:-1]),
        ("directions", lambda a: a * np.inf),
        ("directions", lambda a: a * 0),
        ("directions", lambda a: a[0]),
        ("bend", lambda a: a + np.nan),
        ("bend", lambda a: a + 1e200),
        ("centre", lambda a: a[1:]),
        ("centre", lambda a: a * np.nan),
        ("scale", lambda a: a * 0),
        ("scale", lambda a: -a),
        ("scale", lambda a: a * 1e-200),
        ("lo", lambda a: a + 1e9),
        ("hi", lambda a: a * 0),
        ("hi", lambda a: a[:0]),
        ("weight", lambda a: a * np.inf),
        ("weight", lambda a: a.astype(np.float32)),
    ],
)
def test_damaged_arrays_are_refused(name, change):
    arrays = some_ridges()[0].to_arrays()
    Ridges.from_arrays(arrays)
    with np.errstate(invalid="ignore"):
        arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="ridges"):
        Ridges.from_arrays(arrays)


def test_more_than_any_fit_draws_is_refused():
    many = Ridges.build(RELU, np.ones((100_001, 1)), np.zeros(100_001), np.zeros(1), np.ones(1))
    assert not many.sound()
    assert many.take(np.arange(100_000)).sound()


def test_shapes_give_their_weights_to_each_kind():
    ridges, _ = some_ridges()
    shapes = Shapes(ridges=ridges).with_weight(np.arange(len(ridges)) % 2 * 1.5)
    used = shapes.take_used(shapes.weight)
    assert len(used) == len(ridges) // 2
    np.testing.assert_array_equal(used.ridges.number, ridges.number[1::2])
    np.testing.assert_array_equal(used.weight, 1.5)
    assert [v.tolist() for v in used.variables()] == [[0, 1, 3]] * len(used)


def test_the_same_draws_for_the_same_seed():
    one, two, other = (draw_rectified(5, 3, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    assert not np.any(one[0] == other[0])
