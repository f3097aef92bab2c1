"""Bars that move: with a terminal on standard error, whoever waits sees what goes on, how fast, and how long yet."""

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console as Terminal
from terminal import BARE, PLAIN, process, rows, watched, write_table

from sdm.progress.stages import Stages
from sdm.progress.telling import species_stage
from sdm.simulate.world import simulate
from sdm_cli.bars import Bars

COUNT = re.compile(r"(\d+) of (\d+)")


def counts(shown: Sequence[str], stage: str) -> list[tuple[int, int]]:
    """The counts that a bar showed, each once."""
    found = (COUNT.search(line) for line in shown if re.match(rf"{stage}  +━", line))
    return list(dict.fromkeys((int(one[1]), int(one[2])) for one in found if one))


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of many layers, whose fits take long enough to be watched."""
    folder = tmp_path_factory.mktemp("wide")
    simulate(folder, size=120, layers=12, records=200, seed=4)
    return folder


@pytest.mark.thorough
def test_the_stages_of_a_single_fit_move_one_after_the_other(commands, wide: Path, tmp_path: Path) -> None:
    words = ("fit", wide / "occurrences.csv", wide / "layers", "--categorical", "landcover", "--fc", "lqph")
    more = ("--folds", 16, "--jackknife", "--null-models", 3, "--no-curves", "--no-map", *PLAIN)
    done, shown = watched(commands, *words, *more, "-o", tmp_path / "out")
    assert done.returncode == 0, shown[-5:]
    seen = {stage: counts(shown, stage) for stage in ("cross-validation", "jackknife", "null models")}
    for (stage, found), total in zip(seen.items(), (16, 25, 3)):
        assert len(found) >= 2, f"{stage} moves: {found}"
        assert {number for _, number in found} == {total}
        assert found == sorted(found), f"{stage} never goes back: {found}"
    order = [next(k for k, line in enumerate(shown) if line.startswith(f"{stage}  ")) for stage in seen]
    assert order == sorted(order)
    assert [line for line in shown if re.match(r"null models .* of 3  .*(per second|each)  .* left$", line)]
    assert [line for line in shown if line.startswith("12 variables: ")], "a line of its own, above the bars"


def test_a_batch_shows_its_species_and_below_them_what_is_going_on(commands, world, tmp_path: Path) -> None:
    table = [list(row.values()) for row in rows(world.both)]
    broken = write_table(tmp_path / "r.csv", list(rows(world.both)[0]), [["Rara avis", *table[0][1:]], *table])
    words = ("fit", broken, world.layers, *BARE, *PLAIN, "--null-models", 30, "--folds", 4)
    done, shown = watched(commands, *words, "-o", tmp_path / "out")
    assert done.returncode == 1, shown[-5:]
    assert counts(shown, "species")[-2:] == [(1, 3), (2, 3)]
    assert [line for line in shown if re.match(r"species .* of 3, 1 failed", line)]
    # Between two stages nothing is below it, and the next that is shown can be a line of text.
    rows_below = [below for row, below in pairwise(shown) if row.startswith("species  ") and "━" in below]
    assert all(re.match(r"[a-z][a-z -]+  +━", below) for below in rows_below)
    assert [below for below in rows_below if below.startswith("null models  ") and " of 30" in below]


@pytest.mark.thorough
def test_no_bar_where_nobody_watches(commands, world, tmp_path: Path) -> None:
    """With --quiet or --json a terminal shows no bar, and results have none in them."""
    words = ("fit", world.records, world.layers, *BARE, *PLAIN)
    for option in ("--quiet", "--json"):
        done, shown = watched(commands, *words, option, "-o", tmp_path / option)
        assert done.returncode == 0
        assert not [line for line in shown if "━" in line]
        assert "━" not in done.stdout
    piped = process(*words, "-o", tmp_path / "piped")
    assert "━" not in piped.stderr + piped.stdout
    assert not [line for line in piped.stderr.splitlines() if " of " in line], "a short run says no more than it must"


def test_verbose_keeps_a_line_of_every_stage(commands, world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *BARE, *PLAIN, "--folds", 3, "-v")
    done, shown = watched(commands, *words, "-o", tmp_path / "out")
    assert done.returncode == 0
    assert [line for line in shown if re.fullmatch(r"cross-validation: 3 of 3 in [\d.]+ s", line)]
    assert [line for line in shown if re.fullmatch(r"fitting: done in [\d.]+ s", line)]


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _rows(bars: Bars) -> list[str]:
    with bars.terminal.capture() as caught:
        bars.terminal.print(bars.table())
    return [line.rstrip() for line in caught.get().splitlines() if line.strip()]


def test_short_stages_do_not_flicker() -> None:
    clock = _Clock()
    stages = Stages(clock=clock)
    bars = Bars(stages, Terminal(width=120, no_color=True))
    stages(0, 9, "map")
    assert [row.split()[0] for row in _rows(bars)] == ["working"]
    clock.now = 0.4
    stages(9, 9, "map")
    assert [row.split()[0] for row in _rows(bars)] == ["working"]
    stages(0, 9, "jackknife")
    clock.now = 1.0
    assert [row.split()[0] for row in _rows(bars)] == ["jackknife"]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_row_is_one_line_whatever_the_width_and_the_name(width: int) -> None:
    clock = _Clock()
    stages = Stages(clock=clock)
    bars = Bars(stages, Terminal(width=width, no_color=True))
    stages(10, 1000, species_stage(3))
    stages(0, 5, "scenario [bold]\x1b[31mRCP_8.5 of a very long name, longer than any terminal is wide[/bold]")
    clock.now = 5.0
    found = _rows(bars)
    assert len(found) == 2
    assert "\x1b" not in "".join(found)
    if width == 200:
        assert found[0].split("  ")[0] == "species"
        assert "10 of 1,000, 3 failed" in found[0]
        assert "[bold]\\x1b[31mRCP_8.5" in found[1], "no markup, and nothing that a terminal obeys"


@pytest.mark.thorough
def test_a_terminal_that_cannot_move_the_cursor_gets_no_bar(world, tmp_path: Path) -> None:
    ours, theirs = pytest.importorskip("pty").openpty()
    try:
        words = ("fit", world.records, world.layers, *BARE, *PLAIN, "-o", tmp_path / "out")
        done = process(*words, stderr=theirs, env={"TERM": "dumb"})
    finally:
        os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "5 variables" in shown
    assert "━" not in shown
