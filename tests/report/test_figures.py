"""Pictures: they show what was computed, whatever the names, and one does not leave traces in the next."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import rasterio
from affine import Affine
from PIL import Image
from terminal import chart_parts

from sdm.report.charts import ColumnChart, LineChart, Range, ResponseCurve, curve_chart
from sdm.report.figures.charts import plot_curve
from sdm.report.figures.maps.drawn import add_scale_bar, draw_map
from sdm.report.figures.maps.plan import MapFrame, Marks, suitability
from sdm.report.figures.style import own_axes
from sdm.report.model_figures import write_charts
from sdm.report.pages.svg import svg_file
from sdm.report.paper import Paper

X = np.linspace(-10, 110, 101)


def curve(name: str = "warmth", y=None, classes=None, y_range: Range | None = (0.0, 1.0)) -> LineChart | ColumnChart:
    if classes:
        y = np.linspace(0.2, 0.9, len(classes)) if y is None else y
        own = ResponseCurve(list(range(len(classes))), y.tolist(), classes)
    else:
        y = np.exp(-(((X - 50) / 20) ** 2)) if y is None else y
        own = ResponseCurve(X.tolist(), y.tolist(), None, (0.0, 100.0))
    return curve_chart(name, {"mean": own}, title=name, y_label="Suitability", y_range=y_range)


def read(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def test_a_curve_shows_line_and_training_range() -> None:
    axes = plot_curve(curve())
    assert axes.lines[0].get_xydata()[:, 0].tolist() == X.tolist()
    (shade,) = axes.patches
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == (0.0, 100.0)


def test_a_file_has_the_line_where_the_numbers_are() -> None:
    """A flat curve at 0.25 is drawn a quarter of the way up, from one end of the axes to the other."""
    root = ElementTree.fromstring(svg_file([curve(y=np.full(101, 0.25))]))  # noqa: S314 - made here
    lines = [part.get("d", "") for part in root.iter("{http://www.w3.org/2000/svg}path")]
    (frame,) = [re.findall(r"[-0-9.]+", text) for text in lines if text.count("L") == 2]
    (flat,) = [re.findall(r"[-0-9.]+", text) for text in lines if text.count("L") == 100]
    top, floor = float(frame[1]), float(frame[3])
    assert {float(y) for y in flat[1::2]} == {round(floor - 0.25 * (floor - top), 1)}
    assert (float(flat[0]), float(flat[-2])) == (float(frame[0]), float(frame[4]))


def test_classes_are_bars() -> None:
    axes = plot_curve(curve(classes=["clay", "sand", "rock"]))
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0.2, 0.55, 0.9])


@pytest.mark.parametrize("name", ["$x^2$", "$", "a_b", "🦥", "熊猫", "n" * 300, "line\nbreak", "", "\\frac{1}{2}"])
def test_any_name_can_be_drawn(name: str, tmp_path: Path) -> None:
    """A warning about a missing letter would fail this test."""
    write_charts({"safe": [curve(name)], "several": [curve(name), curve(name)]}, tmp_path, Paper(("png", "pdf"), 72))
    wanted = [f"{stem}.{kind}" for stem in ("safe", "several") for kind in ("pdf", "png", "svg")]
    assert sorted(path.name for path in tmp_path.iterdir()) == wanted
    assert chart_parts(tmp_path / "several.svg") > 20


def test_all_effects_are_one_picture(tmp_path: Path) -> None:
    """They have one scale: a weak effect looks weak. The figure is as wide as a page."""
    effects = [curve(f"v{k}", np.linspace(-k, k, 101), y_range=(-5.5, 5.5)) for k in range(6)]
    write_charts({"effects": effects}, tmp_path, Paper(("png",)))
    with Image.open(tmp_path / "effects.png") as image:
        assert image.info["dpi"][0] == pytest.approx(300, abs=0.1)
        assert image.width / 300 * 25.4 == pytest.approx(180, abs=1)
    root = ElementTree.parse(tmp_path / "effects.svg").getroot()  # noqa: S314 - made here
    panels = root.findall("{http://www.w3.org/2000/svg}g")
    assert [panel.get("transform") for panel in panels] == [
        f"translate({x} {y})" for y in (0, 280) for x in (0, 400, 800)
    ]


def write_map(path: Path, crs: str | None, shape=(60, 40), value=0.5) -> Path:
    band = np.full(shape, value, "float32")
    band[: shape[0] // 3] = -9999
    band[0, 0] = value  # maps are cropped to their data: this one is shown whole
    profile = {
        "driver": "GTiff",
        "count": 1,
        "height": shape[0],
        "width": shape[1],
        "dtype": "float32",
        "nodata": -9999,
    }
    with rasterio.open(path, "w", **profile, crs=crs, transform=Affine(0.1, 0, 10, 0, -0.1, 66)) as out:
        out.write(band, 1)
    return path


def test_the_map_has_records_where_they_are_and_true_proportions(tmp_path: Path) -> None:
    raster = write_map(tmp_path / "map.tif", "EPSG:4326")
    picture = draw_map(
        *(raster, tmp_path / "map.png"),
        title="sp",
        shades=suitability("cloglog"),
        marks=Marks({"training record": (np.array([12.0]), np.array([61.0]))}),
    )
    pixels = read(picture).astype(int)
    # the upper third is without data: 4 degrees wide and 2 high, at 63° N as high as 4.4 at the equator
    grey = np.abs(pixels - [232, 232, 232]).max(axis=2) <= 1
    (top, bottom), (left, right) = (np.flatnonzero(grey.sum(axis=k) > 50)[[0, -1]] for k in (1, 0))
    high, wide = bottom - top, right - left
    assert high / wide == pytest.approx(2 / np.cos(np.radians(63)) / 4, rel=0.03)
    # the record is in the middle, and 5 degrees below the upper edge
    row, col = round(top + high * 5 / 2), round(left + wide / 2)
    white = (pixels > 240).all(axis=2)
    assert white[row - 4 : row + 5, col - 4 : col + 5].any()
    assert not white[row - 60 : row - 15, left + 5 : right - 5].any()


@pytest.mark.parametrize(("scale", "crs"), [("raw", None), ("cumulative", "EPSG:3035"), ("logistic", "EPSG:4326")])
@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_maps_of_any_scale_and_shape(tmp_path: Path, scale: str, crs) -> None:
    none = np.array([])
    for k, shape in enumerate([(3, 400), (400, 3), (1200, 1000)]):
        raster = write_map(tmp_path / f"{k}.tif", crs, shape, value=1e-5)
        draw_map(
            raster,
            tmp_path / f"{k}.png",
            title="$🦥" * 60,
            shades=suitability(scale),
            marks=Marks({"training record": (none, none), "test record": (none, none)}),
        )
        assert max(read(tmp_path / f"{k}.png").shape) <= 3000


@pytest.mark.parametrize(
    "corner", [(slice(0, 2), slice(0, 4)), (slice(0, 2), slice(6, 10)), (slice(8, 10), slice(6, 10))]
)
@pytest.mark.parametrize("limits", [(-95.0, -56.0, -34.0, 24.0), (5.0, 40.0, 6.0, 41.0)])
def test_the_words_of_a_scale_bar_stay_in_the_map(corner, limits) -> None:
    """Also where they are longer than the bar, as where the latitude is told."""
    axes = own_axes(None)
    axes.set(xlim=limits[::2], ylim=limits[1::2])
    there = np.ones((10, 10), dtype=bool)
    there[corner] = False
    add_scale_bar(axes, MapFrame(limits, geographic=True), there)
    axes.figure.canvas.draw()
    (bar,) = axes.artists
    inside, frame = bar.get_window_extent(), axes.get_window_extent()
    assert frame.x0 <= inside.x0
    assert inside.x1 <= frame.x1


def test_two_curves_have_a_legend_and_one_has_none() -> None:
    one = ResponseCurve(X.tolist(), (X / 200 + 0.2).tolist(), None, (0.0, 100.0))
    for curves, entries in (({"mean": one}, 0), ({"mean": one, "only": one}, 2)):
        legend = plot_curve(curve_chart("warmth", curves, title="", y_label="", y_range=(0.0, 1.0))).get_legend()
        assert (0 if legend is None else len(legend.get_texts())) == entries
