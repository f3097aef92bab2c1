"""When Python looks for garbage. What a command imports is none, and looking through it takes a tenth of a second."""

import gc
from typing import Any

IMPORTED = 400_000  # objects: more than a command imports with all that one model needs
RARELY = (20_000, 25, 10)


def look_late_for_garbage() -> None:
    """Look for it when there are more objects than are imported, and from then on often enough for batches, whose
    pictures are garbage of some megabytes each."""
    gc.set_threshold(IMPORTED, *RARELY[1:])
    gc.callbacks.append(_look_from_now_on)


def _look_from_now_on(phase: str, info: dict[str, Any]) -> None:
    """After the first look."""
    if phase == "stop":
        gc.callbacks.remove(_look_from_now_on)
        gc.set_threshold(*RARELY)
