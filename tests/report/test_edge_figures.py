"""Maps of several orders side by side: zeros are pale."""

from pathlib import Path

import numpy as np
import rasterio
from affine import Affine
from terminal import picture

from benchmarks.tools.figures import draw_orders


def test_zeros_are_pale_and_outlined(tmp_path: Path) -> None:
    paths = {}
    for order, zeros in ((1.0, 0), (2.0, 30)):
        band = np.full((60, 60), 0.4, dtype=np.float32)
        band[:zeros] = 0
        paths[order] = tmp_path / f"{order}.tif"
        profile = {"driver": "GTiff", "width": 60, "height": 60, "count": 1, "dtype": "float32", "nodata": -9999}
        with rasterio.open(paths[order], "w", transform=Affine(1, 0, 0, 0, -1, 60), **profile) as out:
            out.write(band, 1)
    image = picture(draw_orders(paths, tmp_path / "orders.png"))
    pale = np.all(np.abs(image.astype(int) - (0xF3, 0xEF, 0xE2)) < 4, axis=2)
    half = image.shape[1] // 2
    assert pale[:, half:].mean() > 0.1
    assert pale[:, :half].mean() < 0.01
