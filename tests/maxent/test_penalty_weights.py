"""Penalties: Java Maxent's tables, maxnet's own figures, and the papers' formulas. They decide how smooth a map is."""

import csv

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import CLASSES, Case, cases, small_case

from sdm.errors import OptionError
from sdm.estimators.sample import build_domain
from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.features.terms import KINDS
from sdm.maxent.confidence import deviation_radius
from sdm.maxent.penalty_weights import penalty_weights, table_numbers
from sdm.options.fitting import FitOptions

FILES = {"l": "l", "lq": "lq", "lqp": "lqp", "lqh": "lqh", "lqpht": "lqpht", "default": "lqph"}


def read_penalties(path):
    with open(path, newline="") as file:
        return [(row["feature"], float(row["reg"])) for row in csv.DictReader(file)]


def maxnet_name(kind, name, other, knot, lo, hi):
    """A feature as maxnet calls it; R writes numbers with 15 digits."""
    match kind:
        case "linear":
            return name
        case "quadratic":
            return f"I({name}^2)"
        case "product":
            return f"{name}:{other}"
        case "forward":
            return f"hinge({name}):{knot:.15g}:{hi:.15g}"
        case "reverse":
            return f"hinge({name}):{lo:.15g}:{knot:.15g}"
        case "threshold":
            return f"thresholds({name}):{knot:.15g}"
    return f"categorical({name}):{knot:.15g}"


@pytest.mark.parametrize("file", FILES)
def test_every_penalty_of_maxnet(file, shared, bradypus):
    """All 4,933 of them. Theirs are on raw features: a scaled penalty times the feature's range."""
    table, y = bradypus
    names = list(table.columns)
    domain, sample, size = build_domain(table.to_numpy(float), y == 1, names, ["ecoreg"], None, "distinct")
    assert domain.n == 1114
    features = build_features(domain, FILES[file], knots="maxnet", sample=sample, empty_categories=True)
    ours = penalty_weights(features, sample, size, rule="maxnet")
    expected = read_penalties(shared / "reference" / f"maxnet_{file}_reg.csv")
    assert features.size == len(expected)
    expected = dict(expected)  # the first forward and the last reverse hinge share a name, and a penalty
    terms = features.terms()
    for j in range(features.size):
        kind, v, w = KINDS[terms.kind[j]], terms.var[j], terms.other[j]
        name = maxnet_name(kind, names[v], names[w], terms.knot[j], terms.lo[j], terms.hi[j])
        span = terms.hi[j] - terms.lo[j] if kind in ("linear", "quadratic", "product") else 1.0
        assert ours[j] * span == pytest.approx(expected[name], rel=1e-9), name


def sampled(case, classes, knots, rule, size, multiplier=1.0):
    """Our penalties and the naive ones, for a sample that is worth `size` presences."""
    features = case.features(classes, knots)
    dense = case.dense(classes, knots)
    columns = naive.matrix(dense)
    ours = penalty_weights(features, case.sample, size, rule=rule, multiplier=multiplier)
    mean = case.sample @ columns
    variance = np.maximum(case.sample @ columns**2 - mean**2, 0) * (size / (size - 1) if size > 1 else 1)
    present = {f.letter for f in dense}
    theirs = [
        naive.tabulated_penalty(f.letter, present, size, np.sqrt(variance[j]), mean[j], rule, multiplier)
        for j, f in enumerate(dense)
    ]
    return ours, np.array(theirs)


@given(
    cases(),
    st.sampled_from(CLASSES),
    st.sampled_from(["maxent", "maxnet"]),
    st.sampled_from([1, 2, 5, 10, 13.5, 17, 25, 30, 64.2, 100, 5000]),
    st.sampled_from([0.1, 1.0, 4.0]),
)
def test_the_tables_at_every_sample_size(case, classes, rule, size, multiplier):
    assume(np.abs(case.x).max() < 1e5 and case.dense(classes, 3))
    ours, theirs = sampled(case, classes, 3, rule, size, multiplier)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(("classes", "smooth"), [("lhtc", "l"), ("lqhtc", "q"), ("lqphtc", "p")])
def test_every_row_of_the_tables(classes, smooth):
    for size in np.arange(0.0, 150.0, 0.5):
        expected = {
            letter: naive.interpolate(naive.TABLES[smooth if letter in "lqp" else letter], size) for letter in "lqphtc"
        }
        assert table_numbers(classes, size) == pytest.approx(expected, rel=1e-12), size


@pytest.mark.parametrize(
    "letter, expected",
    [
        ("l", {5: 1.0, 20: 0.6, 65: 0.125, 300: 0.05}),
        ("q", {5: 1.05, 12: 0.8 - 0.6 / 7, 100: 0.05}),
        ("p", {8.5: 1.75, 23.5: 0.725}),
        ("t", {50: 1.5, 200: 1.0}),
        ("h", {1: 0.5, 1000: 0.5}),
        ("c", {5: 0.575, 13.5: 0.375, 40: 0.25}),
    ],
)
def test_the_tables_by_hand(letter, expected):
    """Written out once more, so that the naive tables are not trusted alone."""
    for size, beta in expected.items():
        s = 0.45
        penalty_weight = naive.tabulated_penalty(letter, {letter}, size, s, 0.4, "maxent")
        spread = max(s, 1 / np.sqrt(size)) if letter == "h" else s
        assert penalty_weight == pytest.approx(beta * spread / np.sqrt(size))


def test_maxent_caps_the_deviation_and_maxnet_does_not():
    """Two presences at the ends of a variable deviate by more than half of its range."""
    sample = np.zeros(10)
    sample[[0, 9]] = 0.5
    case = Case(np.linspace(0, 1, 10)[:, None], (), np.full(10, 0.1), sample)
    maxent = penalty_weights(case.features("l"), sample, 2, rule="maxent")[0]
    maxnet = penalty_weights(case.features("l"), sample, 2, rule="maxnet")[0]
    assert maxent == pytest.approx(0.5 / np.sqrt(2))
    assert maxnet == pytest.approx(np.sqrt(0.5) / np.sqrt(2))


@pytest.mark.parametrize("multiplier", [0.5, 1.0, 20.0])
@pytest.mark.parametrize("rule", ["maxent", "maxnet", "deviation"])
def test_what_is_constant_at_the_presences_costs_the_least_that_the_option_says(rule, multiplier):
    """Free, its weight could grow without bound. The least scales with the multiplier; the option's text says it."""
    x = np.column_stack([np.repeat([3.0, 0.0, 7.0], [5, 10, 10]), np.arange(25.0)])
    features = build_features(Domain(x, ["flat", "steep"]), "l", sample=np.repeat([0.2, 0.0], [5, 20]))
    penalty_weight = penalty_weights(features, np.repeat([0.2, 0.0], [5, 20]), 5, rule=rule, multiplier=multiplier)
    assert penalty_weight[0] == pytest.approx(0.001 * multiplier)
    assert penalty_weight[1] > 0.01 * multiplier
    text = " ".join(FitOptions.model_fields["beta"].description.split())
    assert "deviation is σ/√m" in text
    assert "at least 0.001, times the multiplier" in text


@given(cases(), st.sampled_from([2, 17, 300]))
def test_deviation_is_sigma_over_root_m(case, size):
    assume(np.abs(case.x).max() < 1e5 and case.dense("lqh", 3))
    features, columns = case.features("lqh", 3), naive.matrix(case.dense("lqh", 3))
    variance = case.sample @ columns**2 - (case.sample @ columns) ** 2
    expected = np.maximum(2 * np.sqrt(np.maximum(variance, 0) * size / (size - 1) / size), 0.002)
    actual = penalty_weights(features, case.sample, size, rule="deviation", multiplier=2.0)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("m", [1, 10, 116, 5000])
@pytest.mark.parametrize("n", [1, 40, 2000])
def test_corollary_7_as_the_paper_has_it(m, n):
    deviation = np.array([0.0, 0.1, 0.5])
    for delta in (0.05, 0.5):
        expected = naive.corollary7(deviation**2, m, n, delta)
        np.testing.assert_allclose(deviation_radius(deviation, m, n, delta), expected, rtol=1e-14)


def test_corollary_7_as_a_rule():
    case = small_case(2)
    features, columns = case.features("lq"), naive.matrix(case.dense("lq"))
    m = 15
    variance = (case.sample @ columns**2 - (case.sample @ columns) ** 2) * m / (m - 1)
    actual = penalty_weights(features, case.sample, m, rule="corollary7", multiplier=0.5)
    np.testing.assert_allclose(actual, 0.5 * naive.corollary7(variance, m, 4, 0.05), rtol=1e-10)


def test_weighted_presences_count_for_what_they_are_worth():
    """Kish's size: one presence of weight ten among ten is not nineteen presences."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 2))
    present = np.arange(40) < 10
    weight = np.ones(40)
    weight[0] = 10.0
    domain, sample, size = build_domain(x, present, ["a", "b"], [], weight, "all")
    assert size == pytest.approx(19**2 / 109)
    assert sample[30:].tolist() == pytest.approx((weight[:10] / 19).tolist())
    features = build_features(domain, "l", sample=sample)
    columns = naive.matrix(naive.dense_features(np.vstack([x[10:], x[:10]]), "l"))
    s = naive.deviations(columns[30:], weight[:10])
    expected = [max(naive.interpolate(naive.TABLES["l"], size) * min(v, 0.5) / np.sqrt(size), 0.001) for v in s]
    np.testing.assert_allclose(penalty_weights(features, sample, size), expected, rtol=1e-10)


def test_one_number_penalises_all():
    case = small_case(3)
    penalties = penalty_weights(case.features("lqp"), case.sample, 15, rule=0.25, multiplier=2.0)
    assert penalties.tolist() == [0.5] * 5


@pytest.mark.parametrize(
    "options", [{"rule": "java"}, {"multiplier": 0.0}, {"multiplier": -1.0}, {"multiplier": np.nan}]
)
def test_bad_rules(options):
    case = small_case(3)
    with pytest.raises(OptionError, match=r"beta=|multiplier=") as caught:
        penalty_weights(case.features("l"), case.sample, 15, **options)
    assert "\n" not in str(caught.value)
