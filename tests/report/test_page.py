"""The page of a species: what it shows and hides, that no name gets out of its place, and the same bytes twice."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from conftest import ROOT
from evil import EVIL, EVIL_LAYER
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from report_runs import fit, unpacked

from sdm.assess.measures.thresholds import TOPS
from sdm.errors import DataError
from sdm.kinds.pages import make_page, make_pages, write_page
from sdm.kinds.registry import read_results
from sdm.report.charts import BarChart, Bars, ColumnChart, Line, LineChart
from sdm.report.pages.maps.live_map import LEVELS, NOTHING, pack
from sdm.report.pages.svg import round_numbers, svg
from sdm.report.pages.words import figure, percent
from sdm.report.results import Results, find_results, read_rows

VOID = {"meta", "link", "img", "input", "br"}
DRAWN = {"path", "rect", "circle", "polygon"}  # closed in one


class Reader(HTMLParser):
    """Reads a page as a browser would: elements in order, texts by the element that they are in, sections."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.sections: dict[str, str] = {}
        self.section = ""
        self.scripts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.section = dict(attrs)["id"] or ""
            self.sections[self.section] = ""
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in DRAWN | VOID
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "section":
            self.section = ""

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.section:
            self.sections[self.section] += data

    @property
    def live(self) -> dict[str, Any]:
        return dict(json.loads(self.scripts[0]))


def copy(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def change(folder: Path, **numbers: Any) -> Results:
    """Results whose numbers say something else; None takes one out."""
    (path,) = folder.glob("*.json")
    tree = json.loads(path.read_text())
    tree |= numbers
    path.write_text(json.dumps({key: value for key, value in tree.items() if value is not None}))
    return read_results(folder)


def of(folder: Path) -> Reader:
    return Reader(make_page(read_results(folder)))


@pytest.fixture(scope="module")
def text(full: Path) -> str:
    """The page of the full results."""
    return make_page(read_results(full))


@pytest.fixture(scope="module")
def shown(text: str) -> Reader:
    """The page of the full results as a browser reads it."""
    return Reader(text)


def without_pictures_of_scenarios(full: Path, to: Path) -> Path:
    """A copy of the full results whose scenarios have no pictures, no maps and no run file: pages show these as they
    are, whatever is wrong with the results of the model."""
    folder = copy(full, to)
    for path in (*folder.glob("scenarios/*.png"), *folder.glob("scenarios/*/*.tif"), folder / "scenarios" / "run.yaml"):
        path.unlink()
    return folder


def test_the_result_comes_first(shown: Reader) -> None:
    wanted = ["map", "curves", "importance", "validation", "roc", "omission", "null", "thresholds", "scenarios"]
    assert list(shown.sections) == [*wanted, "records", "fit", "settings", "odmap"]


def test_curves_come_by_importance_with_ribbons_rugs_and_their_numbers(full: Path, text: str) -> None:
    results, page = read_results(full), text
    rows = sorted(results.numbers["importance"]["permutation"], key=lambda row: -row["percent"])
    assert re.findall(r'aria-label="Response to (\w+)"', page) == [row["variable"] for row in rows]
    charts = dict(re.findall(r'<svg class="chart" role="img" aria-label="Response to (\w+)"(.*?)</svg>', page, re.S))
    drawn = next(charts[row["variable"]] for row in rows if row["variable"] != "landcover")
    assert 'fill-opacity=".18"' in drawn, "the limits over replicates are a shade"
    strokes = [re.findall(r"M[\d.]+ ", path) for path in re.findall(r'<path d="([^"]*)"[^>]*stroke-opacity', drawn)]
    assert len(strokes) == 2, "background below, presences above"
    assert len(strokes[1]) <= results.numbers["training_presences"]
    assert "others at their mean,lower,upper,this variable alone" in drawn


def test_what_is_shown_is_what_was_stored(full: Path, shown: Reader) -> None:
    results = read_results(full)
    page, n = shown, results.numbers
    whole = " ".join(page.sections.values())
    for row in n["thresholds"].values():
        assert row["name"] in page.sections["thresholds"]
        assert figure(row["cloglog"]) in page.sections["thresholds"]
        assert percent(row["test_omission"]) in page.sections["thresholds"]
    for row in n["importance"]["permutation"]:
        assert row["variable"] in page.sections["importance"]
        assert figure(row["percent"], 3) in page.sections["importance"]
    for test in n["null_models"]["tests"]:
        assert figure(test["effect"], 3) in page.sections["null"]
    for name, value in n["cross_validation"]["mean"].items():
        if name.endswith(".avg"):
            assert figure(value) in page.sections["validation"], name
    assert results.command in page.sections["settings"]
    assert "Seed: 1." in page.sections["settings"]
    assert f"numpy {np.__version__}" in page.sections["settings"]
    assert f"{n['records']['read']}" in page.sections["records"]
    assert figure(n["gap"], 2) in page.sections["fit"]
    assert "ROC" in whole
    assert n["species"] in page.sections["odmap"]


def test_omission_and_roc_are_drawn_through_the_stored_points(full: Path, text: str) -> None:
    for table in ("omission", "roc"):
        chart = text.partition(f'<section id="{table}"')[2].partition("</svg>")[0]
        rows = read_results(full).table(table)
        paths = [re.findall(r"[ML]([\d.]+) ([\d.]+)", path) for path in re.findall(r'd="(.*?)"', chart)]
        assert sum(len(points) == len(rows) for points in paths) == (3 if table == "omission" else 2)


def test_the_live_map_holds_the_raster_to_a_quarter_of_a_thousandth(full: Path, shown: Reader) -> None:
    live = shown.live
    layer = live["layers"][0]
    path = read_results(full).path("map")
    with rasterio.open(path) as source:
        band = source.read(1, masked=True).filled(np.nan)
        assert layer["bounds"] == pytest.approx(list(source.bounds))
    values = unpacked(layer["values"], (layer["height"], layer["width"]))
    assert values.shape == band.shape
    assert np.array_equal(values == NOTHING, np.isnan(band))
    inside = ~np.isnan(band)
    assert np.abs(values[inside] / LEVELS - band[inside]).max() <= 1.0001 / LEVELS
    assert [row["name"] for row in live["layers"]][:2] == ["training layers", "mean over replicates"]
    assert [row["threshold"] for row in live["layers"]] == [True, True, False, True, True]
    results = read_results(full)
    counts = {group["id"]: len(group["places"]) for group in live["records"]}
    assert counts == {key: results.numbers[f"{key}{name}_presences"] for key, name in (("train", "ing"), ("test", ""))}
    assert live["chosen"] == results.numbers["map_threshold"]
    assert len(live["sweep"]) == len(results.table("roc"))
    assert {row["value"] for row in live["thresholds"]} == {
        t["cloglog"] for t in results.numbers["thresholds"].values()
    }


def test_projections_of_earlier_versions_are_in_the_live_map(full: Path, tmp_path: Path) -> None:
    """They lay beside the map of the training layers, one file each."""
    folder = copy(full, tmp_path / "copy")
    files = read_results(folder).numbers["files"]
    change(folder, files={**files, "projection warmer": files["map"]})
    assert [row["name"] for row in of(folder).live["layers"]][:2] == ["training layers", "projection: warmer"]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("extrapolation: none", "There is no prediction outside"),
        ("extrapolation: free", "Response curves are extrapolated"),
        ("extrapolation: clamp", "clamped to their training ranges"),
        ("clamp: true", "clamped to their training ranges"),  # results of earlier versions
        ("clamp: false", "Response curves are extrapolated"),
    ],
)
def test_the_protocol_says_how_maps_extrapolate(full: Path, tmp_path: Path, options: str, wanted: str) -> None:
    folder = copy(full, tmp_path / "copy")
    (folder / "run.yaml").write_text(f"predict:\n  {options}\n")
    assert wanted in of(folder).sections["odmap"]


@given(arrays(np.float32, (3, 4), elements=st.one_of(st.floats(0, 1, width=32), st.just(float("nan")))))
def test_packing_loses_less_than_a_step(values: np.ndarray) -> None:
    steps = unpacked(pack(values, 1.0), (3, 4))
    known = np.isfinite(values)
    assert np.array_equal(steps != NOTHING, known)
    assert np.all(np.abs(steps[known] - values[known].astype(float) * LEVELS) <= 1.0001)


@pytest.mark.parametrize(
    ("section", "numbers", "files"),
    [
        ("importance", {"importance": None}, ()),
        ("validation", {"cross_validation": None}, ()),
        ("null", {"null_models": None}, ()),
        ("thresholds", {"thresholds": None}, ()),
        ("omission", {}, ("omission",)),
        ("roc", {}, ("roc",)),
        ("curves", {}, ("curves", "bands")),
    ],
)
def test_a_section_is_there_only_with_what_it_shows(
    full: Path, shown: Reader, tmp_path: Path, section: str, numbers: dict[str, Any], files: tuple[str, ...]
) -> None:
    folder = copy(full, tmp_path / "copy")
    for what in files:
        (folder / read_results(folder).files[what]).unlink()
    page = Reader(make_page(change(folder, **numbers)))
    assert section not in page.sections
    assert set(shown.sections) - set(page.sections) == {section}
    assert ("a", {"href": f"#{section}"}) not in page.elements


def test_a_survey_shows_its_measures_and_calibration(full: Path, shown: Reader, tmp_path: Path) -> None:
    bins = [{"predicted": 0.1, "observed": 0.05, "count": 20}, {"predicted": 0.8, "observed": 0.6, "count": 9}]
    survey = {"presences": 7, "absences": 22, "auc": 0.8125, "brier": 0.1375, "calibration": bins}
    page = Reader(make_page(change(copy(full, tmp_path / "copy"), presence_absence=survey)))
    for text in ("0.8125", "0.1375", "7 presence and 22 absence sites"):
        assert text in page.sections["survey"]
    assert "survey" not in shown.sections


def test_a_model_that_was_not_tested_says_so(full: Path, text: str, tmp_path: Path) -> None:
    said = "The model was not tested"
    assert said not in text
    untested = dict.fromkeys(("auc_test", "test_presences", "cross_validation"))
    page = make_page(change(copy(full, tmp_path / "copy"), **untested))
    assert said in page
    assert "Test omission" not in page


def test_the_certificate_is_honest_when_the_fit_is_not_converged(full: Path, shown: Reader, tmp_path: Path) -> None:
    assert "The fit converged" in shown.sections["fit"]
    page = Reader(make_page(change(copy(full, tmp_path / "copy"), status="iterations", gap=0.2)))
    assert "stopped before it converged" in page.sections["fit"]
    assert "Another solver cannot" not in page.sections["fit"]


def test_a_structural_model_shows_its_families_rules_and_interactions(structural: Path) -> None:
    results, page = read_results(structural), of(structural)
    for row in results.numbers["structure"]["families"]:
        assert row["family"] in page.sections["structure"]
    assert results.table("rules")[0]["says"] in page.sections["structure"]
    assert "λ = 0.05, β = 0.02" in page.sections["structure"]
    assert "map" in page.sections, "which says that there is none"
    assert "This run wrote no map" in page.sections["map"]


def test_tables_of_samples_have_a_page_without_a_map(bare: Path) -> None:
    page = of(bare)
    assert "This run wrote no map" in page.sections["map"]
    assert len(page.scripts) == 1, "no live map"
    assert "importance" not in page.sections


@pytest.mark.parametrize("which", ["hostile", "bare"])
def test_no_name_gets_out_of_its_place(which: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(which)
    page = of(folder)
    own = [(tag, attributes) for tag, attributes in page.elements if tag in ("script", "style", "b")]
    named = ("live-data", "panel-data") if which == "hostile" else ()
    data = [("script", {"type": "application/json", "id": name}) for name in named]
    assert own == [("style", {}), *data, ("script", {})]
    handlers = [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert handlers == []
    assert all(
        str(attributes["src"]).startswith("data:image/png;base64,") for tag, attributes in page.elements if tag == "img"
    )
    assert EVIL in page.sections["odmap"], "it is shown as it is written"
    assert EVIL_LAYER in page.sections["records"]
    if which == "hostile":
        assert json.loads(page.scripts[1])["entries"][1]["title"] == EVIL_LAYER
    used = ("page.js", "map_view.js", "map_layers.js", "map.js", *(("panel.js",) if which == "hostile" else ()))
    script = "".join((ROOT / "sdm" / "report" / "templates" / name).read_text() for name in used)
    assert page.scripts[-1] == script, "the only code is the package's own"


def test_nothing_is_loaded_from_anywhere(full: Path, text: str, shown: Reader) -> None:
    assert "://" not in re.sub(r"base64,[\w+/=]+", "", text)
    for _, attributes in shown.elements:
        for name in ("src", "href"):
            address = str(attributes.get(name) or "data:")
            assert address.startswith(("#", "data:")) or (full / address).exists(), address
    policy = next(a["content"] for t, a in shown.elements if t == "meta" and "http-equiv" in a)
    assert "default-src 'none'" in str(policy)


def test_the_same_results_give_the_same_bytes(full: Path, tmp_path: Path) -> None:
    written = read_results(full).page.read_bytes()
    assert written == make_page(read_results(full)).encode(), "what `sdm fit` wrote"
    elsewhere = copy(full, tmp_path / "elsewhere")
    assert write_page(read_results(elsewhere)).read_bytes() == written


@pytest.mark.parametrize("scale", ["raw", "cumulative", "logistic"])
def test_every_scale_has_its_page(full: Path, tmp_path: Path, scale: str) -> None:
    folder = copy(full, tmp_path / "copy")
    run = folder / "run.yaml"
    run.write_text(run.read_text().replace("scale: cloglog", f"scale: {scale}"))
    live = of(folder).live
    assert live["top"] == TOPS.get(scale, live["top"])
    assert {row["value"] for row in live["thresholds"]} == {
        t[scale] for t in read_results(folder).numbers["thresholds"].values()
    }


def test_responses_fill_their_charts_on_any_scale(world: Path, tmp_path: Path) -> None:
    """Raw densities are tiny, effects on the score are not: one must not squeeze the other."""
    options = {"predict.scale": "raw", "output.map": False, "output.report": False, "test.importance": False}
    folder = fit(tmp_path / "raw", world / "one.csv", world / "layers", **options)
    page = make_page(read_results(folder))
    (chart, *_) = [svg for svg in re.findall(r"<svg.*?</svg>", page, flags=re.S) if "Response to elevation" in svg]
    heights = [
        float(y)
        for path in re.findall(r'd="([^"]*)" fill="none" stroke="#[0-9a-f]+" stroke-width="2"', chart)
        for y in re.findall(r"[\d.]+ ([\d.]+)", path)
    ]
    assert max(heights) - min(heights) > 20
    text = Reader(page).sections["odmap"]
    assert "Raw density" in text or "No map." in text


@pytest.mark.parametrize("instead", ["nothing", None, "text", {}])
def test_a_page_is_made_of_what_is_there(full: Path, tmp_path: Path, instead: Any) -> None:
    """Results of another version, or that someone edited: what is missing is left out, and the rest is shown."""
    folder = without_pictures_of_scenarios(full, tmp_path / "copy")
    for ending in ("*.tif", "*.png", "*.csv"):  # which are looked at elsewhere
        for path in folder.glob(ending):
            path.unlink()
    results = read_results(folder)  # of which nothing but `files` and `kind` is looked at while it is read
    for key in set(results.numbers) - {"species", "files", "kind"}:
        spoilt = {name: value for name, value in results.numbers.items() if name != key}
        numbers = spoilt if instead == "nothing" else spoilt | {key: instead}
        assert "odmap" in Reader(make_page(replace(results, numbers=numbers))).sections, key


@pytest.mark.thorough
def test_a_page_is_made_without_any_of_the_files(full: Path, tmp_path: Path) -> None:
    folder = without_pictures_of_scenarios(full, tmp_path / "copy")
    for what, name in read_results(folder).files.items():
        if what == "numbers" or (folder / name).is_dir():
            continue
        (folder / name).rename(tmp_path / "away")
        assert "odmap" in of(folder).sections, what
        (tmp_path / "away").rename(folder / name)


def test_what_was_done_about_bias_is_said(full: Path, shown: Reader, tmp_path: Path) -> None:
    nothing = "Sampling bias was not corrected"
    assert nothing in shown.sections["records"]
    for k, known in enumerate(({"background": "target-group"}, {"background": "random", "bias": "roads.tif"})):
        page = Reader(make_page(change(copy(full, tmp_path / str(k)), sampling=known)))
        assert nothing not in page.sections["records"]
        assert "not corrected" not in page.sections["odmap"]
    assert "roads.tif" in page.sections["records"]
    assert "roads.tif" in page.sections["odmap"]


def test_an_infinite_loss_is_not_a_dash(full: Path, tmp_path: Path) -> None:
    """Where the density is exactly zero at a record, JSON has null."""
    folder = copy(full, tmp_path / "copy")
    (path,) = folder.glob("*.json")
    numbers = json.loads(path.read_text()) | {
        "log_loss_test": None,
        "log_loss_train": None,
        "outside_support_train": 0.25,
    }
    path.write_text(json.dumps(numbers))
    page = make_page(read_results(folder))
    assert "∞" in page
    assert "log loss infinite" in page
    assert "75.0 % of the training records" in page


# ------------------------------------------------------------------------------------------------ many species


def test_pages_of_many_species_are_made_again(many: Path, tmp_path: Path) -> None:
    folder = copy(many, tmp_path / "copy")
    shown = [*folder.rglob("*.html"), *folder.rglob("*_preview.png")]
    before = {path.relative_to(folder): path.read_bytes() for path in shown}
    assert sum(path.suffix == ".png" for path in before) == 2
    for path in before:
        (folder / path).unlink()
    written = make_pages([folder])
    assert {path.relative_to(folder) for path in written} == {path for path in before if path.suffix == ".html"}
    # the index names the run after its folder
    same = [path for path in before if path.name != "index.html"]
    assert all((folder / path).read_bytes() == before[path] for path in same)


# ------------------------------------------------------------------------------------------------ results


def test_results_are_found_by_folder_model_or_numbers(full: Path, many: Path) -> None:
    (model,), (numbers,) = full.glob("*.npz"), full.glob("*.json")
    assert read_results(full).page == read_results(model).page == read_results(numbers).page
    assert find_results(full) == [numbers]
    listed = [row["folder"] for row in read_rows(many / "summary.csv") if row["folder"]]
    assert [path.parent.name for path in find_results(many)] == listed


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "x.json").write_text("{"), "cannot be read as JSON"),
        (lambda folder: (folder / "x.json").write_text("[]"), "has no results of sdm"),
        (lambda folder: (folder / "x.npz").write_text(""), r"x\.npz has no x\.json in its folder"),
        (lambda folder: None, "does not exist"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, spoil: Any, says: str) -> None:
    spoil(tmp_path)
    place = tmp_path / ("x.npz" if (tmp_path / "x.npz").exists() else "x.json")
    with pytest.raises(DataError, match=says):
        read_results(place)


def test_a_folder_without_results_says_what_is_expected(tmp_path: Path) -> None:
    for place, says in ((tmp_path, "no results of `sdm fit`"), (tmp_path / "nowhere", "does not exist")):
        with pytest.raises(DataError, match=says):
            find_results(place)


def test_the_kind_is_what_the_numbers_say_or_else_the_model_file(full: Path, text: str, tmp_path: Path) -> None:
    """Results of the version before do not say it; nothing is guessed from what else they hold."""
    folder = copy(full, tmp_path / "copy")
    results = change(folder, kind=None)
    assert "kind" not in results.numbers
    assert results.kind == "species"
    assert make_page(results) == text
    (folder / results.files["model"]).unlink()
    with pytest.raises(DataError, match="no results of `sdm fit`"):
        read_results(folder)
    with pytest.raises(DataError, match="expected 'kind' and 'files', or a model file next to it"):
        read_results(folder / f"{results.name}.json")
    with pytest.raises(DataError, match="has the unknown kind 'axes': expected one of species, classes"):
        make_page(change(copy(full, tmp_path / "other"), kind="axes"))


def test_files_outside_the_folder_are_never_read(full: Path, tmp_path: Path) -> None:
    folder = copy(full, tmp_path / "copy")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "secret.csv").write_text("Threshold\nsecret\n")
    files = {**read_results(folder).files, "picture": "../secret.png", "roc": str(tmp_path / "secret.csv")}
    with pytest.raises(DataError, match=r"lists '\.\./secret\.png', which is not a file of the results"):
        change(folder, files=files)
    with pytest.raises(DataError, match="not a file of the results"):
        change(folder, files={"roc": str(tmp_path / "secret.csv")})


# ------------------------------------------------------------------------------------------------ charts


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_round_few_and_inside(low: float, length: float) -> None:
    high = low + length
    found = round_numbers(low, high)
    assert len(found) <= 6
    margin = 1e-6 * max(abs(low), abs(high), length)
    assert all(low - margin <= value <= high + margin for value in found)
    if length > 1e-3 * abs(low):
        assert len(found) >= 2


def test_a_line_has_a_gap_where_a_value_is_missing() -> None:
    line = Line("a", [0, 1, 2, 3, 4], [0, 1, float("nan"), 1, 0])
    drawn = str(svg(LineChart("t", "x", "y", [line])))
    assert re.findall(r"[ML]", re.findall(r'd="(M[^"]*)" fill="none" stroke="#1f3b4d" stroke-width="2"', drawn)[0]) == [
        *("M", "L"),
        *("M", "L"),
    ]


def test_charts_escape_every_text() -> None:
    lines = [Line(EVIL, [0, 1], [0, 1]), Line("b", [0, 1], [1, 0])]
    charts = [
        LineChart(EVIL, EVIL, EVIL, lines, shade=(0, 1)),
        LineChart("t", "x", "y", [Line("a", [0, 1], [0, 1], EVIL, 0, ([0, 0], [1, 1]), [1, 2])]),
        ColumnChart(EVIL, EVIL, EVIL, [EVIL, "b"], [Bars(EVIL, [1, 2], colour=EVIL), Bars("c", [2, 1], [0.5, None])]),
        BarChart(EVIL, EVIL, [EVIL, "b"], [Bars(EVIL, [1, None], [0.1, None])], (EVIL, 2)),
    ]
    for chart in charts:
        tags = {tag for tag, _ in Reader(str(svg(chart))).elements}
        assert tags <= {"svg", "g", "text", "path", "rect", "circle", "polygon"}
