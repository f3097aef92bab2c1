"""Spread over replicates: numpy's own figures, window by window, with missing cells kept missing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdm import Maxent
from sdm.assess.fits import fit_table
from sdm.assess.splits.methods import split_table
from sdm.assess.uncertainty import predict_spread, summarise
from sdm.errors import OptionError

stacks = st.integers(2, 7).flatmap(lambda r: arrays(np.float64, (r, 4, 3), elements=st.floats(-5, 5)))


@given(stacks)
def test_statistics_are_numpys(stack) -> None:
    result = summarise(list(stack))
    assert result.mean == pytest.approx(stack.mean(axis=0), abs=1e-12)
    assert result.sd == pytest.approx(stack.std(axis=0, ddof=1), abs=1e-12)
    assert result.lower == pytest.approx(np.quantile(stack, 0.05, axis=0), abs=1e-12)
    assert result.upper == pytest.approx(np.quantile(stack, 0.95, axis=0), abs=1e-12)


def test_a_cell_that_one_replicate_does_not_know_is_missing() -> None:
    result = summarise([np.array([1.0, np.nan, 3.0], dtype=np.float32), np.array([2.0, 2.0, 5.0], dtype=np.float32)])
    for part in (result.mean, result.sd, result.lower, result.upper):
        assert np.isnan(part).tolist() == [False, True, False]
    assert result.mean[[0, 2]] == pytest.approx([1.5, 4.0])


def test_windows_together_are_the_whole(small) -> None:
    split = split_table(small, "bootstrap", replicates=3)
    models = [fit_table(fold.training(small), Maxent("lq")).model_ for fold in split.folds]
    full = predict_spread(models, list(small.background.T))
    parts = [predict_spread(models, list(part.T)) for part in np.array_split(small.background, 4)]
    for name in ("mean", "sd", "lower", "upper"):
        assert np.concatenate([getattr(part, name) for part in parts]) == pytest.approx(getattr(full, name))
    each = np.array([model.predict(small.background) for model in models])
    assert full.lower == pytest.approx(np.quantile(each, 0.05, axis=0))
    assert full.upper == pytest.approx(np.quantile(each, 0.95, axis=0))
    assert np.all(full.sd > 0)


def test_what_has_no_spread_is_said() -> None:
    with pytest.raises(OptionError, match="at least 2 replicates, got 1"):
        summarise([np.zeros(3)])
