"""Null models: a real niche stands out, records at random do not, and the figures are those of their definition."""

from dataclasses import replace

import numpy as np
import pytest

from sdm import Maxent
from sdm.assess.null_models import null_models
from sdm.assess.splits.methods import split_table
from sdm.assess.validation import cross_validate
from sdm.errors import DataError, OptionError


def test_a_real_niche_stands_out(small) -> None:
    split = split_table(small, "random", k=3)
    result = null_models(small, Maxent("lq"), split, iterations=20, seed=1)
    by = {test["measure"]: test for test in result.tests}
    real = cross_validate(small, Maxent("lq"), split).mean
    for name in ("auc.val", "loss.val", "gain.val", "or.10p"):
        assert by[name]["real"] == pytest.approx(real[f"{name}.avg"])
    assert by["auc.val"]["effect"] > 2
    assert by["auc.val"]["p"] == pytest.approx(1 / 21)
    assert by["loss.val"]["effect"] > 2, "less is better, so the sign is turned"
    values = np.array([row["auc.val.avg"] for row in result.rows])
    assert values.size == 20
    assert by["auc.val"]["null_mean"] == pytest.approx(values.mean())
    assert by["auc.val"]["null_sd"] == pytest.approx(values.std(ddof=1))
    assert by["auc.val"]["effect"] == pytest.approx((real["auc.val.avg"] - values.mean()) / values.std(ddof=1))
    assert abs(values.mean() - 0.5) < 0.15, "null models know nothing of the species"
    assert result.tests == null_models(small, Maxent("lq"), split, iterations=20, seed=1).tests


def test_records_at_random_do_not_stand_out(small) -> None:
    values, x, y = small.background[:60], small.background_x[:60], small.background_y[:60]
    random = replace(small, presence=values, presence_x=x, presence_y=y)
    result = null_models(random, Maxent("lq"), split_table(random, "random", k=3), iterations=20)
    by = {test["measure"]: test for test in result.tests}
    assert by["auc.val"]["p"] > 0.1
    assert abs(by["auc.val"]["effect"]) < 2.5


def test_weights_and_divided_background_are_kept(small) -> None:
    rng = np.random.default_rng(0)
    weighted = replace(small, weights=rng.random(500) + 0.2, presence_weights=rng.random(80) + 0.2)
    split = split_table(weighted, "block", size=2.5, k=3, background="partition")
    result = null_models(weighted, Maxent("l"), split, iterations=3)
    assert len(result.rows) == 3
    assert all(np.isfinite(row["loss.val.avg"]) for row in result.rows)


def test_what_cannot_be_tested_is_said(small) -> None:
    split = split_table(small, "random", k=3)
    with pytest.raises(OptionError, match="iterations=1"):
        null_models(small, Maxent("l"), split, iterations=1)
    few = small.take(np.arange(80), np.arange(40))
    with pytest.raises(DataError, match="40 background points are too few for 80"):
        null_models(few, Maxent("l"), split)
