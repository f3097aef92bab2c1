"""The folder of a run over several species: what the user or a stranger has put there."""

import json
import os
import time
from pathlib import Path

import pytest

from sdm.run.journal import JOURNAL, Journal, append_lines
from sdm.run.run_folder import NAME, RunFolder, UnitNotes
from sdm.storage.commit import staging_species
from sdm.storage.written_files import LISTED, read_list, write_list


@pytest.mark.parametrize("name", ["", "token", "job", "units"])
def test_a_link_in_place_of_the_folder_of_a_run_is_not_followed(tmp_path: Path, name: str) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    out.mkdir()
    for file in ("token", "job", "mine.txt"):
        (elsewhere / file).write_text("precious")
    if name:
        (out / NAME).mkdir()
        (out / NAME / name).symlink_to(elsewhere if name == "units" else elsewhere / name)
    else:
        (out / NAME).symlink_to(elsewhere)
    folder = RunFolder(out)
    token = folder.begin({}, sent=True)
    folder.notes(token, 0).begin("begin")
    folder.remove()
    assert sorted(path.name for path in elsewhere.iterdir()) == ["job", "mine.txt", "token"]
    assert {path.read_text() for path in elsewhere.iterdir()} == {"precious"}
    assert list(out.iterdir()) == []


def test_a_journal_that_has_another_name_leaves_that_alone(tmp_path: Path) -> None:
    """As that of a backup that is made of hard links, or of a stranger's archive."""
    backup, journal = tmp_path / "backup", Journal(tmp_path)
    journal.begin(["a"], "sdm")
    os.link(journal.path, backup)
    before = backup.read_bytes()
    journal.begin(["b"], "sdm")
    assert backup.read_bytes() == before
    assert journal.read().planned == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_journal_or_list_that_is_a_pipe_is_not_read(tmp_path: Path) -> None:
    """It would be waited for without end."""
    for name in (JOURNAL, LISTED):
        os.mkfifo(tmp_path / name)
    assert Journal(tmp_path).read().planned == []
    assert read_list(tmp_path) == []


def test_a_journal_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    (tmp_path / "journal.jsonl").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(OSError, match="symbolic links"):
        append_lines(tmp_path / "journal.jsonl", [{"run": 1}])
    assert (tmp_path / "mine.txt").read_text() == "precious"


@pytest.mark.parametrize("ends_early", [True, False])
def test_a_run_that_goes_on_lists_no_files_of_the_users(tmp_path: Path, ends_early: bool) -> None:
    """What the list has is deleted by the next `--overwrite`."""
    write_list(tmp_path, ["summary.csv"])
    for name in ("summary.csv", "mine.txt"):
        (tmp_path / name).write_text("text")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mine.txt").write_text("mine too")

    def work() -> None:
        with staging_species(
            tmp_path, overwrite=False, planned=["summary.csv", "effort.tif", "b/"], in_place=True
        ) as place:
            (place / "b").mkdir()
            if ends_early:
                raise KeyboardInterrupt

    if ends_early:
        with pytest.raises(KeyboardInterrupt):
            work()
    else:
        work()
    assert json.loads((tmp_path / LISTED).read_text()) == ["b/", "summary.csv"]


def test_the_last_step_of_a_unit_is_the_one_that_a_dead_worker_was_at(tmp_path: Path) -> None:
    notes = UnitNotes(tmp_path / "0.jsonl")
    assert notes.last() == ("", "", 0.0)
    for step, species in (("fit", "oak"), ("map", "oak"), ("fit", "ash")):
        notes.begin(step, species)
        assert notes.last()[:2] == (step, species)
    assert notes.last()[2] == pytest.approx(time.time(), abs=60)
