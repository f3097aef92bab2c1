"""Options of Java Maxent: penalties by feature class, classes by the number of records, a background without presences,
and records that lack some values."""

import numpy as np
import pytest

from sdm import ConditionalMaxent, Maxent
from sdm.data.table import SampleTable
from sdm.errors import DataError, OptionError

RNG = np.random.default_rng(3)
PRESENCES = RNG.normal(0.6, 0.5, (40, 2))
BACKGROUND = RNG.normal(0.0, 1.0, (300, 2))
ROWS, LABELS = np.vstack([PRESENCES, BACKGROUND]), np.repeat([1, 0], [40, 300])


def penalties(**options) -> dict[str, np.ndarray]:
    model = Maxent("lqht", **options).fit(ROWS, LABELS)
    letters = model.feature_set_.letters()
    return {letter: model.problem_.penalty.beta[letters == letter] for letter in "lqht"}


def test_a_penalty_of_a_class_stands_in_place_of_the_table():
    """Of 40 records the tables have 0.5 for hinges and 1.6 for thresholds; the others stay as they are."""
    usual, other = penalties(multiplier=2), penalties(multiplier=2, beta_hinge=1.0, beta_threshold=0.8, beta_lqp=0.4)
    np.testing.assert_allclose(other["h"], 2 * usual["h"])
    floor = other["t"] <= 2 * 0.001 + 1e-12
    np.testing.assert_allclose(other["t"][~floor], 0.5 * usual["t"][~floor])
    smooth = float(np.interp(40, (0, 10, 17, 30, 100), (1.3, 0.8, 0.5, 0.25, 0.05)))
    np.testing.assert_allclose(other["l"], usual["l"] * 0.4 / smooth)
    np.testing.assert_allclose(other["q"], usual["q"] * 0.4 / smooth)
    assert np.all(penalties(beta_hinge=0)["h"] == 0.001), "never free"
    with pytest.raises(OptionError, match="numbers per feature class"):
        Maxent("lh", beta="deviation", beta_hinge=1).fit(ROWS, LABELS)
    with pytest.raises(OptionError, match="beta_hinge"):
        Maxent("lh", beta_hinge=-1).fit(ROWS, LABELS)


def test_classes_have_the_numbers_of_the_tables_too():
    """Penalties of a class model are those of the tables times the deviation of the class; numbers stand in place."""
    x, y = ROWS[:120], np.where(ROWS[:120, 0] > 0.4, "wood", "bog")

    def beta(**options) -> dict[str, np.ndarray]:
        model = ConditionalMaxent("lqh", "l1", 1.0, **options).fit(x, y)
        letters = model.feature_set_.letters()[1:]
        weights = model.problem_.penalty.beta.reshape(2, -1)[0, 1:]
        return {letter: weights[letters == letter] for letter in "lqh"}

    usual, other = beta(beta_lqp=0.3), beta(beta_hinge=1.0, beta_lqp=0.6)
    np.testing.assert_allclose(other["h"], 2 * usual["h"])
    np.testing.assert_allclose(other["l"], 2 * usual["l"])
    np.testing.assert_allclose(other["q"], 2 * usual["q"])
    few = ConditionalMaxent("auto", "l1", 1.0, hinge_from=1000, product_from=100).fit(x, y)
    assert set(few.feature_set_.letters()[1:]) == set("lqp"), "classes by the number of sites"
    with pytest.raises(OptionError, match=r"beta_hinge=1.0 has no effect with beta=0.1"):
        ConditionalMaxent("lh", beta=0.1, beta_hinge=1.0).fit(x, y)
    with pytest.raises(OptionError, match="beta_lqp"):
        ConditionalMaxent("l", beta_lqp=-1).fit(x, y)


def test_categories_have_a_penalty_of_their_own():
    rows = np.column_stack([ROWS, np.arange(len(ROWS)) % 3])
    usual, other = (Maxent("l", categorical=[2], **ways).fit(rows, LABELS) for ways in ({}, {"beta_categorical": 0.5}))
    of_category = usual.feature_set_.letters() == "c"
    assert of_category.sum() == 3
    np.testing.assert_allclose(other.problem_.penalty.beta[of_category], 2 * usual.problem_.penalty.beta[of_category])


def test_classes_by_the_number_of_records():
    def classes(**options) -> str:
        return Maxent(**options).fit(ROWS, LABELS).model_.meta["classes"]

    assert classes() == "lqh"
    assert classes(product_from=40) == "lqph"
    assert classes(hinge_from=41) == "lq"
    assert classes(quadratic_from=41, hinge_from=41) == "l"


def test_without_presences_the_background_alone_is_the_domain():
    """Expectations over the background are within the penalties of those at the presences, as at any optimum, and raw
    values sum to one over the background."""
    model = Maxent("lq", add_presences="none").fit(ROWS, LABELS)
    assert model.solution_.status == "converged"
    raw = model.predict(BACKGROUND, "raw")
    assert raw.sum() == pytest.approx(1, abs=1e-6)
    assert model.model_.n_domain == 300
    low, high = BACKGROUND.min(axis=0), BACKGROUND.max(axis=0)
    inside = np.clip(PRESENCES, low, high)
    beta = model.problem_.penalty.beta
    for v in range(2):
        far = (inside[:, v] - low[v]) / (high[v] - low[v])
        near = (BACKGROUND[:, v] - low[v]) / (high[v] - low[v])
        assert abs(far.mean() - raw @ near) <= beta[v] + 1e-4
        assert beta[v] > 0
    joined = Maxent("lq").fit(ROWS, LABELS)
    assert abs(joined.coef_ - model.coef_).max() > 0.01, "it is another model"
    assert model.predict(PRESENCES).mean() > model.predict(BACKGROUND).mean()


def test_what_a_background_without_presences_cannot_do():
    with pytest.raises(OptionError, match="entropy"):
        Maxent(add_presences="none", entropy=1.5).fit(ROWS, LABELS)
    kinds = np.column_stack([ROWS, np.r_[np.full(40, 9), np.arange(300) % 3]])
    with pytest.raises(DataError, match="category 9 of 'x2'"):
        Maxent("l", add_presences="none", categorical=[2]).fit(kinds, LABELS)


def table(presence: np.ndarray) -> SampleTable:
    at, here = np.zeros(len(presence)), np.zeros(len(BACKGROUND))
    return SampleTable("Ursus", ("a", "b"), (), presence, BACKGROUND, at, at, here, here)


def test_values_that_are_missing_are_those_of_other_records():
    holes = PRESENCES.copy()
    holes[:10, 0] = holes[35:, 1] = np.nan
    filled = table(holes).filled(1)
    assert not np.isnan(filled.presence).any()
    np.testing.assert_array_equal(filled.presence[10:35], PRESENCES[10:35])
    assert set(filled.presence[:10, 0]) <= set(PRESENCES[10:, 0])
    assert "15 presences lack 15 values" in filled.notes[0]
    np.testing.assert_array_equal(filled.presence, table(holes).filled(1).presence, "the same by the same seed")
    assert table(PRESENCES).filled(1).presence is PRESENCES
    holes[:, 1] = np.nan
    with pytest.raises(DataError, match="no presence has a value of 'b'"):
        table(holes).filled(1)
