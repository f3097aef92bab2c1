"""Inputs that were made to take long: messages with a long word, wide tables, `.lambdas` of many variables.

Twice the size should take twice the time; the square of the size would take four times.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.tools.harness import save, table
from sdm.data.records.textfile import TextTable
from sdm.errors import hide_secrets
from sdm.models.lambdas import CONSTANTS, parse_lambdas


def message(size: int, _: Path) -> Callable[[], Any]:
    """Return the search for secrets in a message of this many letters."""
    text = "a" * size
    return lambda: hide_secrets(text)


def wide_table(size: int, folder: Path) -> Callable[[], Any]:
    """Return the reading of a table of this many columns."""
    path, row = folder / f"{size}.csv", ",".join(map(str, range(size)))
    path.write_text(",".join(f"v{k}" for k in range(size)) + f"\n{row}\n{row}\n")
    return lambda: TextTable(path).read(set())


def lambdas(size: int, _: Path) -> Callable[[], Any]:
    """Return the reading of a `.lambdas` file of this many variables."""
    lines = [f"v{k}, 0.1, 0.0, 1.0" for k in range(size)] + [f"{name}, 1.0" for name in CONSTANTS]
    return lambda: parse_lambdas("\n".join(lines))


INPUTS = {
    "letters of a message": (message, 500_000),
    "columns of a table": (wide_table, 1_000),
    "variables of a .lambdas file": (lambdas, 4_000),
}


def main() -> None:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for what, (make, size) in INPUTS.items():
            make(size // 2, Path(folder))()  # load what reads it
            seconds = []
            for n in (size, 2 * size, 4 * size):
                job = make(n, Path(folder))
                began = time.process_time()
                job()
                seconds.append(time.process_time() - began)
                ratio = seconds[-1] / seconds[-2] if len(seconds) > 1 else None
                rows.append({"input": what, "size": n, "seconds": seconds[-1], "ratio to half the size": ratio})
    table("Inputs that were made to take long (a ratio of 2 is linear)", rows)
    save("hostile", {"hostile": rows})


if __name__ == "__main__":
    main()
