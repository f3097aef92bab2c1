"""The decorator of kernels. A kernel is compiled when it is first called, and numba is loaded only then."""

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

when_compiling: list[Callable[[], None]] = []
"""Called once, before the first kernel that is not yet in the cache of this machine is compiled."""


class Kernel:
    """A function that numba compiles."""

    def __init__(self, function: Callable[..., Any], flags: dict[str, Any]) -> None:
        self._function, self._flags = function, flags
        update_wrapper(self, function)

    @cached_property
    def compiled(self) -> Any:
        """What numba made of it, which compiles for each kind of arguments at its first call."""
        from sdm._jit.compiling import compiled, let_kernels_call

        let_kernels_call(Kernel)
        return compiled(self._function, self._flags, _tell)

    @cached_property
    def inside(self) -> Any:
        """What other kernels call: the same, if Python called it before."""
        from sdm._jit.compiling import compiled_inside

        return self.__dict__.get("compiled") or compiled_inside(self._function, self._flags)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)


def _tell() -> None:
    while when_compiling:
        when_compiling.pop()()


def jit(function: F) -> F:
    """Compile a kernel: no Python objects, the lock released, IEEE division, cached on disk where possible."""
    return cast(F, Kernel(function, {}))


def jit_sum(function: F) -> F:
    """Compile a kernel of plain sums whose terms may be added in any order, and so several at a time."""
    return cast(F, Kernel(function, {"fastmath": {"reassoc", "contract", "nsz"}}))


def jit_finite(function: F) -> F:
    """Compile a kernel of numbers none of which is missing: several at a time are compared at once, and nothing is
    rounded otherwise."""
    return cast(F, Kernel(function, {"fastmath": {"nnan", "nsz"}}))
