"""What may be expected of the program's speed, beside what was measured last; measures nothing itself.

`make bench` measures (`python -m benchmarks speed engine application`) and then prints this table.
"""

import sys
from typing import Any

from benchmarks.tools.harness import earlier, table

MODEL_ONLY, MAP, MEMORY, WARM, MEGABYTES, SHARE = 7.0, 4.0, 0.5, 0.08, 600.0, 1.7
"""Seconds of a fit to all cells and of a map of 16 million, its gigabytes, seconds of a fit in a process that is warm,
megabytes of the program with all that it needs, and how many times as fast two processes are to tune as one."""


def limits() -> list[dict[str, Any]]:
    """Return one row per limit: what was measured, whether it holds, and how many times its floor that is."""
    speed, engine, application = (_found(name) for name in ("speed", "engine", "application"))
    rows = [
        _row(row["job"], row["seconds"], "s", row["at most"], row["floor"], row["times"])
        for part in ("starting", "whole", "tuning")
        for row in speed[part]
        if row["at most"] != "-"
    ]
    one, two = (row["seconds"] for row in speed["tuning"])
    rows.append(_row("tuning, 2 processes for 1", one / two, "times as fast", SHARE, least=True))
    warm = engine["warm fit"]
    rows.append(_row("warm fit, 10,116 points", warm["seconds"], "s", WARM, "a matrix product", warm["times"]))
    rows.append(_row("model of all cells, every knot", engine["whole domain"]["seconds"], "s", MODEL_ONLY))
    (large,) = (row for row in application["large maps"] if row["cells"] == 16_000_000)
    floor = ("reading and writing", large["times reading and writing"])
    rows.append(_row("map of 16 million cells", large["seconds"], "s", MAP, *floor))
    rows.append(_row("map of 16 million cells", large["peak GB"], "GB", MEMORY))
    rows.append(_row("installed, with all it needs", speed["installed"]["MB in all"], "MB", MEGABYTES))
    return rows


def _found(name: str) -> dict[str, Any]:
    return earlier(name) or sys.exit(f"nothing was measured yet: python -m benchmarks {name}")


def _row(
    what: str, found: float, unit: str, limit: float, floor: str = "-", times: float | str = "-", least: bool = False
) -> dict[str, Any]:
    held = found >= limit if least else found <= limit
    word = "at least" if least else "at most"
    return {
        "what": what,
        "measured": found,
        "": unit,
        "limit": f"{word} {limit:.3g}",
        "held": "held" if held else "NOT HELD",
        "floor": floor,
        "times the floor": times,
    }


def main() -> None:
    rows = limits()
    table("limits, on two quiet cores; seconds differ from day to day, times a floor of the same run hardly", rows)
    print(f"\n{sum(row['held'] == 'held' for row in rows)} of {len(rows)} held")


if __name__ == "__main__":
    main()
