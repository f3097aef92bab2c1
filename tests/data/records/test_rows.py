"""Rows of files: filters, rows that cannot be read, and the fate of each."""

import numpy as np
import pytest

from sdm.data.records import textfile
from sdm.data.records.filters import RecordFilters, read_length, read_years, uncertainty_metres
from sdm.data.records.occurrences import read_occurrences
from sdm.data.records.rows import RowRules
from sdm.data.records.samples import read_swd
from sdm.errors import DataError, OptionError

HEADER = "gbifID\tspecies\tdecimalLongitude\tdecimalLatitude\tcoordinateUncertaintyInMeters\tcoordinatePrecision"
HEADER += "\tyear\teventDate\tbasisOfRecord\tissue\toccurrenceStatus\televation\n"
ROWS = [
    "1\tA b\t1\t2\t100\t\t1980\t\tHUMAN_OBSERVATION\t\tPRESENT\t10",
    "2\tA b\t1\t2\t9000\t\t1990\t\tPRESERVED_SPECIMEN\tZERO_COORDINATE\tPRESENT\t20",
    "3\tA b\t1\t2\t\t0.1\t\t2001-05-03\tHUMAN_OBSERVATION\tCOORDINATE_ROUNDED;COUNTRY_COORDINATE_MISMATCH\tPRESENT\t",
    "4\tA b\t1\t2\t\t\t\t\tHUMAN_OBSERVATION\t\tPRESENT\t40",
    "5\tA b\t1\t2\t0\t\t2011\t\tFOSSIL_SPECIMEN\t\tPRESENT\t50",
    "6\tA b\t1\t2\t5\t\t2012\t\tHUMAN_OBSERVATION\t\tABSENT\t60",
]


@pytest.fixture
def gbif(tmp_path):
    path = tmp_path / "gbif.csv"
    path.write_text(HEADER + "\n".join(ROWS) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "filters, kept, said",
    [
        ({}, "1 2 3 4", "1 row with basisOfRecord=FOSSIL_SPECIMEN dropped"),
        ({"max_uncertainty": 5000.0}, "1 4", "2 rows less certain than 5 km dropped (1 of unknown uncertainty are"),
        ({"max_uncertainty": 20_000.0}, "1 2 3 4", "0 rows less certain than 20 km dropped"),
        ({"years": (1985, 2005)}, "2 3", "1 row without a year dropped"),
        ({"years": (None, 1985)}, "1", "2 rows not from –1985 dropped"),
        ({"basis": ("human observation",)}, "1 3 4", "2 rows with another basisOfRecord than human observation"),
        ({"basis": ("FOSSIL_SPECIMEN",)}, "5", "dropped"),
        ({"exclude_issues": ("ZERO_COORDINATE",)}, "1 3 4", "1 row with the issue ZERO_COORDINATE dropped"),
        ({"exclude_issues": ("geospatial",)}, "1 4", "0 rows with the issue COORDINATE_INVALID dropped"),
        ({"where": "elevation > 15"}, "2 4", "2 rows not satisfying \"elevation > 15\" dropped (1 of"),
        ({"where": "elevation > 15", "exclude_issues": ("geospatial",)}, "4", "1 row not satisfying"),
        ({"where": "decimalLatitude < 2"}, "", ""),
        ({"keep_absences": True}, "1 2 3 4 6", "FOSSIL"),
    ],
)  # fmt: skip
def test_filters(gbif, filters, kept, said):
    rules = RowRules(RecordFilters(**filters))
    if not kept:
        with pytest.raises(DataError, match="contains no usable record"):
            read_occurrences(gbif, rules=rules)
        return
    found = read_occurrences(gbif, rules=rules)
    assert [str(name) for name in found.lines()["id"]] == kept.split()
    assert said in "; ".join(found.notes)
    # Every row of the file is kept or listed with a reason, and the notes count the same rows.
    rest = found.left_out
    assert sorted([*found.row.tolist(), *rest["row"].tolist()]) == list(range(2, 8))
    assert rest["reason"].str.len().min() > 3
    counted = sum(int(note.split()[0]) for note in found.notes if note[:1].isdigit() and "dropped" in note)
    assert counted == len(rest)


@pytest.mark.parametrize(
    "filters, said",
    [
        ({"max_uncertainty": 1.0}, "no column coordinateUncertaintyInMeters or coordinatePrecision, which --max-unc"),
        ({"years": (1, 2)}, "no column year or eventDate, which --years needs: it has species, lon, lat"),
        ({"basis": ("X",)}, "no column basisOfRecord, which --basis needs"),
        ({"exclude_issues": ("X",)}, "no column issue, which --exclude-issues needs"),
        ({"where": "depth > 1"}, "has no column 'depth': its columns are species, lon, lat"),
    ],
)
def test_a_filter_without_its_column_is_refused(tmp_path, filters, said):
    path = tmp_path / "a.csv"
    path.write_text("species,lon,lat\noak,1,2\n")
    with pytest.raises(OptionError, match=said):
        read_occurrences(path, rules=RowRules(RecordFilters(**filters)))


def test_a_condition_on_a_column_that_is_not_there_names_all_that_are(gbif):
    with pytest.raises(
        OptionError, match=r"no column 'nosuch': its columns are .*, occurrenceStatus, elevation; text needs"
    ):
        read_occurrences(gbif, rules=RowRules(RecordFilters(where="nosuch > 1")))


def test_a_basis_that_no_row_has_names_those_there_are(gbif):
    with pytest.raises(OptionError, match=r"no row .* has basisOfRecord SIGHTING, only HUMAN_OBSERVATION, PRES"):
        read_occurrences(gbif, rules=RowRules(RecordFilters(basis=("SIGHTING",))))


def test_uncertainty_comes_from_precision_where_nothing_else_says_it(gbif):
    found = read_occurrences(gbif, rules=RowRules(RecordFilters(basis=("FOSSIL_SPECIMEN", "HUMAN_OBSERVATION"))))
    np.testing.assert_allclose(uncertainty_metres(found.extra, None, "x"), [100, 11_132, np.nan, np.nan])


@pytest.mark.parametrize(
    "text, years",
    [("1970-2010", (1970, 2010)), ("1970-", (1970, None)), ("-2010", (None, 2010)), ("1985", (1985, 1985)),
     ("1970–2010", (1970, 2010)), ("1970..2010", (1970, 2010))],
)  # fmt: skip
def test_years(text, years):
    assert read_years(text) == years


@pytest.mark.parametrize("text", ["", "-", "70-80", "2010-1970", "1970-2010-2020", "last year"])
def test_no_years(text):
    with pytest.raises(ValueError, match="years"):
        read_years(text)


def test_lengths():
    assert [read_length(text) for text in ("5km", "250 m", ".5 KM", "1m")] == [5000, 250, 500, 1]
    for text in ("5", "5 miles", "-5km", "0km", "km", "1e400km"):
        with pytest.raises(ValueError, match="a length with its unit"):
            read_length(text)


def test_one_bad_cell_does_not_refuse_a_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("species,lon,lat,w\n" + "oak,1,2,3\n" * 40 + "oak,here,2,3\noak,1,2,3,4\n", encoding="utf-8")
    found = read_occurrences(path, rules=RowRules(most_bad=5))
    assert len(found) == 40
    assert found.left_out["row"].tolist() == [43, 42]
    assert found.left_out["kind"].unique().tolist() == ["unreadable"]
    assert "column 'lon': 'here' is not a number" in found.left_out["reason"].tolist()
    note = next(note for note in found.notes if "cannot be read" in note)
    assert note.startswith("2 rows that cannot be read dropped: row 42, column 'lon': 'here' is not a number; row 43, ")
    with pytest.raises(DataError, match=r"2 of 42 rows cannot be read .*allow more with --max-bad-rows 5"):
        read_occurrences(path, rules=RowRules(most_bad=1))


def test_a_column_that_must_hold_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("species,lon,lat,w\noak,1,2,3\noak,1,2,much\n", encoding="utf-8")
    assert len(read_occurrences(path)) == 2
    assert read_occurrences(path, numeric=["w"]).left_out["row"].tolist() == [3]


def test_parts_of_a_file_are_read_as_one(tmp_path, monkeypatch):
    """A column of numbers in one part and words in another is the same as if it were read at once."""
    lines = [
        "species,lon,lat,plot,note",
        *(f"oak,{k},2,{k:03d},{k}" for k in range(10)),
        "ash,1,2,A1,",
        "elm,x,2,7,9,9",
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rules = RowRules(most_bad=30)
    whole = read_occurrences(tmp_path / "a.csv", rules=rules)
    monkeypatch.setattr(textfile, "CHUNK_ROWS", 3)
    parts = read_occurrences(tmp_path / "a.csv", rules=rules)
    assert parts.species.tolist() == whole.species.tolist()
    assert parts.x.tolist() == whole.x.tolist()
    assert parts.row.tolist() == whole.row.tolist()
    assert parts.labels("plot").tolist() == whole.labels("plot").tolist()
    assert parts.labels("plot")[:2].tolist() == ["000", "001"]
    assert parts.left_out["row"].tolist() == whole.left_out["row"].tolist() == [13]


def test_uncertainty_with_a_decimal_comma(tmp_path):
    path = tmp_path / "r.csv"
    text = 'species,x,y,coordinateUncertaintyInMeters\nA,1,2,"9000,5"\nA,1,2,"20,5"\nA,1,2,"1,500"\n'
    path.write_text(text, encoding="utf-8")
    found = read_occurrences(path, rules=RowRules(RecordFilters(max_uncertainty=1000.0)))
    assert found.row.tolist() == [3, 4]
    assert "1 row less certain than 1 km dropped (1 of unknown uncertainty are kept)" in found.notes


def test_species_that_filters_leave_without_a_row_are_named(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("species,x,y,year\nA,1,2,1990\nB,1,2,1950\nC,1,2,1950\nA,1,2,1950\n", encoding="utf-8")
    notes = read_occurrences(path, rules=RowRules(RecordFilters(years=(1970, None)))).notes
    assert "2 species without any remaining row: B, C" in notes
    assert not any("any remaining row" in note for note in read_occurrences(path).notes)


def test_a_sample_without_a_species_is_no_species(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("species,x,y,heat\nA,1,2,3.5\n,1,3,4.5\nA,2,2,1.5\n", encoding="utf-8")
    table = read_swd(path)
    assert (table.species_names, table.row.tolist()) == (["A"], [2, 4])
    assert table.fate()["reason"].tolist() == ["", "without a species name", ""]
    assert len(read_swd(path, like=["heat"]).row) == 3  # of background nobody wants the name


ONE = "species,x,y,remark\n" + "A b,1,2,x\n" * 5


@pytest.mark.parametrize("rest, until", [("", "the end of the file"), ('A b,1,2,"y\n', "5 rows later")])
def test_a_lone_quotation_mark_does_not_swallow_rows(tmp_path, rest, until):
    path = tmp_path / "r.csv"
    path.write_text(ONE + 'A b,1,2,"x\n' + "A b,1,2,x\n" * 4 + rest + "A b,1,2,x\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"row 7: text begins with a quotation mark that is not closed until {until}"):
        read_occurrences(path)


def test_remarks_of_several_lines_are_read(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(ONE + 'A b,1,2,"seen, twice,\nlate, by three, of us, in rain\n\n"\n' + ONE[19:], encoding="utf-8")
    assert len(read_occurrences(path)) == 11
