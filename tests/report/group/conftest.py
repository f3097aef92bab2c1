"""A group of species over the layers of a small virtual world, as a run writes it; some names are hostile."""

from pathlib import Path

import pytest
from evil import EVIL_LAYER
from shared_axes.written import NAMES, model_of, written

from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack


@pytest.fixture(scope="session")
def layers(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The layers of the world, of which one is called as nobody should."""
    first, *others = [path for path in sorted((world / "layers").glob("*.tif")) if path.stem != "landcover"]
    evil = tmp_path_factory.mktemp("evil") / f"{EVIL_LAYER}.tif"
    evil.write_bytes(first.read_bytes())
    files = [str(evil), *map(str, others), str(world / "layers" / "landcover.tif")]
    return open_stack(files, categorical=["landcover"])


@pytest.fixture(scope="session")
def shared(layers: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A group of twenty species with four axes and everything that is made of it."""
    folder = tmp_path_factory.mktemp("batch") / "group"
    written(model_of(layers, NAMES, rank=4, own=True), layers, folder)
    return folder
