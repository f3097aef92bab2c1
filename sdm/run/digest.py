"""What the results of a model depend on, as one digest: as long as it is the same, they need not be made again."""

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from sdm._version import __version__
from sdm.kinds.task import Prepared
from sdm.options.definitions import RunOptions
from sdm.types import AnyArray

LARGE = 1 << 16  # bytes of an array whose digest is kept, for many models share it
# Options that change who does the work and where results go, or choose among models; not the results of a model.
BESIDE = ("processes", "threads", "cluster", "retries")
BESIDE_OF = {"output": ("folder", "overwrite", "resume", "stack"), "occurrences": ("file", "species")}


class Digester:
    """Makes the digests of the models of a run."""

    def __init__(self, options: RunOptions, prepared: Prepared, about: str = "") -> None:
        self._known: dict[int, tuple[AnyArray, bytes]] = {}  # with the arrays, so that their addresses stay theirs
        tree = {name: value for name, value in options.model_dump(mode="json").items() if name not in BESIDE}
        for section, names in BESIDE_OF.items():
            tree[section] = {name: value for name, value in tree[section].items() if name not in names}
        files = [] if prepared.stack is None else prepared.stack.files_state
        common = hashlib.sha256()
        self._feed(common, [__version__, about, tree, files, prepared.study_area])
        if prepared.common is not None:
            self._feed(common, prepared.common)
        self._common = common

    def digest(self, own: Prepared) -> str:
        """Return the digest of a model from its part of the inputs."""
        found = self._common.copy()
        for name in own.by_model:
            self._feed(found, getattr(own, name))
        return found.hexdigest()[:32]

    def _feed(self, out: Any, thing: object) -> None:
        """Add a value to a digest, with its kind, so that no two values look alike."""
        if isinstance(thing, np.ndarray):
            out.update(self._array(thing))
        elif thing is None or isinstance(thing, bool | int | float | str | bytes | np.generic):
            out.update(f"{type(thing).__name__}:{thing!r};".encode(errors="surrogatepass"))
        elif isinstance(thing, dict):
            out.update(f"dict:{len(thing)};".encode())
            for key, value in thing.items():
                self._feed(out, key)
                self._feed(out, value)
        elif isinstance(thing, list | tuple):
            out.update(f"list:{len(thing)};".encode())
            for value in thing:
                self._feed(out, value)
        elif is_dataclass(thing):
            out.update(f"{type(thing).__name__};".encode())
            for one in fields(thing):
                self._feed(out, getattr(thing, one.name))
        elif hasattr(thing, "wkb"):  # a geometry
            out.update(thing.wkb)
        elif hasattr(thing, "to_csv"):  # a table
            out.update(thing.to_csv(float_format="%.17g").encode(errors="surrogatepass"))
        else:
            out.update(f"{type(thing).__name__}:{thing};".encode(errors="surrogatepass"))

    def _array(self, array: AnyArray) -> bytes:
        known = self._known.get(id(array))
        if known is not None:
            return known[1]
        found = hashlib.sha256(f"{array.dtype}{array.shape}".encode())
        if array.dtype == object:
            self._feed(found, array.tolist())
        else:
            found.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
        if array.nbytes >= LARGE:
            self._known[id(array)] = array, found.digest()
        return found.digest()
