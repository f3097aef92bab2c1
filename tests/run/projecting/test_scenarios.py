"""Scenarios by patterns of names and by tables."""

from pathlib import Path

import pytest

from sdm.errors import DataError, OptionError
from sdm.run.projecting import scenarios
from sdm.run.projecting.scenarios import field_names, find_scenarios

FUTURE = [f"{gcm}_{ssp}_2050" for gcm in ("ACCESS-CM2", "MIROC6") for ssp in ("ssp126", "ssp585")]


def test_folders(tmp_path: Path) -> None:
    for name in FUTURE:
        (tmp_path / "future" / name).mkdir(parents=True)
    (tmp_path / "future" / ".hidden_a_b").mkdir()
    found = find_scenarios([f"{tmp_path}/future/{{gcm}}_{{ssp}}_{{period}}/"])
    assert [one.title for one in found] == FUTURE
    assert found[0].fields == {"gcm": "ACCESS-CM2", "ssp": "ssp126", "period": "2050"}
    assert found[0].places == (str(tmp_path / "future" / FUTURE[0]),)
    assert field_names(found) == ["gcm", "ssp", "period"]


def test_files_of_worldclim_and_chelsa(tmp_path: Path) -> None:
    for gcm in ("ACCESS-CM2", "MIROC6"):
        (tmp_path / f"wc2.1_10m_bioc_{gcm}_ssp245_2041-2060.tif").touch()
        for variable in ("bio1", "bio12"):
            (tmp_path / f"CHELSA_{variable}_2041-2070_{gcm.lower()}_ssp126_V.2.1.tif").touch()
    world = find_scenarios([f"{tmp_path}/wc2.1_10m_bioc_{{gcm}}_{{ssp}}_{{period}}.tif"])
    assert [one.fields["gcm"] for one in world] == ["ACCESS-CM2", "MIROC6"]
    assert [len(one.places) for one in world] == [1, 1]
    chelsa = find_scenarios([f"{tmp_path}/CHELSA_{{variable}}_{{period}}_{{gcm}}_{{ssp}}_V.2.1.tif"])
    assert [one.title for one in chelsa] == ["2041-2070_access-cm2_ssp126", "2041-2070_miroc6_ssp126"]
    assert [len(one.places) for one in chelsa] == [2, 2]
    assert "variable" not in chelsa[0].fields


def test_a_name_with_two_readings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "had_gem_ssp1").mkdir()
    with pytest.raises(DataError, match=r"in two ways: \{gcm\} may be 'had' or 'had_gem'"):
        find_scenarios([f"{tmp_path}/{{gcm}}_{{ssp}}"])
    (found,) = find_scenarios([f"{tmp_path}/had_{{gcm}}_{{ssp}}"])
    assert found.fields == {"gcm": "gem", "ssp": "ssp1"}


def test_a_table(tmp_path: Path) -> None:
    (tmp_path / "scenarios.csv").write_text("Layers,GCM,year\nfuture/a,A,2050\nhttps://x.org/b.tif,B,2070\n")
    one, two = find_scenarios([str(tmp_path / "scenarios.csv")])
    assert one.title == "A_2050"
    assert one.places == (str(tmp_path / "future/a"),)
    assert two.places == ("https://x.org/b.tif",)
    assert two.fields == {"GCM": "B", "year": "2070"}
    (tmp_path / "bad.csv").write_text("gcm,year\nA,2050\n")
    with pytest.raises(DataError, match="no column layers or folder"):
        find_scenarios([str(tmp_path / "bad.csv")])


def test_names_of_the_users_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    found = find_scenarios({"warm": str(tmp_path / "a"), "hot": str(tmp_path / "b")})
    assert [one.title for one in found] == ["hot", "warm"]
    assert [one.title for one in find_scenarios([str(tmp_path / "a"), str(tmp_path / "b")])] == ["a", "b"]


@pytest.mark.parametrize(
    "pattern, said",
    [
        ("none/{gcm}/", "no file or folder matches"),
        ("{a}_{a}", "the field {a} twice"),
        ("{a}{b}", "two fields without a separator"),
    ],
)
def test_what_is_refused(pattern: str, said: str) -> None:
    with pytest.raises((DataError, OptionError), match=said):
        find_scenarios([pattern])


def test_two_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "x" / "a").mkdir(parents=True)
    (tmp_path / "y" / "a").mkdir(parents=True)
    with pytest.raises(OptionError, match="two scenarios have the name 'a'"):
        find_scenarios([str(tmp_path / "x" / "a"), str(tmp_path / "y" / "a")])


def test_a_pattern_that_leads_out_of_its_folder_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link in a folder from anybody may lead to all files of the machine: the search ends at the first full level."""
    monkeypatch.setattr(scenarios, "MOST_PLACES", 50)
    (tmp_path / "there" / "a").mkdir(parents=True)
    for k in range(60):
        (tmp_path / "there" / "a" / f"{k}").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(tmp_path / "there")
    searched: list[str] = []
    glob = scenarios.glob.glob
    monkeypatch.setattr(scenarios.glob, "glob", lambda text: searched.append(text) or glob(text))
    with pytest.raises(DataError, match=r"matches more than 50 files and folders: make it more specific"):
        find_scenarios([f"{tmp_path}/here/{{a}}/{{b}}/{{c}}/{{d}}/{{e}}.tif"])
    assert searched[-1] == f"{tmp_path}/here/*/*/*"
    assert [one.title for one in find_scenarios([f"{tmp_path}/here/{{a}}/{{b}}"])] == ["link_a"]
