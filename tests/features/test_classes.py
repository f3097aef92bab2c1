"""Feature classes by letter or name, and Java Maxent's rule by sample size."""

import pytest

from sdm.errors import OptionError
from sdm.features.classes import auto_classes, parse_classes


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
