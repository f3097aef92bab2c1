"""Results in one step: whole or not at all, one run at a time, and nothing of the user's is lost."""

import errno
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event, Thread

import pytest
from faults import BROKEN, CALLS, FAULTS, INTERRUPT, INTERRUPTED, KILL, NOTED, in_small_process, with_fault

import sdm.storage.commit
import sdm.storage.user_cache
from sdm.errors import OutputError
from sdm.storage.commit import claim, publishing, staging, staging_species
from sdm.storage.disk import exchange_folders
from sdm.storage.files import refuse_existing
from sdm.storage.locks import lock, place_digest
from sdm.storage.user_cache import user_seal
from sdm.storage.written_files import LISTED, write_list


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def fill(stage: Path) -> None:
    (stage / "plots").mkdir()
    (stage / "plots" / "a.png").write_bytes(b"picture")
    (stage / "map.tif").write_bytes(b"map")
    os.utime(stage / "map.tif", (1e9, 1e9))  # as the old one: the time alone does not tell them apart


def test_all_files_appear_at_the_end(tmp_path: Path) -> None:
    with staging(tmp_path / "deep" / "out", overwrite=False) as stage:
        fill(stage)
        assert not (tmp_path / "deep" / "out" / "map.tif").exists()
    assert listing(tmp_path / "deep" / "out") == [".sdm-files", "map.tif", "plots", "plots/a.png"]


def fill_and(stage: Path, problem: type[BaseException]) -> None:
    fill(stage)
    raise problem("no")


@pytest.mark.parametrize("problem", [RuntimeError, KeyboardInterrupt, OSError, OutputError])
@pytest.mark.parametrize("there", [True, False])
def test_on_failure_everything_is_as_before(tmp_path: Path, problem, there: bool) -> None:
    target = tmp_path / "deep" / "out"
    if there:
        target.mkdir(parents=True)
    before = listing(tmp_path)
    expected = OutputError if problem is OSError else problem
    with pytest.raises(expected), staging(target, overwrite=False) as stage:
        fill_and(stage, problem)
    assert listing(tmp_path) == before


def test_a_failure_names_the_place_that_the_user_knows(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught, staging(tmp_path / "out", overwrite=False) as stage:
        raise OutputError(f"{stage / 'map.tif'} cannot be written")
    assert str(caught.value) == f"{tmp_path / 'out' / 'map.tif'} cannot be written"


def test_what_is_in_the_way_stops_the_move_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "plots").write_text("a file")
    with pytest.raises(OutputError, match="already exists"), staging(tmp_path, overwrite=True) as stage:
        fill(stage)
    assert listing(tmp_path) == ["plots"]


def test_remains_of_a_killed_run_are_no_results(tmp_path: Path) -> None:
    (tmp_path / ".sdm-abc.part").mkdir()
    refuse_existing(tmp_path, overwrite=False)


def test_a_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"), staging(tmp_path / "file" / "out", overwrite=False):
        pass


def old_result(target: Path) -> None:
    """A result of three files, beside two files of the user's."""
    with staging(target, overwrite=False) as stage:
        (stage / "map.tif").write_text("old map")
        os.utime(stage / "map.tif", (1e9, 1e9))
        (stage / "old.csv").write_text("old table")
        (stage / "plots").mkdir()
        (stage / "plots" / "old.png").write_text("old picture")
    (target / "mine.txt").write_text("mine")
    (target / "plots" / "mine.png").write_text("mine too")


def contents(target: Path) -> dict[str, str]:
    found = {p.relative_to(target).as_posix(): p.read_text() for p in target.rglob("*") if p.is_file()}
    return {name: text for name, text in found.items() if not Path(name).parts[0].startswith(".sdm-")}


MINE = {"mine.txt": "mine", "plots/mine.png": "mine too"}
OLD = {"map.tif": "old map", "old.csv": "old table", "plots/old.png": "old picture"}
NEW = {"map.tif": "map", "plots/a.png": "picture"}


def replace_result(target: Path) -> None:
    with claim(target, overwrite=True), staging(target, overwrite=True) as stage:
        fill(stage)


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that cannot exchange folders."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EINVAL, "no")

    monkeypatch.setattr(sdm.storage.commit, "exchange_folders", refuse)


@pytest.mark.parametrize("exchange", [True, False])
def test_what_sdm_wrote_is_replaced_and_the_users_files_stay(tmp_path: Path, monkeypatch, exchange: bool) -> None:
    target = tmp_path / "out"
    old_result(target)
    if not exchange:
        one_by_one(monkeypatch)
    replace_result(target)
    assert contents(target) == NEW | MINE
    assert set(json.loads((target / LISTED).read_text())) == set(NEW)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert not list(target.glob(".sdm-*.part"))


def test_a_result_added_to_another_leaves_it_alone(tmp_path: Path) -> None:
    old_result(tmp_path / "out")
    with staging(tmp_path / "out", overwrite=True, keep=True) as stage:
        (stage / "more.csv").write_text("more")
    assert contents(tmp_path / "out") == OLD | MINE | {"more.csv": "more"}
    replace_result(tmp_path / "out")
    assert contents(tmp_path / "out") == NEW | MINE, "what was added is sdm's too"


def test_the_current_folder_stays_the_current_folder(tmp_path: Path, monkeypatch) -> None:
    """Whoever runs sdm in the results folder must not find himself in a folder that was deleted."""
    target = tmp_path / "out"
    old_result(target)
    monkeypatch.chdir(target)
    before = target.stat().st_ino
    replace_result(Path("."))
    assert target.stat().st_ino == before
    assert contents(target) == NEW | MINE


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    old_result(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    replace_result(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "real") == NEW | MINE


def test_links_and_empty_folders_of_the_users_stay(tmp_path: Path) -> None:
    old_result(tmp_path / "out")
    (tmp_path / "out" / "empty").mkdir()
    (tmp_path / "out" / "dangling").symlink_to("nowhere")
    (tmp_path / "out" / "elsewhere").symlink_to(tmp_path)
    replace_result(tmp_path / "out")
    assert (tmp_path / "out" / "empty").is_dir()
    assert os.readlink(tmp_path / "out" / "dangling") == "nowhere"
    assert os.readlink(tmp_path / "out" / "elsewhere") == str(tmp_path)


def test_a_file_that_sdm_did_not_write_is_not_replaced(tmp_path: Path) -> None:
    """`sdm fit study/run.yaml -o study --overwrite` must not replace the user's own run file."""
    (tmp_path / "map.tif").write_bytes(b"mine")
    with pytest.raises(OutputError, match="--overwrite"), staging(tmp_path, overwrite=False):
        pass
    with pytest.raises(OutputError, match="was not written by sdm"), staging(tmp_path, overwrite=True) as stage:
        fill(stage)
    assert contents(tmp_path) == {"map.tif": "mine"}


def test_results_of_versions_without_a_list_are_replaced(tmp_path: Path) -> None:
    for name in ("run.yaml", "command.txt", "map.tif"):
        (tmp_path / name).write_text("old")
    with staging(tmp_path, overwrite=True) as stage:
        fill(stage)
    assert contents(tmp_path) == NEW | {"run.yaml": "old", "command.txt": "old"}


@pytest.mark.parametrize("exchange", [True, False])
def test_a_list_cannot_name_what_is_outside(tmp_path: Path, monkeypatch, exchange: bool) -> None:
    if not exchange:
        one_by_one(monkeypatch)
    outside = tmp_path / "precious.txt"
    outside.write_text("x")
    old_result(tmp_path / "out")
    (tmp_path / "out" / LISTED).write_text(
        json.dumps(["../precious.txt", str(outside), "../", 5, "map.tif", "old.csv"])
    )
    (tmp_path / "out" / "plots" / "old.png").unlink()
    replace_result(tmp_path / "out")
    assert outside.exists()
    assert contents(tmp_path / "out") == NEW | MINE


HOLD = (
    "import sys, pathlib\nfrom sdm.storage.commit import claim\n"
    "with claim(pathlib.Path(sys.argv[1]), overwrite=False):\n"
    "    print('held', flush=True)\n    sys.stdin.read()\n"
)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match=f"another run \\(process {other.pid}\\)"), claim(target, overwrite=True):
            pass
        other.kill()
    with claim(target, overwrite=False):
        pass
    # A folder that the killed run made is left; the lock is not.
    assert not list(tmp_path.rglob("*.lock"))


def test_an_interrupt_at_a_lock_that_another_run_has_stays_one(tmp_path: Path, monkeypatch) -> None:
    """It is not a disk that fails, and no handle is closed twice: it may be that of another thread by then."""
    close = os.close

    def closed(handle: int) -> None:
        close(handle)
        raise KeyboardInterrupt

    with lock(tmp_path / "out"), monkeypatch.context() as patch:
        patch.setattr(os, "close", closed)
        with pytest.raises(KeyboardInterrupt), lock(tmp_path / "out"):
            pass


def test_a_run_that_ended_while_another_one_waited_to_look(tmp_path: Path) -> None:
    """Two runs look, find nothing, and start: the second must not replace what the first has written meanwhile."""
    target = tmp_path / "out"
    with claim(target, overwrite=False), staging(target, overwrite=False) as stage:
        fill(stage)
    with pytest.raises(OutputError, match="--overwrite"), claim(target, overwrite=False):
        pass


def test_a_species_appears_as_soon_as_it_is_done(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def interrupted() -> None:
        with staging_species(target, overwrite=False, planned=["a/", "s.csv"]) as place:
            with staging(place / "a", overwrite=False) as stage:
                fill(stage)
            assert contents(target / "a") == NEW
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert contents(target) == {f"a/{name}": text for name, text in NEW.items()} | {
        "a/.sdm-files": (target / "a" / LISTED).read_text()
    }
    assert json.loads((target / LISTED).read_text()) == ["a/"], "what was planned and not written is not listed"
    with staging_species(target, overwrite=True, planned=[]) as place:
        assert contents(target / "a") == NEW, "an earlier result stays until the new one is whole"
        with staging(place / "b", overwrite=True) as stage:
            fill(stage)
    assert {path.name for path in target.iterdir()} == {LISTED, "b"}


def test_a_file_of_the_users_is_not_listed(tmp_path: Path) -> None:
    """One that is made while the run is at work; the next result must not delete it."""
    target = tmp_path / "out"
    with staging_species(target, overwrite=False, planned=["a/", "s.csv", "none.csv"]) as place:
        (place / "s.csv").write_text("sdm's")
        (place / "mine.txt").write_text("mine")
        (place / "folder").mkdir()
        (place / "folder" / "mine.txt").write_text("mine too")
    assert json.loads((target / LISTED).read_text()) == ["s.csv"]
    replace_result(target)
    assert contents(target) == NEW | {"mine.txt": "mine", "folder/mine.txt": "mine too"}


def test_a_run_without_any_species_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(OutputError), staging_species(tmp_path / "a" / "b", overwrite=False, planned=["x/"]):
        raise OutputError("none")
    assert listing(tmp_path) == []


# -- the user's files while results are exchanged ----------------------------------------------------------------------


def test_what_the_user_writes_during_the_exchange_stays(tmp_path: Path, monkeypatch, caplog) -> None:
    """In the old folder and in the new one, by the name of a new result too."""
    out = tmp_path / "out"
    old_result(out)

    def exchange(new: Path, target: Path) -> None:
        (target / "plots" / "a.png").write_text("of the user")  # refused if it had been there before
        (target / "new").mkdir(mode=0o700)
        (target / "new" / "late.txt").write_text("late")
        exchange_folders(new, target)
        (target / "mine.txt").write_text("saved again")
        (new / "editor.txt").write_text("by an editor with the old folder open")

    monkeypatch.setattr(sdm.storage.commit, "exchange_folders", exchange)
    replace_result(out)
    assert contents(out) == NEW | {
        "mine.txt": "saved again",
        "mine.txt.yours": "mine",
        "plots/mine.png": "mine too",
        "plots/a.png.yours": "of the user",
        "new/late.txt": "late",
        "editor.txt": "by an editor with the old folder open",
    }
    assert (out / "new").stat().st_mode & 0o777 == 0o700
    assert f"your file is now {out / 'mine.txt.yours'}" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_the_user_writes_while_files_move_one_by_one_stays(tmp_path: Path, monkeypatch) -> None:
    out, move = tmp_path / "out", sdm.storage.commit.rename_new
    old_result(out)
    one_by_one(monkeypatch)

    def moved(source: Path, target: Path) -> None:
        if target == out / "plots" / "a.png" and not (out / "plots" / "a.png.yours").exists():
            target.write_text("of the user")
        move(source, target)

    monkeypatch.setattr(sdm.storage.commit, "rename_new", moved)
    replace_result(out)
    assert contents(out) == NEW | MINE | {"plots/a.png.yours": "of the user"}


def test_a_file_that_is_replaced_is_there_at_any_moment(tmp_path: Path, monkeypatch) -> None:
    out, seen = tmp_path / "out", set[str]()
    old_result(out)
    one_by_one(monkeypatch)

    def watched(call: Callable[..., None]) -> Callable[..., None]:
        def wrapped(*places: Path) -> None:
            seen.add((out / "map.tif").read_text())
            call(*places)
            seen.add((out / "map.tif").read_text())

        return wrapped

    monkeypatch.setattr(os, "replace", watched(os.replace))
    monkeypatch.setattr(sdm.storage.commit, "rename_new", watched(sdm.storage.commit.rename_new))
    replace_result(out)
    assert seen == {"old map", "map"}


@pytest.mark.parametrize("why", ["mounted", "sticky"])
def test_a_folder_is_not_exchanged_if_what_it_holds_cannot_be_moved(tmp_path: Path, monkeypatch, why: str) -> None:
    out = tmp_path / "out"
    old_result(out)
    (out / "shared").mkdir()
    if why == "mounted":
        monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "shared")
    else:
        (out / "shared").chmod(0o1777)
    before = out.stat().st_ino
    replace_result(out)
    assert out.stat().st_ino == before
    assert contents(out) == NEW | MINE


def test_nothing_is_moved_into_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch) -> None:
    out, access = tmp_path / "out", os.access
    old_result(out)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "plots" and access(path, mode))
    with pytest.raises(OutputError, match="plots cannot be written"):
        replace_result(out)
    assert contents(out) == OLD | MINE
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_error_between_moves_is_finished_by_the_next_run(tmp_path: Path, monkeypatch) -> None:
    out = tmp_path / "out"
    old_result(out)
    one_by_one(monkeypatch)

    def broken(*_: Path) -> None:
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(sdm.storage.commit, "rename_new", broken)
        with pytest.raises(OutputError, match="which completes them"):
            replace_result(out)
    with claim(out, overwrite=True):
        pass
    assert contents(out) == NEW | MINE


def test_a_file_that_cannot_be_moved_is_named_and_moves_later(tmp_path: Path, monkeypatch, caplog) -> None:
    out, move = tmp_path / "out", sdm.storage.commit.rename_new
    old_result(out)

    def moved(source: Path, target: Path) -> None:
        if source.name == "mine.png":
            raise OSError(errno.EPERM, "no")
        move(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(sdm.storage.commit, "rename_new", moved)
        replace_result(out)
        (stage,) = tmp_path.glob(".sdm-*.part")
        assert contents(out) == NEW | {"mine.txt": "mine"}
        assert f"your own files in {stage / 'new'}" in caplog.text
        with claim(out, overwrite=True):  # it still cannot be moved, and still is there
            pass
        assert (stage / "new" / "plots" / "mine.png").read_text() == "mine too"
    with pytest.raises(OutputError, match="contains files already"), claim(out, overwrite=False):
        pass
    assert contents(out) == NEW | MINE
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("exchange", [True, False])
def test_folders_of_the_users_keep_their_modes_and_dates(tmp_path: Path, monkeypatch, exchange: bool) -> None:
    out = tmp_path / "out"
    old_result(out)
    (out / "private" / "empty").mkdir(parents=True)
    (out / "private" / "notes.txt").write_text("mine")
    (out / "plots").chmod(0o750)
    (out / "private").chmod(0o500)
    os.utime(out / "private" / "empty", (1e9, 1e9))
    os.utime(out / "private", (1e9, 1e9))
    if not exchange:
        one_by_one(monkeypatch)
    replace_result(out)
    for name, mode in (("private", 0o500), ("plots", 0o750)):
        assert (out / name).stat().st_mode & 0o777 == mode
    assert (out / "private").stat().st_mtime == (out / "private" / "empty").stat().st_mtime == 1e9
    (out / "private").chmod(0o700)


@pytest.mark.parametrize("rounds", [5, pytest.param(300, marks=pytest.mark.thorough)])
def test_an_editor_that_saves_again_and_again_loses_nothing(tmp_path: Path, rounds: int) -> None:
    """It saves by renaming, as editors do; what it saved last is there after each exchange."""
    out, stop, saved = tmp_path / "out", Event(), [""]
    old_result(out)

    def save() -> None:
        for k in count():
            with suppress(FileNotFoundError):  # the folder was exchanged meanwhile: it says so, and saves again
                (out / "mine.txt~").write_text(str(k))
                os.replace(out / "mine.txt~", out / "mine.txt")
                saved[0] = str(k)
            if stop.is_set():
                return

    for _ in range(rounds):
        stop.clear()
        editor = Thread(target=save)
        editor.start()
        replace_result(out)
        stop.set()
        editor.join()
        texts = {path.read_text() for path in out.glob("mine.txt*")}
        assert saved[0] in texts
        assert (out / "plots" / "mine.png").read_text() == "mine too"
        for path in out.glob("mine.txt*"):
            path.unlink()


@pytest.mark.parametrize("after", [True, False])
def test_an_interrupt_says_whether_the_new_result_is_there(tmp_path: Path, monkeypatch, after: bool) -> None:
    out = tmp_path / "out"
    old_result(out)

    def exchange(new: Path, target: Path) -> None:
        if after:
            exchange_folders(new, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(sdm.storage.commit, "exchange_folders", exchange)
    with pytest.raises(KeyboardInterrupt) as caught:
        replace_result(out)
    assert getattr(caught.value, "__notes__", []) == ([f"the new results are in {out}"] if after else [])
    assert contents(out) == (NEW if after else OLD) | MINE


def test_an_interrupt_names_no_place_in_a_stage(tmp_path: Path, monkeypatch) -> None:
    """As that of a scenario of a run that is not done with."""
    rename = os.rename

    def renamed(source: Path, target: Path) -> None:
        rename(source, target)
        raise KeyboardInterrupt

    def work() -> None:
        with ExitStack() as held:
            held.enter_context(claim(tmp_path / "out", overwrite=False))
            stage = held.enter_context(staging(tmp_path / "out", overwrite=False))
            fill(held.enter_context(staging(stage / "inner", overwrite=False)))

    monkeypatch.setattr(os, "rename", renamed)
    with pytest.raises(KeyboardInterrupt) as caught:
        work()
    assert getattr(caught.value, "__notes__", []) == []
    assert listing(tmp_path) == []


# -- what strangers made -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("into", ["..", ".", "results"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_stage_that_no_run_of_the_user_made_is_not_used(tmp_path: Path, caplog, into: str, inside: bool) -> None:
    """`sdm fit one.csv layers -o results` in a folder out of somebody's archive must write nowhere else."""
    place, target = tmp_path / "place", tmp_path / "place" / "results"
    (tmp_path / ".bashrc").write_text("precious")
    target.mkdir(parents=True)
    stage = (target if inside else place) / f".sdm-{place_digest(target)}-abcdef123456.part"
    (stage / "new").mkdir(parents=True)
    (stage / "new" / ".bashrc").write_text("evil")
    (stage / "new" / "up").symlink_to(tmp_path)
    (stage / "commit").write_text(json.dumps({"into": into, "stale": [".bashrc", "up/.bashrc"]}))
    before = listing(stage)
    replace_result(target)
    assert (tmp_path / ".bashrc").read_text() == "precious"
    assert not (place / ".bashrc").exists()
    assert contents(target) == NEW
    assert listing(stage) == before
    assert f"{stage} was not made by one of your runs" in caplog.text


def killed_before_the_moves(target: Path) -> Path:
    """A run that is killed when its journal is written; its stage."""
    old_result(target)
    _, code = with_fault(lambda: replace_result(target), 1, KILL, calls=())
    assert code == -9
    (stage,) = target.parent.glob(".sdm-*.part")
    return stage


def test_a_stage_is_only_used_where_it_was_made_and_as_it_was_made(tmp_path: Path, caplog) -> None:
    stage = killed_before_the_moves(tmp_path / "out")
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path, copy, ignore=lambda *_: ["copy"])
    with claim(copy / "out", overwrite=True):
        pass
    assert (copy / stage.name).is_dir()
    assert "was not made by one of your runs" in caplog.text
    journal = (stage / "commit").read_text()
    (stage / "commit").write_text(journal.replace("out", ".."))
    with pytest.raises(OutputError, match="its journal"), claim(tmp_path / "out", overwrite=True):
        pass
    (stage / "commit").write_text(journal)
    with claim(tmp_path / "out", overwrite=True):
        pass
    assert contents(tmp_path / "out") == NEW | MINE
    assert not stage.exists()


def test_a_stage_of_the_user_that_holds_a_link_is_not_used(tmp_path: Path) -> None:
    """As one of an archive of his own results that somebody has changed."""
    stage = killed_before_the_moves(tmp_path / "out")
    precious = {"map.tif": "precious", "thesis.txt": "precious too"}
    (tmp_path / "home").mkdir()
    for name, text in precious.items():
        (tmp_path / "home" / name).write_text(text)
    shutil.rmtree(stage / "new")
    (stage / "new").symlink_to(tmp_path / "home")
    with pytest.raises(OutputError, match="contains a link"), claim(tmp_path / "out", overwrite=True):
        pass
    assert contents(tmp_path / "home") == precious
    assert contents(tmp_path / "out") == OLD | MINE


def test_a_stage_whose_files_are_copies_is_not_used(tmp_path: Path) -> None:
    """Nobody can say whether its folder is that of the old result or of the new one."""
    stage = killed_before_the_moves(tmp_path / "out")
    shutil.copytree(stage / "new", tmp_path / "copy")
    (stage / "new").rename(tmp_path / "moved")
    (tmp_path / "copy").rename(stage / "new")
    with pytest.raises(OutputError, match="are copies"), claim(tmp_path / "out", overwrite=True):
        pass
    assert contents(tmp_path / "out") == OLD | MINE


@pytest.mark.parametrize("name", ["map.tif", "old.csv"])
def test_a_file_of_the_users_in_the_place_of_an_old_one_stays(tmp_path: Path, name: str) -> None:
    """He has removed what a killed run left, and made a file of the same name."""
    out = tmp_path / "out"
    killed_before_the_moves(out)
    shutil.rmtree(out)
    out.mkdir()
    (out / name).write_text("of the user")
    with claim(out, overwrite=True):
        pass
    kept = f"{name}.yours" if name in NEW else name
    assert contents(out) == NEW | {kept: "of the user"}


def test_without_a_cache_a_stage_is_named_and_not_used(tmp_path: Path, monkeypatch, caplog) -> None:
    (tmp_path / "blocked").write_text("no folder")
    monkeypatch.setenv("SDM_CACHE_DIR", str(tmp_path / "blocked"))
    stage = killed_before_the_moves(tmp_path / "out")
    replace_result(tmp_path / "out")
    assert contents(tmp_path / "out") == NEW | MINE
    assert f"{stage} was not made by one of your runs" in caplog.text
    assert (stage / "new").is_dir()


@pytest.mark.parametrize("exchange", [True, False])
def test_links_are_never_followed(tmp_path: Path, monkeypatch, exchange: bool) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    if not exchange:
        one_by_one(monkeypatch)
    old_result(out)
    elsewhere.mkdir()
    for name in ("f.txt", LISTED):
        (elsewhere / name).write_text('["f.txt"]')
    (out / "lnk").symlink_to(elsewhere)
    (out / f"{LISTED}.part").symlink_to(elsewhere / "f.txt")
    before = contents(elsewhere)
    write_list(out, ["lnk/f.txt", "lnk/", *OLD])
    replace_result(out)
    assert contents(elsewhere) == before
    assert (out / "lnk").is_symlink()
    (out / "plots").rename(elsewhere / "plots")
    (out / "plots").symlink_to(elsewhere / "plots")
    with pytest.raises(OutputError, match="plots is a link"):
        replace_result(out)


def test_a_run_below_a_folder_is_left_alone(tmp_path: Path) -> None:
    """Its stages have no locks of their own; those that it leaves behind are removed."""
    place = tmp_path / "out" / "scenarios"
    with staging(place / "a", overwrite=False) as stage:
        fill(stage)
        with lock(place), claim(tmp_path / "out", overwrite=True):
            pass
        assert stage.is_dir()
    assert contents(place / "a") == NEW
    shutil.rmtree(place / "a")
    killed_before_the_moves(place / "a")
    with claim(tmp_path / "out", overwrite=True):
        pass
    assert contents(place / "a") == NEW | MINE
    assert [path.name for path in place.iterdir()] == ["a"]


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / f".sdm-{place_digest(Path('out'))}.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(OutputError, match="cannot be written"), claim(tmp_path / "out", overwrite=False):
        pass
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_lock_that_is_also_a_file_of_the_users_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "records.csv").write_text("precious")
    os.link(tmp_path / "records.csv", tmp_path / f".sdm-{place_digest(Path('out'))}.lock")
    with claim(tmp_path / "out", overwrite=False):
        pass
    assert listing(tmp_path) == ["records.csv"]
    assert (tmp_path / "records.csv").read_text() == "precious"


def test_two_runs_that_make_the_key_of_a_user_have_the_same(tmp_path: Path, monkeypatch) -> None:
    """Or else none would finish what the other one left behind."""

    def key_of_another(size: int) -> bytes:
        (tmp_path / "runs" / "key").write_bytes(b"another")
        return bytes(size)

    monkeypatch.setenv("SDM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(secrets, "token_bytes", key_of_another)
    seal = user_seal("text")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["key"]
    assert (tmp_path / "runs" / "key").read_bytes() == b"another"
    sdm.storage.user_cache._run_key.cache_clear()
    assert user_seal("text") == seal


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, f'["{"x" * 5000}", "\\ud800", "a\\u0000"]'])
def test_a_list_that_is_none_is_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / LISTED).write_text(text)
    replace_result(tmp_path)
    assert contents(tmp_path) == NEW


def test_a_list_that_names_a_folder_again_and_again_costs_its_length(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(40):
        (folder / LISTED).write_text('["a/", "a/"]')
        folder = folder / "a"
        folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    replace_result(tmp_path)
    assert (folder / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_list_is_a_file(tmp_path: Path, kind: str) -> None:
    """A link could be to a list that a stranger has made, and a folder could hold files of the user's."""
    (tmp_path / "names").write_text('["mine.txt"]')
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    listed = tmp_path / "out" / LISTED
    listed.mkdir() if kind == "folder" else listed.symlink_to(tmp_path / "names")
    with pytest.raises(OutputError, match=r"\.sdm-files (is|already exists)"):
        replace_result(tmp_path / "out")
    assert contents(tmp_path / "out") == {"mine.txt": "mine"}


@pytest.mark.parametrize("name", ["", ".", "./", ".//", "data", "a/../data", "data/", "\0/"])
def test_a_list_cannot_name_a_folder(tmp_path: Path, monkeypatch, name: str) -> None:
    one_by_one(monkeypatch)
    out = tmp_path / "out"
    old_result(out)
    (out / "data").mkdir()
    (out / "data" / "mine.csv").write_text("mine")
    (out / LISTED).write_text(json.dumps([name, *OLD]))
    replace_result(out)
    assert contents(out) == NEW | MINE | {"data/mine.csv": "mine"}


# -- faults (see faults.py) ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [*FAULTS, INTERRUPT])
def test_a_fault_at_the_exchange_or_between_moves(tmp_path: Path, how: str) -> None:
    """The old result or the new one is there as a whole, and the user's files: after a kill, which may come while these
    move, as soon as the next run has begun."""
    in_small_process(old_or_new, str(tmp_path), how, "exchange", "moves")


@pytest.mark.parametrize("how", [KILL, INTERRUPT])
def test_a_fault_between_moves_where_folders_cannot_be_exchanged(tmp_path: Path, how: str) -> None:
    in_small_process(old_or_new, str(tmp_path), how, "one by one", "moves")


@pytest.mark.thorough
@pytest.mark.parametrize("how", [*FAULTS, INTERRUPT])
@pytest.mark.parametrize("way", ["exchange", "one by one", "inside"])
def test_a_fault_anywhere_leaves_the_whole_old_result_or_the_whole_new_one(tmp_path: Path, how: str, way: str) -> None:
    in_small_process(old_or_new, str(tmp_path), how, way, "all")


def quick(patch: pytest.MonkeyPatch) -> None:
    """A disk that confirms nothing."""
    patch.setattr(os, "fsync", lambda handle: None)


def old_or_new(folder: str, how: str, way: str, which: str) -> None:
    place, patch = Path(folder), pytest.MonkeyPatch()
    faulty = partial(with_fault, calls=CALLS if which == "all" else ())
    if which != "all":
        quick(patch)
    if way != "exchange":
        one_by_one(patch)
    if way == "inside":
        patch.setattr(os.path, "ismount", lambda path: Path(path).name == "out")
    old_result(place / "out")
    calls, _ = faulty(lambda: replace_result(place / "out"), 0, how)
    assert contents(place / "out") == NEW | MINE
    ends = set()
    for at in range(1, calls + 1):
        root = place / f"{how}{at}"
        root.mkdir()
        old_result(root / "out")
        _, code = faulty(partial(replace_result, root / "out"), at, how)
        assert code in {KILL: (-9,), BROKEN: (0, 1), INTERRUPT: (0, INTERRUPTED, NOTED)}[how]
        if how == KILL and way == "exchange":
            results = contents(root / "out").keys() - MINE.keys()
            assert results in (OLD.keys(), NEW.keys()), f"call {at}"
        if how == KILL or (code == 1 and way != "exchange"):
            with claim(root / "out", overwrite=True):
                pass
        found = contents(root / "out")
        assert found in (OLD | MINE, NEW | MINE), f"call {at}"
        assert code not in (0, NOTED) or found == NEW | MINE, f"call {at}: success is said of an old result"
        assert code != INTERRUPTED or found == OLD | MINE, f"call {at}: nobody was told of the new result"
        ends.add((code, found == NEW | MINE))
        replace_result(root / "out")
        assert contents(root / "out") == NEW | MINE
        assert [path.name for path in root.iterdir()] == ["out"], "nothing is left behind"
        assert not list((root / "out").glob(".sdm-*.part"))
    assert which != "all" or {new for _, new in ends} == {True, False}
    assert how != INTERRUPT or way != "exchange" or (NOTED, True) in ends


def test_files_next_to_those_that_are_published_are_replaced(tmp_path: Path) -> None:
    """As the styles of a map."""
    for text in ("old", "new"):
        with publishing([tmp_path / "a.tif"]) as (place,):
            place.write_text(text)
            place.with_suffix(".qml").write_text(text)
    assert contents(tmp_path) == {"a.tif": "new", "a.qml": "new"}


@pytest.mark.parametrize("which", ["moves", pytest.param("all", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("how", FAULTS)
def test_a_set_of_files_is_published_whole(tmp_path: Path, how: str, which: str) -> None:
    in_small_process(published_whole, str(tmp_path), how, which)


def published_whole(folder: str, how: str, which: str) -> None:
    place, names = Path(folder), ("a.tif", "a_class.tif")
    calls = CALLS if which == "all" else ("replace",)
    if which != "all":
        quick(pytest.MonkeyPatch())

    def work() -> None:
        with claim(root / "a.tif", overwrite=True, folder=False), publishing([root / name for name in names]) as places:
            for place in places:
                place.write_text("new")

    for at in range(40 if which == "all" else 8):
        root = place / str(at)
        root.mkdir()
        (root / "a.tif").write_text("old")
        _, code = with_fault(work, at, how, calls=calls)
        assert code in (0, 1, -9)
        if code != 0:
            with claim(root / "a.tif", overwrite=True, folder=False):
                pass
        assert contents(root) in ({"a.tif": "old"}, dict.fromkeys(names, "new")), f"call {at}"
        work()
        assert contents(root) == dict.fromkeys(names, "new")
        assert {path.name for path in root.iterdir()} == set(names)


def test_a_file_is_never_taken_for_a_folder(tmp_path: Path) -> None:
    """Exchanging a folder with a file would work, and delete the file."""
    (tmp_path / "out").write_text("precious")
    for open_it in (claim, staging):
        with pytest.raises(OutputError, match="not a folder"), open_it(tmp_path / "out", overwrite=True):
            pass
    assert (tmp_path / "out").read_text() == "precious"
