"""Files on the disk: stored for certain, linked, and folders exchanged in one step."""

import ctypes
import errno
import logging
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

log = logging.getLogger("sdm")

WINDOWS = os.name == "nt"


def exchange_folders(a: Path, b: Path) -> None:
    """Let two folders change places in one step."""
    names = os.fsencode(a), os.fsencode(b)
    if sys.platform == "linux":
        failed = ctypes.CDLL(None, use_errno=True).renameat2(-100, names[0], -100, names[1], 2)
    elif sys.platform == "darwin":
        failed = ctypes.CDLL(None, use_errno=True).renamex_np(*names, 2)
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(b))


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name; where the disk cannot, copy it."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def sync_tree(folder: Path) -> None:
    """Have everything in a folder on the disk, not only in memory."""
    paths = [Path(root, name) for root, _, names in os.walk(folder) for name in ("", *names)]
    list(_syncing().map(sync, paths))  # a disk stores many files together in the time of one


@cache
def _syncing() -> ThreadPoolExecutor:
    """Return the threads that store files: made once, since a batch stores those of every species."""
    return ThreadPoolExecutor(16, "sync")


if hasattr(os, "register_at_fork"):  # threads do not follow into a process that is forked
    os.register_at_fork(after_in_child=_syncing.cache_clear)


def sync(path: Path) -> None:
    """Have a file or folder on the disk."""
    if path.is_symlink() or (WINDOWS and path.is_dir()):
        return
    handle = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)  # Windows stores only what may be written
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_after(folder: Path) -> None:
    """Have a renaming on the disk; it is done, so that a disk that does not confirm it is no failure."""
    try:
        sync(folder)
    except OSError as error:
        log.warning("%s: the disk did not confirm that the results are stored (%s)", folder, error.strerror)
