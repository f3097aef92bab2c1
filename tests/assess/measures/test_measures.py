"""Measures against scikit-learn, against slow re-implementations of their definitions, and against worked figures."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, rankdata, spearmanr
from sklearn.metrics import roc_auc_score, roc_curve

from sdm.assess.measures.basic import (
    aicc_weights,
    auc,
    auc_deviation,
    binomial_tail,
    boyce,
    check_counts,
    density_aicc,
    gain,
    log_loss,
    max_tss,
    omission_rate,
    partial_roc_ratio,
    ranks,
    relative_gain,
    spearman,
    tenth_percentile,
    tss,
)
from sdm.errors import DataError

# Few distinct values, so that ties are common.
scores = st.integers(1, 40).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 8).map(float)))


@given(scores, scores)
def test_auc_is_that_of_scikit_learn(presence, background) -> None:
    labels = np.repeat([1, 0], [presence.size, background.size])
    assert auc(presence, background) == pytest.approx(roc_auc_score(labels, np.concatenate([presence, background])))


@given(scores, scores)
def test_auc_does_not_depend_on_the_scale(presence, background) -> None:
    assert auc(np.exp(presence), np.exp(background)) == pytest.approx(auc(presence, background))
    assert auc(background, presence) == pytest.approx(1 - auc(presence, background))


@given(scores.filter(lambda v: v.size > 1), scores.filter(lambda v: v.size > 1))
def test_deviation_is_delongs_by_its_definition(presence, background) -> None:
    """V10 and V01 of DeLong, DeLong and Clarke-Pearson (1988), pair by pair."""
    wins = (presence[:, None] > background) + 0.5 * (presence[:, None] == background)
    m, n = wins.shape
    theta = wins.mean()
    s10 = np.sum((wins.mean(axis=1) - theta) ** 2) / (m - 1)
    s01 = np.sum((wins.mean(axis=0) - theta) ** 2) / (n - 1)
    assert auc_deviation(presence, background) == pytest.approx(np.sqrt(s10 / m + s01 / n), abs=1e-12)


def test_a_published_auc_and_deviation() -> None:
    """The CT ratings of Hanley and McNeil (1982, Table I): Stata's manual of `roctab` gives 0.8932 and, by DeLong,
    0.0307."""
    ratings = np.arange(1.0, 6.0)
    normal, abnormal = np.repeat(ratings, [33, 6, 6, 11, 2]), np.repeat(ratings, [3, 2, 2, 11, 33])
    assert auc(abnormal, normal) == pytest.approx(0.8932, abs=5e-5)
    assert auc_deviation(abnormal, normal) == pytest.approx(0.0307, abs=5e-5)


def test_one_presence_has_no_deviation() -> None:
    assert np.isnan(auc_deviation(np.array([1.0]), np.array([0.0, 2.0])))


def test_log_loss_and_gain() -> None:
    raw = np.array([0.1, 0.4])
    assert log_loss(raw) == pytest.approx(-(np.log(0.1) + np.log(0.4)) / 2)
    assert log_loss(np.array([0.1, 0.0])) == np.inf
    # the uniform distribution over 20 cells has a gain of nothing
    assert gain(np.full(5, 1 / 20), 20) == pytest.approx(0.0)
    assert gain(raw, 10) == pytest.approx(np.log(10 * np.sqrt(0.1 * 0.4)))


def test_relative_gain_scales_the_density_over_the_background() -> None:
    presence, background = np.array([4.0, 1.0]), np.array([1.0, 1.0, 2.0, 0.0])
    assert relative_gain(presence, background) == pytest.approx((np.log(4) + np.log(1)) / 2)
    assert relative_gain(7 * presence, 7 * background) == pytest.approx(relative_gain(presence, background))
    # weights 0 0 1 0 make the mean density 2
    weighted = relative_gain(presence, background, np.array([0.0, 0.0, 1.0, 0.0]))
    assert weighted == pytest.approx((np.log(2) + np.log(0.5)) / 2)
    assert relative_gain(np.array([0.0]), background) == -np.inf
    assert relative_gain(np.array([0.0]), background, floor=0.001) == pytest.approx(np.log(0.001))


# ----------------------------------------------------------------------------------------------------- AICc


def test_aicc_by_hand() -> None:
    """Four presences with densities ½, ¼, ⅛ and ⅛ of a background that sums to 1; one coefficient.

    ln L = ln(1/512) = −6.238325; AICc = 2 + 12.47665 + 2·1·2/(4 − 1 − 1) = 16.47665.
    """
    raw = np.array([0.5, 0.25, 0.125, 0.125])
    result = density_aicc(raw, np.array([0.6, 0.4]), 1)
    assert result.value == pytest.approx(16.47665, abs=1e-5)
    assert result.reason == ""
    # only relative densities count
    assert density_aicc(3 * raw, 3 * np.array([0.6, 0.4]), 1).value == pytest.approx(result.value)


def test_aicc_says_why_it_is_undefined() -> None:
    raw, background = np.full(5, 0.2), np.full(10, 0.1)
    assert np.isfinite(density_aicc(raw, background, 3).value)
    for k in (4, 5, 60):
        result = density_aicc(raw, background, k)
        assert np.isnan(result.value)
        assert f"{k} coefficients for 5 presences" in result.reason
    empty = density_aicc(np.array([0.2, 0.0, 0.1, 0.1]), background, 1)
    assert np.isnan(empty.value)
    assert "1 of 4 presences have a density of zero" in empty.reason


def test_aicc_weights_leave_out_what_is_undefined() -> None:
    delta, weight = aicc_weights([102.0, float("nan"), 100.0])
    assert delta[[0, 2]] == pytest.approx([2.0, 0.0])
    assert weight[[0, 2]] == pytest.approx(np.array([np.exp(-1), 1]) / (1 + np.exp(-1)))
    assert np.isnan(delta[1])
    assert np.isnan(weight[1])
    assert all(np.isnan(part).all() for part in aicc_weights([float("nan")]))


# ------------------------------------------------------------------------------------------------- thresholds


def test_of_thresholds_with_the_same_skill_the_lowest_is_taken() -> None:
    """Both have a skill of 1/12, whose sums in floating point differ in the last digit."""
    assert max_tss(np.repeat([0.0, 1.0, 2.0], [10, 1, 1]), np.repeat([0.0, 1.0], [11, 1])) == (
        pytest.approx(1 / 12),
        1.0,
    )


@given(scores, scores)
def test_skill_is_sensitivity_plus_specificity_less_one(presence, absence) -> None:
    labels = np.repeat([1, 0], [presence.size, absence.size])
    false, true, _ = roc_curve(labels, np.concatenate([presence, absence]), drop_intermediate=False)
    best, level = max_tss(presence, absence)
    assert best == pytest.approx(np.max(true - false))
    assert tss(presence, absence, level) == pytest.approx(best)
    levels = np.unique(np.concatenate([presence, absence]))
    assert level == min(each for each in levels if tss(presence, absence, each) > best - 1e-9), "the lowest of them"


@given(scores)
def test_omission_at_training_thresholds(train) -> None:
    assert omission_rate(train, train.min()) == 0.0
    level = tenth_percentile(train)
    below = int(np.sum(train < level))
    assert below <= train.size // 10 < below + int(np.sum(train == level)), "a tenth, or ties at the tenth"
    assert omission_rate(np.array([1.0, 3.0, 5.0, 7.0]), 5.0) == 0.5


@given(st.integers(1, 60), st.floats(0.0, 1.0), st.data())
def test_binomial_tail_is_that_of_scipy(n, p, data) -> None:
    hits = data.draw(st.integers(0, n))
    assert binomial_tail(hits, n, p) == pytest.approx(binom.sf(hits - 1, n, p), rel=1e-9, abs=1e-300)


def test_binomial_tail_by_hand() -> None:
    """Four of five hits at one half: (5 + 1)/32."""
    assert binomial_tail(4, 5, 0.5) == pytest.approx(6 / 32)


# ------------------------------------------------------------------------------------------------ partial ROC


def test_partial_roc_by_hand() -> None:
    """Presences 5, 4, 3, 1 and background 4, 2, 2, 1; at most a quarter of the presences may be left out.

    Thresholds 3, 2 and 1 omit at most one: (area, sensitivity) = (¼, ¾), (¾, ¾), (1, 1). Model: ½·¾ + ¼·⅞ = 0.59375;
    random: (1 − 1/16)/2 = 0.46875; ratio 1.2667.
    """
    presence, background = np.array([5.0, 4.0, 3.0, 1.0]), np.array([4.0, 2.0, 2.0, 1.0])
    assert partial_roc_ratio(presence, background, 0.25) == pytest.approx(0.59375 / 0.46875)


@given(scores, scores, st.sampled_from([0.0, 0.05, 0.1, 0.5]))
def test_partial_roc_is_its_definition(presence, background, omitted) -> None:
    points = []
    for level in sorted(set(presence) | set(background)):
        if sum(presence < level) / len(presence) <= omitted + 1e-9:
            points.append((np.mean(background >= level), np.mean(presence >= level)))
    points.sort()
    pairs = list(itertools.pairwise(points))
    model = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairs)
    random = sum((b[0] - a[0]) * (a[0] + b[0]) / 2 for a, b in pairs)
    ratio = partial_roc_ratio(presence, background, omitted)
    if random == 0:
        assert np.isnan(ratio)
    else:
        assert ratio == pytest.approx(model / random)
        assert ratio <= 2.0


def test_partial_roc_without_a_limit_is_the_auc() -> None:
    """With every threshold allowed the partial area is the whole one, and random is one half (McClish 1989)."""
    rng = np.random.default_rng(4)
    presence, background = rng.normal(1, 1, 40), rng.normal(0, 1, 200)
    top = np.append(background, presence.max() + 1)  # so that the curve begins at an area of nearly zero
    ratio = partial_roc_ratio(presence, top, 1.0)
    assert ratio == pytest.approx(2 * auc(presence, top), abs=0.02)


def test_partial_roc_test_tells_skill_from_chance() -> None:
    rng = np.random.default_rng(2)
    background = rng.normal(0, 1, 500)

    def ratios(presence):
        """Of 100 bootstrap samples of half of the presences, as Peterson et al. test the ratio."""
        draw = np.random.default_rng(1)
        size = presence.size // 2
        samples = (presence[draw.integers(0, presence.size, size)] for _ in range(100))
        result = np.array([partial_roc_ratio(sample, background) for sample in samples])
        return result[~np.isnan(result)]

    good, chance, wrong = (ratios(rng.normal(mean, sd, 60)) for mean, sd in ((2, 0.5), (0, 1), (-2, 0.5)))
    assert np.all(good > 1.0)
    assert good.mean() > 1.5
    assert chance.mean() == pytest.approx(1.0, abs=0.05)
    assert np.mean(wrong <= 1.0) > 0.5


# ------------------------------------------------------------------------------------------------------ Boyce


def ecospat(fit, obs, res=100, shift=False) -> float:
    """ecospat.boyce of ecospat 3.2.2, line by line; `shift` adds its unit to the last window."""
    mini, maxi = min(*fit, *obs), max(*fit, *obs)
    w = (max(fit) - min(fit)) / 10
    by = (maxi - mini - w) / res
    vec = [mini + k * by for k in range(res + 1)]
    intervals = [(v, v + w) for v in vec]
    intervals[-1] = (vec[-1] + 1, maxi + 1) if shift else (vec[-1], maxi)
    f, place = [], []
    for v, (a, b) in zip(vec, intervals):
        p = sum(a <= o <= b for o in obs) / len(obs)
        e = sum(a <= o <= b for o in fit) / len(fit)
        if p == e == 0:
            continue
        f.append(round(p / e, 10) if e else np.inf)
        place.append(v)
    keep = [k for k in range(len(f)) if k + 1 == len(f) or f[k] != f[k + 1]]
    return float(spearmanr([f[k] for k in keep], [place[k] for k in keep]).statistic)


@pytest.mark.parametrize("seed", range(8))
def test_boyce_is_ecospats_with_its_last_window(seed: int) -> None:
    rng = np.random.default_rng(seed)
    background = rng.beta(1, 3, 400)
    presence = rng.beta(2, 2 + seed % 3, 40)
    result = boyce(presence, background)
    assert result.index == pytest.approx(ecospat(background, presence), abs=1e-12)
    # and the window that ecospat loses makes little difference
    assert result.index == pytest.approx(ecospat(background, presence, shift=True), abs=0.05)


def test_boyce_by_hand() -> None:
    """Ten background points at 0, 1 … 9 and windows of width 0.9 that begin at 0, 8.1/4 … 8.1: one point in each.

    Presences 2, 5, 5 and 9, 9, 9: windows [0, .9], [2.025, 2.925] (holds none), [4.05, 4.95] (none), [6.075, 6.975]
    (none), [8.1, 9]: two hold a background point, with ratios 0 and (3/6)/(1/10) = 5; their correlation is 1.
    """
    background = np.arange(10.0)
    result = boyce(np.array([2.0, 5.0, 5.0, 9.0, 9.0, 9.0]), background, width=0.9, windows=5)
    assert result.ratio == pytest.approx([0.0, 5.0])
    assert result.middle == pytest.approx([0.45, 8.55])
    assert result.index == pytest.approx(1.0)


def test_boyce_knows_which_way_is_up() -> None:
    rng = np.random.default_rng(1)
    background = rng.random(5000)
    rising = background[rng.random(5000) < background]
    assert boyce(rising, background).index > 0.95
    assert boyce(1 - rising, background).index < -0.95
    assert np.isnan(boyce(np.ones(5), np.ones(9)).index), "a constant prediction has no index"


@given(scores, scores)
def test_ranks_and_spearman_are_those_of_scipy(a, b) -> None:
    assert ranks(a) == pytest.approx(rankdata(a))
    size = min(a.size, b.size)
    x, y = a[:size], b[:size]
    if size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(spearman(x, y))
    else:
        assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic)


def test_nothing_to_measure_on_is_said() -> None:
    with pytest.raises(DataError, match="0 presences and 3 background points"):
        check_counts(np.empty(0), np.zeros(3))
