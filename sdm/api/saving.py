"""Results of a private folder saved where the user wants them, with nothing in them that points back."""

import csv
import html
import io
import json
import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

import yaml

from sdm.api.private import PrivateFolder
from sdm.storage.commit import claim, staging
from sdm.storage.files import output_folder
from sdm.storage.written_files import is_temporary

INPUTS = "inputs"  # the folder of saved results with the objects that a run was made from
SUFFIXES = (".yaml", ".txt", ".csv", ".json", ".jsonl", ".html")


Part = TypeVar("Part")


class SavedParts(Mapping[str, Part]):
    """Results in a folder as a mapping of their parts, by name; a folder without a place of its own is private."""

    def __init__(self, folder: Path, private: PrivateFolder | None = None) -> None:
        self.folder = folder
        self._private = private if private is not None else PrivateFolder()

    @property
    @abstractmethod
    def _parts(self) -> Mapping[str, object]:
        """The parts as they are stored."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __contains__(self, name: object) -> bool:
        return name in self._parts


def save_results(folder: Path, path: Path, private: PrivateFolder, *, overwrite: bool, held: bool = False) -> Path:
    """Copy results to a folder in one step; paths in them that were private are those of the new folder, which is
    `held` already if a run claimed it."""
    target = output_folder(str(path))
    claimed = nullcontext() if held else claim(target, overwrite=overwrite)
    with claimed, staging(target, overwrite=overwrite) as stage:
        shutil.copytree(folder, stage, dirs_exist_ok=True, ignore=lambda _, names: {*filter(is_temporary, names)})
        moved = {str(folder): str(target.absolute())}
        if private.has_inputs:
            shutil.copytree(private.inputs, stage / INPUTS)
            moved[str(private.inputs)] = str(target.absolute() / INPUTS)
        if private.holds(folder):
            for file in sorted(stage.rglob("*")):
                if file.suffix in SUFFIXES and not file.relative_to(stage).is_relative_to(INPUTS):
                    _rewrite(file, moved)
    return target


def _rewrite(file: Path, moved: dict[str, str]) -> None:
    """Write the new places into a text file that names the old ones."""
    text = file.read_bytes().decode("utf-8", errors="surrogateescape")
    if not any(old in text for old in moved):
        return
    kinds: dict[str, Callable[[str, dict[str, str]], str]] = {".yaml": _in_yaml, ".csv": _in_csv}
    quote: dict[str, Callable[[str], str]] = {".html": html.escape, ".json": _in_json, ".jsonl": _in_json}
    if file.suffix in kinds:
        text = kinds[file.suffix](text, moved)
    else:
        text = _replaced(text, {old: quote.get(file.suffix, str)(new) for old, new in moved.items()})
    file.write_bytes(text.encode("utf-8", errors="surrogateescape"))


def _replaced(text: str, moved: dict[str, str]) -> str:
    for old, new in moved.items():
        text = text.replace(old, new)
    return text


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _in_yaml(text: str, moved: dict[str, str]) -> str:
    """Replace places in the values of a run file; its first lines are comments."""
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    tree = _in_values(yaml.safe_load(text), moved)
    return head + str(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))


def _in_values(value: object, moved: dict[str, str]) -> object:
    if isinstance(value, dict):
        return {key: _in_values(item, moved) for key, item in value.items()}
    if isinstance(value, list):
        return [_in_values(item, moved) for item in value]
    return _replaced(value, moved) if isinstance(value, str) else value


def _in_csv(text: str, moved: dict[str, str]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_replaced(cell, moved) for cell in row] for row in csv.reader(io.StringIO(text, newline="")))
    return out.getvalue()
