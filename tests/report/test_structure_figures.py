"""Pictures of structural models: each shows what it was given."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from terminal import picture

from benchmarks.tools.figures import draw_convergence
from sdm.assess.structure import Structure
from sdm.maxent.penalty_search import PenaltySetting
from sdm.report.figures.assessment import draw_prices


@pytest.fixture
def structure() -> Structure:
    tried = [PenaltySetting(lam, beta, -lam * beta, 0.1, ()) for lam in (0.01, 0.1, 1.0) for beta in (0.1, 1.0)]
    return Structure(
        lam=1.0,
        beta=1.0,
        complexity="bound",
        families=[],
        rules=[],
        interactions=[],
        gap=1e-5,
        search=tried,
    )


def test_drawn_twice_the_same(structure: Structure, tmp_path: Path) -> None:
    first, second = draw_prices(structure, tmp_path / "a.png"), draw_prices(structure, tmp_path / "b.png")
    assert first.read_bytes() == second.read_bytes()
    assert picture(first).std() > 0


def test_the_chosen_prices_are_marked(structure: Structure, tmp_path: Path) -> None:
    one = picture(draw_prices(structure, tmp_path / "a.png"))
    other = picture(draw_prices(replace(structure, lam=0.01, beta=0.1), tmp_path / "b.png"))
    assert np.any(one != other)


def test_curves_of_several_solvers(tmp_path: Path) -> None:
    curves = {"newton": [1.0, 0.1, 0.0], "structmaxent1": 1 / np.arange(1, 50)}
    assert picture(draw_convergence(curves, 0.0, tmp_path / "c.png")).std() > 0
