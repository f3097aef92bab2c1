"""A batch that is killed at any moment goes on, and ends with the same bytes."""

import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from clusters.machines import until
from faults import KILL, Commands
from simulated.flora import Flora, result_bytes
from terminal import sdm

from sdm.storage.written_files import LISTED


@pytest.mark.thorough
@pytest.mark.parametrize(("processes", "kills"), [(1, 14), (2, 6)])  # every worker loads the program
def test_a_batch_killed_at_random_moments(
    flora: Flora, whole: dict[str, bytes], commands: Commands, tmp_path: Path, processes: int, kills: int
) -> None:
    """Killed 20 times in all, each before a call that changes the disk; it begins anew when it is finished."""
    rng, out = np.random.default_rng(processes), tmp_path / "out"
    calls, killed = 0, 0
    while killed < kills:
        words = flora.words(out, "--processes", processes, *(["--resume"] if out.exists() else []))
        done, code = commands.run(words, int(rng.integers(1, calls + 1)) if calls else 0, KILL)
        if code == -signal.SIGKILL:
            killed += 1
        else:
            assert code == 1, "some species are broken"
            check(out, whole)
            shutil.rmtree(out)
            calls = max(calls, done)  # the first run is a whole one
    result = sdm(*flora.words(out, *(["--resume"] if out.exists() else [])))
    assert result.exit_code == 1, result.output
    check(out, whole)
    until(lambda: not [path for path in tmp_path.rglob(".sdm-*") if path.name != LISTED], 60)


def check(out: Path, whole: dict[str, bytes]) -> None:
    """Compare with a run that nobody killed; run files and commands name the folder, and a worker of a run that was
    killed may still be at what it had in hand."""
    found = {name: data for name, data in result_bytes(out).items() if ".sdm-" not in name or name.endswith(LISTED)}
    assert found.keys() == whole.keys()
    for name, data in found.items():
        if not name.endswith(("command.txt", "run.yaml", ".html")):
            assert data == whole[name], name
