"""The decorator of kernels, and the only place that names numba, which is loaded when a kernel is first called.

numba keeps compiled kernels in folders whose names have the versions of sdm and numba, and a digest of all sources that
a kernel is made of: numba itself does not notice when a callee in another file changes. Where no folder is writable
there is no cache. The sources of a kernel are its file, and every file of this package that it imports from, directly
or not: a compiled kernel holds the code of the kernels that it calls and the constants that it uses.
"""

import hashlib
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from pickle import UnpicklingError
from threading import RLock
from typing import Any, cast

from sdm._version import __version__
from sdm.storage.user_cache import private_folder

PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(sdm(?:\.\w+)*)(?:[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n]*)))?", re.MULTILINE
)
when_compiling: list[Callable[[], None]] = []
"""Called once, before the first kernel that is not yet in the cache of this machine is compiled."""

_lock = RLock()  # the folder of the cache is a setting of numba for all threads


class Kernel:
    """A function that numba compiles: no Python objects, the lock released, IEEE division."""

    def __init__(self, function: Callable[..., Any], fastmath: set[str]) -> None:
        self._function, self._fastmath = function, fastmath
        update_wrapper(self, function)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The function that numba compiles for each kind of arguments, unless it is in the cache."""
        with _lock:
            folder = self._folder()
            if folder is not None:
                _numba().config.CACHE_DIR = str(folder)
                with suppress(RuntimeError):  # no file can be opened, as where too many are open
                    return self._njit(cache=True)
            return self._njit()

    @cached_property
    def inside(self) -> Callable[..., Any]:
        """The function that other kernels call. It is kept with them; nothing is compiled to call it from Python."""
        return self.__dict__.get("compiled") or self._njit(no_cpython_wrapper=True)

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel. Where the cache is damaged or cannot be written, it is compiled for this process alone."""
        try:
            return self.compiled(*arguments)
        except (OSError, EOFError, UnpicklingError):
            shutil.rmtree(self._folder() or "", ignore_errors=True)
            self.compiled = self._njit()
            return self.compiled(*arguments)

    def _njit(self, **options: Any) -> Callable[..., Any]:
        njit = _numba().njit(nogil=True, error_model="numpy", fastmath=self._fastmath, **options)
        return cast(Callable[..., Any], njit(self._function))

    def _folder(self) -> Path | None:
        """Return the folder of the cache for the kernels of a file; None where none is writable."""
        folder = _cache_folder()
        stamp = kernel_digest(Path(self._function.__code__.co_filename))
        return None if folder is None else folder / f"{self._function.__module__}-{stamp}"


@cache
def _numba() -> Any:
    """Load numba. Kernels call each other, and it says when it compiles one."""
    import numba
    from numba.core import event
    from numba.extending import typeof_impl

    class Compiling(event.Listener):
        """Calls what waits for the first compilation."""

        def on_start(self, event: Any) -> None:
            while when_compiling:
                when_compiling.pop()()

        def on_end(self, event: Any) -> None:
            """Nothing waits for the end."""

    register: Callable[..., Any] = event.register
    register("numba:compile", Compiling())
    typeof_impl.register(Kernel)(lambda kernel, context: numba.types.Dispatcher(kernel.inside))
    return numba


@cache
def _cache_folder() -> Path | None:
    return private_folder(f"{__version__}-numba{_numba().__version__}")


def jit(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel."""
    return Kernel(function, set())


def jit_sum(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel of plain sums whose terms may be added in any order, and so several at a time."""
    return Kernel(function, {"reassoc", "contract", "nsz"})


def jit_finite(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel of numbers none of which is missing: several at a time are compared at once, and nothing is
    rounded otherwise."""
    return Kernel(function, {"nnan", "nsz"})


@cache
def _read(path: Path) -> tuple[bytes, frozenset[Path]]:
    """Return the digest of a file, and the files of the package that it imports from."""
    content = path.read_bytes()
    imported = set[Path]()
    for module, in_brackets, on_line in _IMPORT.findall(content):
        place = PACKAGE.joinpath(*module.decode().split(".")[1:])
        names = re.findall(r"\w+", (in_brackets or on_line).decode())
        imported |= {place.with_suffix(".py"), place / "__init__.py", *(place / f"{name}.py" for name in names)}
    return hashlib.sha256(content).digest(), frozenset(file for file in imported if file.is_file())


@cache
def kernel_digest(path: Path) -> str:
    """Return a digest of a file and of everything that it imports from this package."""
    to_read, sources = [path], {path}
    while to_read:
        new = _read(to_read.pop())[1] - sources
        sources |= new
        to_read += new
    return hashlib.sha256(b"".join(_read(file)[0] for file in sorted(sources))).hexdigest()[:16]
