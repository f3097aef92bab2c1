"""The panel of a projection in a real browser: choices, swipe, stripes, hover and keys work, nothing complains."""

import itertools
import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from browser import Browser
from evil import EVIL, EVIL_LAYER
from PIL import Image
from report_runs import project

from sdm.kinds.pages import write_page
from sdm.kinds.registry import read_results
from sdm.maps.projection.change import COLOURS
from sdm.report.figures.projection.scenarios import draw_scenarios
from sdm.report.projection import StoredProjection
from sdm.report.results import Results

READY = "document.querySelector('#panel').dataset.ready === 'yes'"
CHOICES = ("kind", "choice-0", "choice-1")
SCENARIOS = [{"gcm": gcm, "period": period} for gcm in ("MIROC6", EVIL_LAYER) for period in ("2050", "2090")]


@pytest.fixture(scope="module")
def projected(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Four scenarios, with the picture for browsers without scripts; names in it are hostile."""
    folder = project(tmp_path_factory.mktemp("projected") / "out", (EVIL,), SCENARIOS)
    (path,) = folder.glob("*.json")
    numbers = json.loads(path.read_text())
    draw_scenarios(folder, numbers, folder / "maps.png")
    numbers["files"]["pictures"] = {"maps": "maps.png"}
    path.write_text(json.dumps(numbers))
    write_page(read_results(path))
    return read_results(path)


@pytest.fixture
def page(browser: Browser, projected: Results) -> Iterator[Browser]:
    """The page of a projection, open; at the end nothing may have complained or left the machine."""
    browser.console.clear()
    browser.requests.clear()
    browser.size(1280, 900)
    browser.open(projected.page, READY)
    yield browser
    assert browser.console == []
    assert {url for url in browser.requests if not url.startswith("blob:")} == {projected.page.resolve().as_uri()}
    assert browser.run("window.hacked === undefined")


def pixels(page: Browser, selector: str) -> np.ndarray:
    return page.pixels(selector)


def cells(page: Browser, selector: str, shape: tuple[int, ...]) -> np.ndarray:
    """The pixels in the middle of the cells of a raster, of a map that is shown whole."""
    shown = pixels(page, selector)
    rows, columns = (((np.arange(n) + 0.5) * size / n).astype(int) for n, size in zip(shape, shown.shape))
    return shown[np.ix_(rows, columns)]


def zoom(page: Browser) -> list[float]:
    return [float(page.run(f"document.querySelector('#panel-plate-{k}').dataset.zoom")) for k in (0, 1)]


def choose(page: Browser, selector: str, value: str | int) -> None:
    """Choose one of a list, and wait until it is shown."""
    box = f"document.querySelector('{selector}')"
    page.run(f"({box}.value = '{value}', {box}.dispatchEvent(new Event('change')), true)")
    kind, *chosen = (page.run(f"document.querySelector('#panel-{name}').value") for name in CHOICES)
    for k, number in enumerate(chosen):
        page.wait(f"document.querySelector('#panel').dataset.shown{k} === '{kind} {number}'")


def raster(results: Results, case: dict[str, Any], key: str) -> np.ma.MaskedArray:
    with rasterio.open(results.folder / case["files"][key]) as source:
        return source.read(1, masked=True)


@pytest.mark.thorough
def test_it_begins_with_the_reference_and_the_first_scenario(page: Browser, projected: Results) -> None:
    assert page.text("#panel-caption-0") == "reference"
    assert page.text("#panel-caption-1") == "MIROC6_2050"
    first = projected.numbers["scenarios"][0]
    assert f"{first['rules']['maxsss']['km2']:,.0f} km²" in page.text("#panel-said-1")
    options = page.run("Array.from(document.querySelectorAll('#panel-choice-1 option'), o => o.textContent)")
    titles = [case["title"] for case in projected.numbers["scenarios"]]
    assert options == ["reference", *titles, "mean over gcm: 2050", "mean over gcm: 2090"]
    wanted = raster(projected, first, "suitability")
    shown = cells(page, "#panel-values-1", wanted.shape)
    assert np.array_equal(shown[..., 3] == 0, np.ma.getmaskarray(wanted)), "what has no data is empty"
    assert len(np.unique(shown[shown[..., 3] > 0], axis=0)) > 50
    assert not np.array_equal(shown, cells(page, "#panel-values-0", wanted.shape))


@pytest.mark.thorough
def test_change_has_the_colours_of_the_raster(page: Browser, projected: Results) -> None:
    choose(page, "#panel-kind", "change")
    choose(page, "#panel-choice-1", 4)
    case = projected.numbers["scenarios"][3]
    assert page.text("#panel-caption-1") == case["title"] == f"{EVIL_LAYER}_2090"
    codes = raster(projected, case, "change")
    shown = cells(page, "#panel-values-1", codes.shape)
    for code, colour in COLOURS.items():
        assert np.array_equal((shown[..., :3] == colour).all(axis=2) & (shown[..., 3] > 0), codes.filled(255) == code)
    assert page.text("#panel-none-0") == "No map of this type: change relative to the reference."
    assert page.run("!document.querySelector('#panel-none-0').hidden"), "the reference has no change"
    legend = page.run("Array.from(document.querySelectorAll('#panel-legend li'), o => o.textContent.trim())")
    assert legend == ["stable absent", "stable present", "gain", "loss"]


@pytest.mark.thorough
def test_stripes_are_where_mess_is_below_zero_and_can_be_switched_off(page: Browser, projected: Results) -> None:
    novel = raster(projected, projected.numbers["scenarios"][0], "mess").filled(1) < 0
    page.click("#panel-graticule")  # lines and the scale bar off
    marks = pixels(page, "#panel-marks-1")[..., 3] > 0
    high, wide = marks.shape
    rows, columns = np.arange(high) * novel.shape[0] // high, np.arange(wide) * novel.shape[1] // wide
    inside = novel[np.ix_(rows, columns)]
    near = np.logical_or.reduce([np.roll(inside, step, (0, 1)) for step in itertools.product((-1, 0, 1), repeat=2)])
    assert not marks[~near].any()
    assert 0.3 < marks[inside].mean() < 0.7
    page.click("#panel-stripes")
    assert not (pixels(page, "#panel-marks-1")[..., 3] > 0).any()
    assert page.run("document.querySelector('#panel-hatched').hidden")
    page.click("#panel-stripes")
    assert (pixels(page, "#panel-marks-1")[..., 3] > 0).any()


def clip(page: Browser) -> tuple[float, float]:
    """How much of the right map is cut off, in percent, as it is drawn and as the slider says."""
    style = page.run("getComputedStyle(document.querySelector('#panel-plate-1')).clipPath")
    return float(style.split()[-1].rstrip("%)")), float(
        page.run("document.querySelector('#panel-divider').getAttribute('aria-valuenow')")
    )


@pytest.mark.thorough
def test_the_divider_can_be_moved_by_keys_and_dragged(page: Browser) -> None:
    assert page.run("document.querySelector('#panel-divider').hidden")
    page.click("input[value=swipe]")
    left, right = (page.run(f"document.querySelector('#panel-plate-{k}').getBoundingClientRect().x") for k in (0, 1))
    assert left == right, "one map lies over the other"
    assert clip(page) == (50, 50)
    page.focus("#panel-divider")
    page.press("ArrowRight", 39, times=5)
    assert clip(page) == (60, 60)
    page.press("Home", 36)
    assert clip(page) == (0, 0)
    page.press("PageUp", 33, times=3)
    assert clip(page) == (30, 30)
    x, y = page.place("#panel-divider", 0.3, 0.5)
    end, _ = page.place("#panel-divider", 0.8, 0.5)
    for kind, at in (("mousePressed", x), ("mouseMoved", end), ("mouseReleased", end)):
        page.send("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)
    assert clip(page)[1] == 80
    page.click("input[value=side]")
    assert page.run("document.querySelector('#panel-divider').hidden")
    assert page.run("getComputedStyle(document.querySelector('#panel-plate-1')).clipPath") == "none"


@pytest.mark.thorough
def test_pointing_reads_both_maps(page: Browser, projected: Results) -> None:
    cases = [projected.numbers["reference"], projected.numbers["scenarios"][0]]
    maps = [raster(projected, case, "suitability") for case in cases]
    novel = raster(projected, cases[1], "mess")
    high, wide = maps[0].shape
    for row, column in [(30, 40), (20, 30), (0, 0), tuple(np.argwhere(novel.filled(1) < 0)[0])]:
        page.hover("#panel-plate-1", (column + 0.5) / wide, (row + 0.5) / high)
        told = page.text("#panel-hover").split(" – ")
        for said, title, values in zip(told[1:], ("reference", "MIROC6_2050"), maps):
            name, _, what = said.rpartition(": ")
            assert name == title
            if np.ma.getmaskarray(values)[row, column]:
                assert what == "no data"
            else:
                assert float(what.split()[0]) == pytest.approx(float(values[row, column]), abs=0.0101)
        assert ("outside the training range" in told[2]) == bool(novel.filled(1)[row, column] < 0)


@pytest.mark.thorough
def test_the_maps_can_be_read_with_the_keyboard(page: Browser) -> None:
    page.focus("#panel-values-0")
    said = []
    for key, code in (("ArrowRight", 39), ("ArrowDown", 40), ("ArrowLeft", 37), ("ArrowUp", 38)):
        page.press(key, code)
        said.append(page.text("#panel-hover"))
    assert len({text.partition(" – ")[0] for text in said}) == 4, "each step is at another place"


@pytest.mark.thorough
def test_both_maps_zoom_and_move_together(page: Browser, projected: Results) -> None:
    """By buttons, keys, wheel and pointer, as the map of a model does; what is read is the raster's."""
    assert zoom(page) == [1, 1]
    page.click("#panel [data-act=in]")
    page.focus("#panel-values-1")
    page.press("+", 187)
    assert zoom(page) == [2.25, 2.25]
    page.click("#panel-values-0", 0.5, 0.5)
    page.wheel("#panel-values-0", -240, 0.5, 0.5)
    page.wait("Number(document.querySelector('#panel-plate-1').dataset.zoom) > 4")
    page.hover("#panel-plate-1", 0.5, 0.5)
    before = page.text("#panel-hover")
    page.drag("#panel-values-1", (0.5, 0.5), (0.2, 0.4))
    page.hover("#panel-plate-1", 0.5, 0.5)
    place, *said = page.text("#panel-hover").split(" – ")
    assert place != before.partition(" – ")[0]
    x, y = (float(part.strip("° ")) for part in place.split(","))
    with rasterio.open(projected.folder / projected.numbers["scenarios"][0]["files"]["suitability"]) as source:
        band = source.read(1, masked=True)
        row, column = source.index(x, y)
    value = said[1].rpartition(": ")[2]
    assert (
        value == "no data"
        if band.mask[row, column]
        else float(value.split()[0]) == pytest.approx(float(band[row, column]), abs=0.0101)
    )
    assert "km" in page.run("document.querySelector('#panel-plate-0').dataset.bar")
    page.press("0", 48)
    assert zoom(page) == [1, 1]


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["side", "swipe"])
def test_the_maps_are_saved_as_they_are_seen(page: Browser, projected: Results, tmp_path: Path, mode: str) -> None:
    page.click(f"input[value={mode}]")
    page.click("#panel [data-act=in]")
    png, svg = (page.save(f"#panel-tools button:nth-child({k})", tmp_path) for k in (1, 2))
    with Image.open(png) as picture:
        assert (picture.width > 1.5 * picture.height) == (mode == "side")
        assert len(np.unique(np.asarray(picture.convert("L")))) > 50
    drawn = svg.read_text(encoding="utf-8")
    assert "data:image/png;base64," in drawn
    for words in ("reference", "MIROC6_2050", "Suitability (cloglog)", "hatched: extrapolation"):
        assert words in drawn
    name = escape(projected.title)
    assert re.search(r'<tspan font-style="italic">([^<]*)</tspan>', drawn), "the species is in italics"
    assert name.split("&")[0] in drawn


@pytest.mark.thorough
def test_mess_and_groups_have_their_maps(page: Browser, projected: Results) -> None:
    choose(page, "#panel-kind", "mess")
    reach = StoredProjection(projected.folder, projected.numbers).mess_reach
    assert page.text("#panel-low") == f"−{reach:g} or less"
    assert page.run("document.querySelector('#panel-scale').hidden") is False
    choose(page, "#panel-kind", "agreement")
    choose(page, "#panel-choice-0", 5)
    assert page.run("document.querySelector('#panel-none-0').hidden")
    assert page.text("#panel-legend").split() == ["0", "1", "2"]


@pytest.mark.thorough
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("mode", ["side", "swipe"])
def test_nothing_sticks_out_at_any_width(page: Browser, width: int, mode: str) -> None:
    page.size(width, 800)
    page.click(f"input[value={mode}]")
    assert page.run("document.documentElement.scrollWidth") <= width
    sticks = """Array.from(document.querySelectorAll('main *')).filter(e => !e.closest('.scroll, svg') &&
        e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName)"""
    assert page.run(sticks) == []


@pytest.mark.thorough
def test_every_control_has_a_label(page: Browser) -> None:
    assert page.run("Array.from(document.querySelectorAll('input, select')).every(e => e.labels.length > 0)")
    assert page.run("Array.from(document.images).every(i => i.alt.length > 5)")
    assert page.run("document.querySelector('[role=slider]').getAttribute('aria-label').length > 5")
    assert page.run("document.querySelector('#panel-plain').hidden"), "the panel is shown in its place"


@pytest.mark.thorough
def test_without_scripts_the_picture_is_shown(browser: Browser, projected: Results) -> None:
    def high(selector: str) -> float:
        root = browser.send("DOM.getDocument")["root"]["nodeId"]
        node = browser.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        try:
            return float(browser.send("DOM.getBoxModel", nodeId=node)["model"]["height"])
        except AssertionError:  # it has no box
            return 0.0

    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(projected.page)
        browser.send("DOM.enable")
        assert high("#panel-plain img") > 100
        assert high("#panel") == 0
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
