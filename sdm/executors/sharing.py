"""Arrays that many tasks share: written to a folder once, and mapped into the memory of every process that reads them.

What is sent to a process names them; processes on other machines need the same folder under the same path.
"""

import io
import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sdm.types import AnyArray


class SharedArrays:
    """A folder of arrays, and objects written with references to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._names: dict[int, str] = {}
        self._held: list[AnyArray] = []  # so that no other object gets the address of one of them

    def share(self, first: object, second: object) -> None:
        """Write the arrays that two objects both hold: others like them hold these too."""
        arrays = _arrays(second)
        for key, array in _arrays(first).items():
            if key in arrays and key not in self._names:
                self._names[key] = f"{len(self._held)}.npy"
                self._held.append(array)
                np.save(self.folder / self._names[key], array, allow_pickle=False)

    def dumps(self, thing: object) -> bytes:
        """Return an object as bytes, with references in place of shared arrays."""
        out = io.BytesIO()
        _Writer(out, self._names).dump(thing)
        return out.getvalue()


class _Writer(pickle.Pickler):
    def __init__(self, out: io.BytesIO, names: dict[int, str]) -> None:
        super().__init__(out, protocol=5)
        self._names = names

    def persistent_id(self, obj: object) -> str | None:
        return self._names.get(id(obj)) if isinstance(obj, np.ndarray) else None


class _Finder(pickle.Pickler):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), protocol=5)
        self.found: dict[int, AnyArray] = {}

    def persistent_id(self, obj: object) -> str | None:
        if not isinstance(obj, np.ndarray) or obj.dtype == object:
            return None
        self.found[id(obj)] = obj
        return "array"  # what is in it does not matter here


class _Reader(pickle.Unpickler):
    def __init__(self, data: bytes, folder: str) -> None:
        super().__init__(io.BytesIO(data))
        self._folder = folder

    def persistent_load(self, pid: str) -> AnyArray:
        return _mapped(self._folder, pid)


def loads(data: bytes, folder: Path) -> Any:
    """Return an object from bytes that `SharedArrays.dumps` made in a process of the same run."""
    return _Reader(data, str(folder)).load()


def _arrays(thing: object) -> dict[int, AnyArray]:
    finder = _Finder()
    finder.dump(thing)
    return finder.found


@lru_cache(maxsize=256)
def _mapped(folder: str, name: str) -> AnyArray:
    # Pages are private when written to, so that kernels see an array like any other.
    return np.asarray(np.load(Path(folder) / name, mmap_mode="c", allow_pickle=False))
