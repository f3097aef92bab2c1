"""Pictures of what a model is worth: each shows what it was given, whatever things are called."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from terminal import picture

from sdm.assess.curves import CurvePoint
from sdm.assess.importance import Contribution, Jackknife, Permutation
from sdm.assess.profiles import Surface
from sdm.models.colours import read_colour
from sdm.report.charts import COLOURS, Chart, calibration_chart, importance_chart, jackknife_charts
from sdm.report.figures import assessment as figures
from sdm.report.figures.charts import draw_charts
from sdm.report.paper import Paper

NAMES = ("a$b", "🦥 soil", "a name that is much longer than any picture has room for, and then some")
PERMUTATION = [Permutation(name, 20.0 * k, 2.0, 0.01 * k, 0.001) for k, name in enumerate(NAMES, start=1)]
CONTRIBUTION = [Contribution(name, 30.0 - 5 * k, 0.1) for k, name in enumerate(NAMES)]
JACKKNIFE = [
    Jackknife("", "all", 1.0, 0.9, 0.8, 0.85),
    *(
        Jackknife(name, kind, 0.5 + 0.1 * k, 0.7, 0.4, 0.8)
        for k, name in enumerate(NAMES)
        for kind in ("without", "only")
    ),
]
CALIBRATION = [{"predicted": 0.1 * k, "observed": 0.09 * k, "count": 5 * k} for k in range(1, 10)]
POINTS = [
    CurvePoint(label, size, price, 5 - 0.1 * size**0.5 + abs(np.log(price)), 0.1, 0.8, 0.01, 4)
    for label in ("L", "LQ")
    for size in (10, 40)
    for price in (0.1, 1.0, 10.0)
]
TUNED = [
    {"label": label, "multiplier": price, "loss.val.avg": price + k, "loss.val.sd": 0.1}
    for k, label in enumerate(("L", "LQ"))
    for price in (0.5, 1.0, 4.0)
]
X = np.linspace(0, 1, 11)
SURFACE = Surface(("a$b", "🦥"), "marginal", X, X[:2], np.outer(X, X[:2]), ((0.1, 0.9), (0, 1)), (None, ("$1", "b")))
XY = np.linspace(-50, 50, 40), np.linspace(0, 30, 40) ** 1.1
GROUP = np.arange(40) % 3

SMALL = Paper(("png",), 72)
DRAWN = {
    "folds": lambda path: figures.draw_folds(figures.FoldPlaces(XY, GROUP, NAMES), path, title="a$b", paper=SMALL),
    "divided": lambda path: figures.draw_folds(
        figures.FoldPlaces(XY, GROUP, NAMES, XY[::-1], GROUP - 1, True), path, paper=SMALL
    ),
    "tuning": lambda path: figures.draw_tuning(TUNED, "loss.val.avg", 4, path, paper=SMALL),
    "learning": lambda path: figures.draw_curves(POINTS[::3], "learning", path, "a$b", paper=SMALL),
    "sensitivity": lambda path: figures.draw_curves(POINTS, "sensitivity", path, paper=SMALL),
    "surface": lambda path: figures.draw_surface(SURFACE, "raw", path, paper=SMALL),
}
CHARTS = {
    "importance": importance_chart([vars(row) for row in PERMUTATION], [vars(row) for row in CONTRIBUTION]),
    "calibration": calibration_chart(CALIBRATION),
    **jackknife_charts([vars(row) for row in JACKKNIFE]),
}


def tables(*parts):
    return [[vars(row) for row in rows] for rows in parts]


def drawn(chart: Chart, path: Path) -> Path:
    draw_charts([chart], path, SMALL)
    return path


@pytest.mark.parametrize("name", list(CHARTS))
def test_a_chart_drawn_twice_is_the_same(tmp_path: Path, name: str) -> None:
    first, second = (drawn(CHARTS[name], tmp_path / f"{k}.png") for k in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert picture(first).std() > 5


@pytest.mark.parametrize("name", list(DRAWN))
def test_drawn_twice_the_same(tmp_path: Path, name: str) -> None:
    first, second = DRAWN[name](tmp_path / "a.png"), DRAWN[name](tmp_path / "b.png")
    assert first.read_bytes() == second.read_bytes()
    assert picture(first).std() > 5


def test_longer_bars_for_more_importance(tmp_path: Path) -> None:
    more = [replace(row, percent=2 * row.percent) for row in CONTRIBUTION[:1]] + CONTRIBUTION[1:]
    shares = []
    for name, rows in (("a", CONTRIBUTION), ("b", more)):
        seen = picture(drawn(importance_chart(*tables(PERMUTATION, rows)), tmp_path / f"{name}.png"))
        dark, light = (np.count_nonzero((seen == read_colour(colour)).all(axis=2)) for colour in COLOURS[:2])
        shares.append(light / dark)
    assert shares[1] > 1.1 * shares[0]


def test_the_chosen_setting_is_marked(tmp_path: Path) -> None:
    one = figures.draw_tuning(TUNED, "loss.val.avg", 0, tmp_path / "a.png")
    other = figures.draw_tuning(TUNED, "loss.val.avg", 5, tmp_path / "b.png")
    assert np.any(picture(one) != picture(other))


def test_every_fold_has_its_colour(tmp_path: Path) -> None:
    seen = picture(figures.draw_folds(figures.FoldPlaces(XY, GROUP, ["1", "2", "3"]), tmp_path / "a.png"))
    for colour in COLOURS[:3]:
        rgb = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        assert np.count_nonzero((seen == rgb).all(axis=2)) > 50


def test_one_variable_and_one_setting(tmp_path: Path) -> None:
    nothing = [Permutation("x", 0.0, float("nan"), 0.0, float("nan"))]
    drawn(importance_chart(*tables(nothing, [Contribution("x", 0.0, 0.0)])), tmp_path / "a.png")
    figures.draw_tuning(TUNED[:1], "loss.val.avg", 0, tmp_path / "b.png")
    figures.draw_curves([replace(POINTS[0], loss_sd=float("nan"))], "learning", tmp_path / "c.png")
    assert all(picture(tmp_path / f"{name}.png").std() > 0 for name in "abc")
