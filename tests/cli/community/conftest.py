"""A joint model of the survey of the virtual world, which the tests of joint models look at."""

from pathlib import Path

import pytest
from zoo import community_run


@pytest.fixture(scope="session")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the survey of the virtual world, with maps, folds and a projection; tests change copies of it."""
    folder = community_run(tmp_path_factory)
    said = (folder / "output.txt").read_text(encoding="utf-8")
    assert "300 rows are 150 sites" in said
    assert "held out, mean of 2 folds" in said
    assert "duality gap" in said
    return folder / "out"
