"""Windows of point patterns: which cells they have, and in which coordinates."""

import numpy as np
import pytest
from rasterio.windows import Window

from sdm.data.records.clean import locate
from sdm.data.records.occurrences import Occurrences
from sdm.data.window import box_around, window_stack
from sdm.errors import DataError


def records(x, y, crs: str = "EPSG:4326") -> Occurrences:
    return Occurrences(np.full(len(x), "a", dtype=object), np.asarray(x, float), np.asarray(y, float), crs)


def test_layers_are_the_coordinates_of_cells() -> None:
    stack = window_stack(records([1], [1]), (0, 100, 4, 106), [2, 3], "none")
    with stack.reader() as reader:
        x, y = reader.read(Window(0, 0, 2, 3))
    assert x.tolist() == [[1, 3]] * 3
    assert y.tolist() == [[105, 105], [103, 103], [101, 101]]
    assert stack.paths == ()


def test_one_number_makes_squares_that_cover_the_window() -> None:
    stack = window_stack(records([1], [1]), (0, 0, 10, 3.5), [10], "none")
    assert (stack.width, stack.height) == (10, 4)
    assert stack.bounds == pytest.approx((0, 0, 10, 4))
    assert window_stack(records([1], [1]), (0, 0, 0.3, 3.0), [10], "none").width == 1


def test_a_box_around_the_points_holds_all() -> None:
    points = records([5, 15, np.nan], [-2, 8, 3])
    assert box_around(points) == pytest.approx((4.5, -2.5, 15.5, 8.5))
    with pytest.raises(DataError, match="same x, or the same y"):
        box_around(records([1, 1], [2, 3]))


def test_coordinates_are_degrees_where_they_can_be() -> None:
    def system(bounds, crs, of="EPSG:4326"):
        known = window_stack(records([1], [1], of), bounds, [5], crs).crs
        return None if known is None else known.to_string()

    assert system((0, 0, 10, 8), None) == "EPSG:4326"
    assert system((0, 0, 10, 8), "none") is None
    assert system((0, 0, 24, 365), None) is None
    assert system((0, 0, 500, 400), "EPSG:25833", "EPSG:25833") == "EPSG:25833"
    assert system((0, 0, 500, 400), None, "EPSG:25833") == "EPSG:25833"


def test_zero_is_a_place_in_a_plane_and_nowhere_else() -> None:
    points = records([0, 2, 9], [0, 1, 1])
    plane = window_stack(points, (0, 0, 4, 4), [4], "none")
    assert locate(points, plane).record.tolist() == [0, 1]
    assert locate(points, window_stack(points, (0, 0, 4, 4), [4])).record.tolist() == [1]
