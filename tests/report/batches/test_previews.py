"""Previews: a small picture of the map that the page of a model begins with, of every kind of model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from affine import Affine
from PIL import Image

from sdm.kinds.registry import results_class
from sdm.report.model_figures import write_preview
from sdm.report.pictures import small_picture
from sdm.report.results import Results


def put(path: Path, *bands: float) -> Path:
    """A raster of 400 × 200 cells that rises to the east up to a value in every band; a quarter has none."""
    values = np.stack(
        [np.linspace(0, top, 400, dtype=np.float32) * np.ones((200, 1), dtype=np.float32) for top in bands]
    )
    values[:, :100, :200] = -9999
    profile = {"driver": "GTiff", "dtype": "float32", "nodata": -9999, "crs": "EPSG:3857", "count": len(bands)}
    with rasterio.open(path, "w", height=200, width=400, transform=Affine(1, 0, 0, 0, -1, 200), **profile) as out:
        out.write(values)
    return path


def results(folder: Path, kind: str, files: dict[str, Any], **numbers: Any) -> Results:
    return results_class(kind)(
        folder, "sp", kind, {"files": files, **numbers}, {"predict": {"scale": "cloglog"}}, "", ""
    )


@pytest.mark.parametrize(
    ("kind", "files", "numbers", "shown"),
    [
        ("species", {"map": "a.tif"}, {}, ("a.tif", 1, 1.0)),
        ("strata", {"map": "b.tif"}, {}, ("b.tif", 1, None)),
        ("classes", {"class map": "a.tif", "probability map": "b.tif"}, {"classes": ["0", "1"]}, ("b.tif", 2, 1.0)),
        ("community", {"maps": {"richness": "a.tif", "picture": "p.png"}}, {}, ("a.tif", 1, None)),
    ],
)
def test_every_kind_shows_its_main_map(
    tmp_path: Path, kind: str, files: dict[str, Any], numbers: dict[str, Any], shown: tuple[str, int, float | None]
) -> None:
    put(tmp_path / "a.tif", 0.5)
    put(tmp_path / "b.tif", 0.25, 0.75)
    made = write_preview(results(tmp_path, kind, files, **numbers))
    assert made == tmp_path / "sp_preview.png"
    name, band, top = shown
    assert made.read_bytes() == small_picture(tmp_path / name, top, band=band)
    with Image.open(made) as picture:
        assert picture.size == (160, 80)
        assert picture.convert("RGBA").getpixel((10, 10))[3] == 0, "what has no value is transparent"
        assert picture.convert("RGBA").getpixel((150, 40))[3] == 255


@pytest.mark.parametrize("kind", ["species", "classes", "community"])
def test_without_a_map_there_is_no_preview(tmp_path: Path, kind: str) -> None:
    gone = {"map": "gone.tif", "maps": {"richness": "gone.tif"}}
    assert write_preview(results(tmp_path, kind, gone, classes=["0", "1"])) is None
    assert write_preview(results(tmp_path, kind, {})) is None
    assert list(tmp_path.iterdir()) == []
