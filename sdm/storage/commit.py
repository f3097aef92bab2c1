"""Commit results in one step: a run writes into a stage, which then replaces the old result.

A stage is a folder `.sdm-<digits>.part` next to its target, with the new result in `new/`. If the system can exchange
two folders, the exchange is the commit: other programs see the complete old result or the complete new one. Then the
user's files move from the old folder, which is in the stage, to the new one. If folders cannot be exchanged (a mounted
folder, the current one, a disk without that call), and if files are added to a result, the new files are moved one by
one.

A stage whose target is not locked comes from a run that was killed or had a disk error. The next run completes it with
its journal. Its name and journal are sealed with the key of the user, so that stages of other users are not used.
"""

import json
import logging
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path

from sdm.errors import OutputError
from sdm.storage.disk import exchange_folders, rename_new, sync, sync_after, sync_tree
from sdm.storage.files import refuse_existing, remove_empty
from sdm.storage.locks import lock, lock_of, place_digest
from sdm.storage.user_cache import user_seal
from sdm.storage.written_files import (
    LISTED,
    files_in,
    files_to_replace,
    is_linked,
    is_temporary,
    list_files,
    read_list,
    refuse_obstacle,
    sdm_files,
    trim_list,
    write_list,
)

log = logging.getLogger("sdm")

_ANY_STAGE = ".sdm-????????-*.part"


@contextmanager
def claim(target: Path, *, overwrite: bool, folder: bool = True) -> Iterator[None]:
    """Lock a folder or file during a run, and clean up after runs that were killed.

    Raise OutputError if another run has the lock, or if results exist and `overwrite` is not set.
    """
    typed, target = target, _real(target)
    refuse_existing(target, overwrite=overwrite or bool(stages_of(target)))  # an incomplete result is completed first
    if folder:
        _refuse_file(target)
    absent, complete = _absent(target.parent), False
    try:
        _make(target.parent, typed)
        with lock(target):
            _recover(target)
            refuse_existing(target, overwrite=overwrite)  # a run may have ended before the lock
            yield
            complete = True
    except KeyboardInterrupt as interrupt:
        if complete:
            _note_results(interrupt, typed)
        raise
    finally:
        remove_empty(absent)


@contextmanager
def staging(target: Path, *, overwrite: bool, keep: bool = False) -> Iterator[Path]:
    """Yield a folder that replaces `target` at the end; after an error nothing has changed.

    Files that sdm wrote to `target` before and does not write again are removed, unless `keep` is set. The user's files
    stay: a new file of the same name raises OutputError.
    """
    typed, target = target, _real(target)
    refuse_existing(target, overwrite=overwrite)
    _refuse_file(target)
    inside = target.is_dir() and (os.path.ismount(target) or not os.access(target.parent, os.W_OK))
    with _staged(target if inside else target.parent, place_digest(target), target, typed) as stage:
        yield stage.new
        _commit(stage, keep)


@contextmanager
def publishing(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield temporary paths for files of one folder, and move them to their final paths at the end: all, or none."""
    folder = _real(files[0].parent)
    with _staged(folder, place_digest(files[0]), folder, files[0]) as stage:
        before = set(os.listdir(folder))
        yield [stage.new / file.name for file in files]
        obsolete = _times(folder, before.intersection(files_in(stage.new)))
        sync_tree(stage.new)
        _replace(stage, obsolete, True)


@contextmanager
def staging_species(target: Path, *, overwrite: bool, planned: Sequence[str], in_place: bool = False) -> Iterator[Path]:
    """Yield the folder of a run over several species.

    In a new folder every species appears when it is complete, in one step, and remains after later errors. `planned`
    are the names of files and of folders (with a `/`) that the run may write. An earlier result is replaced completely
    at the end, unless the run continues it (`in_place`).
    """
    taken = target.is_dir() and any(not is_temporary(path.name) for path in target.iterdir())
    ours = sdm_files(target)
    for name in planned if taken else ():  # checked before the work
        refuse_obstacle(target / name.rstrip("/"), name.endswith("/"), name in ours)
    if taken and not in_place:
        with staging(target, overwrite=overwrite) as stage:
            yield stage
        return
    absent = _absent(target)
    try:
        _make(target, target)
        with nullcontext() if in_place else _explained(target, target):
            write_list(target, {*read_list(target), *planned})
            try:
                yield target
            finally:
                trim_list(target)
    finally:
        remove_empty(absent)


def _refuse_file(target: Path) -> None:
    if os.path.lexists(target) and not target.is_dir():
        raise OutputError(f"{target} cannot be written, because it is not a folder: choose another folder")


# -- stages ------------------------------------------------------------------------------------------------------------


class _Stage:
    """A folder with a new result and the plan of its commit; the journal stores the plan for the next run."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path, self.target = path, target  # folder of the committed files
        self.new, self.journal = path / "new", path / "commit"
        self.inode = 0  # of the new result
        self.obsolete: Mapping[str, int] = {}  # files of the old result to remove, with their times
        self.stale: Mapping[str, int] = {}  # obsolete files that no new file replaces
        self.moving = False  # if new files move one by one

    @property
    def exchanged(self) -> bool:
        """Whether the stage contains the old result."""
        return self.inode != 0 and _inode(self.new) not in (None, self.inode)

    @property
    def in_place(self) -> bool:
        """Whether the new result is at its target."""
        return _inode(self.target) == self.inode or (self.moving and not self.new.exists())

    def make(self) -> None:
        """Make the folder."""
        self.path.mkdir(mode=0o700)
        self.new.mkdir()
        self.inode = self.new.stat().st_ino

    def begin(self, obsolete: Mapping[str, int]) -> None:
        """Store the plan."""
        names = files_in(self.new)
        self.obsolete = obsolete
        self.stale = {name: time for name, time in obsolete.items() if name not in names}
        into = os.path.relpath(self.target, self.path.parent)
        inodes = [self.inode, _inode(self.target)]
        text = json.dumps({"into": into, "inodes": inodes, "gone": self.obsolete, "stale": self.stale})
        part = self.path / "journal"
        part.write_text(json.dumps([text, user_seal(str(self.path), text)]), encoding="utf-8")
        sync(part)
        os.replace(part, self.journal)
        sync(self.path)

    @classmethod
    def abandoned(cls, path: Path) -> "_Stage":
        """Return a stage of a run of this user that did not end."""
        stage = cls(path, path.parent)
        if stage.journal.exists():
            text, seal = json.loads(stage.journal.read_text(encoding="utf-8"))
            if seal is None or seal != user_seal(str(path), text):
                raise ValueError("its journal was not made by one of your runs")
            plan = json.loads(text)
            stage.target = path.parent / plan["into"]
            (stage.inode, replaced), stage.obsolete, stage.stale = plan["inodes"], plan["gone"], plan["stale"]
            if any(place.is_symlink() for place in (stage.target, stage.new)):
                raise ValueError("it contains a link instead of a folder")
            if _inode(stage.new) not in (None, stage.inode, replaced):
                raise ValueError("its files are copies")
        return stage

    def close(self) -> None:
        """Remove the folder, unless it contains files that were not moved to their target."""
        if self.exchanged:
            _bring_over(self)
        if not (self.exchanged or (self.moving and self.new.exists())):
            with suppress(OSError):
                self.journal.unlink(missing_ok=True)  # first: a partly removed stage must not be completed
                shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def _staged(parent: Path, digest: str, target: Path, typed: Path) -> Iterator[_Stage]:
    """Make a stage for a target, and remove it at the end."""
    # The name exists before the folder, so that a signal at any moment finds the folder to remove.
    stage = _Stage(parent / _sealed_name(parent, digest, secrets.token_hex(6)), target)
    absent = _absent(target)
    try:
        try:
            _make(target.parent, typed)
            try:
                stage.make()
            except OSError as error:
                raise OutputError(f"{parent} cannot be written ({error.strerror}): choose another folder") from error
            with _explained(typed, stage.new):
                yield stage
        finally:
            try:
                stage.close()
            except KeyboardInterrupt:
                stage.close()
                raise
            finally:
                remove_empty(absent)
    except KeyboardInterrupt as interrupt:
        if stage.in_place:
            _note_results(interrupt, typed)
        raise


def _note_results(interrupt: KeyboardInterrupt, target: Path) -> None:
    """Add the place of complete new results to an interrupt."""
    note = f"the new results are in {target}"
    if not any(is_temporary(part) for part in target.parts) and note not in getattr(interrupt, "__notes__", ()):
        interrupt.add_note(note)


def _sealed_name(parent: Path, digest: str, token: str) -> str:
    seal = user_seal(str(parent), digest, token) or secrets.token_hex(16)
    return f".sdm-{digest}-{token}{seal}.part"


def stages_of(target: Path) -> list[Path]:
    """Return the new results in stages of a target, of active and killed runs; the last one first."""
    target = _real(target)
    stages = target.parent.glob(f".sdm-{place_digest(target)}-*.part")
    return [stage / "new" for stage in sorted(stages, key=lambda stage: _time(stage) or 0, reverse=True)]


def _recover(target: Path) -> None:
    """Complete or remove stages of killed runs; the caller holds the lock of the target."""
    inside = [*target.glob(_ANY_STAGE), *target.glob(f"*/{_ANY_STAGE}")]  # stages of files in the folder
    for stage in (*(new.parent for new in stages_of(target)), *inside):
        digest, token = stage.name[5:13], stage.name[14:26]
        if stage.is_symlink() or stage.name != _sealed_name(stage.parent, digest, token):
            log.warning("%s was not made by one of your runs and was ignored: remove it if it is not needed", stage)
        elif digest == place_digest(target) and target in (stage.parent, stage.parent / target.name):
            _recover_stage(stage)
        else:
            with suppress(OutputError), ExitStack() as held:  # unless another run has the lock
                if stage.parent not in (target, target.parent):
                    held.enter_context(lock(stage.parent))
                held.enter_context(lock_of(stage.parent, digest))
                _recover_stage(stage)


def _recover_stage(path: Path) -> None:
    try:
        stage = _Stage.abandoned(path)
        if stage.inode and stage.new.exists() and not stage.exchanged:
            _move_in(stage)
            log.warning("an earlier run was killed while it moved its results: they are complete now")
        stage.close()
        if not stage.journal.exists() and path.exists():
            shutil.rmtree(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{path}, left by an earlier run, cannot be removed ({error}): remove it yourself") from error


# -- the commit --------------------------------------------------------------------------------------------------------


def _commit(stage: _Stage, keep: bool) -> None:
    """Replace the old result by the new one."""
    new, target = stage.new, stage.target
    refuse_obstacle(target / LISTED, False, True)
    ours = sdm_files(target)
    obsolete = _times(target, files_to_replace(new, target, ours) | (set() if keep else ours) | {LISTED})
    written = list_files(new)
    write_list(new, written | set(read_list(target)) if keep else written)
    _refuse_file(target)
    sync_tree(new)
    if target.exists():
        _replace(stage, obsolete, keep)
    else:
        os.rename(new, target)
    sync_after(target.parent)


def _replace(stage: _Stage, obsolete: Mapping[str, int], keep: bool) -> None:
    """Exchange the folders, or move files one by one."""
    exchange = not keep and _can_exchange(stage.target)
    if not exchange:
        for folder in {parent for name in (*files_in(stage.new), *obsolete) for parent in _parents(stage.target, name)}:
            if folder.exists() and not os.access(folder, os.W_OK):
                raise OutputError(f"{folder} cannot be written (Permission denied): choose another folder")
    stage.begin(obsolete)
    if not (exchange and _exchange(stage)):
        _move_in(stage)


def _can_exchange(target: Path) -> bool:
    """Whether a folder may be exchanged: it does not contain the current folder, and its content can be moved."""
    if Path.cwd().is_relative_to(target):
        return False
    return not any(
        os.path.ismount(folder) or not os.access(folder, os.W_OK) or os.lstat(folder).st_mode & stat.S_ISVTX
        for folder, _, _ in os.walk(target)
    )


def _exchange(stage: _Stage) -> bool:
    """Exchange the new folder and the target; return False if that is impossible."""
    new, target = stage.new, stage.target
    for folder in (new, *(path for path in new.rglob("*") if path.is_dir())):
        with suppress(OSError):
            shutil.copystat(target / folder.relative_to(new), folder)
    with suppress(OSError):
        exchange_folders(new, target)
    return stage.exchanged


def _move_in(stage: _Stage) -> None:
    """Move new files to their target one by one."""
    stage.moving = True
    try:
        try:
            _finish(stage)
        except KeyboardInterrupt:
            _finish(stage)
            raise
    except OSError as error:
        raise OutputError(
            f"{stage.target} has a mixture of old and new results ({error.strerror or error}): give the same command "
            "again with --overwrite, which completes them"
        ) from error


def _bring_over(stage: _Stage) -> None:
    """Move the user's files out of the old folder after the exchange."""
    reason: OSError | None = None
    for _ in range(3):  # another program may write to the old folder at any moment
        try:
            _finish(stage)
            return
        except OSError as error:
            reason = error
    log.warning("your own files in %s could not be moved to %s (%s)", stage.new, stage.target, reason)


def _finish(stage: _Stage) -> None:
    """Move the files of a stage to their target, and remove the old files of sdm."""
    if not stage.new.exists():
        return
    stage.target.mkdir(parents=True, exist_ok=True)
    if stage.exchanged:
        _remove(stage.new, stage.obsolete)
        _merge(stage.new, stage.target)
    else:
        _merge(stage.new, stage.target, {stage.target / name: time for name, time in stage.obsolete.items()})
        _remove(stage.target, stage.stale)
    stage.new.rmdir()
    sync_after(stage.target)


def _merge(source: Path, target: Path, replaced: Mapping[Path, int] | None = None) -> None:
    """Move the content of a folder, the user's files or new ones, to another folder.

    Existing files in `replaced` (with the same times) are replaced. Every other file is the user's and is renamed.
    """
    failed: OSError | None = None
    for path in sorted(source.iterdir()):
        place = target / path.name
        try:
            if is_temporary(path.name) and not path.match(_ANY_STAGE):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            elif all(one.is_dir() and not one.is_symlink() for one in (path, place)):
                _merge(path, place, replaced)
                path.rmdir()
            elif replaced is None:
                _move_renamed(path, place)
            elif place in replaced and _time(place) == replaced[place]:
                os.replace(path, place)  # a file of this name exists at any moment
            else:
                with suppress(FileExistsError):
                    rename_new(path, place)
                    continue
                _move_renamed(place, place)
                rename_new(path, place)
        except OSError as error:
            failed = error
    if failed is not None:
        raise failed


def _move_renamed(path: Path, place: Path) -> None:
    """Move a file of the user to a path, or if that is taken, to the first free name derived from it."""
    for k in count():
        free = place.with_name(f"{place.name}.yours{k if k > 1 else ''}") if k else place
        try:
            rename_new(path, free)
        except FileExistsError:
            continue
        if k:
            log.warning("%s was written while new results were moved there: your file is now %s", place, free)
        return


def _remove(folder: Path, names: Mapping[str, int]) -> None:
    """Remove unmodified files of a folder, and its folders that become empty."""
    for name, time in names.items():
        if not is_linked(folder, name) and _time(folder / name) == time:
            (folder / name).unlink(missing_ok=True)
    remove_empty(reversed([path for name in names for path in _parents(folder, name)]))


def _parents(folder: Path, name: str) -> list[Path]:
    """Return the folders between a folder and a file in it, outermost first."""
    return [folder / parent for parent in reversed(Path(name).parents[:-1])]


# -- paths and times ---------------------------------------------------------------------------------------------------


def _inode(folder: Path) -> int | None:
    """Return the inode of a folder; None if it does not exist."""
    with suppress(FileNotFoundError):
        return folder.lstat().st_ino
    return None


def _time(path: Path) -> int | None:
    """Return the modification time of a file or folder; None if it does not exist."""
    with suppress(OSError):
        return path.lstat().st_mtime_ns
    return None


def _times(folder: Path, names: Iterable[str]) -> dict[str, int]:
    """Return the modification times of files, which distinguish them from the user's files of the same names."""
    times = {name: _time(folder / name) for name in sorted(names)}
    return {name: time for name, time in times.items() if time is not None}


def _real(target: Path) -> Path:
    """Return the path of a target without links in it."""
    return Path(os.path.realpath(target))


def _absent(folder: Path) -> list[Path]:
    """Return the missing folders, innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def _make(folder: Path, named: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{named} cannot be written ({error.strerror or error}): choose another folder") from error


@contextmanager
def _explained(target: Path, stage: Path) -> Iterator[None]:
    """Replace the temporary path in errors by the path that the user typed."""
    try:
        yield
    except OutputError as error:
        raise OutputError(str(error).replace(str(stage), str(target)), code=error.code) from error
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error.strerror or error}); nothing was kept") from error
