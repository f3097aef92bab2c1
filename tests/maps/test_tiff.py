"""Where the last tile of a TIFF ends, and files that were cut."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import rasterio
import rasterio.shutil

from sdm.maps.rasters import _check_whole, tiles_end


def write(path: Path, bands: int = 1, **options: str) -> Path:
    profile = {"width": 700, "height": 600, "count": bands, "dtype": "float32", "tiled": True, "interleave": "pixel"}
    values = np.random.default_rng(1).normal(size=(bands, 600, 700)).astype("float32")
    with rasterio.open(path, "w", driver="GTiff", blockxsize=256, blockysize=256, **profile, **options) as out:
        out.write(values)
    return path


def tiles_of_gdal(path: Path) -> list[tuple[int, ...]]:
    found = []
    with rasterio.open(path) as data:
        for level in (None, *range(len(data.overviews(1)))):
            with rasterio.open(path, **({} if level is None else {"overview_level": level})) as part:
                tiles = itertools.product(range(-(-part.width // 256)), range(-(-part.height // 256)))
            for col, row in tiles:
                words = (f"BLOCK_{item}_{col}_{row}" for item in ("OFFSET", "SIZE"))
                found.append(tuple(int(data.get_tag_item(word, "TIFF", bidx=1, ovr=level)) for word in words))
    return sorted(found)


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
@pytest.mark.parametrize(
    "options", [{}, {"BIGTIFF": "YES"}, {"ENDIANNESS": "BIG"}, {"ENDIANNESS": "BIG", "BIGTIFF": "YES"}, {"bands": 3}]
)
def test_tiles_are_where_gdal_says(tmp_path: Path, options) -> None:
    plain, cog = write(tmp_path / "plain.tif", **options), tmp_path / "cog.tif"
    kept = {"BIGTIFF": options["BIGTIFF"]} if "BIGTIFF" in options else {}
    rasterio.shutil.copy(plain, cog, driver="COG", COMPRESS="DEFLATE", BLOCKSIZE=256, **kept)
    for path in (plain, cog):
        assert tiles_end(path) == max(start + size for start, size in tiles_of_gdal(path)) <= path.stat().st_size
        _check_whole(path)
    assert len(tiles_of_gdal(cog)) > len(tiles_of_gdal(plain)) == 9, "with overviews"


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_a_file_that_ends_too_early_is_not_whole(tmp_path: Path) -> None:
    content = write(tmp_path / "plain.tif").read_bytes()
    for size in (0, 5, 60, len(content) // 2, len(content) - 1):
        path = tmp_path / "cut.tif"
        path.write_bytes(content[:size])
        with pytest.raises(OSError, match="No space left"):
            _check_whole(path)
    path.write_bytes(b"no TIFF at all")
    with pytest.raises(OSError, match="No space left"):
        _check_whole(path)
