"""Files with several layers: the one that is meant is read, and never another."""

import geopandas
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
    assert records.notes_beside == ["layer 'seen' of 'a.gpkg' is read, the only one of points (others: area, roads)"]
    frame, notes = read_vector(path, kind="polygon")
    assert len(frame) == 1
    assert notes == ["layer 'area' of 'a.gpkg' is read, the only one of polygons (others: seen, roads)"]
    assert read_occurrences(write_layers(tmp_path / "b.gpkg", seen=POINTS)).notes_beside == []


def test_one_of_several_must_be_named(tmp_path):
    path = write_layers(tmp_path / "a.gpkg", seen=POINTS, more=OTHERS, area=AREA)
    with pytest.raises(DataError, match=r"as in a.gpkg:seen \(of the records also: --layer seen\)"):
        read_occurrences(path)
    for named in ({"path": f"{path}:more"}, {"path": path, "layer": "more"}, {"path": f"{path}:more", "layer": "more"}):
        records = read_occurrences(**named)
        assert (records.x.tolist(), records.notes_beside) == ([5], [])
    with pytest.raises(OptionError, match=r"'a.gpkg:more' names a layer, and so does --layer seen"):
        read_occurrences(f"{path}:more", layer="seen")
    with pytest.raises(DataError, match="has no layer 'none', only seen, more, area"):
        read_occurrences(f"{path}:none")
    with pytest.raises(DataError, match="holds a polygon: expected points"):
        read_occurrences(f"{path}:area")


def test_a_file_without_such_a_layer(tmp_path):
    path = write_layers(tmp_path / "a.gpkg", roads=ROADS, more=ROADS)
    with pytest.raises(DataError, match=r"no layer of polygons, only roads \(LineString\), more"):
        read_vector(path, kind="polygon")
    (tmp_path / "a.csv").write_text("species,x,y\na,1,2\n")
    with pytest.raises(OptionError, match=r"'a.csv' is a text table, which has no layer 'seen'"):
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
