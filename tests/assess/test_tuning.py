"""Searches: what is tried, that warm starts change nothing, and which setting each rule takes."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from sdm import Maxent, StructMaxent
from sdm.assess.assessor import PRESENCE_ONLY
from sdm.assess.splits.methods import split_table
from sdm.assess.tuning import Range, choose_row, random_settings, search_settings, setting_grid, tune_args
from sdm.assess.validation import cross_validate, validate_fold
from sdm.errors import DataError, OptionError


def test_a_grid_is_every_combination() -> None:
    built = setting_grid(features=["l", "lq", "h"], multiplier=[1, 2], entropy=[1.0, 2.0])
    assert len(built) == 12
    assert len({repr(s) for s in built}) == 12
    with pytest.raises(OptionError, match="multiplier has no value"):
        setting_grid(multiplier=[])


def test_a_random_search_keeps_to_its_space_and_budget() -> None:
    space = {"features": ["l", "lq"], "multiplier": Range(0.5, 8.0), "regularization": ["l1", "elastic"]}
    built = random_settings(40, 3, **space)
    assert len(built) == 40
    assert built == random_settings(40, 3, **space)
    assert built != random_settings(40, 4, **space)
    draws = np.array([s["multiplier"] for s in built])
    assert draws.min() >= 0.5
    assert draws.max() <= 8.0
    assert 0.3 < np.mean(draws < 2.0) < 0.7, "even in the logarithm: half are below the geometric mean"
    # no more combinations than there are
    assert len(random_settings(50, features=["l", "lq"], entropy=[1.0, 1.5])) == 4
    assert len(random_settings(50, multiplier=Range(1.0, 1.004))) == 1, "to three digits there is one number"
    with pytest.raises(OptionError, match="rising positive numbers"):
        random_settings(2, multiplier=Range(2.0, 1.0))
    with pytest.raises(OptionError, match="budget=0"):
        random_settings(0, features=["l"])


def test_the_table_of_results(small) -> None:
    """Rows are in the order of the settings, and a warm start along the multiplier leaves the same optimum."""
    split = split_table(small, "random", k=3)
    settings = setting_grid(features=["lq", "h"], multiplier=[0.5, 4.0, 1.0])
    steps: list[int] = []
    result = search_settings(
        small, settings, split, base=Maxent(), progress=lambda done, total, _: steps.append(total - done)
    )
    assert [row["tune.args"] for row in result.rows] == [tune_args(s) for s in settings]
    assert steps == list(range(8, -1, -1)), "two chains of multipliers, each on three folds and on all records"
    assert len(result.folds) == 18
    for k, setting in enumerate(settings):
        cold = [validate_fold(small, Maxent(**setting), fold)[0] for fold in split.folds]
        row = result.rows[k]
        assert row["loss.val.avg"] == pytest.approx(np.mean([c["loss.val"] for c in cold]), abs=2e-3)
        assert row["auc.val.avg"] == pytest.approx(np.mean([c["auc.val"] for c in cold]), abs=2e-3)
        mine = [f for f in result.folds if f["tune.args"] == row["tune.args"]]
        assert [f["fold"] for f in mine] == ["1", "2", "3"]
        assert row["auc.diff.avg"] == pytest.approx(np.mean([f["auc.diff"] for f in mine]))
    validated = {f"{name}.avg" for name in ("auc.val", "auc.diff", "cbi.val", "or.mtp", "or.10p")}
    assert {"auc.train", "AICc", "delta.AICc", "w.AIC", "ncoef", *validated} <= set(result.rows[0])
    assert min(row["delta.AICc"] for row in result.rows) == 0.0
    assert sum(row["w.AIC"] for row in result.rows) == pytest.approx(1.0)
    # more regularisation, fewer coefficients
    assert result.rows[1]["ncoef"] <= result.rows[2]["ncoef"] <= result.rows[0]["ncoef"]
    assert result.best("AICc") == int(np.argmin([row["AICc"] for row in result.rows]))


@pytest.mark.parametrize("method, k", [("random", 3), ("leave-one-out", None)])
def test_the_cross_validation_of_a_setting_is_known(small, method: str, k: int | None) -> None:
    table = small.take(np.arange(12))
    split = split_table(table, method, **({} if k is None else {"k": k}))
    settings = setting_grid(features=["l", "lq"], multiplier=[1.0, 2.0])
    result = search_settings(table, settings, split, base=Maxent())
    for place, setting in enumerate(settings):
        known, fitted = result.validation(place, table, PRESENCE_ONLY), cross_validate(table, Maxent(**setting), split)
        assert [list(row) for row in known.rows] == [list(row) for row in fitted.rows]
        assert list(known.mean) == list(fitted.mean)
        assert known.mean["loss.val.avg"] == result.rows[place]["loss.val.avg"]
        for row, other in zip(known.rows, fitted.rows):
            assert row["loss.val"] == pytest.approx(other["loss.val"], abs=2e-3)
            counted = [name for name, value in other.items() if isinstance(value, (str, int)) and name != "ncoef"]
            assert [row[name] for name in counted] == [other[name] for name in counted]
    assert search_settings(table, settings, None, base=Maxent()).validation(0, table, PRESENCE_ONLY) is None


def test_without_folds_only_the_whole_table_is_fitted(small) -> None:
    settings = setting_grid(features=["l", "lq"], multiplier=[0.5, 1.0])
    steps: list[int] = []
    result = search_settings(small, settings, None, base=Maxent(), progress=lambda done, total, _: steps.append(total))
    assert steps == [2, 2, 2], "two chains of multipliers, each fitted to all records"
    assert not result.folds
    assert not [name for name in result.rows[0] if name.endswith((".avg", ".sd"))]
    folded = search_settings(small, settings, split_table(small, "random", k=2), base=Maxent())
    assert result.best("AICc") == folded.best("AICc")
    for mine, other in zip(result.rows, folded.rows):
        assert mine["AICc"] == other["AICc"]
    with pytest.raises(OptionError, match=r"by='loss\.val\.avg'"):
        result.best("loss.val.avg")


def test_folds_of_one_record_are_pooled_in_a_search_too(small) -> None:
    table = small.take(np.arange(15), np.arange(200))
    split = split_table(table, "leave-one-out")
    result = search_settings(table, setting_grid(features=["lq"], multiplier=[1.0]), split, base=Maxent())
    alone = cross_validate(table, Maxent("lq"), split)
    for name in ("cbi.val.avg", "proc.val.avg", "auc.val.avg"):
        assert result.rows[0][name] == pytest.approx(alone.mean[name])
    assert np.isnan(result.rows[0]["cbi.val.sd"])


def test_processes_find_what_one_process_finds(small) -> None:
    split = split_table(small, "random", k=2)
    settings = setting_grid(features=["l", "lq"], multiplier=[2.0, 1.0])
    with ProcessPoolExecutor(1) as pool:
        together = search_settings(small, settings, split, base=Maxent(), executor=pool)
    alone = search_settings(small, settings, split, base=Maxent())
    assert together.folds == alone.folds
    assert together.rows == alone.rows


def test_every_entropy_penalty_and_family_can_be_tried(small) -> None:
    split = split_table(small, "random", k=2)
    settings = [
        *setting_grid(
            features=["lq"], regularization=["l1", "elastic", "l2sq", "smoothed_l1", "l2"], entropy=[1.0, 1.5]
        ),
    ]
    plain = search_settings(small, settings, split, base=Maxent())
    trees = search_settings(
        small, setting_grid(families=["l,trees:2"], lam=[0.1], beta=[0.05, 0.2]), split, base=StructMaxent()
    )
    rows = [*plain.rows, *trees.rows]
    assert all(np.isfinite(row["loss.val.avg"]) for row in rows)
    assert len({round(row["loss.val.avg"], 6) for row in rows}) > 8, "they are different models"
    assert rows[-1]["ncoef"] <= rows[-2]["ncoef"], "the dearer trees are fewer"


def rows(**columns: list[float]) -> list[dict[str, float]]:
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


def test_choices_by_hand() -> None:
    table = rows(
        **{
            "loss.val.avg": [5.0, 4.0, 4.1, 4.3],
            "loss.val.sd": [0.4, 0.4, 0.4, 0.4],
            "auc.val.avg": [0.7, 0.8, 0.9, 0.85],
            "or.10p.avg": [0.1, 0.2, 0.1, 0.3],
            "AICc": [100.0, float("nan"), 90.0, 95.0],
            "ncoef": [2, 30, 9, 5],
        }
    )
    assert choose_row(table, "loss.val.avg") == 1
    assert choose_row(table, "auc.val.avg") == 2
    assert choose_row(table, "AICc") == 2
    assert choose_row(table, ("or.10p.avg", "auc.val.avg")) == 2
    # a standard error of 0.4/√4 = 0.2 reaches to 4.2: the third has fewer coefficients; with one fold, to 4.4
    assert choose_row(table, "loss.val.avg", "one_se", folds=4) == 2
    assert choose_row(table, "loss.val.avg", "one_se", folds=1) == 3
    with pytest.raises(OptionError, match="expected a measure such as"):
        choose_row(table, "beauty")
    with pytest.raises(OptionError, match="rule='first'"):
        choose_row(table, "AICc", "first")
    with pytest.raises(OptionError, match="needs an average over folds"):
        choose_row(table, "AICc", "one_se")
    undefined = [{"AICc": float("nan"), "AICc.reason": "9 coefficients for 5 presences", "ncoef": 9}]
    with pytest.raises(DataError, match="9 coefficients for 5 presences; choose by another measure"):
        choose_row(undefined, "AICc")


def test_mistakes_are_said_before_any_work(small) -> None:
    split = split_table(small, "random", k=2)
    with pytest.raises(OptionError, match="no parameter 'rm'"):
        search_settings(small, [{"rm": 1.0}], split, base=Maxent())
    with pytest.raises(OptionError, match="no setting to try"):
        search_settings(small, [], split, base=Maxent())


def test_settings_have_names() -> None:
    assert tune_args({"features": "lqh", "multiplier": 1.5}) == "fc.LQH_rm.1.5"
    assert tune_args({"families": "l,trees:2", "lam": 0.1}) == "families.l,trees:2_lam.0.1"
