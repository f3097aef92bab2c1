"""Files with several layers: the one that is meant is read, and never another."""

import socket
import sqlite3
import zipfile
from contextlib import closing

import geopandas
import pyogrio
import pytest
from shapely.geometry import LineString, Point, box

from sdm.data.records.occurrences import read_occurrences
from sdm.data.vectors import read_vector, split_layer
from sdm.errors import DataError, OptionError


def write_layers(path, **layers):
    for name, shapes in layers.items():
        geopandas.GeoDataFrame({"species": ["a"] * len(shapes)}, geometry=shapes, crs=4326).to_file(path, layer=name)
    return path


POINTS, OTHERS = [Point(1, 2), Point(3, 4)], [Point(5, 6)]
AREA, ROADS = [box(0, 0, 4, 4)], [LineString([(0, 0), (1, 1)])]


def test_the_only_layer_of_its_kind_is_read_with_a_note(tmp_path):
    path = write_layers(tmp_path / "a.gpkg", area=AREA, seen=POINTS, roads=ROADS)
    records = read_occurrences(path)
    assert records.x.tolist() == [1, 3]
    assert records.extra_notes == ["layer 'seen' of 'a.gpkg' is used, the only one with points (others: area, roads)"]
    frame, notes = read_vector(path, kind="polygon")
    assert len(frame) == 1
    assert notes == ["layer 'area' of 'a.gpkg' is used, the only one with polygons (others: seen, roads)"]
    assert read_occurrences(write_layers(tmp_path / "b.gpkg", seen=POINTS)).extra_notes == []


def test_one_of_several_must_be_named(tmp_path):
    path = write_layers(tmp_path / "a.gpkg", seen=POINTS, more=OTHERS, area=AREA)
    with pytest.raises(DataError, match=r"as in a.gpkg:seen \(for the records also --layer seen\)"):
        read_occurrences(path)
    for named in ({"path": f"{path}:more"}, {"path": path, "layer": "more"}, {"path": f"{path}:more", "layer": "more"}):
        records = read_occurrences(**named)
        assert (records.x.tolist(), records.extra_notes) == ([5], [])
    with pytest.raises(OptionError, match=r"'a.gpkg:more' and --layer seen name two layers"):
        read_occurrences(f"{path}:more", layer="seen")
    with pytest.raises(DataError, match="has no layer 'none': expected one of seen, more, area"):
        read_occurrences(f"{path}:none")
    with pytest.raises(DataError, match="contains a polygon: expected points"):
        read_occurrences(f"{path}:area")


def test_a_file_without_such_a_layer(tmp_path):
    path = write_layers(tmp_path / "a.gpkg", roads=ROADS, more=ROADS)
    with pytest.raises(DataError, match=r"no layer of polygons, only roads \(LineString\), more"):
        read_vector(path, kind="polygon")
    (tmp_path / "a.csv").write_text("species,x,y\na,1,2\n")
    with pytest.raises(OptionError, match=r"'a.csv' is a text table, which has no layers: remove 'seen'"):
        read_occurrences(tmp_path / "a.csv", layer="seen")


@pytest.mark.parametrize(
    ("text", "file", "layer"),
    [
        ("C:/data/a.gpkg", "C:/data/a.gpkg", None),
        ("C:/data/a.gpkg:x", "C:/data/a.gpkg", "x"),
        ("a.GPKG:x: y.gpkg", "a.GPKG", "x: y.gpkg"),
        ("records.csv:x", "records.csv:x", None),
        ("a.zip:plots", "a.zip", "plots"),
    ],
)
def test_names_of_layers(text, file, layer):
    found = split_layer(text)
    assert (found[0].as_posix(), found[1]) == (file, layer)


def test_a_file_that_is_called_so_is_read_whole(tmp_path):
    path = write_layers(tmp_path / "a.gpkg", seen=POINTS)
    strange = path.rename(tmp_path / "b.gpkg:seen")
    assert split_layer(strange) == (strange, None)


def virtual(place):
    layer = f'<OGRVRTLayer name="a"><SrcDataSource>{place}</SrcDataSource></OGRVRTLayer>'
    return f"<OGRVRTDataSource>{layer}</OGRVRTDataSource>"


@pytest.fixture
def server():
    """A port of this machine at which nobody answers, whose address GDAL asks for a second at most."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        pyogrio.set_gdal_config_options({"GDAL_HTTP_TIMEOUT": "1"})
        yield listening
        pyogrio.set_gdal_config_options({"GDAL_HTTP_TIMEOUT": None})
        with pytest.raises(BlockingIOError):
            listening.accept()  # it was not asked


def address(server):
    return f"http://127.0.0.1:{server.getsockname()[1]}"


def test_files_that_name_other_files_or_servers_are_refused(tmp_path, server):
    """GDAL goes by the content: a study area from anybody must not show files of this machine, nor ask a server."""
    write_layers(tmp_path / "other.gpkg", area=AREA)
    place = f"/vsicurl/{address(server)}/other.gpkg"
    pipeline = f'{{"type": "gdal_streamed_alg", "command_line": "gdal vector pipeline ! read {place}"}}'
    texts = {
        "near.shp": virtual(tmp_path / "other.gpkg"),
        "far.gpkg": virtual(place),
        "table.geojson": virtual("CSV:/etc/passwd"),
        "both.geojson": '{"a": "' + virtual(place) + '"}',
        "service.gml": f"<WFS_Capabilities><OnlineResource>{address(server)}</OnlineResource></WFS_Capabilities>",
        "pipeline.json": pipeline,
        "escaped.gdalg.json": pipeline.replace("alg", "\\u0061lg"),
        "label.json": 'PDS_VERSION_ID = PDS3\n^TABLE = "/etc/passwd"\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("a.kml", virtual(place))
    for name in (*texts, "packed.zip"):
        with pytest.raises(DataError, match=f"file '{name}' refers to other files or servers"):
            read_vector(tmp_path / name, kind="polygon")


@pytest.mark.parametrize("zipped", [True, False])
def test_a_database_of_other_files_is_refused(tmp_path, zipped):
    """Its tables could be any text or shapefile of this machine."""
    path = write_layers(tmp_path / "a.gpkg", seen=POINTS)
    given = tmp_path / "a.zip" if zipped else path

    def read():
        if zipped:
            with zipfile.ZipFile(given, "w") as archive:
                archive.write(path, "a.gpkg")
        return read_vector(given, "seen")[0]

    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")  # as QGIS leaves it
    assert len(read()) == 2
    for what in (
        "VirtualText('/etc/passwd', 'UTF-8', 0, COLON, NONE, ':')",
        "/**/VirtualShape('other', 'UTF-8', 4326)",
    ):
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("PRAGMA writable_schema=1")
            text = f"CREATE VIRTUAL TABLE other USING {what}"
            database.execute("DELETE FROM sqlite_master WHERE name = 'other'")
            database.execute("INSERT INTO sqlite_master VALUES ('table', 'other', 'other', 0, ?)", (text,))
        with pytest.raises(DataError, match="refers to other files or servers"):
            read()


def test_a_database_of_spatialite_is_read(tmp_path):
    """It has virtual tables of its own."""
    frame = geopandas.GeoDataFrame({"a": [1, 2]}, geometry=POINTS, crs=4326)
    frame.to_file(tmp_path / "a.sqlite", driver="SQLite", dataset_options={"SPATIALITE": "YES"}, layer="seen")
    assert len(read_vector(tmp_path / "a.sqlite", "seen")[0]) == 2


def test_the_server_of_a_gml_file_is_not_asked(tmp_path, server):
    schema = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://a '
    schema += f'{address(server)}/wfs?SERVICE=WFS&amp;REQUEST=DescribeFeatureType&amp;TYPENAME=a"'
    point = "<gml:p><gml:Point><gml:coordinates>1,2</gml:coordinates></gml:Point></gml:p>"
    inside = f"<gml:featureMember><a>{point}</a></gml:featureMember>"
    kind = f'xmlns:gml="http://www.opengis.net/gml" {schema}'
    (tmp_path / "a.gml").write_text(f"<gml:FeatureCollection {kind}>{inside}</gml:FeatureCollection>")
    assert read_vector(tmp_path / "a.gml")[0].geometry.tolist() == [Point(1, 2)]
