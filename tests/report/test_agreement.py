"""A page and the figures on disk agree: a reader who has both sees one colour, one order and one word for one thing."""

import re
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

from sdm.api.run import load
from sdm.kinds.registry import read_results
from sdm.report.charts import COLOURS, CURVES
from sdm.report.pages.maps.live_map import live_map
from sdm.report.pages.sections import curves, fold_map, importance
from sdm.report.results import Results
from sdm.report.stored_charts import ranked_variables

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
    for kind, ending, other in (("marginal", "", 1), ("only", "_only", 0)):
        name, place = CURVES[kind]
        file = (full / "plots" / f"{ranked_variables(results)[0]}{ending}.svg").read_text(encoding="utf-8")
        (line,) = re.findall(f'<path d="[^"]*" fill="none" (stroke="{COLOURS[place]}" stroke-width="2"[^>]*)>', file)
        assert line in shown["responses"][0]
        assert f'stroke="{COLOURS[other]}" stroke-width="2"' not in file
        assert name in shown["responses"][0]
    charts = load(full).plot.curves()
    assert [axes.get_xlabel() for axes in charts] == ranked_variables(results)
    assert [line.get_label() for line in charts[0].get_lines()] == [CURVES["marginal"][0], CURVES["only"][0]]


def test_effects_are_in_the_order_of_the_page(full: Path, results: Results) -> None:
    shown, file = curves(results), (full / "plots" / "effects.svg").read_text(encoding="utf-8")
    assert shown is not None
    inside = [re.sub("^<svg[^>]*>|</svg>$", "", str(chart)) for chart in shown["effects"]]
    assert len(inside) > 1
    assert [file.index(chart) for chart in inside] == sorted(file.index(chart) for chart in inside)


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
