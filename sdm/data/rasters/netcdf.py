"""Name the bands of a NetCDF variable by their time and other dimensions.

GDAL returns the coordinates of a band as text, and time as a number with a unit such as "days since 1850-01-01" and a
calendar, which in climate models may differ from the Gregorian (CF conventions, section 4.4).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
PLAIN = re.compile(r"band\d*|layer|variable|data|values?|z|__xarray_dataarray_variable__", re.IGNORECASE)
"""Generic names of variables; the name of the file is more specific."""
_DAY = 86_400
_SECONDS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600, "d": _DAY}
_SECONDS |= {"day": _DAY, "week": 7 * _DAY}
_SINCE = re.compile(
    r"\s*(?P<unit>[a-z]+)\s+since\s+(?P<year>-?\d{1,5})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?"
    r"(?:[T\s]+(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2}))?(?::(?P<second>\d{1,2}))?)?",
    re.IGNORECASE,
)
_FIRST_GREGORIAN = 2_299_161  # the Julian day of 15 October 1582, when the standard calendar changed
Moment = tuple[int, int, int, int, int, int]
"""Year, month, day, hour, minute, second."""


def moment_of(value: float, units: str, calendar: str = "standard") -> Moment | None:
    """Return the time of a value of a time coordinate; None if its units are not dates.

    Examples
    --------
    >>> moment_of(31, "days since 2041-01-01"), moment_of(59, "days since 2044-01-01", "noleap")[:3]
    ((2041, 2, 1, 0, 0, 0), (2044, 3, 1))
    """
    if match := re.match(r"\s*(?:day|month) as %Y%m(%d)?", units):
        digits = int(value)
        year, rest = divmod(digits, 10_000) if match[1] else divmod(digits * 100 + 1, 10_000)
        moment = (year, rest // 100, rest % 100, 0, 0, 0)
        return moment if 1 <= moment[1] <= 12 else None
    match = _SINCE.match(units)
    if match is None:
        return None
    part = {key: int(text) for key, text in match.groupdict(default="0").items() if key != "unit"}
    year, month, day = part["year"], part["month"], part["day"] or 1
    unit = match["unit"].lower()
    unit = unit if unit in _SECONDS else unit.removesuffix("s")
    if not 1 <= month <= 12:
        return None
    if unit in ("month", "year", "common_year"):  # calendar months and years, ignoring fractions
        total = year * 12 + month - 1 + int(value // 1 if unit == "month" else value // 1 * 12)
        return (total // 12, total % 12 + 1, day, 0, 0, 0)
    if unit not in _SECONDS:
        return None
    start = _day_number(year, month, day, calendar)
    seconds = round(value * _SECONDS[unit]) + part["hour"] * 3600 + part["minute"] * 60 + part["second"]
    days, rest = divmod(seconds, _DAY)
    return (*_date(start + days, calendar), rest // 3600, rest // 60 % 60, rest % 60)


def _day_number(year: int, month: int, day: int, calendar: str) -> int:
    """Return the number of a day in a calendar: the Julian day number, or days since the year 0 in model calendars."""
    kind = _kind(calendar)
    if isinstance(kind, tuple):
        return year * sum(kind) + sum(kind[: month - 1]) + day - 1
    shift = (14 - month) // 12
    y, m = year + 4800 - shift, month + 12 * shift - 3
    number = day + (153 * m + 2) // 5 + 365 * y + y // 4 - 32_083  # Julian
    gregorian = number + 38 - y // 100 + y // 400
    return gregorian if kind == "gregorian" or (kind == "mixed" and gregorian >= _FIRST_GREGORIAN) else number


def _date(number: int, calendar: str) -> tuple[int, int, int]:
    """Return year, month and day of a day number."""
    kind = _kind(calendar)
    if isinstance(kind, tuple):
        year, rest = divmod(number, sum(kind))
        month = next(k for k in range(12) if rest < sum(kind[: k + 1]))
        return year, month + 1, rest - sum(kind[:month]) + 1
    if kind == "gregorian" or (kind == "mixed" and number >= _FIRST_GREGORIAN):
        century = (4 * (number + 32_044) + 3) // 146_097
        days, base = number + 32_044 - 146_097 * century // 4, 100 * century
    else:
        days, base = number + 32_082, 0
    years = (4 * days + 3) // 1461
    days -= 1461 * years // 4
    month = (5 * days + 2) // 153
    return base + years - 4800 + month // 10, month + 3 - 12 * (month // 10), days - (153 * month + 2) // 5 + 1


def _kind(calendar: str) -> str | tuple[int, ...]:
    """Return the type of a calendar: the lengths of the months if they are constant."""
    name = calendar.lower()
    lengths = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if name in ("noleap", "365_day"):
        return lengths
    if name in ("all_leap", "366_day"):
        return (31, 29, *lengths[2:])
    if name == "360_day":
        return (30,) * 12
    return {"proleptic_gregorian": "gregorian", "julian": "julian"}.get(name, "mixed")


def time_labels(moments: Sequence[Moment]) -> list[str]:
    """Return the shortest distinct labels of times: empty for one time; months if all twelve occur once (a climatology,
    or one year); otherwise years, months, days or times.

    Examples
    --------
    >>> time_labels([(1995, m, 16, 0, 0, 0) for m in range(1, 13)])[:2]
    ['jan', 'feb']
    >>> time_labels([(2041, 1, 16, 0, 0, 0), (2041, 2, 15, 0, 0, 0)])
    ['2041-01', '2041-02']
    """
    if len(set(moments)) <= 1:
        return [""] * len(moments)
    if len(set(moments)) == 12 and len({moment[1] for moment in moments}) == 12:
        return [MONTHS[moment[1] - 1] for moment in moments]
    texts = ["{:04d}", "-{:02d}", "-{:02d}", "T{:02d}", "{:02d}", "{:02d}"]
    depth = next(k for k in range(1, 7) if len({moment[:k] for moment in moments}) == len(set(moments)))
    depth = 5 if depth == 4 else depth  # hours are written with minutes
    return ["".join(text.format(part) for text, part in zip(texts[:depth], moment)) for moment in moments]


def band_names(variable: str, bands: Sequence[Mapping[str, str]], tags: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the names of the bands of a variable, from the tags of each band and of the file, and a note if there are
    several. Bands with equal coordinates are numbered."""
    prefix = "NETCDF_DIM_"
    names = [variable] * len(bands)
    dimensions = list(dict.fromkeys(key for band in bands for key in band if key.startswith(prefix)))
    note = ""
    for key in dimensions:
        dimension = key.removeprefix(prefix)
        values = [band.get(key, "") for band in bands]
        moments = _moments(values, dimension, tags)
        if moments is not None:
            labels = time_labels(moments)
            first, last = min(moments), max(moments)
            note = f"{len(set(moments)):,} times from {_month(first)} to {_month(last)}"
        else:
            labels = [f"{dimension}{_number(value)}" if len(set(values)) > 1 else "" for value in values]
            note = note or (f"{len(set(values)):,} values of {dimension}" if len(set(values)) > 1 else "")
        names = [f"{name}_{label}" if label else name for name, label in zip(names, labels)]
    if len(set(names)) < len(names):
        return [f"{variable}_{k + 1}" for k in range(len(names))], f"{len(names):,} bands"
    return names, note if len(names) > 1 else ""


def _moments(values: Sequence[str], dimension: str, tags: Mapping[str, Any]) -> list[Moment] | None:
    """Return the times of a time coordinate, None for others; numbers of a dimension `month` are months."""
    units, calendar = str(tags.get(f"{dimension}#units", "")), str(tags.get(f"{dimension}#calendar", "standard"))
    try:
        numbers = [float(value) for value in values]
        if dimension.lower() in ("month", "months") and "since" not in units and set(numbers) == set(range(1, 13)):
            return [(0, int(number), 1, 0, 0, 0) for number in numbers]
        moments = [moment_of(number, units, calendar) for number in numbers]
    except (ValueError, OverflowError):
        return None
    return [moment for moment in moments if moment is not None] if None not in moments else None


def _month(moment: Moment) -> str:
    return f"{moment[0]:04d}-{moment[1]:02d}" if moment[0] else MONTHS[moment[1] - 1]


def _number(text: str) -> str:
    try:
        return f"{float(text):g}"
    except ValueError:
        return text
