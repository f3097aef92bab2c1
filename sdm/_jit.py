"""The only place that names numba: the decorator, its flags and its cache folder.

numba does not notice when a callee in another file changes, so compiled kernels are kept in a folder whose
name holds a hash of all kernel sources. Where no folder is writable there is no cache, and no crash.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from sdm._version import __version__

F = TypeVar("F", bound=Callable[..., Any])


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
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):
        return False
    cast(Any, numba.config).CACHE_DIR = str(folder)  # numba sets its options at run time
    return True


CACHED = _prepare_cache()


def _compile(function: F, **flags: Any) -> F:
    return cast(F, numba.njit(nogil=True, error_model="numpy", cache=CACHED, **flags)(function))


def jit(function: F) -> F:
    """Compile a kernel: no Python objects, the lock released, IEEE division, cached on disk where possible."""
    return _compile(function)


def jit_sum(function: F) -> F:
    """Compile a kernel of plain sums whose terms may be added in any order, and so several at a time."""
    return _compile(function, fastmath={"reassoc", "contract", "nsz"})
