"""Maps of classes: bounded memory, the same bytes however windows are cut, complete or not at all."""

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from terminal import read

from sdm import ConditionalMaxent
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.errors import DataError, OutputError
from sdm.maps import rasters as predict
from sdm.maps.single import KINDS, class_codes, write_class_maps
from sdm.models.classes import ClassModel
from sdm.models.colours import palette, recorded_colours

CLASSES = 24


@pytest.fixture(scope="module")
def model() -> ClassModel:
    rng = np.random.default_rng(2)
    x = pd.DataFrame(rng.normal(size=(480, 2)), columns=["heat", "rain"])
    y = np.digitize(
        x["heat"] + 0.2 * rng.normal(size=480), np.quantile(x["heat"], np.linspace(0, 1, CLASSES + 1)[1:-1])
    )
    return ConditionalMaxent("l").fit(x, [f"kind {k:02d}" for k in y]).model_


def places(folder: Path) -> dict[str, Path]:
    folder.mkdir(exist_ok=True)
    return {what: folder / f"{what}.tif" for what in KINDS}


@pytest.mark.thorough
def test_memory_is_bounded_and_windows_do_not_matter(stack: Stack, model: ClassModel, tmp_path: Path, monkeypatch):
    """The probabilities of this raster have more bytes than the prediction may take."""
    content = {}
    for name, budget in (("whole", 1 << 30), ("small", 16_000)):  # the first loads what both need
        monkeypatch.setattr("sdm.maps.rasters.WINDOW_BYTES", budget)
        paths = places(tmp_path / name)
        tracemalloc.start()
        try:
            found = write_class_maps(model, stack, paths)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if name == "small":
            assert peak < 6_000_000 < stack.width * stack.height * 4 * CLASSES, f"{peak:,} bytes"
        content[name] = [path.read_bytes() for path in paths.values()]
    assert content["small"] == content["whole"]
    assert found["cells"] == stack.width * stack.height - 30 * 40
    assert sum(found["shares"].values()) == pytest.approx(1)


def test_complete_or_not_at_all(stack: Stack, model: ClassModel, tmp_path: Path, monkeypatch) -> None:
    """The disk is full when the last of three maps is made: the first two are not kept either, an older one is."""
    paths = places(tmp_path / "out")
    paths["class"].write_bytes(b"old")
    real, made = predict._to_cog, []

    def full(source: Path, target: Path, *rest) -> None:
        made.append(target)
        if len(made) == len(KINDS):
            raise OSError(28, "No space left on device")
        real(source, target, *rest)

    monkeypatch.setattr(predict, "_to_cog", full)
    with pytest.raises(OutputError, match="nothing was kept"):
        write_class_maps(model, stack, paths)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {"class.tif": b"old"}


def test_codes_bands_and_shares(stack: Stack, model: ClassModel, tmp_path: Path) -> None:
    paths = places(tmp_path / "out")
    found = write_class_maps(model, stack, paths)
    with rasterio.open(paths["probability"]) as data:
        p = data.read(masked=True)
        assert data.descriptions == model.labels
    best = read(paths["class"])
    codes = np.array(class_codes(model.labels))
    np.testing.assert_array_equal(best.compressed(), codes[p.filled(0).argmax(axis=0)][~best.mask])
    np.testing.assert_allclose(list(found["shares"].values()), [np.mean(best.compressed() == code) for code in codes])
    assert found["mean_entropy"] == pytest.approx(read(paths["entropy"]).mean(dtype=np.float64), rel=1e-6)


def test_layers_in_another_order_are_refused(stack: Stack, model: ClassModel, tmp_path: Path) -> None:
    other = open_stack(list(stack.paths), names=["rain", "heat"])
    with pytest.raises(DataError, match="the model needs heat, rain"):
        write_class_maps(model, other, places(tmp_path / "out"))


@pytest.mark.parametrize("known", [None, [], {"kind 00": "red"}, {"kind 00": 7}, {"kind 00": "#12345g"}])
def test_colours_that_are_none_are_ours(model: ClassModel, known) -> None:
    """A model's file can say anything; what is no colour is not taken for one."""
    model.meta["colours"] = known
    assert recorded_colours(model.meta) == {}
    assert model.colours == palette(CLASSES)
    model.meta["colours"] = {"kind 03": "#0a0b0c"}
    assert model.colours[3] == (10, 11, 12)
    del model.meta["colours"]
