"""A page and the figures on disk agree: a reader who has both sees one colour, one order and one word for one thing."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image

from sdm.api.run import load
from sdm.assess.profiles import Profile
from sdm.kinds.results import read_results
from sdm.report.charts import COLOURS, CURVES
from sdm.report.figures.curves import draw_profiles
from sdm.report.pages.drawing.curves import curves, ranked_variables
from sdm.report.pages.maps.live_map import live_map
from sdm.report.pages.sections import fold_map, importance
from sdm.report.results import Results

TEXT = re.compile("<text[^>]*>([^<]*)</text>")


@pytest.fixture(scope="module")
def results(full: Path) -> Results:
    return read_results(full)


def test_importance_has_one_order_and_one_legend(full: Path, results: Results) -> None:
    axes = load(full).plot.importance()
    shown = importance(results)
    assert shown is not None
    names = [label.get_text() for label in axes.get_yticklabels()]
    percent = [row["percent"] for row in shown["rows"]]
    assert names == [row["variable"] for row in shown["rows"]] == ranked_variables(results)
    assert percent == sorted(percent, reverse=True), "by permutation importance"
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    said = TEXT.findall(shown["chart"])
    assert legend == said[:2] == ["permutation importance", "percent contribution"]
    assert axes.get_xlabel() in said
    bars = [
        to_hex(container.patches[0].get_facecolor()) for container in axes.containers if hasattr(container, "patches")
    ]
    assert bars == list(COLOURS[:2])
    assert [shown["chart"].index(f'fill="{colour}"') for colour in bars] == sorted(
        shown["chart"].index(f'fill="{colour}"') for colour in bars
    ), "the first bar of the page is that of the figure"


def test_a_curve_has_the_colour_and_the_name_that_it_has_on_the_page(full: Path, results: Results) -> None:
    shown = curves(results)
    assert shown is not None
    for kind, ending in (("marginal", ""), ("only", "_only")):
        name, place = CURVES[kind]
        with Image.open(full / "plots" / f"{ranked_variables(results)[0]}{ending}.png") as image:
            seen = {"#{:02x}{:02x}{:02x}".format(*colour) for _, colour in image.convert("RGB").getcolors(1 << 16)}
        assert COLOURS[place] in seen
        assert name in shown["responses"][0]
        assert f'stroke="{COLOURS[place]}"' in shown["responses"][0]
    with Image.open(full / "plots" / f"{ranked_variables(results)[0]}.png") as image:
        seen = {"#{:02x}{:02x}{:02x}".format(*colour) for _, colour in image.convert("RGB").getcolors(1 << 16)}
    assert COLOURS[1] not in seen
    charts = load(full).plot.curves()
    assert [axes.get_xlabel() for axes in charts] == ranked_variables(results)
    assert [line.get_label() for line in charts[0].get_lines()] == [CURVES["marginal"][0], CURVES["only"][0]]


def test_effects_are_in_the_order_of_the_page(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 11)
    effects = [Profile(name, "additive", x, k * x, 0.0, 1.0) for k, name in enumerate("abc", start=1)]
    shown = []
    for k, (given, order) in enumerate(((effects, ("c", "a")), ([effects[2], effects[0], effects[1]], ()))):
        (tmp_path / str(k)).mkdir()
        (path,) = draw_profiles(given, tmp_path / str(k), "cloglog", {name: name for name in "abc"}, order=order)
        shown.append(path.read_bytes())
    assert shown[0] == shown[1]


def test_folds_have_one_colour_and_one_name(full: Path, results: Results) -> None:
    axes = load(full).plot.folds()
    drawn = {str(line.get_label()): str(line.get_markerfacecolor()) for line in axes.get_lines()}
    folds = {name: colour for name, colour in drawn.items() if name.startswith("fold ")}
    live, chart = live_map(results), fold_map(results)
    assert live is not None
    assert chart is not None
    assert len(folds) == 3
    assert {fold["name"]: fold["colour"] for fold in live["folds"]} == folds
    assert [text for text in TEXT.findall(chart) if text.startswith("fold ")] == list(folds)
    assert re.findall(r'<g fill="(#[0-9a-f]{6})"', chart) == list(folds.values())
