"""The size of blocks from Gaussian fields whose range of autocorrelation is known."""

import numpy as np
import pytest

from sdm.assess.variables import variogram
from sdm.assess.variables.variogram import measure_autocorrelation
from sdm.data.crs import EARTH_KM, great_circle
from sdm.errors import DataError

FACTOR = 1.6  # an estimate of a range is within this factor of the truth, for the median of several fields


def places(n: int, seed: int, side: float = 8.0, middle: tuple[float, float] = (10.0, 45.0)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.asarray(middle) + rng.uniform(-side / 2, side / 2, (n, 2))


def fields(lonlat: np.ndarray, km: float, model: str, count: int, seed: int, nugget: float = 0.0) -> np.ndarray:
    """Gaussian fields with a spherical or exponential covariance, whose (effective) range is known."""
    n = len(lonlat)
    h = great_circle(np.repeat(lonlat, n, axis=0), np.tile(lonlat, (n, 1))).reshape(n, n)
    u = np.minimum(h / km, 1)
    cov = 1 - 1.5 * u + 0.5 * u**3 if model == "spherical" else np.exp(-3 * h / km)
    root = np.linalg.cholesky(cov + 1e-9 * np.eye(n))
    rng = np.random.default_rng(seed)
    return root @ rng.normal(size=(n, count)) + np.sqrt(nugget) * rng.normal(size=(n, count))


@pytest.mark.parametrize("model", ["spherical", "exponential"])
@pytest.mark.parametrize("km", [60.0, 120.0, 200.0])
@pytest.mark.parametrize("nugget", [0.0, 0.3])
def test_the_size_is_near_the_range_of_the_fields(model: str, km: float, nugget: float) -> None:
    lonlat = places(500, 1)
    result = measure_autocorrelation(lonlat, fields(lonlat, km, model, 7, 2, nugget), [f"f{k}" for k in range(7)])
    assert km / FACTOR < result.size_km < km * FACTOR
    assert result.size_km == pytest.approx(np.median([one.range_km for one in result.variograms]))
    assert (
        f"{variogram.kilometres(result.size_km)} km: the median range of autocorrelation of 7 variables" in result.text
    )


def test_the_empirical_variogram_is_that_of_all_pairs() -> None:
    lonlat = places(60, 3)
    values = fields(lonlat, 150, "spherical", 1, 4)
    result = measure_autocorrelation(lonlat, values, ["f"]).variograms[0]
    pairs = [(i, j) for i in range(60) for j in range(i)]
    h = np.array([great_circle(lonlat[[i]], lonlat[[j]])[0] for i, j in pairs])
    half = np.array([0.5 * (values[i, 0] - values[j, 0]) ** 2 for i, j in pairs])
    inside = h <= 0.5 * h.max()
    assert result.pairs.sum() == np.count_nonzero(inside)
    assert result.pairs.min() >= variogram.FEWEST
    assert result.pairs @ result.semivariance == pytest.approx(half[inside].sum())
    assert result.pairs @ result.distance == pytest.approx(h[inside].sum())


def test_noise_has_no_range_and_blocks_are_small() -> None:
    lonlat = places(400, 5)
    noise = np.random.default_rng(6).normal(size=(400, 3))
    result = measure_autocorrelation(lonlat, noise, ["a", "b", "c"])
    assert {one.state for one in result.variograms} == {"none"}
    assert result.size_km < 0.05 * result.extent_km
    assert "no variable is autocorrelated" in result.text
    assert "random folds would be sufficient" in result.text


def test_a_range_beyond_the_area_is_cut_at_a_third_of_it() -> None:
    lonlat = places(300, 7)
    trend = np.column_stack([lonlat[:, 0], lonlat[:, 1], lonlat.sum(axis=1)])
    result = measure_autocorrelation(lonlat, trend, ["x", "y", "both"])
    assert {one.state for one in result.variograms} == {"beyond"}
    assert result.size_km == pytest.approx(result.extent_km / 3)
    assert "is beyond a third of the extent, which is used instead" in result.text


def test_constant_variables_are_left_out_and_alone_refused() -> None:
    lonlat = places(300, 8)
    values = fields(lonlat, 100, "spherical", 3, 9)
    alone = measure_autocorrelation(lonlat, values, ["a", "b", "c"])
    with_flat = measure_autocorrelation(lonlat, np.column_stack([values, np.full(300, 4.0)]), ["a", "b", "c", "flat"])
    assert with_flat.size_km == alone.size_km
    assert "1 constant variables dropped (flat)" in with_flat.text
    with pytest.raises(DataError, match=r"no continuous variable varies .* --block-size 100"):
        measure_autocorrelation(lonlat, np.ones((300, 2)), ["flat", "flatter"])


def test_few_places_are_refused() -> None:
    lonlat = np.repeat(places(9, 10), 5, axis=0)
    with pytest.raises(DataError, match=r"9 places of sites are too few, expected 10 or more"):
        measure_autocorrelation(lonlat, np.random.default_rng(1).normal(size=(45, 1)), ["a"], noun="sites")


def test_many_points_are_drawn_by_the_seed_and_pairs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variogram, "PAIRS", 20_000)
    lonlat = places(600, 11)
    values = fields(lonlat, 120, "exponential", 3, 12)
    one, same, other = (measure_autocorrelation(lonlat, values, ["a", "b", "c"], seed=seed) for seed in (1, 1, 2))
    assert one.points == 200
    assert all(v.pairs.sum() <= 20_000 for v in one.variograms)
    assert one.size_km == same.size_km != other.size_km
    assert 120 / 2 < one.size_km < 120 * 2


def test_points_on_both_sides_of_the_date_line_are_near() -> None:
    lonlat = places(300, 13, middle=(0.0, 0.0))
    values = fields(lonlat, 150, "spherical", 3, 14)
    across = np.column_stack([(lonlat[:, 0] + 360) % 360 - 180, lonlat[:, 1]])
    assert np.ptp(across[:, 0]) > 350
    here, there = (measure_autocorrelation(where, values, ["a", "b", "c"]) for where in (lonlat, across))
    assert there.size_km == pytest.approx(here.size_km, rel=1e-6)
    assert there.extent_km == pytest.approx(here.extent_km, rel=1e-6)


def test_the_extent_is_the_largest_distance() -> None:
    def extent(lonlat: np.ndarray) -> float:
        return measure_autocorrelation(lonlat, np.random.default_rng(1).normal(size=(len(lonlat), 1)), ["a"]).extent_km

    for seed in range(5):
        lonlat = places(200, 20 + seed, side=20)
        one, other = np.triu_indices(200, 1)
        largest = great_circle(lonlat[one], lonlat[other]).max()
        assert extent(lonlat) == pytest.approx(largest, rel=1e-12)
    poles = np.array([[0.0, 90.0], [0.0, -90.0], *places(20, 3).tolist()])
    assert extent(poles) == pytest.approx(np.pi * EARTH_KM)
