"""Tasks for workers of every kind; none depends on how fast the machine is."""

import os
import signal
import time
from pathlib import Path

from sdm.errors import DataError


def square(number: int) -> tuple[int, list[int]]:
    return number * number, [number] * 3


def process_id() -> int:
    return os.getpid()


def threads_of_algebra() -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def fail_with_advice(name: str) -> None:
    raise DataError(f"layer '{name}' has no cells: use another")


def divide(number: int) -> float:
    return number / 0


def square_but_die_at_13(number: int) -> tuple[int, list[int]]:
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def busy(folder: str) -> None:
    """Say that it began, then never end."""
    (Path(folder) / f"{os.getpid()}.began").touch()
    while True:
        time.sleep(0.01)


def wait_for_go(folder: str, name: str) -> str:
    """Say that it began, and by which process; end when a file `go` is there."""
    (Path(folder) / f"{name}.{os.getpid()}.began").touch()
    while not (Path(folder) / "go").exists():
        time.sleep(0.01)
    return name
