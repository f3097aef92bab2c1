"""Pictures: they show what was computed, whatever the names, and one does not leave traces in the next."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from affine import Affine
from PIL import Image

from sdm.assess.profiles import Profile
from sdm.report.figures.curves import CurvePainter, draw_profiles, effect_charts, profile_chart
from sdm.report.figures.maps.axes import scale_bar
from sdm.report.figures.maps.picture import draw_map
from sdm.report.figures.maps.plan import MapFrame, suitability
from sdm.report.figures.style import own_axes

INK, RANGE = 31, 238  # shades of one curve


def curve(name: str = "warmth", kind: str = "marginal", y=None, classes=None) -> Profile:
    if classes:
        x = np.arange(float(len(classes)))
        return Profile(name, kind, x, np.linspace(0.2, 0.9, len(x)) if y is None else y, x[0], x[-1], tuple(classes))
    x = np.linspace(-10, 110, 101)
    return Profile(name, kind, x, np.exp(-(((x - 50) / 20) ** 2)) if y is None else y, 0.0, 100.0)


def painted(profile: Profile, scale: str = "cloglog", painter: CurvePainter | None = None) -> np.ndarray:
    painter = painter or CurvePainter()
    painter.draw(profile_chart(profile, scale, (0.0, 1.0) if scale == "cloglog" else None))
    return painter.pixels()


def read(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def count(pixels: np.ndarray, shade: int) -> int:
    return int(np.count_nonzero(np.abs(pixels.astype(int) - shade) <= 6))


def test_a_curve_shows_line_and_training_range() -> None:
    pixels = painted(curve())
    assert count(pixels, INK) > 100
    assert count(pixels, RANGE) > 10_000
    # the middle of the training range is in the middle, white on both sides of it
    columns = np.flatnonzero((np.abs(pixels.astype(int) - RANGE) <= 2).sum(axis=0) > 100)
    assert 0.2 < columns.min() / pixels.shape[1] < 0.3
    assert 0.85 < columns.max() / pixels.shape[1] < 0.95


def test_the_line_is_where_the_numbers_are() -> None:
    """A flat curve at 0.25 is drawn a quarter of the way up."""
    painter = CurvePainter()
    pixels = painted(curve(y=np.full(101, 0.25)), painter=painter)
    dark = (np.abs(pixels.astype(int) - INK) <= 40).sum(axis=1)
    rows = np.flatnonzero(dark > 700)
    rows = rows[rows < rows.max() - 20]  # without the axis
    share = (1 - rows.mean() / pixels.shape[0] - painter.bottom) / painter.high
    assert share == pytest.approx(0.25, abs=0.02)


def test_classes_are_bars() -> None:
    pixels = painted(curve(classes=["clay", "sand", "rock"]))
    assert count(pixels, RANGE) < 5000, "classes have no range"
    filled = (np.abs(pixels.astype(int) - INK) <= 6).sum(axis=0)
    runs = np.count_nonzero(np.diff((filled[200:] > 60).astype(int)) == 1)
    assert runs == 3


@pytest.mark.parametrize("scale", ["cloglog", "raw"])
def test_drawing_leaves_no_trace_in_the_next_picture(scale: str) -> None:
    profiles = [
        curve(y=np.linspace(0, 1e-4, 101)),
        curve("soil", classes=[f"class {k}" for k in range(40)]),
        curve("effect", "additive", y=np.linspace(-3, 5, 101)),
        curve("flat", "additive", y=np.zeros(101)),
        curve("soil", "additive", classes=["a", "b"], y=np.array([-1.0, 2.0])),
        curve("small", "only", y=np.full(101, 1e-9)),
    ]
    painter = CurvePainter()
    for profile in [*profiles, *reversed(profiles)]:
        np.testing.assert_array_equal(painted(profile, scale, painter), painted(profile, scale))


@pytest.mark.parametrize("name", ["$x^2$", "$", "a_b", "🦥", "熊猫", "n" * 300, "line\nbreak", "", "\\frac{1}{2}"])
def test_any_name_can_be_drawn(name: str, tmp_path: Path) -> None:
    """A warning about a missing letter would fail this test."""
    draw_profiles([curve(name, kind) for kind in ("marginal", "only", "additive")], tmp_path, "cloglog", {name: "safe"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["effects.png", "safe.png", "safe_only.png"]


def test_all_additive_effects_are_one_picture(tmp_path: Path) -> None:
    """They have one scale: a weak effect looks weak. The figure is as wide as a page."""
    names = [f"v{k}" for k in range(6)]
    effects = [curve(name, "additive", y=np.linspace(-k, k, 101)) for k, name in enumerate(names)]
    draw_profiles(effects, tmp_path, "cloglog", dict(zip(names, names)))
    charts = effect_charts(effects, "cloglog")
    assert {chart.y_range for chart in charts} == {(-5.5, 5.5)}
    with Image.open(tmp_path / "effects.png") as image:
        mosaic, dpi = np.asarray(image), image.info["dpi"][0]
    assert dpi == pytest.approx(300, abs=0.1)
    assert mosaic.shape[1] / dpi * 25.4 == pytest.approx(180, abs=1)
    painter = CurvePainter(45.0)
    painter.draw(charts[4])
    single = painter.pixels()
    high, wide = single.shape
    assert mosaic.shape == (2 * high, 4 * wide)
    np.testing.assert_array_equal(mosaic[high:, :wide], single)
    assert np.all(mosaic[high:, 2 * wide :] == 255)


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
        x=np.array([12.0]),
        y=np.array([61.0]),
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
            x=none,
            y=none,
            test=(none, none),
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
    scale_bar(axes, MapFrame(limits, geographic=True), there)
    axes.figure.canvas.draw()
    (words,) = axes.texts
    inside, frame = words.get_window_extent(), axes.get_window_extent()
    assert frame.x0 <= inside.x0
    assert inside.x1 <= frame.x1
