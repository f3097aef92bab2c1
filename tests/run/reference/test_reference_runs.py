"""Runs with all kinds of options give the numbers that they gave when somebody last looked at them.

Other tests compare numbers with their definitions. These notice that a number, anywhere in the results of an option
that few people use, has changed. To renew the numbers after an intended change: SDM_RENEW_RUNS=1 pytest this_file
"""

import contextlib
import importlib.util
import json
import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from terminal import succeed

from sdm.options.reading import make_options
from sdm.run.run import run

HERE = Path(__file__).parent


def _load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"reference_{name}", HERE / f"{name}.py")
    module: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


cases, digest = _load("cases"), _load("digest")
NUMBERS = HERE / "numbers.json"
RENEW = bool(os.environ.get("SDM_RENEW_RUNS"))
KEPT: dict[str, dict[str, float]] = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    cases.make_world(folder)
    return folder


def with_marks(names: Iterable[str]) -> list[Any]:
    """Return the names, those of long runs with a mark."""
    long = pytest.mark.thorough
    return [pytest.param(name, marks=long if name in cases.LONG else ()) for name in names]


@pytest.mark.parametrize("name", with_marks(cases.CASES))
def test_a_run_gives_the_numbers_that_it_gave(name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    files = {"occurrences.file": "one.csv", "layers.files": ["w/layers"], "output.folder": f"out/{name}"}
    options = files | cases.LEAN | cases.CASES[name]
    run(make_options({key: value for key, value in options.items() if value is not None}), command="sdm fit")
    compare(name, digest.folder_digest(world / "out" / name))


@pytest.fixture(scope="module")
def models(world: Path) -> Path:
    """The world with a model of each kind."""
    with contextlib.chdir(world):
        for name, words in cases.MODELS.items():
            (world / f"{name}.txt").write_text(succeed(*shlex.split(words)).output, encoding="utf-8")
    return world


@pytest.mark.parametrize("kind", cases.MODELS)
def test_a_run_prints_the_numbers_that_it_printed(kind: str, models: Path) -> None:
    compare(f"printed {kind}", digest.printed_digest((models / f"{kind}.txt").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", with_marks(cases.COMMANDS))
def test_a_command_gives_the_numbers_that_it_gave(name: str, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)
    words, folder = shlex.split(cases.COMMANDS[name]), models / "out" / name
    if f"out/{name}/" in cases.COMMANDS[name] or words[0] == "maxent":
        folder.mkdir(parents=True)
    result = succeed(*words)
    if folder.exists():
        compare(name, digest.folder_digest(folder) | digest.printed_digest(result.output))
    else:
        compare(name, digest.tree_digest(json.loads(result.stdout)))


def compare(name: str, numbers: dict[str, float]) -> None:
    """Compare figures with the stored ones, or store them."""
    if RENEW:
        KEPT[name] = numbers
        NUMBERS.write_text(json.dumps(KEPT, indent=0, sort_keys=True) + "\n")
        return
    assert sorted(numbers) == sorted(KEPT[name])
    changed = [key for key, value in numbers.items() if value != pytest.approx(KEPT[name][key], rel=1e-5, abs=1e-5)]
    assert not changed, f"numbers of {name} have changed in {', '.join(changed)}: if that is meant, see the module"
