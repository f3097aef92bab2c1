"""The package as installed: version, doctests, cheap import, and kernels with and without compilation or a cache."""

import ast
import doctest
import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

import sdm
from sdm import _jit as sources
from sdm._jit import kernel_digest
from sdm.storage import user_cache


def run(code, **environment):
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-W", "error", "-c", code], env=env, capture_output=True, text=True)


KERNEL = (
    "import numpy as np; from sdm.models.compiled import _hold as k; t = np.array([1.0, 9.0]);"
    "k(t, 0.0, 5.0, t, np.zeros(2)); print(t, sum(k.compiled.stats.cache_hits.values()))"
)


def test_the_version_is_that_of_the_project():
    assert sdm.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.mark.parametrize("name", ["sdm", "sdm.errors", "sdm.data.place"])
def test_examples_in_the_documentation(name):
    """Those of public names are run in tests/test_reference.py."""
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert results.failed == 0


def test_importing_the_package_imports_nothing_heavy():
    """`import sdm` takes some milliseconds: what is heavy is loaded with the first name that needs it."""
    heavy = "{'numpy', 'numba', 'pandas', 'rasterio', 'matplotlib', 'geopandas', 'xarray', 'sklearn'}"
    done = run(f"import sys, sdm; dir(sdm); print(sorted({heavy} & set(sys.modules)))")
    assert done.stdout.strip() == "[]", done.stderr


def test_everything_public_can_be_reached():
    assert {*sdm.__all__} <= {*dir(sdm)}, "an editor completes from dir()"
    for name in sdm.__all__:
        assert getattr(sdm, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sdm.nothing


def test_type_checkers_know_the_names_that_are_loaded_when_used():
    """A public name stands in two lists: one for type checkers, one for the moment when it is used."""
    checked = {}
    for node in ast.walk(ast.parse((ROOT / "sdm" / "__init__.py").read_text())):
        if isinstance(node, ast.ImportFrom) and node.module not in ("importlib", "typing", "sdm._version"):
            checked |= {alias.asname: node.module for alias in node.names}
    assert checked == sdm._HOMES
    assert (ROOT / "sdm" / "py.typed").exists()


@pytest.mark.thorough
def test_a_fit_needs_nothing_but_its_dependencies():
    """scikit-learn is there for tests only."""
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sklearn", "skglm", "elapid"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
import numpy as np
from sdm import Maxent
x = np.random.default_rng(0).normal(size=(60, 2))
y = np.repeat([1, 0], [20, 40])
for penalty in ("l1", "none", "smoothed_l1", "l2", "l2sq", "elastic", "mahalanobis", "lp"):
    for alpha in (1.0, 1.5):
        model = Maxent("lqpht", penalty, entropy=alpha, knots=3, max_iterations=50).fit(x, y)
        model.predict(x)
        repr(model)
for solver in ("summet", "plummet"):
    Maxent("l", solver=solver, max_iterations=50).fit(x, y)
loaded = {"matplotlib", "rasterio", "geopandas", "typer"} & set(sys.modules)
assert not loaded, loaded
print("done")
"""
    done = run(code)
    assert done.stdout.strip() == "done", done.stderr[-2000:]


@pytest.mark.thorough
def test_a_batch_and_points_need_no_parquet(tmp_path):
    """pyarrow is an extra: without it there is no summary.parquet, points are kept as GeoPackage, and one sentence says
    what reads a Parquet file."""
    code = f"""
import sys
from pathlib import Path
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
import geopandas, pandas as pd
import sdm
sample, out = Path({str(ROOT / "sample_data")!r}), Path({str(tmp_path)!r})
table = pd.read_csv(sample / "occurrences.csv")
points = geopandas.GeoDataFrame(
    table[["species"]], geometry=geopandas.points_from_xy(table["longitude"], table["latitude"]), crs=4326)
layers = [sample / "layers" / f"{{name}}.tif" for name in ("temperature", "wetness")]
run = sdm.fit(points, layers, features="l", background_points=500, map=False, curves=False, report=False,
              importance=False, output=out / "run")
(out / "wrong.parquet").write_bytes(b"PAR1")
try:
    sdm.fit(out / "wrong.parquet", layers)
except sdm.SdmError as error:
    print(error)
assert "pyarrow" not in sys.modules
"""
    done = run(code)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "pip install 'sdm-maxent[parquet]'" in done.stdout
    there = {path.name for path in (tmp_path / "run").rglob("*")}
    assert {"summary.csv", "records_fate.csv", "records.gpkg"} <= there
    assert "summary.parquet" not in there


@pytest.mark.thorough
def test_without_a_writable_cache_it_works_all_the_same(tmp_path):
    """A read-only home, a container: no cache then, and no crash."""
    blocked = tmp_path / "file"
    blocked.write_text("already exists")
    done = run(KERNEL, SDM_CACHE_DIR=str(blocked))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[1. 5.] 0"
    assert blocked.read_text() == "already exists"


def test_the_cache_lies_where_it_is_told_to(tmp_path):
    done = run(KERNEL, SDM_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith(f"{sdm.__version__}-")
    assert list(folder.rglob("*.nbi"))
    (kernels,) = folder.iterdir()  # of one file of kernels, as it is now: others are compiled again
    assert kernels.name == f"sdm.models.compiled-{kernel_digest(ROOT / 'sdm' / 'models' / 'compiled.py')}"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG_CACHE_HOME is for Linux")
@pytest.mark.parametrize("value", ["", "cache", "./cache"])
def test_a_cache_without_an_absolute_place_is_in_the_home(tmp_path, monkeypatch, value):
    """Whoever starts a run in a folder of others must not run code that was compiled there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("SDM_CACHE_DIR", "")
    assert user_cache.private_folder("code") == tmp_path / "home" / ".cache" / "sdm" / "code"
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@pytest.mark.thorough
def test_a_kernel_is_compiled_again_only_if_what_it_is_made_of_changes(tmp_path, monkeypatch):
    """Its own file, constants of files that it imports from, whoever imports them: nothing else."""
    monkeypatch.setattr(sources, "PACKAGE", tmp_path)
    (tmp_path / "inner").mkdir()
    files = {
        "kernel.py": "from sdm._jit import jit\nfrom sdm.inner.constants import (\n    CHUNK,\n    SIZE,\n)\n",
        "inner/constants.py": "from sdm.inner import deep\nCHUNK, SIZE = deep.A, 2\n",
        "inner/deep.py": "A = 1\n",
        "apart.py": "import sdm.kernel\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    def digest() -> str:
        for cached in (sources.kernel_digest, sources._read):
            cached.cache_clear()
        return sources.kernel_digest(tmp_path / "kernel.py")

    try:
        first = digest()
        (tmp_path / "apart.py").write_text("B = 2\n")
        assert digest() == first
        for name in ("inner/deep.py", "inner/constants.py", "kernel.py"):
            (tmp_path / name).write_text(files[name] + "C = 3\n")
            assert digest() != first, name
            (tmp_path / name).write_text(files[name])
            assert digest() == first
    finally:
        for cached in (sources.kernel_digest, sources._read):
            cached.cache_clear()


@pytest.mark.thorough
def test_kernels_give_the_same_without_compilation():
    """What the compiler is fed is plain Python: index errors that compiled code would hide show here."""
    chosen = [
        "tests/features/test_knots.py",
        "tests/features/test_duplicates.py",
        "tests/maxent/solvers/test_coordinate.py",
    ]
    chosen += ["tests/maxent/solvers/test_inner.py::test_the_quadratic_is_solved", "tests/models/test_compiled.py"]
    chosen += ["tests/features/test_oracles.py::test_moments", "tests/features/test_oracles.py::test_scores"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "HYPOTHESIS_PROFILE": "few"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *chosen]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache with one kernel in it."""
    folder = tmp_path_factory.mktemp("cache")
    assert run(KERNEL, SDM_CACHE_DIR=str(folder)).stdout == "[1. 5.] 0\n"
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("suffix", "damage"),
    [("nbi", "empty"), ("nbi", "garbage"), ("nbi", "folder"), ("nbc", "truncated")],
)
def test_a_damaged_cache_is_made_again(cache, tmp_path, suffix, damage):
    """A power cut must not end in a traceback from numba."""
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    (path,) = tmp_path.rglob(f"*compiled._hold-*.{suffix}")
    content = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        made = {"empty": b"", "truncated": content[: len(content) // 2], "garbage": b"cos\nsystem\n"}
        path.write_bytes(made[damage])
    for hits in (0, 0, 1):  # without the cache, made again, and used
        after = run(KERNEL, SDM_CACHE_DIR=str(tmp_path))
        assert (after.stdout, after.stderr, after.returncode) == (f"[1. 5.] {hits}\n", "", 0)


SHARED = """
from sdm._jit import jit

@jit
def twice(x):
    return 2.0 * x

@jit
def outer(x):
    return twice(x) + 1.0
"""


def kernels_in(cache: Path) -> set[str]:
    return {path.name.split("-")[0] for path in cache.rglob("*.nbi")}


@pytest.mark.thorough
def test_a_kernel_inside_another_is_kept_with_it_and_can_be_called_too(tmp_path):
    """Nothing is compiled to call it from Python until Python does."""
    (tmp_path / "pieces.py").write_text(SHARED)
    cache = tmp_path / "cache"
    begin = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from pieces import outer, twice; print(outer(3.0))\n"
    assert run(begin, SDM_CACHE_DIR=str(cache)).stdout == "7.0\n"
    assert kernels_in(cache) == {"pieces.outer"}
    both = run(begin + "print(twice(4.0))", SDM_CACHE_DIR=str(cache))
    assert (both.stdout, both.stderr) == ("7.0\n8.0\n", "")
    assert kernels_in(cache) == {"pieces.outer", "pieces.twice"}
    fresh = run(begin + "print(twice(4.0), outer(1.0))", SDM_CACHE_DIR=str(tmp_path / "other"))
    assert (fresh.stdout, fresh.stderr) == ("7.0\n8.0 3.0\n", "")
