"""`sdm example`: whoever installed the program can start without the repository."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from terminal import as_json, fail, files, rows, succeed

from sdm_cli.shipped import GUIDE, SAMPLE, shipped

ROOT = Path(__file__).parents[3]


def test_the_example_is_the_sample_and_its_run_file_runs(example: Path) -> None:
    for path in sorted(shipped(SAMPLE).rglob("*")):
        if path.is_file():
            assert (example / path.relative_to(shipped(SAMPLE))).read_bytes() == path.read_bytes()
    results = files(example / "results")
    assert {"Virtualis_montanus.html", "Virtualis_montanus.tif", "Virtualis_montanus_thresholded.tif"} <= set(results)
    (row,) = rows(example / "results" / "maxentResults.csv")
    assert float(row["Training AUC"]) > 0.8, "the first model that people see is a good one"


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert "has files in it already" in fail("example", tmp_path)
    assert files(tmp_path) == ["mine.txt"]
    answer = as_json("example", tmp_path / "new")
    assert {Path(name).name for name in answer["files"]} >= {"run.yaml", "occurrences.csv", "temperature.tif"}
    (tmp_path / "new" / "occurrences.csv").write_text("spoilt")
    succeed("example", tmp_path / "new", "--overwrite")
    assert (tmp_path / "new" / "occurrences.csv").read_bytes() == (shipped(SAMPLE) / "occurrences.csv").read_bytes()


def test_without_a_folder_the_sample_is_put_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sdm example && sdm fit run.yaml`: files of other names stay, those of the same names are never replaced."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    assert "now: sdm fit run.yaml" in succeed("example").stdout
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "run.yaml").read_bytes() == (shipped(SAMPLE) / "run.yaml").read_bytes()
    before = files(tmp_path)
    assert "this folder has README.md already" in fail("example")
    assert files(tmp_path) == before
    (tmp_path / "occurrences.csv").write_text("spoilt")
    answer = as_json("example", "--overwrite")
    assert "mine.txt" not in answer["files"]
    assert {"run.yaml", "layers/temperature.tif"} <= set(answer["files"])
    assert (tmp_path / "occurrences.csv").read_bytes() == (shipped(SAMPLE) / "occurrences.csv").read_bytes()
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel of the project installs."""
    made, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source")
    for name in ("sdm", "cli", "docs", "sample_data"):  # a copy: a build leaves files beside the code
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.png", "*.ipynb"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "wheel", "--no-deps", str(source)]
    done = subprocess.run([*pip, "-w", str(made)], cwd=made, capture_output=True, text=True)
    if done.returncode and "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("setuptools, which builds the wheel, cannot be downloaded")
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = made.glob("*.whl")
    assert wheel.stat().st_size < 4_000_000
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(made / "site")
    return made / "site"


def test_the_wheel_brings_the_sample_and_the_pages(installed: Path, tmp_path: Path) -> None:
    """The code in the wheel is run, outside the repository."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "sdm_cli.main", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [sys.executable, "-c", "import sdm, sdm_cli; print(sdm.__file__, sdm_cli.__file__)"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert where.stdout.count(str(installed)) == 2
    run("example", "new")
    copied = {path.relative_to(tmp_path / "new") for path in (tmp_path / "new").rglob("*") if path.is_file()}
    assert copied >= {path.relative_to(shipped(SAMPLE)) for path in shipped(SAMPLE).rglob("*") if path.is_file()}
    assert run("help", "bias").strip() == (shipped(GUIDE) / "bias.md").read_text(encoding="utf-8").strip()
