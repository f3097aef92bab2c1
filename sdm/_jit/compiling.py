"""How kernels are compiled, and kept for the next run. Only this file names numba; only a call of a kernel loads it.

numba does not notice when a callee in another file changes, so compiled kernels are kept in folders whose names hold a
digest of all that they are made of. Where no folder is writable there is no cache, and no crash. Nor does it notice a
damaged file, and would run what is in it, so every file ends in a digest: without it, it is removed and made again.
"""

import hashlib
import io
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import numba
from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import rtsys
from numba.extending import typeof_impl

from sdm._jit.kept import FOLDER
from sdm._jit.sources import kernel_digest
from sdm.storage.user_cache import private_folder

QUICK = numba.__version__.startswith("0.68.")
"""Whether a compiled kernel is loaded without all that numba knows of compiling, which takes longer than to load the
kernels of a fit. It is known of these versions that memory management alone must be ready; numba itself loads the rest
before it compiles."""

_DIGEST = hashlib.sha256().digest_size


def _prepare_cache() -> bool:
    """Point numba at our cache folder; return whether it can be written."""
    folder = private_folder(f"{FOLDER}{numba.__version__}")
    if folder is not None:
        cast(Any, numba.config).CACHE_DIR = str(folder)  # numba sets its options at run time
    return folder is not None


CACHED = _prepare_cache()


def _content(path: str) -> bytes | None:
    """Return what is in a file before the digest of it at its end; remove a file that is damaged."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]:
        return content[:-_DIGEST]
    with suppress(OSError):
        os.unlink(path)
    return None


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """Return what a part of a kernel finds while it runs. numba would import the module in which it was written, such
    as those of linear algebra, for names that only code which is not compiled looks up."""
    known: Environment | None = lookup_environment(name)
    if known is None:
        known = Environment({"__name__": module})
        known.consts[:] = constants
        known.env_name = name
        Environment._memo[name] = known
    return known


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if QUICK and (module, name) == (Environment.__module__, "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


class _CheckedFile(IndexDataCacheFile):
    """Files of one kernel, each with a digest at its end, which pickle does not read."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        body = io.BytesIO()
        yield body
        Path(filepath).parent.mkdir(exist_ok=True)
        with super()._open_for_write(filepath) as out:
            out.write(body.getvalue() + hashlib.sha256(body.getvalue()).digest())

    def _load_index(self) -> dict[Any, str]:
        return super()._load_index() if _content(self._index_path) is not None else {}

    def _load_data(self, name: str) -> Any:
        content = _content(self._data_path(name))
        if content is None:
            raise FileNotFoundError  # numba compiles it again
        return _Unpickler(io.BytesIO(content)).load()


class _CheckedCache(FunctionCache):
    """The cache of one kernel, which a disk that is full or fails does not stop from running."""

    def __init__(self, function: Callable[..., Any], tell: Callable[[], None]) -> None:
        super().__init__(function)
        self._tell = tell
        stamp = kernel_digest(Path(function.__code__.co_filename))
        folder = Path(cast(Any, numba.config).CACHE_DIR, f"{function.__module__}-{stamp}")
        self._cache_file = _CheckedFile(str(folder), self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if QUICK:
            rtsys.initialize(target_context)
        else:
            target_context.refresh()
        found = None
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
        if found is None:
            self._tell()
        return found

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        with suppress(OSError):
            yield


def _made(function: Callable[..., Any], flags: dict[str, Any]) -> Any:
    return cast(Any, numba).njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **flags)(function)


def compiled_inside(function: Callable[..., Any], flags: dict[str, Any]) -> Callable[..., Any]:
    """Return what numba makes of a kernel that other kernels call, and Python does not: it is kept with them, and
    nothing is compiled to take its arguments from Python."""
    return cast(Callable[..., Any], _made(function, {**flags, "no_cpython_wrapper": True}))


def compiled(function: Callable[..., Any], flags: dict[str, Any], tell: Callable[[], None]) -> Callable[..., Any]:
    """Return what numba makes of a kernel: no Python objects, the lock released, IEEE division. Where it is not in the
    cache, `tell` is called before it is compiled."""
    made = _made(function, flags)
    if CACHED and hasattr(made, "enable_caching"):  # not where numba is switched off
        with suppress(RuntimeError):  # no file can be opened, as where too many are open: there is no cache
            made._cache = _CheckedCache(function, tell)
    return cast(Callable[..., Any], made)


@cache
def let_kernels_call(kind: type) -> None:
    """Let kernels of a class, which have a field `inside`, call each other as if numba had compiled all of them when
    they were defined."""
    typeof_impl.register(kind)(lambda kernel, context: types.Dispatcher(kernel.inside))
