"""Held-out measures: each is what its name says, on the records and the background that the fold gives."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from sdm import Maxent
from sdm.assess.assessor import PRESENCE_ONLY, averages
from sdm.assess.fits import fit_table, run_all
from sdm.assess.measures.basic import auc, boyce, partial_roc_ratio
from sdm.assess.measures.presence_only import HIGHER, hold_out, measure_presences
from sdm.assess.splits.methods import METHODS, labelled_folds, split_table
from sdm.assess.validation import cross_validate, validate_fold
from sdm.errors import OptionError


def test_a_table_is_fitted_as_its_rows_are(classed) -> None:
    fitted = fit_table(classed, Maxent("lq"))
    x = pd.DataFrame(np.vstack([classed.presence, classed.background]), columns=classed.names)
    y = np.repeat([1, 0], [classed.n_presences, classed.n_background])
    direct = Maxent("lq", categorical=["soil"]).fit(x, y)
    assert fitted.solution_.objective == pytest.approx(direct.solution_.objective)
    subset = fit_table(classed, Maxent("lq"), [0, 3])
    assert subset.model_.names == ("warmth", "soil")
    assert [v.categorical for v in subset.model_.variables] == [False, True]
    rng = np.random.default_rng(1)
    weights = rng.random(classed.n_background) + 0.5
    own = rng.random(classed.n_presences) + 0.5
    weighted = fit_table(replace(classed, weights=weights, presence_weights=own), Maxent("lq"))
    direct = Maxent("lq", categorical=["soil"]).fit(x, y, np.concatenate([own, weights]))
    assert weighted.solution_.objective == pytest.approx(direct.solution_.objective)
    base_only = fit_table(replace(classed, weights=weights), Maxent("lq"))
    assert base_only.solution_.objective != pytest.approx(weighted.solution_.objective)


def test_settings_change_a_copy() -> None:
    base = Maxent("lq", multiplier=3.0, entropy=1.5)
    built = base.changed(features="h", regularization="elastic")
    assert (built.features, built.multiplier, built.entropy, built.regularization) == ("h", 3.0, 1.5, "elastic")
    assert base.features == "lq"
    with pytest.raises(OptionError, match="no parameter 'colour'"):
        base.changed(colour=1)


def slow(k: int, seconds: float) -> int:
    import time

    time.sleep(seconds)
    return k * k


def test_results_come_in_order_whoever_computes_them() -> None:
    seen: list[tuple[int, int]] = []
    jobs = [(k, 0.02 * (5 - k)) for k in range(5)]
    assert run_all(slow, jobs) == [0, 1, 4, 9, 16]
    with ThreadPoolExecutor(5) as threads:
        assert run_all(slow, jobs, threads, lambda a, b, _: seen.append((a, b))) == [0, 1, 4, 9, 16]
    assert seen == [(k, 5) for k in range(6)]


@pytest.mark.parametrize("method", ["random", "block", "environment"])
def test_a_fold_is_measured_by_the_definitions(small, method: str) -> None:
    options = {"random": {"k": 4}, "block": {"size": 2.5, "k": 4, "background": "partition"}}
    split = split_table(small, method, **options.get(method, {"k": 4, "background": "partition"}))
    fold = split.folds[1]
    measured, alone, _ = validate_fold(small, Maxent("lq"), fold)
    assert alone is None, "several records are measured by themselves"
    row = cross_validate(small, Maxent("lq"), split).rows[1]
    assert measured.items() <= row.items()
    train, test = fold.training(small), fold.testing(small)
    model = fit_table(train, Maxent("lq")).model_
    raw, held_out = model.predict(train.presence, "raw"), model.predict(test.presence, "raw")
    around, against = model.predict(train.background, "raw"), model.predict(test.background, "raw")
    assert row["auc.train"] == pytest.approx(auc(raw, around))
    assert row["auc.val"] == pytest.approx(auc(held_out, against))
    assert row["auc.diff"] == pytest.approx(row["auc.train"] - row["auc.val"])
    assert row["or.mtp"] == pytest.approx(np.mean(held_out < raw.min()))
    assert row["or.10p"] == pytest.approx(np.mean(held_out < np.sort(raw)[raw.size // 10]))
    density = held_out / against.sum()
    assert row["loss.val"] == pytest.approx(-np.mean(np.log(density)))
    assert row["gain.val"] == pytest.approx(np.log(against.size) - row["loss.val"])
    assert row["proc.val"] == pytest.approx(partial_roc_ratio(held_out, against))
    cloglog = [model.predict(part, "cloglog") for part in (test.presence, test.background)]
    assert row["cbi.val"] == pytest.approx(boyce(*cloglog).index)
    assert row["test_presences"] + row["training_presences"] == small.n_presences
    assert row["loss.const.val"] == pytest.approx(np.log(against.size))
    levels = np.unique(np.concatenate([raw, around]))
    skill = [np.mean(raw >= level) - np.mean(around >= level) for level in levels]
    cutoff = levels[int(np.argmax(skill))]
    assert row["tss.val"] == pytest.approx(np.mean(held_out >= cutoff) - np.mean(against >= cutoff))
    assert list(row)[-2:] == ["tss.val", "loss.const.val"], "after the columns of earlier versions"
    assert set(HIGHER) <= set(row)


def test_a_density_of_zero_does_not_make_the_loss_infinite(small) -> None:
    model = fit_table(small, Maxent("lq", entropy=2.0, multiplier=0.1)).model_
    far = np.flatnonzero(model.predict(small.background, "raw") == 0)[:3]
    assert far.size, "sparsemax puts cells at exactly zero"
    test = replace(small, presence=small.background[far])
    row = measure_presences(model, small, test)
    assert row["gain.val"] == pytest.approx(np.log(1e-3))


def test_the_whole_fit_has_its_criterion_or_a_reason(small) -> None:
    few = PRESENCE_ONLY.measure_training(fit_table(small, Maxent("lq")), small)
    assert few["AICc"] > 0
    assert few["AICc.reason"] == ""
    assert few["status"] == "converged"
    many = PRESENCE_ONLY.measure_training(fit_table(small, Maxent("t", multiplier=0.02)), small)
    assert many["ncoef"] >= small.n_presences - 1
    assert np.isnan(many["AICc"])
    assert "coefficients for 80 presences" in many["AICc.reason"]


def test_averages_leave_out_what_is_undefined() -> None:
    rows = [{"cbi.val": 0.5}, {"cbi.val": float("nan")}, {"cbi.val": 0.7}]
    assert averages(rows, ["cbi.val"]) == pytest.approx({"cbi.val.avg": 0.6, "cbi.val.sd": np.sqrt(0.02)})
    assert np.isnan(averages(rows[1:2], ["cbi.val"])["cbi.val.avg"])
    endless = averages([{"loss.val": np.inf}, {"loss.val": 1.0}], ["loss.val"])
    assert endless["loss.val.avg"] == np.inf
    assert np.isnan(endless["loss.val.sd"])


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("leave-one-out", {}),
        ("buffer", {"radius": 1.0}),
        ("buffer", {"radius": 2.0, "background": "partition"}),
    ],
)
def test_folds_of_one_record_are_pooled_where_an_average_means_nothing(small, method: str, options: dict) -> None:
    """Boyce: window by window, records against the mean of their folds' backgrounds. Partial ROC: by ranks."""
    table = small.take(np.arange(25), np.arange(300))
    result = cross_validate(table, Maxent("lq"), split_table(table, method, **options))
    assert all(np.isnan(row["cbi.val"]) and np.isnan(row["proc.val"]) for row in result.rows)
    held_out, around = [], []
    for fold in result.split.folds:
        model = fit_table(fold.training(table), Maxent("lq")).model_
        test = fold.testing(table)
        held_out.append(float(model.predict(test.presence)[0]))
        around.append(model.predict(test.background))
    everything = np.concatenate([held_out, *around])
    wide = 0.1 * np.ptp(np.concatenate(around))
    low, high = everything.min(), everything.max()
    place, ratio = [], []
    for k in range(101):
        left = low + k / 100 * (high - wide - low)
        right = high if k == 100 else left + wide
        p = np.mean([left <= value <= right for value in held_out])
        e = np.mean([np.mean((part >= left) & (part <= right)) for part in around])
        if p > 0 or e > 0:
            place.append(left)
            ratio.append(round(p / e, 10) if e > 0 else np.inf)
    last = [k for k in range(len(ratio)) if k + 1 == len(ratio) or ratio[k] != ratio[k + 1]]
    expected = spearmanr([ratio[k] for k in last], [place[k] for k in last]).statistic
    assert result.mean["cbi.val.avg"] == pytest.approx(expected, abs=0.02)
    if "background" not in options:
        assert result.mean["cbi.val.avg"] > 0.4, "the model is good, and its index says so"
    ranks = np.array([np.mean(part < value) + 0.5 * np.mean(part == value) for value, part in zip(held_out, around)])
    fine = (np.arange(max(map(len, around))) + 0.5) / max(map(len, around))
    assert result.mean["proc.val.avg"] == pytest.approx(partial_roc_ratio(ranks, fine))
    assert 1 < result.mean["proc.val.avg"] < 2
    # What is a mean over records stays one.
    assert result.mean["auc.val.avg"] == pytest.approx(ranks.mean())
    assert result.mean["or.10p.avg"] == pytest.approx(np.mean([row["or.10p"] for row in result.rows]))


def test_random_records_have_no_pooled_skill(small) -> None:
    """The average over single records would say 1.39 for the partial ROC of records that fall by chance."""
    rng = np.random.default_rng(7)
    drawn = rng.choice(small.n_background, 40, replace=False)
    table = replace(
        small.take(np.arange(40)),
        presence=small.background[drawn],
        presence_x=small.background_x[drawn],
        presence_y=small.background_y[drawn],
    )
    split = split_table(table, "leave-one-out")
    result = cross_validate(table, Maxent("lq", multiplier=0.5), split)
    single = []
    for fold in split.folds:
        model = fit_table(fold.training(table), Maxent("lq", multiplier=0.5)).model_
        held_out, around = (model.predict(part, "raw") for part in (table.presence[fold.test], table.background))
        single.append(partial_roc_ratio(held_out, around))
    assert np.mean(single) > 1.3
    assert result.mean["proc.val.avg"] < 1.15
    assert result.mean["cbi.val.avg"] < 0.5


def test_a_fold_of_one_record_among_larger_ones_is_left_out(small) -> None:
    table = small.take(np.arange(21), np.arange(200))
    result = cross_validate(table, Maxent("lq"), labelled_folds(np.repeat([0, 1, 2], [10, 10, 1])))
    assert np.isnan(result.rows[2]["cbi.val"])
    assert result.mean["cbi.val.avg"] == pytest.approx(np.mean([row["cbi.val"] for row in result.rows[:2]]))


def test_large_backgrounds_are_thinned_before_they_are_pooled(small, monkeypatch) -> None:
    table = small.take(np.arange(12), np.arange(400))
    split = split_table(table, "leave-one-out")
    full = cross_validate(table, Maxent("lq"), split)
    monkeypatch.setattr("sdm.assess.measures.presence_only.POOLED_BACKGROUND", 200)
    assert cross_validate(table, Maxent("lq"), split).mean["cbi.val.avg"] == pytest.approx(
        full.mean["cbi.val.avg"], abs=0.1
    )


def test_folds_that_start_from_the_model_of_all_records_find_the_same_sooner(small, monkeypatch) -> None:
    split, base = split_table(small, "random", k=3), Maxent("lqh")
    rounds: list[int] = []
    plain = Maxent.fit

    def counted(self, *args, **options):
        rounds.append(plain(self, *args, **options).solution_.iterations)
        return self

    full = fit_table(small, base).model_
    monkeypatch.setattr(Maxent, "fit", counted)
    alone = cross_validate(small, base, split)
    started = cross_validate(small, base, split, start=full)
    assert sum(rounds[3:]) < sum(rounds[:3])
    for one, other in zip(alone.rows, started.rows):
        result = [{key: value for key, value in row.items() if isinstance(value, float)} for row in (one, other)]
        assert len(result[0]) > 5
        assert result[0] == pytest.approx(result[1], rel=1e-3, abs=1e-5, nan_ok=True)
    with ProcessPoolExecutor(1) as pool:
        assert cross_validate(small, base, split, start=full, executor=pool).rows == started.rows


@pytest.mark.parametrize("ways", [{"max_iterations": 2}, {"solver": "summet", "max_iterations": 20}])
def test_a_fit_that_ends_before_its_optimum_knows_nothing_of_its_test_records(small, ways) -> None:
    """It would keep some of what the model of all records knows of them."""
    split = split_table(small, "random", k=3)
    full = fit_table(small, Maxent("lqh")).model_
    base = Maxent("lqh", **ways)
    assert cross_validate(small, base, split, start=full).rows == cross_validate(small, base, split).rows


def test_processes_give_what_one_process_gives(small) -> None:
    split = split_table(small, "random", k=3)
    alone = cross_validate(small, Maxent("lq"), split)
    with ProcessPoolExecutor(1) as pool:
        together = cross_validate(small, Maxent("lq"), split, executor=pool)
        remaining = cross_validate(small, Maxent("lq"), split, executor=pool, keep_models=True)
    assert together.rows == alone.rows == remaining.rows
    assert alone.models == []
    for fold, model, row in zip(split.folds, remaining.models, remaining.rows):
        held_out = model.predict(small.presence[fold.test], "raw")
        assert auc(held_out, model.predict(small.background, "raw")) == pytest.approx(row["auc.val"])
    assert alone.mean["auc.val.avg"] == pytest.approx(np.mean([row["auc.val"] for row in alone.rows]))
    assert alone.mean["auc.val.avg"] > 0.75


OPTIONS = {
    "random": {"k": 3},
    "leave-one-out": {},
    "block": {"size": 2.5, "k": 3, "background": "partition"},
    "equal-blocks": {"background": "partition"},
    "checkerboard": {"origin": (0.0, 10.0), "cell": 0.5, "aggregation": (2, 2), "background": "partition"},
    "buffer": {"radius": 1.0},
    "environment": {"k": 3},
    "own": {"labels": np.arange(30) % 3},
    "bootstrap": {"replicates": 3},
    "subsample": {"replicates": 3},
}


@pytest.mark.parametrize("method", METHODS)
def test_every_split_can_be_measured_on(classed, method: str) -> None:
    table = classed.take(np.arange(30), np.arange(300))
    result = cross_validate(table, Maxent("lq"), split_table(table, method, **OPTIONS[method]))
    assert len(result.rows) == len(result.split.folds)
    assert 0.6 < result.mean["auc.val.avg"] < 1
    assert np.isfinite(result.mean["loss.val.avg"])
    assert all(row["status"] == "converged" for row in result.rows)


def test_the_background_that_is_pooled_has_the_quantiles_of_all_of_it(small, monkeypatch) -> None:
    """A part of the background in the order of the file would be one region."""
    monkeypatch.setattr("sdm.assess.measures.presence_only.POOLED_BACKGROUND", 11)
    model = fit_table(small, Maxent("lq")).model_
    order = np.argsort(model.predict(small.background))
    shuffled = small.take(np.arange(1), np.concatenate([order[::2], order[1::2][::-1]]))
    held_out = hold_out(model, shuffled)
    assert held_out is not None
    values = model.predict(shuffled.background)
    quantiles = np.quantile(values, np.linspace(0, 1, 11), method="nearest")
    np.testing.assert_allclose(held_out.background, quantiles, atol=0.02)
    assert held_out.presence == model.predict(shuffled.presence)[0]
    assert hold_out(model, small) is None
