"""Compiled prediction against the sum of terms, cell by cell: inside, outside, on knots, missing, in float32."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from sdm.features.terms import KINDS, Terms
from sdm.models.compiled import Compiled

LO, HI = np.array([-3.0, 100.0, -np.inf]), np.array([5.0, 400.0, np.inf])  # two continuous variables, one of classes


def random_terms(rng, size):
    """Terms of every kind with weights, on knots that lie anywhere in the range, and repeat."""
    rows = []
    grids = [np.round(np.linspace(LO[v], HI[v], 9), 3) for v in (0, 1)]
    for _ in range(size):
        kind = KINDS[rng.integers(len(KINDS))]
        v = 2 if kind == "category" else int(rng.integers(2))
        knot, lo, hi, other = 0.0, 0.0, 1.0, -1
        match kind:
            case "linear":
                lo, hi = LO[v], HI[v]
            case "quadratic":
                lo, hi = (rng.choice([0.0, 0.5]), 25.0) if v == 0 else (1e4, 16e4)
            case "product":
                v, other, lo, hi = 0, 1, -1200.0, 2000.0
            case "forward":
                knot = lo = rng.choice(grids[v][:-1])
                hi = HI[v]
            case "reverse":
                knot = hi = rng.choice(grids[v][1:])
                lo = LO[v]
            case "threshold":
                knot = rng.choice(grids[v])
            case "category":
                knot = float(rng.integers(1, 6))
        rows.append((kind, v, other, knot, lo, hi, rng.normal()))
    return rows


def as_terms(rows):
    parts = [
        Terms.build(
            KINDS.index(kind), np.array([v]), other=np.array([other]), knot=np.array([knot]),
            lo=np.array([lo]), hi=np.array([hi]), weight=np.array([weight]),
        )
        for kind, v, other, knot, lo, hi, weight in rows
    ]  # fmt: skip
    return Terms.concatenate(parts) if parts else Terms.build(0, np.empty(0, dtype=int))


def random_cells(rng, rows, n=60):
    """Cells inside and far outside the range, exactly on knots and beside them, some missing."""
    x = np.column_stack([rng.uniform(-9, 11, n), rng.uniform(-200, 700, n), rng.integers(0, 8, n)])
    for kind, v, _, knot, *_ in rows:
        if kind in ("forward", "reverse", "threshold"):
            i = rng.integers(n - 3)
            x[i : i + 3, v] = np.nextafter(knot, -np.inf), knot, np.nextafter(knot, np.inf)
    for v in range(2):
        x[rng.integers(n), v], x[rng.integers(n), v] = LO[v], HI[v]
    x[rng.random(x.shape) < 0.02] = np.nan
    return x


@given(seeds, st.integers(0, 40), st.booleans())
def test_compiled_is_the_sum_of_the_terms(seed, size, clamp):
    rng = np.random.default_rng(seed)
    rows = random_terms(rng, size)
    x = random_cells(rng, rows)
    expected = naive.predict_scores(rows, x, LO, HI, clamp)
    actual = Compiled(as_terms(rows), LO, HI).scores(list(x.T), clamp)
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-10)


@given(seeds, st.booleans())
def test_terms_evaluate_says_the_same_inside_the_range(seed, clamp):
    rng = np.random.default_rng(seed)
    rows = random_terms(rng, 20)
    x = np.column_stack([rng.uniform(1, 5, 50), rng.uniform(100, 400, 50), rng.integers(1, 6, 50)])
    terms = as_terms(rows)
    expected = terms.evaluate(x) @ terms.weight
    np.testing.assert_allclose(Compiled(terms, LO, HI).scores(list(x.T), clamp), expected, atol=1e-10)


@given(seeds, st.integers(0, 20))
def test_clamping_changes_nothing_where_it_holds_nothing(seed, size):
    """Cells that are inside everything have the same score with and without."""
    rng = np.random.default_rng(seed)
    rows = random_terms(rng, size)
    x = random_cells(rng, rows, 700)
    compiled = Compiled(as_terms(rows), LO, HI)
    clamped, free = (compiled.scores(list(x.T), clamp) for clamp in (True, False))
    outside = ((x < LO) | (x > HI)).any(axis=1)
    if any(kind == "product" for kind, *_ in rows):
        outside |= (x[:, 0] * x[:, 1] < -1200.0 - 1e-6) | (x[:, 0] * x[:, 1] > 2000.0 + 1e-6)
    if any(kind == "quadratic" and v == 0 and low > 0 for kind, v, _, _, low, *_ in rows):
        outside |= x[:, 0] ** 2 < 0.5
    np.testing.assert_array_equal(clamped[~outside], free[~outside])


@given(seeds, st.booleans(), st.sampled_from([0.3, 1.0, 4.0, 20.0]))
def test_neighbours_that_are_alike_have_the_scores_that_each_has_alone(seed, clamp, rough):
    """Cells in a row are scored together, by what they have in common: on maps they vary little, so that they are in
    one part of a curve, in a few that lie beside each other, or in many."""
    rng = np.random.default_rng(seed)
    rows = random_terms(rng, 20)
    x = np.tile([rng.uniform(-4, 6), rng.uniform(50, 450), 0.0], (400, 1))
    x[:, :2] += np.cumsum(rng.normal(size=(400, 2)) * [0.02 * rough, 0.5 * rough], axis=0)
    x[:, 2] = np.repeat(rng.integers(0, 8, 50), 8)  # some without a weight
    x[100:140] = np.nan
    compiled = Compiled(as_terms(rows), LO, HI)
    alone = np.concatenate([compiled.scores(list(point[:, None]), clamp) for point in x])
    np.testing.assert_array_equal(compiled.scores(list(x.T), clamp), alone)
    np.testing.assert_array_equal(compiled.scores(np.ascontiguousarray(x.T), clamp), alone)


@given(seeds)
def test_single_precision_input_is_computed_in_double(seed):
    """Rasters come as float32: the values are taken as they are, the sums are not rounded."""
    rng = np.random.default_rng(seed)
    rows = random_terms(rng, 20)
    x = random_cells(rng, rows).astype(np.float32)
    compiled = Compiled(as_terms(rows), LO, HI)
    np.testing.assert_array_equal(compiled.scores(list(x.T)), compiled.scores(list(x.astype(np.float64).T)))


def test_many_cells_in_blocks_and_strided_columns():
    rng = np.random.default_rng(0)
    rows = random_terms(rng, 30)
    x = np.tile(random_cells(rng, rows, 60), (900, 1))  # 54,000 cells: several blocks
    compiled = Compiled(as_terms(rows), LO, HI)
    once = compiled.scores([column[:60] for column in x.T])
    np.testing.assert_array_equal(compiled.scores(list(x.T)), np.tile(once, 900))
    np.testing.assert_array_equal(compiled.scores(list(np.asfortranarray(x).T)), np.tile(once, 900))


def test_a_thousand_knots():
    """The grid over the knots must never start a search behind the value."""
    rng = np.random.default_rng(1)
    knots = np.sort(np.concatenate([rng.uniform(-3, 5, 500), -3 + rng.random(500) * 1e-6]))
    weights = rng.normal(size=knots.size)
    terms = Terms.build(KINDS.index("threshold"), np.zeros(knots.size, dtype=int), knot=knots, weight=weights)
    x = np.concatenate([rng.uniform(-4, 6, 2000), knots, np.nextafter(knots, -np.inf)])
    expected = (x[:, None].clip(-3, 5) >= knots) @ weights
    np.testing.assert_allclose(Compiled(terms, LO[:1], HI[:1]).scores([x]), expected, atol=1e-10)


@pytest.mark.parametrize("kinds", [["linear"], ["threshold"], ["forward", "reverse"], ["product"]])
@pytest.mark.parametrize("clamp", [True, False])
def test_infinite_values_do_not_crash(kinds, clamp):
    """A raster may hold them; a bad index into a table would take the process down."""
    rng = np.random.default_rng(2)
    rows = [row for row in random_terms(rng, 60) if row[0] in kinds]
    x = np.array([[np.inf, 200.0, 1.0], [-np.inf, 200.0, 1.0], [0.0, np.inf, 2.0], [0.0, 200.0, np.inf]])
    with np.errstate(invalid="ignore"):
        actual = Compiled(as_terms(rows), LO, HI).scores(list(x.T), clamp)
    if clamp:
        bounded = np.clip(x, [-3, 100, -np.inf], [5, 400, np.inf])
        np.testing.assert_allclose(actual, naive.predict_scores(rows, bounded, LO, HI, True), atol=1e-10)


@pytest.mark.parametrize("clamp", [True, False])
@pytest.mark.parametrize("near", [(0.0, 5e-324), (273.15, np.nextafter(273.15, 300)), (3e5, 3e5 + 1e-6)])
def test_two_knots_as_near_as_can_be(near, clamp):
    """l1 likes neighbouring knots. A grid over so small a width rounds to nothing: cells left of both were wrong."""
    terms = Terms.build(
        KINDS.index("threshold"), np.zeros(2, dtype=int), knot=np.array(near), weight=np.array([1.0, 2.0])
    )
    x = np.array([near[0] - 1.0, np.nextafter(near[0], -np.inf), *near, near[1] + 1.0])
    scores = Compiled(terms, x[:1], x[-1:]).scores([x], clamp)
    assert scores.tolist() == [0.0, 0.0, 1.0, 3.0, 3.0]


def test_a_variable_without_weight_still_makes_a_cell_missing():
    terms = Terms.build(KINDS.index("linear"), np.array([0]), lo=LO[:1], hi=HI[:1], weight=np.ones(1))
    x = [np.zeros(2), np.array([100.0, np.nan]), np.ones(2)]
    assert np.isnan(Compiled(terms, LO, HI).scores(x)).tolist() == [False, True]
