"""The index of many species in a browser: it sorts, filters and turns pages with few rows in the document."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from browser import Browser
from evil import EVIL
from PIL import Image

from sdm.report.pages.index import write_index
from sdm.report.results import read_rows
from sdm.report.summary import write_summary

COUNT = 10_000
READY = "document.getElementById('species').dataset.ready === 'yes'"
NAMES = "Array.from(document.querySelectorAll('#species tbody tr'), r => r.cells[1].textContent)"


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A summary of many species, of which every hundredth failed; the first have previews."""
    folder = tmp_path_factory.mktemp("batch") / "ten thousand & more"
    folder.mkdir()
    rng = np.random.default_rng(2)
    rows: list[dict[str, Any]] = []
    for k in range(COUNT):
        name = f"Élan #{k:05d} 100%" if k % 2 else f"zebra {rng.integers(10**9)}"
        if k % 100 == 7:
            why = "one usable presence" if k % 200 == 7 else f"{k} records in one cell"
            rows.append({"species": name, "status": "failed", "folder": "", "page": "", "preview": "", "error": why})
            continue
        inside = f"x#{k} 100%"
        numbers = {"training_presences": int(rng.integers(2, 5000)), "auc_train": float(rng.random())}
        numbers |= {"gap": float(rng.random() * 1e-7)} if k % 3 else {}
        places = {"folder": inside, "page": f"{inside}/p.html", "preview": f"{inside}/m.png" if k < 30 else ""}
        rows.append({"species": name, "status": "converged", **numbers, **places, "error": ""})
        if k < 30:
            (folder / inside).mkdir()
            Image.new("L", (40, 30), 8 * k).save(folder / inside / "m.png")
            (folder / inside / "p.html").write_text(f"<!doctype html><title>{k}</title>", encoding="utf-8")
    write_summary(folder, rows)
    write_index(folder, planned=COUNT + 5)
    return folder, rows


def fresh(browser: Browser, folder: Path) -> None:
    """Open an index from another page, so that it begins anew whatever its address was."""
    browser.size(1280, 900)
    browser.open(Path(__file__).parent)
    browser.console.clear()
    browser.requests.clear()
    browser.open(folder / "index.html", READY)


@pytest.fixture
def page(browser: Browser, batch: tuple[Path, list[dict[str, Any]]]) -> Iterator[Browser]:
    fresh(browser, batch[0])
    yield browser
    assert browser.console == []
    assert browser.run("document.querySelectorAll('#species tbody tr').length") <= 100, "few rows are in the document"


def choose(browser: Browser, selector: str, value: str) -> None:
    """Type or choose a value, as a person does: what listens to it is told."""
    place = f"document.querySelector({json.dumps(selector)})"
    told = "for (const t of ['input', 'change']) e.dispatchEvent(new Event(t))"
    browser.run(f"(e => {{ e.value = {json.dumps(value)}; {told}; }})({place})")


def head(browser: Browser, title: str) -> str:
    titles = browser.run("Array.from(document.querySelectorAll('#species th'), h => h.textContent.trim())")
    return f"#species th:nth-child({titles.index(title) + 1})"


@pytest.mark.thorough
def test_it_sorts_by_numbers_with_missing_ones_last(page: Browser, batch: Any) -> None:
    rows = batch[1]
    gap = head(page, "Duality gap (nats)")
    for falling, said in ((True, "descending"), (False, "ascending")):
        page.click(f"{gap} button")
        known = sorted((row for row in rows if "gap" in row), key=lambda row: -row["gap"] if falling else row["gap"])
        assert page.run(NAMES) == [row["species"] for row in known[:25]]
        assert page.run(f"document.querySelector({json.dumps(gap)}).getAttribute('aria-sort')") == said
    page.click("[data-go=last]")
    assert page.text("#species tbody tr:last-child").startswith("no map")
    assert page.run("document.querySelector('#species tbody tr:last-child').cells.length") in (4, 6)


@pytest.mark.thorough
def test_it_sorts_by_name_without_regard_to_case_and_accents(page: Browser, batch: Any) -> None:
    page.click(f"{head(page, 'Species')} button")
    names = sorted(row["species"].replace("É", "e").lower() for row in batch[1])
    assert [name.replace("É", "e").lower() for name in page.run(NAMES)] == names[:25]
    page.click(f"{head(page, 'Species')} button")
    assert [name.replace("É", "e").lower() for name in page.run(NAMES)] == names[::-1][:25]


def test_it_finds_names_statuses_and_ranges_of_numbers(page: Browser, batch: Any) -> None:
    rows = batch[1]
    assert page.text("#found") == "1–25 of 10,000 species"
    choose(page, "#find", "ELAN #0001")
    assert page.run(NAMES) == [row["species"] for row in rows if row["species"].startswith("Élan #0001")]
    choose(page, "#find", "")
    choose(page, "[data-column=auc_train][data-end=low]", "0.9")
    choose(page, "[data-column=training_presences][data-end=high]", "100")
    wanted = [row for row in rows if row.get("auc_train", 0) >= 0.9 and row["training_presences"] <= 100]
    assert page.run(NAMES) == [row["species"] for row in wanted[:25]]
    assert page.text("#found") == f"1–{min(25, len(wanted))} of {len(wanted)} species of 10,000"
    page.click("#clear")
    choose(page, "#status", "failed")
    assert page.text("#found") == "1–25 of 100 species of 10,000"
    choose(page, "#find", "no such name")
    assert page.text("#found") == "0 species of 10,000"
    assert page.run(NAMES) == []


@pytest.mark.thorough
def test_failures_are_shown_by_their_reason(page: Browser, batch: Any) -> None:
    assert "10,000 of 10,005 species are in this table" in page.text("main .cautions")
    texts = page.run("Array.from(document.querySelectorAll('.reasons li'), e => e.textContent.trim())")
    assert texts == ["50 species one usable presence", "50 species … records in one cell"]
    page.click('[data-reason="1"]')
    failed = [row for row in batch[1] if "records in" in row["error"]]
    assert page.run(NAMES) == [row["species"] for row in failed[:25]]
    assert page.text("#species tbody tr:first-child td.failed") == failed[0]["error"]
    page.click("#clear")
    assert page.run(NAMES) == [row["species"] for row in batch[1][:25]], "rows that were of failures have figures again"
    figures = page.run("Array.from(document.querySelector('#species tbody tr').cells, c => c.textContent)")
    assert figures[2:4] == [f"{batch[1][0]['training_presences']:,}", f"{batch[1][0]['auc_train']:.3f}"]


@pytest.mark.thorough
def test_it_turns_its_pages(page: Browser, batch: Any) -> None:
    names = [row["species"] for row in batch[1]]
    page.click("[data-go=on]")
    assert page.run(NAMES) == names[25:50]
    page.click("[data-go=last]")
    assert page.run(NAMES) == names[-25:]
    assert page.run("document.querySelector('[data-go=on]').disabled")
    choose(page, ".pager .at", "3")
    assert page.run(NAMES) == names[50:75]
    choose(page, "#size", "100")
    assert page.run(NAMES) == names[:100]
    choose(page, ".pager .at", "99999")
    assert page.text("#found") == "9,901–10,000 of 10,000 species"
    choose(page, "#find", "elan")
    assert page.text("#found") == "1–100 of 5,000 species of 10,000", "a filter begins at the first page"


@pytest.mark.thorough
def test_whoever_comes_back_finds_the_same_rows(page: Browser, batch: Any) -> None:
    choose(page, "#find", "elan")
    choose(page, "[data-column=auc_train][data-end=low]", "0.25")
    page.click(f"{head(page, 'Training AUC')} button")
    page.click("[data-go=on]")
    before = page.run(NAMES)
    page.wait("location.hash.includes('page=2')")
    link = page.run("document.querySelector('#species tbody td:nth-child(2) a').href")
    assert unquote(link).startswith(
        (batch[0] / "x").as_uri().rpartition("/")[0].replace("%20", " ").replace("%26", "&")
    )
    page.loaded = False
    page.run("setTimeout(() => location.reload(), 0)")
    while not page.loaded:
        page._next()
    page.wait(READY)
    assert page.run(NAMES) == before
    assert page.run("document.getElementById('find').value") == "elan"


@pytest.mark.thorough
def test_pictures_and_pages_are_found_whatever_their_names(page: Browser, batch: Any) -> None:
    page.wait("Array.from(document.images).filter(i => i.complete && i.naturalWidth === 40).length >= 5")
    assert page.run("document.querySelector('#species img').loading") == "lazy"
    asked = [unquote(url).rpartition("/")[2] for url in page.requests]
    assert set(asked) == {"index.html", "m.png"}, "nothing else is asked for"
    first = batch[1][0]
    assert page.run("document.querySelector('#species img').alt") == f"Map of {first['species']}"
    page.loaded = False
    page.click("#species tbody td:nth-child(2) a")
    while not page.loaded:
        page._next()
    assert page.run("document.title") == "0"
    page.open(batch[0] / "index.html", READY)


@pytest.mark.thorough
def test_a_narrow_window_scrolls_the_table_alone(page: Browser) -> None:
    page.size(360, 800)
    assert page.run("document.documentElement.scrollWidth") <= 360
    shown = Image.open(io.BytesIO(page.screenshot()))
    assert len(np.unique(np.asarray(shown.convert("L")))) > 20, "there is something to see"


@pytest.mark.thorough
def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    browser.console.clear()
    row = {"species": EVIL, "status": EVIL, "n": 1, "folder": EVIL, "page": EVIL, "preview": "", "error": ""}
    write_summary(tmp_path, [row, {**row, "species": "b", "error": EVIL}])
    browser.open(write_index(tmp_path), READY)
    assert browser.run(NAMES) == [EVIL, "b"]
    assert browser.run("window.hacked === undefined")
    assert browser.run("document.querySelectorAll('#species tbody script, #species tbody b').length") == 0
    assert browser.console == []


@pytest.mark.thorough
def test_the_index_of_a_run_shows_its_maps(browser: Browser, many: Path) -> None:
    fresh(browser, many)
    browser.run("document.getElementById('species').scrollIntoView()")
    browser.wait("Array.from(document.images).filter(i => i.complete && i.naturalWidth > 20).length === 2")
    rows = read_rows(many / "summary.csv")
    assert browser.run(NAMES) == [row["species"] for row in rows]
    assert browser.console == []
