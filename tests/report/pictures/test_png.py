"""Pixels as PNG: what any program reads back is what was written."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from sdm.report.png import png_bytes


@pytest.mark.parametrize("size", [(1, 1), (3, 700), (50, 71)])
@pytest.mark.parametrize("parts", [3, 4])
def test_colours_come_back(size: tuple[int, int], parts: int) -> None:
    pixels = np.random.default_rng(parts).integers(0, 256, (*size, parts), dtype=np.uint8)
    image = Image.open(BytesIO(png_bytes(pixels, 300.0)))
    assert (image.mode, image.size) == ("RGB", size[::-1])
    assert np.array_equal(np.asarray(image), pixels[:, :, :3])
    assert image.info["dpi"] == pytest.approx((300.0, 300.0), abs=0.02)


def test_a_palette_comes_back() -> None:
    palette = np.array([[0, 0, 0], [1, 2, 3], [250, 4, 5], [255, 255, 255]], dtype=np.uint8)
    pixels = np.random.default_rng(1).integers(0, 4, (40, 33), dtype=np.uint8)
    image = Image.open(BytesIO(png_bytes(pixels, 200.0, palette.ravel().tolist())))
    assert image.mode == "P"
    assert np.array_equal(np.asarray(image.convert("RGB")), palette[pixels])


def test_pixels_of_any_layout_are_written(tmp_path) -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    for same in (pixels, np.asfortranarray(pixels), np.flip(np.flip(pixels).copy())):
        assert png_bytes(same, 100.0) == png_bytes(pixels, 100.0)
