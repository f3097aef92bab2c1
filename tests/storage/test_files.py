"""Names and places for results: safe on every disk, all or nothing, never over another result."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.errors import OutputError
from sdm.storage.files import safe_name, safe_names, to_json, write_text

WINDOWS = {"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(1, 10))}


@given(st.text())
def test_any_text_makes_a_name_that_is_safe_everywhere(text: str) -> None:
    name = safe_name(text)
    assert name == safe_name(text)
    assert re.fullmatch(r"[\w.-]+", name)
    assert name.strip(".-") == name
    assert name not in ("", ".", "..")
    assert name.split(".")[0].lower() not in WINDOWS
    assert len(name.encode()) <= 90


@given(st.lists(st.text(min_size=1), unique=True, max_size=8), st.lists(st.sampled_from(["a", "additive"])))
def test_different_texts_have_different_names_on_any_disk(texts, taken) -> None:
    names = safe_names(texts, taken)
    assert list(names) == texts
    folded = [name.casefold() for name in names.values()]
    assert len({*folded, *taken}) == len(texts) + len(set(taken))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Bradypus variegatus", "Bradypus_variegatus"),
        ("Bradypus_variegatus", "Bradypus_variegatus"),
        ("bio_1.5-km", "bio_1.5-km"),
        ("Überwald", "Überwald"),
        ("熊猫", "熊猫"),
    ],
)
def test_ordinary_names_stay_as_they_are(text: str, name: str) -> None:
    assert safe_name(text) == name


@pytest.mark.parametrize(
    "text", ["../x", "a/b", "a\\b", "CON", "con.txt", "COM¹", "🦥", "n" * 300, "", " ", ".", "a:b", "a\0b"]
)
def test_other_names_change_and_say_so_by_a_hash(text: str) -> None:
    assert re.search(r"_[0-9a-f]{6}$|^[0-9a-f]{6}$", safe_name(text))


def test_names_that_would_be_one_file() -> None:
    names = safe_names(["A b", "A_b", "a b", "é", "e\u0301"])
    assert names["A b"] == "A_b"
    assert len({name.casefold() for name in names.values()}) == 5


def test_text_is_written_in_one_step(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.txt", "über\n")
    assert path.read_bytes() == "über\n".encode()
    with pytest.raises(OutputError, match="exists already"):
        write_text(path, "other")
    write_text(path, "other", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / "none" / "a.txt", "")


def test_json_holds_only_what_every_reader_knows() -> None:
    value = {"a": math.nan, "b": [np.float64(1.5), np.inf], "c": np.int64(3), "d": Path("x"), 5: (True, None)}
    assert json.loads(to_json(value)) == {"a": None, "b": [1.5, None], "c": 3, "d": "x", "5": [True, None]}
