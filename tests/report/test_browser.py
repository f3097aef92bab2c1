"""The pages in a real browser: slider, layers, hover and keys work, nothing complains, no network is asked."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from browser import Browser, count_colours
from evil import EVIL
from report_runs import fit

from sdm.kinds.registry import read_results
from sdm.report.results import Results

READY = "document.querySelector('#live').dataset.ready === 'yes'"


@pytest.fixture
def page(browser: Browser, full: Path) -> Iterator[Browser]:
    """The page of a species, open; at the end nothing may have complained or left the machine."""
    browser.console.clear()
    browser.requests.clear()
    browser.size(1280, 900)
    path = read_results(full).page
    browser.open(path, READY)
    yield browser
    assert browser.console == []
    assert set(browser.requests) == {path.resolve().as_uri()}


@pytest.fixture
def results(full: Path) -> Results:
    return read_results(full)


def percent(text: str) -> float:
    return float(text.removesuffix(" %")) / 100


def numbers(page: Browser) -> tuple[float, float, float, float]:
    """Threshold, area, and training and test omission, as they are shown."""
    return float(page.text("#at")), *(percent(page.text(f"#{name}")) for name in ("area", "train", "test"))


def canvas(page: Browser) -> np.ndarray:
    """The pixels of the map as it is seen."""
    return page.pixels("#values")


def picture(page: Browser, shape: tuple[int, int]) -> np.ndarray:
    """The pixels at the centres of the cells of the map, without records and graticule."""
    page.run("document.querySelectorAll('input.show, #graticule').forEach(b => { if (b.checked) b.click(); })")
    shown = canvas(page)
    rows, columns = (((np.arange(n) + 0.5) * size / n).astype(int) for n, size in zip(shape, shown.shape))
    return shown[np.ix_(rows, columns)]


def test_the_slider_sets_the_threshold_and_shows_what_the_stored_table_says(page: Browser, results: Results) -> None:
    table = {float(row["Threshold"]): row for row in results.table("roc")}
    page.focus("#threshold")
    seen = []
    page.press("Home", 36)
    for _ in range(4):
        threshold, *shown = numbers(page)
        row = table[threshold]
        wanted = [float(row[name]) for name in ("Fractional area", "Training omission", "Test omission")]
        assert shown == pytest.approx(wanted, abs=0.00051)
        seen.append((threshold, *shown))
        page.press("PageUp", 33)
    assert len(set(seen)) == 4
    assert seen[0] == (0, 1, 0, 0), "without a threshold all is predicted, and nothing omitted"


@pytest.mark.thorough
def test_a_step_of_the_slider_is_a_row_of_the_table(page: Browser, results: Results) -> None:
    page.focus("#threshold")
    page.press("Home", 36)
    page.press("ArrowRight", 39, times=7)
    assert page.text("#at") == "0.035"
    assert page.run("document.querySelector('#threshold').value") == "0.035"
    assert 0.035 in {float(row["Threshold"]) for row in results.table("roc")}


@pytest.mark.thorough
def test_the_slider_can_be_dragged(page: Browser) -> None:
    page.click("#threshold", 0.25)
    low = numbers(page)
    page.click("#threshold", 0.75)
    high = numbers(page)
    assert low[0] == pytest.approx(0.25, abs=0.03)
    assert high[0] == pytest.approx(0.75, abs=0.03)
    assert low[1] > high[1]
    assert low[2] <= high[2]


@pytest.mark.thorough
def test_a_named_threshold_shows_its_own_numbers(page: Browser, results: Results) -> None:
    for k, row in enumerate(results.numbers["thresholds"].values()):
        page.run(
            f"(s => {{ s.value = '{k}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('#named'))"
        )
        shown = numbers(page)
        assert shown[0] == pytest.approx(row["cloglog"], abs=0.00051)
        wanted = [row[name] for name in ("area", "training_omission", "test_omission")]
        assert shown[1:] == pytest.approx(wanted, abs=0.00051)


@pytest.mark.thorough
def test_it_begins_with_the_threshold_of_the_run(page: Browser, results: Results) -> None:
    assert float(page.text("#at")) == pytest.approx(results.numbers["map_threshold"], abs=0.00051)
    chosen = page.run("document.querySelector('#named').selectedOptions[0].textContent")
    assert chosen == results.numbers["thresholds"]["maxsss"]["name"]


@pytest.mark.thorough
def test_above_the_threshold_there_are_two_colours_and_the_thresholded_map(page: Browser, results: Results) -> None:
    import rasterio

    path = results.path("thresholded map")
    with rasterio.open(path) as source:
        wanted = source.read(1, masked=True)
    assert count_colours(picture(page, wanted.shape)) > 50
    page.click("input[value=above]")
    shown = picture(page, wanted.shape)
    inside = ~np.ma.getmaskarray(wanted)
    inside[-6:, :20] = False  # where the scale bar lies
    assert (shown[np.ma.getmaskarray(wanted)][:, :3] == 232).all(axis=1).mean() > 0.9, "what has no data is grey"
    colours = np.unique(shown[inside], axis=0)
    assert len(colours) == 2
    dark = colours[np.argmin(colours[:, :3].sum(axis=1))]
    present = (shown != dark).any(axis=2) & inside
    # the page knows values to a step of 1/4000
    assert np.count_nonzero(present != (wanted.filled(0) == 1)) <= 2


def test_pointing_at_the_map_reads_the_raster(page: Browser, results: Results) -> None:
    import rasterio

    with rasterio.open(results.path("map")) as source:
        band, height, width = source.read(1, masked=True), source.height, source.width
        places = {}
        for row, column in [(height // 2, width // 2), (height // 4, width // 3), (0, 0)]:
            page.hover("#values", (column + 0.5) / width, (row + 0.5) / height)
            places[row, column] = page.text("#hover")
        for (row, column), said in places.items():
            where, _, what = said.partition(": ")
            x, y = (float(part.strip("° ")) for part in where.split(","))
            assert source.index(x, y) == (row, column)
            if band.mask[row, column]:
                assert what == "no data"
            else:
                assert float(what.split(",")[0]) == pytest.approx(float(band[row, column]), abs=0.0011)


@pytest.mark.thorough
def test_the_map_can_be_read_with_the_keyboard(page: Browser) -> None:
    page.focus("#values")
    said = []
    for key, code in (("ArrowRight", 39), ("ArrowDown", 40), ("ArrowLeft", 37), ("ArrowUp", 38)):
        page.press(key, code)
        said.append(page.text("#hover"))
    assert len({text.partition(":")[0] for text in said}) == 4, "each step is at another place"


@pytest.mark.thorough
def test_another_layer_is_another_map(page: Browser) -> None:
    before = canvas(page)
    names = page.run("Array.from(document.querySelector('#layer').options, o => o.textContent)")
    assert names[:2] == ["training layers", "mean over replicates"]
    page.run("document.querySelector('#high').textContent = ''")
    page.run("(s => { s.value = '1'; s.dispatchEvent(new Event('change')); })(document.querySelector('#layer'))")
    page.wait("document.querySelector('#high').textContent !== ''")
    assert not np.array_equal(before, canvas(page))


@pytest.mark.thorough
def test_records_can_be_switched_off(page: Browser) -> None:
    seen = [canvas(page)]
    for name in ("#show-test", "#show-train", "#show-test"):
        page.click(name)
        seen.append(canvas(page))
    changed = [int((one != two).any(axis=2).sum()) for one, two in pairwise(seen)]
    assert all(count > 0 for count in changed), "each click takes records away, or shows them again"
    assert changed[0] == pytest.approx(changed[2], rel=0.5)


@pytest.mark.thorough
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_sticks_out_at_any_width(page: Browser, width: int) -> None:
    page.size(width, 800)
    assert page.run("document.documentElement.scrollWidth") <= width
    sticks = """Array.from(document.querySelectorAll('main *')).filter(e => !e.closest('.scroll, svg') &&
        e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName)"""
    assert page.run(sticks) == []


@pytest.mark.thorough
def test_every_picture_has_a_text_and_every_control_a_label(page: Browser) -> None:
    assert page.run("Array.from(document.images).every(i => i.alt.length > 5)")
    assert page.run("Array.from(document.querySelectorAll('svg')).every(s => s.getAttribute('aria-label'))")
    assert page.run("Array.from(document.querySelectorAll('input, select')).every(e => e.labels.length > 0)")
    assert page.run("document.documentElement.lang") == "en"


@pytest.mark.thorough
def test_it_prints(page: Browser) -> None:
    assert page.pdf().startswith(b"%PDF")


def height(browser: Browser, selector: str) -> float:
    """How high an element is, asked without a script; 0 where it is not shown."""
    root = browser.send("DOM.getDocument")["root"]["nodeId"]
    node = browser.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
    try:
        return float(browser.send("DOM.getBoxModel", nodeId=node)["model"]["height"])
    except AssertionError:  # it has no box
        return 0.0


@pytest.mark.thorough
def test_without_scripts_the_picture_is_shown(browser: Browser, full: Path) -> None:
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(read_results(full).page)
        browser.send("DOM.enable")
        assert height(browser, "#plain img") > 100
        assert height(browser, "#live") == 0
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.thorough
def test_no_name_runs_as_a_script(browser: Browser, hostile: Path) -> None:
    browser.console.clear()
    browser.requests.clear()
    path = read_results(hostile).page
    browser.open(path, READY)
    assert browser.run("window.hacked === undefined")
    assert browser.text("h1") == EVIL
    assert browser.console == []
    assert browser.requests == [path.resolve().as_uri()]


@pytest.mark.thorough
def test_real_data(browser: Browser, shared: Path, tmp_path: Path) -> None:
    """Bradypus variegatus of Phillips et al. 2006, with folds."""
    data = shared / "data" / "phillips2006"
    options = {"layers.categorical": ["ecoreg"], "fit.features": "lqh", "test.folds": 5}
    folder = fit(tmp_path / "results", data / "bradypus.csv", data / "layers_0.25deg", **options)
    browser.console.clear()
    browser.requests.clear()
    path = read_results(folder).page
    browser.open(path, READY)
    assert browser.text("h1") == "bradypus variegatus"
    browser.hover("#values", 0.55, 0.35)  # in the middle of the continent
    assert "the threshold" in browser.text("#hover")
    folds = browser.run("Array.from(document.querySelectorAll('#validation svg text'), t => t.textContent)")
    assert [text.partition(" (")[0] for text in folds if text.startswith("fold ")] == [f"fold {k}" for k in range(1, 6)]
    assert browser.console == []
    assert browser.requests == [path.resolve().as_uri()]


@pytest.mark.thorough
def test_a_page_without_a_map_is_quiet_too(browser: Browser, bare: Path) -> None:
    browser.console.clear()
    browser.open(read_results(bare).page)
    assert browser.run("window.hacked === undefined")
    assert browser.console == []
