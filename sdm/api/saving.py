"""The private folder of a run in Python, and the copy of its results to the user's folder."""

import csv
import html
import io
import json
import os
import shutil
import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import yaml
from numpy.typing import NDArray

from sdm.storage.commit import claim, staging
from sdm.storage.files import output_folder
from sdm.storage.written_files import is_temporary
from sdm.types import Numbers


@dataclass(frozen=True)
class CellAxes:
    """The names and coordinates of the cells of the user's layers: down, then across."""

    names: tuple[str, str]
    y: NDArray[np.float64]
    x: NDArray[np.float64]


class PrivateFolder:
    """A folder for the results of a run and for its input objects, as files.

    It exists as long as an object refers to it: a run, or one of its models.
    """

    def __init__(self) -> None:
        self.axes: list[CellAxes] = []  # of layers that were xarray objects

    @cached_property
    def path(self) -> Path:
        """The folder, which is made at its first use."""
        path = Path(os.path.realpath(tempfile.mkdtemp(prefix="sdm-")))
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
        return path

    @property
    def results(self) -> Path:
        """Folder of the results."""
        return self.path / "results"

    @property
    def inputs(self) -> Path:
        """Folder of the objects as files."""
        return self.path / "inputs"

    @property
    def has_inputs(self) -> bool:
        """Whether objects were written as files."""
        return "path" in self.__dict__ and self.inputs.is_dir()

    def holds(self, folder: Path) -> bool:
        """Whether a folder is inside this one."""
        return "path" in self.__dict__ and folder.is_relative_to(self.path)

    def place(self, name: str) -> Path:
        """Return a free path for a file or folder of the inputs."""
        self.inputs.mkdir(exist_ok=True)
        path = self.inputs / name
        number = 2
        while path.exists():
            path = self.inputs / f"{Path(name).stem}_{number}{Path(name).suffix}"
            number += 1
        return path


INPUTS = "inputs"  # folder of saved results with the input objects of the run
SUFFIXES = (".yaml", ".txt", ".csv", ".json", ".jsonl", ".html")


Part = TypeVar("Part")


class StoredPart(Protocol):
    """A part of results, with all measures."""

    @property
    def numbers(self) -> Numbers:
        """Numbers and texts by their names."""
        ...


class SavedParts(Mapping[str, Part]):
    """Results in a folder as a mapping of their parts by name; without an output, the folder is private."""

    def __init__(self, folder: Path, private: PrivateFolder | None = None) -> None:
        self.folder = folder
        self._private = private if private is not None else PrivateFolder()

    @property
    @abstractmethod
    def _parts(self) -> Mapping[str, StoredPart]:
        """The stored parts."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    @property
    def warnings(self) -> list[str]:
        """Warnings of all parts."""
        return self._texts("warnings")

    def _texts(self, key: str) -> list[str]:
        """Return the stored texts of all parts, without duplicates."""
        texts = [text for part in self._parts.values() for text in part.numbers.get(key) or ()]
        return list(dict.fromkeys(map(str, texts)))


def save_results(folder: Path, path: Path, private: PrivateFolder, *, overwrite: bool, held: bool = False) -> Path:
    """Copy results to a folder in one step, and replace private paths in them by the new ones.

    `held` is set if the run holds the lock of the folder.
    """
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
    """Replace the old paths by the new ones in a text file."""
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
    """Replace paths in the values of a run file; its first lines are comments."""
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
