"""A batch that is killed at any moment goes on, and ends with the same bytes."""

import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from flora import Flora, result_bytes
from terminal import sdm, start

MOMENTS = 20


@pytest.mark.parametrize("processes", [1, 2])
def test_a_batch_killed_at_random_moments(flora: Flora, whole: dict[str, bytes], tmp_path: Path, processes) -> None:
    """Killed until it has been 10 times (20 with both numbers of processes), beginning anew when it is finished."""
    rng, out = np.random.default_rng(processes), tmp_path / "out"
    killed = 0
    while killed < MOMENTS // 2:
        words = flora.words(out, "--processes", processes, *(["--resume"] if out.exists() else []))
        with start(*words) as child:
            time.sleep(rng.uniform(0.3, 5.0))
            child.kill()
            child.communicate()
        if child.returncode == -signal.SIGKILL:
            killed += 1
        else:
            check(out, whole)
            shutil.rmtree(out)
    result = sdm(*flora.words(out, *(["--resume"] if out.exists() else [])))
    assert result.exit_code == 1, result.output
    check(out, whole)
    assert [path for path in tmp_path.rglob(".sdm-*") if path.name != ".sdm-files"] == []


def check(out: Path, whole: dict[str, bytes]) -> None:
    """Compare with a run that nobody killed; run files and commands name the folder."""
    found = result_bytes(out)
    assert found.keys() == whole.keys()
    for name, data in found.items():
        if not name.endswith(("command.txt", "run.yaml", ".html")):
            assert data == whole[name], name
