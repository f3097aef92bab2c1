"""Round numbers beside a map, and how they are written."""

from collections.abc import Sequence
from math import ceil, floor, log10


def round_numbers(low: float, high: float, most: int = 4, steps: Sequence[float] = (1, 2, 3, 5, 10)) -> list[float]:
    """Return round numbers from one to another, at equal distances: as many as there are with at most `most` steps
    between them."""
    span = high - low
    if not span > 0:
        return [low]
    power = 10.0 ** floor(log10(span / most))
    for step in [power * step for step in steps] + [10 * power * step for step in steps]:
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        if step >= span / most * (1 - 1e-9) and last - first <= most:
            return [float(f"{k * step:.12g}") for k in range(first, last + 1)]
    return [low, high]


def number_words(numbers: Sequence[float]) -> tuple[list[str], int]:
    """Return numbers with as many digits as tell them apart, and the power of ten that they are multiples of: 0 unless
    they are very large or very small."""
    top = max((abs(number) for number in numbers), default=0.0)
    power = floor(log10(top)) if top > 0 else 0
    power = power if power >= 5 or power <= -4 else 0
    shown = [number / 10.0**power for number in numbers]
    for digits in range(10):
        words = [f"{number:.{digits}f}" for number in shown]
        if all(abs(float(word) - number) < 1e-6 * max(top / 10.0**power, 1e-300) for word, number in zip(words, shown)):
            break
    return [word.replace("-", "−") for word in words], power
