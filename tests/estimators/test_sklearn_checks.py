"""scikit-learn's own checks of estimators, all of them, with the few that cannot apply and why.

A check that is listed here must fail (`xfail_strict`): the list cannot grow stale.
"""

import warnings

import numpy as np
import pytest

from sdm import Committee, ConditionalMaxent, FeatureClasses, JointModel, Maxent, SharedMaxent, StructMaxent
from sdm.estimators.ensemble import Ensemble
from sdm.estimators.on_axes import OnAxes

pytest.importorskip("sklearn", "1.8")

from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

MISSING = "where a variable is missing the prediction is missing too, as maps need it; infinite values are clamped"
WEIGHTS = (
    "two records count more than one of weight 2: penalties go by the effective number of records (Kish 1965), and the "
    "presences join the background"
)
SUITABILITY = "predict gives the suitability, as all tools of the field do; the class is predict_proba > 0.5"
WORDS = f"{SUITABILITY}. Labels are numbers: which of two words is the presence would be a guess"
COLUMNS = "labels are a table of 1 and 0, one column per species, and so are predictions"

PRESENCES = {
    "check_estimators_nan_inf": MISSING,
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_classifiers_train": SUITABILITY,
    "check_classifiers_classes": WORDS,
}
EXPECTED = {
    Maxent: PRESENCES,
    StructMaxent: PRESENCES,
    Committee: PRESENCES,
    ConditionalMaxent: {
        "check_estimators_nan_inf": MISSING,
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    },
    SharedMaxent: {
        "check_estimators_nan_inf": MISSING,
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    },
    JointModel: {
        "check_estimators_nan_inf": MISSING,
        **dict.fromkeys(
            [
                "check_classifiers_train",
                "check_classifiers_classes",
                "check_classifiers_regression_target",
                "check_classifier_data_not_an_array",
                "check_estimators_dtypes",
                "check_fit2d_1feature",
            ],
            COLUMNS,
        ),
    },
    FeatureClasses: {},
}
ESTIMATORS = [
    Maxent("lq"),
    StructMaxent("lq,trees:2", lam=0.05, beta=0.05),
    Committee(),
    ConditionalMaxent("lq", multiplier=1.0),
    SharedMaxent("lq", strength=1.0, threads=1),
    JointModel(features="l", c=1.0),
    FeatureClasses("lqph", knots=5),
]

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Estimator .* does not inherit", UserWarning)

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::RuntimeWarning")
    @parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda one: EXPECTED[type(one)], xfail_strict=True)
    def test_the_checks_of_scikit_learn(estimator, check):
        check(estimator)


def called(estimator, name, x, y, folder):
    """Call a public method with arguments that it is made for."""
    arguments = {
        **dict.fromkeys(["fit", "score", "log_loss"], (x, y)),
        "fit_transform": (x, y),
        **dict.fromkeys(["predict", "predict_proba", "decision_function", "transform"], (x,)),
        **dict.fromkeys(["richness", "communities"], (x[:3],)),
        "save": (folder / "model.npz",),
        "for_fold": ("fold 1",),
        "check_numbers": ({}, {}),
        "fit_again": (2.0,),
        **dict.fromkeys(["get_params", "set_params", "set_output", "settings", "check_options"], ()),
        **dict.fromkeys(["get_feature_names_out", "changed", "warm_start"], ()),
    }
    assert name in arguments, f"{name} is a public method: list its arguments here"
    return getattr(estimator, name)(*arguments[name])


def on_axes(x, y, mean):
    """Return a species on the axes of a group, or its mean with a committee."""
    group = SharedMaxent("lq", strength=1.0, threads=1).fit(x, np.where(y == 1, "a", None)).model_
    return Ensemble(OnAxes(group)) if mean else OnAxes(group)


@pytest.mark.parametrize(
    "kind", [*ESTIMATORS, OnAxes, Ensemble], ids=lambda kind: getattr(kind, "__name__", repr(kind))
)
def test_every_public_method_works_after_fit(kind, tmp_path):
    """No estimator inherits a method that can only fail."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(120, 2))
    y = (x[:, 0] + rng.normal(size=120) > 1.0).astype(int)
    estimator = on_axes(x, y, kind is Ensemble) if isinstance(kind, type) else clone(kind)
    if isinstance(estimator, JointModel):
        y = np.column_stack([y, rng.integers(0, 2, 120)])
    estimator.fit(x, y)
    members = {name: getattr(type(estimator), name) for name in dir(type(estimator)) if not name.startswith("_")}
    # Methods that fit again come last.
    for name, member in sorted(members.items(), key=lambda item: item[0].startswith("fit")):
        if isinstance(member, property):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", category=FutureWarning)  # former names
                assert hasattr(estimator, name) or name == "used_seed"
        elif callable(member):
            called(estimator, name, x, y, tmp_path)
