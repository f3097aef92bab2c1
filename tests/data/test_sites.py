"""Tables of sites: what is a species, what is environment, and how two tables find together."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.data.sites import NamedColumns, read_site_table
from sdm.errors import DataError, OptionError


def table(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Three species, one of them not looked for everywhere; heat and soil; coordinates."""
    return table(
        tmp_path / "sites.csv",
        "site,x,y,owl,fox,bee,heat,soil\na,1,2,1,0,,3.5,clay\nb,2,3,0,1,1,4.5,sand\nc,3,4,0,0,0,,clay\n",
    )


def test_columns_of_nothing_but_0_1_and_blanks_are_species(plain: Path) -> None:
    sites = read_site_table(plain)
    assert list(sites.labels.columns) == ["owl", "fox", "bee"]
    np.testing.assert_array_equal(sites.labels["bee"], [np.nan, 1, 0])
    assert list(sites.environment.columns) == ["heat"]
    assert any("'soil' contains no numbers" in note for note in sites.notes)
    np.testing.assert_array_equal(sites.x, [1, 2, 3])
    assert sites.row.tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("wanted", "species", "environment"),
    [
        (NamedColumns(species=["owl,bee"]), ["owl", "bee"], ["heat"]),
        (NamedColumns(species=["*o*"]), ["owl", "fox", "soil"], None),
        (NamedColumns(species=["fo"]), ["fox"], ["heat"]),
        (NamedColumns(species=["fo"], environment=["bee", "heat"]), ["fox"], ["bee", "heat"]),
        (NamedColumns(species=["fo"], categorical=["bee"]), ["fox"], ["bee", "heat"]),
        (NamedColumns(environment=["heat", "bee"]), ["owl", "fox"], ["heat", "bee"]),
        (NamedColumns(environment=["x"]), ["owl", "fox", "bee"], ["x"]),
        (NamedColumns(categorical=["soil"]), ["owl", "fox", "bee"], ["heat", "soil"]),
    ],
)
def test_columns_that_were_named(plain: Path, wanted: NamedColumns, species, environment) -> None:
    if environment is None:  # a pattern that takes a column of words for a species
        with pytest.raises(DataError, match=r"row 2, column 'soil': 'clay' is not a number"):
            read_site_table(plain, wanted)
        return
    sites = read_site_table(plain, wanted)
    assert list(sites.labels.columns) == species
    assert list(sites.environment.columns) == environment


def said(sites, part: str) -> str:
    """Return the one note that holds some words."""
    found = [note for note in sites.notes if part in note]
    assert len(found) == 1, sites.notes
    return found[0]


def test_species_that_were_not_asked_for_are_no_environment(plain: Path, tmp_path: Path) -> None:
    sites = read_site_table(plain, NamedColumns(species=["owl"]))
    note = said(sites, "columns with only 0, 1 and blanks were dropped: fox, bee;")
    assert "--species" in note
    assert "--environment" in note
    long = table(
        tmp_path / "long.csv",
        "site,species,presence,heat,burnt\na,owl,1,5,0\na,fox,0,5,0\nb,owl,0,6,1\nb,fox,1,6,1\n",
    )
    sites = read_site_table(long, NamedColumns(species=["owl"]))
    assert list(sites.labels.columns) == ["owl"]
    assert list(sites.environment.columns) == ["heat", "burnt"], "a flag of a long table is no species"
    said(sites, "other species of the table were dropped: fox;")
    assert list(read_site_table(long).labels.columns) == ["owl", "fox"]


def test_counts_and_blank_columns_are_spoken_of(tmp_path: Path) -> None:
    path = table(tmp_path / "s.csv", "x,y,owl,fox,bee,heat\n1,1,1,0,,3.5\n2,2,0,3,,4.5\n3,3,1,1,,5.5\n")
    sites = read_site_table(path)
    assert list(sites.environment.columns) == ["fox", "heat"]
    assert "used as environment: fox; for counts of species, use --species" in said(sites, "whole")
    assert said(sites, "'bee'") == "column 'bee' is blank at every site and was dropped"
    sites = read_site_table(path, layers=True)
    assert "not used: fox" in said(sites, "whole")
    sites = read_site_table(path, NamedColumns(environment=["heat", "fox"]))
    assert not any("whole" in note for note in sites.notes), "it was asked for"


@pytest.mark.parametrize("option", ["x", "y", "site"])
def test_a_named_column_must_be_in_a_table(plain: Path, tmp_path: Path, option: str) -> None:
    other = table(tmp_path / "env.csv", "site,rain\na,1\nb,2\nc,3\n")
    for more in ({}, {"layers": True}, {"table": other}):
        with pytest.raises(
            OptionError, match=rf"--{option}-column 'nope': no table has such a column; 'sites.csv' has site, x, y"
        ):
            read_site_table(plain, NamedColumns(**{option: "nope"}), **more)
    where = table(tmp_path / "where.csv", "site,east,north,rain\na,7,8,1\nb,9,9,2\nc,9,9,3\n")
    sites = read_site_table(plain, NamedColumns(x="East", y="north"), table=where)
    np.testing.assert_array_equal(sites.x, [7, 9, 9])


def test_a_second_table_is_joined_by_the_names_of_sites(plain: Path, tmp_path: Path) -> None:
    other = table(tmp_path / "env.csv", "site,rain\nc,30\na,10\nzz,99\n")
    sites = read_site_table(plain, NamedColumns(species=["owl", "fox"]), table=other)
    np.testing.assert_array_equal(sites.environment["rain"], [10, np.nan, 30])
    assert "'env.csv' joined by column 'site'; 1 sites are not in it" in sites.notes
    np.testing.assert_array_equal(sites.y, [2, 3, 4])


def test_a_second_table_without_names_is_taken_row_by_row(plain: Path, tmp_path: Path) -> None:
    other = table(tmp_path / "env.csv", "rain\n10\n20\n30\n")
    sites = read_site_table(plain, table=other)
    np.testing.assert_array_equal(sites.environment["rain"], [10, 20, 30])
    assert "'env.csv' joined row by row" in sites.notes
    short = table(tmp_path / "short.csv", "rain\n10\n20\n")
    with pytest.raises(DataError, match=r"has 3 sites, and 'short\.csv' has 2 rows.*--site-column"):
        read_site_table(plain, table=short)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("site,rain\na,1\na,2\nb,3\n", "site 'a' occurs twice"),
        ("site,rain\n1,1\n2,2\n", "no site of 'sites.csv' is in 'env.csv'.*'a' in one and '1' in the other"),
    ],
)
def test_tables_that_do_not_fit(plain: Path, tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_site_table(plain, table=table(tmp_path / "env.csv", text))


def test_one_row_a_species_and_site(tmp_path: Path) -> None:
    path = table(
        tmp_path / "long.csv",
        "species,x,y,presence,heat\nowl,1,1,1,5\nfox,1,1,0,5\nowl,2,2,absent,6\nowl,2,2,1,6\nfox,3,3,1,7\n",
    )
    sites = read_site_table(path)
    assert list(sites.labels.columns) == ["owl", "fox"]
    np.testing.assert_array_equal(sites.labels.to_numpy(), [[1, 0], [1, np.nan], [np.nan, 1]])
    np.testing.assert_array_equal(sites.environment["heat"], [5, 6, 7])
    assert sites.row.tolist() == [2, 4, 6]
    assert "one row per species and site: 5 rows are 3 sites" in sites.notes


def test_true_and_false_are_1_and_0(tmp_path: Path) -> None:
    sites = read_site_table(table(tmp_path / "s.csv", "owl,fox,heat\nTRUE,FALSE,1\nFALSE,,2\nTRUE,TRUE,3\n"))
    np.testing.assert_array_equal(sites.labels.to_numpy(), [[1, 0], [0, np.nan], [1, 1]])


@pytest.mark.parametrize(
    ("text", "options", "kind", "said"),
    [
        ("a,b\n5,6\n7,8\n", {}, DataError, "has no columns of species.*--species"),
        ("a,b\n1,0\n0,1\n", {}, DataError, "contains species only.*--environment"),
        ("a,b\n1,5\n0,6\n", {"layers": True}, DataError, "no coordinates to read layers at"),
        (
            "a,b\n1,5\n0,6\n",
            {"named": NamedColumns(species=["c"])},
            OptionError,
            "has no species 'c'.*its columns are a, b",
        ),
        ("a,b\n1,5\n0,6\n", {"named": NamedColumns(environment=["c"])}, OptionError, "'c' matches no column"),
        ("a,b\n1,5\n0,6\n", {"named": NamedColumns(categorical=["c"])}, OptionError, "layers.categorical=c"),
        ("a,b\n1,5\n0,6\n", {"named": NamedColumns(fold="part")}, OptionError, "no column 'part'"),
        ("a,b\n1,\n0,\n", {}, DataError, "no column of the environment"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(tmp_path: Path, text, options, kind, said) -> None:
    with pytest.raises(kind, match=said) as caught:
        read_site_table(table(tmp_path / "s.csv", text), **options)
    assert "\n" not in str(caught.value)


@given(st.lists(st.lists(st.sampled_from(["0", "1", ""]), min_size=3, max_size=3), min_size=1, max_size=12))
def test_any_labels_come_back_as_they_were(tmp_path_factory, rows) -> None:
    """Columns that are blank throughout are no species by themselves, but can be named."""
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text("a,b,c,heat\n" + "".join(f"{','.join(row)},{k}.5\n" for k, row in enumerate(rows)))
    sites = read_site_table(path, NamedColumns(species=["a", "b", "c"]))
    expected = [[np.nan if cell == "" else float(cell) for cell in row] for row in rows]
    np.testing.assert_array_equal(sites.labels.to_numpy(), expected)


def test_visits_to_one_site_are_known(tmp_path: Path) -> None:
    """By its name, or by its coordinates, which may be called by their datum."""
    text = "site,X_WGS84,Y_WGS84,owl,heat\na,1,2,1,3\nb,5,6,0,4\na,1.1,2,0,5\nc,5,6,1,6\nd,7,8,0,7\n"
    sites = read_site_table(table(tmp_path / "visits.csv", text))
    np.testing.assert_array_equal(sites.x, [1, 5, 1.1, 5, 7])
    assert list(sites.environment.columns) == ["heat"]
    assert sites.group.tolist() == [0, 1, 0, 1, 2]
    assert sites.take(np.array([1, 2, 3])).group.tolist() == [1, 0, 1]


def test_counts_and_cover_above_a_number_are_presences(tmp_path: Path) -> None:
    """Blanks stay blank; with the environment elsewhere, all columns of numbers from zero on are species."""
    frame = pd.DataFrame({"site": list("abc"), "owl": [0, 3, np.nan], "moss": [0.0, 2.5, 40.0]})
    frame.assign(slope=[-1.0, 2.0, 3.0]).to_csv(tmp_path / "counts.csv", index=False)
    wanted = NamedColumns(species=["owl", "moss"], presence_above=5)
    labels = read_site_table(tmp_path / "counts.csv", wanted).labels
    np.testing.assert_array_equal(labels["owl"], [0, 0, np.nan])
    np.testing.assert_array_equal(labels["moss"], [0, 0, 1])
    pd.DataFrame({"site": list("abc"), "heat": [1.0, 2.0, 3.5]}).to_csv(tmp_path / "env.csv", index=False)
    both = read_site_table(tmp_path / "counts.csv", NamedColumns(presence_above=0), table=tmp_path / "env.csv")
    assert list(both.labels) == ["owl", "moss"]
    np.testing.assert_array_equal(both.labels["moss"], [0, 1, 1])
    with pytest.raises(OptionError, match="add --species"):
        read_site_table(tmp_path / "counts.csv", NamedColumns(presence_above=0))
