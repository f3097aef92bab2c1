"""Results in one step: whole or not at all, one run at a time, and nothing of the user's is lost."""

import errno
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from faults import FAULTS, KILL, in_small_process, with_fault

import sdm.commit
from sdm.commit import claim, publishing, staging, staging_species
from sdm.errors import OutputError
from sdm.files import refuse_existing
from sdm.written_files import LISTED


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def fill(stage: Path) -> None:
    (stage / "plots").mkdir()
    (stage / "plots" / "a.png").write_bytes(b"picture")
    (stage / "map.tif").write_bytes(b"map")


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
    with pytest.raises(OutputError, match="in the way"), staging(tmp_path, overwrite=True) as stage:
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

    monkeypatch.setattr(sdm.commit, "exchange_folders", refuse)


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


def test_a_folder_with_many_files_of_the_users_is_not_copied(tmp_path: Path, monkeypatch) -> None:
    old_result(tmp_path / "out")
    monkeypatch.setattr(sdm.commit, "_MOST", 1)
    before = (tmp_path / "out").stat().st_ino
    replace_result(tmp_path / "out")
    assert (tmp_path / "out").stat().st_ino == before
    assert contents(tmp_path / "out") == NEW | MINE


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


def test_a_list_cannot_name_what_is_outside(tmp_path: Path) -> None:
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
    "import sys, pathlib\nfrom sdm.commit import claim\nwith claim(pathlib.Path(sys.argv[1]), overwrite=False):\n"
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
    with staging_species(target, overwrite=True, planned=[]) as place:
        assert contents(target / "a") == NEW, "an earlier result stays until the new one is whole"
        with staging(place / "b", overwrite=True) as stage:
            fill(stage)
    assert {path.name for path in target.iterdir()} == {LISTED, "b"}


def test_a_run_without_any_species_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(OutputError), staging_species(tmp_path / "a" / "b", overwrite=False, planned=["x/"]):
        raise OutputError("none")
    assert listing(tmp_path) == []


# -- faults (see faults.py) ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", FAULTS)
def test_a_fault_anywhere_leaves_the_whole_old_result_or_the_whole_new_one(tmp_path: Path, how: str) -> None:
    in_small_process(old_or_new, str(tmp_path), how)


def old_or_new(folder: str, how: str) -> None:
    place = Path(folder)
    old_result(place / "out")
    calls, _ = with_fault(lambda: replace_result(place / "out"), 0, how)
    assert contents(place / "out") == NEW | MINE
    seen = set()
    for at in range(1, calls + 1):
        root = place / f"{how}{at}"
        root.mkdir()
        old_result(root / "out")
        _, code = with_fault(partial(replace_result, root / "out"), at, how)
        assert code in (0, 1, -9)
        found = contents(root / "out")
        assert found in (OLD | MINE, NEW | MINE), f"call {at}"
        seen.add(found == NEW | MINE)
        replace_result(root / "out")
        assert contents(root / "out") == NEW | MINE
        assert [path.name for path in root.iterdir()] == ["out"], "nothing is left behind"
    assert seen == {True, False}


@pytest.mark.parametrize("how", FAULTS)
@pytest.mark.parametrize("stage_inside", [True, False])
def test_where_folders_cannot_be_exchanged_the_next_run_finishes(tmp_path: Path, how: str, stage_inside: bool) -> None:
    """After an error everything is as before or new; after a kill that came while files moved, the next run ends it."""
    in_small_process(finished_by_the_next, str(tmp_path), how, "inside" if stage_inside else "beside")


def finished_by_the_next(folder: str, how: str, stage: str) -> None:
    place, patch = Path(folder), pytest.MonkeyPatch()
    one_by_one(patch)
    if stage == "inside":
        patch.setattr(os.path, "ismount", lambda path: Path(path).name == "out")
    old_result(place / "out")
    calls, _ = with_fault(lambda: replace_result(place / "out"), 0, how)
    for at in range(1, calls + 1):
        root = place / f"{how}{at}"
        root.mkdir()
        old_result(root / "out")
        _, code = with_fault(partial(replace_result, root / "out"), at, how)
        assert code in (0, 1, -9)
        if how == KILL:  # the next start, of whatever run
            with claim(root / "out", overwrite=True):
                pass
        assert contents(root / "out") in (OLD | MINE, NEW | MINE), f"call {at}"
        replace_result(root / "out")
        assert contents(root / "out") == NEW | MINE
        assert [path.name for path in root.iterdir()] == ["out"], "nothing is left behind"
        assert not list((root / "out").glob(".sdm-*.part"))


@pytest.mark.parametrize("how", FAULTS)
def test_a_set_of_files_is_published_whole(tmp_path: Path, how: str) -> None:
    in_small_process(published_whole, str(tmp_path), how)


def published_whole(folder: str, how: str) -> None:
    place, names = Path(folder), ("a.tif", "a_class.tif")

    def work() -> None:
        with claim(root / "a.tif", overwrite=True, folder=False), publishing([root / name for name in names]) as places:
            for place in places:
                place.write_text("new")

    for at in range(40):
        root = place / str(at)
        root.mkdir()
        (root / "a.tif").write_text("old")
        _, code = with_fault(work, at, how)
        assert code in (0, 1, -9)
        if how == KILL:
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
        with pytest.raises(OutputError, match="no folder"), open_it(tmp_path / "out", overwrite=True):
            pass
    assert (tmp_path / "out").read_text() == "precious"
