"""What all tests share: hypothesis' settings, the real data, and Bradypus as a table."""

import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib  # noqa: F401 - so that commands in this process draw in it, and start no other for each test
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run, so that a red test is always about the change at hand. `HYPOTHESIS_PROFILE=explore`
# draws new ones, and more of them. No deadline: the first call of a kernel compiles it.
settings.register_profile("repeat", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("few", deadline=None, derandomize=True, max_examples=5)
settings.register_profile(
    "explore", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

ROOT = Path(__file__).parents[1]

gc.disable()  # until all tests are known: they stay to the end, and looking through them again and again takes long
PARTS = {"data": "published data sets", "reference": "figures of other programs on them"}
"""What tests of real data need; these are not part of the project."""


def pytest_collection_finish() -> None:
    """Let garbage be collected again, but not looked for among what was loaded with the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(400_000, 10, 10)
    gc.enable()


class Waiting:
    """Count the thorough tests that were not selected, also in the processes of xdist, and report them at the end."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.count += sum(item.get_closest_marker("thorough") is not None for item in items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["waiting"] = self.count

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.count = max(self.count, node.workeroutput.get("waiting", 0) if hasattr(node, "workeroutput") else 0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.count:
            terminalreporter.write_line(f"{self.count} thorough tests wait for `make test-all`")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Waiting())


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data and reference figures; tests that need it are skipped where it is not."""
    root = Path(os.environ.get("SDM_SHARED", ROOT.parent / "shared"))
    missing = [f"{root / name} ({what})" for name, what in PARTS.items() if not (root / name).is_dir()]
    if missing:
        pytest.skip(f"not there: {', '.join(missing)}; set SDM_SHARED to the folder that has them")
    return root


@pytest.fixture(scope="session")
def bradypus(shared: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Bradypus variegatus: 116 presences and 1,000 background points with 14 variables, and their labels."""
    table = pd.read_csv(shared / "data" / "bradypus_swd" / "bradypus.csv")
    return table.drop(columns="presence"), table["presence"].to_numpy().astype(int)
