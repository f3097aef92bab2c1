"""Pages for everybody: at 375 px, in the dark, with the keyboard alone; nothing is cut off, everything can be read."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser
from conftest import ROOT
from report_runs import project

from sdm.kinds.pages import write_page
from sdm.kinds.registry import read_results
from sdm.report.pages.index import write_index
from sdm.report.summary import write_summary

KINDS = ("species", "class", "community", "projection", "index")
LIVE = "Array.from(document.querySelectorAll('#live, #panel')).every(map => map.dataset.ready === 'yes')"
CHECKS = (ROOT / "tests" / "helpers" / "page_checks.js").read_text(encoding="utf-8")


def ask(page: Browser, check: str) -> Any:
    """Ask one of the checks of a page."""
    return page.run(f"(() => {{ {CHECKS} return checks.{check}(); }})()")


def resize(page: Browser, width: int) -> None:
    """Make the window so wide, and wait until the page has found its shape."""
    page.size(width, 800)
    page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))")


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of ten thousand species, with long names."""
    folder, rng = tmp_path_factory.mktemp("listed"), np.random.default_rng(5)
    rows: list[dict[str, Any]] = []
    for k in range(10_000):
        name = f"Pseudohieronymusia{'longissima' if k % 7 == 0 else ''} maximowicziana{k} subsp. kleinwaechterorum"
        if k % 500 == 3:
            lost = {"folder": "", "page": "", "preview": "", "error": "one usable presence"}
            rows.append({"species": name, "status": "failed", **lost})
            continue
        numbers = {"training_presences": int(rng.integers(2, 900)), "auc_train": float(rng.random()), "gap": 1e-9}
        rows.append(
            {
                "species": name,
                "status": "converged",
                **numbers,
                "folder": f"s{k}",
                "page": f"s{k}/p.html",
                "preview": "",
                "error": "",
            }
        )
    write_summary(folder, rows)
    return write_index(folder)


@pytest.fixture(scope="module")
def projected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A projection to four scenarios, with its page."""
    fields = [{"gcm": gcm, "period": period} for gcm in ("MIROC6", "IPSL") for period in ("2050", "2090")]
    folder = project(tmp_path_factory.mktemp("projected") / "out", scenarios=fields)
    write_page(read_results(next(folder.glob("*.json"))))
    return folder


@pytest.fixture
def opened(
    browser: Browser, full: Path, surveyed: Path, community: Path, projected: Path, listed: Path
) -> Iterator[Callable[[str], Browser]]:
    """Opens the page of a kind."""
    places = {"species": full, "class": surveyed, "community": community, "projection": projected}

    def open_page(kind: str) -> Browser:
        browser.console.clear()
        path = listed if kind == "index" else read_results(places[kind]).page
        browser.open(path, "document.querySelector('#species').dataset.ready === 'yes'" if kind == "index" else LIVE)
        return browser

    yield open_page
    assert browser.console == []
    browser.dark(False)
    browser.size(1280, 900)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [375, 1280])
def test_no_text_is_clipped(opened: Callable[[str], Browser], kind: str, width: int) -> None:
    page = opened(kind)
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    resize(page, width)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert ask(page, "clipped") == []
    assert ask(page, "outOfChart") == []


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["species", "class", "community", "projection"])
def test_paper_is_light_and_holds_everything(opened: Callable[[str], Browser], kind: str) -> None:
    """What is folded away is printed too, and no table runs out of the sheet."""
    page = opened(kind)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    try:
        page.send("Emulation.setEmulatedMedia", media="print", features=dark)
        page.run("window.dispatchEvent(new Event('beforeprint'))")
        resize(page, 718)  # A4 without its margins
        assert page.run("document.documentElement.scrollWidth") <= 718
        assert page.run("document.querySelectorAll('details:not([open])').length") == 0
        assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert ask(page, "clipped") == []
    finally:
        page.send("Emulation.setEmulatedMedia", media="")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dark", [False, True])
def test_every_text_stands_out_from_its_ground(opened: Callable[[str], Browser], kind: str, dark: bool) -> None:
    page = opened(kind)
    page.dark(dark)
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    count, low = ask(page, "contrast")
    assert count > 50
    assert low == {}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_the_keyboard_reaches_everything_and_shows_where_it_is(opened: Callable[[str], Browser], kind: str) -> None:
    page = opened(kind)
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    count, seen = ask(page, "reachable"), set()
    page.run("document.body.focus(); window.scrollTo(0, 0)")
    for k in range(min(count, 60)):
        page.press("Tab", 9)
        place = "Array.from(document.querySelectorAll('*')).indexOf(document.activeElement)"
        seen.add(page.run(place))
        outline = page.run("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", (k, page.run("document.activeElement.outerHTML.slice(0, 120)"))
    assert len(seen) == min(count, 60), "the tab key goes from one to the next"


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_headings_labels_and_texts_of_pictures(opened: Callable[[str], Browser], kind: str) -> None:
    page = opened(kind)
    levels = page.run("Array.from(document.querySelectorAll('h1, h2, h3'), h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels)), "no level of headings is left out"
    assert ask(page, "labelled") == []
    assert page.run("Array.from(document.images).every(i => i.alt.length > 5)")
    names = page.run("Array.from(document.querySelectorAll('[id]'), e => e.id)")
    assert len(names) == len(set(names))


@pytest.mark.thorough
def test_names_of_the_index_break_between_words_alone(opened: Callable[[str], Browser]) -> None:
    page = opened("index")
    for width in (1280, 375):
        resize(page, width)
        assert ask(page, "broken") == []


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["species", "class"])
def test_the_result_comes_first(opened: Callable[[str], Browser], kind: str) -> None:
    """The map and four figures are seen without scrolling, and warnings come next."""
    page = opened(kind)
    page.size(1280, 900)
    top = "document.querySelector({!r}).getBoundingClientRect()"
    assert page.run(top.format("#plate") + ".top") < 300
    assert page.run(top.format("#plate") + ".height") > 400
    assert page.run("document.querySelectorAll('.tiles.four > div').length") == 4
    assert page.run(top.format(".tiles.four") + ".bottom") < 900
    order = page.run("Array.from(document.querySelectorAll('main [id]'), e => e.id)")
    wanted = ["map", "warnings", "curves", "importance", "thresholds", "records", "fit"]
    assert [name for name in order if name in wanted] == wanted
