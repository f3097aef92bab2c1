"""What may be expected of the program's speed, beside what was measured last; measures nothing itself.

`make bench` measures (`python -m benchmarks speed engine application`) and then prints this table.
"""

import sys
from typing import Any

from benchmarks.tools.harness import earlier, table

WARM, WHOLE, MAP = "warm fit, 10,116 points", "model of all cells, every knot", "map of 16 million cells"
MEMORY, SIZE, SHARED = "memory of that map", "installed, with all it needs", "tuning, 2 processes for 1"
MOST = {WARM: 0.08, WHOLE: 7.0, MAP: 4.0, MEMORY: 0.5, SIZE: 600.0}  # beside those of `speed`
LEAST = {SHARED: 1.7}


def limits() -> list[dict[str, Any]]:
    """Return one row per limit: what was measured, whether it holds, and how many times its floor that is."""
    speed, engine, application = (_found(name) for name in ("speed", "engine", "application"))
    rows = [
        _row(row["job"], row["seconds"], "s", row["floor"], row["times"], most=row["at most"])
        for part in ("starting", "whole", "tuning")
        for row in speed[part]
        if row["at most"] != "-"
    ]
    one, two = (row["seconds"] for row in speed["tuning"])
    warm = engine["warm fit"]
    (large,) = (row for row in application["large maps"] if row["cells"] == 16_000_000)
    return [
        *rows,
        _row(SHARED, one / two, "times as fast"),
        _row(WARM, warm["seconds"], "s", "a matrix product", warm["times"]),
        _row(WHOLE, engine["whole domain"]["seconds"], "s"),
        _row(MAP, large["seconds"], "s", "reading and writing", large["times reading and writing"]),
        _row(MEMORY, large["peak GB"], "GB"),
        _row(SIZE, speed["installed"]["MB in all"], "MB"),
    ]


def _found(name: str) -> dict[str, Any]:
    return earlier(name) or sys.exit(f"nothing was measured yet: python -m benchmarks {name}")


def _row(
    what: str, found: float, unit: str, floor: str = "-", times: float | str = "-", most: float | None = None
) -> dict[str, Any]:
    most = MOST.get(what) if most is None else most
    held = found >= LEAST[what] if most is None else found <= most
    return {
        "what": what,
        "measured": found,
        "": unit,
        "limit": f"at least {LEAST[what]:.3g}" if most is None else f"at most {most:.3g}",
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
