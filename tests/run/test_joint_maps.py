"""Maps of many species at once: bounded memory, the same values however windows are cut, nothing where layers end."""

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from rasterio import Affine
from terminal import read

from sdm.data.layers import Stack, open_stack
from sdm.errors import DataError
from sdm.joint.fitted import FittedJoint
from sdm.joint.model import JointModel
from sdm.run.joint_maps import RICHNESS, write_maps

SIZE, SPECIES = 300, 40


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    folder = tmp_path_factory.mktemp("layers")
    rng = np.random.default_rng(1)
    for name in ("heat", "rain"):
        values = rng.normal(size=(SIZE, SIZE)).astype("float32")
        values[:30, :40] = -9999
        profile = {"width": SIZE, "height": SIZE, "count": 1, "dtype": "float32", "nodata": -9999, "crs": "EPSG:4326"}
        profile |= {"tiled": True, "blockxsize": 64, "blockysize": 64}
        with rasterio.open(
            folder / f"{name}.tif", "w", driver="GTiff", transform=Affine(0.01, 0, 0, 0, -0.01, 50), **profile
        ) as out:
            out.write(values, 1)
    return open_stack(folder)


@pytest.fixture(scope="module")
def models() -> tuple[FittedJoint, FittedJoint]:
    rng = np.random.default_rng(2)
    x = pd.DataFrame(rng.normal(size=(120, 2)), columns=["heat", "rain"])
    y = pd.DataFrame(
        {f"sp {s}": (x["heat"] * rng.normal() + rng.logistic(size=120) > 0).astype(int) for s in range(SPECIES)}
    )
    joint, stacked = (JointModel("crf-l2", graph, "l").fit(x, y).fitted_ for graph in ("chain", "none"))
    return joint, stacked


def places(folder: Path, joint: FittedJoint) -> tuple[dict[str, Path], dict[str, Path]]:
    species = {name: folder / f"{k}.tif" for k, name in enumerate(joint.species)}
    return species, {name: folder / f"{name}.tif" for name in RICHNESS}


def test_memory_does_not_grow_with_the_number_of_species(stack: Stack, models, tmp_path: Path, monkeypatch) -> None:
    """All maps of this raster together have more bytes than the prediction may take."""
    content = {}
    for name, budget in (("small", 200_000), ("whole", 1 << 30)):
        monkeypatch.setattr("sdm.predict.WINDOW_BYTES", budget)
        monkeypatch.setattr("sdm.run.joint_maps.NUMBERS", 100_000)
        (tmp_path / name).mkdir()
        tracemalloc.start()
        try:
            found = write_maps(*models, stack, *places(tmp_path / name, models[0]))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if name == "small":
            assert peak < 8_000_000 < SIZE * SIZE * 4 * SPECIES, f"{peak:,} bytes"
        content[name] = [path.read_bytes() for path in sorted((tmp_path / name).iterdir())]
    assert content["small"] == content["whole"]
    assert found["richness"].cells == SIZE * SIZE - 30 * 40


def test_richness_is_the_sum_of_the_maps(stack: Stack, models, tmp_path: Path) -> None:
    species, richness = places(tmp_path, models[0])
    found = write_maps(*models, stack, species, richness)
    total = sum(read(path).astype(np.float64) for path in species.values())
    np.testing.assert_allclose(read(richness["richness"]), total, atol=1e-4)
    assert read(richness["richness"])[:30, :40].mask.all()
    assert found["sp 3"].path == species["sp 3"]


def test_layers_in_another_order_are_refused(stack: Stack, models, tmp_path: Path) -> None:
    other = open_stack(list(stack.paths), names=["rain", "heat"])
    with pytest.raises(DataError, match="the model needs heat, rain"):
        write_maps(*models, other, *places(tmp_path, models[0]))


def test_one_model_alone_has_its_richness_and_no_difference(stack: Stack, models, tmp_path: Path) -> None:
    species, richness = places(tmp_path, models[0])
    with pytest.raises(DataError, match="need the model without edges too"):
        write_maps(models[0], None, stack, species, richness)
    assert list(tmp_path.iterdir()) == []
    write_maps(models[0], None, stack, species, {"richness": richness["richness"]})
    alone = richness["richness"].read_bytes()
    write_maps(*models, stack, species, richness)
    assert richness["richness"].read_bytes() == alone
