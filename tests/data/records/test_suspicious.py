"""Suspicious coordinates: what a person would point at is flagged, and honest records of few decimals are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.data.rasters.layers import open_stack
from sdm.data.records.clean import clean
from sdm.data.records.occurrences import Occurrences, read_occurrences
from sdm.data.records.suspicious import BITS, FLAGS, Suspicion, flag_coordinates, flag_words, in_the_sea
from sdm.errors import OptionError
from sdm.options.inputs import OccurrenceOptions
from sdm.options.reading import leaves


def records(x, y, species="a", crs="EPSG:4326") -> Occurrences:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    names = [species] * len(x) if isinstance(species, str) else species
    return Occurrences(np.array(names, dtype=object), x, y, crs, np.arange(len(x)) + 2)


def words(x, y, species="a", crs="EPSG:4326"):
    return list(flag_words(flag_coordinates(records(x, y, species, crs))))


def scattered(n, decimals, seed=1, low=(5, 45), high=(15, 55)):
    rng = np.random.default_rng(seed)
    return np.round(rng.uniform(low, high, (n, 2)), decimals).T


def test_each_flag():
    x = [0.0, 10.1234, 12.0, 10.25, 20.5, -75.3, 12.3456, np.nan, 700.0]
    y = [0.0, 10.1234, 50.0, 51.25, 95.5, -3.25, 56.7891, 1.0, 10.0]
    assert words(x, y) == ["zero", "equal", "whole", "", "impossible", "", "", "", "impossible"]


def test_metres_are_not_degrees():
    """Metres are whole numbers, and a northing of 5,000,000 is no impossible latitude."""
    assert words([0, 400000, 500000], [0, 5000000, 500000], crs="EPSG:25833") == ["zero", "", ""]


@pytest.mark.parametrize("decimals", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [30, 300, 3000, 30000])
def test_few_decimals_give_no_alarm(decimals, n):
    """A hundredth of all records with one decimal are at whole degrees, and some have equal coordinates: by chance."""
    alarms = []
    for seed in range(20):
        x, y = scattered(n, decimals, seed, (5, 5), (25, 25))
        alarms.append(np.count_nonzero(flag_coordinates(records(x, y))))
    assert np.count_nonzero(alarms) <= 2, "three deviations are passed in less than one of a hundred cases"


@pytest.mark.parametrize("steps", [2, 4, 60])
def test_gridded_records_give_no_alarm(steps):
    """Atlas data lie at the corners of half degrees, quarters, or whole minutes."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(-20 * steps, 20 * steps, (2, 5000)) / steps
    flags = flag_coordinates(records(x, y))
    assert not flags[(x != 0) | (y != 0)].any()


@pytest.mark.parametrize(("decimals", "rounded"), [(1, 60), (2, 5), (4, 1)])
def test_records_rounded_to_degrees_stand_out(decimals, rounded):
    x, y = scattered(1000, decimals)
    x[:rounded], y[:rounded] = np.round(x[:rounded]), np.round(y[:rounded])
    flags = flag_coordinates(records(x, y))
    assert (flags[:rounded] & BITS["whole"] > 0).all()
    assert np.count_nonzero(flags) <= rounded + 0.015 * 1000 * 10.0 ** (2 - 2 * decimals)


def test_a_species_is_judged_by_its_own_records():
    """Thousands of coarse records of another species do not hide the rounded one of this."""
    x, y = scattered(5000, 1)
    fine = scattered(20, 4, 2)
    fine[:, 0] = 12, 50
    species = ["coarse"] * 5000 + ["fine"] * 20
    flags = flag_coordinates(records(*np.hstack([[x, y], fine]), species))
    assert np.flatnonzero(flags).tolist() == [5000]


def naive_repeated(x, y, species):
    """Count the species of every point in a dictionary."""
    at = {}
    for a, b, name in zip(x, y, species):
        at.setdefault((a, b), set()).add(name)
    shared = sorted(len(names) for names in at.values() if len(names) > 1)
    usual = shared[int(0.95 * (len(shared) - 1))] if len(shared) > 1 else 1
    least = max(10, 0.2 * len(set(species)), 5 * usual)
    return [len(at[a, b]) >= least for a, b in zip(x, y)]


@given(st.integers(0, 10_000), st.integers(5, 60), st.integers(1, 40))
def test_points_of_many_species(seed, n_species, n_points):
    rng = np.random.default_rng(seed)
    places = rng.uniform(-80, 80, (n_points + 200, 2))
    often = np.concatenate([rng.integers(0, n_points, 100), rng.integers(0, n_points + 200, 400), [0] * n_species])
    names = rng.integers(0, n_species, 500).tolist() + list(range(n_species))
    x, y = places[often].T
    species = [f"s{k}" for k in names]
    flags = flag_coordinates(records(x, y, species)) & BITS["repeated"] > 0
    assert flags.tolist() == naive_repeated(x, y, species)


def test_a_museum_is_told_from_survey_sites():
    rng = np.random.default_rng(3)
    places = rng.uniform(40, 50, (400, 2))
    museum = np.tile([[13.3795, 52.5302]], (40, 1))
    names = [f"s{k}" for k in range(40)]
    x, y = np.vstack([places, museum]).T
    flags = flag_coordinates(records(x, y, [*(names * 10), *names]))
    assert np.flatnonzero(flags).tolist() == list(range(400, 440))
    sites = np.repeat(places[:20], 40, axis=0)  # every species was looked for at each of twenty sites
    assert not flag_coordinates(records(*sites.T, names * 20)).any()
    assert not flag_coordinates(records(x, y, [*(names * 10), *names]), names=False).any()


def sea_stack(tmp_path, write_raster, seed=5):
    rng = np.random.default_rng(seed)
    land = (rng.random((40, 60)) < 0.02).astype("int16")
    return land, open_stack(write_raster(tmp_path / "a.tif", np.where(land, 1, -1).astype("int16"), nodata=-1))


def test_the_sea_is_where_no_cell_near_has_data(tmp_path, write_raster):
    land, stack = sea_stack(tmp_path, write_raster)
    rows, cols = np.indices(land.shape).reshape(2, -1)
    found = in_the_sea(stack, rows, cols, stack.sample(rows, cols))
    on = np.argwhere(land)
    nearest = np.array([((on - [r, c]) ** 2).sum(axis=1).min() for r, c in zip(rows, cols)])
    assert found.tolist() == (nearest > 9).tolist()
    assert 100 < found.sum() < 2300


@pytest.mark.parametrize("snap", [0, 3, 6])
def test_records_in_the_sea_are_dropped_before_any_is_moved(tmp_path, write_raster, snap):
    land, stack = sea_stack(tmp_path, write_raster)
    rows, cols = np.indices(land.shape).reshape(2, -1)
    found = records(*stack.xy(rows, cols))
    ways = {"snap": snap, "remove_duplicates": False}
    kept, told = clean(found, stack, suspicion=Suspicion(), **ways)
    fewer, ledger = clean(found, stack, suspicion=Suspicion.of(["sea"]), **ways)
    sea = told.flags & BITS["sea"] > 0
    assert ledger.counts["a"]["in_the_sea"] == sea.sum() > 0
    assert (ledger.flags == told.flags).all()
    assert set(fewer["a"].index) == set(kept["a"].index) - set(np.flatnonzero(sea))
    assert told.counts["a"]["in_the_sea"] == 0
    told_kept = "sea?), not dropped" in told.suspicions()[0]
    assert told_kept == bool(set(kept["a"].index) & set(np.flatnonzero(sea))) == (snap > 3)


def test_what_is_named_is_dropped_and_counted(stack):
    """The landscape is x 10..55, y 20..50."""
    x, y = [20.0, 33.1234, 21.1234, 120.5, 0.0, 22.2222, 9.1234], [30.0, 33.1234, 30.4321, 99.0, 0.0, 22.2, 9.1234]
    found = records(x, y)
    _, ledger = clean(found, stack, suspicion=Suspicion())
    assert ledger.counts["a"]["kept"] == 4
    line = "4 records with suspicious coordinates: 1 at (0, 0), 1 with a latitude beyond ±90° or a longitude beyond"
    (told,) = ledger.notices()
    assert told.startswith(line)
    assert told.endswith(
        "dropped; 1 with longitude equal to latitude, 1 at whole degrees, not dropped: look at them, or use "
        "--drop-suspicious equal,whole"
    )
    for drop, reasons in (
        (["equal"], {"equal_coordinates": 1}),
        (["whole", "sea"], {"whole_degrees": 1}),
        (["all"], {"equal_coordinates": 1, "whole_degrees": 1}),
    ):
        points, ledger = clean(found, stack, suspicion=Suspicion.of(drop))
        count = ledger.counts["a"]
        assert {name: count[name] for name in reasons} == reasons
        assert count["kept"] == 4 - sum(reasons.values()) == len(points["a"])
        assert (count["zero_coordinates"], count["impossible"], count["swapped"]) == (1, 1, 0)
    assert "not dropped" not in ledger.notices()[0]
    assert clean(found, stack)[1].notices() == [], "nothing is said where nobody asked"


def test_a_record_with_two_faults_is_counted_under_the_first(stack):
    """A record at equal and whole degrees counts once, under the reason that the documentation lists first."""
    found = records([20.0, 21.0, 33.1234, 22.2222], [20.0, 30.0, 33.1234, 30.1111])
    for drop, equal, whole in ((["all"], 2, 1), (["equal"], 2, 0), (["whole"], 0, 2)):
        count = clean(found, stack, suspicion=Suspicion.of(drop))[1].counts["a"]
        assert (count["equal_coordinates"], count["whole_degrees"]) == (equal, whole)
        assert count["kept"] == 4 - equal - whole


def test_the_options_are_the_flags():
    (leaf,) = [leaf for leaf in leaves() if leaf.dotted == "occurrences.drop_suspicious"]
    assert set(OccurrenceOptions(drop_suspicious=["all", *FLAGS]).drop_suspicious) == {"all", *FLAGS}
    assert all(name in leaf.field.description for name in FLAGS)
    with pytest.raises(OptionError, match="drop_suspicious='see': expected 'all' or some of zero"):
        Suspicion.of(["see"])


def test_flags_are_rare_in_real_records(shared):
    """Bradypus lies on minutes of arc, those of Canada on many roads: honest records, of which none is flagged."""
    for name in ("phillips2006/bradypus.csv", "nceas/CANtrain_po.csv", "nceas/NSWtrain_po.csv"):
        found = read_occurrences(shared / name)
        assert len(found) > 100
        assert not flag_coordinates(found).any()
    stack = open_stack(shared / "phillips2006" / "layers", categorical=["ecoreg"])
    _, ledger = clean(read_occurrences(shared / "phillips2006" / "bradypus.csv"), stack, suspicion=Suspicion())
    assert ledger.suspicions() == []
