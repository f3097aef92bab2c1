"""A joint model of the survey of the virtual world, which the tests of joint models look at."""

from pathlib import Path

import pytest
from terminal import succeed


@pytest.fixture(scope="session")
def mapped(world, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the survey of the virtual world, with maps, folds and a projection."""
    out = tmp_path_factory.mktemp("joint") / "out"
    said = succeed(
        *("joint", world.survey, world.layers, "--categorical", "landcover", "--learner", "crf-l2", "--folds", 2),
        *("--projections", f"warmer={world.folder / 'warmer'}", "--dpi", 50, "-o", out),
    ).output
    assert "300 rows are 150 sites" in said
    assert "held out, mean of 2 folds" in said
    assert "within" in said
    return out
