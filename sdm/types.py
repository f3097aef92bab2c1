"""Types that every part of the package shares."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Label = str | int | float
"""The name of a class."""
Colour = tuple[int, int, int]
"""Red, green and blue, from 0 to 255."""
Progress = Callable[[int, int, str], None]
"""Called with steps done, steps in all, and the name of the stage (see `sdm.progress.telling`)."""
