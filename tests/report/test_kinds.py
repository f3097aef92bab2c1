"""Pages of classes, of presence and absence, of a community and of strata: one frame, and only what is there."""

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from browser import Browser
from evil import EVIL
from terminal import succeed

from sdm.errors import DataError
from sdm.kinds.pages import draw_figures, make_page, make_pages
from sdm.kinds.registry import HOMES, read_results, results_class
from sdm.report.pages.maps.live_map import NOTHING, live_map
from sdm.report.results import Results, find_results

SHARED = ("fit", "map", "curves", "importance", "records", "settings", "odmap")
BINS = [{"predicted": 0.1 * k, "observed": 0.09 * k, "count": 30 - 3 * k} for k in range(1, 9)]


class Sections(HTMLParser):
    """The texts of a page by section, and its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: dict[str, str] = {}
        self.tags: list[str] = []
        self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "section":
            self.inside = str(dict(attrs)["id"])
            self.text[self.inside] = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.text[self.inside] += data


def change(folder: Path, to: Path, tables: dict[str, list[list[Any]]] | None = None, **numbers: Any) -> Results:
    """A copy of results with other numbers and more tables; None takes a number out."""
    shutil.copytree(folder, to)
    (path,) = to.glob("*.json")
    tree = json.loads(path.read_text())
    for key, rows in (tables or {}).items():
        tree["files"][key] = f"{key}.csv"
        with (to / f"{key}.csv").open("w", newline="") as out:
            csv.writer(out).writerows(rows)
    path.write_text(json.dumps({key: value for key, value in (tree | numbers).items() if value is not None}))
    return read_results(to)


def sections(results: Results) -> dict[str, str]:
    return Sections(make_page(results)).text


@pytest.mark.parametrize(
    ("run", "kind"), [("surveyed", "classes"), ("habitats", "classes"), ("community", "community")]
)
def test_every_kind_is_told_and_has_its_page(
    run: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = shutil.copytree(request.getfixturevalue(run), tmp_path / "copy")
    results = read_results(folder)
    assert results.kind == kind
    page = results.page.read_text(encoding="utf-8")
    assert page == make_page(results), "what the run wrote"
    pages = make_pages([folder])
    assert pages[0] == results.page
    assert {path.parent for path in pages[1:]} == (set() if run == "surveyed" else {folder / "scenarios"})
    assert "http://" not in page.replace("http://www.w3.org", "")
    found = Sections(page).text
    links = re.findall(r'<a href="#(\w+)">', page.partition("</nav>")[0])
    assert list(found) == links
    assert {"fit", "records", "settings", "odmap"} <= set(found)
    assert "The fit converged" in found["fit"]


def test_presence_and_absence_have_the_sections_of_a_species(surveyed: Path, tmp_path: Path) -> None:
    """With the numbers that a species has, under the same names, a class model has the same sections."""
    folds = [{"fold": "1", "loss.val": 0.41, "tss.val": 0.515}, {"fold": "2", "loss.val": 0.43, "tss.val": 0.52}]
    mean = {"loss.val.avg": 0.42, "loss.val.sd": 0.0125, "tss.val.avg": 0.5175}
    sides = ["Threshold", "Training false presences", "Training omission", "Test omission"]
    roc = [[*sides, "Test false presences"]]
    roc += [[t, (1 - t) ** 3, t * t, t, (1 - t) ** 2] for t in np.linspace(0, 1, 11).tolist()]
    bands = [["variable", "value", "class", "mean", "lower", "upper"]]
    curves = [row for row in read_results(surveyed).table("curves") if row["kind"] == "marginal"]
    bands += [["slope", row["value"], "", 0.5, 0.25, 0.75] for row in curves if row["variable"] == "slope"]
    jackknife = [{"variable": "", "kind": "all", "test_auc": 0.8}]
    jackknife += [{"variable": "slope", "kind": kind, "test_auc": 0.7} for kind in ("without", "only")]
    results = change(
        surveyed,
        tmp_path / "copy",
        {"roc": roc, "bands": bands, "folds": [["X", "Y", "fold"], [1, 2, "a"], [2, 3, "b"]]},
        cross_validation={"method": "block", "rows": folds, "mean": mean},
        importance={"permutation": [{"variable": "slope", "percent": 61.25, "deviation": 1, "drop": 0.375}]}
        | {"jackknife": jackknife},
        null_models={"iterations": 7, "tests": [{"measure": "auc.val", "real": 0.8, "effect": 3.375, "p": 0.125}]},
        tuning={"chosen": "LQ", "settings": 8, "by": "loss.val.avg", "rule": "best", "folds": 5, "method": "block"},
        presence_absence={"presences": 40, "absences": 60, "brier": 0.1875, "calibration": BINS},
        thresholds={
            "mtp": {"name": "Minimum", "probability": 0.0625, "false_presences": 0.4375, "training_omission": 0.0}
        },
        records={"read": 410, "no_coordinates": 10, "kept": 400},
        warnings=["worse than the frequencies"],
    )
    page = make_page(results)
    found = Sections(page).text
    order = ["map", "curves", "importance", "tuning", "classes", "validation", "roc", "survey", "null", "thresholds"]
    assert list(found) == [*order, "records", "fit", "settings", "odmap"]
    assert "Presence and absence from" in page
    assert "<li>Worse than the frequencies." in page
    assert "Fraction of absences predicted" in found["roc"]
    assert "training sites (AUC 0." in found["roc"]
    assert "test sites (AUC 0." in found["roc"]
    for section, text in {
        "thresholds": "43.8 %", "survey": "0.1875", "importance": "0.375", "validation": "0.5175", "null": "3.38",
        "tuning": "Criterion: Validation log loss (nats) (rule: best).",
        "records": "410",
    }.items():  # fmt: skip
        assert text in found[section], section
    assert "Jackknife" in found["importance"]
    assert "The pale ribbon covers" in page
    assert page.count('aria-label="Records by fold"') == 1
    assert 'fill-opacity=".18"' in page, "the limits of a band are a shade"
    live = live_map(results)
    assert live is not None
    assert [row["value"] for row in live["thresholds"]] == [0.0625]
    assert len(live["sweep"]) == 11
    absent = Sections(make_page(read_results(surveyed))).text
    assert set(found) - set(absent) >= {"validation", "null"}
    assert {"roc", "thresholds", "survey"} <= set(absent), "the run itself measures these"


def test_the_live_map_of_presence_is_its_probability(surveyed: Path) -> None:
    results = read_results(surveyed)
    live = live_map(results)
    assert live is not None
    assert [layer["name"] for layer in live["layers"]] == ["probability of presence", "most probable class", "entropy"]
    assert [layer["threshold"] for layer in live["layers"]] == [True, False, False]
    first = results.map_layers()[0]
    with rasterio.open(first.path) as source:
        assert source.descriptions[first.band - 1] == "1"
    assert [group["name"] for group in live["records"]] == ["presences", "absences"]
    assert sum(group["count"] for group in live["records"]) == results.numbers["sites"]
    assert live["top"] == 1


def test_the_live_map_of_classes_has_their_colours(habitats: Path) -> None:
    results = read_results(habitats)
    live = live_map(results)
    assert live is not None
    table = {row["class"]: row for row in results.table("classes")}
    assert live["layers"][0]["name"] == "most probable class"
    assert {tuple(entry) for entry in live["layers"][0]["classes"].values()} == {
        (label, row["colour"]) for label, row in table.items()
    }
    names = [layer["name"] for layer in live["layers"]]
    assert names[1] == "entropy"
    assert {f"probability of {label}" for label in table} <= {*names, *live["left_out"]}
    assert {group["name"]: group["colour"] for group in live["records"]} == {
        label: row["colour"] for label, row in table.items()
    }
    assert live["nothing"] == NOTHING


def test_a_class_page_shows_its_measures_and_no_name_gets_out(habitats: Path) -> None:
    results = read_results(habitats)
    page = Sections(make_page(results))
    assert page.tags.count("script") == 2
    assert "b" not in page.tags
    assert EVIL in page.text["classes"]
    (measures,) = results.numbers["measures"].values()
    for text in (f"{measures['log_loss']:.4g}", f"{measures['constant_log_loss']:.4g}", "Null model"):
        assert text in page.text["classes"]
    assert f"Probabilities along {results.numbers['variables'][0]}" in make_page(results)
    assert set(SHARED) <= set(page.text)
    assert "The model was not tested" in make_page(results)


def test_a_page_of_any_kind_is_made_of_what_is_there(
    surveyed: Path, habitats: Path, community: Path, tmp_path: Path
) -> None:
    """Every number may be missing; what is left is shown, or it is said that the page cannot be made."""
    for folder in (surveyed, habitats, community):
        (path,) = folder.glob("*.json")
        whole = json.loads(path.read_text())
        for key in set(whole) - {"files", "kind"}:
            results = results_class(whole["kind"])(
                folder, path.stem, whole["kind"], {k: v for k, v in whole.items() if k != key}, {}, "", ""
            )
            if (whole["kind"], key) == ("community", "species"):
                with pytest.raises(DataError, match="cannot be made"):
                    make_page(results)
            else:
                assert "odmap" in sections(results), key
        bare = results_class(whole["kind"])(tmp_path, path.stem, whole["kind"], whole, {}, "", "")
        assert "odmap" in sections(bare), "without any of the files"


SLOW = [pytest.param(run, marks=pytest.mark.thorough) for run in ("habitats", "community")]


@pytest.mark.parametrize("run", ["surveyed", *SLOW])
def test_figures_of_every_kind_are_drawn_again(run: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = shutil.copytree(request.getfixturevalue(run), tmp_path / "copy")
    charts = {path.stem for path in folder.glob("plots/*.svg")}
    pictures = {path.stem for path in folder.glob("*.png") if not path.stem.endswith(("_preview", "_confusion"))}
    drawn = {path.stem for path in draw_figures([folder], ["pdf"])}
    assert charts | pictures <= drawn
    assert charts or run == "community"


def test_no_kind_takes_files_from_elsewhere(surveyed: Path, community: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    deep = {"maps": {"species": {"owl": "maps/../../secret.png"}}}
    for k, (folder, files) in enumerate(
        ((surveyed, {"picture": "../secret.png"}), (community, {"network": str(tmp_path / "x")}), (community, deep))
    ):
        with pytest.raises(DataError, match="is not a file of the results"):
            change(folder, tmp_path / str(k), files=files)


def test_results_of_every_kind_in_one_folder_get_their_pages(surveyed: Path, community: Path, tmp_path: Path) -> None:
    for folder in (surveyed, community):
        shutil.copytree(folder, tmp_path / "both", dirs_exist_ok=True, ignore=shutil.ignore_patterns("scenarios"))
    found = [read_results(path) for path in find_results(tmp_path / "both")]
    assert {results.kind for results in found} == {"classes", "community"}
    assert set(make_pages([tmp_path / "both"])) == {results.page for results in found}
    with pytest.raises(DataError, match="has 2 models"):
        read_results(tmp_path / "both")


def test_a_path_over_strata_has_a_page(world: Path, tmp_path: Path) -> None:
    words = ("path", world / "one.csv", world / "layers", "--strata", "landcover", "--categorical", "landcover")
    succeed(*words, "--folds", 3, "-o", tmp_path / "out")
    results = read_results(tmp_path / "out")
    assert results.kind == "strata"
    assert list(sections(results)) == ["map", "path", "records", "settings"]


def test_every_kind_of_model_file_has_a_page() -> None:
    from sdm.models.classes import ClassModel
    from sdm.models.community import FittedJoint
    from sdm.models.species import Model

    assert {Model.kind, ClassModel.kind, FittedJoint.kind} <= set(HOMES)


def test_classes_in_a_browser(browser: Browser, habitats: Path, surveyed: Path, community: Path) -> None:
    """The legend names the classes, pointing at the map reads them, and no page complains."""
    results = read_results(habitats)
    browser.open(results.page, "document.querySelector('#live').dataset.ready === 'yes'")
    legend = browser.run("Array.from(document.querySelectorAll('#legend li'), e => e.textContent.trim())")
    assert set(legend) <= set(results.classes)
    assert len(legend) >= 2
    assert browser.run("document.querySelector('#scale').hidden")
    browser.hover("#values", 0.5, 0.5)
    said = browser.text("#hover").partition(": ")[2]
    assert said in {*results.classes, "no data"}
    layers = browser.run("Array.from(document.querySelector('#layer').options, o => o.textContent)")
    k = layers.index("probability of bare")
    browser.run(
        f"(s => {{ s.value = '{k}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('#layer'))"
    )
    browser.wait("document.querySelector('#label').textContent === 'Probability of bare'")
    assert browser.run("document.querySelector('#legend').hidden")
    assert browser.run("window.hacked === undefined")
    browser.open(read_results(surveyed).page, "document.querySelector('#live').dataset.ready === 'yes'")
    chosen = read_results(surveyed).numbers["thresholds"]["maxsss"]["probability"]
    assert float(browser.text("#at")) == pytest.approx(chosen, abs=0.00051)
    browser.open(read_results(community).page)
    first = "document.querySelector('table.species tbody tr td:nth-child(2)').textContent.trim()"
    before = browser.run(first)
    browser.click("table.species th:nth-child(2) button")
    browser.click("table.species th:nth-child(2) button")
    assert browser.run(first) != before or len(read_results(community).numbers["species"]) == 1
    assert browser.console == []
