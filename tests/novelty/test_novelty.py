"""Novelty of environments, against slow versions written from the papers, on data with ties, constants and gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sdm.novelty.exdet import NONE, Extrapolation
from sdm.novelty.mess import Similarity
from sdm.novelty.mop import Parity
from sdm.novelty.reference import Reference

SETTINGS = settings(deadline=None)


def draw(seed: int, n: int, m: int, kinds: str) -> tuple[Reference, NDArray[np.float64]]:
    """Return a reference of n rows and m points: c continuous, t with ties, k constant, g categories; some missing."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 4)
    make = {
        "c": lambda size, wide: scale * rng.normal(0, 2 if wide else 1, size),
        "t": lambda size, wide: rng.integers(-4 if wide else -2, 5 if wide else 3, size).astype(float),
        "k": lambda size, wide: np.where(rng.random(size) < (0.3 if wide else 0), 4.0, 3.0),
        "g": lambda size, wide: rng.integers(1, 7 if wide else 5, size).astype(float),
    }
    values = np.column_stack([make[kind](n, False) for kind in kinds])
    points = np.column_stack([make[kind](m, True) for kind in kinds])
    points[rng.random(points.shape) < 0.03] = np.nan
    points[: min(m, n) // 2] = values[: min(m, n) // 2]  # and points of the reference itself
    names = [f"v{k}" for k in range(len(kinds))]
    return Reference.of(values, names, [name for name, kind in zip(names, kinds) if kind == "g"]), points


def mess_of_paper(column: NDArray[np.float64], value: float, category: bool) -> float:
    """Similarity of one variable (Elith, Kearney and Phillips 2010, p. 339), and the rules for what it leaves open."""
    if category:
        return 100.0 if value in column else -100.0
    low, high = column.min(), column.max()
    if low == high:
        return 100.0 if value == low else -100.0
    f = 100.0 * sum(one < value for one in column) / len(column)
    if f == 0:
        return 100.0 * (value - low) / (high - low)
    if f <= 50:
        return 2 * f
    if f < 100:
        return 2 * (100 - f)
    return 100.0 * (high - value) / (high - low)


kinds = st.text("ctkg", min_size=1, max_size=5)


@SETTINGS
@given(st.integers(0, 10_000), st.integers(2, 40), kinds)
def test_mess(seed: int, n: int, kinds: str) -> None:
    reference, points = draw(seed, n, 30, kinds)
    least, which = Similarity.of(reference).measure(list(points.T))
    for row, got, variable in zip(points, least, which):
        if np.isnan(row).any():
            assert np.isnan(got)
            assert variable == 255
            continue
        each = [mess_of_paper(reference.values[:, k], row[k], reference.categorical[k]) for k in range(len(row))]
        assert got == pytest.approx(min(each), rel=1e-6, abs=1e-5)
        assert each[variable] == pytest.approx(min(each), rel=1e-9, abs=1e-9)


def test_mess_of_many_values_and_float32() -> None:
    """Millions of values, ties at bin edges: the table of bins never misplaces one."""
    rng = np.random.default_rng(3)
    column = np.round(rng.lognormal(3, 2, 5000), 1).astype(np.float32).astype(np.float64)
    similarity = Similarity.of(Reference.of(column[:, None], ["v"], []))
    points = np.concatenate([rng.choice(column, 20_000), rng.uniform(-5, column.max() * 1.1, 20_000)]).astype(
        np.float32
    )
    ranks = 100.0 * np.searchsorted(np.sort(column), points.astype(np.float64)) / len(column)
    low, high = column.min(), column.max()
    expected = np.where(ranks <= 50, 2 * ranks, 2 * (100 - ranks))
    expected = np.where(points <= low, 100 * (points.astype(np.float64) - low) / (high - low), expected)
    expected = np.where(points > high, 100 * (high - points.astype(np.float64)) / (high - low), expected)
    np.testing.assert_allclose(similarity.measure([points])[0], expected, rtol=1e-6, atol=1e-5)


def test_mess_of_neighbours_that_are_alike() -> None:
    """Where the points of a chunk are alike, most variables are not looked up: the result is that of all, and of equal
    similarities the first variable counts."""
    rng = np.random.default_rng(4)
    n, m = 300, 2000
    along = np.linspace(0, 12, m)
    reference = np.column_stack([rng.normal(0, 1, n), np.round(rng.normal(0, 1, n), 1), rng.integers(1, 4, n)])
    reference = np.column_stack([reference, reference[:, 0], np.full(n, 3.0), [0.0, 5e-324] * (n // 2)])
    smooth = np.column_stack([np.sin(along) * 1.5, np.round(np.cos(along * 0.7) * 3, 1), 1 + along // 3])
    points = np.column_stack([smooth, smooth[:, 0], np.where(along < 10, 3.0, 4.0), np.zeros(m)])
    points[500:700, 1] = np.nan
    points[np.arange(1000, 1400, 7), 3] = np.nan
    names = [f"v{k}" for k in range(points.shape[1])]
    for keep in ([0, 1], [3, 1, 0, 2], list(range(6))):
        known = Reference.of(reference[:, keep], [names[k] for k in keep], ["v2"])
        columns = np.ascontiguousarray(points[:, keep].T)
        least, which = Similarity.of(known).measure(columns)
        each = np.array(
            [[mess_of_paper(known.values[:, k], x, known.categorical[k]) for x in row] for k, row in enumerate(columns)]
        )
        gone = np.isnan(columns).any(axis=0)
        np.testing.assert_allclose(least[~gone], each.min(axis=0)[~gone], rtol=1e-6)
        np.testing.assert_array_equal(which, np.where(gone, NONE, each.argmin(axis=0)))
        assert np.isnan(least[gone]).all()
        assert len(set(which.tolist())) > 2, "several variables count somewhere"
        listed = Similarity.of(known).measure(list(columns))
        np.testing.assert_array_equal(listed[0], least)
        np.testing.assert_array_equal(listed[1], which)


@SETTINGS
@given(st.integers(0, 10_000), st.text("ctg", min_size=1, max_size=5))
def test_exdet(seed: int, kinds: str) -> None:
    reference, points = draw(seed, 60, 40, kinds)
    novelty, cause = Extrapolation.of(reference).measure(list(points.T))
    at = list(reference.continuous)
    values = reference.values[:, at]

    def distance(rows: NDArray[np.float64], keep: list[int]) -> NDArray[np.float64]:
        away = rows[:, keep] - values[:, keep].mean(axis=0)
        inverse = np.linalg.pinv(np.atleast_2d(np.cov(values[:, keep], rowvar=False)), rcond=1e-12)
        return np.einsum("ij,jk,ik->i", away, inverse, away)

    greatest = distance(values, list(range(len(at)))).max() if at else 0.0
    for row, got, variable in zip(points, novelty, cause):
        if np.isnan(row).any():
            assert np.isnan(got)
            continue
        outside = []
        for k, value in enumerate(row):
            if reference.categorical[k]:
                outside.append(0.0 if value in reference.values[:, k] else -1.0)
            else:
                low, high = reference.low[k], reference.high[k]
                outside.append(min(0.0, (value - low) / (high - low), (high - value) / (high - low)))
        if sum(outside) < 0:
            assert got == pytest.approx(sum(outside), rel=1e-5)
            assert outside[variable] == min(outside)
        elif at:
            full = distance(row[None, at], list(range(len(at))))[0]
            assert got == pytest.approx(full / greatest, rel=1e-4, abs=1e-6)
            if got > 1.0001:
                rest = [
                    distance(row[None, at], [k for k in range(len(at)) if k != j])[0] if len(at) > 1 else 0.0
                    for j in range(len(at))
                ]
                assert rest[at.index(variable)] == pytest.approx(min(rest), rel=1e-4, abs=1e-9)
            elif got < 0.9999:
                assert variable == NONE


@SETTINGS
@given(st.integers(0, 10_000), kinds)
def test_mop(seed: int, kinds: str) -> None:
    reference, points = draw(seed, 50, 30, kinds)
    distance, strict = Parity.of(reference, share=0.1).measure(list(points.T))
    at = list(reference.continuous)
    scale = reference.values[:, at].std(axis=0, ddof=1)
    scale = np.where(scale > 0, scale, 1.0)
    for row, got, beyond in zip(points, distance, strict):
        if np.isnan(row).any():
            assert np.isnan(got) or not at
            assert not beyond
            continue
        away = np.sqrt((((reference.values[:, at] - row[at]) / scale) ** 2).sum(axis=1))
        assert got == pytest.approx(np.sort(away)[:5].mean() if at else 0.0, rel=1e-5, abs=1e-6)
        seen = [
            row[k] in reference.values[:, k]
            if reference.categorical[k]
            else reference.low[k] <= row[k] <= reference.high[k]
            for k in range(len(row))
        ]
        assert beyond == (not all(seen))


def test_mop_of_a_large_reference_is_drawn_by_a_seed() -> None:
    values = np.random.default_rng(1).normal(size=(5000, 2))
    reference = Reference.of(values, ["a", "b"], [])
    one, two = (Parity.of(reference, points=100, seed=seed).measure([np.zeros(3), np.zeros(3)])[0] for seed in (1, 1))
    assert one.tolist() == two.tolist()
    full = Parity.of(reference, points=5000).measure([np.zeros(1), np.zeros(1)])[0][0]
    assert one[0] == pytest.approx(full, rel=0.3)


@pytest.mark.parametrize("n", [7, 13, 999])
def test_of_equally_dissimilar_variables_the_first_counts(n: int) -> None:
    """Also where their similarity is no number of single precision."""
    column = np.random.default_rng(n).normal(size=n)
    reference = Reference.of(np.column_stack([column, column, column]), ["a", "b", "c"], [])
    points = np.random.default_rng(1).normal(0, 1.5, 500)
    assert not Similarity.of(reference).measure([points, points, points])[1].any()
