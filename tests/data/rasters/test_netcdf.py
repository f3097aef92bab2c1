"""Times of NetCDF: a band must be called after the month that it is, in every calendar of climate models."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.data.rasters.netcdf import band_names, moment_of, time_labels

LENGTHS = {
    "noleap": [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
    "all_leap": [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
    "360_day": [30] * 12,
}


@given(
    st.datetimes(datetime(1583, 1, 1), datetime(2400, 1, 1)).map(lambda when: when.replace(microsecond=0)),
    st.integers(-20_000, 200_000),
    st.sampled_from(["standard", "gregorian", "proleptic_gregorian"]),
    st.sampled_from([("seconds", 1), ("hours", 3600), ("days", 86_400), ("day", 86_400)]),
)
def test_our_own_calendar_is_that_of_python(start, value, calendar, unit):
    value = value * 86_400 // unit[1] / 4
    expected = start + timedelta(seconds=value * unit[1])
    if expected < datetime(1582, 10, 15):
        return
    found = moment_of(value, f"{unit[0]} since {start:%Y-%m-%d %H:%M:%S}", calendar)
    assert found == (*expected.timetuple()[:6],)


@given(st.sampled_from(sorted(LENGTHS)), st.integers(1, 12), st.integers(0, 2000))
def test_calendars_of_climate_models_are_counted_day_by_day(calendar, month, days):
    year, day = 2041, 1
    start = f"days since 2041-{month}-1"
    for _ in range(days):
        day += 1
        if day > LENGTHS[calendar][month - 1]:
            month, day = month + 1, 1
        if month > 12:
            year, month = year + 1, 1
    assert moment_of(days, start, calendar) == (year, month, day, 0, 0, 0)


def test_the_standard_calendar_changes_in_1582():
    assert moment_of(1, "days since 1582-10-04") == (1582, 10, 15, 0, 0, 0)
    assert moment_of(1, "days since 1582-10-04", "julian") == (1582, 10, 5, 0, 0, 0)
    assert moment_of(1, "days since 1582-10-04", "proleptic_gregorian") == (1582, 10, 5, 0, 0, 0)
    # reanalyses count hours from the year 1, two days apart from a calendar that is ours throughout
    assert moment_of(17_522_904, "hours since 1-1-1 00:00:0.0") == (2000, 1, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("value", "units", "date"),
    [
        (0.5, "months since 1960-01-01", (1960, 1)),
        (13, "months since 1960-01-01", (1961, 2)),
        (81, "years since 1960-01-15", (2041, 1)),
        (20410216.5, "day as %Y%m%d.%f", (2041, 2)),
        (204102, "month as %Y%m.%f", (2041, 2)),
    ],
)
def test_months_and_years(value, units, date):
    assert moment_of(value, units)[:2] == date


@pytest.mark.parametrize(
    "units", ["m", "", "1", "days since forever", "parsecs since 1850-01-01", "days since 1850-13-01"]
)
def test_what_is_no_time(units):
    assert moment_of(3, units) is None


def test_labels_are_as_short_as_can_be():
    def at(*parts):
        return (*parts, 1, 1, 0, 0, 0)[:6]

    assert time_labels([at(2041)]) == [""]
    assert time_labels([at(2041), at(2042)]) == ["2041", "2042"]
    assert time_labels([at(2041, 1), at(2041, 2)]) == ["2041-01", "2041-02"]
    assert time_labels([at(2041, 1, 1), at(2041, 1, 2)]) == ["2041-01-01", "2041-01-02"]
    assert time_labels([(2041, 1, 1, 0, 0, 0), (2041, 1, 1, 6, 0, 0)]) == ["2041-01-01T0000", "2041-01-01T0600"]
    assert time_labels([at(1995, month) for month in range(1, 13)])[10] == "nov"
    assert time_labels([at(1995, month) for month in range(1, 14) if month < 13] + [at(1996, 1)])[0] == "1995-01"


def test_other_dimensions_and_bands_that_cannot_be_told_apart():
    bands = [{"NETCDF_DIM_depth": f"{depth}"} for depth in (0.5, 10)]
    assert band_names("t", bands, {"depth#units": "m"}) == (["t_depth0.5", "t_depth10"], "2 values of depth")
    assert band_names("t", [{}, {}], {}) == (["t_1", "t_2"], "2 bands")
    months = [{"NETCDF_DIM_month": f"{month}"} for month in range(1, 13)]
    assert band_names("t", months, {})[0][:2] == ["t_jan", "t_feb"]
