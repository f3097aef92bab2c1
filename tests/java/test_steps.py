"""Percent contribution along the steps of Java Maxent's algorithm."""

import csv

import numpy as np
import pytest

from sdm import Maxent
from sdm.assess.steps import Walk, contribution_by_steps
from sdm.errors import OptionError


def test_contributions_are_in_the_order_of_java(bradypus, shared):
    """The five variables that count most in Java Maxent's own table of Bradypus, and nearly its percentages."""
    model = Maxent(categorical=["ecoreg"]).fit(*bradypus)
    found = {part.variable: part.percent for part in contribution_by_steps(model.problem_)}
    with (shared / "reference" / "java_auto_maxentResults.csv").open() as source:
        (java,) = csv.DictReader(source)
    theirs = {name: float(java[f"{name} contribution"]) for name in found}

    def first(parts: dict[str, float]) -> list[str]:
        return sorted(parts, key=lambda name: -parts[name])[:5]

    assert first(found) == first(theirs)
    assert sum(found.values()) == pytest.approx(100)
    assert max(abs(found[name] - theirs[name]) for name in found) < 4


def test_steps_go_down_and_end_at_the_optimum():
    rng = np.random.default_rng(1)
    rows = np.vstack([rng.normal(0.5, 0.5, (40, 2)), rng.normal(size=(400, 2))])
    model = Maxent("lq").fit(rows, np.repeat([1, 0], [40, 400]))
    walk, losses = Walk(model.problem_), []
    for k in range(200):
        walk.step_together() if k % 30 == 29 else walk.step_alone(1.0)
        losses.append(walk.loss)
    assert np.all(np.diff(losses) < 1e-12)
    assert -walk.loss == pytest.approx(model.solution_.gain, abs=1e-5)
    parts = contribution_by_steps(model.problem_)
    assert sum(part.gain for part in parts) == pytest.approx(model.solution_.gain, abs=0.01)


def test_models_that_java_does_not_have_are_refused():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 2)), np.repeat([1, 0], [20, 40])
    with pytest.raises(OptionError, match="Shannon"):
        contribution_by_steps(Maxent("l", entropy=1.5).fit(x, y).problem_)
