"""Which multiplier a class model gets when none is given."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio

from sdm import ConditionalMaxent
from sdm.conditional import choice
from sdm.data.site_folds import fold_numbers
from sdm.errors import DataError, OptionError
from sdm.estimators import classes as choice_of_classes
from sdm.maxent.entropy import ClassEntropy


def survey(n=90, signal=1.0, seed=5, variables=4):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, variables))
    return x, (signal * x[:, 0] + rng.logistic(size=n) > 0).astype(int)


@pytest.mark.parametrize("regularization", ["l1", "l2sq", "elastic"])
def test_the_losses_are_those_of_fits_without_each_fold(regularization, monkeypatch):
    """A slow, obvious search: one model per fold and multiplier, from nothing, with the penalties of the whole."""
    x, y = survey()
    monkeypatch.setattr(choice, "MULTIPLIERS", (np.inf, 4.0, 1.0))
    result = ConditionalMaxent("lq", regularization).fit(x, y)
    search = result.multiplier_search_
    penalties = result.problem_.penalty.beta.reshape(2, -1) / result.multiplier_
    expected = np.zeros((3, len(y)))
    for repeat in range(2):
        fold = fold_numbers(y, 5, np.random.default_rng([1, 17, repeat]))
        for k in range(5):
            held = fold == k
            share = np.bincount(y[~held]) / np.count_nonzero(~held)
            expected[0, held] -= np.log(share[y[held]]) / 2
            for row, multiplier in ((1, 4.0), (2, 1.0)):
                part = ConditionalMaxent("lq", regularization, multiplier).fit(x[~held], y[~held])
                own = part.problem_.penalty.beta.reshape(2, -1)[0, -1]
                again = multiplier * _penalty_weight(x[~held], y[~held], len(y)) / own
                part = ConditionalMaxent("lq", regularization, multiplier * again).fit(x[~held], y[~held])
                expected[row, held] -= np.log(part.predict_proba(x[held])[np.arange(held.sum()), y[held]]) / 2
    assert penalties.shape[1] == 9
    np.testing.assert_allclose(search.losses, expected.mean(axis=1), atol=3e-3)
    assert search.multipliers[search.chosen] == result.multiplier_
    best = int(np.argmin(search.losses))
    difference = expected[0] - expected[best]
    assert search.errors[0] == pytest.approx(difference.std(ddof=1) / np.sqrt(len(y)), rel=0.1)


def _penalty_weight(x, y, size):
    """Return the penalty of the last feature in a part of the sites, with the table of the whole's size."""
    part = ConditionalMaxent("lq", "l1")
    fit = part._follow(x, np.eye(2)[y].T.copy(), np.full(len(y), 1 / len(y)), "lq", float(size), x)
    fit(1.0)
    return part.problem_.penalty.beta.reshape(2, -1)[0, -1]


@pytest.mark.parametrize("far", [0.0, 1e8])
@pytest.mark.parametrize("regularization", ["l1", "elastic"])
def test_scores_of_a_search_are_those_of_its_models(regularization, far, monkeypatch):
    """Also at sites outside the training range, of categories that were not there, and far from zero."""
    x, y = survey(80)
    x = np.column_stack([far + x, np.random.default_rng(1).integers(0, 4, len(x))])
    others = np.vstack([x, far + 3.0 * (x - far), np.full((1, 5), far - 9.0)])
    others[:, 4] = np.arange(len(others)) % 6
    result = []
    for few in (choice_of_classes.FEW, -1):
        monkeypatch.setattr(choice_of_classes, "FEW", few)
        part = ConditionalMaxent("lqph", regularization, categorical=[4])
        fit = part._follow(x, np.eye(2)[y].T.copy(), np.full(len(y), 1 / len(y)), "lqphc", 80.0, others)
        result.append([fit(multiplier) for multiplier in (np.inf, 2.0, 0.25)])
        assert np.count_nonzero(part.coef_) > 8
    np.testing.assert_allclose(result[0], result[1], rtol=0, atol=1e-9 if not far else 1e-6)
    assert np.ptp(result[0][2]) > 1


def test_what_is_given_is_not_searched():
    x, y = survey()
    for options in ({"multiplier": 3.0}, {"beta": 0.02}, {"regularization": "none"}):
        model = ConditionalMaxent("l", **options).fit(x, y)
        assert model.regularization_ == options.get("regularization", "l1")
        assert model.multiplier_search_ is None
        assert model.multiplier_ == options.get("multiplier", 1.0)
    chosen = ConditionalMaxent("l").fit(x, y)
    assert chosen.regularization_ in ("l1", "elastic")
    again = ConditionalMaxent("l", chosen.regularization_, chosen.multiplier_).fit(x, y)
    np.testing.assert_array_equal(again.coef_, chosen.coef_)
    with pytest.raises(OptionError, match="multiplier='much': expected a positive number, or 'auto'"):
        ConditionalMaxent("l", multiplier="much").fit(x, y)


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"regularization": "l1"}, {"regularization": "l2sq"}, {"entropy": 1.5}])
def test_without_evidence_the_model_is_the_constant_one(options):
    """Of noise, now and then some seems to predict; mostly it does not, and then nothing of it is in the model."""
    constant = 0
    for seed in range(6):
        x, y = survey(80, signal=0.0, seed=seed)
        model = ConditionalMaxent("lq", **options).fit(x, y)
        if np.isinf(model.multiplier_):
            constant += 1
            assert model.coef_.size == 0
            share = np.bincount(y) / len(y)
            np.testing.assert_allclose(model.predict_proba(x), np.tile(share, (len(y), 1)), atol=2e-4)
            np.testing.assert_allclose(model.model_.shares.ravel(), share)
    assert constant >= 4


def test_of_two_penalties_the_one_that_does_better_is_taken():
    x, y = survey(100, signal=1.5)
    result = {name: ConditionalMaxent("lqh", name).fit(x, y) for name in ("auto", "l1", "elastic")}
    least = {name: model.multiplier_search_.losses.min() for name, model in result.items()}
    assert least["auto"] == min(least["l1"], least["elastic"]) < max(least["l1"], least["elastic"])
    assert least["auto"] == least[result["auto"].regularization_]


@pytest.mark.parametrize(("classes", "tried"), [(2, True), (3, False)])
def test_an_elastic_penalty_of_very_many_weights_is_not_tried(classes, tried, monkeypatch):
    """Two classes have the weights of one, mirrored; of three all count."""
    said = set()
    x, y = survey(60, signal=1.0)
    y = y if classes == 2 else np.where(x[:, 0] > 1, 2, y)
    size = ConditionalMaxent("lq", "l1", 1.0).fit(x, y).coef_.shape[1]
    monkeypatch.setattr(choice_of_classes, "ELASTIC_WEIGHTS", size)
    ConditionalMaxent("lq").fit(x, y, progress=lambda done, of, text: said.add(text))
    assert any("l1" in text for text in said)
    assert any("elastic" in text for text in said) == tried


def test_a_strong_signal_gets_its_features():
    x, y = survey(300, signal=3.0)
    model = ConditionalMaxent("lq").fit(x, y)
    assert np.isfinite(model.multiplier_)
    assert model.score(x, y) > 0.8


def test_visits_to_a_site_are_held_out_together(monkeypatch):
    """Ten visits each to sites of noise: a model that has seen a site before would know it again."""
    rng = np.random.default_rng(4)
    site = np.repeat(np.arange(24), 10)
    x, y = rng.normal(size=(24, 5))[site], (rng.random(24) < 0.5).astype(int)[site]
    alone = ConditionalMaxent("lq", "l1").fit(x, y).multiplier_search_
    assert alone.losses.min() < 0.5 * alone.losses[0]
    seen = []
    before = choice._held_out
    monkeypatch.setattr(choice, "_held_out", lambda *words: seen.append(before(*words)) or seen[-1])
    together = ConditionalMaxent("lq", "l1").fit(x, y, groups=[f"site {k}" for k in site])
    assert together.multiplier_search_.losses.min() > 1.5 * alone.losses.min()
    ((*parts,),) = seen
    assert len(parts) == 10
    assert all(np.unique(held[site == k]).size == 1 for held in parts for k in range(24))
    with pytest.raises(DataError, match="expected one value for each of 240 rows"):
        ConditionalMaxent("lq").fit(x, y, groups=[1, 2])


def test_classes_at_one_site_each_leave_nothing_to_choose_by():
    x, y = np.arange(12.0)[:, None], np.repeat([0, 1], 6)
    with pytest.raises(DataError, match="set --multiplier"):
        ConditionalMaxent("l").fit(x, y, groups=y)
    assert ConditionalMaxent("l", multiplier=1.0).fit(x, y, groups=y).score(x, y) == 1.0


@pytest.mark.thorough
@pytest.mark.parametrize("folders", [("categorical",), ("continuous", "categorical")])
def test_grassland_is_predicted_better_than_by_prevalence(shared: Path, folders):
    """Nested folds: each part's penalty is chosen without the sites that it is measured on."""
    place = shared / "data" / "grassland"
    if not place.is_dir():
        pytest.skip("the grassland survey is not there")
    records = pd.read_csv(place / "occurrence_PA.csv")
    y, columns = records["Presence-Absence"].to_numpy(), {}
    for path in (path for folder in folders for path in sorted((place / folder).glob("*.tif"))):
        with rasterio.open(path) as source:
            columns[path.stem] = [value[0] for value in source.sample(zip(records["POINT_X"], records["POINT_Y"]))]
    x = pd.DataFrame(columns)
    categorical = [path.stem for path in (place / "categorical").glob("*.tif")]
    fold, p = fold_numbers(y, 5, np.random.default_rng(1)), np.empty(len(y))
    for k in range(5):
        held = fold == k
        model = ConditionalMaxent(categorical=categorical).fit(x[~held], y[~held])
        p[held] = model.predict_proba(x[held])[np.arange(held.sum()), y[held]]
    assert -np.mean(np.log(p)) <= 0.63


def check_choice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=60)
    x = np.column_stack([first, first, -first, rng.normal(size=60)])
    y = (first + rng.normal(size=60) > 0).astype(int)
    open_ = ConditionalMaxent("lq", seed=seed).fit(x, y)
    given = ConditionalMaxent("lq", regularization=open_.regularization_, multiplier=open_.multiplier_, seed=seed).fit(
        x, y
    )
    np.testing.assert_allclose(open_.predict_proba(x), given.predict_proba(x), atol=1e-9)


@pytest.mark.thorough
def test_what_was_chosen_gives_the_same_model_when_it_is_given() -> None:
    """Also where variables are copies of each other, which l1 may drop and an elastic penalty may not."""
    for seed in range(4):
        check_choice(seed)


def test_losses_are_means_over_the_sites_that_were_held_out(monkeypatch) -> None:
    """Of many sites a fifth is enough."""
    monkeypatch.setattr(choice, "MANY", (0, 0))
    sites = choice.HeldOutSites(np.eye(2)[np.arange(40) % 2].T, np.full(40, 1 / 40), ClassEntropy(1.0))
    held_out = []

    def begin(held):
        held_out.append(held)
        return lambda multiplier: np.zeros((2, np.count_nonzero(held)))

    search = choice.search_multipliers(begin, sites, multipliers=[1.0])
    assert np.sum(held_out) == 8
    assert search.losses == pytest.approx([np.log(2)])


def test_the_table_of_a_search_has_the_losses_of_its_multipliers() -> None:
    """The table shows how clear the choice was: losses, standard errors of their differences, the chosen multiplier."""
    x, y = survey()
    result = ConditionalMaxent("lq").fit(x, y)
    rows, each = pd.DataFrame(result.multiplier_search_.rows()), result.multiplier_search_.log_losses
    np.testing.assert_allclose(rows["held-out log loss"], each.mean(axis=1), rtol=0.005)  # one is of floored values
    best = int(rows["held-out log loss"].argmin())
    errors = (each - each[best]).std(axis=1, ddof=1) / np.sqrt(len(y))
    np.testing.assert_allclose(rows["error of the difference"], errors, rtol=0.05)
    assert rows.loc[rows["chosen"], "multiplier"].tolist() == [result.multiplier_]
