"""The page of a group, its pictures, and what the page of a species says of its group."""

import json
import re
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from browser import Browser, count_colours
from evil import EVIL
from PIL import Image
from shared_axes.written import NAMES, model_of, written

from sdm.data.rasters.stack import Stack
from sdm.estimators.shared import SharedMaxent
from sdm.kinds.pages import make_page, make_pages
from sdm.kinds.registry import read_results
from sdm.models.file import load_model
from sdm.report.pages.index import index_page
from sdm.report.results import read_rows
from sdm.storage.files import safe_name, safe_names

ORDER = ["map", "axes", "path", "curves", "biplot", "each", "fit", "settings"]


def texts(page: str) -> dict[str, str]:
    """The texts of a page by section, without elements."""
    parts = re.findall(r'<section id="(\w+)"[^>]*>(.*?)</section>', page, re.DOTALL)
    return {name: " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split()) for name, body in parts}


def sections(place: Path) -> dict[str, str]:
    return texts(make_page(read_results(place)))


def test_everything_is_written_and_named(shared: Path, layers: Stack) -> None:
    numbers = json.loads((shared / "group.json").read_text())
    there = {path.name for path in shared.iterdir()}
    styles = {f"{path.stem}{ending}" for path in shared.glob("*.tif") for ending in (".qml", ".sld")}
    assert styles <= there
    there -= styles
    assert set(numbers["files"].values()) == there
    assert {"group.npz", "axes.csv", "species_axes.csv", "relatives.csv", "axis_curves.csv", "path.csv"} <= there
    assert {"axis_4.tif", "axes_rgb.tif", "axes_rgb.png", "biplot.svg", "path.png", "group.html"} <= there
    model = load_model(shared / "group.npz")
    assert [row["species"] for row in read_rows(shared / "species_axes.csv")] == list(model.bands) == NAMES
    assert numbers["folders"] == safe_names(NAMES)
    assert numbers["warnings"] == []
    assert list(read_rows(shared / "axes.csv")[0]) == ["axis", "explained", "cumulative", "lowest", "highest"]


def test_the_page_has_every_section_and_report_makes_the_same(shared: Path) -> None:
    page = (shared / "group.html").read_text(encoding="utf-8")
    assert list(texts(page)) == ORDER
    assert make_pages([shared]) == [shared / "group.html"]
    assert (shared / "group.html").read_text(encoding="utf-8") == page
    assert make_pages([shared / "group.npz"]) == [shared / "group.html"]


def test_the_page_says_what_the_tables_hold(shared: Path) -> None:
    found, axes = sections(shared), read_rows(shared / "axes.csv")
    for row in axes:
        assert f"Axis {row['axis']} {100 * float(row['explained']):.1f} %" in found["axes"]
    assert "The strength was selected by the loss of records in held-out spatial blocks" in found["path"]
    near = read_rows(shared / "relatives.csv")[0]
    assert near["relative"] in found["each"]
    assert "duality gap 2e−05 nats per record" in found["fit"]


def test_species_are_linked_by_their_folders_and_names_are_escaped(shared: Path) -> None:
    page = make_page(read_results(shared))
    links = re.findall(r'<td data-value="[^"]*"><a href="([^"]*)"', page)
    assert len(links) == len(NAMES)
    assert links[2] == "../Genus0_epithet0/Genus0_epithet0.html"
    evil = safe_name(EVIL)
    assert all(part not in links[0] for part in ('"', "<", " "))
    assert links[0].count("/") == 2
    assert evil.partition("_")[0] in links[0]
    assert EVIL not in page
    assert "<img src=x" not in page


def test_a_folder_that_leads_elsewhere_is_no_link(shared: Path, tmp_path: Path) -> None:
    shutil.copytree(shared, tmp_path / "group")
    path = tmp_path / "group" / "group.json"
    tree = json.loads(path.read_text())
    tree["folders"] = dict.fromkeys(tree["folders"], "../../etc")
    path.write_text(json.dumps(tree))
    assert "etc" not in "".join(re.findall(r'href="([^"]*)"', make_page(read_results(path))))


def test_a_browser_has_nothing_to_complain_about(shared: Path, browser: Browser) -> None:
    browser.console.clear()
    browser.requests.clear()
    browser.open(shared / "group.html")
    assert browser.run("window.hacked") is None
    assert browser.run("document.querySelectorAll('#each tbody tr').length") == len(NAMES)
    assert browser.run("document.querySelectorAll('#biplot svg circle').length") > 100
    names = "[...document.querySelectorAll('#each tbody tr td:first-child')].map(e => e.textContent)"
    assert browser.run(names) == NAMES
    browser.click("#each thead th:nth-child(2) button")
    values = browser.run("[...document.querySelectorAll('#each tbody td:nth-child(2)')].map(e => +e.dataset.value)")
    assert values in (sorted(values), sorted(values, reverse=True))
    for wide in (1280, 380):
        browser.size(wide, 900)
        assert browser.run("document.documentElement.scrollWidth") <= wide, "the page does not run out of the window"
    assert browser.console == []
    assert set(browser.requests) == {(shared / "group.html").resolve().as_uri()}


def test_names_in_the_drawn_biplot_do_not_overlap(shared: Path, browser: Browser) -> None:
    browser.size(1280, 900)
    browser.open(shared / "group.html")
    found = browser.run(
        "[...document.querySelectorAll('#biplot svg g > text')].map(e => { const b = e.getBBox();"
        " return [b.x, b.x + b.width, b.y, b.y + b.height]; })"
    )
    assert len(found) > 3
    frame = 640
    for k, (a, b, c, d) in enumerate(found):
        assert 0 <= a < b <= frame
        for e, f, g, h in found[:k]:
            across, down = min(b, f) - max(a, e), min(d, h) - max(c, g)
            assert across <= 0 or down <= 4, "names may touch, and not lie on each other"


def test_the_picture_of_colours_has_the_colours_of_the_raster(shared: Path) -> None:
    with rasterio.open(shared / "axes_rgb.tif") as source:
        land = source.read(4) > 0
        first = np.argwhere(land)[len(np.argwhere(land)) // 2]
        colour = source.read((1, 2, 3))[:, first[0], first[1]]
    pixels = np.asarray(Image.open(shared / "axes_rgb.png").convert("RGB")).astype(int)
    assert (np.abs(pixels - colour).max(axis=-1) <= 1).any()
    assert count_colours(pixels) > 50


@pytest.mark.parametrize("rank", [0, 1])
def test_groups_with_no_axis_or_one_have_a_page(layers: Stack, tmp_path: Path, rank: int) -> None:
    files = written(model_of(layers, 8, rank=rank), layers, tmp_path / "group")
    found = sections(tmp_path / "group")
    if rank == 0:
        assert set(found) == {"axes", "path", "each", "fit", "settings"}
        assert "The model has no axes" in found["axes"]
        assert "axes" not in files
        assert "The model has no axes" in make_page(read_results(tmp_path / "group")).split("<section", 1)[0]
    else:
        assert list(found) == ORDER
        assert "A species with a positive slope" in found["biplot"]
        assert (tmp_path / "group" / "biplot.svg").is_file()


def test_warnings_come_first(layers: Stack, tmp_path: Path) -> None:
    path = [
        {"strength": c, "penalty": c, "rank": 2, "loss": 1.0, "held_out": c, "held_out_se": 0.1, "gap": 1e-5,
         "chosen": c == 0.5}
        for c in (0.5, 1.0)
    ]  # fmt: skip
    model = model_of(layers, 3, spatial=True, path=path, status="time limit")
    written(model, None, tmp_path / "group", **{"output.map": True})
    head = make_page(read_results(tmp_path / "group")).split("<section", 1)[0]
    assert "The group has only 3 species" in head
    assert "the axes apply to this region only" in head
    assert "The selected strength, 0.5, is the weakest of the compared ones" in head
    assert not list((tmp_path / "group").glob("*.tif"))
    assert "map" not in sections(tmp_path / "group")
    assert "Not converged (status: time limit)" in sections(tmp_path / "group")["fit"]


def test_a_strength_that_was_given_is_told_apart_from_one_that_was_chosen(layers: Stack, tmp_path: Path) -> None:
    row = {"strength": 1.0, "penalty": 0.02, "rank": 2, "loss": 7.5, "held_out": None, "held_out_se": None,
           "gap": 1e-5, "chosen": True}  # fmt: skip
    written(model_of(layers, 6, path=[row], known=False), layers, tmp_path / "group")
    found = sections(tmp_path / "group")["path"]
    assert "The user set the strength" in found
    assert "Held-out" not in found


def test_without_map_and_report_neither_is_written(layers: Stack, tmp_path: Path) -> None:
    files = written(model_of(layers, 6), layers, tmp_path / "group", **{"output.map": False, "output.report": False})
    assert "page" not in files
    assert not list((tmp_path / "group").glob("*.tif"))
    assert {path.name for path in (tmp_path / "group").iterdir()} == set(files.values())


@pytest.mark.thorough
def test_the_same_model_gives_the_same_bytes(layers: Stack, tmp_path: Path) -> None:
    for name in ("one", "other"):
        written(model_of(layers, 6), layers, tmp_path / name)
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "other"))
    assert one == other


def test_the_index_of_a_batch_leads_to_the_group_and_report_makes_its_page(
    many: Path, shared: Path, tmp_path: Path
) -> None:
    assert "group.html" not in index_page(many)
    batch = tmp_path / "batch"
    shutil.copytree(many, batch)
    shutil.copytree(shared, batch / "group")
    (batch / "group" / "group.html").unlink()
    made = make_pages([batch])
    assert batch / "group" / "group.html" in made
    assert '<a href="group/group.html">' in (batch / "index.html").read_text(encoding="utf-8")


@pytest.fixture
def shared_species(full: Path, tmp_path: Path) -> Path:
    """The results of a species that is one of a group."""
    shutil.copytree(full, tmp_path / "species")
    path = next(path for path in (tmp_path / "species").glob("*.json"))
    tree = json.loads(path.read_text())
    tree["shared"] = {
        "rank": 2, "explained": [0.7, 0.3], "shared": 0.81, "own": 0.19, "records": 7.0, "places": [0.5, -1.25],
        "relatives": [[EVIL, 0.93], ["Genus two", -0.4]], "strength": 1.0, "gap": 2e-5, "species": 53, "spatial": True,
    }  # fmt: skip
    path.write_text(json.dumps(tree))
    return path


def test_the_page_of_a_species_says_what_it_shares(shared_species: Path, full: Path) -> None:
    assert "shared" not in sections(full)
    found = sections(shared_species)["shared"]
    assert "81.0 % of the response of this species is shared with 52 other species, 19.0 % is species-specific" in found
    assert "it was fitted with 7 records." in found
    assert "Genus two (−0.4)" in found
    assert "Axis 2 30.0 % −1.25" in found
    assert "This species has few records" in found
    assert "applies only to the region of the fit" in found
    page = make_page(read_results(shared_species))
    assert EVIL not in page
    assert "axes shared with 52 other species" in page


def test_a_species_without_a_part_of_its_own_shares_everything(shared_species: Path) -> None:
    tree = json.loads(shared_species.read_text())
    tree["shared"] |= {"shared": 1.0, "own": 0.0, "spatial": False, "records": 40.0}
    shared_species.write_text(json.dumps(tree))
    found = sections(shared_species)["shared"]
    assert (
        "All of the response of this species is shared with 52 other species; it was fitted with 40 records." in found
    )
    assert "region" not in found
    assert "so few records" not in found


def test_a_fitted_group_is_told_as_it_was_fitted(layers: Stack, tmp_path: Path) -> None:
    """Six species along two gradients: the fit finds them, and tables, maps and page are of that fit."""
    rng = np.random.default_rng(5)
    cells = np.divmod(np.arange(layers.height * layers.width), layers.width)
    values = layers.sample(*cells).astype(np.float64)
    values = values[np.isfinite(values).all(axis=1)]
    numeric = [v for v, name in enumerate(layers.names) if name != "landcover"][:2]
    z = (values[:, numeric] - values[:, numeric].mean(axis=0)) / values[:, numeric].std(axis=0)
    rows, species = [values], [None] * len(values)
    for s, slope in enumerate(([1.5, 0], [-1.5, 0], [0, 1.5], [0, -1.5], [1, 1], [-1, 1])):
        density = np.exp(z @ slope)
        rows.append(values[rng.choice(len(values), 120, p=density / density.sum())])
        species += [f"Species {s}"] * 120
    table = pd.DataFrame(np.vstack(rows), columns=list(layers.names))
    fitted = SharedMaxent("lq", categorical=["landcover"], strengths=(4.0, 2.0, 1.0)).fit(table, species)
    model = fitted.model_
    files = written(model, layers, tmp_path / "group")
    found = sections(tmp_path / "group")
    assert list(found) == ORDER
    assert {"axes", "path", "axis curves", "sites", "colours", "biplot"} <= set(files)
    opposite = next(
        row for row in read_rows(tmp_path / "group" / "relatives.csv")[::-1] if row["species"] == "Species 0"
    )
    assert opposite["relative"] == "Species 1"
    assert float(opposite["correlation"]) < -0.5
    explained = [float(row["explained"]) for row in read_rows(tmp_path / "group" / "axes.csv")]
    assert sum(explained[:2]) > 0.8, "two gradients"
    chosen = [row for row in read_rows(tmp_path / "group" / "path.csv") if row["chosen"] == "True"]
    assert [float(row["strength"]) for row in chosen] == [model.strength]
    for k in range(2):
        with rasterio.open(tmp_path / "group" / f"axis_{k + 1}.tif") as source:
            band = source.read(1, masked=True).compressed()
        np.testing.assert_allclose(np.sort(band), np.sort(model.axis_scores(list(values.T))[k]), rtol=1e-4, atol=1e-4)
