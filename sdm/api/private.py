"""A folder of this process alone: what a run in Python writes there goes when nothing refers to it any more."""

import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
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
        self.path = Path(os.path.realpath(tempfile.mkdtemp(prefix="sdm-")))
        self.axes: list[CellAxes] = []  # of layers that were objects of xarray
        self._end = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

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
        return self.inputs.is_dir()

    def place(self, name: str) -> Path:
        """Return a place for a new file or folder of the inputs, whose folder is there."""
        self.inputs.mkdir(exist_ok=True)
        path = self.inputs / name
        number = 2
        while path.exists():
            path = self.inputs / f"{Path(name).stem}_{number}{Path(name).suffix}"
            number += 1
        return path

    def spare(self, name: str) -> Path:
        """Return a place for a file that is needed for a moment, in a folder of its own."""
        return Path(tempfile.mkdtemp(prefix="spare-", dir=self.path)) / name
