"""The same seed gives the same bytes of model and map through terminal, run file and Python."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

SCRIPT = """
import sys, pandas, sdm
records, layers, out = sys.argv[1:]
options = dict(features="lq", background_points=400, categorical="landcover", repeats=2, folds=2, seed=9,
               curves=False, report=False, importance=False, dpi=50, species="Virtualis montanus")
sdm.fit(records, layers, output=out + "/paths", **options)
sdm.fit(pandas.read_csv(records), layers, output=out + "/objects", **options)
"""


@pytest.fixture(scope="module")
def folders(world, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    out = tmp_path_factory.mktemp("ways")
    plain = {
        "occurrences": {"file": str(world.records), "species": ["Virtualis montanus"]},
        "layers": {"files": [str(world.layers)], "categorical": ["landcover"]},
        "fit": {"features": "lq"}, "background": {"points": 400}, "seed": 9,
        "test": {"folds": 2, "repeats": 2, "importance": False},
        "output": {"curves": False, "report": False, "dpi": 50},
    }  # fmt: skip
    (out / "run.yaml").write_text(yaml.safe_dump(plain))
    words = [
        "fit", world.records, world.layers, "--species", "Virtualis montanus", "--categorical", "landcover",
        "--fc", "lq", "--background-points", 400, "--folds", 2, "--repeats", 2, "--seed", 9, "--no-curves",
        "--no-report", "--no-importance", "--dpi", 50,
    ]  # fmt: skip
    many = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    start = [sys.executable, "-m", "sdm_cli.main"]
    for command in (
        [*start, *words, "-o", out / "terminal"],
        [*start, "fit", out / "run.yaml", "-o", out / "yaml"],
        [sys.executable, "-c", SCRIPT, world.records, world.layers, out],
    ):  # a process with as many threads of linear algebra as it likes
        done = subprocess.run(list(map(str, command)), env=many, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return [out / name for name in ("terminal", "yaml", "paths", "objects")]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["Virtualis_montanus.npz", "Virtualis_montanus.tif", "Virtualis_montanus_omission.csv"]
)
def test_the_same_bytes(folders: list[Path], name: str) -> None:
    contents = {folder.name: (folder / name).read_bytes() for folder in folders}
    assert len(set(contents.values())) == 1, {key: len(value) for key, value in contents.items()}
