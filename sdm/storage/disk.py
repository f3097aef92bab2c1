"""Sync files to the disk, move them without replacing others, and exchange folders in one step."""

import ctypes
import errno
import logging
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

log = logging.getLogger("sdm")

WINDOWS = os.name == "nt"


def exchange_folders(a: Path, b: Path) -> None:
    """Exchange two folders in one step."""
    _rename(a, b, {"linux": 2, "darwin": 2})


def rename_new(source: Path, target: Path) -> None:
    """Move a file or folder to a free name; raise FileExistsError if it is taken."""
    try:
        _rename(source, target, {"linux": 1, "darwin": 4})
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        os.rename(source, target)


def _rename(a: Path, b: Path, flags: dict[str, int]) -> None:
    names = os.fsencode(a), os.fsencode(b)
    if sys.platform not in flags:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    system, flag = ctypes.CDLL(None, use_errno=True), flags[sys.platform]
    if sys.platform == "linux":
        failed = system.renameat2(-100, names[0], -100, names[1], flag)
    else:
        failed = system.renamex_np(*names, flag)
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(b))


def sync_tree(folder: Path) -> None:
    """Sync all files and folders in a folder to the disk."""
    paths = [Path(root, name) for root, _, names in os.walk(folder) for name in ("", *names)]
    with ThreadPoolExecutor(16, "sync") as pool:  # a disk syncs many files together in the time of one
        list(pool.map(sync, paths))


def sync(path: Path) -> None:
    """Sync a file or folder to the disk."""
    if path.is_symlink() or (WINDOWS and path.is_dir()):
        return
    handle = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)  # Windows syncs only writable handles
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_after(folder: Path) -> None:
    """Sync the folder of a completed rename; only warn if the disk does not confirm it."""
    try:
        sync(folder)
    except OSError as error:
        log.warning("%s: the disk did not confirm that the results are stored (%s)", folder, error.strerror)
