"""Held-out loss along a path: the same as from the distributions themselves, with a minimum that no grid beats."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from strategies import seeds

from sdm.assess.paths.strata import PathFold, _fold_losses, validate_path
from sdm.errors import DataError
from sdm.maxent.paths.homotopy import track_path


def strata(seed: int, folds: int = 4):
    """Records in strata of unequal size under a prior that is a little off, and a path for each fold of them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 25))
    m = rng.integers(1, 30, n).astype(float)
    u = np.ones(n) if rng.random() < 0.3 else rng.random(n) + 0.05
    truth = m * u * np.exp(rng.normal(size=n))
    records = rng.choice(n, int(rng.integers(2 * folds, 120)), p=truth / truth.sum())
    fold = rng.permutation(records.size) % folds
    paths, held_out = [], []
    for k in range(folds):
        train = np.bincount(records[fold != k], minlength=n)
        paths.append(track_path(u, train / m, m))
        held_out.append(np.bincount(records[fold == k], minlength=n))
    return paths, held_out


def plain_loss(path, held, nu) -> float:
    used = held > 0
    with np.errstate(divide="ignore"):
        return float(-(held[used] @ np.log(path.p(nu)[used] / path.atoms.u[used])) / held.sum())


@given(seeds)
def test_the_loss_is_that_of_the_distributions(seed):
    paths, held_out = strata(seed)
    result = validate_path(paths, held_out)
    rng = np.random.default_rng(seed)
    top = float(result.nu[-2])
    for nu in np.sort(np.concatenate([rng.random(6) * 1.2 * top, result.nu[:3], result.nu[-2:]])):
        expected = [plain_loss(path, counts, nu) for path, counts in zip(paths, held_out)]
        np.testing.assert_allclose(result.at(nu)[:, 0], expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(result.at(result.nu), result.losses, rtol=1e-12)
    assert result.losses[:, 0] == pytest.approx(0.0, abs=1e-12)


@given(seeds)
def test_a_single_fold_has_no_error_and_chooses_its_best(seed):
    result = validate_path(*(part[:1] for part in strata(seed)))
    assert result.best.error == 0.0
    assert result.one_error.mean == pytest.approx(result.best.mean, abs=1e-9)
    assert result.one_error.nu <= result.best.nu * (1 + 1e-12)


@given(seeds)
def test_nothing_on_the_path_is_better_than_the_best(seed):
    """Compared with many points on every segment; and the best is what it says it is."""
    paths, held_out = strata(seed)
    result = validate_path(paths, held_out)
    x = 1 / result.nu
    fine = np.concatenate([np.linspace(b, a, 12) for a, b in pairwise(x)])
    with np.errstate(divide="ignore"):
        nu = np.unique(1 / fine)
    mean = result.at(nu).mean(axis=0)
    assert result.best.mean <= mean.min() + 1e-12
    at = result.at(result.best.nu)[:, 0]
    assert result.best.mean == pytest.approx(at.mean(), abs=1e-12)
    assert result.best.error == pytest.approx(np.std(at, ddof=1) / 2, abs=1e-12)
    # the largest tolerance within one standard error: it is within, nothing looser is
    level = result.best.mean + result.best.error
    assert result.one_error.nu <= result.best.nu
    assert result.one_error.mean <= level + 1e-9
    assert np.all(mean[nu < result.one_error.nu * (1 - 1e-9)] >= level - 1e-9)


def test_a_minimum_inside_a_segment_is_found_by_its_derivative():
    """Two strata, prior even, 8 of 10 records in the first, 7 of 10 held out: the best share is 0.7, no breakpoint."""
    result = validate_path([track_path([1, 1], [8, 2])], [[7, 3]])
    assert result.best.nu == pytest.approx(10.0)  # 0.8 − 1/ν = 0.7
    assert result.best.mean == pytest.approx(-(0.7 * np.log(0.7 / 0.5) + 0.3 * np.log(0.3 / 0.5)))
    assert result.best.error == 0.0
    assert result.one_error.nu == pytest.approx(10.0, rel=1e-6)


def test_records_that_speak_against_every_fit_leave_the_prior():
    result = validate_path([track_path([1, 1], [8, 2])], [[1, 9]])
    assert result.best.mean == pytest.approx(0.0, abs=1e-12)
    assert result.best.nu == pytest.approx(1 / 0.3)


def test_a_stratum_without_training_records_makes_the_end_infinite():
    result = validate_path([track_path([1, 1, 1], [5, 5, 0])] * 2, [[1, 1, 1], [1, 1, 0]])
    assert np.isinf(result.mean[-1])
    assert np.isinf(result.error[-1])
    assert np.isfinite(result.best.mean)


@pytest.mark.parametrize(
    "held, word",
    [([], "one of each"), ([[1, 2, 3]], "shape"), ([[0, 0]], "no held-out"), ([[1, -1]], "negative")],
)
def test_folds_that_do_not_fit_are_refused(held, word):
    with pytest.raises(DataError, match=word):
        validate_path([track_path([1, 1], [1, 2])], held)


@given(seeds)
def test_slopes_are_those_of_the_loss_on_both_sides_of_every_breakpoint(seed):
    """The loss between two breakpoints is convex in 1/ν: a minimum inside is looked for where the slopes say so."""
    paths, held_out = strata(seed)
    fold = PathFold(paths[0], held_out[0] / held_out[0].sum())
    nu = np.unique(paths[0].nu)[:-1]
    nu = nu[np.diff(nu, append=2 * nu[-1:]) > 1e-3 * nu]
    value, before, after = _fold_losses(fold, nu)
    for side, slope in ((-1, before), (1, after)):
        near = nu * (1 + side * 1e-6)
        step = (_fold_losses(fold, near)[0] - value) / (1 / near - 1 / nu)
        np.testing.assert_allclose(slope, step, rtol=2e-2, atol=1e-4 * np.abs(slope).max(initial=1.0))
