"""At the first run on a machine, a process compiles what the run needs after the fit."""

import subprocess
import sys
from pathlib import Path

import pytest

from sdm._jit.kept import FOLDER
from sdm.executors.local import LocalProcesses
from sdm.kinds.species import compile_ahead

SAMPLE = Path(__file__).parents[2] / "sample_data"
# What the process called, and what a run calls of the same files after it: kinds of arguments, by kernel.
CALLS = """
import sys
from sdm.assess import shuffled
from sdm.maps import moments
from sdm.models import compiled
from sdm.novelty import ranges
from sdm.kinds.species.compile_ahead import do_all_with_few

def kinds():
    made = {}
    for module in (compiled, moments, ranges, shuffled):
        for name, kernel in vars(module).items():
            if isinstance(kernel, compiled.jit(print).__class__) and "compiled" in vars(kernel):
                made[f"{module.__name__}.{name}"] = set(kernel.compiled.signatures)
    return made

do_all_with_few()
before = kinds()
import sdm
sdm.fit(sys.argv[1], sys.argv[2], categorical="landcover", species="Virtualis montanus", output=sys.argv[3])
after = kinds()
assert len(before) > 8, before
new = {name: found - before.get(name, set()) for name, found in after.items()}
print({name: found for name, found in new.items() if found})
"""


@pytest.mark.thorough
def test_a_run_needs_nothing_after_the_fit_that_was_not_compiled_ahead(tmp_path: Path) -> None:
    words = [SAMPLE / "occurrences.csv", SAMPLE / "layers", tmp_path / "out"]
    done = subprocess.run([sys.executable, "-c", CALLS, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "{}"


@pytest.fixture
def nothing_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("SDM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    return tmp_path / "cache"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[LocalProcesses]:
    """The processes that were started."""
    made: list[LocalProcesses] = []

    class Noted(LocalProcesses):
        def __init__(self, processes: int) -> None:
            super().__init__(processes)
            made.append(self)

    monkeypatch.setattr(compile_ahead, "LocalProcesses", Noted)
    return made


@pytest.mark.thorough
def test_a_process_starts_where_nothing_was_compiled_and_ends_with_the_run(nothing_compiled: Path, started) -> None:
    with compile_ahead.compiling_ahead():
        (process,) = started
        (worker,) = process._workers.values()
        assert worker.poll() is None
    assert worker.poll() is not None


@pytest.mark.thorough
def test_where_something_was_compiled_the_run_is_alone(nothing_compiled: Path, started) -> None:
    (nothing_compiled / f"{FOLDER}0").mkdir(parents=True)
    with compile_ahead.compiling_ahead():
        assert not started


@pytest.mark.thorough
def test_one_processor_compiles_alone(nothing_compiled: Path, started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    with compile_ahead.compiling_ahead():
        assert not started


@pytest.mark.thorough
def test_where_no_process_can_be_started_the_run_compiles_alone(
    nothing_compiled: Path, started, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*words: object, **ways: object) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with compile_ahead.compiling_ahead():
        assert len(started) == 1
