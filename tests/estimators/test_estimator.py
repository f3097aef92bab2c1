"""`Maxent`: tables in, a certified model out, and errors that say in one line what to do."""

import logging

import numpy as np
import pandas as pd
import pytest
from strategies import small_case

from sdm import ConditionalMaxent, Maxent, SdmError, StructMaxent
from sdm.errors import DataError, OptionError
from sdm.estimators.params import SdmNotFittedError
from sdm.executors import ahead
from sdm.maxent.penalty import PENALTIES

SOILS = np.array(["clay", "peat", "sand"])


def table(seed=0, n=150, presences=40):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"heat": rng.normal(size=n), "rain": 1000 * rng.random(n), "soil": SOILS[rng.integers(0, 3, n)]}
    )
    y = np.zeros(n, dtype=int)
    y[np.argsort(frame["heat"] + rng.normal(size=n))[-presences:]] = 1
    return frame, y


@pytest.fixture(scope="module")
def fitted():
    frame, y = table()
    return Maxent("lqph", knots=8, categorical=["soil"]).fit(frame, y), frame, y


def test_what_a_fit_leaves_behind(fitted):
    model, frame, _ = fitted
    assert model.solution_.status == "converged"
    assert model.solution_.gap <= 1e-6
    assert len(model.feature_names_) == model.coef_.size == model.feature_set_.size
    assert model.solution_.n_nonzero == np.count_nonzero(model.coef_)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.classes_.tolist() == [0, 1]
    assert {"(soil=clay)", "(soil=peat)", "(soil=sand)"} <= set(model.feature_names_)


def test_a_table_may_have_its_columns_in_any_order_and_more_of_them(fitted):
    model, frame, _ = fitted
    shuffled = frame[["soil", "heat", "rain"]].assign(extra=1)
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(frame))


def test_array_and_table_give_the_same_fit():
    frame, y = table(1)
    numbers = frame.assign(soil=np.searchsorted(SOILS, frame["soil"]))
    named = Maxent("lqh", knots=4, categorical=["soil"]).fit(numbers, y)
    by_position = Maxent("lqh", knots=4, categorical=[2]).fit(numbers.to_numpy(float), y)
    as_text = Maxent("lqh", knots=4, categorical=["soil"]).fit(frame, y)
    as_lists = Maxent("lqh", knots=4, categorical=[2]).fit(numbers.to_numpy(float).tolist(), y.tolist())
    for other in (by_position, as_text, as_lists):
        np.testing.assert_array_equal(other.coef_, named.coef_)
    np.testing.assert_array_equal(as_text.predict(frame), named.predict(numbers))


def test_a_single_categorical_column_need_not_be_listed():
    frame, y = table(1)
    one, listed = Maxent("l", categorical="soil").fit(frame, y), Maxent("l", categorical=["soil"]).fit(frame, y)
    np.testing.assert_array_equal(one.coef_, listed.coef_)


def test_text_classes_never_seen_follow_the_rule(fitted):
    model, frame, y = fitted
    strange = frame.assign(soil="lava")
    assert np.all(np.isfinite(model.predict(strange)))
    strict = Maxent("l", categorical=["soil"], unseen="error").fit(frame, y)
    with pytest.raises(DataError, match="'soil' has 1 classes that were not in the training data"):
        strict.predict(strange)


def test_presence_weights_are_copies():
    """With the same penalties, a presence of weight 3 is three presences."""
    frame, y = table(2, n=100, presences=30)
    x = frame[["heat", "rain"]].to_numpy()
    weight = np.ones(100)
    weight[np.flatnonzero(y)[:10]] = 3.0
    again = np.concatenate([np.arange(100), np.repeat(np.flatnonzero(y)[:10], 2)])
    options = {"features": "lq", "beta": 0.05, "add_presences": "distinct", "tolerance": 1e-10}
    weighted = Maxent(**options).fit(x, y, weight)
    copied = Maxent(**options).fit(x[again], y[again])
    assert weighted.solution_.objective == pytest.approx(copied.solution_.objective, abs=1e-9)
    np.testing.assert_allclose(weighted.predict(x), copied.predict(x), atol=1e-5)


def test_background_weights_are_copies():
    """A cell of weight 3 in the base measure is three cells."""
    rng = np.random.default_rng(3)
    cells = rng.normal(size=(60, 2))
    presences = cells[np.argsort(cells[:, 0])[-15:]]
    x, y = np.vstack([presences, cells]), np.repeat([1, 0], [15, 60])
    weight = np.ones(75)
    weight[15:35] = 3.0
    again = np.concatenate([np.arange(75), np.repeat(np.arange(15, 35), 2)])
    options = {"features": "lq", "beta": 0.05, "add_presences": "distinct", "tolerance": 1e-10}
    weighted = Maxent(**options).fit(x, y, weight)
    copied = Maxent(**options).fit(x[again], y[again])
    assert weighted.solution_.objective == pytest.approx(copied.solution_.objective, abs=1e-9)
    ratio = weighted.predict(x, "raw") * weighted.model_.n_domain
    np.testing.assert_allclose(ratio, copied.predict(x, "raw") * copied.model_.n_domain, rtol=1e-4)


def test_java_adds_every_presence_and_maxnet_only_new_ones():
    x = np.array([[1.0, 1], [2, 2], [3, 5], [3, 5], [1, 1], [2, 3], [2, 2], [9, 9]])
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    java = Maxent("l").fit(x, y)
    maxnet = Maxent("l", knots="maxnet").fit(x, y)
    assert java.problem_.domain.n == 8
    assert maxnet.problem_.domain.n == 5
    assert maxnet.problem_.sample.tolist() == [0.25, 0.0, 0.25, 0.0, 0.5]
    assert Maxent("l", add_presences="distinct").fit(x, y).problem_.domain.n == 5


def test_what_was_dropped_is_said(caplog):
    """A variable that silently does nothing would be taken for one without influence."""
    frame, y = table(4)
    x = frame[["heat"]].assign(flat=7.0, warmth=frame["heat"] * 2 + 1, wet=(frame["rain"] > 500).astype(float))
    with caplog.at_level(logging.INFO, logger="sdm"):
        model = Maxent("lq").fit(x, y)
    assert model.notes_[0] == "variable 'flat' has one value (7) over the whole domain: dropped"
    assert "are duplicates and were dropped, such as" in model.notes_[1]
    assert model.feature_names_ == ["heat", "wet", "heat^2", "warmth^2"]


def test_a_fit_that_does_not_converge_warns_in_the_log(caplog):
    frame, y = table(4)
    model = Maxent("lq", max_iterations=1).fit(frame[["heat", "rain"]], y)
    assert model.solution_.status == "max_iterations"
    assert "max_iterations after 1 iterations: the iteration limit was reached" in caplog.text


def test_missing_values_are_refused_by_name():
    frame, y = table(5)
    frame.loc[3:6, "rain"] = np.nan
    with pytest.raises(DataError, match="'rain' has 4 of"):
        Maxent("l", categorical=["soil"]).fit(frame, y)


@pytest.mark.parametrize(
    "y, match",
    [
        ([1, 0], "y has shape"),
        (np.full(150, 2), "among its labels"),
        (np.where(np.arange(150) > 3, np.nan, 1.0), "nan"),
        (np.full(150, "presence"), "among its labels"),
        (np.zeros(150), "no presence"),
        (np.ones(150), "no background"),
        (np.zeros((150, 2)), "y has shape"),
    ],
)
def test_labels_that_make_no_sense(y, match):
    frame, _ = table()
    with pytest.raises(DataError, match=match) as caught:
        Maxent("l").fit(frame[["heat"]], y)
    assert "\n" not in str(caught.value)


def test_true_and_false_are_labels():
    frame, y = table()
    x = frame[["heat"]]
    np.testing.assert_array_equal(Maxent("l").fit(x, y == 1).coef_, Maxent("l").fit(x, y).coef_)


@pytest.mark.parametrize(
    "weight, match",
    [
        (np.ones(3), "sample_weight has shape"),
        (np.full(150, -1.0), "must be at least 0"),
        (np.where(np.arange(150) == 0, np.nan, 1.0), "weights"),
    ],
)
def test_weights_that_make_no_sense(weight, match):
    frame, y = table()
    with pytest.raises(DataError, match=match):
        Maxent("l").fit(frame[["heat"]], y, weight)


BAD_OPTIONS = [
    {"features": "xyz"}, {"features": None}, {"features": 3}, {"features": []},
    {"regularization": "lasso"}, {"regularization": None},
    {"multiplier": 0.0}, {"multiplier": "big"}, {"multiplier": np.inf}, {"multiplier": None},
    {"entropy": 0.5}, {"entropy": "shannon"}, {"knots": "some"}, {"knots": 0}, {"knots": 2.5},
    {"beta": "javanese"}, {"beta": -1.0}, {"beta": [0.1]}, {"beta": np.zeros(1)},
    {"categorical": ["nope"]}, {"categorical": [9]}, {"categorical": [True]},
    {"solver": "lbfgs"}, {"tolerance": 0.0}, {"tolerance": "small"}, {"tolerance": np.nan},
    {"max_iterations": 0}, {"max_iterations": "many"}, {"add_presences": "some"},
    {"regularization": "smoothed_l1", "smoothing": 0.0}, {"smoothing": "x"},
    {"regularization": "elastic", "ratio": -1.0}, {"prevalence": 0.0}, {"prevalence": "half"}, {"unseen": "ignore"},
    {"solver": "summet", "entropy": 1.5}, {"solver": "summet", "regularization": "lp"},
    {"solver": "plummet", "regularization": "mahalanobis"}, {"power": 1.0}, {"power": 2.0}, {"power": "half"},
    {"uncorrelated": 0.0}, {"uncorrelated": 1.5}, {"beta": "theorem13", "regularization": "mahalanobis"},
]  # fmt: skip


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=str)
def test_a_bad_option_is_one_line_that_names_it(options):
    frame, y = table()
    x = frame[["heat", "rain"]]
    with pytest.raises(OptionError) as caught:
        Maxent(**{"features": "l"} | options).fit(x, y)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    assert isinstance(caught.value, SdmError)


@pytest.mark.parametrize("value", [np.int64(3), 3])
def test_numpys_integers_mean_the_same_number_of_knots(value):
    """A grid search over np.arange passes them; they must not fall through to another preset."""
    frame, y = table()
    model = Maxent("ht", knots=value).fit(frame[["heat"]], y)
    assert len(model.feature_names_) <= 9


def test_numpys_numbers_are_penalties_too():
    frame, y = table()
    x = frame[["heat", "rain"]]
    by_float = Maxent("lq", beta=0.25).fit(x, y)
    for beta in (np.float32(0.25), np.float64(0.25), np.array(0.25)):
        np.testing.assert_array_equal(Maxent("lq", beta=beta).fit(x, y).coef_, by_float.coef_)


def test_penalties_one_by_one_follow_the_names_of_a_fit_without_them():
    """Also where copies were dropped: the names that a user sees are the features to penalty."""
    frame, y = table(6)
    x = frame[["heat"]].assign(copy=frame["heat"], rain=frame["rain"])
    plain = Maxent("lq").fit(x, y)
    assert plain.feature_names_ == ["heat", "rain", "heat^2", "rain^2"]
    priced = Maxent("lq", beta=[0.01, 1e6, 0.01, 1e6]).fit(x, y)
    assert priced.feature_names_ == plain.feature_names_
    assert priced.coef_[1] == priced.coef_[3] == 0.0
    assert priced.coef_[0] != 0.0
    np.testing.assert_array_equal(Maxent("lq", beta=plain.problem_.penalty.beta).fit(x, y).coef_, plain.coef_)


def test_a_warm_start_from_an_earlier_fit(fitted):
    model, frame, y = fitted
    again = Maxent(**model.get_params()).fit(frame, y, start=model)
    assert again.solution_.iterations < model.solution_.iterations
    assert again.solution_.objective == pytest.approx(model.solution_.objective, abs=1e-6)
    from_file = Maxent(**model.get_params()).fit(frame, y, start=model.model_)
    assert from_file.solution_.iterations == again.solution_.iterations


def test_a_warm_start_onto_other_cells_and_penalties(fitted):
    """Weights are carried over in raw units: the features' ranges differ from domain to domain."""
    model, frame, y = fitted
    keep = np.flatnonzero((y == 1) | (np.arange(150) % 2 == 0))
    other = frame.iloc[keep].assign(heat=lambda t: t["heat"] * 1.0)
    options = {**model.get_params(), "features": "lq", "multiplier": 0.5, "tolerance": 1e-9}
    cold = Maxent(**options).fit(other, y[keep])
    warm = Maxent(**options).fit(other, y[keep], start=model)
    assert warm.solution_.objective == pytest.approx(cold.solution_.objective, abs=1e-8)
    assert warm.solution_.history[0].objective < 0.0  # it does start from something


def test_score_is_the_test_gain(fitted):
    model, frame, y = fitted
    raw = model.predict(frame[y == 1], "raw") * model.model_.n_domain
    assert model.score(frame, y) == pytest.approx(np.log(raw).mean())
    weight = np.arange(1.0, 151.0)
    assert model.score(frame, y, weight) == pytest.approx(np.average(np.log(raw), weights=weight[y == 1]))


def test_score_of_a_presence_at_zero_density_is_minus_infinity():
    case = small_case(0)
    x = np.vstack([case.x[case.x[:, 0] > 1], case.x])
    y = np.repeat([1, 0], [len(x) - 60, 60])
    model = Maxent("l", entropy=2.0, beta=0.01).fit(x, y)
    assert model.score(np.array([[-100.0, 0.0]]), [1]) == -np.inf


def test_before_fit():
    for call in (lambda m: m.predict([[0.0]]), lambda m: m.score([[0.0]], [1]), lambda m: m.save("x.npz")):
        with pytest.raises(SdmNotFittedError, match="not fitted yet"):
            call(Maxent())


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(Maxent()) == "Maxent()"
    assert repr(Maxent("lq", multiplier=2.0)) == "Maxent(features='lq', multiplier=2.0)"
    assert "beta=array([0.1, 0.2])" in repr(Maxent(beta=np.array([0.1, 0.2])))


@pytest.mark.parametrize("solver", ["summet", "plummet"])
def test_other_solvers_by_name(solver):
    frame, y = table(7, n=60, presences=20)
    x = frame[["heat"]]
    exact = Maxent("l").fit(x, y)
    slow = Maxent("l", solver=solver).fit(x, y)
    assert slow.solution_.status == "converged"
    assert slow.solution_.gain == pytest.approx(exact.solution_.gain, abs=2e-6)


@pytest.mark.parametrize("rule", ["maxent", "maxnet", "deviation", "corollary7"])
@pytest.mark.parametrize("regularization", PENALTIES)
def test_every_penalty_rule_with_every_penalty(rule, regularization):
    frame, y = table(8)
    model = Maxent("l", regularization=regularization, beta=rule).fit(frame[["heat", "rain"]], y)
    assert model.solution_.status == "converged"
    assert np.all(np.isfinite(model.predict(frame[["heat", "rain"]])))


def test_the_model_remembers_how_it_was_made(fitted):
    meta = fitted[0].model_.meta
    assert meta["status"] == "converged"
    assert meta["presences"] == 40
    assert meta["classes"] == "lqph"
    assert meta["settings"]["knots"] == 8
    assert meta["gap"] == fitted[0].solution_.gap


def test_only_maxnets_penalties_keep_a_category_without_presences():
    rng = np.random.default_rng(4)
    x = np.column_stack([rng.normal(size=330), rng.integers(0, 3, 330)])
    x[:30, 1] = rng.integers(0, 2, 30)
    y = np.repeat([1, 0], [30, 300])

    def names(**options):
        return [name for name in Maxent("l", categorical=[1], **options).fit(x, y).feature_names_ if "=" in name]

    assert len(names()) == len(names(beta="deviation")) == len(names(knots="maxnet", beta="maxent")) == 2
    assert len(names(knots="maxnet")) == len(names(beta="maxnet")) == 3
    assert len(names(knots="maxnet", regularization="none")) == 2, "a free weight would grow without end"


def test_a_fit_to_the_same_rows_need_not_read_them_again() -> None:
    """Settings that differ in the multiplier alone: the same result as a fit of its own from the same start."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 3))
    y = (np.arange(300) < 40).astype(int)
    first = Maxent("lqh", multiplier=3.0).fit(x, y)
    again = first.fit_again(1.0)
    alone = Maxent("lqh", multiplier=1.0).fit(x, y, start=first)
    np.testing.assert_allclose(again.coef_, alone.coef_, rtol=1e-9, atol=1e-12)
    assert again.model_.reference is first.model_.reference
    assert again.feature_names_ == alone.feature_names_
    assert again.notes_ == alone.notes_
    np.testing.assert_allclose(again.predict(x), alone.predict(x), rtol=1e-9)
    assert again.n_features_in_ == 3
    assert again.classes_.tolist() == [0, 1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind",
    [
        Maxent("lqpht"),
        Maxent("lqp", regularization="l2"),
        StructMaxent("l,trees:2", lam=0.05, beta=0.05),
        ConditionalMaxent("lqp"),
    ],
)
def test_threads_change_no_weight(kind, monkeypatch):
    """Of many cells, several threads look at parts: here of 5,000, more than one block of every kernel."""
    monkeypatch.delenv("SDM_THREADS", raising=False)
    rng = np.random.default_rng(5)
    x = rng.normal(size=(5_000, 4)).round(3)
    y = (x[:, 0] * x[:, 1] + rng.normal(size=5_000) > 2).astype(int)
    alone = kind.fit(x, y).predict(x).tobytes()
    monkeypatch.setattr(ahead, "MANY", 1)
    for threads in (1, 2, 5):
        with ahead.run_threads(threads):
            assert kind.fit(x, y).predict(x).tobytes() == alone
