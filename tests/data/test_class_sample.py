"""Samples of sites: taken by index as tables are, labels and proportions alike."""

import numpy as np
import pandas as pd
import pytest

from sdm.assess.splits.folds import Fold
from sdm.data.site_sample import ClassSample, CommunitySample


def make(target, kind=ClassSample):
    n = len(target)
    place = np.arange(float(n))
    folds = np.array([f"f{k % 2}" for k in range(n)])
    values = np.column_stack([place, -place])
    return kind("demo", ("a", "b"), ("b",), values, target, place, place + 10, np.arange(n) // 2, folds)


SHARES = pd.DataFrame({"wood": [0.9, 0.1, 0.5, 0.2], "open": [0.1, 0.9, 0.5, 0.8]})


@pytest.mark.parametrize("target", [np.array(["x", "y", "y", "x"]), SHARES], ids=["labels", "proportions"])
def test_rows_stay_together(target) -> None:
    sample, rows = make(target), np.array([3, 0, 3])
    for part in (sample.take(rows), sample.take(rows, None), Fold("1", rows, rows).training(sample)):
        assert isinstance(part, ClassSample)
        assert (len(part), part.title, part.names, part.categorical) == (3, "demo", ("a", "b"), ("b",))
        assert part.x.tolist() == [3, 0, 3]
        assert (part.y - part.x).tolist() == [10, 10, 10]
        assert part.values.tolist() == [[3, -3], [0, 0], [3, -3]]
        assert part.group.tolist() == [1, 0, 1]
        assert part.folds.tolist() == ["f1", "f0", "f1"]
        np.testing.assert_array_equal(np.asarray(part.target), np.asarray(target)[rows])
    some = sample.take(np.array([True, False, False, True]))
    np.testing.assert_array_equal(np.asarray(some.target), np.asarray(target)[[0, 3]])


def test_labels_and_proportions_have_a_class_per_site() -> None:
    labels = make(np.array([10.0, 2.0, 2.5, 10.0]))
    assert labels.label.tolist() == [2, 0, 1, 2]
    assert labels.class_names == ("2", "2.5", "10")
    np.testing.assert_array_equal(labels.shares, np.eye(3)[[2, 0, 1, 2]].T)
    shares = make(SHARES)
    assert shares.label.tolist() == [0, 1, 0, 1]
    assert shares.class_names == ("wood", "open")
    np.testing.assert_array_equal(shares.shares, SHARES.to_numpy().T)
    np.testing.assert_allclose(make(100 * SHARES).shares, SHARES.to_numpy().T)
    assert shares.take(np.array([1])).label.tolist() == [1]


def test_sites_of_a_community_are_drawn_alike() -> None:
    sample = make(pd.DataFrame({"s": [1, 0, 1, np.nan]}), CommunitySample)
    assert sample.label is None
    assert sample.take(np.array([2, 1])).target["s"].tolist() == [1, 0]
