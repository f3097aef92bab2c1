"""`sdm example`: whoever installed the program can start without the repository."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from terminal import as_json, fail, files, rows, succeed

from sdm_cli.commands.starting import SAMPLE, shipped, topics

ROOT = Path(__file__).parents[3]


@pytest.mark.thorough
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
    assert "contains files already" in fail("example", tmp_path)
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
    assert "README.md exists already" in fail("example")
    assert files(tmp_path) == before
    (tmp_path / "occurrences.csv").write_text("spoilt")
    answer = as_json("example", "--overwrite")
    assert "mine.txt" not in answer["files"]
    assert {"run.yaml", "layers/temperature.tif"} <= set(answer["files"])
    assert (tmp_path / "occurrences.csv").read_bytes() == (shipped(SAMPLE) / "occurrences.csv").read_bytes()
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_layers_of_the_user_are_not_mixed_with_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's folder `layers` would get more layers, and a fit would use both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers" / "heat.tif").write_text("mine")
    assert "layers exists already" in fail("example")
    assert files(tmp_path) == ["layers", "layers/heat.tif"]


BUILD = "import sys; from setuptools import build_meta as b; to = sys.argv[1]; b.build_sdist(to); b.build_wheel(to)"


def must(*words: object, cwd: Path, **environment: str) -> str:
    """Run a program that must not fail, and not find the code of this folder; return what it says."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run([*map(str, words)], cwd=cwd, env={**kept, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive of the project, and in `tools` what built them."""
    made, source = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("source")
    for name in ("sdm", "cli", "docs", "sample_data", "tools"):  # a copy: a build leaves files beside the code
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.png", "*.ipynb"))
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    needed, *_ = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--target", str(made / "tools")]
    done = subprocess.run([*pip, needed], cwd=made, capture_output=True, text=True)
    if done.returncode and "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("setuptools, which builds the wheel, cannot be downloaded")
    assert done.returncode == 0, done.stderr[-2000:]
    must(sys.executable, "-c", BUILD, made, cwd=source, PYTHONPATH=str(made / "tools"))
    return made


@pytest.fixture(scope="module")
def empty(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an empty environment into which the source archive was installed. Its dependencies are those of
    this environment: to get them again would be some hundred megabytes."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    home = Path(must(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).strip())
    (home / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    (archive,) = built.glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", python]
    must(*pip, "install", "--no-deps", "--no-build-isolation", archive, cwd=place, PYTHONPATH=str(built / "tools"))
    return programs


@pytest.mark.thorough
def test_in_an_empty_environment_a_newcomer_can_start(empty: Path, tmp_path: Path) -> None:
    """`sdm example && sdm fit run.yaml`, outside the repository, by the program that was installed."""
    where = must(empty / "python", "-c", "import sdm, sdm_cli; print(sdm.__file__, sdm_cli.__file__)", cwd=tmp_path)
    assert where.count(str(empty.parent)) == 2
    must(empty / "sdm", "example", cwd=tmp_path)
    assert "certificate converged" in must(empty / "sdm", "fit", "run.yaml", cwd=tmp_path)
    assert (tmp_path / "results" / "Virtualis_montanus.html").is_file()
    page = must(empty / "sdm", "help", "bias", cwd=tmp_path)
    assert page.strip() == topics()["bias"].read_text(encoding="utf-8").strip()
    assert "`fit.multiplier`" in must(empty / "sdm", "help", "options", cwd=tmp_path)
    assert "OptionError" in must(empty / "sdm", "help", "errors", cwd=tmp_path)


@pytest.mark.thorough
def test_wheel_and_source_archive_install_the_same(built: Path, empty: Path) -> None:
    """Every file of the wheel is what the source archive installed, byte for byte; both are small."""
    (wheel,), (archive,) = built.glob("*.whl"), built.glob("*.tar.gz")
    assert max(wheel.stat().st_size, archive.stat().st_size) < 4_000_000
    home = Path(must(empty / "python", "-c", "import sdm; print(sdm.__path__[0])", cwd=built).strip()).parent
    with zipfile.ZipFile(wheel) as content:
        names = [name for name in content.namelist() if name.startswith(("sdm/", "sdm_cli/"))]
        assert not [name for name in names if (home / name).read_bytes() != content.read(name)]
    there = {path.relative_to(home).as_posix() for top in ("sdm", "sdm_cli") for path in (home / top).rglob("*.*")}
    assert {name for name in there if not name.endswith(".pyc") and not (home / name).is_dir()} <= set(names)
    assert "sdm_cli/sample/run.yaml" in names
