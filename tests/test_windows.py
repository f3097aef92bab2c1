"""The ways of Windows, where locks are of another module, and files must be closed, or writable, before others can act.

The system itself is not here. What stands for it is as strict as it: its locks are those of this system, an open file
cannot be removed, and only a file that may be written can be stored.
"""

import errno
import os
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import sdm.storage.disk
import sdm.storage.locks
from sdm.errors import OutputError
from sdm.storage.commit import claim, staging
from sdm.storage.locks import is_locked, lock

fcntl = pytest.importorskip("fcntl", reason="on Windows all tests go these ways")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    msvcrt = ModuleType("msvcrt")
    msvcrt.LK_NBLCK = 2

    def locking(handle: int, mode: int, length: int) -> None:
        assert (mode, length) == (msvcrt.LK_NBLCK, 1)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    msvcrt.locking = locking
    held: Counter[str] = Counter()
    opened, closed, removed, stored = os.open, os.close, Path.unlink, os.fsync
    names: dict[int, str] = {}

    def open_file(path, flags, *rest, **more) -> int:
        handle = opened(path, flags, *rest, **more)
        names[handle] = os.fspath(path)
        held[os.fspath(path)] += 1
        return handle

    def close_file(handle: int) -> None:
        held[names.pop(handle, "")] -= 1
        closed(handle)

    def unlink(path: Path, *rest, **more) -> None:
        if held[os.fspath(path)] > 0:
            raise PermissionError(errno.EACCES, "is open", os.fspath(path))
        removed(path, *rest, **more)

    def fsync(handle: int) -> None:
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        stored(handle)

    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    monkeypatch.setattr(sdm.storage.locks, "fcntl", None)
    monkeypatch.setattr(sdm.storage.disk, "WINDOWS", True)
    for name, stand_in in (("open", open_file), ("close", close_file), ("fsync", fsync)):
        monkeypatch.setattr(os, name, stand_in)
    monkeypatch.setattr(Path, "unlink", unlink)


@pytest.mark.usefixtures("windows")
def test_one_run_at_a_time(tmp_path: Path) -> None:
    with lock(tmp_path / "out"):
        assert is_locked(tmp_path / "out")
        with pytest.raises(OutputError, match="being written by another run"), lock(tmp_path / "out"):
            pass
    assert not is_locked(tmp_path / "out")
    assert not list(tmp_path.iterdir()), "the file of the lock goes when it is free"


@pytest.mark.usefixtures("windows")
def test_results_are_stored_and_put_in_their_place(tmp_path: Path) -> None:
    for text in ("first", "second"):
        with claim(tmp_path / "out", overwrite=True), staging(tmp_path / "out", overwrite=True) as stage:
            (stage / "tables").mkdir(parents=True, exist_ok=True)
            (stage / "tables" / "a.csv").write_text(text)
        assert (tmp_path / "out" / "tables" / "a.csv").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
