"""The same bytes with any number of threads and processes, and whatever Python makes of the order of sets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import BARE, succeed

from sdm.executors import ahead

FEW = ["--background-points", "400", "--categorical", "landcover", "--seed", "9", "--no-report", "--no-curves"]
FEW += ["--no-map-picture", "--dpi", "72"]  # pictures are not compared here
TUNE = ["--feature-sets", "lq,lqh", "--multipliers", "1,3", "--folds", "3", *FEW]
FIT = ["--fc", "lqph", "--folds", "3", *FEW]
WAYS = {
    "one": ({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1"}, "1"),
    "two": ({"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "8", "PYTHONHASHSEED": "2"}, "2"),
}


@pytest.fixture(scope="module")
def results(world, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """What two ways of doing the same work wrote: models, maps and tables."""
    found = {}
    for way, (environment, count) in WAYS.items():
        out = tmp_path_factory.mktemp(way)
        inputs = ["one.csv", "layers", "--processes", count, "--threads", count]
        for words in (
            ["tune", *inputs, *TUNE, "-o", out / "tune"],
            ["fit", *inputs, *FIT, "-o", out / "fit"],
            ["predict", out / "fit" / "Virtualis_montanus.npz", "layers", "--threads", count, "-o", out / "again.tif"],
        ):
            command = [sys.executable, "-m", "sdm_cli.main", *map(str, words), "-q"]
            done = subprocess.run(
                command, cwd=world.folder, env={**os.environ, **environment}, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
        files = [path for kind in ("npz", "tif", "csv") for path in out.rglob(f"*.{kind}")]
        found[way] = {path.relative_to(out).as_posix(): path.read_bytes() for path in files}
    return found


@pytest.mark.thorough
def test_tuning_fitting_and_mapping_give_the_same_bytes(results) -> None:
    one, two = results["one"], results["two"]
    assert one.keys() == two.keys()
    assert {Path(name).suffix for name in one} == {".npz", ".tif", ".csv"}
    assert {"again.tif", "tune/tune.csv"} <= one.keys()
    assert [name for name in one if one[name] != two[name]] == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        ("fit", *BARE),
        ("tune", *BARE, "--multipliers", "1,2", "--folds", 2),
        ("path", *BARE),
        ("curve", "learning", "--categorical", "landcover", "--sets", "l", "--partitions", 2),
    ],
    ids=lambda words: words[0],
)
def test_every_command_that_fits_has_the_threads_that_are_wanted(words, world, tmp_path, monkeypatch) -> None:
    """Of many cells; those of this world are few."""
    monkeypatch.delenv("SDM_THREADS", raising=False)
    monkeypatch.setattr(ahead, "MANY", 1)
    asked: list[int] = []
    threads_for = ahead.threads_for
    monkeypatch.setattr(ahead, "threads_for", lambda cells: asked.append(threads_for(cells)) or asked[-1])
    place = 2 if words[0] == "curve" else 1
    files = (world.records, world.layers, "-o", tmp_path / "out", "--threads", 3)
    succeed(*words[:place], *files, *words[place:])
    assert 3 in asked
    assert set(asked) <= {1, 3}, "1 for what is one part"
