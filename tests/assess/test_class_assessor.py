"""Class models are assessed as species are: folds, searches, null models, jackknife; each by its definition."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sdm.assess.class_assessor import CLASSES, targets_of
from sdm.assess.importance import jackknife
from sdm.assess.measures.classes import measure_classes
from sdm.assess.null_models import null_models
from sdm.assess.splits.folds import by_group
from sdm.assess.splits.methods import bootstrap, leave_one_out, random_folds
from sdm.assess.tuning import search_settings, setting_grid
from sdm.assess.validation import cross_validate
from sdm.data.site_sample import ClassSample
from sdm.errors import DataError, OptionError
from sdm.estimators.classes import ConditionalMaxent

ESTIMATOR = ConditionalMaxent("lq", "l1", 0.3)


def make_sample(kind: str = "classes", n: int = 90, seed: int = 1) -> ClassSample:
    """Classes that follow `heat` and `soil`, and know nothing of `noise`."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 10, (2, n))
    soil = rng.integers(1, 4, n).astype(float)
    heat = x / 10 + rng.normal(0, 0.15, n)
    values = np.column_stack([heat, rng.normal(size=n), soil])
    score = 6 * (heat - 0.5) + np.where(soil == 2, 1.5, 0.0)
    target: object = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    if kind == "classes":
        target = np.array(["bog", "fen", "wood"])[np.digitize(score + rng.normal(0, 1, n), [-1, 1.5])]
    elif kind == "proportions":
        share = 1 / (1 + np.exp(-score))
        target = pd.DataFrame({"open": 1 - share, "wood": share})
    return ClassSample("demo", ("heat", "noise", "soil"), ("soil",), values, target, x, y, np.arange(n))


def refit(sample: ClassSample, rows: np.ndarray, columns: tuple[int, ...] = (0, 1, 2)) -> ConditionalMaxent:
    """Fit by the estimator alone."""
    names = [sample.names[v] for v in columns]
    model = ConditionalMaxent("lq", "l1", 0.3, categorical=[name for name in ("soil",) if name in names])
    target = sample.target.iloc[rows] if hasattr(sample.target, "iloc") else sample.target[rows]
    return model.fit(pd.DataFrame(sample.values[rows][:, columns], columns=names), target)


def slow_auc(p: np.ndarray, inside: np.ndarray) -> float:
    if inside.all() or not inside.any():
        return float("nan")
    pairs = p[inside][:, None] - p[~inside][None, :]
    return float(np.mean((pairs > 0) + 0.5 * (pairs == 0)))


def slow_tss(p: np.ndarray, inside: np.ndarray, cutoff: float) -> float:
    return float(np.mean(p[inside] >= cutoff) - np.mean(p[~inside] >= cutoff))


def slow_cutoff(p: np.ndarray, inside: np.ndarray) -> float:
    return max(np.unique(p).tolist(), key=lambda level: (round(slow_tss(p, inside, level), 12), -level))


@pytest.mark.parametrize("kind", ["classes", "presence", "proportions"])
def test_a_fold_is_measured_by_the_definitions(kind: str) -> None:
    sample = make_sample(kind)
    split = random_folds(90, 3, noun="sites")
    result = cross_validate(sample, ESTIMATOR, split, assessor=CLASSES, keep_models=True)
    for fold, row, remaining in zip(split.folds, result.rows, result.models, strict=True):
        model = refit(sample, fold.train).model_
        assert remaining.to_bytes() == model.to_bytes()
        at = list(model.classes)
        if kind == "proportions":
            y = sample.target.to_numpy().T
        else:
            y = np.array([[float(label == name) for label in sample.target] for name in at])
        p = model.predict_proba(sample.values).T
        shares = y[:, fold.train].mean(axis=1)
        held_out, known = p[:, fold.test], p[:, fold.train]
        truth, seen = y[:, fold.test], y[:, fold.train]
        assert row["loss.val"] == pytest.approx(-np.mean(np.sum(truth * np.log(held_out), axis=0)))
        assert row["loss.const.val"] == pytest.approx(-np.mean(np.sum(truth * np.log(shares)[:, None], axis=0)))
        hit = truth[held_out.argmax(axis=0), np.arange(held_out.shape[1])]
        assert row["accuracy.val"] == pytest.approx(hit.mean())
        counted = [1] if kind == "presence" else range(len(at))
        assert row["auc.val"] == pytest.approx(np.nanmean([slow_auc(held_out[c], truth[c] >= 0.5) for c in counted]))
        assert row["auc.train"] == pytest.approx(np.nanmean([slow_auc(known[c], seen[c] >= 0.5) for c in counted]))
        assert row["auc.diff"] == pytest.approx(row["auc.train"] - row["auc.val"])
        cutoffs = {c: slow_cutoff(known[c], seen[c] >= 0.5) for c in counted}
        expected = [slow_tss(held_out[c], truth[c] >= 0.5, cutoffs[c]) for c in counted]
        assert row["tss.val"] == pytest.approx(np.nanmean(expected))
        best = [slow_tss(known[c], seen[c] >= 0.5, cutoffs[c]) for c in counted]
        assert row["tss.train"] == pytest.approx(np.nanmean(best))
        assert (row["training_sites"], row["test_sites"], row["status"]) == (60, 30, "converged")
        assert row["ncoef"] == np.count_nonzero(model.weights) / (2 if len(at) == 2 else 1)
    for name in CLASSES.averaged:
        values = [row[name] for row in result.rows]
        assert result.mean[f"{name}.avg"] == pytest.approx(np.mean(values))
        assert result.mean[f"{name}.sd"] == pytest.approx(np.std(values, ddof=1))


def test_predictions_out_of_fold_are_those_of_the_model_that_did_not_know_the_site() -> None:
    """The run's cross-validation measures all held-out sites together, beside the folds' constant models."""
    sample, split = make_sample(), random_folds(90, 3, seed=4)
    result = cross_validate(sample, ESTIMATOR, split, assessor=CLASSES)
    assert result.models == []
    out = result.out_of_fold
    assert out is not None
    assert out.held_out.all()
    for fold in split.folds:
        model = refit(sample, fold.train).model_
        np.testing.assert_array_equal(out.p[:, fold.test], model.distributions(sample.values[fold.test]))
        shares = [np.mean(sample.target[fold.train] == name) for name in model.classes]
        np.testing.assert_allclose(out.constant[:, fold.test].T, [shares] * 30)
    np.testing.assert_array_equal(out.targets, targets_of(sample, ["bog", "fen", "wood"]))
    full = measure_classes(out.p, out.targets, out.constant)
    assert full.log_loss == pytest.approx(result.mean["loss.val.avg"])
    assert full.constant == pytest.approx(result.mean["loss.const.val.avg"])


def test_replicates_average_what_is_predicted_of_a_site() -> None:
    sample, split = make_sample("presence"), bootstrap(90, 3, seed=2)
    out = cross_validate(sample, ESTIMATOR, split, assessor=CLASSES).out_of_fold
    models = [refit(sample, fold.train).model_ for fold in split.folds]
    for site in range(90):
        own = [m.distributions(sample.values[[site]])[:, 0] for m, f in zip(models, split.folds) if site in f.test]
        if own:
            np.testing.assert_allclose(out.p[:, site], np.mean(own, axis=0), rtol=1e-12)
        else:
            assert np.isnan(out.p[:, site]).all()
    assert 0 < out.held_out.sum() < 90


def test_sites_held_out_one_at_a_time_are_measured_together() -> None:
    """One site has no AUC, TSS or κ: without pooling leave-one-out would say nothing of them."""
    sample = make_sample("presence", 24)
    result = cross_validate(sample, ESTIMATOR, leave_one_out(24), assessor=CLASSES)
    assert all(np.isnan(row["auc.val"]) for row in result.rows)
    p, calls = np.empty(24), np.empty(24)
    for i in range(24):
        rest = np.delete(np.arange(24), i)
        model = refit(sample, rest).model_
        p[i] = model.predict_proba(sample.values[[i]])[0, 1]
        known = model.predict_proba(sample.values[rest])[:, 1]
        calls[i] = p[i] >= slow_cutoff(known, sample.target[rest] == 1)
    here = sample.target == 1
    assert result.mean["auc.val.avg"] == pytest.approx(slow_auc(p, here))
    assert result.mean["tss.val.avg"] == pytest.approx(calls[here].mean() - calls[~here].mean())
    targets = np.array([~here, here]).astype(float)
    assert result.mean["kappa.val.avg"] == pytest.approx(measure_classes(np.array([1 - p, p]), targets).kappa)
    assert np.isnan(result.mean["auc.val.sd"])
    assert result.mean["loss.val.avg"] == pytest.approx(-np.mean(np.log(np.where(here, p, 1 - p))))


def test_visits_and_other_processes_change_nothing() -> None:
    sample, split = make_sample("presence"), random_folds(90, 3)
    here = cross_validate(sample, ESTIMATOR, split, assessor=CLASSES)
    with ProcessPoolExecutor(1) as pool:
        there = cross_validate(sample, ESTIMATOR, split, assessor=CLASSES, executor=pool)
    assert there.rows == here.rows
    seen: list[np.ndarray] = []

    class Watched(ConditionalMaxent):
        def fit(self, X, y, sample_weight=None, *, groups=None, progress=None):
            seen.append(groups)
            return super().fit(X, y, sample_weight, groups=groups, progress=progress)

    visits = replace(sample, group=np.arange(90) // 2)
    CLASSES.fit(visits.take(np.array([0, 1, 5, 7, 8, 40, 41, 60])), Watched("l", "l1", 1.0))
    assert seen[0].tolist() == [0, 0, 2, 3, 4, 20, 20, 30], "penalties are chosen with visits together"


def test_settings_of_classes_are_tuned_by_held_out_loss() -> None:
    sample, split = make_sample(), random_folds(90, 3)
    settings = setting_grid(features=["l", "lq"], multiplier=[0.1, 100.0])
    result = search_settings(sample, settings, split, base=ConditionalMaxent(regularization="l1"), assessor=CLASSES)
    for setting, row in zip(settings, result.rows, strict=True):
        one = ConditionalMaxent(regularization="l1", **setting)
        alone = cross_validate(sample, one, split, assessor=CLASSES)
        for name in ("loss.val", "auc.val", "tss.val", "accuracy.val", "kappa.val", "loss.const.val"):
            assert row[f"{name}.avg"] == pytest.approx(alone.mean[f"{name}.avg"], nan_ok=True)
        full = CLASSES.fit(sample, one).model_
        own = full.predict_proba(sample.values)[np.arange(90), sample.label]
        k = np.count_nonzero(full.weights) + 2
        assert row["AICc"] == pytest.approx(2 * k - 2 * np.log(own).sum() + 2 * k * (k + 1) / (90 - k - 1))
        constant = -np.sum(np.bincount(sample.label) / 90 * np.log(np.bincount(sample.label) / 90))
        assert row["gain"] == pytest.approx(constant + np.log(own).mean())
    best = result.best("loss.val.avg")
    assert result.rows[best]["loss.val.avg"] == min(row["loss.val.avg"] for row in result.rows)
    assert result.rows[best]["multiplier"] == 0.1
    assert result.best("kappa.val.avg") == int(np.nanargmax([row["kappa.val.avg"] for row in result.rows]))
    assert result.rows[result.best("loss.val.avg", "one_se")]["ncoef"] <= result.rows[best]["ncoef"]
    with pytest.raises(OptionError, match=r"by='cbi.val.avg': expected a measure such as auc.val.avg"):
        result.best("cbi.val.avg")
    with pytest.raises(OptionError, match="has no parameter 'families'"):
        search_settings(sample, [{"families": "l"}], split, base=ConditionalMaxent(), assessor=CLASSES)


@pytest.mark.parametrize("setting", [{"entropy": 1.5}, {"regularization": "elastic"}, {"beta": 0.01}])
def test_every_option_of_a_class_model_can_be_tuned(setting) -> None:
    sample = make_sample("presence", 40)
    (row,) = search_settings(sample, [setting], random_folds(40, 2), base=ESTIMATOR, assessor=CLASSES).rows
    params = {**ESTIMATOR.get_params(), **setting}
    one = cross_validate(sample, ConditionalMaxent(**params), random_folds(40, 2), assessor=CLASSES)
    assert row["loss.val.avg"] == pytest.approx(one.mean["loss.val.avg"])


@pytest.mark.thorough
def test_penalties_of_trees_are_tuned() -> None:
    sample = make_sample("presence", 40)
    base = ConditionalMaxent("l,trees:2", multiplier=1.0, tolerance=1e-3)
    rows = search_settings(
        sample, setting_grid(lam=[0.02, 1.0], beta=[0.02]), random_folds(40, 2), base=base, assessor=CLASSES
    ).rows
    assert rows[0]["ncoef"] > rows[1]["ncoef"], "strong penalties leave trees out"


def test_criteria_that_classes_do_not_have_say_why() -> None:
    shares = make_sample("proportions", 40)
    row = CLASSES.measure_training(CLASSES.fit(shares, ESTIMATOR), shares)
    assert np.isnan(row["AICc"])
    assert "proportions have no likelihood" in row["AICc.reason"]
    few = make_sample("presence", 12)
    row = CLASSES.measure_training(CLASSES.fit(few, ConditionalMaxent("t", "l2sq", 1.0, knots="all")), few)
    assert "coefficients for 12 sites" in row["AICc.reason"]


def test_null_models_permute_the_classes_of_the_training_sites() -> None:
    sample, split = make_sample("presence"), random_folds(90, 3)
    rng = np.random.default_rng(5)
    draw = CLASSES.draw(sample, rng)
    for fold in split.folds:
        train = CLASSES.randomise(sample, fold, draw)
        np.testing.assert_array_equal(train.values, sample.values[fold.train])
        assert sorted(train.target) == sorted(sample.target[fold.train])
        assert (train.target != sample.target[fold.train]).any()
    result = null_models(sample, ESTIMATOR, split, assessor=CLASSES, iterations=8, seed=5)
    real = cross_validate(sample, ESTIMATOR, split, assessor=CLASSES).mean
    by = {test["measure"]: test for test in result.tests}
    assert set(by) == set(CLASSES.higher) - {"auc.train", "tss.train"}
    losses = []
    for k, fold in enumerate(split.folds):
        order = np.argsort(draw[fold.train], kind="stable")
        shuffled = replace(sample, target=sample.target.copy())
        shuffled.target[fold.train] = sample.target[fold.train][order]
        p = refit(shuffled, fold.train).model_.predict_proba(sample.values[fold.test])
        losses.append(-np.mean(np.log(p[np.arange(30), sample.target[fold.test]])))
        assert k < 3
    assert result.rows[0]["loss.val.avg"] == pytest.approx(np.mean(losses))
    for name in ("loss.val", "auc.val", "tss.val"):
        assert by[name]["real"] == pytest.approx(real[f"{name}.avg"])
        assert by[name]["p"] == pytest.approx(1 / 9), f"{name}: the real classes follow heat, the null ones nothing"
        assert by[name]["effect"] > 1


def test_jackknife_of_classes_has_gains_over_the_constant_model() -> None:
    sample, test = make_sample("presence"), make_sample("presence", 40, seed=2)
    rows = {(row.variable, row.kind): row for row in jackknife(sample, ESTIMATOR, test, assessor=CLASSES)}
    assert len(rows) == 7
    for (name, kind), columns in {("", "all"): (0, 1, 2), ("heat", "only"): (0,), ("soil", "without"): (0, 1)}.items():
        model = refit(sample, np.arange(90), columns).model_
        for sites, gain, score in (
            (sample, rows[name, kind].train_gain, rows[name, kind].train_auc),
            (test, rows[name, kind].test_gain, rows[name, kind].test_auc),
        ):
            p = model.predict_proba(sites.values[:, columns])[:, 1]
            here, share = sites.target == 1, np.mean(sample.target)
            constant = -np.mean(np.where(here, np.log(share), np.log(1 - share)))
            assert gain == pytest.approx(constant + np.mean(np.log(np.where(here, p, 1 - p))))
            assert score == pytest.approx(slow_auc(p, here))
    assert rows["heat", "only"].train_gain > rows["noise", "only"].train_gain + 0.05
    flat = replace(sample, values=sample.values.copy())
    flat.values[:, 1] = 3.0
    only = next(
        row for row in jackknife(flat, ESTIMATOR, assessor=CLASSES) if (row.variable, row.kind) == ("noise", "only")
    )
    assert (only.train_gain, only.train_auc) == (0.0, 0.5)
    assert np.isnan(only.test_gain)


def test_a_fold_that_cannot_be_fitted_says_which() -> None:
    sample = make_sample("presence", 20)
    group = (sample.target == 1).astype(np.int64)
    with pytest.raises(DataError, match="fold 1: there are 1 classes"):
        cross_validate(sample, ESTIMATOR, by_group("own", group, None, "full"), assessor=CLASSES)
    with pytest.raises(DataError, match="class '7' is not among the classes"):
        targets_of(replace(sample, target=np.full(20, 7)), [0, 1])
