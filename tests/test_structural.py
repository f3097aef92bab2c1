"""`StructMaxent`: what a Python user gets, from fit to file."""

import numpy as np
import pandas as pd
import pytest

from sdm import StructMaxent, load_model
from sdm.errors import OptionError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    x = pd.DataFrame(rng.random((600, 3)).round(3), columns=["warmth", "rain", "noise"])
    x["soil"] = rng.choice(["clay", "loam", "sand"], 600)
    suitable = np.where((x.warmth > 0.5) ^ (x.rain > 0.5), 1.0, 0.05) * np.where(x.soil == "clay", 0.3, 1.0)
    present = rng.choice(600, 70, replace=False, p=suitable / suitable.sum())
    return pd.concat([x.iloc[present], x]), np.repeat([1, 0], [70, 600])


def test_fit_predict_save_load(data, tmp_path):
    x, y = data
    model = StructMaxent("l,trees:3,mono:2", lam=0.05, beta=0.02, categorical=["soil"]).fit(x, y)
    assert model.solution_.status == "converged"
    assert model.solution_.gap <= 1e-4
    assert len(model.feature_names_) == len(model.coef_)
    # what predicts is what was fitted
    fitted = model.feature_set_.scores(model.coef_) - model.solution_.tau - np.log(model.model_.n_domain)
    np.testing.assert_allclose(model.predict(x[y == 0], "link"), fitted[:600], atol=1e-10)
    model.save(tmp_path / "tree.npz")
    loaded = load_model(tmp_path / "tree.npz")
    codes = x.assign(soil=x.soil.map({"clay": 0, "loam": 1, "sand": 2})).to_numpy(dtype=float)
    np.testing.assert_array_equal(loaded.predict(codes), model.predict(x))
    assert any("warmth" in name and "rain" in name for name in loaded.feature_names)
    assert loaded.meta["families"] == {"trees": 3, "mono": 2}


def test_prices_are_chosen_by_held_out_loss(data):
    x, y = data
    model = StructMaxent("trees:2", categorical=["soil"], grid=(0.02, 0.1, 0.5), folds=2, seed=3).fit(x, y)
    assert (model.lam_, model.beta_) in {(s.lam, s.beta) for s in model.search_}
    best = min(model.search_, key=lambda s: s.loss)
    assert (best.lam, best.beta) == (model.lam_, model.beta_)
    assert best.loss < -0.05, "better than the base measure"
    again = StructMaxent("trees:2", categorical=["soil"], grid=(0.02, 0.1, 0.5), folds=2, seed=3).fit(x, y)
    assert [s.losses for s in again.search_] == [s.losses for s in model.search_]


def test_unseen_class_and_missing_value(data):
    x, y = data
    model = StructMaxent("trees:3", lam=0.05, beta=0.02, categorical=["soil"]).fit(x, y)
    strange = x.iloc[:2].assign(soil=["peat", None])
    prediction = model.predict(strange)
    assert np.isfinite(prediction[0])
    assert np.isnan(prediction[1])


@pytest.mark.parametrize(
    "wrong", [{"lam": -1}, {"beta": "x"}, {"lam": 0, "beta": 0}, {"complexity": "x"}, {"families": "lq"}, {"folds": 0}]
)
def test_wrong_options_are_one_line(data, wrong):
    options = {"lam": 0.1, "beta": 0.1, "categorical": ["soil"], **wrong}
    with pytest.raises(OptionError) as error:
        StructMaxent(**options).fit(*data)
    assert "\n" not in str(error.value)


def test_parameters_follow_scikit_learn(data):
    from sklearn.base import clone

    model = StructMaxent("trees:2", lam=0.1, beta=0.1, categorical=["soil"])
    assert clone(model).get_params() == model.get_params()
    assert "StructMaxent(" in repr(model)
    assert np.isfinite(clone(model).fit(*data).score(*data))
