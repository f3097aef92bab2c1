"""Tables of numbers and text become numbers, or a message that names the cell."""

import numpy as np
import pandas as pd
import pytest

from sdm.data.encode import Encoder
from sdm.errors import DataError, OptionError


def frame():
    return pd.DataFrame({"a": [1.0, 2.0, 3.0], "soil": ["peat", "clay", None]})


def test_text_classes_are_coded_in_order_and_missing_ones_stay_missing():
    encoder = Encoder.learn(frame(), ["soil"])
    assert encoder.labels == {"soil": ("clay", "peat")}
    np.testing.assert_array_equal(encoder.encode(frame()), [[1.0, 1.0], [2.0, 0.0], [3.0, np.nan]])


def test_a_class_never_seen_is_minus_one():
    encoder = Encoder.learn(frame(), ["soil"])
    other = pd.DataFrame({"soil": ["lava", pd.NA, float("nan")], "a": [0.0, 0.0, 0.0]})
    np.testing.assert_array_equal(encoder.encode(other)[:, 1], [-1.0, np.nan, np.nan])


def test_numeric_classes_keep_their_numbers():
    encoder = Encoder.learn(pd.DataFrame({"soil": [10, 20, 10]}), ["soil"])
    assert encoder.labels == {}
    assert encoder.encode(pd.DataFrame({"soil": [20]})).tolist() == [[20.0]]


@pytest.mark.parametrize("dtype", ["category", "string", "object"])
def test_kinds_of_text_columns(dtype):
    table = frame().astype({"soil": dtype})
    np.testing.assert_array_equal(Encoder.learn(table, ["soil"]).encode(table)[:, 1], [1.0, 0.0, np.nan])


def test_arrays_of_objects():
    table = np.array([[1.0, "peat"], [2.0, "clay"]], dtype=object)
    encoder = Encoder.learn(table, [1])
    assert encoder.names == ("x0", "x1")
    assert encoder.encode(table).tolist() == [[1.0, 1.0], [2.0, 0.0]]


def test_text_where_a_number_should_be_is_shown():
    table = pd.DataFrame({"a": [1.0, "n/a", 3.0]})
    with pytest.raises(DataError, match=r"column 'a' has 'n/a' in row 2.*categorical=\['a'\]") as caught:
        Encoder.learn(table).encode(table)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "values", [pd.array([1, None, 3], "Int64"), pd.array([1.0, None, 3.0], "Float64"), [1, None, 3], [1, pd.NA, 3]]
)
def test_missing_numbers_of_every_kind(values):
    table = pd.DataFrame({"a": pd.Series(values, dtype=None if not isinstance(values, list) else object)})
    np.testing.assert_array_equal(Encoder.learn(table).encode(table)[:, 0], [1.0, np.nan, 3.0])


def test_columns_that_are_missing_are_named():
    encoder = Encoder.learn(frame(), ["soil"])
    with pytest.raises(DataError, match="no column 'soil'; it has a"):
        encoder.encode(frame()[["a"]])
    with pytest.raises(DataError, match=r"has 1 columns, expected 2 \(a, soil\)"):
        encoder.encode(np.zeros((3, 1)))


def test_the_same_name_twice():
    with pytest.raises(DataError, match="got a more than once"):
        Encoder.learn(pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]))


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), ()])
def test_what_is_no_table(shape):
    with pytest.raises(DataError, match="dimensions, expected a table of two"):
        Encoder.learn(np.zeros(shape))


@pytest.mark.parametrize("bad", ["nope", 5, -1, True, None, 1.0])
def test_a_categorical_column_that_is_not_there(bad):
    with pytest.raises(OptionError, match="no such column; the columns are a, soil"):
        Encoder.learn(frame(), [bad])


def test_nested_lists_of_numbers_and_text():
    encoder = Encoder.learn(frame(), ["soil"])
    rows = [[1.5, "peat"], [float("nan"), "sand"], [2, None], [None, float("nan")]]
    expected = Encoder.encode(encoder, pd.DataFrame(rows, columns=["a", "soil"]))
    np.testing.assert_array_equal(encoder.encode(rows), expected)
    assert np.isnan(expected).tolist() == [[False, False], [True, False], [False, True], [True, True]]
