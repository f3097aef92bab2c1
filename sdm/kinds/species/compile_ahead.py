"""The first run on a machine compiles kernels, which takes longer than the run. What it needs after the fit is compiled
by a process beside it, which keeps it where this one finds it, while this one compiles what the fit needs.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from sdm._jit.kept import never_compiled
from sdm.executors.local import LocalProcesses


@contextmanager
def compiling_ahead() -> Iterator[None]:
    """Start the process where nothing was compiled before, and end it with the run."""
    with ExitStack() as stack:
        if (os.cpu_count() or 1) > 1 and never_compiled():
            process = LocalProcesses(1)
            stack.callback(process.kill)
            with suppress(OSError, RuntimeError):  # where no process can be started, this one compiles all
                process.submit(do_all_with_few)
        yield


def do_all_with_few() -> None:
    """Score a few points, find how important their variables are, and make the parts of a map of them."""
    import numpy as np

    from sdm._jit.compiling import CACHED
    from sdm.assess.importance import permutation_importance
    from sdm.features.terms import CATEGORY, LINEAR, PRODUCT, Terms
    from sdm.maps.moments import Moments
    from sdm.models.interface import ModelVariable
    from sdm.models.species import Model
    from sdm.novelty.ranges import TrainingRange

    if not CACHED:
        return
    zero, one = np.zeros(1), np.ones(1)
    first, second, third = np.array([0]), np.array([1]), np.array([2])
    terms = Terms.concatenate(
        [
            Terms.build(LINEAR, first, lo=zero, hi=one, weight=one),
            Terms.build(PRODUCT, first, other=second, lo=zero, hi=one, weight=one),
            Terms.build(CATEGORY, third, knot=one, lo=zero, hi=one, weight=one),
        ]
    )
    numbers = [ModelVariable(name, False, 0.0, 1.0) for name in "ab"]
    category = ModelVariable("c", True, 0.0, 1.0, classes=(0.0, 1.0))
    model = Model((*numbers, category), terms, 1.0, 0.0, 4, 0.0, 0.5, np.empty((0, 2)))
    points = np.array([[0.0, 0.0, 0.0], [0.5, 1.0, 1.0], [1.0, 0.5, 0.0], [1.0, 1.0, 1.0]])
    cells = list(points.T.astype(np.float32, order="C"))
    scores = model.predict_columns(cells)
    permutation_importance(model, points[:2], points, repeats=1)
    known = TrainingRange(("a", "b", "c"), np.zeros(3), np.ones(3), (None, None, np.array([0.0, 1.0])))
    known.mark(cells, np.ones(4, dtype=np.bool_), 4)
    Moments(-9999.0).add(scores.astype(np.float32))
