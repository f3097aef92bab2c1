"""The table of limits says of every figure whether it holds, and which floor it is compared with."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.program import limits
from benchmarks.tools import harness


def job(name: str, seconds: float, most: float | str, floor: str = "an empty Python", times: float = 2.0) -> dict:
    return {"job": name, "seconds": seconds, "at most": most, "": "-", "floor": floor, "times": times}


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What three benchmarks have written."""
    speed = {
        "starting": [job("sdm --help", 0.1, 0.15), job("import numpy", 9.0, "-")],
        "whole": [job("all by default", 3.5, 3.0, "reading and writing", 4.0)],
        "tuning": [job("tuning, 1 process", 11.95, 12.0), job("tuning, 2 processes", 7.0, 7.0)],
        "installed": {"MB in all": 601.0},
    }
    engine = {"warm fit": {"seconds": 0.09, "times": 1.5}, "whole domain": {"seconds": 6.5}}
    one = {"seconds": 3.9, "peak GB": 0.4, "times reading and writing": 1.2}
    maps = [{"cells": cells, **one} for cells in (1_000_000, 16_000_000)]
    for name, found in (("speed", speed), ("engine", engine), ("application", {"large maps": maps})):
        (tmp_path / f"{name}.json").write_text(json.dumps(found))
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    return tmp_path


def test_every_limit_is_compared_with_what_was_measured(measured, capsys):
    limits.main()
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == "7 of 10 held"
    rows = limits.limits()
    assert [row["what"] for row in rows if row["held"] == "NOT HELD"] == [
        *("all by default", "warm fit, 10,116 points", "installed, with all it needs"),
    ]
    assert {row["what"]: row["times the floor"] for row in rows if row["floor"] == "reading and writing"} == {
        "all by default": 4.0,
        "map of 16 million cells": 1.2,
    }
    assert "import numpy" not in said


def test_two_processes_are_compared_with_one(measured):
    (row,) = (row for row in limits.limits() if row["what"] == "tuning, 2 processes for 1")
    assert row["measured"] == pytest.approx(11.95 / 7)
    assert (row["limit"], row["held"]) == ("at least 1.7", "held")


def test_what_was_not_measured_is_asked_for(measured):
    (measured / "engine.json").unlink()
    with pytest.raises(SystemExit, match="python -m benchmarks engine"):
        limits.limits()


def test_several_benchmarks_are_processes_of_their_own(monkeypatch):
    """What one holds is not counted as memory of the commands of the next. The first that fails ends them all."""
    began = []

    def run(words: list[str], check: bool) -> subprocess.CompletedProcess:
        began.append(words[1:])
        return subprocess.CompletedProcess(words, 3 if "engine" in words else 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "speed", "engine", "application", "--part", "whole"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 3
    assert began == [["-m", "benchmarks", name, "--part", "whole"] for name in ("speed", "engine")]
