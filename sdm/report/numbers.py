"""Round numbers beside charts and maps, and how they are written."""

from collections.abc import Sequence
from math import ceil, floor, isfinite, log10


def round_numbers(low: float, high: float, most: int = 6, steps: Sequence[float] = (1, 2, 5)) -> list[float]:
    """Return up to `most` round numbers within a range, at equal distances: `steps` times a power of ten."""
    if not (isfinite(low) and isfinite(high)) or high <= low:
        return [low] if isfinite(low) else []
    power = 10.0 ** floor(log10((high - low) / most))
    for step in [tens * step * power for tens in (1, 10) for step in steps]:
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [k * step for k in range(first, last + 1)]
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
