"""The only place that names numba: the decorator, its flags and its cache folder.

numba does not notice when a callee in another file changes, so compiled kernels are kept in a folder whose
name holds a hash of all kernel sources. Where no folder is writable there is no cache, and no crash. Nor does it notice
a damaged file, and would run what is in it, so every file ends in a digest: without it, it is removed and made again.
"""

import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from sdm._version import __version__

F = TypeVar("F", bound=Callable[..., Any])
_DIGEST = hashlib.sha256().digest_size


def _user_cache() -> Path:
    """Return the folder for caches on this system; ``SDM_CACHE_DIR`` overrides it."""
    if override := os.environ.get("SDM_CACHE_DIR"):
        return Path(override)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "sdm"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sdm"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sdm"


def _source_hash() -> str:
    """Hash every source file of this package that defines kernels."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if b"sdm._jit" in source:
            digest.update(source)
    return digest.hexdigest()[:16]


def _prepare_cache() -> bool:
    """Point numba at our cache folder; return whether it can be written."""
    try:
        folder = _user_cache() / f"{__version__}-{_source_hash()}"
        folder.mkdir(parents=True, exist_ok=True)
        if hasattr(os, "getuid"):  # compiled code is run: nobody else may put it there
            if folder.stat().st_uid != os.getuid():
                return False
            folder.chmod(0o700)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):
        return False
    cast(Any, numba.config).CACHE_DIR = str(folder)  # numba sets its options at run time
    return True


CACHED = _prepare_cache()


def _whole(path: str) -> bool:
    """Whether a file ends in the digest of the rest; remove one that does not."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    if hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]:
        return True
    with suppress(OSError):
        os.unlink(path)
    return False


class _CheckedFile(IndexDataCacheFile):
    """Files of one kernel, each with a digest at its end, which pickle does not read."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        body = io.BytesIO()
        yield body
        with super()._open_for_write(filepath) as out:
            out.write(body.getvalue() + hashlib.sha256(body.getvalue()).digest())

    def _load_index(self) -> dict[Any, str]:
        return super()._load_index() if _whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not _whole(self._data_path(name)):
            raise FileNotFoundError  # numba compiles it again
        return super()._load_data(name)


class _CheckedCache(FunctionCache):
    """The cache of one kernel, which a disk that is full or fails does not stop from running."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # The folder's name says which sources they are: the same kernels serve every environment that has these, so
        # neither the place nor the time of a source file counts.
        folder = Path(cast(Any, numba.config).CACHE_DIR)
        self._cache_path = str(folder / function.__module__)
        with suppress(OSError):
            os.makedirs(self._cache_path, exist_ok=True)
        self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base, folder.name)

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        with suppress(OSError):
            yield


def _compile(function: F, **flags: Any) -> F:
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **flags)(function)
    if CACHED and hasattr(compiled, "enable_caching"):  # not where numba is switched off
        compiled._cache = _CheckedCache(function)
    return cast(F, compiled)


def jit(function: F) -> F:
    """Compile a kernel: no Python objects, the lock released, IEEE division, cached on disk where possible."""
    return _compile(function)


def jit_sum(function: F) -> F:
    """Compile a kernel of plain sums whose terms may be added in any order, and so several at a time."""
    return _compile(function, fastmath={"reassoc", "contract", "nsz"})


def jit_finite(function: F) -> F:
    """Compile a kernel of numbers none of which is missing: several at a time are compared at once, and nothing is
    rounded otherwise."""
    return _compile(function, fastmath={"nnan", "nsz"})
