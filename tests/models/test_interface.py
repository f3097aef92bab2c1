"""Every kind of model has one interface: scales, bands, and values for columns or a data frame."""

import numpy as np
import pandas as pd
import pytest

from sdm import ConditionalMaxent, JointModel, Maxent


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(2)
    x = pd.DataFrame({"heat": rng.normal(size=90), "rain": rng.random(90)})
    here = (x["heat"] + rng.normal(size=90) > 0).to_numpy()
    y = pd.DataFrame({"owl": here.astype(int), "fox": (x["rain"] > 0.4).astype(int)})
    species = Maxent("lq").fit(x, here.astype(int)).model_
    classes = ConditionalMaxent("l", multiplier=1.0).fit(x, np.where(here, "wood", "bog")).model_
    return x, {"species": species, "classes": classes, "community": JointModel(c=1.0).fit(x, y).model_}


@pytest.mark.parametrize("kind", ["species", "classes", "community"])
def test_values_are_those_of_the_kind_s_own_predictions(models, kind) -> None:
    x, result = models
    model = result[kind]
    own = model.predict(x)[:, None] if kind == "species" else model.predict_proba(x)
    assert model.kind == kind
    assert own.shape == (len(x), len(model.bands))
    np.testing.assert_array_equal(model.values(x), own)
    np.testing.assert_array_equal(model.values(x[["rain", "heat"]]), own)
    np.testing.assert_array_equal(model.column_values([x[name].to_numpy() for name in model.names]), own.T)
    assert model.scales[0] in ("cloglog", "probability")


def test_a_species_has_other_scales_too(models) -> None:
    x, result = models
    for scale in result["species"].scales:
        np.testing.assert_array_equal(result["species"].values(x, scale)[:, 0], result["species"].predict(x, scale))
