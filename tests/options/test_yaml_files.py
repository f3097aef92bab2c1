"""YAML files: the same with libyaml and without it, and nothing that unfolds without end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sdm.errors import OptionError
from sdm.options import yaml_files

Load = Callable[[Path, str], Any]
ROOT = Path(__file__).parents[2]
BOMB = "a: &a [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n" + "".join(
    f"{new}: &{new} [{', '.join(10 * ['*' + old])}]\n" for old, new in zip("abcdef", "bcdefg")
)


@pytest.fixture(params=[True, False], ids=["libyaml", "plain"])
def load(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Load:
    """What reads a file, where yaml has libyaml and where it has not."""
    assert yaml.__with_libyaml__
    monkeypatch.setattr(yaml, "__with_libyaml__", request.param)
    return yaml_files.load_yaml


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/*.yaml")), ids=lambda path: path.stem)
def test_files_are_read_as_yaml_reads_them(load: Load, path: Path) -> None:
    assert load(path, "a run file") == yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [1, 2", "expected ',' or ']'"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a: " + 40 * "[" + 40 * "]", "nested more than 32 deep"),
        ("a: &a [*a]", "an alias in it refers to itself"),
        (BOMB, "unfold to more"),
        (f"a: {'9' * 50}", "a whole number of 50 digits"),
    ],
)
def test_what_no_run_file_means_is_one_sentence(load: Load, text: str, part: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(OptionError, match=part) as caught:
        load(tmp_path / "run.yaml", "a run file")
    assert "\n" not in str(caught.value)


def test_words_that_are_not_ascii(load: Load, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("título: Ñandú 種\nzahl: 1e-3\nnone: ~\nday: 2020-01-01\n", encoding="utf-8")
    found = load(tmp_path / "run.yaml", "a run file")
    assert found == yaml.safe_load((tmp_path / "run.yaml").read_text(encoding="utf-8"))
    assert found["título"] == "Ñandú 種"


def test_libyaml_does_the_work_where_it_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "plain.yaml").write_text("a: &x [1, 2]\nb: *x\n")
    (tmp_path / "odd.yaml").write_text('a: "caf\\uDCE9"\n')  # the name of a file that is no text
    assert yaml_files.load_yaml(tmp_path / "odd.yaml", "a run file") == {"a": "caf\udce9"}
    monkeypatch.setattr(yaml_files, "_Loader", None)
    assert yaml_files.load_yaml(tmp_path / "plain.yaml", "a run file") == {"a": [1, 2], "b": [1, 2]}
