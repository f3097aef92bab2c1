"""The files of a result that sdm wrote, as its list `.sdm-files` says; everything else in a folder is the user's."""

import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from sdm.errors import OutputError

LISTED = ".sdm-files"  # the file in a result that lists what sdm wrote


def is_temporary(name: str) -> bool:
    """Whether a name is that of something that is there only while a run is at work."""
    return name.startswith(".sdm-") and name.endswith((".part", ".lock"))


def list_files(folder: Path) -> set[str]:
    """Return every file of a folder; a folder in it that has a list of its own is one entry, ending in `/`."""
    names: set[str] = set()
    for path in folder.iterdir():
        if is_temporary(path.name) or path.name == LISTED:
            continue
        if not path.is_dir() or path.is_symlink():
            names.add(path.name)
        elif (path / LISTED).is_file():
            names.add(f"{path.name}/")
        else:
            names |= {f"{path.name}/{inner}" for inner in list_files(path)}
    return names


def write_list(folder: Path, names: Collection[str]) -> None:
    """Write the list of a folder in one step."""
    part = folder / f"{LISTED}.part"
    part.write_text(json.dumps(sorted(names), indent=0) + "\n", encoding="utf-8")
    os.replace(part, folder / LISTED)


def read_list(folder: Path) -> list[str]:
    """Return the entries of a folder's list: none where there is no list, or it cannot be read."""
    try:
        names = json.loads((folder / LISTED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    texts = (name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    return [name for name in texts if not Path(name).is_absolute() and ".." not in Path(name).parts]


def sdm_files(folder: Path) -> set[str]:
    """Return the files of a folder that sdm wrote, with the pages that `sdm report` makes."""
    files: set[str] = set()
    for name in read_list(folder):
        if name.endswith("/"):
            files |= {f"{name}{inner}" for inner in sdm_files(folder / name)}
        else:
            files.add(name)
            if name.endswith(".json"):
                files |= {f"{name.removesuffix('.json')}{ending}" for ending in (".html", "_preview.png")}
    if files:
        files.add(LISTED)
    if "summary.csv" in files or "scenarios.csv" in files:
        files.add("index.html")
    return {name for name in files if os.path.lexists(folder / name)}


def user_files(folder: Path, ours: Collection[str]) -> Iterator[str]:
    """Yield the files of a folder that are the user's."""
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not is_temporary(name)]
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]
        for name in (*files, *links):
            inner = Path(root, name).relative_to(folder).as_posix()
            if inner not in ours and not is_temporary(name):
                yield inner


def refuse_user_files(new: Path, target: Path, ours: Collection[str]) -> None:
    """Raise if a new file has the place of something that sdm did not write."""
    # Results of versions before there was a list are known by their run file.
    earlier = not ours and (target / "command.txt").is_file() and (target / "run.yaml").is_file()
    for path in sorted(new.rglob("*")):
        name = path.relative_to(new).as_posix()
        refuse_obstacle(target / name, path.is_dir(), earlier or name in ours)


def refuse_obstacle(place: Path, folder: bool, ours: bool) -> None:
    """Raise if something is there that is not what will be, or that sdm did not write."""
    if place.exists() and place.is_dir() != folder:
        raise OutputError(f"{place} is in the way: remove it, or choose another folder")
    if os.path.lexists(place) and not folder and not ours:
        raise OutputError(
            f"{place} was not written by sdm, and would be replaced: move it away, or choose another folder"
        )
