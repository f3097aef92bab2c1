"""Locks between processes: one run at a time writes to a place. The system releases them when a process dies."""

import errno
import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sdm.errors import OutputError, RunExistsError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("sdm")

_BUSY = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_UNABLE = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL}
_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)  # a link would lead to another file


def place_digest(path: Path) -> str:
    """Return eight digits derived from the name of a file or folder, for names of temporary files next to it."""
    return hashlib.sha256(os.fsencode(path.name)).hexdigest()[:8]


@contextmanager
def lock(target: Path) -> Iterator[None]:
    """Hold the exclusive right to write to a file or folder; raise OutputError if another process holds it."""
    folder = target.parent if os.access(target.parent, os.W_OK) or not target.is_dir() else target
    with lock_of(folder, place_digest(target), target):
        yield


@contextmanager
def lock_of(folder: Path, digest: str, target: Path | None = None) -> Iterator[None]:
    """Hold the lock of a place by the digits derived from its name."""
    path = folder / f".sdm-{digest}.lock"
    try:
        handle = _open(path)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written ({error.strerror or error}): choose another folder") from error
    try:
        if handle is None:
            owner = f" (process {pid})" if (pid := _owner(path)) else ""
            busy = f"{target or folder} is being written by another run{owner}"
            raise RunExistsError(f"{busy}: wait until it has ended, or choose another folder")
        yield
    finally:
        if handle is not None:
            _remove(path, handle)


def _remove(path: Path, handle: int) -> None:
    """Release a lock and remove its file."""
    if fcntl is None:  # Windows does not remove open files; if another process has opened it, it stays
        os.close(handle)
    with suppress(OSError):
        path.unlink()  # while locked: a process that has opened the file checks its identity again
    if fcntl is not None:
        os.close(handle)


def is_locked(target: Path) -> bool:
    """Whether a run is writing to a file or folder; nothing is changed."""
    target = Path(os.path.realpath(target))
    for folder in (target.parent, target):
        try:
            handle = os.open(folder / f".sdm-{place_digest(target)}.lock", _OPEN)
        except OSError:
            continue
        try:
            if not _try_lock(handle):
                return True
        finally:
            os.close(handle)
    return False


def _open(path: Path) -> int | None:
    """Open and lock a file; return None if another process has locked it."""
    while True:
        handle = os.open(path, _OPEN | os.O_CREAT, 0o644)
        try:
            locked = _try_lock(handle)
            if locked and _is(handle, path):
                if os.fstat(handle).st_nlink == 1:  # otherwise it is also a file of the user
                    os.ftruncate(handle, 0)
                    os.write(handle, f"{os.getpid()}\n".encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # once: after an interrupt here, the handle must not be closed again above
        if not locked:
            return None  # otherwise its last owner removed the file between opening and locking


def _try_lock(handle: int) -> bool:
    """Lock an open file; return False if another process holds the lock. Warn if the disk has no locks."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        if error.errno not in _UNABLE:
            raise
        log.warning("this disk does not support locks (%s): do not write to one folder from two runs", error.strerror)
    return True


def _is(handle: int, path: Path) -> bool:
    """Whether an open file is still the file at the path."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def _owner(path: Path) -> str:
    """Return the process number in a lock file."""
    try:
        text = path.read_text(encoding="ascii", errors="replace").strip()[:20]
    except OSError:
        return ""
    return text if text.isdigit() else ""
