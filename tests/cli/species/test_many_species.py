"""Several species in a file: a folder each, a summary, and none stops the others."""

import csv
import shutil
from pathlib import Path

import pytest
from terminal import BARE, PLAIN, QUICK, fail, files, rows, sdm, succeed, write_table

from sdm.kinds.species import kind as species_task

LEAN = (*QUICK, *PLAIN, "--no-map-picture")


def written(world, path: Path, names: dict[str, int]) -> Path:
    """Records of species with these names, so many each."""
    body = [(r["longitude"], r["latitude"]) for r in rows(world.records)]
    return write_table(
        path, ["species", "longitude", "latitude"], [(name, *body[k]) for name, n in names.items() for k in range(n)]
    )


def test_every_species_has_a_folder_and_a_row(world, tmp_path: Path) -> None:
    result = succeed("fit", world.both, world.layers, *LEAN, "-o", tmp_path / "out")
    summary = rows(tmp_path / "out" / "summary.csv")
    assert [row["status"] for row in summary] == ["converged", "converged"]
    for row in summary:
        folder = tmp_path / "out" / row["folder"]
        assert row["folder"] == row["species"].replace(" ", "_")
        for name in (f"{row['folder']}.tif", f"{row['folder']}.npz", "maxentResults.csv", "run.yaml", "records.csv"):
            assert (folder / name).exists()
        assert float(row["gap"]) <= 1e-6
    assert [row["kept"] for row in rows(tmp_path / "out" / "records.csv")] == ["60", "60"]
    assert "2 of 2 species fitted" in result.stdout


def test_one_failure_does_not_stop_the_others_but_shows_in_the_exit_code(world, tmp_path: Path) -> None:
    path = written(world, tmp_path / "records.csv", {"good": 30, "lonely": 1, "better": 40})
    result = sdm("fit", path, world.layers, *BARE, "--no-importance", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "error: lonely: one usable presence" in result.stderr
    assert "2 of 3 species fitted" in result.stdout
    by_name = {row["species"]: row for row in rows(tmp_path / "out" / "summary.csv")}
    assert by_name["lonely"]["status"] == "failed"
    assert "at least 2" in by_name["lonely"]["error"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        ".sdm-files",
        "background.csv",
        "better",
        "command.txt",
        "good",
        "index.html",
        "journal.jsonl",
        "records.csv",
        "records_fate.csv",
        "run.yaml",
        "summary.csv",
        "summary.parquet",
    ]


def test_a_fault_of_ours_in_one_species_does_not_stop_the_others(world, tmp_path: Path, monkeypatch) -> None:
    real = species_task.fit_species

    def faulty(prepared, name, *rest):
        if name == "b":
            raise ZeroDivisionError("a fault")
        return real(prepared, name, *rest)

    monkeypatch.setattr(species_task, "fit_species", faulty)
    path = written(world, tmp_path / "records.csv", {"a": 30, "b": 30, "c": 30})
    result = sdm("fit", path, world.layers, *BARE, "--no-importance", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "error: b: unexpected ZeroDivisionError: a fault" in result.stderr
    assert [row["status"] for row in rows(tmp_path / "out" / "summary.csv")] == ["converged", "failed", "converged"]


def test_if_all_fail_nothing_is_left(world, tmp_path: Path) -> None:
    path = written(world, tmp_path / "records.csv", {"a": 1, "b": 1})
    result = sdm("fit", path, world.layers, *LEAN, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "none of 2 species could be fitted" in result.stderr
    assert not (tmp_path / "out").exists()


NASTY = ["../x", "a/b", "CON", "🦥", "n" * 300, '<b>"quoted"</b>\'s', "A b", "A_b", "a B", "$x^2$", "..", "summary.csv"]


@pytest.mark.thorough
def test_no_name_leaves_the_folder_or_takes_the_place_of_another(world, tmp_path: Path) -> None:
    path = written(world, tmp_path / "records.csv", dict.fromkeys(NASTY, 20))
    (tmp_path / "in").mkdir()
    result = succeed("fit", path, world.layers, *QUICK, "--no-importance", "--dpi", 50, "-o", tmp_path / "in" / "out")
    assert result.stderr.count("Warning") == 0
    summary = rows(tmp_path / "in" / "out" / "summary.csv")
    assert [row["species"] for row in summary] == NASTY
    assert len({row["folder"].casefold() for row in summary}) == len(NASTY)
    for row in summary:
        assert (tmp_path / "in" / "out" / row["folder"]).is_dir()
        assert len(row["folder"].encode()) < 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "records.csv"]
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["out"]
    assert len(list((tmp_path / "in" / "out").iterdir())) == len(NASTY) + 10


def test_names_survive_in_tables(world, tmp_path: Path) -> None:
    name = 'Ur"sus, <i>arctos</i>'
    path = written(world, tmp_path / "records.csv", {name: 20})
    succeed("fit", path, world.layers, *BARE, "--no-importance", "-o", tmp_path / "out")
    with (tmp_path / "out" / "maxentResults.csv").open(newline="", encoding="utf-8") as source:
        assert next(csv.DictReader(source))["Species"] == name


def test_choosing_species(world, tmp_path: Path) -> None:
    path = written(world, tmp_path / "records.csv", {"a": 20, "b": 20, "c": 20})
    succeed("fit", path, world.layers, *LEAN, "--species", "a", "--species", "c", "-o", tmp_path / "two")
    assert [row["species"] for row in rows(tmp_path / "two" / "summary.csv")] == ["a", "c"]
    succeed("fit", path, world.layers, *LEAN, "--species", "b", "-o", tmp_path / "one")
    assert (tmp_path / "one" / "b.tif").exists(), "one species needs no folder of its own"
    result = sdm("fit", path, world.layers, *LEAN, "--species", "d", "-o", tmp_path / "none")
    assert result.exit_code == 2
    assert "species 'd' is not in" in result.stderr
    assert "a, b, c" in result.stderr


def test_a_species_alone_repeats_its_part_of_the_batch(world, tmp_path: Path) -> None:
    path = written(world, tmp_path / "records.csv", {"a": 30, "b": 40})
    succeed("fit", path, world.layers, *LEAN, "-o", tmp_path / "batch", "--test-percent", 20)
    succeed("fit", tmp_path / "batch" / "b" / "run.yaml", "-o", tmp_path / "again")
    for name in ("b.npz", "b.tif"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "batch" / "b" / name).read_bytes()


def test_results_there_already_stop_a_batch_before_it_starts(world, tmp_path: Path) -> None:
    path = written(world, tmp_path / "records.csv", {"a": 20, "b": 20})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("precious")
    result = sdm("fit", path, world.layers, *LEAN, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert files(tmp_path / "out") == ["mine.txt"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_an_obstacle_in_the_place_of_one_species(world, tmp_path: Path, kind) -> None:
    path = written(world, tmp_path / "records.csv", {"a": 20, "b": 20})
    succeed("fit", path, world.layers, *LEAN, "-o", tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "a")
    if kind == "file":
        (tmp_path / "out" / "a").write_text("already exists")
    else:
        (tmp_path / "out" / "a" / "a.tif").mkdir(parents=True)
    before = files(tmp_path / "out")
    said = fail("fit", path, world.layers, *LEAN, "-o", tmp_path / "out", "--overwrite")
    assert f"{tmp_path / 'out' / 'a'}" in said
    assert "already exists" in said
    assert files(tmp_path / "out") == before, "all or nothing"
