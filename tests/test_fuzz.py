"""A few of the cases of `make fuzz`: damaged files and odd inputs end in a result or in one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

CASES, FIRST = 40, 10_001  # others than those of `make fuzz`


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="cases are forked, and measured by the system")
def test_damaged_and_odd_inputs() -> None:
    script = Path(__file__).parent / "helpers" / "fuzz.py"
    done = subprocess.run(
        [sys.executable, script, "--cases", str(CASES), "--seed", str(FIRST)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{CASES} cases ended" in done.stdout
