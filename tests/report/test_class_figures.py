"""Pictures of classes: what they leave out is said, and what they show is the map."""

import numpy as np
import pytest
import rasterio
from matplotlib.figure import Figure
from rasterio import Affine

from sdm.assess.measures.classes import ClassProfile
from sdm.report.figures import classes as class_figures
from sdm.report.figures.classes import LEGEND, class_colours, draw_class_map, draw_class_profile, draw_probability

CLASSES = 30
LABELS = [f"class {k}" for k in range(CLASSES)]


@pytest.fixture
def figures(monkeypatch) -> list[Figure]:
    """The figures that are saved."""
    saved: list[Figure] = []
    keep = class_figures.save

    def save(figure: Figure, path) -> None:
        saved.append(figure)
        keep(figure, path)

    monkeypatch.setattr(class_figures, "save", save)
    return saved


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def write(path, bands: np.ndarray, nodata: float):
    size = {"width": bands.shape[2], "height": bands.shape[1], "count": len(bands), "dtype": bands.dtype}
    with rasterio.open(
        path, "w", driver="GTiff", nodata=nodata, crs="EPSG:3035", transform=Affine(10, 0, 500, 0, -10, 900), **size
    ) as out:
        out.write(bands)
    return path


def test_a_legend_has_the_most_frequent_classes_and_counts_the_others(tmp_path, figures) -> None:
    """The first class is the rarest: it must not be there only because it comes first."""
    cells = np.repeat(np.arange(1, CLASSES + 1, dtype=np.uint8), np.arange(1, CLASSES + 1))
    raster = write(tmp_path / "map.tif", cells[None, None, :], 0)
    codes, colours = range(1, CLASSES + 1), class_colours(CLASSES)
    draw_class_map(raster, tmp_path / "map.png", title="t", labels=LABELS, codes=codes, colours=colours)
    assert legend(figures[0]) == [*LABELS[CLASSES - LEGEND :], f"and {CLASSES - LEGEND} more"]
    raster = write(tmp_path / "few.tif", cells[None, None, :10], 0)
    draw_class_map(raster, tmp_path / "few.png", title="t", labels=LABELS, codes=codes, colours=colours)
    assert legend(figures[1]) == LABELS[:4]


@pytest.mark.parametrize("categories", [None, ("a", "b")])
def test_so_has_a_profile(tmp_path, figures, categories) -> None:
    share = np.arange(1.0, CLASSES + 1)[::-1]
    y = np.column_stack([share, share]) / share.sum()
    profile = ClassProfile("rain", np.array([0.0, 1.0]), y, 0.0, 1.0, categories)
    draw_class_profile(profile, LABELS, class_colours(CLASSES), tmp_path / "rain.png")
    assert legend(figures[0]) == [*LABELS[:LEGEND], f"and {CLASSES - LEGEND} more"]


def test_the_probability_of_one_class_is_drawn(tmp_path, figures) -> None:
    bands = np.stack([np.full((2, 3), 0.25, dtype=np.float32), np.full((2, 3), 0.75, dtype=np.float32)])
    bands[:, 0, 0] = -1
    raster = write(tmp_path / "p.tif", bands, -1)
    draw_probability(raster, tmp_path / "p.png", band=2, title="owl", label="Probability of presence")
    (image,) = figures[0].axes[0].get_images()
    assert image.get_array().compressed().tolist() == [0.75] * 5
    assert image.get_clim() == (0, 1)
