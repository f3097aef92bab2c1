"""Names that files have for values: GDAL's and Esri's tables, and nothing that a hostile file could do with them."""

import struct
from pathlib import Path

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.shutil import copy

from sdm.data.categories import Categories, read_categories
from sdm.data.rasters.examine import examine
from sdm.data.rasters.layers import open_stack

CATEGORIES = "<CategoryNames><Category/><Category>forest</Category><Category>bog &amp; fen</Category></CategoryNames>"
TABLE = """<GDALRasterAttributeTable {attributes}>
<FieldDefn index="0"><Name>{value}</Name><Type>0</Type><Usage>{usage}</Usage></FieldDefn>
<FieldDefn index="1"><Name>Count</Name><Type>0</Type><Usage>1</Usage></FieldDefn>
<FieldDefn index="2"><Name>Code</Name><Type>2</Type><Usage>0</Usage></FieldDefn>
<FieldDefn index="3"><Name>{name}</Name><Type>2</Type><Usage>{named}</Usage></FieldDefn>
<Row index="0"><F>10</F><F>7</F><F>FO</F><F>forest</F></Row><Row index="1"><F>20</F><F>7</F><F>BO</F><F>bog</F></Row>
</GDALRasterAttributeTable>"""


def cover(path: Path, values=(1, 2, 3), dtype: str = "uint8", colours: bool = False, size: int = 40) -> Path:
    """Write a small raster of some values."""
    band = np.random.default_rng(1).choice(values, (size, size)).astype(dtype)
    place = {"transform": Affine(1, 0, 0, 0, -1, 40), "crs": "EPSG:4326", "count": 1}
    with rasterio.open(path, "w", driver="GTiff", width=size, height=size, dtype=dtype, **place) as out:
        out.write(band, 1)
        if colours:
            out.write_colormap(1, {1: (0, 90, 0, 255), 2: (90, 0, 90, 255)})
    return path


def read(path: Path) -> Categories:
    with rasterio.open(path) as data:
        return read_categories(str(path), 1, data)


def beside(path: Path, content: str) -> None:
    Path(f"{path}.aux.xml").write_text(f'<PAMDataset><PAMRasterBand band="1">{content}</PAMRasterBand></PAMDataset>')


def table(attributes='tableType="thematic"', value="Value", usage=5, name="Class_Name", named=2) -> str:
    return TABLE.format(attributes=attributes, value=value, usage=usage, name=name, named=named)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (CATEGORIES, {1: "forest", 2: "bog & fen"}),
        (table(), {10: "forest", 20: "bog"}),
        (table(usage=0, named=0, value="VALUE"), {10: "forest", 20: "bog"}),
        (table(usage=0, named=0, value="other", attributes='Row0Min="3" BinSize="2"'), {3: "forest", 5: "bog"}),
        (table(named=0, name="remarks"), {10: "FO", 20: "BO"}),  # no column of a known name: the first of text
        (table(attributes='tableType="athematic"'), {}),
        (table(usage=0, value="other"), {}),
        (CATEGORIES + table(), {10: "forest", 20: "bog"}),
        ("<Metadata/>", {}),
    ],
)
def test_names_of_gdal(tmp_path: Path, content: str, names: dict[int, str]) -> None:
    path = cover(tmp_path / "cover.tif")
    beside(path, content)
    assert read(path).names == names
    Path(f"{path}.aux.xml").write_text(Path(f"{path}.aux.xml").read_text().replace('band="1"', 'band="2"'))
    assert read(path).names == {}


@pytest.mark.parametrize(
    "content",
    [
        '<!DOCTYPE x [<!ENTITY a "forest"><!ENTITY b "&a;&a;">]><PAMDataset><PAMRasterBand band="1"><CategoryNames>'
        "<Category>&b;</Category></CategoryNames></PAMRasterBand></PAMDataset>",
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><PAMDataset><PAMRasterBand band="1"><CategoryNames>'
        "<Category>&a;</Category></CategoryNames></PAMRasterBand></PAMDataset>",
        "<PAMDataset><PAMRasterBand band=",
        "",
        "\0" * 50,
    ],
)
def test_a_hostile_or_damaged_file_of_names_says_nothing(tmp_path: Path, content: str) -> None:
    path = cover(tmp_path / "cover.tif")
    with rasterio.open(path) as data:  # GDAL itself must not see the file
        Path(f"{path}.aux.xml").write_text(content)
        assert read_categories(str(path), 1, data).names == {}


def dbf(path: Path, rows: list[tuple[int, str]], encoding: str = "utf-8") -> None:
    """Write an attribute table as Esri programs do."""
    fields = [("VALUE", "N", 9), ("COUNT", "N", 9), ("CLASSNAME", "C", 20)]
    size = 1 + sum(length for _, _, length in fields)
    head = struct.pack("<BBBBIHH20x", 3, 126, 1, 1, len(rows), 32 + 32 * len(fields) + 1, size)
    for name, kind, length in fields:
        head += struct.pack("<11sc4xBB14x", name.encode(), kind.encode(), length, 0)
    body = b""
    for code, text in rows:
        word = text.encode(encoding)[:20]
        body += b" " + f"{code:9d}".encode() + b"        7" + word + b" " * (20 - len(word))
    path.write_bytes(head + b"\r" + body + b"\x1a")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize("name", ["cover.tif.vat.dbf", "cover.vat.dbf"])
def test_names_of_esri(tmp_path: Path, name: str, encoding: str) -> None:
    path = cover(tmp_path / "cover.tif")
    dbf(tmp_path / name, [(1, "Wald"), (2, "Gebüsch"), (3, "No Data")], encoding)
    assert read(path).names == {1: "Wald", 2: "Gebüsch"}


def test_a_damaged_table_of_esri_says_nothing(tmp_path: Path) -> None:
    path = cover(tmp_path / "cover.tif")
    dbf(tmp_path / "whole.dbf", [(1, "a"), (2, "b")])
    content = (tmp_path / "whole.dbf").read_bytes()
    for cut in range(0, len(content), 7):
        (tmp_path / "cover.tif.vat.dbf").write_bytes(content[:cut])
        assert set(read(path).names.values()) <= {"a", "b"}


def test_names_in_a_virtual_raster(tmp_path: Path) -> None:
    path = cover(tmp_path / "cover.tif")
    beside(path, CATEGORIES)
    copy(path, tmp_path / "cover.vrt", driver="VRT")
    assert read(tmp_path / "cover.vrt").names == {1: "forest", 2: "bog & fen"}


def hints(path: Path) -> list[str]:
    return list(examine(open_stack(path)).warnings)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int32", "uint32", "float32", "float64"])
def test_a_few_whole_numbers_look_like_classes_in_every_type(tmp_path: Path, dtype: str) -> None:
    (text,) = hints(cover(tmp_path / "soil.tif", range(1, 13), dtype))
    assert text == (
        "layer 'soil' holds 12 different whole numbers (1 to 12): if they are classes, use --categorical soil"
    )
    assert examine(open_stack(tmp_path / "soil.tif", categorical=["soil"])).warnings == ()


@pytest.mark.parametrize("values", [(0, 1), range(101), np.linspace(0, 1, 9), (7,)])
def test_other_numbers_do_not(tmp_path: Path, values) -> None:
    """Presence and absence, percentages, fractions and constants are no riddle."""
    assert hints(cover(tmp_path / "a.tif", tuple(values), "float32")) == []


def test_names_and_colours_are_a_stronger_sign(tmp_path: Path) -> None:
    path = cover(tmp_path / "cover.tif", (10, 20, 30, 40))
    beside(path, table())
    assert hints(path) == [
        "layer 'cover' has names for its values (10 forest, 20 bog): they are classes, so add --categorical cover"
    ]
    (text,) = hints(cover(tmp_path / "map.tif", range(100), colours=True))
    assert "layer 'map' has a colour for each of its values" in text
    assert "--categorical map" in text


def test_a_named_255_is_a_class(tmp_path: Path) -> None:
    path = cover(tmp_path / "cover.tif", (10, 20, 255))
    assert [one.code for one in examine(open_stack(path)).untagged] == [255]
    beside(path, table().replace("<F>20</F>", "<F>255</F>"))
    assert examine(open_stack(path)).untagged == ()
    assert open_stack(path).summary().check(examine(open_stack(path))) is None
