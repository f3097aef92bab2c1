"""Weights of records: what a record counts must follow from its column, or from how surely it lies in its cell."""

import numpy as np
import pandas as pd
import pytest

from sdm.data.rasters.layers import open_stack
from sdm.data.records.clean import clean
from sdm.data.records.occurrences import Occurrences, read_occurrences
from sdm.data.records.weights import record_weights
from sdm.errors import DataError, OptionError


def records(**columns) -> Occurrences:
    n = len(next(iter(columns.values())))
    x, y = 20.1 + 2 * np.arange(n), np.full(n, 30.1)
    return Occurrences(np.array(["a"] * n, dtype=object), x, y, row=np.arange(n) + 2, extra=pd.DataFrame(columns))


def weights(stack, own, by, column=None):
    points, _ = clean(own, stack)
    return record_weights(own, points["a"], stack, by, column)


def test_by_column(stack):
    found, notes = weights(stack, records(w=[1, 0, 2.5]), "w")
    assert found.tolist() == [1, 0, 2.5]
    assert notes == ()
    for bad in ([1, -1, 2], [1, None, 2]):
        with pytest.raises(DataError, match="is not a column of weights \\(1 of 3 are missing or negative\\)"):
            weights(stack, records(w=bad), "w")
    with pytest.raises(DataError, match="the weight 0 for every record"):
        weights(stack, records(w=[0, 0]), "w")
    with pytest.raises(DataError, match="weights of up to 1e\\+308, and their sum is too large: scale them"):
        weights(stack, records(w=[1e308, 1e308]), "w")
    with pytest.raises(OptionError, match="has no column 'weight': its columns are w"):
        weights(stack, records(w=[1, 1]), "weight")
    with pytest.raises(DataError, match="row 3, column 'w': 'much' is not a number"):
        weights(stack, records(w=["1", "much"]), "w")


def test_by_uncertainty_is_the_share_of_the_disc_in_the_cell(tmp_path, write_raster):
    stack = open_stack(write_raster(tmp_path / "a.tif", np.ones((40, 40), "uint8"), crs="EPSG:25833", cell=1000.0))
    metres = [100.0, 2000.0, np.nan, 0.0, 800.0]
    extra = pd.DataFrame({"coordinateUncertaintyInMeters": metres})
    x, y = 510 + 2000.0 * np.arange(5), np.full(5, -3000.0)
    own = Occurrences(np.array(["a"] * 5, dtype=object), x, y, "EPSG:25833", extra=extra)
    found, notes = weights(stack, own, "uncertainty")
    known = [1.0, 1e6 / (np.pi * 2000**2), 1e6 / (np.pi * 800**2)]
    middle = np.median(known)
    np.testing.assert_allclose(found, [known[0], known[1], middle, middle, known[2]])
    assert notes == (f"2 records of unknown coordinate uncertainty have the median weight, {middle:.3g}",)


def test_without_uncertainty(stack):
    for own in (records(w=[1, 2]), records(coordinateUncertaintyInMeters=[np.nan, 0])):
        with pytest.raises(OptionError, match="no record has a coordinate uncertainty"):
            weights(stack, own, "uncertainty")
    found, _ = weights(stack, records(w=[10.0, 20]), "uncertainty", "w")
    assert found.tolist() == [1, 1]


def test_a_column_of_a_gbif_download_is_kept_when_it_is_wanted(tmp_path):
    path = tmp_path / "gbif.csv"
    path.write_text(
        "gbifID\tspecies\tdecimalLongitude\tdecimalLatitude\ttrust\tcoordinateUncertaintyInMeters\n"
        "1\tUrsus arctos\t20.1\t30.1\t2\t50\n2\tUrsus arctos\t21.1\t30.1\t3\t\n"
    )
    plain, asked = read_occurrences(path), read_occurrences(path, columns=["trust"])
    assert "trust" not in plain.extra
    assert asked.numbers("trust").tolist() == [2, 3]
    np.testing.assert_array_equal(plain.uncertainty(), [50, np.nan])
    assert records(w=[1]).uncertainty() is None
