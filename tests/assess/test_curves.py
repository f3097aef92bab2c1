"""Learning and sensitivity curves: those of the paper, on a virtual species."""

import numpy as np
import pytest

from sdm import Maxent
from sdm.assess.curves import default_sizes, learning_curve, sensitivity_curve
from sdm.assess.fits import fit_table
from sdm.assess.measures.presence_only import measure_presences
from sdm.assess.splits.methods import split_table
from sdm.errors import DataError, OptionError

# Feature sets of Dudík, Phillips & Schapire 2007, Fig. 6, with β₀ = 0.1 but for thresholds.
PAPER = {
    "LQ": Maxent("lq", multiplier=0.1, beta="deviation"),
    "T": Maxent("t", multiplier=1.0, beta="deviation"),
}


@pytest.fixture(scope="module")
def partitions(virtual):
    """Five random partitions of 70 % and 30 %; the paper has ten."""
    return split_table(virtual, "subsample", replicates=5, percent=30, seed=2)


def test_the_learning_curve_falls(virtual, partitions) -> None:
    """Fig. 6: "in all cases, the performance improves as more samples become available", most of all for thresholds."""
    result = learning_curve(virtual, PAPER, partitions, sizes=[10, 30, 90, 280])
    assert [(p.label, p.presences) for p in result] == [(k, n) for k in ("LQ", "T") for n in (10, 30, 90, 280)]
    for label in PAPER:
        loss = [p.loss for p in result if p.label == label]
        assert np.all(np.diff(loss) < 0), f"{label}: {loss}"
        auc = [p.auc for p in result if p.label == label]
        assert auc[-1] > auc[0]
    assert all(p.loss < np.log(virtual.n_background) for p in result if p.presences >= 90), "better than uniform"
    assert all(p.partitions == 5 and p.loss_sd > 0 and p.auc_sd > 0 for p in result)


@pytest.mark.thorough
def test_thresholds_want_a_penalty_of_one_deviation(virtual, partitions) -> None:
    """Fig. 7: "the remarkably consistent minimum at β₀ ≈ 1.0 for threshold feature curves"."""
    betas = [0.12, 0.3, 0.6, 1.0, 1.7, 3.0, 10.0]
    result = sensitivity_curve(virtual, {"T": Maxent("t", beta="deviation")}, partitions, multipliers=betas)
    assert [p.multiplier for p in result] == betas
    loss = np.array([p.loss for p in result])
    assert 0.5 < betas[int(np.argmin(loss))] < 2.0
    assert loss[0] > loss.min() + 0.04, "too low a penalty overfits"
    assert loss[-1] > loss.min() + 0.1, "too high a penalty tells nothing"


def test_a_point_is_the_mean_over_partitions(small) -> None:
    split = split_table(small, "subsample", replicates=3, percent=25, seed=1)
    settings = {"L": Maxent("l"), "LQ": Maxent("lq")}
    result = sensitivity_curve(small, settings, split, multipliers=[2.0, 0.5])
    rows = []
    for fold in split.folds:
        train = fold.training(small)
        rows.append(measure_presences(fit_table(train, Maxent("l", multiplier=0.5)).model_, train, fold.testing(small)))
    first = result[0]
    assert (first.label, first.multiplier, first.presences) == ("L", 0.5, 60)
    assert first.loss == pytest.approx(np.mean([row["loss.val"] for row in rows]), abs=1e-3)
    assert first.auc == pytest.approx(np.mean([row["auc.val"] for row in rows]), abs=1e-3)
    assert first.loss_sd == pytest.approx(np.std([row["loss.val"] for row in rows], ddof=1), rel=0.02)
    assert [p.label for p in result] == ["L", "L", "LQ", "LQ"]


def test_larger_sets_contain_smaller_ones_and_seeds_repeat(small) -> None:
    split = split_table(small, "subsample", replicates=2, percent=25)
    one = learning_curve(small, {"L": Maxent("l", beta="deviation")}, split, sizes=[20, 60], seed=4)
    two = learning_curve(small, {"L": Maxent("l", beta="deviation")}, split, sizes=[60, 20, 20], seed=4)
    assert one == two
    assert default_sizes(200)[0] == 10
    assert default_sizes(200)[-1] == 200
    assert default_sizes(5) == [2, 3, 4, 5]


def test_what_cannot_be_drawn_is_said(small) -> None:
    split = split_table(small, "subsample", replicates=2, percent=25)
    with pytest.raises(DataError, match="expected 2 to 60"):
        learning_curve(small, PAPER, split, sizes=[10, 70])
    with pytest.raises(DataError, match="expected 2 to 60"):
        sensitivity_curve(small, PAPER, split, sizes=[1])
    with pytest.raises(OptionError, match="expected positive numbers"):
        sensitivity_curve(small, PAPER, split, multipliers=[0.0, 1.0])
