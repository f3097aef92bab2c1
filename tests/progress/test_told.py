"""Estimators that take long say how far they are, with counts that hold: from nothing to all, and never back."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdm.estimators.classes import ConditionalMaxent
from sdm.estimators.committee import Committee
from sdm.estimators.community import JointModel
from sdm.estimators.structural import StructMaxent

RNG = np.random.default_rng(5)
X = RNG.normal(size=(240, 2))
PRESENT = (np.arange(240) < 40).astype(int)
FIRST = X[:, 0] + RNG.logistic(size=240) > 0
CLASSES = np.where(FIRST, "wet", "dry")
SITES = np.column_stack([FIRST, FIRST ^ (RNG.random(240) < 0.2)]).astype(int)


@pytest.mark.parametrize(
    ("fit", "stages"),
    [
        (lambda told: StructMaxent("l,trees:2", folds=3).fit(X, PRESENT, progress=told), ["penalties"]),
        (lambda told: Committee().fit(X, PRESENT, progress=told), ["members of the committee"]),
        (
            lambda told: ConditionalMaxent("lq").fit(X, CLASSES, progress=told),
            ["penalties, l1", "penalties, elastic"],
        ),
        (
            lambda told: ConditionalMaxent("l,trees:2", lam="auto", folds=2).fit(X, CLASSES, progress=told),
            ["penalties, l1", "penalties of trees and monomials"],
        ),
        (lambda told: JointModel("crf-l2", features="l").fit(X, SITES, progress=told), ["penalties, joint model"]),
    ],
)
def test_counts_hold(fit: Callable[[Any], Any], stages: list[str]) -> None:
    told: list[tuple[int, int, str]] = []
    fit(lambda *step: told.append(step))
    assert list(dict.fromkeys(text for _, _, text in told)) == stages
    for stage in stages:
        counts = [(done, total) for done, total, text in told if text == stage]
        assert counts[0][0] == 0
        assert counts[0][1] >= 4, "steps worth counting"
        assert counts[-1][0] == counts[-1][1], "it ends"
        assert len(counts) >= 4
        done = [number for number, _ in counts]
        assert done == sorted(done)
        assert set(np.diff(done)) <= {0, 1}, "every step is told"
        assert all(number < total for number, total in counts[:-2]), "it does not end before its end"
