"""Types that every part of the package shares."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]
AnyArray = NDArray[Any]
"""An array whose type of values depends on the caller."""
Numbers = dict[str, Any]
"""What was measured or is stored, by name: JSON values."""
Row = dict[str, Any]
"""A row of a table, by column."""
Label = str | int | float
"""The name of a class."""
Colour = tuple[int, int, int]
"""Red, green and blue, from 0 to 255."""
Progress = Callable[[int, int, str], None]
"""Called with steps done, steps in all, and the name of the stage (see `sdm.progress.telling`)."""


class Framed(Protocol):
    """A data frame of any library: it has columns with names."""

    @property
    def columns(self) -> Any:
        """The names."""


TableLike = ArrayLike | Mapping[str, Any] | Framed
"""One row per point and one column per variable: an array, nested lists, a data frame, or columns by name."""
