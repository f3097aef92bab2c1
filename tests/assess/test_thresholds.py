"""Thresholds: a worked example, Java Maxent's own figures, and what must hold for any prediction."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdm.assess.measures import auc
from sdm.assess.thresholds import NAMES, Curve, choose
from sdm.errors import OptionError
from sdm.model import cumulative_table


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
    made, entropy = curve(presence, background, test=np.array([2.0, 9.0]))
    by_key = {t.key: t for t in made.thresholds(entropy)}
    assert list(by_key) == list(NAMES)
    mtp = by_key["mtp"]
    assert (mtp.raw, mtp.training_omission, mtp.area, mtp.test_omission) == (4.0, 0.0, 0.7, 0.5)
    assert mtp.cumulative == pytest.approx(100 * (1 + 2 + 3 + 4) / 55)
    # a tenth of five presences is less than one: none may be left out
    assert by_key["10p"].raw == 4.0
    # sensitivity + specificity: omission + area is 0.7 at 4, 0.8 at 5 and 6 …, 0.7 at 8; the first is taken
    assert by_key["maxsss"].training_omission + by_key["maxsss"].area == pytest.approx(0.7)
    # omission 0.2 and area 0.5 at 6, 0.4 and 0.4 at 7
    assert (by_key["equal"].training_omission, by_key["equal"].area) == pytest.approx((0.4, 0.4))
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
    made, _ = curve(presence, background)
    threshold = choose(made.thresholds(row["Entropy"]), key)
    name = NAMES[key]
    assert threshold.area == pytest.approx(row[f"{name} area"], abs=POINT)
    assert threshold.training_omission == pytest.approx(row[f"{name} training omission"], abs=1e-4)
    assert threshold.cumulative == pytest.approx(row[f"{name} cumulative threshold"], abs=0.15)
    cloglog = 1 - np.exp(-threshold.raw * np.exp(row["Entropy"]))
    assert cloglog == pytest.approx(row[f"{name} Cloglog threshold"], abs=2e-3)


def test_java_maxents_own_auc(java) -> None:
    row, presence, background = java
    assert auc(presence, np.concatenate([background, presence])) == pytest.approx(row["Training AUC"], abs=6e-5)
    assert row["Training AUC"] == 0.8916


values = st.integers(2, 30).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(1, 12).map(float)))


@given(values, values)
def test_what_holds_for_any_prediction(presence, background) -> None:
    made, entropy = curve(presence, background)
    found = {t.key: t for t in made.thresholds(entropy)}
    assert found["mtp"].training_omission == 0.0
    assert found["10p"].training_omission <= 0.1
    assert found["fixed1"].raw <= found["fixed5"].raw <= found["fixed10"].raw
    domain = np.concatenate([presence, background])
    for threshold in found.values():
        assert threshold.area == pytest.approx(np.mean(domain >= threshold.raw))
        assert threshold.training_omission == pytest.approx(np.mean(presence < threshold.raw))
        assert np.isnan(threshold.test_omission)
    # no cell's value does better than the ones that are chosen as best
    every = [(np.mean(presence < v), np.mean(domain >= v)) for v in np.unique(domain)]
    best = min(omission + area for omission, area in every)
    assert found["maxsss"].training_omission + found["maxsss"].area == pytest.approx(best)
    nearest = min(abs(omission - area) for omission, area in every)
    assert abs(found["equal"].training_omission - found["equal"].area) == pytest.approx(nearest)


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


def test_an_unknown_name_lists_the_known_ones() -> None:
    made, entropy = curve(np.array([1.0, 2.0]), np.array([1.0]))
    with pytest.raises(OptionError, match="mtp, 10p, equal, maxsss"):
        choose(made.thresholds(entropy), "best")
