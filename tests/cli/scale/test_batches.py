"""A run over many species: any number of workers, and what is finished stays."""

import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from simulated.flora import BROKEN, Flora, result_bytes
from terminal import fail, rows, sdm, write_table

from sdm.executors.opening import SerialExecutor
from sdm.options.reading import make_options
from sdm.run import batch
from sdm.run.job import Chosen
from sdm.run.journal import JOURNAL, Journal
from sdm.run.run import run


def plain(found: dict[str, bytes], folder: Path) -> dict[str, bytes]:
    """The same, without the folder and the command that pages and run files name."""
    said = ("command.txt", ".html", "run.yaml")
    return {name: data for name, data in found.items() if not name.endswith(said)}


def again(flora: Flora, out: Path, *more: Any) -> str:
    """Run, and say what was said."""
    result = sdm(*flora.words(out, *more))
    assert result.exit_code == 1, result.output  # three species are broken
    return str(result.output)


@pytest.mark.thorough
def test_two_processes_give_the_same_bytes(flora: Flora, whole: dict[str, bytes], tmp_path: Path) -> None:
    said = again(flora, tmp_path / "out", "--processes", 2)
    assert plain(result_bytes(tmp_path / "out"), tmp_path) == plain(whole, tmp_path)
    for name in BROKEN:
        assert said.count(f"error: {name}") == 1, "each once"
    assert files_left(tmp_path) == []


def files_left(folder: Path) -> list[Path]:
    """What a run leaves behind only while it is at work."""
    return [path for path in folder.rglob(".sdm-*") if path.name != ".sdm-files"]


def test_a_batch_that_is_finished_is_kept(flora: Flora, out: Path) -> None:
    (out / "mine.txt").write_text("not listed as a file of sdm, now and later")
    before, told = result_bytes(out), {p: p.stat().st_mtime_ns for p in out.rglob("*.npz")}
    said = again(flora, out, "--resume")
    assert "9 of 12 species are finished and unchanged, and are kept" in said, "what failed is tried again"
    assert result_bytes(out) == before
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*.npz")} == told


@pytest.mark.thorough
def test_a_folder_with_a_part_suggests_to_resume(flora: Flora, out: Path) -> None:
    said = fail(*flora.words(out))
    assert "9 of 12 species are finished" in said
    assert "--resume" in said
    assert "--overwrite" in said
    assert "use one of them" in fail(*flora.words(out, "--resume", "--overwrite"), code=2)


def test_nothing_to_go_on_with_is_said(flora: Flora, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert "has no run over several species for --resume" in fail(*flora.words(tmp_path / "out", "--resume"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


@pytest.mark.thorough
def test_what_changed_is_made_again_and_nothing_else(flora: Flora, world, tmp_path: Path) -> None:
    out, mine = tmp_path / "out", replace(flora, records=tmp_path / "records.csv")
    table = [list(row.values()) for row in rows(flora.records)]
    write_table(mine.records, ["species", "longitude", "latitude"], table)
    again(mine, out)
    stamps = {p.parent.name: p.stat().st_mtime_ns for p in out.rglob("*.npz")}
    moved = "Planta numerus003"
    write_table(
        mine.records,
        ["species", "longitude", "latitude"],
        [row for k, row in enumerate(table) if row[0] != moved or table[k - 1][0] == moved],  # its first record goes
    )
    said = again(mine, out, "--resume")
    assert "8 of 12 species are finished and unchanged, and are kept" in said
    now = {p.parent.name: p.stat().st_mtime_ns for p in out.rglob("*.npz")}
    assert [name for name in now if now[name] != stamps[name]] == ["Planta_numerus003"]
    again(mine, tmp_path / "fresh" / "out")
    assert plain(result_bytes(out), out).keys() == plain(result_bytes(tmp_path / "fresh" / "out"), out).keys()
    said = again(mine, out, "--resume", "--multiplier", 2)
    assert "kept" not in said.split("records")[0], "another option changes all of them"


@pytest.mark.thorough
def test_a_file_that_is_gone_is_made_again(flora: Flora, out: Path) -> None:
    before = result_bytes(out)
    (out / "Planta_numerus001" / "Planta_numerus001.tif").unlink()
    shutil.rmtree(out / "Planta_numerus002")
    assert "7 of 12 species are finished" in again(flora, out, "--resume")
    assert result_bytes(out) == before


@pytest.mark.thorough
def test_one_species_of_a_batch_is_renewed_in_its_folder(flora: Flora, out: Path) -> None:
    name, before = "Planta numerus004", result_bytes(out)
    done = sdm(*flora.words(out, "--species", name, "--overwrite", "--multiplier", 3))
    assert done.exit_code == 0, done.output
    after = result_bytes(out)
    assert after.keys() == before.keys(), "nothing in the root"
    changed = {Path(file).parts[0] for file in after if after[file] != before[file]}
    assert changed <= {"Planta_numerus004", "summary.csv", "summary.parquet"}
    assert {"Planta_numerus004", "summary.csv"} <= changed
    old = {row["species"]: row for row in rows_of(before["summary.csv"])}
    new = {row["species"]: row for row in rows_of(after["summary.csv"])}
    assert list(old) == list(new)
    assert [species for species in old if old[species] != new[species]] == [name]


def rows_of(data: bytes) -> list[dict[str, str]]:
    import csv
    import io

    return list(csv.DictReader(io.StringIO(data.decode())))


def kills_its_worker(task, prepared, name, options, progress) -> Chosen:
    """Chooses nothing, but for one species, whose process it ends; and another only the first time."""
    if name.endswith("numerus001"):
        os.kill(os.getpid(), signal.SIGKILL)
    once = Path(options.output.folder).parent / "died"
    if name.endswith("numerus005") and not once.exists():
        once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Chosen(options, {}, writes_nothing, "nothing")


def writes_nothing(folder: Path, files: dict[str, Any]) -> None:
    """There is nothing to write."""


@pytest.mark.thorough
def test_a_species_that_kills_workers_is_set_aside(flora: Flora, tmp_path: Path) -> None:
    about = {"features": "lq", "curves": False, "report": False, "map": False, "retries": 1, "processes": 2}
    places = {"occurrences.file": str(flora.records), "layers.files": [str(flora.layers)]}
    options = make_options({**about, **places, "output": str(tmp_path / "out"), "background_points": 300})
    found = run(options, choose=kills_its_worker)
    failed = {model.name: model.error for model in found.failed}
    assert failed.keys() == {*BROKEN, "Planta numerus001"}
    assert "its worker died 2 times" in str(failed["Planta numerus001"])
    assert (tmp_path / "died").exists()
    assert (tmp_path / "out" / "Planta_numerus005").is_dir(), "tried again, with success"
    assert files_left(tmp_path) == []


@pytest.mark.thorough
def test_the_journal_is_readable_whatever_is_in_it(flora: Flora, out: Path) -> None:
    before, path = result_bytes(out), out / JOURNAL
    record = Journal(path.parent).read()
    assert (len(record.planned), record.finished, path.read_text().count('"run":')) == (12, 9, 1)
    lines = path.read_text().splitlines()
    odd = ['{"species": "x", "status": "done", "folder": "../../x"}', "[1]", "{", '{"status": "done"}', "\0"]
    path.write_text("\n".join([*lines[:5], *odd, json.loads(lines[5])["species"], lines[5][:40]]))
    again(flora, out, "--resume")
    assert result_bytes(out) == before
    assert not (out.parent / "x").exists()
    assert not (out.parent.parent / "x").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("words", [("--overwrite",), ("--overwrite", "--processes", "2")])
def test_a_batch_that_is_overwritten_is_replaced_as_a_whole(flora: Flora, out: Path, words) -> None:
    before = result_bytes(out)
    (out / "summary.csv").unlink()
    again(flora, out, *words)
    assert result_bytes(out) == before
    assert (out / JOURNAL).read_text().count('"run":') == 1
    assert files_left(out.parent) == []


@pytest.mark.thorough
def test_the_summary_is_made_again_from_the_journal(out: Path) -> None:
    """After a kill the journal is ahead of the summary, by up to half a minute."""
    before = {name: (out / name).read_bytes() for name in ("summary.csv", "summary.parquet")}
    lines = before["summary.csv"].decode().splitlines(keepends=True)
    (out / "summary.csv").write_text("".join(lines[:4]))
    assert sdm("report", out).exit_code == 0
    assert {name: (out / name).read_bytes() for name in before} == before


def test_the_status_of_a_batch(out: Path, tmp_path: Path) -> None:
    said = sdm("status", out)
    assert said.exit_code == 0, said.output
    assert "9 of 12 species" in said.stdout
    for name in BROKEN:
        assert name in said.stdout
    assert "finished after" in said.stdout
    numbers = json.loads(sdm("status", out, "--json").stdout)["models"][0]["numbers"]
    assert (numbers["planned"], numbers["done"], numbers["at_work"]) == (12, 9, False)
    assert sum(map(len, numbers["failed"].values())) == 3
    path = out / JOURNAL
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:6]))
    assert "interrupted" in sdm("status", out).stdout
    assert "has no journal.jsonl: expected the output folder of a run" in fail("status", tmp_path)


def test_a_batch_in_this_process_gives_freed_memory_back(monkeypatch) -> None:
    class Called(Exception):
        """Raised by the first step of the work."""

    def give_memory_back() -> None:
        raise Called

    monkeypatch.setattr(batch, "give_memory_back", give_memory_back)
    with pytest.raises(Called):
        batch.Batch._work(cast(Any, None), SerialExecutor(), cast(Any, None), cast(Any, None), [], {})
