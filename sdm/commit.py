"""Results in one step: a run writes beside its target, and what it wrote takes the place of the old result at once.

A stage is a folder `.sdm-<digits>.part` with the new result in `new/`. While a run is at work, it holds the lock of
its target; a stage whose lock is free was left behind by a run that was killed. Where the system can exchange two
folders, that is the commit: whoever looks finds the whole old result or the whole new one. Where it cannot (a mounted
folder, the current one, a disk without that call), files are moved one by one by a journal: an error moves them back,
and a run that is killed meanwhile is finished by the next one. `.sdm-files` in a result lists what sdm wrote;
everything else in a folder is the user's.
"""

import ctypes
import errno
import json
import logging
import os
import secrets
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from sdm.errors import OutputError
from sdm.files import refuse_existing, remove_empty
from sdm.locks import lock, lock_of, place_digest

log = logging.getLogger("sdm")

LISTED = ".sdm-files"
"""The file in a result that lists what sdm wrote."""
_JOURNAL = "commit"
_MOST = 1000  # files of the user's that are linked into the folder that follows
_NO_EXCHANGE = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EBUSY, errno.EXDEV, errno.EPERM, errno.EACCES}


@contextmanager
def claim(target: Path, *, overwrite: bool, folder: bool = True) -> Iterator[None]:
    """Hold a folder, or a file, for a run from its first look to its last byte; tidy up after runs that were killed.

    Raises
    ------
    OutputError
        If another run holds it, if it has results already and `overwrite` is not set, or it cannot be written.
    """
    given, target = target, _real(target)
    refuse_existing(target, overwrite=overwrite)
    if folder:
        _refuse_file(target)
    absent = _absent(target.parent)
    try:
        _make(target.parent, given)
        with lock(target):
            _recover(target)
            refuse_existing(target, overwrite=overwrite)  # a run may have ended between the look and the lock
            yield
    finally:
        remove_empty(absent)


@contextmanager
def staging(target: Path, *, overwrite: bool, keep: bool = False) -> Iterator[Path]:
    """Give a folder to write into; at the end it takes the place of `target`, on failure nothing has changed.

    What sdm wrote to `target` before and does not write again goes, unless `keep` is set. The user's files stay.

    Raises
    ------
    OutputError
        If `target` has files already and `overwrite` is not set, if a file of the user's has the name of a new one, or
        it cannot be written.
    """
    given, target = target, _real(target)
    refuse_existing(target, overwrite=overwrite)
    _refuse_file(target)
    absent = _absent(target)
    try:
        _make(target.parent, given)
        inside = target.is_dir() and (os.path.ismount(target) or not os.access(target.parent, os.W_OK))
        beside = target if inside else target.parent
        with _stage(beside, target) as stage, _explained(given, stage / "new"):
            yield stage / "new"
            _commit(stage, target, keep)
    finally:
        remove_empty(absent)


@contextmanager
def publishing(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Give places to write files of one folder to; at the end they move to their own places: all, or none."""
    folder = _real(files[0].parent)
    with _stage(folder, files[0]) as stage, _explained(files[0], stage / "new"):
        yield [stage / "new" / file.name for file in files]
        _sync_tree(stage / "new")
        _move_in(stage, folder, ())


@contextmanager
def staging_species(target: Path, *, overwrite: bool, planned: Sequence[str]) -> Iterator[Path]:
    """Give the folder of a run over several species.

    In a new folder every species appears as soon as it is done, in one step, and stays whatever comes later; `planned`
    are the names of files and of folders (with a `/`) that the run may write. An earlier result is replaced as a whole,
    at the end.
    """
    if target.is_dir() and any(not _passing(path.name) for path in target.iterdir()):
        ours = _ours(target)
        for name in planned:  # said before the work, not after it
            _refuse_obstacle(target / name.rstrip("/"), name.endswith("/"), name in ours)
        with staging(target, overwrite=overwrite) as stage:
            yield stage
        return
    absent = _absent(target)
    try:
        _make(target, target)
        with _explained(target, target):
            _write_list(target, set(planned))
            yield target
            _write_list(target, _listing(target))
    finally:
        if target.is_dir() and {path.name for path in target.iterdir()} == {LISTED}:  # nothing came to be
            (target / LISTED).unlink()
        remove_empty(absent)


# -- what sdm wrote ----------------------------------------------------------------------------------------------------


def _passing(name: str) -> bool:
    """Whether a name is that of something that is there only while a run is at work."""
    return name.startswith(".sdm-") and name.endswith((".part", ".lock"))


def _listing(folder: Path) -> set[str]:
    """Return every file of a folder; a folder in it that has a list of its own is one entry, ending in `/`."""
    found: set[str] = set()
    for path in folder.iterdir():
        if _passing(path.name) or path.name == LISTED:
            continue
        if not path.is_dir() or path.is_symlink():
            found.add(path.name)
        elif (path / LISTED).is_file():
            found.add(f"{path.name}/")
        else:
            found |= {f"{path.name}/{name}" for name in _listing(path)}
    return found


def _write_list(folder: Path, names: Collection[str]) -> None:
    part = folder / f"{LISTED}.part"
    part.write_text(json.dumps(sorted(names), indent=0) + "\n", encoding="utf-8")
    os.replace(part, folder / LISTED)


def _read_list(folder: Path) -> list[str]:
    """Return the entries of a folder's list: none where there is no list, or it cannot be read."""
    try:
        names = json.loads((folder / LISTED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    plain = (name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    return [name for name in plain if not Path(name).is_absolute() and ".." not in Path(name).parts]


def _ours(folder: Path) -> set[str]:
    """Return the files of a folder that sdm wrote, with the pages that `sdm report` makes."""
    found: set[str] = set()
    for name in _read_list(folder):
        if name.endswith("/"):
            found |= {f"{name}{inner}" for inner in _ours(folder / name)}
        else:
            found.add(name)
            if name.endswith(".json"):
                found.add(f"{name.removesuffix('.json')}.html")
    if found:
        found.add(LISTED)
    if "summary.csv" in found:
        found.add("index.html")
    return {name for name in found if os.path.lexists(folder / name)}


def _foreign(folder: Path, ours: Collection[str]) -> Iterator[str]:
    """Yield the files of a folder that are the user's."""
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not _passing(name)]
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]
        for name in (*files, *links):
            inner = Path(root, name).relative_to(folder).as_posix()
            if inner not in ours and not _passing(name):
                yield inner


def _refuse_foreign(new: Path, target: Path, ours: Collection[str]) -> None:
    """Raise if a new file has the place of something that sdm did not write."""
    # Results of versions before there was a list are known by their run file.
    earlier = not ours and (target / "command.txt").is_file() and (target / "run.yaml").is_file()
    for path in sorted(new.rglob("*")):
        name = path.relative_to(new).as_posix()
        _refuse_obstacle(target / name, path.is_dir(), earlier or name in ours)


def _refuse_obstacle(place: Path, folder: bool, ours: bool) -> None:
    """Raise if something is there that is not what will be, or that sdm did not write."""
    if place.exists() and place.is_dir() != folder:
        raise OutputError(f"{place} is in the way: remove it, or choose another folder")
    if os.path.lexists(place) and not folder and not ours:
        raise OutputError(
            f"{place} was not written by sdm, and would be replaced: move it away, or choose another folder"
        )


def _refuse_file(target: Path) -> None:
    if os.path.lexists(target) and not target.is_dir():
        raise OutputError(f"{target} cannot be written (it is no folder): choose another folder")


# -- the commit --------------------------------------------------------------------------------------------------------


def _commit(stage: Path, target: Path, keep: bool) -> None:
    """Put the new result in the place of the old one."""
    new, ours = stage / "new", _ours(target)
    _refuse_foreign(new, target, ours)
    written = _listing(new)
    _write_list(new, written | set(_read_list(target)) if keep else written)
    stale = set() if keep else ours - _inside(new)
    _refuse_file(target)
    if not target.exists():
        _sync_tree(new)
        os.rename(new, target)
    elif not (_can_exchange(target, ours) and _exchange(new, target, stale)):
        _sync_tree(new)
        _move_in(stage, target, sorted(stale))
    _sync_after(target.parent)


def _inside(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def _can_exchange(target: Path, ours: Collection[str]) -> bool:
    """Whether a folder may be replaced by another one: nobody stands in it, and it holds few files of the user's."""
    if os.path.ismount(target) or Path.cwd().is_relative_to(target):
        return False
    return all(k < _MOST for k, _ in enumerate(_foreign(target, ours)))


def _exchange(new: Path, target: Path, stale: Collection[str]) -> bool:
    """Let the new folder and the target change places, with the user's files in both; False where that cannot be."""
    written = _inside(new)
    for name in _foreign(target, written | set(stale)):
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        _link(target / name, new / name)
    for folder in (path for path in target.rglob("*") if path.is_dir() and not any(path.iterdir())):
        (new / folder.relative_to(target)).mkdir(parents=True, exist_ok=True)  # an empty folder of the user's
    with suppress(OSError):
        shutil.copystat(target, new)
    _sync_tree(new)
    try:
        exchange_folders(new, target)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        for name in _foreign(new, written):
            (new / name).unlink()
        return False
    return True


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


def _move_in(stage: Path, target: Path, stale: Sequence[str]) -> None:
    """Move files to their places one by one; on an error, back again."""
    new, journal = stage / "new", stage / _JOURNAL
    names = sorted(path.relative_to(new).as_posix() for path in new.rglob("*") if not path.is_dir())
    if len(names) + len(stale) > 1:
        part = stage / "journal"
        into = os.path.relpath(target, stage.parent)
        part.write_text(json.dumps({"into": into, "stale": list(stale)}), encoding="utf-8")
        _sync(part)
        os.replace(part, journal)
        _sync(stage)
    try:
        _forward(stage, target, stale)
    except BaseException:
        _back(stage, target, names)
        journal.unlink(missing_ok=True)
        raise
    _sync_after(target)
    journal.unlink(missing_ok=True)


def _forward(stage: Path, target: Path, stale: Sequence[str]) -> None:
    """Move what is still to be moved, and keep what is replaced in `old/`."""
    new, old = stage / "new", stage / "old"
    for path in sorted(new.rglob("*")):
        place, kept = target / path.relative_to(new), old / path.relative_to(new)
        if path.is_dir():
            place.mkdir(exist_ok=True)
            continue
        if os.path.lexists(place) and not os.path.lexists(kept):
            kept.parent.mkdir(parents=True, exist_ok=True)
            _link(place, kept)
        os.replace(path, place)
    for name in stale:
        if os.path.lexists(target / name):
            (old / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(target / name, old / name)
    remove_empty(sorted({target / inner for name in stale for inner in Path(name).parents[:-1]}, reverse=True))


def _back(stage: Path, target: Path, names: Sequence[str]) -> None:
    """Undo what was moved."""
    new, old = stage / "new", stage / "old"
    kept = _inside(old)
    for name in sorted(kept):
        if (old / name).is_dir():
            (target / name).mkdir(exist_ok=True)
        else:
            os.replace(old / name, target / name)
    for name in names:
        if name not in kept and not os.path.lexists(new / name):  # it has moved to where nothing was
            (target / name).unlink(missing_ok=True)
    remove_empty(sorted((target / p.relative_to(new) for p in new.rglob("*") if p.is_dir()), reverse=True))


# -- stages ------------------------------------------------------------------------------------------------------------


@contextmanager
def _stage(beside: Path, target: Path) -> Iterator[Path]:
    """Make a stage for a target, and remove it at the end."""
    # Named before it is made, so that a signal at any moment finds what to remove.
    stage = beside / f".sdm-{place_digest(target)}-{secrets.token_hex(6)}.part"
    try:
        try:
            stage.mkdir(mode=0o700)
            (stage / "new").mkdir()
        except OSError as error:
            raise OutputError(f"{beside} cannot be written ({error.strerror}): choose another folder") from error
        yield stage
    finally:
        try:
            _discard(stage)
        except KeyboardInterrupt:
            _discard(stage)
            raise


def _discard(stage: Path) -> None:
    """Remove a stage, unless its journal says that it is not done with."""
    if not (stage / _JOURNAL).exists():
        shutil.rmtree(stage, ignore_errors=True)


def _recover(target: Path) -> None:
    """Finish or remove what runs left behind when they were killed; the lock of the target is held."""
    own = f".sdm-{place_digest(target)}-*.part"
    for stage in (*target.parent.glob(own), *(target.glob(own) if target.is_dir() else ())):
        _recover_stage(stage)
    for stage in target.glob(".sdm-????????-*.part") if target.is_dir() else ():  # of what lies in the folder
        with suppress(OutputError), lock_of(stage.parent, stage.name[5:13]):  # unless a run is at work on it
            _recover_stage(stage)


def _recover_stage(stage: Path) -> None:
    try:
        if (stage / _JOURNAL).is_file():
            journal = json.loads((stage / _JOURNAL).read_text(encoding="utf-8"))
            if os.path.basename(journal["into"]) != journal["into"]:
                raise ValueError(f"its journal names {journal['into']!r}")
            stale = [name for name in map(str, journal["stale"]) if ".." not in Path(name).parts]
            _forward(stage, stage.parent / journal["into"], stale)
            (stage / _JOURNAL).unlink()
            log.warning("an earlier run was killed while its results were moved in place: they are whole now")
        shutil.rmtree(stage)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{stage}, which an earlier run left behind, cannot be removed ({error}): remove it by hand"
        ) from error


# -- small things ------------------------------------------------------------------------------------------------------


def _real(target: Path) -> Path:
    """Return where a target is: a link to a folder stays a link."""
    return Path(os.path.realpath(target))


def _absent(folder: Path) -> list[Path]:
    """Return the folders that have to be made, innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def _make(folder: Path, named: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{named} cannot be written ({error.strerror or error}): choose another folder") from error


@contextmanager
def _explained(target: Path, stage: Path) -> Iterator[None]:
    """Say what went wrong in the words of the place that the user knows, not of the temporary one."""
    try:
        yield
    except OutputError as error:
        raise OutputError(str(error).replace(str(stage), str(target))) from error
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error.strerror or error}); nothing was kept") from error


def _link(source: Path, target: Path) -> None:
    """Give a file a second name; where the disk cannot, copy it."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _sync_tree(folder: Path) -> None:
    """Have everything in a folder on the disk, not only in memory."""
    paths = [Path(root, name) for root, _, names in os.walk(folder) for name in ("", *names)]
    with ThreadPoolExecutor(16) as pool:  # a disk stores many files together in the time of one
        list(pool.map(_sync, paths))


def _sync(path: Path) -> None:
    if path.is_symlink() or (os.name == "nt" and path.is_dir()):
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_after(folder: Path) -> None:
    """Have a renaming on the disk; it is done, so that a disk that does not confirm it is no failure."""
    try:
        _sync(folder)
    except OSError as error:
        log.warning("%s: the disk did not confirm that the results are stored (%s)", folder, error.strerror)
