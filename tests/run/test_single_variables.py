"""What variables of a community tell alone, by which of correlated ones one is kept."""

import numpy as np
import pandas as pd
import pytest

from sdm.assess.measures.community import marginal_loss
from sdm.data.site_sample import CommunitySample
from sdm.kinds.community.fit import glm_gains


def test_the_gain_of_a_variable_is_what_its_glm_is_better_by_than_prevalence() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200, 2))
    labels = (2 * values[:, :1] + rng.logistic(size=(200, 3)) > 0).astype(float)
    target = pd.DataFrame(labels, columns=["a", "b", "c"])
    x, y = values.T
    sample = CommunitySample("sites", ("heat", "noise"), (), values, target, x, y, np.arange(200), None)
    gains = glm_gains(sample, sample.names)
    constant = marginal_loss(labels.astype(np.int8), np.broadcast_to(labels.mean(axis=0), labels.shape))
    assert 0.3 < gains["heat"] < constant
    assert gains["noise"] == pytest.approx(0.0, abs=0.05)
