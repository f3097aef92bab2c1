"""Untagged nodata is noticed by rule, and no honest variable is taken for it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdm.data.nodata import NodataCodes
from sdm.data.untagged import (
    Extremes,
    Untagged,
    UntaggedNodata,
    blank_codes,
    may_be_code,
    refuse_codes,
    refuse_untagged,
)
from sdm.errors import DataError, OptionError

RNG = np.random.default_rng(7)
SEEDS = st.integers(0, 2**32 - 1)

HONEST = {
    "temperature in tenths of a degree": lambda g, n: np.round(g.normal(120, 90, n)),
    "temperature in hundredths": lambda g, n: np.round(g.normal(-500, 2500, n)),
    "precipitation with a long tail": lambda g, n: np.round(g.lognormal(6, 1.2, n)),
    "log-normal": lambda g, n: g.lognormal(0, 2.5, n),
    "heavier than any tail": lambda g, n: g.standard_cauchy(n),
    "population, mostly zero": lambda g, n: np.round(np.maximum(0, g.lognormal(-1, 3, n) - 1)),
    "elevation with the sea at 0": lambda g, n: np.where(g.random(n) < 0.6, 0, np.round(g.gamma(2, 400, n))),
    "a plateau, and 0 for lakes": lambda g, n: np.where(g.random(n) < 0.1, 0, np.round(g.normal(3500, 40, n))),
    "bathymetry": lambda g, n: np.round(np.clip(g.normal(-3700, 2500, n), -10994, 8848)),
    "percent": lambda g, n: g.integers(0, 101, n),
    "percent, full or empty": lambda g, n: g.choice([0, 100], n),
    "a mask of 0 and 255": lambda g, n: g.choice([0, 255], n),
    "a mask of 1 and 255": lambda g, n: g.choice([1, 255], n),
    "bytes up to 255": lambda g, n: g.integers(0, 256, n),
    "bytes that are saturated": lambda g, n: np.minimum(255, np.round(g.lognormal(4, 0.8, n))),
    "land cover with classes up to 255": lambda g, n: g.choice([10, 20, 30, 130, 250, 251, 252, 253, 254, 255], n),
    "land cover with wide codes": lambda g, n: g.choice([111, 112, 211, 311, 411, 523, 990, 995, 999], n),
    "aspect with -1 for flat": lambda g, n: np.where(g.random(n) < 0.2, -1, g.uniform(0, 360, n)),
    "vegetation index": lambda g, n: np.round(g.uniform(-2000, 10000, n)),
    "one value": lambda g, n: np.full(n, 12.0),
    "integers of 16 bits, filled": lambda g, n: g.integers(-32768, 32768, n),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
@given(seed=SEEDS)
def test_no_honest_variable_is_refused(name: str, seed: int) -> None:
    """A false alarm would stop a study whose data are good."""
    g = np.random.default_rng(seed)
    values = np.asarray(HONEST[name](g, int(g.integers(20, 5000))), dtype=np.float64)
    assert Extremes.of(values).untagged() is None


SURE = (-9999.0, -999.0, -99999.0, -32768.0, -3.4028234663852886e38, 3.4028234663852886e38, 1e20, -9999.9)
CONTINUOUS = [name for name in HONEST if not name.startswith(("bathymetry", "integers", "heavier", "temperature in h"))]


@pytest.mark.parametrize("code", SURE)
@given(seed=SEEDS, share=st.sampled_from([0.005, 0.05, 0.4, 0.97]), name=st.sampled_from(CONTINUOUS))
def test_sure_codes_are_found(code: float, seed: int, share: float, name: str) -> None:
    """A model of −9999 is worth nothing, whatever the variable."""
    g = np.random.default_rng(seed)
    values = np.asarray(HONEST[name](g, 3000), dtype=np.float64)
    assume(not values.min() <= code <= values.max())  # what lies among the other values cannot be told from them
    at = g.random(3000) < share
    at[:2] = True
    values[at] = code
    assert Extremes.of(values).untagged() == code
    assert Extremes.of(values.astype(np.float32)).untagged() == float(np.float32(code))


def test_possible_codes_are_found_where_they_are_far_and_many() -> None:
    percent = RNG.integers(0, 101, 20_000).astype(float)
    percent[:400] = 255
    assert Extremes.of(percent).untagged() == 255
    few = percent[395:]  # in 5 cells of 19,605
    assert Extremes.of(few).untagged() is None
    rain = np.round(RNG.gamma(2, 500, 20_000))
    rain[:3000] = 65535
    assert Extremes.of(rain).untagged() == 65535


def test_a_possible_code_at_the_border_is_found() -> None:
    ends = Extremes(1_000_000, {255.0: 300}, 0.0, 100.0)
    assert ends.untagged() is None
    assert Extremes(1_000_000, {255.0: 300}, 0.0, 100.0, {255.0: 300}, 4000).untagged() == 255


def test_a_value_with_a_name_is_a_class() -> None:
    cover = RNG.choice([1.0, 2, 3, 255], 1000)
    assert Extremes.of(cover).untagged() == 255
    assert Extremes.of(cover).untagged(named={255.0}) is None


@given(seed=SEEDS, parts=st.integers(1, 6), code=st.sampled_from([-9999.0, 255.0, -32768.0]))
def test_parts_of_a_raster_add_up(seed: int, parts: int, code: float) -> None:
    """What windows find together is what the whole raster says, however it is cut."""
    g = np.random.default_rng(seed)
    values = np.round(g.normal(100, 40, 600))
    values[g.random(600) < 0.3] = code
    values[g.random(600) < 0.1] = np.nan
    total = Extremes(0)
    for part in np.array_split(values, parts):
        total += Extremes.of(part)
    known = values[np.isfinite(values)]
    others = known[~np.isin(known, list(total.codes))]
    assert total.cells == known.size
    assert total.codes.get(code, 0) == np.count_nonzero(known == code)
    assert (total.low, total.high) == (others.min(), others.max())
    assert total.untagged() == Extremes.of(values).untagged()


def test_scaled_layers_are_judged_by_what_is_stored() -> None:
    stored = np.r_[np.full(50, -9999.0), RNG.integers(-300, 400, 500)]
    values = (stored * 0.1 + 5).astype(np.float32)
    ends = Extremes.of(values, (0.1, 5.0))
    assert ends.untagged() == -9999
    assert -300 <= ends.low <= ends.high <= 400
    backwards = Extremes.of(-values, (-0.1, -5.0))
    assert (backwards.untagged(), backwards.low) == (-9999, ends.low)


@pytest.mark.parametrize("value", [0, -1, 1, 100, 9.99, 0.999, -98, 254, 256, 1000, -32766, 90, 99])
def test_ordinary_numbers_are_no_codes(value: float) -> None:
    assert not may_be_code(value)


def test_the_sentence_names_everything() -> None:
    first = Untagged("bio1", -9999.0, 310, 1000, -25.0, 310.0, "int16")
    second = Untagged("bio2", -9999.0, 300, 1000, 0.0, 31.0, "int16")
    third = Untagged("cover", 255.0, 20, 1000, 1.0, 7.0, "uint8")
    with pytest.raises(DataError) as caught:
        refuse_untagged([first, second, third], of="layer", places="cells", sampled=True)
    assert str(caught.value) == (
        "layer 'bio1' has the value -9999 in 31 % of its cells (310 of 1,000 in a sample), its other values are -25 "
        "to 310, and the file does not declare it as nodata; so has 'bio2'; also 'cover' (255): use --nodata "
        "-9999,cover=255 to treat it as missing, or --nodata none if it is valid"
    )
    refuse_untagged([], of="layer", places="cells")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_number_that_is_said_can_be_typed(dtype: str) -> None:
    code = float(np.finfo(np.float32).max)
    text = Untagged("a", code, 2, 10, 0.0, 1.0, dtype).text
    assert float(np.dtype(dtype).type(min(float(text), code))) == code


def test_tables_are_judged_by_rows_that_differ() -> None:
    """Ten visits to the one site at 255 m are one site."""
    height = [12.0, 35, 48, 60, 71, 22, 31, 44, *[255.0] * 10]
    table = pd.DataFrame({"height": height, "site": [*range(8), *[8] * 10], "class": ["a"] * 18})
    refuse_codes(table, NodataCodes(), "sites.csv")
    apart = table.assign(site=range(18))
    with pytest.raises(DataError, match=r"file 'sites.csv': column 'height' has the value 255 in 56 % of its rows"):
        refuse_codes(apart, NodataCodes(), "sites.csv")
    refuse_codes(apart, NodataCodes.read("none"), "sites.csv")
    refuse_codes(apart, NodataCodes.read("height=none"), "sites.csv")


def test_codes_that_are_named_become_missing_with_a_count() -> None:
    table = pd.DataFrame({"a": [1, -9999, -9999], "b": [-9999.0, 255, 3], "name": ["x", "-9999", "z"]})
    blank, notes = blank_codes(table, NodataCodes.read("-9999,b=255"))
    assert blank["a"].isna().tolist() == [False, True, True]
    assert blank["b"].isna().tolist() == [True, True, False]
    assert blank["name"].tolist() == ["x", "-9999", "z"]
    assert [note.split(" ", 4)[:4] for note in notes] == [
        ["column", "'a':", "2", "values"],
        ["column", "'b':", "2", "values"],
    ]
    assert blank_codes(table, NodataCodes()) == (table, [])


@pytest.mark.parametrize(
    ("given_", "of_a", "of_b", "trusted"),
    [
        (None, (), (), False),
        (-9999, (-9999.0,), (-9999.0,), False),
        ("-9999, b=255", (-9999.0,), (-9999.0, 255.0), False),
        (["-1e30", 3], (-1e30, 3.0), (-1e30, 3.0), False),
        ("none", (), (), True),
        ("a=none", (), (), True),
        ("?=7", (7.0,), (7.0,), False),
    ],
)
def test_codes_are_read_as_people_write_them(given_, of_a, of_b, trusted) -> None:
    codes = NodataCodes.read(given_)
    assert (codes.of("a"), codes.of("b"), codes.trusts("a")) == (of_a, of_b, trusted)
    assert NodataCodes.read(codes) is codes


@pytest.mark.parametrize("text", ["abc", "b=", "b=x", "none,-9999"])
def test_codes_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="nodata="):
        NodataCodes.read(text)


@pytest.mark.parametrize("names", [["heat", "rain"], ["heat"]])
def test_rows_of_the_sea_are_alike_and_count_all_the_same(names: list[str]) -> None:
    land = np.random.default_rng(1).uniform(0, 30, (100, len(names)))
    table = pd.DataFrame(np.vstack([land, np.full((50, len(names)), -9999.0)]), columns=names)
    with pytest.raises(UntaggedNodata, match=r"column 'heat' has the value -9999 in 33 % of its rows \(50 of 150\)"):
        refuse_codes(table, NodataCodes(), "samples.csv")
    refuse_codes(table.iloc[:101], NodataCodes(), "samples.csv")  # one row proves nothing
