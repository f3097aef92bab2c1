"""Results in one step: a run writes beside its target, and its files take the place of the old result at once.

A stage is a folder `.sdm-<digits>.part` with the new result in `new/`. While a run is at work, it holds the lock of
its target; a stage whose lock is free was left behind by a run that was killed. Where the system can exchange two
folders, that is the commit: whoever looks finds the whole old result or the whole new one. Where it cannot (a mounted
folder, the current one, a disk without that call), files are moved one by one by a journal: an error moves them back,
and a run that is killed meanwhile is finished by the next one.
"""

import errno
import json
import logging
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sdm.disk import exchange_folders, link_or_copy, sync, sync_after, sync_tree
from sdm.errors import OutputError
from sdm.files import refuse_existing, remove_empty
from sdm.locks import lock, lock_of, place_digest
from sdm.written_files import (
    LISTED,
    is_temporary,
    list_files,
    read_list,
    refuse_obstacle,
    refuse_user_files,
    sdm_files,
    user_files,
    write_list,
)

log = logging.getLogger("sdm")

_JOURNAL = "commit"
_MOST = 1000  # files of the user's that are linked into the folder that follows
_NO_EXCHANGE = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EBUSY, errno.EXDEV, errno.EPERM, errno.EACCES}


@contextmanager
def claim(target: Path, *, overwrite: bool, folder: bool = True) -> Iterator[None]:
    """Hold a folder, or a file, for a run from its first look to its last byte; tidy up after runs that were killed. An
    OutputError says that another run holds it, or that it has results already and `overwrite` is not set."""
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
    """Give a folder to write into; at the end it takes the place of `target`, on failure nothing has changed. Files
    that sdm wrote to `target` before and does not write again go, unless `keep` is set. The user's files stay: a new
    one of the same name is an OutputError."""
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
        sync_tree(stage / "new")
        _move_in(stage, folder, ())


@contextmanager
def staging_species(target: Path, *, overwrite: bool, planned: Sequence[str]) -> Iterator[Path]:
    """Give the folder of a run over several species. In a new folder every species appears as soon as it is done, in
    one step, and stays whatever comes later; `planned` are the names of files and of folders (with a `/`) that the run
    may write. An earlier result is replaced as a whole, at the end."""
    if target.is_dir() and any(not is_temporary(path.name) for path in target.iterdir()):
        ours = sdm_files(target)
        for name in planned:  # said before the work, not after it
            refuse_obstacle(target / name.rstrip("/"), name.endswith("/"), name in ours)
        with staging(target, overwrite=overwrite) as stage:
            yield stage
        return
    absent = _absent(target)
    try:
        _make(target, target)
        with _explained(target, target):
            write_list(target, set(planned))
            yield target
            write_list(target, list_files(target))
    finally:
        if target.is_dir() and {path.name for path in target.iterdir()} == {LISTED}:  # nothing came to be
            (target / LISTED).unlink()
        remove_empty(absent)


def _refuse_file(target: Path) -> None:
    if os.path.lexists(target) and not target.is_dir():
        raise OutputError(f"{target} cannot be written (it is no folder): choose another folder")


# -- the commit --------------------------------------------------------------------------------------------------------


def _commit(stage: Path, target: Path, keep: bool) -> None:
    """Put the new result in the place of the old one."""
    new, ours = stage / "new", sdm_files(target)
    refuse_user_files(new, target, ours)
    written = list_files(new)
    write_list(new, written | set(read_list(target)) if keep else written)
    stale = set() if keep else ours - _inside(new)
    _refuse_file(target)
    if not target.exists():
        sync_tree(new)
        os.rename(new, target)
    elif not (_can_exchange(target, ours) and _exchange(new, target, stale)):
        sync_tree(new)
        _move_in(stage, target, sorted(stale))
    sync_after(target.parent)


def _inside(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def _can_exchange(target: Path, ours: Collection[str]) -> bool:
    """Whether a folder may be replaced by another one: nobody stands in it, and it holds few files of the user's."""
    if os.path.ismount(target) or Path.cwd().is_relative_to(target):
        return False
    return all(k < _MOST for k, _ in enumerate(user_files(target, ours)))


def _exchange(new: Path, target: Path, stale: Collection[str]) -> bool:
    """Let the new folder and the target change places, with the user's files in both; False where that cannot be."""
    written = _inside(new)
    for name in user_files(target, written | set(stale)):
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(target / name, new / name)
    for folder in (path for path in target.rglob("*") if path.is_dir() and not any(path.iterdir())):
        (new / folder.relative_to(target)).mkdir(parents=True, exist_ok=True)  # an empty folder of the user's
    with suppress(OSError):
        shutil.copystat(target, new)
    sync_tree(new)
    try:
        exchange_folders(new, target)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        for name in user_files(new, written):
            (new / name).unlink()
        return False
    return True


def _move_in(stage: Path, target: Path, stale: Sequence[str]) -> None:
    """Move files to their places one by one; on an error, back again."""
    new, journal = stage / "new", stage / _JOURNAL
    names = sorted(path.relative_to(new).as_posix() for path in new.rglob("*") if not path.is_dir())
    if len(names) + len(stale) > 1:
        part = stage / "journal"
        into = os.path.relpath(target, stage.parent)
        part.write_text(json.dumps({"into": into, "stale": list(stale)}), encoding="utf-8")
        sync(part)
        os.replace(part, journal)
        sync(stage)
    try:
        _forward(stage, target, stale)
    except BaseException:
        _back(stage, target, names)
        journal.unlink(missing_ok=True)
        raise
    sync_after(target)
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
            link_or_copy(place, kept)
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


def stages_of(target: Path) -> list[Path]:
    """Return the new results of a target that runs are at work on, beside the old ones."""
    target = _real(target)
    return sorted(stage / "new" for stage in target.parent.glob(f".sdm-{place_digest(target)}-*.part"))


def _recover(target: Path) -> None:
    """Finish or remove what runs left behind when they were killed; the lock of the target is held."""
    stages = f".sdm-{place_digest(target)}-*.part"
    for stage in (*target.parent.glob(stages), *(target.glob(stages) if target.is_dir() else ())):
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
