"""Features by variable: the same text for every kind of model."""

import numpy as np
import pandas as pd
import pytest

from sdm import ConditionalMaxent, FeatureClasses, JointModel, Maxent, StructMaxent
from sdm.errors import OptionError
from sdm.features.classes import (
    FeatureChoice,
    capitals,
    for_variables,
    has_growing,
    named_alone,
    parse_classes,
    parse_families,
    parse_features,
)
from sdm.options.reading import make_options

RNG = np.random.default_rng(5)
TABLE = pd.DataFrame({"bio1": RNG.normal(size=200), "Slope": RNG.gamma(2, size=200), "bio12": RNG.normal(size=200)})
TABLE["soil"] = RNG.integers(0, 3, 200)
PRESENT = (TABLE["bio1"] + 0.5 * TABLE["bio12"] + RNG.normal(size=200) > 1).astype(int)
TEXT = "bio1:lq, Slope:h, bio1*bio12"


def names(model) -> set[str]:
    return {str(name).split("(")[0].strip() for name in model.feature_names_}


def test_the_text_is_read_in_one_way():
    assert parse_classes(TEXT, 100) == "bio1:lq,Slope:h,bio1*bio12"
    assert parse_classes("QL, Slope:H", 100) == "lq,Slope:h"
    assert parse_classes("auto,Slope:l", 12) == "lq,Slope:l"
    assert parse_features("bio1:lq,relu:50", 100) == ("bio1:lq", 50)
    assert parse_families("bio1:lq,trees:4", 100) == ("bio1:lq", {"trees": 4})
    assert has_growing("l,trees:4")
    assert not has_growing(TEXT)
    choice = FeatureChoice.read(parse_classes("lq,bio1:h,a * b", 100))
    assert (choice.letters, choice.others, choice.names) == ({"bio1": "h"}, "lq", {"bio1", "a", "b"})
    assert named_alone(TEXT) == ["bio1", "Slope", "bio12"]
    assert named_alone("lq, bio1:h") == [], "all others have features too"
    assert (capitals("lqh"), capitals(TEXT)) == ("LQH", "bio1:LQ,Slope:H,bio1*bio12")
    for bad in ("bio1:lz", "bio1*", ":lq"):
        with pytest.raises(OptionError):
            parse_classes(bad, 100)


def test_a_part_of_the_variables_has_the_features_that_it_can_have():
    assert for_variables(TEXT, ["bio1", "bio12"]) == "bio1:lq,bio1*bio12"
    assert for_variables(TEXT, ["bio12"]) == "bio12:l", "in a product alone: linear by itself"
    assert for_variables("lqh", ["bio12"]) == "lqh"


def test_a_species_has_these_features_and_no_others():
    model = Maxent(TEXT).fit(TABLE, PRESENT)
    letters = model.feature_set_.letters()
    assert [int((letters == letter).sum()) for letter in "lqptc"] == [1, 1, 1, 0, 0]
    assert (letters == "h").sum() > 10
    assert names(model) == {"bio1", "bio1^2", "bio1*bio12", "hinge"}
    assert all("Slope" in name for name in model.feature_names_ if name.startswith("hinge"))
    full = Maxent("lq, Slope:h", categorical=["soil"]).fit(TABLE, PRESENT)
    letters = full.feature_set_.letters()
    assert [int((letters == letter).sum()) for letter in "lqc"] == [2, 2, 3]
    subset = Maxent("bio1:l, soil:c", categorical=["soil"]).fit(TABLE, PRESENT)
    assert "".join(subset.feature_set_.letters()) == "lccc"
    none = Maxent("bio1:l", categorical=["soil"]).fit(TABLE, PRESENT)
    assert "".join(none.feature_set_.letters()) == "l", "a category that is not named has none"
    with pytest.raises(OptionError, match="'bio11' is not a variable: did you mean 'bio1'"):
        Maxent("lq, bio11:h").fit(TABLE, PRESENT)


def test_every_kind_of_model_takes_them():
    classes = ConditionalMaxent(TEXT, multiplier=1.0, knots=5).fit(TABLE, PRESENT)
    assert names(classes) == {"bio1", "bio1^2", "bio1*bio12", "hinge"}
    chosen = ConditionalMaxent("bio1:lq, bio12:l", knots=5).fit(TABLE, PRESENT)
    assert chosen.multiplier_search_ is not None, "also where held-out sites choose the multiplier"
    assert names(chosen) <= {"bio1", "bio1^2", "bio12"}
    both = pd.DataFrame({"a": PRESENT, "b": 1 - PRESENT})
    joint = JointModel(features="bio1:lq, bio1*bio12", c=1.0).fit(TABLE, both)
    assert len(joint.model_.features.terms) == 3
    trees = StructMaxent(families="bio1:lq,trees:2", lam=0.1, beta=0.1).fit(TABLE, PRESENT)
    ordinary = [name for name in trees.feature_names_ if "Slope" not in name and "bio12" not in name]
    assert {"bio1", "bio1^2"} <= set(ordinary)
    assert not {"Slope", "Slope^2", "bio12", "bio12^2"} & set(trees.feature_names_)
    built = FeatureClasses(TEXT).fit(TABLE, PRESENT)
    assert {"bio1", "bio1^2", "bio1*bio12"} <= set(built.get_feature_names_out())


def test_options_take_text_and_lists():
    assert make_options({"fit.features": TEXT}).fit.features == TEXT
    assert make_options({"fit": {"features": ["bio1:lq", "bio1*bio12"]}}).fit.features == "bio1:lq,bio1*bio12"
    with pytest.raises(OptionError):
        make_options({"fit.features": "bio1:xyz"})
