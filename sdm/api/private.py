"""A folder of this process alone: what a run in Python writes there goes when nothing refers to it any more."""

import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CellAxes:
    """The names and coordinates of the cells of layers, as the user has them: down, then across."""

    names: tuple[str, str]
    y: NDArray[np.float64]
    x: NDArray[np.float64]


class PrivateFolder:
    """A folder for the results of a run and for the objects that it was made from, as files.

    It is there as long as something refers to it: a run, or one of its models.
    """

    def __init__(self) -> None:
        self.axes: list[CellAxes] = []  # of layers that were objects of xarray

    @cached_property
    def path(self) -> Path:
        """The folder, which is made when it is first needed."""
        path = Path(os.path.realpath(tempfile.mkdtemp(prefix="sdm-")))
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
        return path

    @property
    def results(self) -> Path:
        """Where results are."""
        return self.path / "results"

    @property
    def inputs(self) -> Path:
        """Where objects are that became files."""
        return self.path / "inputs"

    @property
    def has_inputs(self) -> bool:
        """Whether objects became files."""
        return "path" in self.__dict__ and self.inputs.is_dir()

    def holds(self, folder: Path) -> bool:
        """Whether a folder lies in this one."""
        return "path" in self.__dict__ and folder.is_relative_to(self.path)

    def place(self, name: str) -> Path:
        """Return a place for a new file or folder of the inputs, whose folder is there."""
        self.inputs.mkdir(exist_ok=True)
        path = self.inputs / name
        number = 2
        while path.exists():
            path = self.inputs / f"{Path(name).stem}_{number}{Path(name).suffix}"
            number += 1
        return path
