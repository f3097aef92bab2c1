"""Pictures of paths show what was computed: the right number of breakpoints, marks where the choices are."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from strategies import small_case

from sdm.assess.paths.strata import validate_path
from sdm.maxent.entropy import Entropy
from sdm.maxent.paths.homotopy import track_path
from sdm.maxent.paths.multiplier import follow_path
from sdm.report.figures.paths import draw_mu, draw_multipliers, draw_strata, draw_validation

RED, BLUE, GREEN = (178, 24, 43), (33, 102, 172), (58, 125, 68)
ACCENT, INK = (200, 85, 61), (31, 59, 77)


def read(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def near(pixels: np.ndarray, colour: tuple[int, int, int], slack: int = 30) -> np.ndarray:
    return np.abs(pixels - colour).max(axis=2) <= slack


def small_path():
    return track_path([0.1, 0.2, 0.3, 0.4], [0.45, 0.05, 0.38, 0.12])


def validation(folds: int = 3):
    rng = np.random.default_rng(2)
    paths = [track_path(np.ones(6), rng.integers(1, 9, 6), np.arange(1, 7)) for _ in range(folds)]
    return validate_path(paths, rng.integers(1, 5, (folds, 6)))


def test_mu_is_drawn_with_the_lines_it_breaks_at(tmp_path):
    pixels = read(draw_mu(small_path(), tmp_path / "mu.png", title="four atoms"))
    assert near(pixels, GREEN).sum() > 500
    assert near(pixels, RED, 90).sum() > 100
    assert near(pixels, BLUE, 90).sum() > 100
    # the breakpoints are black discs on the curve: as many as there are, left of each other
    black = near(pixels, (0, 0, 0), 10)[330:-150, 150:-20]  # without axes and legend
    columns = np.flatnonzero(black.sum(axis=0) >= 9)
    assert 1 + np.count_nonzero(np.diff(columns) > 9) == 2  # the third is beside the legend


def test_many_atoms_come_without_lines(tmp_path):
    rng = np.random.default_rng(1)
    path = track_path(rng.random(500) + 0.1, rng.random(500))
    pixels = read(draw_mu(path, tmp_path / "mu.png"))
    assert near(pixels, BLUE, 20).sum() == 0
    assert near(pixels, (0, 0, 0), 10).sum() > 500


def test_a_path_without_breakpoints_can_be_drawn(tmp_path):
    path = track_path([1, 2], [1, 2])
    for target in (draw_mu(path, tmp_path / "a.png"), draw_strata(path, tmp_path / "b.png")):
        assert read(target).std() > 5


@pytest.mark.parametrize("nu", [2.0, 50.0, 1e4])
def test_a_mark_is_within_the_picture_wherever_it_is(tmp_path, nu):
    pixels = read(draw_strata(small_path(), tmp_path / "strata.png", marks=[("chosen", nu)], most=1))
    upright = near(pixels, ACCENT).sum(axis=0)
    assert upright.max() > 100


def test_names_of_strata_may_hold_anything(tmp_path):
    names = ["$x_1$", "a" * 90, "日本", "50% & more"]
    assert read(draw_strata(small_path(), tmp_path / "s.png", names=names, title="$")).std() > 5


@pytest.mark.parametrize("folds", [1, 3])
def test_the_held_out_loss_marks_its_choices(tmp_path, folds):
    found = validation(folds)
    pixels = read(draw_validation(found, tmp_path / "v.png"))
    assert near(pixels, ACCENT).sum() > 60
    assert near(pixels, INK).sum() > 300


def test_an_infinite_loss_at_the_end_is_left_out(tmp_path):
    found = validate_path([track_path([1, 1, 1], [5, 5, 0])], [[1, 1, 1]])
    assert read(draw_validation(found, tmp_path / "v.png")).std() > 5


def test_fits_against_the_multiplier(tmp_path):
    case = small_case(4)
    features = case.features("lqh", 4)
    path = follow_path(features, case.sample, Entropy(1.0), np.full(features.size, 0.05), epsilon=1e-2)
    mean = np.linspace(1.0, 0.5, len(path.knots))
    plain = read(draw_multipliers(path, tmp_path / "a.png", names=features.terms().names(["a", "b"])))
    full = read(
        draw_multipliers(path, tmp_path / "b.png", loss=(mean, 0.1 * mean), marks=[("chosen", path.multipliers[2])])
    )
    assert full.shape[0] > plain.shape[0]  # one panel more
    assert near(full, ACCENT).sum() > near(plain, ACCENT).sum() + 200
    assert near(plain, INK).sum() > 500


def test_the_same_picture_has_the_same_bytes(tmp_path):
    first, second = (draw_mu(small_path(), tmp_path / f"{k}.png").read_bytes() for k in range(2))
    assert first == second
