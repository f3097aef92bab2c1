"""Thresholds: a worked example, Java Maxent's own figures, and what must hold for any prediction."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom

from sdm.assess.measures.basic import auc
from sdm.assess.measures.thresholds import NAMES, Curve
from sdm.models.species import cumulative_table


def curve(presence, background, test=None) -> tuple[Curve, float]:
    """The curve of raw values at presences and background, which together are the domain; and its entropy."""
    domain = np.concatenate([background, presence])
    p = domain / domain.sum()
    table = cumulative_table(domain, p)

    def cumulative(raw):
        return np.interp(raw, table[:, 0], table[:, 1], left=0.0)

    positive = p[p > 0]
    return Curve(np.asarray(presence), domain, cumulative, test), float(-np.sum(positive * np.log(positive)))


def test_a_worked_example() -> None:
    """Ten cells of raw value 1 … 10; presences in those of 4, 6, 8, 9 and 10."""
    presence = np.array([4.0, 6.0, 8.0, 9.0, 10.0])
    background = np.array([1.0, 2.0, 3.0, 5.0, 7.0])
    built, entropy = curve(presence, background, test=np.array([2.0, 9.0]))
    by_key = {t.key: t for t in built.thresholds(entropy)}
    # in the order of maxentResults.csv
    order = ["fixed1", "fixed5", "fixed10", "mtp", "10p", "equal", "maxsss", "equal_test", "maxsss_test", "balance"]
    assert list(by_key) == [*order, "entropy"]
    mtp = by_key["mtp"]
    assert (mtp.raw, mtp.training_omission, mtp.area, mtp.test_omission) == (4.0, 0.0, 0.7, 0.5)
    assert mtp.cumulative == pytest.approx(100 * (1 + 2 + 3 + 4) / 55)
    # a tenth of five presences is less than one: none may be left out
    assert by_key["10p"].raw == 4.0
    # sensitivity + specificity: omission + area is 0.7 at 4, 0.8 at 5 and 6 …, 0.7 at 8; the first is taken
    assert by_key["maxsss"].training_omission + by_key["maxsss"].area == pytest.approx(0.7)
    # omission 0.2 and area 0.5 at 6, 0.4 and 0.4 at 7
    assert (by_key["equal"].training_omission, by_key["equal"].area) == pytest.approx((0.4, 0.4))
    # test records at 2 and 9: half are missed from 3 to 9, where the area falls from 0.8 to 0.2; at 6 it is one half
    equal = by_key["equal_test"]
    assert (equal.raw, equal.test_omission, equal.area) == pytest.approx((6.0, 0.5, 0.5))
    # missed and area sum to 0.9 at 2, to 1 at 6 and to 0.7 at 9
    assert by_key["maxsss_test"].raw == 9.0
    # one of two test records in 0.7 of the cells: by chance, one or two are there with 1 − 0.3² = 0.91
    assert mtp.binomial == pytest.approx(0.91)
    assert mtp.cloglog == pytest.approx(1 - np.exp(-4.0 * np.exp(entropy)))
    # e^H = 8.6 cells of ten, so the largest area of at most 0.86 is 0.8
    assert by_key["entropy"].area == pytest.approx(0.8)


@pytest.fixture(scope="module")
def java(shared: Path) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Java Maxent's default run on Bradypus: its results, and its raw values at presences and background."""
    folder = shared / "reference"
    with (folder / "java_auto_maxentResults.csv").open(newline="") as source:
        row = {key: float(value) for key, value in next(csv.DictReader(source)).items() if key != "Species" and value}
    with (folder / "java_auto_samplePredictions.csv").open(newline="") as source:
        presence = np.array([float(line["Raw prediction"]) for line in csv.DictReader(source)])
    background = np.loadtxt(folder / "java_auto_background_raw.csv", delimiter=",", skiprows=1, usecols=2)
    return row, presence, background


POINT = 1 / 1116 + 1e-4  # one cell of the domain, and the four decimals of the file


@pytest.mark.parametrize("key", list(NAMES))
def test_java_maxents_own_thresholds(java, key: str) -> None:
    row, presence, background = java
    built, _ = curve(presence, background)
    threshold = next(one for one in built.thresholds(row["Entropy"]) if one.key == key)
    name = NAMES[key]
    assert threshold.area == pytest.approx(row[f"{name} area"], abs=POINT)
    assert threshold.training_omission == pytest.approx(row[f"{name} training omission"], abs=1e-4)
    assert threshold.cumulative == pytest.approx(row[f"{name} cumulative threshold"], abs=0.15)
    assert threshold.cloglog == pytest.approx(row[f"{name} Cloglog threshold"], abs=2e-3)


def test_java_maxents_own_auc(java) -> None:
    row, presence, background = java
    assert auc(presence, np.concatenate([background, presence])) == pytest.approx(row["Training AUC"], abs=6e-5)
    assert row["Training AUC"] == 0.8916


values = st.integers(2, 30).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(1, 12).map(float)))


@given(values, values)
def test_what_holds_for_any_prediction(presence, background) -> None:
    built, entropy = curve(presence, background)
    result = {t.key: t for t in built.thresholds(entropy)}
    assert result["mtp"].training_omission == 0.0
    assert result["10p"].training_omission <= 0.1
    assert result["fixed1"].raw <= result["fixed5"].raw <= result["fixed10"].raw
    domain = np.concatenate([presence, background])
    for threshold in result.values():
        assert threshold.area == pytest.approx(np.mean(domain >= threshold.raw))
        assert threshold.training_omission == pytest.approx(np.mean(presence < threshold.raw))
        assert np.isnan(threshold.test_omission)
        assert np.isnan(threshold.binomial)
    # no cell's value does better than the ones that are chosen as best
    every = [(np.mean(presence < v), np.mean(domain >= v)) for v in np.unique(domain)]
    best = min(omission + area for omission, area in every)
    assert result["maxsss"].training_omission + result["maxsss"].area == pytest.approx(best)
    nearest = min(abs(omission - area) for omission, area in every)
    assert abs(result["equal"].training_omission - result["equal"].area) == pytest.approx(nearest)


@given(values, values, values)
def test_what_test_records_set(presence, background, test) -> None:
    """Every distinct value is tried, from the lowest up, as Java Maxent does; the first of equals is taken."""
    built, entropy = curve(presence, background, test=test)
    result = {t.key: t for t in built.thresholds(entropy)}
    domain = np.concatenate([presence, background])
    levels = sorted({*domain, *test})
    missed = [np.mean(test < v) for v in levels]
    area = [np.mean(domain >= v) for v in levels]
    sums = [round(a + b, 12) for a, b in zip(missed, area)]
    assert result["maxsss_test"].test_omission + result["maxsss_test"].area == pytest.approx(min(sums))
    difference = min(abs(a - b) for a, b in zip(missed, area))
    assert abs(result["equal_test"].test_omission - result["equal_test"].area) == pytest.approx(difference, abs=1e-12)
    for threshold in result.values():
        hits = int(np.sum(test >= threshold.raw))
        assert threshold.test_omission == pytest.approx(1 - hits / test.size)
        assert threshold.binomial == pytest.approx(binom.sf(hits - 1, test.size, threshold.area), abs=1e-12)


@given(values, values)
def test_the_omission_table_runs_from_all_to_little(presence, background) -> None:
    rows = curve(presence, background, test=presence)[0].table()
    assert [row["Cumulative threshold"] for row in rows] == pytest.approx(range(101))
    assert rows[0]["Training omission"] == 0.0
    assert rows[0]["Fractional area"] == 1.0
    for one, two in itertools.pairwise(rows):
        assert one["Training omission"] <= two["Training omission"]
        assert one["Fractional area"] >= two["Fractional area"]
        assert two["Test omission"] == two["Training omission"]


@given(values, values, values)
def test_a_sweep_has_every_step_and_counts_as_one_would_by_hand(presence, background, test) -> None:
    built, _ = curve(presence, background, test)
    swept = built.sweep(lambda raw: raw / 2, top=10.0, steps=11)
    levels = [row["Threshold"] for row in swept]
    assert levels == sorted(set(levels))
    assert set(range(11)) <= set(levels), "the steps of a slider are all there"
    assert min(built.domain) / 2 in levels, "so is the whole area"
    for row in swept:
        level = row["Threshold"]
        assert row["Fractional area"] == pytest.approx(np.mean(built.domain / 2 >= level))
        assert row["Training omission"] == pytest.approx(np.mean(presence / 2 < level))
        assert row["Test omission"] == pytest.approx(np.mean(test / 2 < level))
    assert "Test omission" not in curve(presence, background)[0].sweep(lambda raw: raw)[0]
