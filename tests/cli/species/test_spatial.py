"""`sdm fit --model shared --spatial`: species on axes that know where they are, from the terminal."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from inputs.reading import refusal
from terminal import change_raster, fail, read, rows, succeed

from sdm import load_model
from sdm.errors import OptionError

WORDS = ("--model", "shared", "--features", "lq", "--strength", "1", "--categorical", "landcover")


@pytest.fixture(scope="module")
def batch(world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("spatial") / "out"
    succeed("fit", world.both, world.layers, *WORDS, "--spatial", "--no-curves", "--dpi", 50, "-o", out)
    return out


def test_species_are_mapped_in_their_region_and_nowhere_else(world, batch: Path, tmp_path: Path) -> None:
    models = sorted(batch.glob("*/*.npz"))
    assert len(models) == 3, "two species, and their group"
    away = tmp_path / "away"
    away.mkdir()
    for path in world.layers.glob("*.tif"):
        with rasterio.open(path) as data:
            t = data.transform
        change_raster(path, away / path.name, transform=rasterio.Affine(t.a, 0, t.c + 3 * t.a, 0, t.e, t.f))
    for path in models:
        model = load_model(path)
        assert model.names[-2:] == ("place_x", "place_y")
        with rasterio.open(next(world.layers.glob("*.tif"))) as data:
            assert model.meta["region"]["box"] == pytest.approx(tuple(data.bounds))
        assert "spatial features" in fail("predict", path, away, "-o", tmp_path / "no")
        reason = "not projected" if path.parent.name == "group" else "spatial features"
        assert reason in fail("project", path, "--scenarios", world.folder / "warmer", "-o", tmp_path / "p", code=2)
    for path in models:
        if path.parent.name != "group":
            succeed("predict", path, world.layers, "-o", tmp_path / "map.tif", "--overwrite")
            np.testing.assert_array_equal(read(tmp_path / "map.tif"), read(path.with_suffix(".tif")))
            table = {row["variable"] for row in rows(path.with_name(f"{path.stem}_importance.csv"))}
            assert "place" in table
            page = path.with_suffix(".html").read_text()
            assert "The model has spatial features" in page


def test_pages_say_whose_certificate_it_is_and_the_group_how_it_was_made(batch: Path) -> None:
    typed = (batch / "command.txt").read_text()
    assert typed.strip()
    assert (batch / "group" / "command.txt").read_text() == typed
    assert "Command:" in (batch / "group" / "group.html").read_text()
    pages = [path for path in batch.glob("*/*.html") if path.parent.name != "group"]
    assert len(pages) == 2
    for page in pages:
        text = page.read_text()
        assert "Certified for all species together" in text
        assert "nats per record of the group" in text


def test_scenarios_of_such_a_run_are_refused(world) -> None:
    words = (world.both, world.layers, *WORDS, "--spatial", "--scenarios", world.folder / "warmer")
    assert "are valid in the training region only" in refusal(OptionError, *words)


def test_new_species_are_placed_on_axes_of_the_same_region_alone(world, own, batch: Path, tmp_path: Path) -> None:
    axes = ("--model", "shared", "--axes", batch / "group" / "group.npz", "--categorical", "landcover")
    assert "add --spatial" in fail("fit", world.records, world.layers, *axes, "-o", tmp_path / "out", code=2)
    words = ("--spatial", "--no-curves", "--no-map", "--no-importance", "--dpi", 50)
    succeed("fit", world.records, world.layers, *axes, *words, "-o", tmp_path / "placed")
    (page,) = (tmp_path / "placed").glob("*.html")
    assert "fitted along axes from 2 other species" in page.read_text()
    for path in list(own.layers.glob("*.tif")):
        with rasterio.open(path) as data:
            t = data.transform
        new = change_raster(
            path, path.with_suffix(".new"), transform=rasterio.Affine(t.a, 0, t.c + 3 * t.a, 0, t.e, t.f)
        )
        new.replace(path)
    words = (*axes, "--spatial", "-o", tmp_path / "away")
    assert "spatial features" in fail("fit", world.records, own.layers, *words)
