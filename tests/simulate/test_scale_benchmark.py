"""The measures of the benchmark `scale`: a wrong one would be a wrong claim."""

import os
import subprocess
import sys

import pytest

from benchmarks.scale.commands import memory_of, process_tree
from benchmarks.scale.journal import EARLY, LATE, left_behind, pace
from benchmarks.scale.scale import LEAST, MOST, verdicts
from benchmarks.scale.worlds import make_tiny_world, whole_result

HOLD = "import sys; block = bytearray({0}); block[::4096] = b'x' * len(block[::4096]); print('ready', flush=True); "


def started(code: str) -> subprocess.Popen:
    """Start Python, and wait until it says that it is ready."""
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="needs Linux's /proc")
def test_memory_counts_children_of_children():
    """A batch's memory is mostly that of its workers."""
    inner = HOLD.format(60_000_000) + "sys.stdin.read()"
    middle = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with started(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {middle!r}])") as child:
        try:
            assert len(process_tree(child.pid)) == 3
            assert 0.06 < memory_of(process_tree(child.pid)) < 0.2
        finally:
            child.stdin.close()
    assert memory_of(process_tree(child.pid)) == 0


def test_pace_is_that_of_its_part_of_the_run():
    """A second for each of the first half, three for each of the rest, in any order."""
    moments = [float(k) for k in range(100)] + [100.0 + 3 * k for k in range(100)]
    assert pace(moments[::-1], EARLY) == pytest.approx(1)
    assert pace(moments, LATE) == pytest.approx(3)


def test_a_limit_that_is_not_held_is_said():
    found = {"seconds per species, 2 processes": 0.4, "species per second": 25.0}
    slow, fast = verdicts(found)
    assert slow.endswith("limit at most 0.35: NOT HELD")
    assert fast.endswith("limit at least 20: held")
    assert not {*MOST} & {*LEAST}
    assert verdicts({"species per second": 19.9})[0].endswith("NOT HELD")


def test_a_batch_that_failed_is_not_measured(tmp_path):
    (tmp_path / "a.npz").touch()
    (tmp_path / "summary.csv").write_text("species,error\na,\n")
    with whole_result(tmp_path, 1, 0):
        pass
    with (
        pytest.raises(SystemExit, match="1 models and 0 maps; expected 1 models and 1 maps"),
        whole_result(tmp_path, 1, 1),
    ):
        pass
    (tmp_path / "summary.csv").write_text("species,error\na,too few records\n")
    with pytest.raises(SystemExit, match=r"1 failed \(a\)"), whole_result(tmp_path, 1, 0):
        pass


def test_batches_are_the_first_species_of_one_world(tmp_path):
    world = make_tiny_world(tmp_path / "tiny", 30)
    assert sorted(path.stem for path in world.layers.iterdir()) == ["precipitation", "temperature"]
    whole = (world.folder / "occurrences.csv").read_text().splitlines()
    few = world.records(7).read_text().splitlines()
    assert few == whole[: len(few)]
    assert len({line.split(",")[0] for line in few[1:]}) == 7
    assert world.records(30).read_text().splitlines() == whole


def test_what_a_batch_leaves_is_counted(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/index.html").write_bytes(b"x" * 500)  # of one species: not the index of the batch
    (tmp_path / "index.html").write_bytes(b"x" * 2_000_000)
    left = left_behind(tmp_path)
    assert (left["files"], left["most in one folder"], left["index page (MB)"]) == (2, 2, 2.0)
    assert left["journal (MB)"] == "none"
