"""scikit-learn's own checks of estimators, all of them, with the few that cannot apply and why.

A check that is listed here must fail (`xfail_strict`): the list cannot grow stale.
"""

import warnings

import pytest

from sdm import Committee, ConditionalMaxent, FeatureClasses, JointModel, Maxent, SharedMaxent, StructMaxent

pytest.importorskip("sklearn", "1.8")

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
