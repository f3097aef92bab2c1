"""What Python users see of the package: examples that run, a reference that is up to date, and types that hold."""

import doctest
import inspect
import os
import re
import subprocess
import sys
import tomllib

import pytest
from conftest import ROOT
from mypy.main import process_options
from mypy.options import PER_MODULE_OPTIONS

import sdm
from sdm import errors
from tools.api_reference import RETURNED, reference

NAMES = sorted(sdm._HOMES)
SCRIPT = '''
"""A user's script, checked as strictly as mypy can."""

from pathlib import Path
from typing import assert_type

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sdm
from sdm import Buffered, Checkerboard, Committee, ConditionalMaxent, EnvironmentBlocks, FeatureClasses, JointModel
from sdm import Maxent, Model, SdmError, SharedMaxent, SpatialBlocks, StructMaxent

Floats = NDArray[np.float64]
frame = pd.read_csv("sites.csv")
X, y, xy = frame[["heat", "rain"]], frame["presence"].to_numpy(), frame[["x", "y"]].to_numpy()

model = Maxent("lqh", multiplier=1.5, categorical=["soil"], random_state=3).fit(X, y, sample_weight=frame["weight"])
assert_type(model, Maxent)
assert_type(model.model_, Model)
assert_type(model.predict(X), Floats)
assert_type(model.predict_proba(X), Floats)
assert_type(model.decision_function(X), Floats)
assert_type(model.score(X, y), float)
gap: float = model.solution_.gap
names: list[str] = model.feature_names_
model.save("oak.npz", overwrite=True)
assert_type(sdm.load_model("oak.npz").names, tuple[str, ...])
assert_type(Model.load(Path("oak.npz")).predict(X, scale="raw"), Floats)
assert_type(sdm.save_model(model.model_, "oak.npz"), Path)

assert_type(StructMaxent("auto,trees:4").fit(X, y), StructMaxent)
assert_type(Committee().fit(X, y).members_, list[Maxent])
classes = ConditionalMaxent("lq", folds=3).fit(X, frame["habitat"])
assert_type(classes.predict_proba(X), Floats)
assert_type(SharedMaxent("lq").fit(X, frame["species"]).predict(X), Floats)
assert_type(JointModel(features="l").fit(X, frame[["oak", "ash"]]).richness(X), Floats)

for folds in (SpatialBlocks(50, coordinates=xy), Checkerboard(1, coordinates=xy), Buffered(10), EnvironmentBlocks(4)):
    for train, test in folds.split(X, y):
        assert_type(train, NDArray[np.int64])
        fitted = Maxent().fit(X.iloc[train], y[train])
        p = fitted.predict(X.iloc[test])
        measures: list[float] = [sdm.boyce_index(y[test], p), sdm.partial_roc(y[test], p)]
        assert_type(sdm.omission(y[test], p, cutoff=0.5), float)
        assert_type(sdm.aicc(y[test], p, 3).value, float)

expand = FeatureClasses("lqp").set_output(transform="pandas").fit(X, y)
assert_type(expand, FeatureClasses)
run = sdm.fit(frame, "layers", multiplier=2, folds=5)
assert_type(run, sdm.Run)
assert_type(run["oak"], sdm.ModelRun)
assert_type(run.curves, pd.DataFrame)
assert_type(run.raster(), sdm.RasterMap)
assert_type(run.to_folder("results", overwrite=True), Path)
auc: float = run.numbers["auc_train"]
axes = run.plot.map()
axes.set_title("oak")
assert_type(sdm.load("results").importance, pd.DataFrame)
assert_type(sdm.check(frame, "layers").problems, list[str])
future = sdm.project(run, {"later": "warmer"}, "layers")
assert_type(future.summary, pd.DataFrame)
assert_type(future["oak"].raster("later"), sdm.RasterMap)
measured: float = sdm.evaluate(run, frame, "layers", seed=2).numbers["auc"]
assert_type(sdm.tune(frame, "layers", multipliers=[1, 2]).tuning, pd.DataFrame)

try:
    sdm.project_models("oak.npz", {"later": "layers"}, "out", reference="now")
except SdmError as error:
    print(error, sdm.__version__)
'''
WRONG = """
import sdm

sdm.Maxent(multiplier="large")
sdm.nothing
number: int = sdm.Maxent().predict([[1.0]])
"""


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example_that_runs(name, tmp_path, monkeypatch):
    """The examples of the reference are what users copy first."""
    monkeypatch.chdir(tmp_path)
    public = getattr(sdm, name)
    tests = doctest.DocTestFinder(recurse=False).find(public, name, globs={})
    examples = [example for test in tests for example in test.examples]
    assert examples, f"{name} has no example"
    assert not any(doctest.SKIP in example.options for example in examples)
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test)
    assert runner.failures == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_described(name):
    public = getattr(sdm, name)
    text, described = inspect.getdoc(public) or "", ""
    if inspect.isclass(public) and issubclass(public, Exception):
        return
    for section in ("Parameters", "Attributes"):  # the fields of a value that a fit made are its attributes
        described += text.partition(f"{section}\n{'-' * len(section)}\n")[2].partition("\n\n")[0]
    missing = [each for each in inspect.signature(public).parameters if each not in described]
    assert not missing, f"{name}: the docstring does not describe {missing}"


def test_the_reference_has_every_public_name():
    titles = re.findall(r"^### (\w+)$", reference(), re.MULTILINE)
    assert sorted(titles) == sorted([*NAMES, *RETURNED])


def test_the_reference_has_every_class_of_errors():
    """With its code, so that a program knows what it can catch."""
    lines = re.findall(r"^ *- `(\w+)` \((E\d{3})\)", reference(), re.MULTILINE)
    classes = inspect.getmembers(errors, lambda one: inspect.isclass(one) and issubclass(one, errors.SdmError))
    assert sorted(lines) == [(name, one.code) for name, one in classes]


def test_constructors_have_their_defaults():
    text = reference()
    assert "SpatialBlocks(\n    size: float,\n    n_splits: int = 5,\n" in text
    assert "RasterMap(" in text


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """Check scripts as a user does, outside the project and with the package's own types.

    The script is checked as `--strict` does, and so is what the package exports. The other modules have the settings of
    `make check`, whose cache then serves here too.
    """
    plain, strictest = (process_options([*flag, "--config-file=", "-c", ""])[1] for flag in ([], ["--strict"]))
    differ = [name for name in sorted(PER_MODULE_OPTIONS) if getattr(plain, name) != getattr(strictest, name)]
    assert "implicit_reexport" in differ
    own = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    lines = ["[mypy]", *(f"{name} = {value}" for name, value in own.items() if name not in ("files", "overrides"))]
    untyped = next(part["module"] for part in own["overrides"] if "ignore_missing_imports" in part)
    lines += [f"[mypy-{','.join(untyped)}]", "ignore_missing_imports = True"]
    lines += ["[mypy-script]", *(f"{name} = {getattr(strictest, name)}" for name in differ)]
    lines += ["[mypy-sdm]", "implicit_reexport = False"]
    settings = tmp_path_factory.mktemp("settings") / "mypy.ini"
    settings.write_text("\n".join(lines))

    def check(text):
        place = tmp_path_factory.mktemp("user") / "script.py"
        place.write_text(text)
        options = ["--no-error-summary", "--config-file", str(settings), "--cache-dir", str(ROOT / ".mypy_cache")]
        environment = {**os.environ, "MYPYPATH": str(ROOT)}
        command = [sys.executable, "-m", "mypy", *options, place.name]
        done = subprocess.run(command, cwd=place.parent, env=environment, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout

    return check


@pytest.mark.thorough
def test_a_script_of_a_user_passes_the_strictest_checks_of_types(strict):
    assert strict(SCRIPT) == ""


@pytest.mark.thorough
def test_mistakes_in_a_script_are_found_by_a_type_checker(strict):
    found = strict(WRONG).splitlines()
    assert [line.split(":")[1] for line in found] == ["4", "5", "6"], found
