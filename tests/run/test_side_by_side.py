"""A map and measures at the same time: both results, the progress of one after the other, and errors that end both."""

from threading import Event

import pytest

from sdm.run.job import side_by_side


def test_both_results_come_back_and_the_thread_is_shown_when_it_is_waited_for() -> None:
    halfway, measured, shown = Event(), Event(), list[tuple[int, int, str]]()

    def make_map(quiet):
        quiet(0, 2, "map")
        quiet(1, 2, "map")
        halfway.set()
        assert measured.wait(10)
        while not [text for _, _, text in shown if text == "map"]:  # until it is waited for
            quiet(1, 2, "map")
        quiet(2, 2, "map")
        return "map"

    def measure(progress):
        assert halfway.wait(10)
        progress(1, 1, "measures")
        measured.set()
        progress(1, 1, "done")
        return "measures"

    assert side_by_side(make_map, measure, lambda *step: shown.append(step)) == ("map", "measures")
    assert shown == [(1, 1, "measures"), (1, 1, "done"), (0, 2, "map"), (1, 2, "map"), (2, 2, "map")]


def test_an_error_of_the_measures_ends_the_map() -> None:
    steps, begun = [], Event()

    def make_map(quiet):
        for k in range(10**9):
            steps.append(k)
            begun.set()
            quiet(k, 10**9, "map")

    def measure(progress):
        assert begun.wait(10)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side(make_map, measure, None)
    assert len(steps) < 10**9


def test_an_error_of_the_map_ends_the_measures() -> None:
    def make_map(quiet):
        raise OSError("no space left")

    def measure(progress):
        for k in range(10**9):
            progress(k, 10**9, "jackknife")

    with pytest.raises(OSError, match="no space left"):
        side_by_side(make_map, measure, None)


def test_an_error_of_the_map_is_raised_after_measures_without_progress() -> None:
    def make_map(quiet):
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        side_by_side(make_map, lambda progress: "measures", None)
