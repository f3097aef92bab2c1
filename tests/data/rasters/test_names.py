"""Names of layers: a variable must be found under every honest spelling, and never under one that means another."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.data.rasters.names import (
    match_names,
    names_meant,
    read_renames,
    rename_layers,
    spelling_key,
    variable_key,
)
from sdm.errors import DataError

WORLDCLIM = [f"wc2.1_10m_bio_{n}" for n in range(1, 20)]
WORLDCLIM_BANDS = [f"bio{n:02d}" for n in range(1, 20)]
WORLDCLIM_NUMBERS = [f"wc2.1_10m_bioc_ACCESS-CM2_ssp245_2041-2060_{n}" for n in range(1, 20)]
CHELSA = [f"CHELSA_bio{n}_1981-2010_V.2.1" for n in range(1, 20)]
CHELSA_FUTURE = [f"CHELSA_bio{n}_2041-2070_gfdl-esm4_ssp126_V.2.1" for n in range(1, 20)]


@pytest.mark.parametrize(
    ("present", "future"),
    [(WORLDCLIM, WORLDCLIM_BANDS), (WORLDCLIM, WORLDCLIM_NUMBERS), (CHELSA, CHELSA_FUTURE), (CHELSA, WORLDCLIM_BANDS)],
)
def test_futures_of_worldclim_and_chelsa_are_the_same_variables(present, future):
    for chosen in (range(19), (0, 11), (17, 3), (1,)):
        found = match_names([present[k] for k in chosen], future)
        assert found.matches == {present[k]: future[k] for k in chosen}
        (notice,) = found.notices
        assert notice.startswith(f"{len(chosen)} layer")
        assert f"{future[chosen[0]]} as {present[chosen[0]]}" in notice


def test_other_variables_and_other_collections_are_not_taken():
    with pytest.raises(DataError, match=r"'tmin_1' does not exist.*--rename 'tmax_\{name\}=tmin_\{name\}'"):
        match_names(["tmin_1", "tmin_2"], ["tmax_01", "tmax_02"])
    with pytest.raises(DataError, match=r"'wc2.1_10m_bio_1' does not exist"):
        match_names(WORLDCLIM[:2], CHELSA_FUTURE)
    with pytest.raises(DataError, match="'reflectance_1640' does not exist"):
        match_names(["reflectance_1640"], ["reflectance_2190"])
    with pytest.raises(DataError, match=r"'slope_0.05' does not exist: did you mean 'slope_0.5'"):
        match_names(["slope_0.05"], ["slope_0.5"])
    with pytest.raises(DataError, match="'lag_5' does not exist"):
        match_names(["lag_5"], ["lag_-5"])


def test_two_readings_are_refused_with_the_candidates():
    with pytest.raises(
        DataError, match=r"'bio_1' does not exist, and several may be meant .'BIO01' or 'bio1'.*--rename 'BIO01=bio_1'"
    ):
        match_names(["bio_1"], ["BIO01", "bio1"])
    with pytest.raises(DataError, match=r"may be meant .'CHELSA_bio1_2041.*ssp126.*' or 'CHELSA_bio1_2041.*ssp585"):
        match_names(
            ["bio1"], ["CHELSA_bio1_2041-2070_miroc6_ssp126_V.2.1", "CHELSA_bio1_2041-2070_miroc6_ssp585_V.2.1"]
        )
    with pytest.raises(DataError, match="'cover_2010_ssp1' does not exist"):  # the year tells two variables apart
        match_names(["cover_1990_ssp1", "cover_2010_ssp1"], ["cover_1990_ssp1", "cover_2020_ssp1"])
    assert match_names(["bio_1"], ["BIO01", "bio1", "bio_1"]).notices == []


def test_names_of_earlier_versions_are_known():
    found = match_names(["bio1"], ["tas", "pr"], formerly={"tas": "bio1", "pr": "bio12"})
    assert found.matches == {"bio1": "tas"}
    assert "an earlier version named layers after files" in found.notices[0]


def respelt(draw, words):
    """Spell words and numbers with any case, separators and zero padding."""
    text, before = "", ""
    for word in words:
        number = word.isdigit()
        gap = draw(st.sampled_from(["_", "-", "."] if number and before.isdigit() else ["", "_", "-", " "]))
        gap = "_" if gap == "." else gap
        text += (gap if text else "") + ("0" * draw(st.integers(0, 2)) if number else "")
        text += draw(st.sampled_from([str.lower, str.upper, str.title]))(word)
        before = word
    return text


names = st.lists(
    st.tuples(
        st.sampled_from(["bio", "tas", "slope"]), st.integers(0, 30).map(str), st.sampled_from(["mean", "7", "x"])
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


@given(st.data(), names)
def test_every_spelling_is_found_and_means_one_variable(data, variables):
    wanted, here = ([respelt(data.draw, words) for words in variables] for _ in range(2))
    order = data.draw(st.permutations(here))
    expected = dict(zip(wanted, here))
    assert match_names(wanted, order).matches == expected
    for one, two in itertools.combinations(variables, 2):
        keys = (spelling_key(respelt(data.draw, words)) for words in (one, two))
        assert len(set(keys)) == 2


@given(st.lists(st.text(st.sampled_from("ab01_.- "), min_size=1, max_size=5), max_size=6, unique=True), st.data())
def test_a_match_is_one_to_one_and_a_name_that_is_there_is_itself(known, data):
    wanted = data.draw(
        st.lists(st.text(st.sampled_from("abAB01_.- "), min_size=1, max_size=5), max_size=4, unique=True)
    )
    try:
        found = match_names(wanted, known).matches
    except DataError:
        assert set(wanted) - set(known)
        return
    assert list(found) == wanted
    assert len(set(found.values())) == len(wanted)
    assert set(found.values()) <= set(known)
    for name, other in found.items():
        assert name == other or name not in known
        assert name == other or spelling_key(name) == spelling_key(other) or variable_key(name) == variable_key(other)


def test_rename():
    new, (told, unused) = rename_layers(
        ["CHELSA_bio1_1981-2010_V.2.1", "CHELSA_bio12_1981-2010_V.2.1", "elev"],
        {"CHELSA_{v}_{period}_V.2.1": "{v}", "wc_{n}": "bio{n}"},
    )
    assert new == ["bio1", "bio12", "elev"]
    assert told.startswith("2 layers are renamed")
    assert "CHELSA_bio1_1981-2010_V.2.1 to bio1" in told
    assert "'wc_{n}=bio{n}' matches none of the 3 layers" in unused
    # fields take as little as they can, from the left; characters of regular expressions are plain
    assert rename_layers(["a_b_c", "a+b"], {"{x}_{y}": "{y}+{x}", "a+b": "sum"})[0] == ["b_c+a", "sum"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("bio", "a pattern, '=' and a name"),
        ("a=b=c", "a pattern, '=' and a name"),
        ("bio_{n}=", "empty"),
        ("bio_{n}=bio{m}", r"fields of the pattern 'bio_\{n\}' in the new name, got \{m\}"),
        ("bio_{n=bio{n}", "braces that are closed"),
        ("{n}_{n}=x{n}", "each field once"),
        (["a=b", "a=c"], "'a' twice"),
    ],
)
def test_rules_that_say_nothing_are_refused(wrong, text):
    with pytest.raises(ValueError, match=text):
        read_renames(wrong)


def test_names_that_are_meant():
    assert names_meant(["LandCover", "soil"], ["landcover", "bio_1"]) == ["landcover"]
