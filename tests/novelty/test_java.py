"""Against Java Maxent 3.4.4 on our sample data, projected to `sample_data/warmer`: MESS, its variable, and clamping.

`java/` has the model that Java fitted, and its grids at 810 cells: all that are outside its training range or changed
by clamping, and some others. Java's positive values of MESS come from another computation and are not compared.
"""

from pathlib import Path

import numpy as np
import pytest
from java import CATEGORY, read_lambdas

from sdm.data.rasters.layers import open_stack
from sdm.features.terms import CATEGORY as A_CATEGORY
from sdm.features.terms import FORWARD, LINEAR, PRODUCT, QUADRATIC, REVERSE, Terms
from sdm.maps.novelty import Novelty
from sdm.models.interface import ModelVariable
from sdm.models.species import Model
from sdm.novelty.reference import Reference

FOLDER = Path(__file__).parent / "java"
WARMER = Path(__file__).parents[2] / "sample_data" / "warmer"


@pytest.fixture(scope="module")
def grids() -> dict[str, np.ndarray]:
    with np.load(FOLDER / "warmer.npz") as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def columns(grids) -> list[np.ndarray]:
    stack = open_stack(str(WARMER), categorical=["landcover"])
    assert list(stack.names) == sorted(stack.names), "Java numbers the layers in this order"
    with stack.reader() as reader:
        (window,) = stack.windows()
        return list(reader.read(window).reshape(len(stack.names), -1)[:, grids["cells"]])


@pytest.fixture(scope="module")
def model() -> Model:
    """Java's model as one of ours: its features, weights and ranges."""
    features, constants = read_lambdas(FOLDER / "default.lambdas")
    ranges = {name: (lo, hi) for name, _, lo, hi in features if name.isalpha()}
    names = sorted([*ranges, "landcover"])
    place = {name: np.array([k]) for k, name in enumerate(names)}
    terms = []
    for name, weight, lo, hi in features:
        common = {"weight": [weight], "lo": [lo], "hi": [hi]}
        if match := CATEGORY.fullmatch(name):
            terms.append(Terms.build(A_CATEGORY, place[match["name"]], knot=[float(match["value"])], weight=[weight]))
        elif name[0] == "'":
            terms.append(Terms.build(FORWARD, place[name[1:]], knot=[lo], **common))
        elif name[0] == "`":
            terms.append(Terms.build(REVERSE, place[name[1:]], knot=[hi], **common))
        elif name.endswith("^2"):
            terms.append(Terms.build(QUADRATIC, place[name[:-2]], **common))
        elif "*" in name:
            first, second = name.split("*")
            terms.append(Terms.build(PRODUCT, place[first], other=place[second], **common))
        else:
            terms.append(Terms.build(LINEAR, place[name], **common))
    remaining = [one for one in terms if one.weight[0] != 0]
    classes = tuple(map(float, range(1, 8)))
    limits = [ranges.get(name, (1.0, 7.0)) for name in names]
    variables = tuple(
        ModelVariable(name, name == "landcover", *limit, classes if name == "landcover" else ())
        for name, limit in zip(names, limits)
    )
    n = int(constants["numBackgroundPoints"])
    tau = constants["linearPredictorNormalizer"] + np.log(constants["densityNormalizer"]) - np.log(n)
    # Below zero MESS depends on the ranges alone: two rows have them, and more the categories.
    ends = np.array(limits).T
    rows = np.vstack([ends, np.repeat(ends[:1], len(classes), axis=0)])
    rows[2:, names.index("landcover")] = classes
    return Model(
        variables,
        Terms.concatenate(remaining),
        1.0,
        float(tau),
        n,
        constants["entropy"],
        0.5,
        np.array([[0.0, 0.0], [1.0, 100.0]]),
        reference=Reference(rows, tuple(name == "landcover" for name in names)),
    )


def test_negative_mess_and_its_variable(model: Model, columns, grids) -> None:
    result = Novelty(model, ["mess"]).measure(columns)
    outside = grids["novel"] < 0
    assert outside.sum() == 407
    np.testing.assert_array_equal(result["mess"] < 0, outside)
    np.testing.assert_allclose(result["mess"][outside], grids["novel"][outside], rtol=1e-5)
    np.testing.assert_array_equal(result["mod"][outside] - 1, grids["limiting"][outside])
    np.testing.assert_array_equal(model.training_range.outside(columns), outside)


def test_the_effect_of_clamping(model: Model, columns, grids) -> None:
    np.testing.assert_allclose(model.predict_columns(columns), grids["prediction"], rtol=1e-4)
    result = Novelty(model, ["clamping"]).measure(columns)["clamping"]
    assert (grids["clamping"] > 0).sum() == 542
    np.testing.assert_allclose(result, grids["clamping"], atol=1e-6)
