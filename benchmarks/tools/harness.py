"""What every benchmark needs: timing, peak memory, tables, results as JSON, and the shared data."""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import sdm

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def shared() -> Path:
    """Return the folder of real data, or stop with a reason."""
    folder = Path(os.environ.get("SDM_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        sys.exit(f"the benchmarks need the data sets in {folder}: set SDM_SHARED to where they are")
    return folder


def best_of(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Call once to warm up, then return the shortest time of some repeats, and the last result."""
    function()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - began)
    return min(times), result


def once(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time of one call, and its result."""
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def peak_gigabytes() -> float:
    """Return the most memory that this process has held so far, or the one that started it had held until then."""
    scale = 1e9 if sys.platform == "darwin" else 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def in_fresh_process(module: str, function: str) -> dict[str, Any]:
    """Run `module.function()` in a process of its own; return its JSON result. Its memory is its own if this process
    has held less until now."""
    code = f"import json; from {module} import {function} as f; print('RESULT' + json.dumps(f()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if not lines:
        sys.exit(f"{module}.{function} failed:\n{done.stderr}")
    return json.loads(lines[-1][len("RESULT") :])  # type: ignore[no-any-return]


def table(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as an aligned table."""
    heads = list(rows[0])
    cells = [[_text(row[head]) for head in heads] for row in rows]
    widths = [max(len(head), *(len(line[k]) for line in cells)) for k, head in enumerate(heads)]
    print(f"\n{title}")
    print("  ".join(head.rjust(width) for head, width in zip(heads, widths)))
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
    sys.stdout.flush()


def measured() -> dict[str, Any]:
    """Return what a figure depends on: version, commit, date, processor and libraries."""
    import numba

    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return {
        "sdm": sdm.__version__,
        "commit": done.stdout.strip() or "unknown",
        "date": datetime.now(UTC).date().isoformat(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def save(name: str, results: Mapping[str, Any]) -> None:
    """Write the parts of a benchmark that were measured; other parts in the file stay, with their own date."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    before = json.loads(path.read_text()) if path.exists() else {"measured": {}}
    content = {**before, **results}
    content["measured"] = before["measured"] | dict.fromkeys(results, measured())
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"\nwritten: {path.relative_to(ROOT)}")


def earlier(name: str) -> dict[str, Any]:
    """Return the parts of a benchmark that were saved before."""
    path = RESULTS / f"{name}.json"
    parts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    parts.pop("measured", None)
    return parts


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
