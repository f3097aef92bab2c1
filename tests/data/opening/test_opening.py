"""Rasters from anybody: none makes GDAL open another file or ask a server, and honest mosaics are read."""

import os
from pathlib import Path

import numpy as np
import pytest
import rasterio
from ranges import serve
from rasterio.shutil import copy

from sdm.data.opening import rasters as opening
from sdm.data.opening.rasters import open_local, open_raster
from sdm.data.rasters.layers import open_stack
from sdm.errors import DataError

ERS = """DatasetHeader Begin
 DataFile = "../secret"
 DataSetType = ERStorage
 ByteOrder = LSBFirst
 RasterInfo Begin
 CellType = Unsigned8BitInteger
 NrOfLines = 4
 NrOfCellsPerLine = 4
 NrOfBands = 1
 RasterInfo End
DatasetHeader End
"""  # the header of ER Mapper, which names the file with the values
SECRET = b"".join(bytes([k]) for k in range(60, 90))


def source(name: str, relative: int | str = 0) -> str:
    """A part of a virtual raster that another raster fills."""
    named = f'<SourceFilename relativeToVRT="{relative}">{name}</SourceFilename>'
    return f"<SimpleSource>{named}<SourceBand>1</SourceBand></SimpleSource>"


def virtual(parts: str, band: str = "", size: int = 4, more: str = "") -> str:
    """A virtual raster of one band."""
    place = f'<SRS>EPSG:4326</SRS><GeoTransform>10,0.5,0,50,0,-0.5</GeoTransform>{more}<VRTRasterBand dataType="Byte"'
    bands = f'{place} band="1" {band}>{parts}</VRTRasterBand>'
    return f'<VRTDataset rasterXSize="{size}" rasterYSize="{size}">{bands}</VRTDataset>'


def raw(name: str) -> str:
    """A virtual raster that takes the bytes of any file for values."""
    rule = "<ImageOffset>0</ImageOffset><PixelOffset>1</PixelOffset><LineOffset>4</LineOffset>"
    return virtual(f'<SourceFilename relativeToVRT="0">{name}</SourceFilename>{rule}', 'subClass="VRTRawRasterBand"')


@pytest.fixture
def world(tmp_path, write_raster):
    """A folder `layers` with one raster, another raster and a secret outside of it, and a server of the first."""
    folder = tmp_path / "layers"
    write_raster(folder / "a.tif", np.arange(16, dtype="uint8").reshape(4, 4))
    write_raster(tmp_path / "outside.tif", np.full((4, 4), 7, dtype="uint8"))
    (tmp_path / "secret").write_bytes(SECRET)
    (folder / "link.tif").symlink_to(tmp_path / "outside.tif")
    with serve(tmp_path) as site:
        yield folder, site


def hostile(folder: Path, address: str) -> dict[str, str]:
    """Virtual rasters that reach for something else than rasters in their folder."""
    outside = folder.parent / "outside.tif"
    (folder / "nested.vrt").write_text(virtual(source("../outside.tif", 1)))
    (folder / "x.ovr").write_text(raw(folder.parent / "secret"))
    spoilt = folder / "spoilt.tif"
    spoilt.write_bytes((folder / "a.tif").read_bytes())
    (folder / "spoilt.tif.ovr").write_text(virtual(source(f"/vsicurl/{address}/outside.tif")))
    remote = f"/vsicurl/{address}/outside.tif"
    good = source("a.tif", 1)
    return {
        "server": virtual(source(remote)),
        "server, relative": virtual(source(remote, 1)),
        "address": virtual(source(f"{address}/outside.tif")),
        "archive": virtual(source(f"/vsizip/{folder}/a.zip/a.tif")),
        "bytes of a file": raw(folder.parent / "secret"),
        "other folder": virtual(source(outside)),
        "parent": virtual(source("../outside.tif", 1)),
        "link": virtual(source("link.tif", 1)),
        "nested": virtual(source("nested.vrt", 1)),
        "nested, disguised": virtual(source("x.ovr", 1)),
        "overview of a source": virtual(source("spoilt.tif", 1)),
        "not a flag": virtual(source("../outside.tif", 2)),
        "prefix": virtual(source("GTIFF_DIR:1:a.tif", 1)),
        "inline": virtual(source("&lt;VRTDataset/&gt;", 1)),
        "blank": virtual(source(f" {folder / 'a.tif'}")),
        "attribute": virtual(f'<SimpleSource SourceFilename="{remote}">{good}</SimpleSource>'),
        "small letters": virtual(f"<SimpleSource><sourcefilename>{remote}</sourcefilename></SimpleSource>"),
        "comment": virtual(source(f"{folder}/a.tif<!-- -->", 0)),
        "instruction": virtual(source(f"{folder}/<?x?>a.tif", 0)),
        "entity": f"<!DOCTYPE a [<!ENTITY b '{remote}'>]>" + virtual(source("&b;")),
        "code": virtual(f"{good}<PixelFunctionType>f</PixelFunctionType>", 'subClass="VRTDerivedRasterBand"'),
        "band of code": virtual(good, 'subClass="VRTDerivedRasterBand"'),
        "warped": virtual(good).replace("<VRTDataset ", '<VRTDataset subClass="VRTWarpedDataset" '),
        "options": virtual(good.replace("<SourceBand>", '<OpenOptions><OOI key="a">b</OOI></OpenOptions><SourceBand>')),
        "overview": virtual(
            good, more=f'<Metadata domain="OVERVIEWS"><MDI key="OVERVIEW_FILE">{remote}</MDI></Metadata>'
        ),
        "damaged": virtual(good)[:-5],
        "missing": virtual(source("b.tif", 1)),
    }


def test_virtual_rasters_that_reach_for_something_else_are_refused(world):
    """A raster from anybody must not show a file of this machine in a model, nor tell a server who reads it."""
    folder, site = world
    for suffix in (".vrt", ".tif"):  # GDAL goes by the content
        for what, text in hostile(folder, site.address).items():
            path = folder / f"x{suffix}"
            path.write_text(text)
            with pytest.raises(DataError, match=r"'(x|spoilt)\.(vrt|tif)(\.ovr)?'"):
                open_raster(path).close()
            assert not site.asked, what


def test_mosaics_below_their_folder_are_read(tmp_path, write_raster, whole):
    values = np.arange(16, dtype="uint8").reshape(4, 4)
    write_raster(tmp_path / "layers/tiles/a.tif", values)
    (tmp_path / "layers/tiles/b.vrt").write_text(virtual(source("a.tif", 1)))
    copy(tmp_path / "layers/tiles/a.tif", tmp_path / "layers/by_gdal.vrt", driver="VRT")
    (tmp_path / "layers/nested.vrt").write_text(virtual(source("tiles/b.vrt", 1)))
    (tmp_path / "layers/absolute.vrt").write_text(virtual(source(tmp_path / "layers/tiles/a.tif")))
    os.symlink(tmp_path / "layers/nested.vrt", tmp_path / "linked.vrt")
    for place in (tmp_path / "layers", tmp_path / "linked.vrt"):
        for layer in whole(open_stack(place)):
            np.testing.assert_array_equal(layer, values)
    assert open_stack(tmp_path / "layers").names == ("absolute", "by_gdal", "nested")


def test_a_circle_of_virtual_rasters_ends(world):
    folder, _ = world
    for name, other in (("x.vrt", "y.vrt"), ("y.vrt", "x.vrt")):
        (folder / name).write_text(virtual(source(other, 1)))
    with pytest.raises(DataError, match=r"layer 'x.vrt' cannot be (opened|read)"):
        [array for _, array in open_stack(folder / "x.vrt").scan()]


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_formats_that_name_other_data_are_not_opened(world):
    folder, site = world
    tiles = f"<ServerUrl>{site.address}/${{z}}.tif</ServerUrl>"
    size = "<SizeX>4</SizeX><SizeY>4</SizeY><TileLevel>0</TileLevel>"
    box = "<UpperLeftX>0</UpperLeftX><UpperLeftY>4</UpperLeftY><LowerRightX>4</LowerRightX><LowerRightY>0</LowerRightY>"
    service = f'<Service name="TMS">{tiles}</Service><DataWindow>{box}{size}</DataWindow>'
    texts = {"x.tif": f"<GDAL_WMS>{service}</GDAL_WMS>", "x.ers": ERS}
    for name, text in texts.items():
        (folder / name).write_text(text)
        rasterio.open(folder / name).close()  # GDAL would
        with pytest.raises(DataError, match="expected a raster that GDAL reads and that contains its own values"):
            open_raster(folder / name)
    assert not site.asked


def test_overviews_and_masks_in_other_files_are_refused(world):
    folder, site = world
    with rasterio.open(folder / "a.tif", "r+") as data:
        data.update_tags(ns="OVERVIEWS", OVERVIEW_FILE=f"/vsicurl/{site.address}/outside.tif")
    with pytest.raises(DataError, match=r"raster 'a.tif' refers to another file"):
        open_local(folder / "a.tif")
    (folder / "b.tif").write_bytes((folder.parent / "outside.tif").read_bytes())
    for honest in ("b.tif.ovr", "b.tif.msk"):
        (folder / honest).write_bytes((folder.parent / "outside.tif").read_bytes())
    open_local(folder / "b.tif").close()
    for beside in ("b.tif.msk.OVR", "b.tif.msk", "b.tif.oVr"):  # of an overview too
        for text in (virtual(source(f"/vsicurl/{site.address}/outside.tif")), ERS):
            (folder / beside).write_text(text)
            with pytest.raises(DataError, match=f"'{beside}' are not a GeoTIFF"):
                open_local(folder / "b.tif")
        (folder / beside).unlink()
    assert not site.asked


def test_a_remote_raster_is_never_virtual(world, monkeypatch):
    folder, site = world
    monkeypatch.setattr(opening.remote, "TRIES", 1)
    for name, text in (("raw.tif", raw(folder.parent / "secret")), ("far.tif", virtual(source(folder / "a.tif")))):
        (folder.parent / name).write_text(text)
        with pytest.raises(DataError, match=f"'{name}' at .* not recognized as being in a supported file format"):
            open_raster(site.url(name))
    assert {one.path for one in site.asked} == {"/raw.tif", "/far.tif"}


def test_more_cells_than_the_earth_has_are_refused(tmp_path):
    (tmp_path / "x.vrt").write_text(virtual("", size=1_000_000_000))
    with pytest.raises(DataError, match=r"layer 'x.vrt' has 1,000,000,000 × 1,000,000,000 cells: expected at most 1,"):
        open_stack(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_before_gdal_waits_for_it(tmp_path):
    os.mkfifo(tmp_path / "heat.tif")
    with pytest.raises(DataError, match="is a pipe: expected a file"):
        open_raster(tmp_path / "heat.tif")
