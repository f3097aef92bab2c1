"""Occurrence files as people have them: what they mean must not depend on who wrote the file, and how."""

import csv
import io
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sdm.data.crs import reproject
from sdm.data.records.occurrences import read_occurrences
from sdm.data.records.rows import RowRules
from sdm.data.records.samples import read_swd
from sdm.data.records.textfile import TextTable
from sdm.errors import DataError, OptionError

SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

NOT_NAMES = {"na", "nan", "n/a", "null", "none", "<na>", "#n/a", "#na", "-nan"}
names = (
    st.text(st.sampled_from("abcXYZ éüñß.,;|'\"\t-()×"), min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda name: name and name.lower() not in NOT_NAMES)
)
coordinates = st.floats(-180, 180).map(lambda value: round(value, 6) + 0.0)
records = st.lists(st.tuples(names, st.none() | coordinates, st.none() | coordinates), min_size=1, max_size=20)


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@SETTINGS
@given(
    records=records,
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    blank=st.integers(0, 2),
)
def test_round_trip(tmp_path, records, delimiter, decimal, encoding, newline, quoting, blank):
    """Any delimiter, decimal sign, encoding, line ending and style of quotes gives the same records."""
    if delimiter == ",":
        decimal = "."
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=newline, quoting=quoting)
    text.write(newline * blank)
    writer.writerow(["species", "longitude", "latitude"])
    for name, *xy in records:
        writer.writerow([name, *("" if v is None else repr(v).replace(".", decimal) for v in xy)])
    found = read_occurrences(write(tmp_path / "a.csv", text.getvalue(), encoding))
    assert found.species.tolist() == [name for name, _, _ in records]
    for k, column in ((1, found.x), (2, found.y)):
        expected = np.array([np.nan if record[k] is None else record[k] for record in records])
        np.testing.assert_allclose(column, expected, rtol=1e-15)
    assert found.row.tolist() == list(range(blank + 2, blank + 2 + len(records)))


@pytest.mark.parametrize(
    "x, y",
    [
        ("decimalLongitude", "decimalLatitude"),
        ("LONGITUDE", "LATITUDE"),
        ("dd long", "dd lat"),
        ("Lon", "Lat"),
        ("lng", "lat"),
        ("x", "y"),
        ("POINT_X", "POINT_Y"),
        ("Easting", "Northing"),
        ("longitude (WGS84)", "latitude (WGS84)"),
        ("anything", "else"),
    ],
)
def test_names_of_coordinates(tmp_path, x, y):
    found = read_occurrences(write(tmp_path / "a.csv", f"sp,{x},{y}\na,1,2\nb,3,4\n"))
    assert found.x.tolist() == [1, 3]
    assert found.y.tolist() == [2, 4]
    assert found.species.tolist() == ["a", "b"]
    assert any(f"x from '{x}'" in note for note in found.notes)


def test_columns_come_in_pairs(tmp_path):
    found = read_occurrences(write(tmp_path / "a.csv", "x,lat,species,y,lon\n500000,50,a,5500000,15\n"))
    assert (found.x[0], found.y[0]) == (15, 50)
    assert found.extra.columns.tolist() == ["x", "y"]


def test_named_columns_win(tmp_path):
    path = write(tmp_path / "a.csv", "species,lon,lat,code,e,n\na,1,2,007,3,4\n")
    found = read_occurrences(path, named=("code", "E", "n"), crs="EPSG:25833")
    assert (found.species[0], found.x[0], found.y[0], found.crs) == ("007", 3, 4, "EPSG:25833")
    with pytest.raises(OptionError, match="no column 'z': its columns are species, lon, lat"):
        read_occurrences(path, named=(None, "z", None))
    with pytest.raises(OptionError, match="unknown crs 'EPSG:nonsense'"):
        read_occurrences(path, crs="EPSG:nonsense")


def test_species_column(tmp_path):
    both = write(tmp_path / "a.csv", "scientificName,species,lon,lat\nA b (L.),A b,1,2\n")
    assert read_occurrences(both).species[0] == "A b"
    words = write(tmp_path / "b.csv", "id,date,lon,lat,who\n1,2020-01-01,1,2,oak\n")
    assert read_occurrences(words).species[0] == "oak"
    only = write(tmp_path / "Quercus robur.csv", "id,date,lon,lat\n1,2020-01-01,1,2\n")
    assert read_occurrences(only).species[0] == "Quercus robur"


def test_spaces_around_names_do_not_make_species(tmp_path):
    found = read_occurrences(write(tmp_path / "a.csv", "species,lon,lat\na,1,2\na ,1,2\n,3,4\n"))
    assert found.species_names == ["a"]
    assert "1 row without a species name dropped" in found.notes


def test_file_without_header(tmp_path):
    found = read_occurrences(write(tmp_path / "a.csv", "oak,1.5,2\nelm,3,4\n"))
    assert found.species.tolist() == ["oak", "elm"]
    assert found.row.tolist() == [1, 2]
    assert any("no header" in note for note in found.notes)


def test_trailing_delimiter_and_row_names(tmp_path):
    """Excel adds empty columns, R writes row names without a header: neither may shift the columns."""
    for text in ("species,lon,lat\na,1,2,\nb,3,4,\n", 'species lon lat\n"1" "a" 1 2\n"2" "b" 3 4\n'):
        found = read_occurrences(write(tmp_path / "a.csv", text))
        assert found.species.tolist() == ["a", "b"]
        assert found.x.tolist() == [1, 3]


def test_mixed_decimal_signs_and_minus_signs(tmp_path):
    found = read_occurrences(write(tmp_path / "a.csv", "species;lon;lat\na;1,5;2.5\nb;−3.5;4\n"))
    assert found.x.tolist() == [1.5, -3.5]
    assert found.y.tolist() == [2.5, 4]


GBIF_HEADER = (
    "gbifID\tscientificName\tspecies\tlocality\toccurrenceStatus\tdecimalLatitude\tdecimalLongitude\t"
    "coordinateUncertaintyInMeters\tbasisOfRecord\trecordedBy"
)
GBIF_ROWS = (
    '1\tA b L.\tA b\tthe 5" tree\tPRESENT\t10.5\t-60.25\t30\tHUMAN_OBSERVATION\tx',
    "2\tA b L.\tA b\tplace\tABSENT\t11\t-61\t\tHUMAN_OBSERVATION\tx",
    "3\tA b L.\tA b\tplace\tPRESENT\t\t\t\tPRESERVED_SPECIMEN\tx",
    "4\tA b L.\tA b\tplace\tPRESENT\t12\t-62\t\tFOSSIL_SPECIMEN\tx",
    "5\tA b L.\tA b\tplace\tPRESENT\t12\t-62\t\tLIVING_SPECIMEN\tx",
    "6\tA\t\tplace\tPRESENT\t12\t-62\t\tHUMAN_OBSERVATION\tx",
)


def test_gbif_download_as_it_comes(tmp_path):
    """Tabs in a .csv, lone quotation marks, absences, fossils: a GBIF file must need no work before."""
    text = "\n".join([GBIF_HEADER, *GBIF_ROWS]) + "\n"
    with zipfile.ZipFile(tmp_path / "0012345.zip", "w") as archive:
        archive.writestr("0012345.csv", text)
    for path in (write(tmp_path / "0012345.csv", text), tmp_path / "0012345.zip"):
        found = read_occurrences(path)
        assert found.species.tolist() == ["A b", "A b"]
        assert found.x[0] == -60.25
        assert np.isnan(found.x[1])
        assert found.row.tolist() == [2, 4]
        assert found.extra["coordinateUncertaintyInMeters"].tolist()[0] == 30
        assert "recordedBy" not in found.extra.columns
        notes = " / ".join(found.notes)
        assert "1 row with occurrenceStatus=ABSENT dropped" in notes
        assert "1 row with basisOfRecord=FOSSIL_SPECIMEN dropped" in notes
        assert "1 row with basisOfRecord=LIVING_SPECIMEN dropped" in notes
        assert "separated by tab" in notes


def test_nothing_but_absences(tmp_path):
    path = write(tmp_path / "a.csv", "species,lon,lat,occurrenceStatus\na,1,2,absent\n")
    with pytest.raises(DataError, match=r"no usable record .*ABSENT"):
        read_occurrences(path)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "is empty"),
        (b"\n  \n\n", "is empty"),
        (b"species,lon,lat\n", "has a header but no record"),
        (b"species,lon,lat\n\n\n", "has a header but no record"),
        (b"name,place\noak,here\n", "no coordinate columns: expected names such as decimalLong.*it has name, place"),
        (b"species,lon,lat\nc,west,2\na,1,2\n\nb,3,north\n", "row 5, column 'lat': 'north' is not a number"),
        (b"species;lon;lat\na;1,5;y\nb;x;2\n", "row 3, column 'lon': 'x' is not a number"),
        (b"species,lon,lat\na,1,2\n\na, b,1,2\nb,1,x\n", "row 4, more fields than the 3 of the header"),
        (b"species,lon,lat\n" + b"a,1,2\n" * 300 + b"a,b,1,2\n" * 20, "20 of 320 rows cannot be read .row 302, more"),
        (b'species,lon,lat\n"a,1,2\n', "not closed until the end of the file"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "is not a text file"),
        (b"PK\x03\x04 an Excel file", "is not a text file.*save it as CSV"),
    ],
)  # fmt: skip
def test_bad_text_is_one_sentence(tmp_path, content, message):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_occurrences(path)
    assert "\n" not in str(caught.value)
    assert "a.csv" in str(caught.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_occurrences(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_occurrences(tmp_path)


def test_latin_1_late_in_the_file(tmp_path):
    """The encoding shows only after the part that is looked at first."""
    rows = "species,lon,lat\n" + "a,1,2\n" * 20_000 + "Bärlapp,3,4\n"
    found = read_occurrences(write(tmp_path / "a.csv", rows, "latin-1"))
    assert found.species[-1] == "Bärlapp"
    assert any("not UTF-8" in note for note in found.notes)


@pytest.fixture
def points():
    import geopandas
    from shapely.geometry import MultiPoint, Point

    geometry = [Point(500_000, 5_500_000), MultiPoint([(1, 2), (3, 4)]), None]
    return geopandas.GeoDataFrame({"species": ["a", "b", "c"], "n": [1, 2, 3]}, geometry=geometry, crs=32633)


@pytest.mark.parametrize("suffix", ["gpkg", "shp", "fgb", "parquet", "geojson", "shp.zip"])
def test_vector_files(tmp_path, points, suffix):
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        points.to_parquet(path)
    elif suffix == "geojson":
        points.to_crs(4326).to_file(path)
    elif suffix == "fgb":
        points.to_file(path, SPATIAL_INDEX="NO")
    elif suffix == "gpkg":
        points.to_file(path)
    else:  # a shapefile holds either points or multipoints
        points.explode(index_parts=False).to_file(tmp_path / "a.shp")
    if suffix == "shp.zip":
        with zipfile.ZipFile(path, "w") as archive:
            for part in tmp_path.glob("a.???"):
                archive.write(part, part.name)
    found = read_occurrences(path)
    assert found.species.tolist()[:3] == ["a", "b", "b"]
    assert found.extra["n"].tolist()[:3] == [1, 2, 2]
    np.testing.assert_allclose(reproject(found.x, found.y, found.crs, "EPSG:32633")[0][:3], [500_000, 1, 3], atol=1e-3)
    if "shp" not in suffix:
        assert found.species[3] == "c"
        assert np.isnan(found.x[3])
    assert read_occurrences(path, crs="EPSG:3857").crs == "EPSG:3857"


def test_plain_parquet(tmp_path, points):
    table = points.drop(columns="geometry").assign(lon=[1.0, 2.0, 3.0], lat=[4.0, 5.0, 6.0])
    pd.DataFrame(table).to_parquet(tmp_path / "a.parquet")
    found = read_occurrences(tmp_path / "a.parquet")
    assert found.y.tolist() == [4, 5, 6]
    assert found.species.tolist() == ["a", "b", "c"]


def test_polygons_are_no_occurrences(tmp_path, points):
    points[:1].assign(geometry=points[:1].buffer(10)).to_file(tmp_path / "a.gpkg")
    with pytest.raises(DataError, match=r"'a.gpkg' contains a polygon: expected points"):
        read_occurrences(tmp_path / "a.gpkg")


def test_project_and_back(tmp_path):
    found = read_occurrences(write(tmp_path / "a.csv", "species,lon,lat\na,15,50\nb,,\n"))
    there = reproject(found.x, found.y, found.crs, "EPSG:32633")
    assert there[0][0] == pytest.approx(500_000)
    x, y = reproject(*there, "EPSG:32633", "EPSG:4326")
    np.testing.assert_allclose(x, [15, np.nan])
    np.testing.assert_allclose(y, [50, np.nan])
    assert reproject(found.x, found.y, found.crs, "EPSG:4326")[0] is found.x


def test_swd_with_species_and_coordinates(tmp_path):
    text = "species,x,y,heat,cover,remark\noak,1,2,20.5,wet,hm\nBackground,3,4,10,dry,so\n"
    path = write(tmp_path / "a.csv", text)
    swd = read_swd(path, categorical=["cover"])
    assert swd.species_names == ["oak"]
    assert swd.is_background.tolist() == [False, True]
    assert swd.table.columns.tolist() == ["heat", "cover"]
    assert swd.table["cover"].tolist() == ["wet", "dry"]
    assert swd.x.tolist() == [1, 3]
    assert any("'remark' contains no numbers" in note for note in swd.notes)
    assert read_swd(path, variables=["heat"]).table.columns.tolist() == ["heat"]
    with pytest.raises(DataError, match="has no variable 'cold', only heat, cover, remark"):
        read_swd(path, categorical=["cold"])


def test_swd_with_text_among_numbers(tmp_path):
    path = write(tmp_path / "a.csv", "species,x,y,heat\noak,1,2,20.5\noak,1,2,hot\n")
    table = read_swd(path)
    assert len(table.species) == 1
    assert any("1 row that cannot be read dropped: row 3, column 'heat': 'hot'" in note for note in table.notes)
    with pytest.raises(DataError, match="row 3, column 'heat': 'hot' is not a number"):
        read_swd(path, rules=RowRules(most_bad=0))


def test_swd_without_variables(tmp_path):
    with pytest.raises(DataError, match="no column of numbers"):
        read_swd(write(tmp_path / "a.csv", "species,x,y\noak,1,2\n"))


def test_bradypus_records(shared):
    found = read_occurrences(shared / "phillips2006" / "bradypus.csv")
    assert len(found) == 116
    assert found.species_names == ["bradypus_variegatus"]
    assert (found.x[0], found.y[0]) == (-65.4, -10.3833)
    parts = read_occurrences(shared / "phillips2006" / "bradypus_train_partitions.csv")
    assert len(parts.species_names) == 11


def test_bradypus_swd(shared):
    swd = read_swd(shared / "bradypus_swd" / "bradypus.csv", categorical=["ecoreg"])
    assert np.count_nonzero(swd.is_background) == 1000
    assert np.count_nonzero(~swd.is_background) == 116
    assert swd.table.shape == (1116, 14)


def test_nceas_tables(shared):
    presences = read_swd(shared / "nceas" / "NSWtrain_po.csv", categorical=["vegsys"])
    assert len(presences.species_names) == 54
    assert not presences.is_background.any()
    background = read_swd(shared / "nceas" / "NSWtrain_bg.csv", categorical=["vegsys"], variables=["mi", "vegsys"])
    assert background.is_background.all()
    assert len(background.species) == 10_000


def test_a_wide_table_costs_its_columns(tmp_path):
    """Twice the columns, twice the calls: a table from anybody must not stop the program."""
    counts = []
    for columns in (100, 400, 800):
        names, row = (",".join(text.format(k) for k in range(columns)) for text in ("v{}", "{}"))
        path = write(tmp_path / f"{columns}.csv", f"species,x,y,{names}\na,1,2,{row}\nbackground,1,2,{row}\n")
        calls = []
        sys.setprofile(lambda frame, event, _, calls=calls: calls.append(1) if event == "call" else None)
        try:
            TextTable(path).read({"species"})
        finally:
            sys.setprofile(None)
        counts.append(len(calls))
    assert counts[2] < 2.5 * counts[1]
