"""A fourth kind of model is one folder of the same files as `sdm/kinds/<kind>`: the commands serve it as they are.

docs/development/adding_a_kind.md names this example, `tests/helpers/counts`: counts of animals at sites, log-linear in
the layers.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counts.fit import CountRegression
from counts.kind import CountTask
from terminal import as_json, read, rows, succeed, write_table

from sdm.errors import OptionError
from sdm.kinds import registry
from sdm.kinds.inputs import chosen_options
from sdm.models import file as model_files
from sdm.options.reading import make_options
from sdm.run.run import run


@pytest.fixture
def survey(world, tmp_path: Path, monkeypatch) -> Path:
    """Counts of two species at sites; the new kind is one line in each of the two tables of kinds."""
    monkeypatch.setitem(registry.HOMES, "counts", "counts")
    monkeypatch.setitem(model_files.KINDS, "sdm-counts", ("counts.model", "CountModel"))
    rng = np.random.default_rng(3)
    places = rows(world.survey)
    body = [(row["species"], row["longitude"], row["latitude"], rng.poisson(3)) for row in places]
    return write_table(tmp_path / "counts.csv", ("species", "longitude", "latitude", "count"), body)


@pytest.fixture
def names(world) -> list[str]:
    return [path.stem for path in sorted(world.layers.glob("*.tif")) if path.stem != "landcover"]


def test_a_fourth_kind_runs_in_a_batch_and_every_command_serves_it(survey, world, names, tmp_path: Path) -> None:
    files = [str(world.layers / f"{name}.tif") for name in names]
    given = {"occurrences.file": str(survey), "layers.files": files, "output.folder": str(tmp_path / "out")}
    options = make_options(given)
    result = run(options, task=CountTask())
    assert [model.kind for model in result.models] == ["counts", "counts"]
    assert (tmp_path / "out" / "summary.csv").read_text().startswith("species,status,sites,folder,page,preview,error")
    first = result.models[0]
    assert first.folder is not None
    assert (first.folder / "run.yaml").is_file()
    model = first.folder / first.files["model"]
    assert "(constant)" in succeed("info", model).output
    succeed("predict", model, *files, "-o", tmp_path / "again.tif")
    np.testing.assert_array_equal(read(tmp_path / "again.tif"), read(first.folder / first.files["map"]))
    found = as_json("evaluate", model, "--sites", survey, *(word for file in files for word in ("--layers", file)))
    assert found["models"][0]["kind"] == "counts"
    assert found["models"][0]["numbers"]["error"] > 0
    page = (first.folder / first.files["page"]).read_text(encoding="utf-8")
    for words in ("model of counts · poisson regression", "values are numbers of animals", "squared error is <b>"):
        assert words in page.lower()
    assert f"Animals were counted at {first.numbers['sites']} sites only." in page
    assert "The model was not tested: all measures are from the training sites" in page
    pages = succeed("report", tmp_path / "out").stdout.split()
    assert [Path(place).name for place in pages] == [*(f"{m.folder.name}.html" for m in result.models), "index.html"]


def test_options_of_other_kinds_are_refused_for_it(survey, world, names) -> None:
    model = CountRegression().fit(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), np.array([1.0, 2.0, 4.0])).model_
    assert model.weights.shape == (2,)
    with pytest.raises(OptionError, match="--truth does not apply to a model of counts"):
        chosen_options(model, {"truth": "a.tif"}, CountTask.evaluates_with)
