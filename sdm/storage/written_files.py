"""The files of a result that sdm wrote, listed in its file `.sdm-files`; all other files in a folder are the user's."""

import json
import os
from collections.abc import Collection
from pathlib import Path, PurePath

from sdm.errors import OutputError, OutputExistsError

LISTED = ".sdm-files"  # file in a result that lists the files of sdm


def is_temporary(name: str) -> bool:
    """Whether a name belongs to a file or folder that exists only during a run."""
    return name.startswith(".sdm-") and name.endswith((".part", ".lock"))


def list_files(folder: Path) -> set[str]:
    """Return all files of a folder; a folder in it with its own list is one entry, ending in `/`."""
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
    part.unlink(missing_ok=True)
    with part.open("x", encoding="utf-8") as out:
        out.write(json.dumps(sorted(names), indent=0) + "\n")
    os.replace(part, folder / LISTED)


def trim_list(folder: Path) -> None:
    """Remove missing files from the list of a folder, and remove the list if it becomes empty."""
    if names := [name for name in read_list(folder) if os.path.lexists(folder / name)]:
        write_list(folder, names)
    else:
        (folder / LISTED).unlink(missing_ok=True)


def read_list(folder: Path) -> list[str]:
    """Return the entries of a folder's list: none if it is missing or unreadable."""
    try:
        listed = folder / LISTED
        names = json.loads(listed.read_text(encoding="utf-8")) if listed.is_file() else []  # not a pipe
    except (OSError, ValueError, RecursionError):
        return []
    texts = dict.fromkeys(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    return [name for name in texts if _is_inner(name.removesuffix("/"))]


def _is_inner(name: str) -> bool:
    """Whether a text is a plain relative path inside a folder."""
    path = PurePath(name)
    return path.as_posix() == name != "." and not path.is_absolute() and ".." not in path.parts


def is_linked(folder: Path, name: str) -> bool:
    """Whether a path inside a folder passes through a link."""
    return any(os.path.islink(folder / parent) for parent in PurePath(name).parents[:-1])


def sdm_files(folder: Path) -> set[str]:
    """Return the files of a folder that sdm wrote, with the pages written by `sdm report`."""
    files: set[str] = set()
    for name in read_list(folder):
        if name.endswith("/"):
            if not is_linked(folder, f"{name}{LISTED}"):
                files |= {f"{name}{inner}" for inner in sdm_files(folder / name)}
        else:
            files.add(name)
            if name.endswith(".json"):
                files |= {f"{name.removesuffix('.json')}{ending}" for ending in (".html", "_preview.png")}
    if files:
        files.add(LISTED)
    if "summary.csv" in files or "scenarios.csv" in files:
        files.add("index.html")
    return {name for name in files if _is_file(folder / name) and not is_linked(folder, name)}


def _is_file(path: Path) -> bool:
    return os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path))


def files_in(folder: Path) -> list[str]:
    """Return the names of all files in a folder and its folders; links are files."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if _is_file(path))


def files_to_replace(new: Path, target: Path, ours: Collection[str]) -> set[str]:
    """Return the files of the target that new ones replace; raise if one of them was not written by sdm."""
    # Results of versions without a list are recognized by their run file.
    earlier = not ours and (target / "command.txt").is_file() and (target / "run.yaml").is_file()
    replaced = {name for name in files_in(new) if os.path.lexists(target / name)}
    for path in sorted(new.rglob("*")):
        name = path.relative_to(new).as_posix()
        refuse_obstacle(target / name, path.is_dir(), name in ours or (earlier and name in replaced))
    return replaced


def refuse_obstacle(place: Path, folder: bool, ours: bool) -> None:
    """Raise if the place is occupied by another type of file, or by a file that sdm did not write."""
    if place.is_symlink():
        raise OutputError(f"{place} is a link, which sdm does not follow: remove it, or choose another folder")
    if place.exists() and place.is_dir() != folder:
        raise OutputExistsError(f"{place} already exists: remove it, or choose another folder")
    if os.path.lexists(place) and not folder and not ours:
        raise OutputExistsError(f"{place} was not written by sdm and is kept: move it, or choose another folder")
