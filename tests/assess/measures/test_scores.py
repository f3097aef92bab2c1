"""Measures of predictions beside labels: those of a run, in scikit-learn's order of arguments."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

from sdm import aicc, boyce_index, omission, partial_roc
from sdm.assess.measures.basic import boyce, density_aicc, omission_rate, partial_roc_ratio
from sdm.errors import DataError, OptionError


@pytest.fixture(scope="module")
def predictions():
    rng = np.random.default_rng(2)
    y = rng.permutation(np.repeat([1, 0], [60, 240]))
    return y, rng.beta(2 + y, 3)


def test_they_are_the_measures_of_a_run(predictions):
    y, p = predictions
    presence, background = p[y == 1], p[y == 0]
    assert boyce_index(y, p) == boyce(presence, background).index
    assert partial_roc(y, p, omitted=0.1) == partial_roc_ratio(presence, background, 0.1)
    assert omission(y, p, cutoff=0.4) == omission_rate(presence, 0.4)
    assert aicc(y, p, 3) == density_aicc(presence, background, 3)
    weight = np.linspace(0.5, 2, y.size)
    assert boyce_index(y, p, weight) == boyce(presence, background, weights=weight[y == 0]).index


def test_true_and_minus_one_are_labels_too(predictions):
    y, p = predictions
    assert boyce_index(y == 1, p) == boyce_index(2 * y - 1, p) == boyce_index(y, p)


def test_they_are_scorers(predictions):
    """`make_scorer` turns them into what `scoring=` takes."""
    y, p = predictions
    X = np.column_stack([p, np.random.default_rng(0).normal(size=y.size)])
    for measure in (boyce_index, partial_roc):
        scorer = make_scorer(measure, response_method="predict_proba")
        assert np.isfinite(cross_val_score(LogisticRegression(), X, y, scoring=scorer, cv=3)).all()


def test_mistakes_are_explained(predictions):
    y, p = predictions
    with pytest.raises(DataError, match="no presence"):
        omission(np.zeros(3), p[:3], cutoff=0.5)
    with pytest.raises(DataError, match="one number per row"):
        boyce_index(y, np.column_stack([p, p]))
    with pytest.raises(DataError, match="for each of 300 rows"):
        boyce_index(y, p, [1.0])
    with pytest.raises(OptionError, match="share from 0 to 1"):
        partial_roc(y, p, omitted=5)
