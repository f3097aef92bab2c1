"""The digest of a species changes with what its results depend on, and with nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdm.kinds.species.inputs import SpeciesPrepared, prepare_species
from sdm.options.reading import make_options
from sdm.run.digest import Digester
from sdm.simulate.world import simulate


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> tuple[SpeciesPrepared, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("world") / "w"
    simulate(folder, size=32, layers=3, species=2, records=30, sites=0, seed=1)
    places = {"occurrences.file": str(folder / "occurrences.csv"), "layers.files": [str(folder / "layers")]}
    words = {**places, "background_points": 100, "output": "out"}
    return prepare_species(make_options(words)), words


def digest(prepared: SpeciesPrepared, words: dict[str, Any], which: int = 0, **more: Any) -> str:
    digester = Digester(make_options({**words, **more}), prepared)
    return digester.digest(prepared.only(list(prepared.tables)[which]))


def changed(prepared: SpeciesPrepared, name: str, **fields: Any) -> SpeciesPrepared:
    tables = {**prepared.tables, name: replace(prepared.tables[name], **fields)}
    return replace(prepared, tables=tables)


@pytest.mark.parametrize(
    "more",
    [{"processes": 4}, {"retries": 0}, {"resume": True}, {"overwrite": True}, {"threads": 1}, {"cluster": "slurm"},
     {"output": "elsewhere"}],
)  # fmt: skip
def test_who_does_the_work_does_not_matter(given, more) -> None:
    prepared, words = given
    assert digest(prepared, words, **more) == digest(prepared, words)


@pytest.mark.parametrize("more", [{"multiplier": 2}, {"seed": 3}, {"curves": False}, {"threshold": "10p"}])
def test_options_of_the_model_matter(given, more) -> None:
    prepared, words = given
    assert digest(prepared, words, **more) != digest(prepared, words)


def test_data_of_the_species_matter_and_those_of_others_do_not(given) -> None:
    prepared, words = given
    first, second = prepared.tables
    before = [digest(prepared, words, k) for k in (0, 1)]
    assert before[0] != before[1]
    moved = prepared.tables[first].presence.copy()
    moved[3, 0] = np.nextafter(moved[3, 0], np.inf)
    other = changed(prepared, first, presence=moved)
    assert digest(other, words, 0) != before[0]
    assert digest(other, words, 1) == before[1]
    assert digest(changed(prepared, second, background=prepared.tables[second].background[:-1]), words, 1) != before[1]


def test_layers_that_were_written_again_matter(given, tmp_path: Path) -> None:
    prepared, words = given
    before, path = digest(prepared, words), Path(prepared.stack.layers[0].path)
    path.touch()
    assert digest(prepared, words) != before
