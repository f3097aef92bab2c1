"""Arrays that many tasks share are written once, and what is sent names them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sdm.executors.sharing import SharedArrays, loads


@dataclass
class Part:
    own: np.ndarray
    common: np.ndarray
    more: dict[str, object]


def parts(count: int) -> list[Part]:
    rng = np.random.default_rng(1)
    common, deep = rng.normal(size=(500, 14)), np.asfortranarray(rng.normal(size=(30, 4)))
    return [Part(rng.normal(size=5), common, {"deep": [deep], "name": f"species {k}"}) for k in range(count)]


def test_what_two_hold_is_written_once_and_comes_back(tmp_path: Path) -> None:
    first, second, third = parts(3)
    arrays = SharedArrays(tmp_path / "arrays")
    arrays.share(first, second)
    assert len(list((tmp_path / "arrays").iterdir())) == 2
    arrays.share(second, third)
    assert len(list((tmp_path / "arrays").iterdir())) == 2, "they are there already"
    sent = arrays.dumps(third)
    assert len(sent) < 1000, "the arrays do not travel"
    back, again = (loads(sent, tmp_path / "arrays") for _ in range(2))
    for name in ("own", "common"):
        assert np.array_equal(getattr(back, name), getattr(third, name))
    assert back.common is again.common, "mapped once"
    assert back.common.flags.writeable, "kernels are compiled for arrays that can be written"
    assert back.more["name"] == "species 2"
    deep = back.more["deep"][0]
    assert np.array_equal(deep, third.more["deep"][0])
    assert deep.flags.f_contiguous


def test_writing_to_a_mapped_array_changes_no_file(tmp_path: Path) -> None:
    first, second = parts(2)
    arrays = SharedArrays(tmp_path)
    arrays.share(first, second)
    back = loads(arrays.dumps(first), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    back.common[:] = 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
