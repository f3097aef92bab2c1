"""Point patterns of a known density: points that do not follow it would make every comparison wrong."""

import numpy as np
import pytest

from benchmarks.inputs.point_patterns import city_pattern, road_pattern


@pytest.mark.parametrize("pattern", [city_pattern(2), road_pattern(4)], ids=["city", "road"])
def test_points_follow_the_density(pattern) -> None:
    n = 40_000
    assert pattern.density.sum() == pytest.approx(1)
    assert (pattern.density > 0).all()
    x, y = pattern.draw(n, np.random.default_rng(0))
    left, bottom, right, top = pattern.bounds
    assert ((x >= left) & (x <= right) & (y >= bottom) & (y <= top)).all()
    columns, rows = pattern.cells
    found, _, _ = np.histogram2d(y, x, bins=(rows // 4, columns // 4), range=((bottom, top), (left, right)))
    expected = n * pattern.density.reshape(rows // 4, 4, columns // 4, 4).sum(axis=(1, 3))[::-1]
    z = (found - expected) / np.sqrt(expected)
    assert np.mean(z**2) == pytest.approx(1, abs=0.2)  # a chi-squared of some hundred squares


def test_cities_and_days_differ() -> None:
    for make in (city_pattern, road_pattern):
        one, two = make(1).density, make(2).density
        assert 0.5 * np.abs(one - two).sum() > 0.05
        assert np.array_equal(make(1).density, one)
