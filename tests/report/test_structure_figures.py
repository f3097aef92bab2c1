"""Pictures of structural models: each shows what it was given."""

from pathlib import Path

import numpy as np
from terminal import picture

from benchmarks.tools.figures import draw_convergence


def test_curves_of_several_solvers(tmp_path: Path) -> None:
    curves = {"newton": [1.0, 0.1, 0.0], "structmaxent1": 1 / np.arange(1, 50)}
    assert picture(draw_convergence(curves, 0.0, tmp_path / "c.png")).std() > 0
