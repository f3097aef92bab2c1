"""Reading a stack: what is read must be what is in the files, by any window, by any thread."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sdm.data.rasters.layers import open_stack
from sdm.errors import DataError


@pytest.mark.parametrize("part", [0.5, 0.02])
def test_truncated_file_is_named(tmp_path, write_raster, part, capfd):
    path = write_raster(
        tmp_path / "heat.tif", np.random.default_rng(0).random((600, 600)), tiled=True, compress="deflate"
    )
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(DataError, match=r"layer 'heat.tif' cannot be read at rows \d+-\d+: .*damaged") as caught:
        open_stack(path).summary()
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(budget=st.integers(1, 60_000), threads=st.integers(1, 3))
def test_scan_gives_the_whole_raster_whatever_the_windows(stack, landscape, budget, threads, naive):
    result = np.zeros((3, 60, 90), dtype="float32")
    for window, array in stack.scan(stack.windows(budget=budget * 12), threads=threads):
        result[(slice(None), *window.toslices())] = array
    np.testing.assert_array_equal(result, naive(landscape, stack.names))


def test_windows_are_blocks_in_bounded_memory(stack):
    assert [(w.width, w.height) for w in stack.windows()] == [(90, 60)]
    assert [(w.width, w.height) for w in stack.windows(rows=25)] == [(90, 25), (90, 25), (90, 10)]
    narrow = stack.windows(budget=16 * 32 * 3 * 4)
    assert all(w.width <= 32 and w.height <= 16 and w.row_off % 16 == 0 and w.col_off % 16 == 0 for w in narrow)


def test_scan_runs_a_function_in_the_readers_and_can_be_left(stack):
    counts = [n for _, n in stack.scan(stack.windows(rows=16), compute=lambda w, a: int(w.row_off) + a.shape[1])]
    assert counts == [16, 32, 48, 60]
    scan = stack.scan(stack.windows(rows=1))
    next(scan)
    scan.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(0, 59), st.integers(0, 89)), max_size=40))
def test_sample_is_the_value_of_the_cell(stack, landscape, naive, cells):
    rows, cols = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    np.testing.assert_array_equal(stack.sample(rows, cols), naive(landscape, stack.names)[:, rows, cols].T)


def test_sample_reads_few_blocks_for_few_points(stack):
    assert len(stack._windows_at(np.array([0, 1]), np.array([0, 89]))) == 2
    every = np.arange(60).repeat(90), np.tile(np.arange(90), 60)
    assert stack._windows_at(*every) == stack.windows()


def test_stack_can_be_sent_to_another_process(stack, whole):
    copy = pickle.loads(pickle.dumps(stack))  # noqa: S301
    assert copy == stack
    np.testing.assert_array_equal(whole(copy), whole(stack))


coordinates = st.floats(-5, 60, allow_nan=False).map(lambda value: round(value * 4) / 4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(x=st.tuples(coordinates, coordinates), y=st.tuples(coordinates, coordinates), budget=st.integers(1, 60_000))
def test_within_a_box_every_cell_is_read_and_far_from_it_none(stack, landscape, x, y, budget, naive):
    left, right, bottom, top = min(x), max(x), min(y), max(y)
    near = stack.within((left, bottom, right, top))
    result = np.zeros((3, 60, 90), dtype="float32")
    for window, array in near.scan(near.windows(budget=budget * 12), threads=2):
        result[(slice(None), *window.toslices())] = array
    xs, ys = stack.xy(np.zeros(90), np.arange(90))[0], stack.xy(np.arange(60), np.zeros(60))[1]
    inside = np.outer((ys >= bottom) & (ys <= top), (xs >= left) & (xs <= right))
    far = ~np.outer((ys >= bottom - 2 * 0.5) & (ys <= top + 2 * 0.5), (xs >= left - 2 * 0.5) & (xs <= right + 2 * 0.5))
    expected = naive(landscape, stack.names)
    np.testing.assert_array_equal(result[:, inside], expected[:, inside])
    assert np.isnan(result[:, far]).all()


@pytest.mark.parametrize("align", [None, "a"])
def test_a_file_opened_in_one_thread_may_be_closed_in_another(tmp_path, write_raster, align):
    """A thread opens a file anew when a connection was cut; the thread that began closes it."""
    near = write_raster(tmp_path / "a.tif", np.ones((4, 4)), cell=1.0)
    other = write_raster(tmp_path / "b.tif", np.ones((4, 4)), cell=0.5 if align else 1.0)
    stack = open_stack([near, other], align=align)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as another:
        reader = one.submit(stack.reader).result()
        another.submit(reader.close).result()


def test_a_box_around_everything_is_everything(stack, whole):
    left, bottom, right, top = stack.bounds
    near = stack.within((left, bottom, right, top))
    assert (near.reach.height, near.reach.width) == (stack.height, stack.width)
    np.testing.assert_array_equal(whole(near), whole(stack))
    strip = stack.within((right - 1.0, bottom, right, top)).reach
    assert (strip.height, strip.col_off + strip.width) == (stack.height, stack.width)
