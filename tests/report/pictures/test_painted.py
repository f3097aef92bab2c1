"""Maps that are painted pixel by pixel look as the plotting library draws them, and show the numbers."""

import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rasterio
import shapely
from affine import Affine
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.font_manager import FontProperties, findfont, get_font
from PIL import Image

from sdm.models.colours import VIRIDIS, read_colour
from sdm.report.figures import lettering
from sdm.report.figures.maps import picture
from sdm.report.figures.maps.painted import ACCENT, MANY, paint_map
from sdm.report.figures.maps.plan import Shades, entropy, probability, suitability
from sdm.report.numbers import number_words, round_numbers
from sdm.report.paper import PLAIN, Paper
from sdm.report.pictures import Picture

Y, X = np.mgrid[0:40, 0:60]
HILL = np.where((X - 30) ** 2 / 900 + (Y - 20) ** 2 / 400 < 1, np.exp(-((X - 30) ** 2 + (Y - 20) ** 2) / 200.0), np.nan)
RNG = np.random.default_rng(3)
EAST, NORTH = 4e6 + 60e3 * RNG.random(40), 2.96e6 + 40e3 * RNG.random(40)
AREA: Any = SimpleNamespace(geometries=[shapely.box(4.01e6, 2.965e6, 4.05e6, 2.995e6)])
GRIDS = {
    "plane": (HILL, "EPSG:3035", Affine(1000, 0, 4e6, 0, -1000, 3e6)),
    "degrees": (HILL * 3e-6, "EPSG:4326", Affine(0.5, 0, -12, 0, -0.5, 12)),
    "no system": (HILL, None, Affine(2, 0, 5, 0, -2, 90)),
    "strip": (np.tile(HILL[15:20], (1, 4)), "EPSG:4326", Affine(0.5, 0, -60, 0, -0.5, 60)),
}
RECORDS = {"x": EAST, "y": NORTH, "test": (EAST[:9] + 500, NORTH[:9])}
CASES = {
    "records": ("plane", {"shades": suitability("cloglog"), "species": True, **RECORDS}),
    "area": ("plane", {"shades": suitability("cloglog"), "area": AREA, **RECORDS}),
    "probability": ("no system", {"shades": probability("$forest$"), "x": X[0, :20] + 20.0, "y": X[0, :20] + 30.0}),
    "raw": ("degrees", {"shades": suitability("raw")}),
    "entropy": ("strip", {"shades": entropy(4), "paper": Paper(("png",), 100, 180.0)}),
    "few dots": ("plane", {"shades": suitability("cloglog"), "paper": Paper(("png",), 50)}),
}


@pytest.fixture(scope="module")
def grids(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("grids")
    for name, (values, crs, transform) in GRIDS.items():
        size = {"width": values.shape[1], "height": values.shape[0], "count": 1, "dtype": "float32", "nodata": -1.0}
        with rasterio.open(folder / f"{name}.tif", "w", "GTiff", crs=crs, transform=transform, **size) as out:
            out.write(np.nan_to_num(values, nan=-1.0).astype(np.float32), 1)
    return {name: folder / f"{name}.tif" for name in GRIDS}


def both(raster: Path, folder: Path, ways: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The pixels as they are painted, and as the plotting library draws them."""
    ways = {"title": "Aus $bus$ 種", "paper": Paper(("png",), 100)} | ways
    found = []
    for name in ("painted", "drawn"):
        if name == "drawn":
            monkeypatch.setattr(picture, "is_plain", lambda *_: False)
        picture.draw_map(raster, folder / f"{name}.png", **ways)
        with Image.open(folder / f"{name}.png") as image:
            found.append(np.asarray(image.convert("RGB")).astype(int))
    return found


@pytest.mark.parametrize("case", CASES)
def test_it_looks_as_the_library_draws_it(case: str, grids: dict, tmp_path: Path, monkeypatch) -> None:
    """Letters have other edges: pictures are compared in squares of 10 × 10 pixels, apart from shifts by a pixel."""
    name, ways = CASES[case]
    painted, drawn = both(grids[name], tmp_path, ways, monkeypatch)
    assert painted.shape == drawn.shape
    rows, columns = (size // 10 * 10 for size in painted.shape[:2])

    def blurred(pixels: np.ndarray) -> np.ndarray:
        return pixels[:rows, :columns].reshape(rows // 10, 10, columns // 10, 10, 3).mean(axis=(1, 3))

    apart = np.min([np.abs(blurred(painted) - blurred(np.roll(drawn, k, 0))) for k in (-1, 0, 1)], axis=0).max(axis=2)
    strip = int(0.8 * columns / 10)  # the numbers beside the colours may be others
    assert np.mean(apart[:, :strip] > 40) < 0.02
    assert apart[:, :strip].mean() < 4


def test_colours_are_those_of_the_numbers(grids: dict, tmp_path: Path) -> None:
    """From cells of known values, by plain interpolation between the steps of the ramp."""
    values = np.array([[0.0, 0.25, 0.5, 0.999, np.nan]], dtype=np.float32)
    small = Picture(values, (0.0, 0.0, 5.0, 1.0), False, (1, 5), "", (1.0, 1.0))
    pixels = paint_map(small, Shades("", 1.0), {}, "t", False, None, PLAIN).astype(int)
    steps = np.array([read_colour(f"#{step}") for step in VIRIDIS], dtype=float)
    high, wide = pixels.shape[:2]
    row = pixels[high // 2]
    for value in values[0, :4].tolist():
        at = value * (len(steps) - 1)
        wanted = [np.interp(at, np.arange(len(steps)), part) for part in steps.T]
        assert np.abs(row[: int(0.8 * wide)] - wanted).max(axis=1).min() <= 3
    assert (row == 0xE8).all(axis=1).sum() > 10  # where there is no value


def test_dots_are_where_the_records_are() -> None:
    """Also if there are many of them, at the edge, at one place, or outside."""
    plain = Picture(np.zeros((10, 10), np.float32), (0.0, 0.0, 10.0, 10.0), False, (10, 10), "", (1.0, 1.0))
    nowhere = (np.array([50.0]), np.array([5.0]))
    for x, y in ((3.0, 7.0), (0.0, 10.0), (9.9, 0.1)):
        test = (np.full(3, x), np.full(3, y))
        pixels = paint_map(plain, Shades("", 1.0), {"record": nowhere, "test record": test}, "", False, None, PLAIN)
        rows, columns = np.nonzero((np.abs(pixels.astype(int) - ACCENT).max(axis=2) < 12)[: int(0.9 * len(pixels))])
        inside = (pixels == read_colour(f"#{VIRIDIS[0]}")).all(axis=2)
        down, across = (np.flatnonzero(inside[:, : int(0.82 * pixels.shape[1])].any(axis=k)) for k in (1, 0))
        wide, high = across[-1] - across[0], down[-1] - down[0]
        assert columns.mean() == pytest.approx(across[0] + x / 10 * wide, abs=5)
        assert rows.mean() == pytest.approx(down[-1] - y / 10 * high, abs=5)


def test_of_very_many_records_none_is_without_a_dot() -> None:
    plain = Picture(np.zeros((10, 10), np.float32), (0.0, 0.0, 10.0, 10.0), False, (10, 10), "", (1.0, 1.0))
    places = RNG.normal(5.0, 0.3, (2, MANY + 1))
    pixels = paint_map(plain, Shades("", 1.0), {"record": (places[0], places[1])}, "", False, None, PLAIN)
    ground = (pixels == read_colour(f"#{VIRIDIS[0]}")).all(axis=2)[:, : int(0.82 * pixels.shape[1])]
    down, across = (np.flatnonzero(ground.any(axis=k))[[0, -1]] for k in (1, 0))
    columns = np.round(across[0] + places[0] / 10 * (across[1] - across[0])).astype(int)
    rows = np.round(down[0] + (1 - places[1] / 10) * (down[1] - down[0])).astype(int)
    near = [~ground[rows + i, columns + j] for i in (-1, 0, 1) for j in (-1, 0, 1)]
    assert np.any(near, axis=0).all()
    assert ground[down[0] + 20 : down[0] + 60, across[0] + 20 : across[0] + 60].all(), "no dots where nobody is"


@given(
    st.floats(-1e4, 1e4),
    st.floats(1e-3, 1e4),
    st.sampled_from([(5, (1, 2, 3, 5)), (6, (1, 2, 5)), (3, (1, 2, 2.5, 5))]),
)
def test_round_numbers_are_as_close_as_can_be(low: float, span: float, ways: tuple) -> None:
    """Of all steps that are allowed, tried one by one, it is the smallest that gives no more numbers than wanted."""
    most, steps = ways
    mine = round_numbers(low, low + span, most, steps)
    for step in sorted(step * 10.0**power for step in steps for power in range(-6, 6)):
        multiples = range(math.ceil(low / step - 1e-9), math.floor((low + span) / step + 1e-9) + 1)
        if len(multiples) <= most:
            break
    assert mine == pytest.approx([k * step for k in multiples], rel=1e-9, abs=1e-9)
    assert 1 <= len(mine) <= most
    assert all(low - 1e-6 * span <= t <= low + span * (1 + 1e-6) for t in mine)


def test_numbers_are_told_apart_by_few_digits() -> None:
    assert number_words([0.0, 0.2, 0.4]) == (["0.0", "0.2", "0.4"], 0)
    assert number_words([0.0, 25.0]) == (["0", "25"], 0)
    assert number_words([0.0, 2.5e-6]) == (["0.0", "2.5"], -6)
    assert number_words([-1e7, 0.0, 2e7]) == (["−1", "0", "2"], 7)
    assert number_words([0.0]) == (["0"], 0)
    assert round_numbers(3.0, 3.0) == [3.0]


def test_what_is_not_plain_is_drawn_by_the_library() -> None:
    assert picture.is_plain(Shades(""), False, PLAIN)
    assert not picture.is_plain(Shades(""), True, PLAIN)
    assert not picture.is_plain(Shades(""), False, Paper(("png", "pdf")))
    assert not picture.is_plain(Shades("", colours="RdBu_r"), False, PLAIN)


def test_a_map_alone_loads_no_plotting_library(grids: dict, tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from sdm.report.figures.maps.picture import draw_map\n"
    code += "draw_map(Path(sys.argv[1]), Path(sys.argv[2]), title='t'); print('matplotlib' in sys.modules)"
    words = [sys.executable, "-c", code, str(grids["plane"]), str(tmp_path / "a.png")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == ["False"]
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_the_font_is_found_where_the_library_keeps_it_elsewhere(monkeypatch) -> None:
    found = lettering.font_of(12)
    monkeypatch.setattr(lettering, "find_spec", lambda name: None)
    lettering.font_of.cache_clear()
    assert Path(str(lettering.font_of(12).path)).name == Path(str(found.path)).name
    lettering.font_of.cache_clear()


def test_letters_that_the_font_does_not_have_are_boxes() -> None:
    """The same as the list of letters in the font says."""
    letters = "aÄß−×10⁻ ☃種🦥Ж\u0600\u3042√\n\t\u00a0\udcff\x00"
    known = get_font(findfont(FontProperties())).get_charmap()
    wanted = "".join(letter if ord(letter) in known else "□" for letter in letters)
    assert lettering.drawable(letters) == wanted
