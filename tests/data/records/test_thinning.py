"""Thinning by cell and by environment, and the ledger of what went."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.data.records.clean import clean, finish_cleaning, locate
from sdm.data.records.occurrences import Occurrences
from sdm.data.records.thinning import Thinning, one_of_each, thin_by_bins
from sdm.errors import OptionError


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([1.0, 2.0, 30.0, np.nan])), min_size=1, max_size=30))
def test_one_of_each_is_the_most_certain_then_the_first(rows):
    key, doubt = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    keep = one_of_each(key, doubt)
    for value in set(key):
        at = np.flatnonzero(key == value)
        best = min(at, key=lambda i: (np.isnan(doubt[i]), 0 if np.isnan(doubt[i]) else doubt[i], i))
        assert np.flatnonzero(keep & (key == value)).tolist() == [best]
    first = one_of_each(key)
    assert np.flatnonzero(first).tolist() == sorted({int(np.flatnonzero(key == value)[0]) for value in key})


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_bins_hold_one_record_each(seed, bins):
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.normal(size=80), rng.integers(0, 4, 80), np.full(80, 3.0)])
    keep = thin_by_bins(values, bins, categorical=np.array([False, True, False]))

    def place(row):
        low, high = values[:, 0].min(), values[:, 0].max()
        return min(int((row[0] - low) / (high - low) * bins), bins - 1), row[1]

    places = [place(row) for row in values]
    assert sorted(places[i] for i in np.flatnonzero(keep)) == sorted(set(places))
    assert all(places.index(places[i]) == i for i in np.flatnonzero(keep)), "the first of a bin stays"


def records(stack, n=300, seed=4):
    rng = np.random.default_rng(seed)
    names = rng.choice(["a", "b"], n).astype(object)
    extra = pd.DataFrame({"coordinateUncertaintyInMeters": rng.integers(1, 2000, n).astype(float)})
    return Occurrences(names, rng.uniform(16, 24, n), rng.uniform(26, 34, n), extra=extra)


def test_the_ledger_says_how_many_went(stack):
    located = locate(records(stack), stack)
    values = stack.sample(*located.cells)
    plain, _ = finish_cleaning(located, values)
    thinned, ledger = finish_cleaning(located, values, thinning=Thinning(distance=120))
    for species in ("a", "b"):
        count = ledger.counts[species]
        assert count["thinned"] == len(plain[species]) - len(thinned[species]) > 0
        assert f"{count['thinned']:,} dropped by thinning" in ledger.describe(species)
        assert set(thinned[species].index) <= set(plain[species].index)


def test_a_species_is_thinned_alike_whatever_others_are_there(stack):
    both = records(stack)
    located = locate(both, stack)
    all_of_them, _ = finish_cleaning(located, stack.sample(*located.cells), thinning=Thinning(distance=150, tries=1))
    alone = locate(both.take(both.species == "b"), stack)
    one, _ = finish_cleaning(alone, stack.sample(*alone.cells), thinning=Thinning(distance=150, tries=1))
    np.testing.assert_array_equal(one["b"].x, all_of_them["b"].x)


def test_the_most_certain_record_of_a_cell_stays(stack):
    extra = pd.DataFrame({"coordinateUncertaintyInMeters": [500.0, 0.0, 20.0, 30.0]})
    own = Occurrences(np.array(["a"] * 4, dtype=object), np.full(4, 20.1), np.full(4, 30.1), extra=extra)
    points, ledger = clean(own, stack)
    assert points["a"].index.tolist() == [2], "zero metres mean that it is not known"
    assert ledger.counts["a"]["duplicates"] == 3


def test_by_environment_with_chosen_variables(stack):
    located = locate(records(stack), stack)
    values = stack.sample(*located.cells)
    thinned, _ = finish_cleaning(located, values, thinning=Thinning(bins=4, variables=("heat", "cover")))
    at = [stack.names.index(name) for name in ("heat", "cover")]
    plain, _ = finish_cleaning(located, values)
    heat, cover = plain["a"].values[:, at].T
    bins = np.minimum((heat - heat.min()) / (heat.max() - heat.min()) * 4, 3).astype(int)
    assert len(thinned["a"]) == len(set(zip(bins, cover)))
    with pytest.raises(OptionError, match="thin_variables=snow: expected some of"):
        finish_cleaning(located, values, thinning=Thinning(bins=4, variables=("snow",)))
