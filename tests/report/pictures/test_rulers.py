"""Rulers draw what matplotlib draws, pixel by pixel, whatever is beside axes."""

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import AutoMinorLocator

from sdm.report.figures.rulers import Ruler, put_rulers
from sdm.report.figures.style import log_ticks, pixels_of, tidy

X = np.linspace(-3.0, 11.0, 40)


def large(axes: Axes) -> None:
    axes.plot(1e9 * X, 1e-9 * X)
    tidy(axes, x="a label", y="another")


def apart(axes: Axes) -> None:
    """Numbers that differ in their last digits: the rest is written once."""
    axes.plot(X + 1e7, X * 1e-3 + 500.0)


def logarithms(axes: Axes) -> None:
    axes.loglog(np.exp(X), np.exp(0.2 * X))
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis)
    tidy(axes, x="a label")


def small_numbers(axes: Axes) -> None:
    """Numbers beside small ticks, which rulers leave to matplotlib."""
    axes.semilogx(1 + 0.1 * X + 1, X)


def small_ticks(axes: Axes) -> None:
    axes.plot(X, X)
    axes.yaxis.set_minor_locator(AutoMinorLocator())
    axes.grid(alpha=0.3)


def upside_down(axes: Axes) -> None:
    axes.plot(X, X**2)
    axes.invert_yaxis()
    axes.invert_xaxis()
    tidy(axes, y="down")


def other_sides(axes: Axes) -> None:
    axes.plot(X, X**3)
    axes.xaxis.tick_top()
    axes.yaxis.tick_right()
    axes.xaxis.set_label_position("top")
    axes.yaxis.set_label_position("right")
    tidy(axes, x="above", y="beside")


def names(axes: Axes) -> None:
    axes.barh(range(4), range(4))
    axes.set_yticks(range(4), ["a", "a longer name", "$\\beta$", ""], style="italic")
    axes.set_xticks(range(4), ["one", "two", "three", "four and more"], rotation=60, ha="right")


def none(axes: Axes) -> None:
    axes.plot(X, X)
    axes.set_xticks([])
    axes.tick_params(left=False, labelleft=False)
    tidy(axes, x="nothing above", y="nothing beside")


def colours(axes: Axes) -> None:
    image = axes.imshow(np.outer(X, X))
    axes.figure.colorbar(image, ax=axes, label="colours")
    axes.figure.colorbar(image, ax=axes, orientation="horizontal")


def off(axes: Axes) -> None:
    axes.plot(X, X)
    axes.set_axis_off()


CASES = [large, apart, logarithms, small_numbers, small_ticks, upside_down, other_sides, names, none, colours, off]


def drawn(case: Callable[[Axes], None], layout: str | None, with_rulers: bool) -> tuple[np.ndarray, int]:
    figure = Figure(figsize=(5, 4), dpi=80, layout=layout)  # type: ignore[arg-type]
    shared = figure.subplots(2, 2, sharex=True)
    for axes in shared.ravel()[:3]:
        case(axes)
    if with_rulers:
        put_rulers(figure)
        put_rulers(figure)  # twice is once
    count = sum(isinstance(part, Ruler) for axes in figure.axes for part in axes.get_children())
    return pixels_of(figure).copy(), count


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", ["constrained", None])
def test_the_same_pixels(case: Callable[[Axes], None], layout: str | None) -> None:
    plain, none_there = drawn(case, layout, False)
    ruled, count = drawn(case, layout, True)
    assert none_there == 0
    assert count > 0
    assert np.array_equal(plain, ruled)


def test_a_ruler_knows_its_room_without_being_told_who_draws() -> None:
    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    large(axes)
    before = axes.xaxis.get_tightbbox()
    put_rulers(figure)
    (ruler,) = (part for part in axes.get_children() if isinstance(part, Ruler) and part._lies)
    assert before is not None
    assert ruler.get_tightbbox().y0 == pytest.approx(before.y0)
