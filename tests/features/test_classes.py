"""Feature classes by letter or name, and Java Maxent's rule by sample size."""

import pytest

from sdm.errors import OptionError
from sdm.features.classes import auto_classes, features_text, parse_classes, parse_families, parse_features


@pytest.mark.parametrize(
    "presences, expected",
    [(1, "l"), (9, "l"), (10, "lq"), (14, "lq"), (15, "lqh"), (79, "lqh"), (80, "lqph"), (5000, "lqph")],
)
def test_auto_is_java_maxents_rule(presences, expected):
    """Users compare with Java's default run: another class would be another model."""
    assert parse_classes("auto", presences) == expected
    assert set(auto_classes(presences)) == set(expected)


@pytest.mark.parametrize(
    "given, expected",
    [
        ("LQH", "lqh"),
        ("hql", "lqh"),
        ("lqpht", "lqpht"),
        ("linear,hinge", "lh"),
        ("linear + quadratic", "lq"),
        (["Linear", "product"], "lp"),
        (("l", "q"), "lq"),
        (" Auto ", "lqph"),
        ("categorical", "c"),
    ],
)
def test_spellings(given, expected):
    assert parse_classes(given, 100) == expected


@pytest.mark.parametrize("bad", ["x", "lqz", "linear,bogus", "", [], [""], ["l", "nope"]])
def test_a_class_that_does_not_exist(bad):
    with pytest.raises(OptionError, match="features=") as caught:
        parse_classes(bad, 100)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given, expected",
    [
        ("lqh,relu:1000", ("lqh", 1000)),
        ("RELU:20 + lq", ("lq", 20)),
        (["linear", "relu:3"], ("l", 3)),
        ("relu:10000", ("", 10_000)),
        ("auto,relu:5", ("lqph", 5)),
        ("auto", ("lqph", 0)),
        ("hql", ("lqh", 0)),
    ],
)
def test_random_features_beside_letters(given, expected):
    assert parse_features(given, 100) == expected
    assert parse_features(features_text(*expected), 100) == expected, "what a model notes can be given again"


@pytest.mark.parametrize("bad", ["relu", "relu:", "relu:0", "relu:-3", "relu:1.5", "relu:10001", "relu:²", "lq,relu:x"])
def test_random_features_need_a_number(bad):
    with pytest.raises(OptionError, match="needs a number from 1 to 10,000, as in relu:1000"):
        parse_features(bad, 100)


def test_models_that_cannot_have_random_features_say_so():
    for parse in (parse_classes, parse_families):
        with pytest.raises(OptionError, match=r"'relu:9'.* needs a maxent model of one species"):
            parse("l,trees:2,relu:9", 100)
