"""Pictures of classes: what they leave out is said, and what they show is the map, in the colours of the raster."""

import numpy as np
import pytest
import rasterio
from matplotlib.figure import Figure
from rasterio import Affine

from sdm.models.colours import hex_colour, palette
from sdm.report.charts import LEGEND, ResponseCurve, curve_chart
from sdm.report.figures import charts, style
from sdm.report.figures.charts import draw_charts
from sdm.report.figures.maps import drawn
from sdm.report.figures.maps.drawn import draw_map
from sdm.report.figures.maps.plan import probability
from sdm.report.paper import Paper
from sdm.report.pictures import read_picture

CLASSES = 30
LABELS = [f"class {k}" for k in range(CLASSES)]


@pytest.fixture
def figures(monkeypatch) -> list[Figure]:
    """The figures that are saved."""
    saved: list[Figure] = []
    keep = style.save

    def save(figure: Figure, path, formats=()):
        saved.append(figure)
        return keep(figure, path, formats)

    for module in (style, charts, drawn):
        monkeypatch.setattr(module, "save", save)
    return saved


def legend(figure: Figure) -> list[str]:
    (found,) = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    return [text.get_text() for text in found.get_texts()]


def write(path, bands: np.ndarray, nodata: float, classes: bool = False):
    size = {"width": bands.shape[2], "height": bands.shape[1], "count": len(bands), "dtype": bands.dtype}
    with rasterio.open(
        path, "w", driver="GTiff", nodata=nodata, crs="EPSG:3035", transform=Affine(10, 0, 500, 0, -10, 900), **size
    ) as out:
        out.write(bands)
        if classes:
            out.update_tags(**{f"class_{k + 1}": label for k, label in enumerate(LABELS)})
            out.write_colormap(1, {k + 1: (*colour, 255) for k, colour in enumerate(palette(CLASSES))})
    return path


def test_a_legend_has_the_most_frequent_classes_and_counts_the_others(tmp_path, figures) -> None:
    """The first class is the rarest: it must not be there only because it comes first."""
    cells = np.repeat(np.arange(1, CLASSES + 1, dtype=np.uint8), np.arange(1, CLASSES + 1))
    draw_map(write(tmp_path / "map.tif", cells[None, None, :], 0, classes=True), tmp_path / "map.png", title="t")
    assert legend(figures[0]) == [*LABELS[CLASSES - LEGEND :], f"and {CLASSES - LEGEND} more"]
    draw_map(write(tmp_path / "few.tif", cells[None, None, :10], 0, classes=True), tmp_path / "few.png", title="t")
    assert legend(figures[1]) == LABELS[:4]


def test_the_raster_says_what_its_values_are(tmp_path) -> None:
    cells = np.arange(1, CLASSES + 1, dtype=np.uint8)[None, None, :]
    picture = read_picture(write(tmp_path / "map.tif", cells, 0, classes=True))
    wanted = {k + 1: (LABELS[k], hex_colour(colour)) for k, colour in enumerate(palette(CLASSES))}
    assert picture.legend == wanted
    assert read_picture(write(tmp_path / "bytes.tif", cells, 0)).legend == {}


@pytest.mark.parametrize("categories", [None, ("a", "b")])
def test_so_has_a_profile(tmp_path, figures, categories) -> None:
    share = np.arange(1.0, CLASSES + 1)[::-1]
    y = np.column_stack([share, share]) / share.sum()
    tints = (hex_colour(colour) for colour in palette(CLASSES))
    curves = {
        label: ResponseCurve([0.0, 1.0], row.tolist(), categories, (0.0, 1.0), colour=tint)
        for label, row, tint in zip(LABELS, y, tints)
    }
    chart = curve_chart("rain", curves, title="", y_label="Probability", y_range=(0.0, 1.0), shares=True)
    draw_charts([chart], tmp_path / "rain.png", Paper(("png",)))
    assert legend(figures[0]) == [*LABELS[:LEGEND], f"and {CLASSES - LEGEND} more"]


def test_the_probability_of_one_class_is_drawn(tmp_path, figures) -> None:
    bands = np.stack([np.full((2, 3), 0.25, dtype=np.float32), np.full((2, 3), 0.75, dtype=np.float32)])
    bands[:, 0, 0] = -1
    raster = write(tmp_path / "p.tif", bands, -1)
    paper = Paper(("png", "svg"))
    draw_map(raster, tmp_path / "p.png", band=2, title="owl", shades=probability("presence"), paper=paper)
    (image,) = figures[0].axes[0].get_images()
    assert image.get_array().compressed().tolist() == [0.75] * 5
    assert image.get_clim() == (0, 1)
