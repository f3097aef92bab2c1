"""A flora of the small world, and what one process makes of it."""

from typing import Any

import pytest
from flora import Flora, make_flora, result_bytes
from terminal import sdm


@pytest.fixture(scope="session")
def flora(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Flora:
    """Twelve species, three of them broken."""
    return make_flora(world, tmp_path_factory.mktemp("flora") / "records.csv", 12)


@pytest.fixture(scope="session")
def whole(flora: Flora, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run in one process leaves, in a folder called `out`."""
    out = tmp_path_factory.mktemp("whole") / "out"
    result = sdm(*flora.words(out))
    assert result.exit_code == 1, result.output
    assert f"{flora.species - 3} of {flora.species} species fitted" in result.output
    return result_bytes(out)
