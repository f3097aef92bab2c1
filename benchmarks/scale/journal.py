"""Twenty thousand species that cost next to nothing each: what a long batch itself costs, and what it leaves."""

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.commands import CLOCK, measured
from benchmarks.scale.worlds import BenchmarkWorld, whole_result
from benchmarks.tools.harness import table

OPTIONS = ["--fc", "l", "--background-points", "500", "--no-curves", "--no-map", "--no-report", "--no-importance"]
EARLY, LATE = (0.05, 0.15), (0.85, 0.95)  # shares of the run


def pace(moments: Sequence[float], part: tuple[float, float]) -> float:
    """Return the seconds per species between two shares of a run, from the moments when species were finished."""
    ordered = np.sort(moments)
    first, last = (int(share * (len(ordered) - 1)) for share in part)
    return float((ordered[last] - ordered[first]) / max(1, last - first))


def left_behind(out: Path) -> dict[str, Any]:
    """Return what a batch leaves: files in all and in the fullest folder, and the sizes of what grows with it."""
    files = [path for path in out.rglob("*") if path.is_file()]
    entries = Counter(path.parent for path in out.rglob("*"))
    top = [path for path in files if path.parent in (out, out / ".sdm")]

    def megabytes(*words: str) -> float | str:
        found = [path.stat().st_size for path in top if any(word in path.name for word in words)]
        return sum(found) / 1e6 if found else "none"

    return {
        "files": len(files),
        "most in one folder": max(entries.values()),
        "journal (MB)": megabytes("journal"),
        "index page (MB)": megabytes("index.html"),
        "summary (MB)": megabytes("summary.csv"),
        "results (MB)": sum(path.stat().st_size for path in files) / 1e6,
    }


def many_tiny(world: BenchmarkWorld, count: int) -> dict[str, Any]:
    """A batch of tiny species: its pace early and late, what it leaves, and what it costs to do nothing again."""
    out, options = world.folder / "out", [*OPTIONS, "--processes", "2", "-q"]
    measured(["fit", world.records(4), world.layers, "-o", world.folder / "warm", *options])  # compiles
    command: list[str | Path] = ["fit", world.records(count), world.layers, "-o", out, *options]
    with whole_result(out, count, 0):
        spent = measured(command)
    moments = [path.stat().st_mtime for path in out.rglob("*.npz")]
    paces = {"early": pace(moments, EARLY), "late": pace(moments, LATE)}
    row = {"species": count, **spent, "per species": spent[CLOCK] / count, **paces, "load": os.getloadavg()[0]}
    table("tiny species: the run, with seconds per species early and late in it", [row])
    left = left_behind(out)
    table("tiny species: what the run leaves", [left])
    result: dict[str, Any] = {"rows": [row], "left": left, "found": {"late over early": paces["late"] / paces["early"]}}
    result["resumed"] = measured([*command, "--resume"])
    table("tiny species: --resume when all are done", [result["resumed"]])
    shutil.rmtree(out)
    return result
