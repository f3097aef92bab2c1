"""Progress in the output of a job: not silent for hours, and not a line per step."""

import re
import time
from pathlib import Path

import pytest
from terminal import BARE, sdm

from sdm.progress.stages import Stages
from sdm_cli import console, progress_lines
from sdm_cli.progress_lines import ProgressLines, ticking


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def written(*, every: float, starts: bool = False, ends: bool = False) -> tuple[Clock, Stages, list[str]]:
    clock, out = Clock(), list[str]()
    lines = ProgressLines(out.append, every, starts=starts, ends=ends)
    stages = Stages([lines], clock)

    def at(now: float) -> None:
        clock.now = now
        lines.tick(stages.active(), now)

    clock.tick = at
    return clock, stages, out


def test_a_long_stage_has_a_line_every_so_often() -> None:
    clock, stages, out = written(every=30.0, ends=True)
    stages(0, 100, "null models")
    for second in range(1, 91):
        clock.now = float(second)
        stages(second, 100, "null models")
        clock.tick(float(second))
    assert out == [f"null models: {k} of 100, 1.0 per second, {100 - k} s left" for k in (30, 60, 90)]
    clock.now = 100.0
    stages(100, 100, "null models")
    assert out[-1] == "null models: 100 of 100 in 1 min"


def test_a_short_stage_has_none() -> None:
    clock, stages, out = written(every=30.0, ends=True)
    for k in range(5):
        stages(0, 2, "map")
        clock.tick(20.0 * k + 10.0)
        stages(2, 2, "map")
    assert out == []


def test_a_stage_that_does_not_move_is_told_less_and_less() -> None:
    clock, stages, out = written(every=30.0)
    stages(0, 1, "fitting")
    for second in range(3600):
        clock.tick(float(second))
    assert out[:4] == [f"fitting: {text} so far" for text in ("30 s", "60 s", "2 min", "4 min")]
    assert len(out) < 15
    assert out[-1].startswith("fitting: 5"), "but an hour later it is still told"


def test_a_log_has_the_beginning_and_the_end() -> None:
    clock, stages, out = written(every=10.0, starts=True)
    stages(0, 4, "cross-validation")
    assert out == ["cross-validation: 0 of 4"]
    clock.tick(5.0)
    assert len(out) == 1
    stages(1, 4, "cross-validation")
    clock.tick(10.0)
    assert out[1:] == ["cross-validation: 1 of 4, 5 s each, 10 s left"]


def test_the_stages_of_a_batch_are_told_only_if_they_take_a_while() -> None:
    """A flora has a hundred thousand stages."""
    clock, stages, out = written(every=10.0, starts=True)
    stages(0, 9, "species")
    stages(0, 4, "jackknife")
    clock.tick(0.3)
    stages(4, 4, "jackknife")
    assert out == ["species: 0 of 9"]
    stages(0, 4, "jackknife")
    clock.tick(1.0)
    assert out[1:] == ["jackknife: 0 of 4"]


def test_work_that_says_nothing_is_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_lines, "TICK", 0.01)
    out: list[str] = []
    lines = ProgressLines(out.append, 0.05)
    stages = Stages([lines])
    with ticking(stages, [lines]):
        stages(0, 1, "fitting")
        ended = time.monotonic() + 30
        while not out and time.monotonic() < ended:
            time.sleep(0.01)
    assert out
    before = len(out)
    time.sleep(0.2)
    assert len(out) == before, "nothing is written when the work is over"


def test_a_job_without_a_terminal_says_how_far_it_is(world, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "JOB_EVERY", 0.0)
    monkeypatch.setattr(progress_lines, "TICK", 0.01)
    words = ("fit", world.records, world.layers, *BARE, "--folds", 4, "--null-models", 4)
    said = sdm(*words, "-o", tmp_path / "a")
    assert said.exit_code == 0
    assert re.search(r"^null models: [123] of 4", said.stderr, re.MULTILINE)
    assert re.search(r"^null models: 4 of 4 in [\d.]+ s$", said.stderr, re.MULTILINE)
    assert "null models: " not in said.stdout
    quiet = sdm(*words, "-q", "-o", tmp_path / "b")
    assert (quiet.exit_code, quiet.output) == (0, "")
