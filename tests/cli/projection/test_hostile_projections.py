"""Names of scenarios, fields and species that were made to do harm: nothing leaves the folder, nothing is run."""

import csv
from pathlib import Path
from typing import Any

import pytest
from evil import EVIL
from projection.futures import Futures, Models, numbers, project
from ranges import serve
from terminal import as_json, fail, files, rows, succeed

from sdm import load_model
from sdm.models.file import save_model

NASTY = {
    "slash": "a/b",
    "up": "../../up",
    "root": "/etc/passwd",
    "spaces": "  two  words ",
    "html": EVIL,
    "quotes": '"it\'s"',
    "newline": "one\ntwo",
    "long": "x" * 200,
    "letters": "Ünïcödé 漢字 🦉",
    "formula": "=cmd|'/c calc'!A1",
    "plus": "+1+1",
    "at": "@SUM(A1)",
    "dots": "..",
}


def table(path: Path, places: list[Path], names: list[str]) -> Path:
    """A table of scenarios with such names as titles, and as values of a field."""
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["layers", "scenario", "gcm"], *zip(places, names, reversed(names))])
    return path


@pytest.fixture(scope="module")
def hostile(models: Models, futures: Futures, world, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A projection with pages, of a species and scenarios of such names."""
    folder = tmp_path_factory.mktemp("hostile")
    model = load_model(models.species)
    model.meta["species"] = EVIL
    save_model(model, folder / "sp.npz")
    inside = folder / "a" / "b" / "c"
    inside.mkdir(parents=True)
    names = list(NASTY.values())
    places = [futures.folder / futures.titles[k % 8] for k in range(len(names))]
    words = ("--scenarios", table(folder / "s.csv", places, names), "--reference", world.layers, "-o", inside / "out")
    return inside / "out", as_json("project", folder / "sp.npz", *words, "--dpi", 50)


@pytest.mark.thorough
def test_nothing_leaves_the_folder(hostile: tuple[Path, Any]) -> None:
    out, answer = hostile
    top = out.parents[3]
    assert {path.name for path in top.iterdir()} == {"a", "s.csv", "sp.npz"}
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    found = answer["models"][0]["numbers"]
    assert sorted(case["title"] for case in found["scenarios"]) == sorted(name.strip() for name in NASTY.values())
    for case in found["scenarios"]:
        for name in [case["files"]["suitability"], case["files"]["change"], case["files"]["mess"]]:
            assert (out / name).is_file()
            assert (out / name).resolve().is_relative_to(out.resolve())
            assert "/" in name
            assert len(Path(name).parts) == 2
    folders = {Path(case["files"]["suitability"]).parts[0] for case in found["scenarios"]}
    assert len(folders) == len(NASTY), "each has its own"
    assert all(len(name.encode()) < 120 for path in out.rglob("*") for name in [path.name])


@pytest.mark.thorough
def test_tables_hold_no_formula(hostile: tuple[Path, Any]) -> None:
    out, _ = hostile
    for name in ("scenarios.csv", "mapping.csv"):
        with (out / name).open(newline="", encoding="utf-8") as source:
            for row in csv.reader(source):
                for cell in row:
                    if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
                        float(cell)  # a number, or nothing
    found = {row["scenario"] for row in rows(out / "scenarios.csv")}
    assert "'=cmd|'/c calc'!A1" in found
    assert {row["gcm"] for row in rows(out / "scenarios.csv")} >= {"'@SUM(A1)", "'+1+1"}


@pytest.mark.thorough
def test_pages_and_the_terminal_run_nothing(
    hostile: tuple[Path, Any], models: Models, futures: Futures, tmp_path: Path
) -> None:
    out, answer = hostile
    (page,) = out.glob("*.html")
    text = page.read_text(encoding="utf-8")
    assert "<script>window.hacked" not in text
    assert "<img src=x" not in text
    places = [futures.folder / futures.titles[0]] * 2
    words = ("--scenarios", table(tmp_path / "s.csv", places, ["one\ntwo", "\x1b[31mred"]), "-o", tmp_path / "out")
    said = succeed(*project(models.species, *words)).output
    assert "\x1b[31m" not in said
    assert answer["models"][0]["name"] == EVIL


def test_scenarios_called_as_files_of_the_results(models: Models, futures: Futures, tmp_path: Path) -> None:
    stem = models.species.stem
    titles = ["across", "index", "index.html", "scenarios.csv", "run.yaml", "mess", "Across", f"{stem}.json"]
    places = [f"{title}={futures.folder / place}" for title, place in zip(titles, futures.titles)]
    words = [word for place in places for word in ("--scenarios", place)]
    succeed(*project(models.species, *words, "-o", tmp_path / "out"))
    found = numbers(tmp_path / "out", stem)
    assert sorted(case["title"] for case in found["scenarios"]) == sorted(titles)
    listed = [case["files"]["suitability"] for case in found["scenarios"]]
    assert len({name.casefold() for name in listed}) == len(titles), "each has its own folder, on any disk"
    assert all((tmp_path / "out" / name).is_file() for name in listed)
    assert list((tmp_path / "out" / "across").glob(f"{stem}_all_*.tif"))
    assert rows(tmp_path / "out" / "scenarios.csv")


def test_a_scenario_called_reference(models: Models, futures: Futures, tmp_path: Path) -> None:
    words = ("--scenarios", f"Reference={futures.folder / futures.titles[0]}", "-o", tmp_path / "out")
    assert "the name 'reference' of a scenario is reserved" in fail(*project(models.species, *words), code=2)
    assert files(tmp_path) == []


@pytest.mark.thorough
def test_species_called_as_files_of_a_scenario(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    names = ["x", "mess", "mod", "scenario", "across", "reference", "scenarios", "x_change", "x_mess", "x_maxsss", "X"]
    for k, name in enumerate(names):  # of two environments, so that each has novelty of its own
        model = load_model(models.other if k else models.species)
        model.meta["species"] = name
        save_model(model, tmp_path / f"{k}.npz")
    words = ("--scenarios", futures.folder / futures.titles[0], "--reference", world.layers, "-o", tmp_path / "out")
    answer = as_json(*project(*sorted(tmp_path.glob("*.npz")), *words))
    listed, novel = [], set()
    for model in answer["models"]:
        (case,) = model["numbers"]["scenarios"]
        listed += [case["files"]["suitability"], case["files"]["change"], *case["files"]["presence"].values()]
        novel |= {case["files"]["mess"], case["files"]["mod"]}
    listed += novel
    assert all((tmp_path / "out" / place).is_file() for place in listed)
    assert len(novel) == 4
    assert len({place.casefold() for place in listed}) == len(listed) == 3 * len(names) + 4, "no two are one file"
    assert {model["name"] for model in answer["models"]} == set(names)
    assert len(list((tmp_path / "out").glob("*.json"))) == len(names)


def test_a_secret_in_an_address_is_not_written(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    """Neither in the table of layers, nor in the numbers of a scenario."""
    with serve(world.folder) as site:
        names = sorted(path.name for path in world.layers.glob("*.tif"))
        layers = [site.url(f"layers/{name}", "bob:pass-word", "?token=hush-hush") for name in names]
        reference = [word for layer in layers for word in ("--reference", layer)]
        words = ("--scenarios", futures.folder / futures.titles[0], *reference, "-o", tmp_path / "out")
        said = succeed(*project(models.species, *words)).output
    for secret in (b"pass-word", b"hush-hush"):
        assert secret.decode() not in said
        for path in (tmp_path / "out").rglob("*"):
            assert path.is_dir() or secret not in path.read_bytes(), path.name
    table = rows(tmp_path / "out" / "mapping.csv")
    assert {row["scenario"] for row in table} == {"reference", futures.titles[0]}
    assert all("127.0.0.1" in row["file"] for row in table if row["scenario"] == "reference")
