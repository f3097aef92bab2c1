"""The map of a page in a browser: it zooms, moves, reads, shows records and scenarios, and can be saved."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import rasterio
from browser import Browser, count_colours
from PIL import Image

from sdm.kinds.pages import write_page
from sdm.kinds.registry import read_results
from sdm.report.results import Results, read_rows

READY = "document.querySelector('#live').dataset.ready === 'yes'"


@pytest.fixture
def page(browser: Browser, full: Path) -> Iterator[Browser]:
    browser.console.clear()
    browser.requests.clear()
    browser.size(1280, 900)
    path = read_results(full).page
    browser.open(path, READY)
    yield browser
    assert browser.console == []
    assert {url for url in browser.requests if not url.startswith("blob:")} == {path.resolve().as_uri()}


@pytest.fixture
def results(full: Path) -> Results:
    return read_results(full)


def zoom(page: Browser) -> float:
    return float(page.run("document.querySelector('#plate').dataset.zoom"))


def pixels(page: Browser) -> np.ndarray:
    return page.pixels("#values")


def where(page: Browser, across: float, down: float) -> tuple[float, float]:
    """The coordinates that are read at a place of the window."""
    page.hover("#values", across, down)
    x, y = page.text("#hover").partition(":")[0].split(",")
    return float(x.strip("° ")), float(y.strip("° "))


def choose(page: Browser, selector: str, value: str) -> None:
    place = f"document.querySelector({json.dumps(selector)})"
    told = "for (const t of ['input', 'change']) e.dispatchEvent(new Event(t))"
    page.run(f"(e => {{ e.value = {json.dumps(value)}; {told}; }})({place})")


@pytest.mark.thorough
def test_buttons_and_keys_zoom_and_move(page: Browser) -> None:
    assert zoom(page) == 1
    page.click("[data-act=in]")
    page.click("[data-act=in]")
    assert zoom(page) == pytest.approx(2.25)
    middle = where(page, 0.5, 0.5)
    page.click("[data-act=right]")
    page.click("[data-act=down]")
    moved = where(page, 0.5, 0.5)
    assert moved[0] > middle[0]
    assert moved[1] < middle[1]
    page.focus("#values")
    page.press("-", 189)
    assert zoom(page) == pytest.approx(1.5)
    page.press("0", 48)
    assert zoom(page) == 1
    page.press("+", 187)
    assert zoom(page) == pytest.approx(1.5)
    page.click("[data-act=out]")
    page.click("[data-act=whole]")
    assert zoom(page) == 1


@pytest.mark.thorough
def test_the_wheel_zooms_around_the_pointer_once_the_map_was_clicked(page: Browser) -> None:
    before = where(page, 0.3, 0.7)
    page.click("#values", 0.3, 0.7)
    page.wheel("#values", -240, 0.3, 0.7)
    page.wait("Number(document.querySelector('#plate').dataset.zoom) > 1.5")
    assert where(page, 0.3, 0.7) == pytest.approx(before, abs=0.05), "what is under the pointer stays there"
    page.wheel("#values", 600, 0.3, 0.7)
    page.wait("Number(document.querySelector('#plate').dataset.zoom) === 1")


@pytest.mark.thorough
def test_the_wheel_turns_the_page_before_that(page: Browser) -> None:
    page.run("document.activeElement.blur()")
    page.wheel("#values", -240)
    assert zoom(page) == 1


@pytest.mark.thorough
def test_dragging_and_pinching_move_and_zoom(page: Browser) -> None:
    page.click("[data-act=in]")
    page.click("[data-act=in]")
    before = where(page, 0.5, 0.5)
    page.drag("#values", (0.5, 0.5), (0.3, 0.4))
    after = where(page, 0.5, 0.5)
    assert after[0] > before[0]
    assert after[1] < before[1]
    page.click("[data-act=whole]")
    page.send("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    try:
        page.pinch("#values", 0.2, 0.6)
        assert zoom(page) > 1.5
    finally:
        page.send("Emulation.setTouchEmulationEnabled", enabled=False)


@pytest.mark.thorough
def test_an_enlarged_map_reads_the_cells_of_the_raster(page: Browser, results: Results) -> None:
    for _ in range(4):
        page.click("[data-act=in]")
    with rasterio.open(results.path("map")) as source:
        band = source.read(1, masked=True)
        for at in ((0.2, 0.3), (0.5, 0.55), (0.8, 0.6)):
            x, y = where(page, *at)
            said = page.text("#hover").partition(": ")[2]
            row, column = source.index(x, y)
            if band.mask[row, column]:
                assert said.startswith("no data")
            else:
                assert float(said.split(",")[0].split()[0]) == pytest.approx(float(band[row, column]), abs=0.0011)


@pytest.mark.thorough
def test_the_cursor_of_the_keyboard_takes_the_window_along(page: Browser) -> None:
    page.focus("#values")
    for _ in range(4):
        page.press("+", 187)
    page.press("ArrowRight", 39)
    first = page.text("#hover")
    page.press("ArrowRight", 39, times=25)
    assert page.text("#hover") != first
    x = float(page.text("#hover").partition("°")[0])
    left, right = where(page, 0.0, 0.5)[0], where(page, 0.999, 0.5)[0]
    assert left < x < right


@pytest.mark.thorough
def test_the_scale_bar_is_as_long_as_it_says(page: Browser) -> None:
    bar = page.run("document.querySelector('#plate').dataset.bar")
    assert bar.endswith((" km", " m"))
    page.click("[data-act=in]")
    page.click("[data-act=in]")
    page.click("[data-act=in]")
    assert page.run("document.querySelector('#plate').dataset.bar") != bar


@pytest.mark.thorough
def test_graticule_opacity_and_a_layer_below(page: Browser) -> None:
    page.run("document.querySelectorAll('input.show').forEach(b => { if (b.checked) b.click(); })")
    lined = pixels(page)
    page.click("#graticule")
    bare = pixels(page)
    assert (lined != bare).any()
    choose(page, "#opacity", "0")
    empty = pixels(page)
    assert count_colours(empty[:-60]) < count_colours(bare[:-60]) / 4
    names = page.run("Array.from(document.querySelector('#under').options, o => o.textContent)")
    choose(page, "#under", str(names.index("standard deviation over replicates") - 1))
    page.wait("document.querySelector('#under').value !== '-1'")
    page.hover("#values", 0.5, 0.5)
    assert "standard deviation over replicates" in page.text("#hover")


@pytest.mark.thorough
def test_scenarios_are_layers_and_are_hatched_where_the_model_extrapolates(page: Browser) -> None:
    names = page.run("Array.from(document.querySelector('#layer').options, o => o.textContent)")
    assert "scenario warmer" in names
    assert "scenario warmer, change" in names
    page.run("document.querySelectorAll('input.show').forEach(b => { if (b.checked) b.click(); })")
    choose(page, "#layer", str(names.index("scenario warmer")))
    page.wait("document.querySelector('#live').dataset.layer === 'scenario warmer'")
    hatched = pixels(page)
    assert not page.run("document.querySelector('#hatched').hidden")
    page.click("#hatching")
    assert (hatched != pixels(page)).any()
    choose(page, "#layer", str(names.index("scenario warmer, change")))
    page.wait("document.querySelector('#live').dataset.layer.endsWith('change')")
    assert not page.run("document.querySelector('#legend').hidden")


@pytest.mark.thorough
def test_records_are_shown_by_use_fold_and_fate(page: Browser, results: Results) -> None:
    by_use = pixels(page)
    page.click("#by-fold")
    assert (by_use != pixels(page)).any()
    folds = page.run("Array.from(document.querySelectorAll('#fold-legend li'), e => e.textContent.trim())")
    assert folds == ["fold 1 (15)", "fold 2 (15)", "fold 3 (15)"]
    page.click("#by-fold")
    row = results.table("sample predictions")[0]
    with rasterio.open(results.path("map")) as source:
        left, bottom, right, top = source.bounds
    x, y = float(row["X"]), float(row["Y"])
    page.hover("#values", (x - left) / (right - left), (top - y) / (top - bottom))
    assert page.text("#hover").endswith(("record: training", "record: test"))


@pytest.mark.thorough
def test_records_that_were_left_out_say_why(browser: Browser, full: Path, tmp_path: Path) -> None:
    shutil.copytree(full, tmp_path / "copy", ignore=shutil.ignore_patterns("scenarios"))
    results = read_results(tmp_path / "copy")
    path = results.path("fate of records")
    assert path is not None
    rows = read_rows(path)
    rows[0] |= {"fate": "dropped", "reason": "shares a cell with another record"}
    with path.open("w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    browser.size(1280, 900)
    browser.open(write_page(results), READY)
    browser.run("document.querySelectorAll('input.show').forEach(b => { if (b.checked) b.click(); })")
    before = pixels(browser)
    browser.click("#show-lost")
    assert (pixels(browser) != before).any()
    with rasterio.open(results.path("map")) as source:
        left, bottom, right, top = source.bounds
    x, y = float(rows[0]["x"]), float(rows[0]["y"])
    browser.hover("#values", (x - left) / (right - left), (top - y) / (top - bottom))
    assert browser.text("#hover").endswith("record: dropped: shares a cell with another record")


@pytest.mark.thorough
def test_the_map_is_saved_as_it_is_seen(page: Browser, results: Results, tmp_path: Path) -> None:
    page.click("[data-act=in]")
    saved = {
        name: page.save(f"#map-tools button:nth-child({k})", tmp_path)
        for k, name in enumerate(("png", "svg", "csv"), 1)
    }
    with Image.open(saved["png"]) as picture:
        assert min(picture.size) > 1200
        assert len(np.unique(np.asarray(picture.convert("L")))) > 50
    drawn = saved["svg"].read_text(encoding="utf-8")
    assert drawn.startswith("<svg xmlns=")
    assert drawn.count("<circle") > 5
    assert "data:image/png;base64," in drawn
    assert "Suitability (cloglog)" in drawn
    lines = saved["csv"].read_text(encoding="utf-8").splitlines()
    n = results.numbers
    assert lines[0] == "x,y,use,reason,value"
    assert len(lines) == 1 + n["training_presences"] + n["test_presences"]


@pytest.mark.parametrize("kind", ["habitats", "surveyed", "community"])
def test_maps_of_all_kinds_zoom_switch_and_are_saved(
    browser: Browser, request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    results = read_results(request.getfixturevalue(kind))
    browser.console.clear()
    browser.size(1280, 900)
    browser.open(results.page, READY)
    browser.click("[data-act=in]")
    browser.focus("#values")
    browser.press("+", 187)
    assert zoom(browser) == pytest.approx(2.25)
    before = where(browser, 0.5, 0.5)
    browser.drag("#values", (0.5, 0.5), (0.3, 0.4))
    assert where(browser, 0.5, 0.5) != before
    names = browser.run("Array.from(document.querySelectorAll('#layer option'), o => o.textContent)")
    seen = pixels(browser)
    choose(browser, "#layer", "1")
    browser.wait(f"document.querySelector('#live').dataset.layer === {json.dumps(names[1])}")
    assert not np.array_equal(pixels(browser), seen)
    drawn = browser.save("#map-tools button:nth-child(2)", tmp_path).read_text(encoding="utf-8")
    assert "data:image/png;base64," in drawn
    if kind == "community":
        assert f'<tspan font-style="italic">{names[1]}</tspan>' in drawn, "a species in a title"
        assert browser.text("#label i") == names[1], "and in a label"
    assert browser.console == []


@pytest.mark.thorough
def test_charts_open_and_are_saved_with_their_numbers(page: Browser, results: Results, tmp_path: Path) -> None:
    page.click("#curves figure svg")
    assert page.run("document.querySelector('dialog.large').open")
    wide = page.run("document.querySelector('dialog.large svg').getBoundingClientRect().width")
    assert wide > 700
    page.press("Escape", 27)
    assert not page.run("document.querySelector('dialog.large').open")
    bar = "#curves figure:first-child .tools button"
    with Image.open(page.save(f"{bar}:nth-child(2)", tmp_path)) as picture:
        assert picture.width >= 1200
        assert np.asarray(picture.convert("L"))[0, 0] == 255, "it has a white sheet"
    assert page.save(f"{bar}:nth-child(3)", tmp_path).read_text(encoding="utf-8").count("<text") > 5
    table = page.save(f"{bar}:nth-child(4)", tmp_path).read_text(encoding="utf-8").splitlines()
    assert "others at their mean" in table[0]
    best = max(results.numbers["importance"]["permutation"], key=lambda row: row["percent"])["variable"]
    rows = [row for row in results.table("curves") if (row["variable"], row["kind"]) == (best, "marginal")]
    x = [float(line.split(",")[0]) for line in table[1 : len(rows) + 1] if line]
    assert x == pytest.approx([float(row["value"]) for row in rows], rel=1e-5), (
        "the most important variable comes first"
    )


@pytest.mark.thorough
def test_tables_are_sorted_copied_and_saved(page: Browser, results: Results, tmp_path: Path) -> None:
    first = "document.querySelector('#thresholds tbody tr th').textContent"
    page.click("#thresholds th:nth-child(3) button")
    rows = results.numbers["thresholds"].values()
    assert page.run(first) == max(rows, key=lambda row: row["cloglog"])["name"]
    page.click("#thresholds th:nth-child(3) button")
    assert page.run(first) == min(rows, key=lambda row: row["cloglog"])["name"]
    session, page.session = page.session, None
    page.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.session = session
    page.click("#thresholds .tools button")
    assert page.text("#thresholds .tools button") == "Copied"
    text = page.save("#thresholds .tools button:nth-child(2)", tmp_path).read_text(encoding="utf-8")
    assert len(text.splitlines()) == 1 + len(rows)
    assert text.startswith("Rule,Cumulative,Cloglog")


@pytest.mark.thorough
def test_dark_pages_turn_their_charts(page: Browser) -> None:
    colour = "getComputedStyle(document.querySelector('#curves svg path[stroke-width=\"2\"]')).stroke"
    light, shown = page.run(colour), page.screenshot()
    page.dark()
    try:
        assert page.run(colour) != light
        dim = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L")).mean()
        assert dim < np.asarray(Image.open(io.BytesIO(shown)).convert("L")).mean() / 2
    finally:
        page.dark(False)
