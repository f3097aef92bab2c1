"""Digest of everything that the results of a model depend on: an unchanged digest means valid results."""

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import numpy as np

from sdm._version import __version__
from sdm.kinds.task import Prepared
from sdm.options.definitions import RunOptions

# Options that do not change the results of a model: workers, output, and selection of models.
BESIDE = ("processes", "threads", "cluster", "retries")
BESIDE_OF = {"output": ("folder", "overwrite", "resume", "stack"), "occurrences": ("file", "species")}


class Digester:
    """Computes the digests of the models of a run."""

    def __init__(self, options: RunOptions, prepared: Prepared, about: str = "") -> None:
        tree = {name: value for name, value in options.model_dump(mode="json").items() if name not in BESIDE}
        for section, names in BESIDE_OF.items():
            tree[section] = {name: value for name, value in tree[section].items() if name not in names}
        files = [] if prepared.stack is None else prepared.stack.files_state
        shared = [__version__, about, tree, files, prepared.study_area]
        self._common = hashlib.sha256()
        for part in (shared, *([] if prepared.common is None else [prepared.common])):
            for encoded in self._encoded(part):
                self._common.update(encoded)

    def digest(self, part: Prepared) -> str:
        """Return the digest of a model from its part of the inputs."""
        digest = self._common.copy()
        for name in part.by_model:
            for encoded in self._encoded(getattr(part, name)):
                digest.update(encoded)
        return digest.hexdigest()[:32]

    def _encoded(self, value: object) -> Iterator[bytes]:
        """Yield a value as bytes with its type, so that different values differ."""
        if isinstance(value, np.ndarray):
            yield f"{value.dtype}{value.shape}".encode()
            if value.dtype == object:
                yield from self._encoded(value.tolist())
            else:
                yield np.ascontiguousarray(value).tobytes()
        elif value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
            yield f"{type(value).__name__}:{value!r};".encode(errors="surrogatepass")
        elif isinstance(value, dict):
            yield f"dict:{len(value)};".encode()
            for item in itertools.chain.from_iterable(value.items()):
                yield from self._encoded(item)
        elif isinstance(value, list | tuple):
            yield f"list:{len(value)};".encode()
            for item in value:
                yield from self._encoded(item)
        elif is_dataclass(value):
            yield f"{type(value).__name__};".encode()
            for field in fields(value):
                yield from self._encoded(getattr(value, field.name))
        elif hasattr(value, "wkb"):  # a geometry
            yield value.wkb
        elif hasattr(value, "to_csv"):  # a table
            yield value.to_csv(float_format="%.17g").encode(errors="surrogatepass")
        else:
            yield f"{type(value).__name__}:{value};".encode(errors="surrogatepass")
