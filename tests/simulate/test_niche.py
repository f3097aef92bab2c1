"""Niches that are known: a wrong formula would be a wrong truth for every test that uses one."""

import math

import pytest

from sdm.errors import DataError
from sdm.simulate.niche import Interaction, Response, VirtualSpecies


def test_responses_are_what_their_formulas_say():
    x = [8.0, 10.0, 12.0]
    assert Response("a", "gaussian", 10, 2)(x) == pytest.approx([math.exp(-0.5), 1, math.exp(-0.5)])
    assert Response("a", "logistic", 10, -2)(x) == pytest.approx([1 / (1 + math.exp(-1)), 0.5, 1 / (1 + math.exp(1))])
    assert Response("a", "threshold", 10, 1)(x).tolist() == [0, 0, 1]
    assert Response("a", "threshold", 10, -1)(x).tolist() == [1, 0, 0]
    assert Response("a", "logistic", 0, 1e-9)([-9999.0, 9999.0]) == pytest.approx([0, 1])


def test_a_niche_is_the_product_of_its_parts():
    species = VirtualSpecies(
        "Virtualis albus", (Response("a", "threshold", 0, 1),), {1: 1.0, 2: 0.5}, Interaction("a", 1.0, "b", 5.0)
    )
    assert species.variables == ("a", "landcover", "b")
    values = {"a": [2, 2, 2, 1, 2, -1], "landcover": [1, 2, 9, 1, 1, 1], "b": [0, 0, 0, 0, 5, 0]}
    assert species.suitability(values).tolist() == [1, 0.5, 0, 0, 0, 0]
    with pytest.raises(DataError, match="needs the layers landcover, b, got a"):
        species.suitability({"a": [1.0]})
