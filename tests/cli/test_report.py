"""`sdm report`, and the page that `sdm fit` writes."""

import json
import shutil
from pathlib import Path

import pytest
from terminal import BARE, as_json, fail, files, succeed


@pytest.fixture
def results(fit, tmp_path: Path) -> Path:
    """A copy of a fit that a test may spoil."""
    shutil.copytree(fit.folder, tmp_path / "results")
    return tmp_path / "results"


def test_a_fit_writes_a_page_and_says_where_it_is(fit) -> None:
    page = (fit.folder / f"{fit.name}.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert f"    page    {fit.name}.html\n" in fit.said
    assert json.loads((fit.folder / f"{fit.name}.json").read_text())["files"]["page"] == f"{fit.name}.html"


@pytest.mark.parametrize("given", ["folder", "model", "numbers"])
def test_the_page_is_made_again_from_what_is_stored(fit, results: Path, given: str) -> None:
    page = results / f"{fit.name}.html"
    before = page.read_bytes()
    page.unlink()
    left = files(results)
    place = {"folder": results, "model": results / f"{fit.name}.npz", "numbers": results / f"{fit.name}.json"}[given]
    made = [str(page), *([str(results / "scenarios" / page.name)] if given == "folder" else [])]
    assert succeed("report", place).stdout.split() == made, "a folder's scenarios are made with it"
    assert page.read_bytes() == before
    assert files(results) == sorted([*left, page.name]), "nothing else is written"


def test_a_page_that_is_there_is_replaced(fit, results: Path) -> None:
    page = results / f"{fit.name}.html"
    before = page.read_bytes()
    page.write_text("old")
    assert as_json("report", results)["files"][0] == str(page)
    assert page.read_bytes() == before


def test_figures_are_drawn_again_for_print(fit, results: Path) -> None:
    """Every chart has its file for print, of the model and of its scenarios; what pages show stays as it was."""
    before = {name: (results / name).read_bytes() for name in files(results) if (results / name).is_file()}
    said = succeed("report", results, "--figures", "pdf").stdout.split()
    new = {name for name in files(results) if name not in before and (results / name).is_file()}
    charts = {path.with_suffix(".pdf").relative_to(results).as_posix() for path in (results / "plots").glob("*.svg")}
    scenarios = {f"scenarios/{fit.name}_{what}.pdf" for what in ("scenarios", "change", "change_maps", "novelty")}
    assert new == {f"{fit.name}.pdf", *charts, *scenarios}
    assert {str(results / name) for name in new} < set(said)
    assert {name: (results / name).read_bytes() for name in before} == before
    assert "expected png, pdf, svg" in fail("report", results, "--figures", "gif", code=2)


def test_no_page_where_none_is_wanted(world, tmp_path: Path) -> None:
    said = succeed("fit", world.records, world.layers, *BARE, "--no-report", "-o", tmp_path / "out").output
    assert not list((tmp_path / "out").glob("*.html"))
    assert ".html" not in said
    (page,) = as_json("report", tmp_path / "out")["files"]
    assert Path(page).is_file()
    # a later run without one does not leave the page of an earlier one beside its own results
    succeed("fit", world.records, world.layers, *BARE, "--no-report", "--overwrite", "-o", tmp_path / "out")
    assert not Path(page).exists()


def test_many_species_have_an_index(world, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = succeed("fit", world.both, world.layers, *BARE, "-o", out).output
    assert str(out / "index.html") in said
    before = {name: (out / name).read_bytes() for name in files(out) if name.endswith(".html")}
    assert len(before) == 3
    for name in before:
        (out / name).unlink()
    assert {Path(page).relative_to(out).as_posix() for page in as_json("report", out)["files"]} == set(before)
    assert {name: (out / name).read_bytes() for name in before} == before
    succeed("fit", world.both, world.layers, *BARE, "--no-report", "--overwrite", "-o", out)
    assert not [name for name in files(out) if name.endswith(".html")]


def test_several_places_at_once(fit, results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path / "second")
    pages = as_json("report", results, tmp_path / "second")["files"]
    places = (results, tmp_path / "second")
    assert pages == [str(place / part / f"{fit.name}.html") for place in places for part in ("", "scenarios")]


def test_what_is_no_result_is_said(fit, results: Path, tmp_path: Path) -> None:
    assert "does not exist" in fail("report", tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "no results of `sdm fit`" in fail("report", tmp_path / "empty")
    (results / f"{fit.name}.json").unlink()
    assert "in its folder" in fail("report", results / f"{fit.name}.npz")


def test_a_damaged_map_is_said(fit, results: Path) -> None:
    (results / f"{fit.name}.tif").write_bytes(b"no raster")
    assert "cannot be read as a raster" in fail("report", results)
