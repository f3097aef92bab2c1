"""What a GIS finds in a map: descriptions, tags, units, statistics and colours, styles beside it, other formats."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.crs import CRS

from sdm.data.rasters.grid import Grid
from sdm.errors import OptionError
from sdm.maps.gis.formats import map_format
from sdm.maps.gis.package import add_ranges
from sdm.maps.gis.styles import ramp_breaks, read_style, style_places, write_styles
from sdm.maps.gis.tags import PRESENCE_WORDS, Moments, band_title, describe_raster
from sdm.maps.rasters import PRESENCE_COLOURS, Raster, writing_cogs
from sdm.models.colours import VIRIDIS, hex_colour

GRID = Grid(width=40, height=30, transform=Affine(0.5, 0, -70, 0, -0.5, 10), crs=CRS.from_epsg(4326))
VALUES = np.linspace(0.05, 0.85, 1200, dtype=np.float32).reshape(30, 40)
THRESHOLD = {"species": "Aus bus", "scale": "cloglog", "what": "presence", "threshold_rule": "10p", "threshold": "0.4"}


def write(raster: Raster, band: np.ndarray, tags: dict[str, str]) -> Path:
    with writing_cogs(GRID, [raster]) as (file,):
        file.write(band.astype(raster.dtype), 1)
        moments = Moments(raster.nodata)
        moments.add(band.astype(raster.dtype))
        describe_raster(file, [moments.summary(raster.path)], tags)
    return raster.path


@pytest.fixture
def suitability(tmp_path: Path) -> Path:
    band = VALUES.copy()
    band[:3] = -9999
    return write(Raster(tmp_path / "sp.tif"), band, {"species": "Aus bus", "scale": "cloglog", "scenario": "2050"})


@pytest.fixture
def presence(tmp_path: Path) -> Path:
    band = np.where(VALUES > 0.4, 1, 0)
    band[:3] = 255
    return write(Raster.presence(tmp_path / "sp_10p.tif"), band, {**THRESHOLD, **PRESENCE_WORDS})


def test_a_map_says_what_it_is(suitability: Path) -> None:
    with rasterio.open(suitability) as source:
        assert source.descriptions == ("Aus bus: suitability (cloglog), 2050",)
        assert source.units == ("0 to 1",)
        assert source.tags()["scenario"] == "2050"
        known = source.read(1, masked=True)
        for name, value in (("MINIMUM", known.min()), ("MAXIMUM", known.max()), ("MEAN", known.mean())):
            assert float(source.tags(1)[f"STATISTICS_{name}"]) == pytest.approx(float(value), rel=1e-5)
        assert float(source.tags(1)["STATISTICS_STDDEV"]) == pytest.approx(float(known.std()), rel=1e-5)


def test_presence_has_colours_and_its_rule(presence: Path) -> None:
    with rasterio.open(presence) as source:
        assert source.descriptions == ("Aus bus: presence (10p, cloglog ≥ 0.4)",)
        assert source.colormap(1)[1][:3] == PRESENCE_COLOURS[1]
        assert (source.tags()["threshold_rule"], source.tags()["threshold"]) == ("10p", "0.4")


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({"species": "A b", "scale": "raw", "statistic": "mean over runs"}, "A b: mean over runs of suitability (raw)"),
        ({"scale": "probability", "species": "A b"}, "A b: probability"),
        ({"what": "change", "species": "A b", "scenario": "hot"}, "A b: change, hot"),
        ({"what": "presence"}, "presence"),
    ],
)  # fmt: skip
def test_bands_have_titles(tags: dict[str, str], words: str) -> None:
    assert band_title(tags) == words


def test_the_style_of_classes_has_their_colours_and_names(presence: Path) -> None:
    """What QGIS and GeoServer show is what the raster's own colour table says."""
    for place in write_styles(presence):
        tree = parsed(place)
        if place.suffix == ".qml":
            assert tree.find("pipe/rasterrenderer").get("type") == "paletted"
            found = [(e.get("value"), e.get("color"), e.get("label")) for e in tree.iter("paletteEntry")]
        else:
            found = [(e.get("quantity"), e.get("color"), e.get("label")) for e in tree.iter(sld("ColorMapEntry"))]
        named = zip(("0", "1"), PRESENCE_COLOURS.values(), ("absent", "present"))
        assert found == [(value, hex_colour(colour), label) for value, colour, label in named]


def parsed(path: Path) -> ElementTree.Element:
    return ElementTree.parse(path).getroot()  # noqa: S314


def sld(name: str) -> str:
    return "{http://www.opengis.net/sld}" + name


def test_the_style_of_numbers_is_a_ramp_with_round_breaks(suitability: Path) -> None:
    qml, _ = write_styles(suitability)
    shader = parsed(qml).find("pipe/rasterrenderer/rastershader/colorrampshader")
    items = [(float(item.get("value")), item.get("color")) for item in shader.iter("item")]
    assert [value for value, _ in items] == pytest.approx(np.arange(11) / 10)
    assert [colour for _, colour in items][::10] == [f"#{VIRIDIS[0]}", f"#{VIRIDIS[-1]}"]
    assert shader.get("minimumValue") == "0"
    assert shader.get("colorRampType") == "INTERPOLATED"


def test_sld_has_the_elements_of_its_schema_in_their_order(suitability: Path) -> None:
    """OGC SLD 1.0.0, StyledLayerDescriptor.xsd: sequences of elements, and required attributes with their types."""
    root = parsed(write_styles(suitability)[1])
    assert (root.tag, root.get("version")) == (sld("StyledLayerDescriptor"), "1.0.0")
    sequence = {
        "StyledLayerDescriptor": ["NamedLayer"],
        "NamedLayer": ["Name", "UserStyle"],
        "UserStyle": ["Title", "FeatureTypeStyle"],
        "FeatureTypeStyle": ["Rule"],
        "Rule": ["RasterSymbolizer"],
        "RasterSymbolizer": ["ChannelSelection", "ColorMap"],
        "ChannelSelection": ["GrayChannel"],
        "GrayChannel": ["SourceChannelName"],
    }
    for name, inside in sequence.items():
        for element in root.iter(sld(name)):
            assert [child.tag for child in element] == [sld(child) for child in inside]
    assert not next(root.iter(sld("ColorMap"))).attrib, "the schema gives a colour map no type"
    for entry in root.iter(sld("ColorMapEntry")):
        assert set(entry.attrib) == {"color", "quantity", "label", "opacity"}
        float(entry.get("quantity"))
        int(entry.get("color").removeprefix("#"), 16)


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (-3.0, 17.0), (1e-9, 4e-7), (5.0, 5.0), (-1e6, 2e6)])
def test_breaks_cover_any_range(low: float, high: float) -> None:
    breaks = ramp_breaks(low, high, VIRIDIS)
    values = [one.value for one in breaks]
    assert 2 <= len(values) <= 14
    assert values[0] <= low + 1e-12
    assert values[-1] >= high - 1e-12 * abs(high)
    assert values == sorted(values)


def test_values_around_zero_have_two_colours(tmp_path: Path) -> None:
    band = np.linspace(-20, 60, 1200).reshape(30, 40)
    style = read_style(write(Raster(tmp_path / "mess.tif", bands=("MESS",)), band, {"what": "MESS"}))
    values = [one.value for one in style.breaks]
    assert values[0] == -values[-1]


@pytest.mark.parametrize("ending", [".asc", ".img", ".nc", ".bil", ".sdat"])
def test_the_ending_says_the_format(tmp_path: Path, ending: str) -> None:
    """A file called .asc is an ASCII grid, with the same numbers and places."""
    path = write(Raster(tmp_path / f"map{ending}"), VALUES, {"species": "Aus bus", "scale": "cloglog"})
    with rasterio.open(path) as source:
        assert source.driver == map_format(path) != "COG"
        np.testing.assert_allclose(source.read(1), VALUES, rtol=1e-5)
        assert source.bounds == pytest.approx(GRID.bounds)
    if ending == ".asc":
        assert path.read_text().startswith("ncols        40")
        assert (tmp_path / "map.prj").is_file()
    assert not list(tmp_path.glob(".sdm-*")), "nothing half-written stays"


@pytest.mark.parametrize(("name", "bands"), [("map.png", 1), ("map.xyzzy", 1), ("map.asc", 2)])
def test_a_format_that_cannot_hold_the_map_is_refused(name: str, bands: int) -> None:
    with pytest.raises(OptionError, match=name):
        map_format(Path(name), bands)


def test_ranges_have_their_area_and_middle(tmp_path: Path, presence: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    package = tmp_path / "results.gpkg"
    empty = write(Raster.presence(tmp_path / "none.tif"), np.zeros((30, 40)), {**THRESHOLD, **PRESENCE_WORDS})
    layers = add_ranges({"sp_10p": presence, "none": empty}, package, {"species": "Aus bus"})
    assert layers == ["range_sp_10p", "centroids"]
    patches, middles = (geopandas.read_file(package, layer=layer) for layer in layers)
    with rasterio.open(presence) as source:
        rows, columns = np.nonzero(source.read(1) == 1)
    km2 = GRID.cell_km2(rows)
    assert patches["area_km2"].sum() == pytest.approx(km2.sum(), rel=1e-9)
    assert middles["area_km2"].tolist() == pytest.approx([km2.sum(), 0.0])
    assert middles.geometry[1] is None or middles.geometry[1].is_empty
    assert middles.geometry[0].x == pytest.approx(np.average(-70 + 0.5 * (columns + 0.5), weights=km2), abs=0.05)
    assert set(patches["threshold_rule"]) == {"10p"}


def test_middles_of_ranges_are_in_the_system_of_the_map(tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    grid = Grid(width=40, height=30, transform=Affine(1000, 0, 400_000, 0, -1000, 5_600_000), crs=CRS.from_epsg(25833))
    raster = Raster.presence(tmp_path / "metres.tif")
    with writing_cogs(grid, [raster]) as (file,):
        band = np.zeros((30, 40), dtype=np.uint8)
        band[10:12, 20:24] = 1
        file.write(band, 1)
    add_ranges({"metres": raster.path}, tmp_path / "out.gpkg", {})
    (middle,) = geopandas.read_file(tmp_path / "out.gpkg", layer="centroids").geometry
    assert (middle.x, middle.y) == pytest.approx((422_000, 5_589_000), abs=50)


def test_styles_lie_beside_their_raster(suitability: Path) -> None:
    assert [place.name for place in style_places(suitability)] == ["sp.qml", "sp.sld"]
    assert write_styles(suitability) == style_places(suitability)
