"""The virtual landscape: the same bits each time, and plausible as a landscape."""

import math

import numpy as np
import pytest

from sdm.simulate.landscape import CLASSES, LAYERS, Landscape
from sdm.simulate.noise import key

ALL = [layer.name for layer in LAYERS] + ["landcover"]


@pytest.mark.parametrize("height", [1, 7, 50])
def test_a_strip_does_not_depend_on_its_height(height):
    world = Landscape(50, 40, 5)
    whole, land = world.strip(0, 50, [*ALL, "noise1"])
    parts = [world.strip(row, min(row + height, 50), [*ALL, "noise1"]) for row in range(0, 50, height)]
    assert np.array_equal(np.concatenate([part[1] for part in parts]), land)
    for name in whole:
        assert np.array_equal(np.concatenate([part[0][name] for part in parts]), whole[name]), name


def test_uniform_numbers_are_the_hash_that_the_text_says():
    """The slow, obvious way in Python's integers: another compiler or machine cannot give another sample."""

    def mix(i: int, j: int, code: int) -> int:
        h = (i * 0x9E3779B97F4A7C15 + j * 0xC2B2AE3D27D4EB4F + code) % 2**64
        h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD % 2**64
        h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53 % 2**64
        return h ^ (h >> 33)

    rows, cols = np.array([0, 3, 41_000]), np.array([0, 99_999, 7])
    expected = [((mix(i, j, int(key(9, "x"))) >> 12) + 0.5) / 2**52 for i, j in zip(rows.tolist(), cols.tolist())]
    assert Landscape(32, 32, 9).white("x", rows, cols).tolist() == expected
    many = Landscape(32, 32, 9).white("x", np.arange(200)[:, None], np.arange(200))
    assert abs(many.mean() - 0.5) < 0.006
    assert abs(np.corrcoef(many[1:].ravel(), many[:-1].ravel())[0, 1]) < 0.02


@pytest.mark.parametrize(
    "rows, cols, seed", [(100, 100, seed) for seed in range(8)] + [(32, 32, 1), (60, 300, 1), (300, 60, 2)]
)
def test_every_world_has_sea_and_all_classes_of_land(rows, cols, seed):
    layers, land = Landscape(rows, cols, seed).strip(0, rows, ALL)
    assert 0.15 <= 1.0 - land.mean() <= 0.30
    assert set(np.unique(layers["landcover"])) <= set(CLASSES)
    assert all(np.isfinite(values).all() for values in layers.values())
    if rows == cols == 100:
        assert len(np.unique(layers["landcover"][land])) >= 6


def test_terrain_is_neither_white_noise_nor_stripes():
    """Neighbours are alike, and equally so along rows, columns and both diagonals."""
    height = Landscape(160, 160, 4).strip(0, 160, ["elevation"])[0]["elevation"].astype(float)
    steps = {
        "right": height[:, 4:] - height[:, :-4],
        "down": height[4:] - height[:-4],
        "diagonal": (height[3:, 3:] - height[:-3, :-3]) * 4 / math.hypot(3, 3),
        "other": (height[3:, :-3] - height[:-3, 3:]) * 4 / math.hypot(3, 3),
    }
    rough = [step.std() for step in steps.values()]
    assert max(rough) < 0.5 * height.std()
    assert max(rough) < 2.0 * min(rough)
    assert np.diff(height, axis=0).std() > 0.05 * height.std()  # nor a smooth blob


def test_climate_follows_the_terrain():
    layers, land = Landscape(200, 200, 6).strip(0, 200, ALL)
    at = {name: values[land].astype(float) for name, values in layers.items()}
    rows = np.broadcast_to(np.arange(200.0)[:, None], land.shape)[land]
    lapse, south, _ = np.linalg.lstsq(np.column_stack([at["elevation"], rows, np.ones(rows.size)]), at["temperature"])[
        0
    ]
    assert -0.008 < lapse < -0.004  # degrees a metre
    assert south > 0.0
    assert np.corrcoef(at["coast_distance"], at["seasonality"])[0, 1] > 0.5
    assert np.corrcoef(at["slope"], at["wetness"])[0, 1] < -0.3
    assert (at["slope"] >= 0).all()
    assert (at["precipitation"] > 0).all()
    assert (at["dry_quarter"] < at["precipitation"] / 4).all()


def test_more_rain_falls_before_a_mountain_than_behind():
    layers, land = Landscape(200, 200, 6).strip(0, 200, ["elevation", "precipitation"])
    height, rain = layers["elevation"].astype(float), layers["precipitation"].astype(float)
    rise = height[:, 16:] - height[:, :-16]  # eastwards, over 32 km; the wind comes from the west
    both = land[:, 8:-8] & land[:, 16:] & land[:, :-16]
    middle = rain[:, 8:-8]
    assert middle[both & (rise > 300)].mean() > 1.2 * middle[both & (rise < -300)].mean()


def test_more_cells_show_the_same_world_in_more_detail():
    coarse, fine = (Landscape(n, n, 8).strip(0, n, ["temperature"])[0]["temperature"] for n in (100, 300))
    mean = fine.reshape(100, 3, 100, 3).mean(axis=(1, 3))
    assert np.corrcoef(mean.ravel(), coarse.ravel())[0, 1] > 0.97
