"""`--scenarios` of a run is `sdm project` of its models; in the terminal, in a run file and in Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import yaml
from projection.futures import GCMS, Futures, Models, make_future, project
from terminal import BARE, PLAIN, as_json, fail, files, read, sdm, succeed

from sdm import SdmError, project_models

QUIET = (*BARE, *PLAIN)


def rasters(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.tif"))}


def test_a_run_projects_as_the_command_and_as_python(world, futures: Futures, tmp_path: Path) -> None:
    pattern = futures.some(ssp="ssp585", period="2070")
    words = ("--scenarios", pattern, "--dispersal", "30", "--novelty", "mess,clamping")
    output = succeed("fit", world.both, world.layers, *QUIET, *words, "-o", tmp_path / "fit").stdout
    assert f"scenarios: {tmp_path / 'fit' / 'scenarios'}" in output.splitlines()
    here = rasters(tmp_path / "fit" / "scenarios")
    assert {name.split("/")[0] for name in here} == {"reference", "across", *GCMS}
    succeed(*project(tmp_path / "fit", *words, "--reference", world.layers, "-o", tmp_path / "out"))
    assert rasters(tmp_path / "out") == here
    options = {"dispersal": 30, "novelty": ["mess", "clamping"], "report": False}
    found = project_models(tmp_path / "fit", pattern, tmp_path / "python", reference=str(world.layers), **options)
    assert rasters(tmp_path / "python") == here
    assert [one.name for one in found.species] == sorted(one.name for one in found.species)
    table = (tmp_path / "fit" / "scenarios" / "scenarios.csv").read_text()
    assert table == (tmp_path / "python" / "scenarios.csv").read_text()
    with pytest.raises(SdmError, match="did you mean"):
        project_models(tmp_path / "fit", pattern, tmp_path / "no", refrence="layers")


@pytest.mark.thorough
def test_a_run_file_lists_scenarios(world, futures: Futures, tmp_path: Path) -> None:
    tree = {
        "occurrences": {"file": str(world.records)},
        "layers": {"files": str(world.layers), "categorical": "landcover"},
        "fit": {"features": "lq"},
        "scenarios": [f"warm={futures.folder / futures.titles[0]}", str(futures.folder / futures.titles[7])],
        "project": {"dispersal": "none", "thresholds": ["10p", 0.4]},
        "output": {"folder": "out", "curves": False, "report": False, "map": False},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(tree))
    answer = as_json("fit", tmp_path / "run.yaml")
    assert answer["models"][0]["files"]["scenarios"] == "scenarios"
    out = tmp_path / "out" / "scenarios"
    stem = next((tmp_path / "out").glob("*.npz")).stem
    numbers = json.loads((out / f"{stem}.json").read_text())
    assert [case["title"] for case in numbers["scenarios"]] == [futures.titles[7], "warm"]
    assert (numbers["rule"], numbers["dispersal"]) == ("10p", "none")
    assert set(numbers["scenarios"][0]["rules"]) == {"10p", "0.4"}
    # its run file repeats the projection
    succeed("project", out / "run.yaml", "-o", tmp_path / "again")
    assert rasters(tmp_path / "again") == rasters(out)


def test_another_grid_is_refused_before_anything_is_fitted(world, tmp_path: Path) -> None:
    elsewhere = make_future(world, tmp_path / "elsewhere", 0.0)
    for path in elsewhere.glob("*.tif"):
        with rasterio.open(path, "r+") as data:
            data.transform = data.transform @ rasterio.Affine.translation(3, 0)
    words = ("fit", world.records, world.layers, *QUIET, "--scenarios", elsewhere)
    said = fail(*words, "-o", tmp_path / "no")
    assert "scenario elsewhere starts at" in said
    assert "--align first" in said
    assert "--reference none" in said
    assert not (tmp_path / "no").exists()
    assert any("scenario elsewhere" in text for text in json.loads(_checked(*words))["problems"])
    succeed(*words, "--reference", "none", "-o", tmp_path / "alone")
    assert {path.name for path in (tmp_path / "alone" / "scenarios").iterdir() if path.is_dir()} == {"elsewhere"}
    assert not list((tmp_path / "alone" / "scenarios").rglob("*_change.tif"))
    succeed(*words, "--align", "first", "-o", tmp_path / "aligned")
    (change,) = (tmp_path / "aligned" / "scenarios" / "elsewhere").glob("*_change.tif")
    with rasterio.open(change) as data, rasterio.open(world.layers / "temperature.tif") as layer:
        assert data.transform == layer.transform


def _checked(*words: Any) -> str:
    return sdm("check", *words[1:3], "--categorical", "landcover", *words[-2:], "--json").stdout


def test_a_run_without_scenarios_leaves_none_behind(world, futures: Futures, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *QUIET, "-o", tmp_path / "out")
    succeed(*words, "--scenarios", futures.folder / futures.titles[0])
    (tmp_path / "out" / "scenarios" / "mine.txt").write_text("keep me")
    succeed(*words, "--overwrite")
    assert [name for name in files(tmp_path / "out") if "scenarios" in name] == ["scenarios", "scenarios/mine.txt"]


def test_words_that_belong_to_the_other_command(world, futures: Futures, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *QUIET, "-o", tmp_path / "out")
    assert "belongs to 'sdm project'" in fail(*words, "--project.models", "a.npz", code=2)
    assert "no scenarios" in fail("project", tmp_path, "-o", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()


def test_variables_that_a_model_leaves_out_are_not_missed(world, futures: Futures, tmp_path: Path) -> None:
    words = ("--drop-correlated", 0.7, "--scenarios", futures.folder / futures.titles[0], "-o", tmp_path / "out")
    succeed("fit", world.records, world.layers, *QUIET, *words)
    (model,) = (tmp_path / "out").glob("*.npz")
    succeed("predict", model, futures.folder / futures.titles[0], "-o", tmp_path / "map.tif")
    there = read(tmp_path / "out" / "scenarios" / futures.titles[0] / f"{model.stem}.tif")
    np.testing.assert_array_equal(read(tmp_path / "map.tif"), there)


@pytest.mark.thorough
def test_what_is_outside_is_said_first_by_variable(world, futures: Futures, models: Models, tmp_path: Path) -> None:
    words = ("--scenarios", f"hot={futures.folder / futures.titles[7]}", "--reference", world.layers)
    said = succeed(*project(models.species, *words, "-o", tmp_path / "out")).stdout
    outside, suitable = said.index("hot: outside the training range: "), said.index("hot: suitable ")
    assert outside < suitable
    line = said[outside:].splitlines()[0]
    numbers = json.loads((tmp_path / "out" / f"{models.species.stem}.json").read_text())
    found = numbers["scenarios"][0]["outside"]
    assert f"{found['cells']:,} of {found['of_cells']:,} cells" in line
    assert f"{found['km2']:,.0f} km²" in line
    assert "temperature" in line
    assert isinstance(numbers["notices"], list)


@pytest.mark.thorough
def test_a_batch_with_scenarios_is_resumed_and_renewed(world, futures: Futures, tmp_path: Path) -> None:
    pattern = futures.some(ssp="ssp585", period="2070")
    words = ("fit", world.both, world.layers, *QUIET, "--scenarios", pattern, "-o", tmp_path / "out")
    succeed(*words)
    folder, name = tmp_path / "out" / "scenarios", "Virtualis montanus"
    before = rasters(folder)
    stem = next(path.stem for path in (tmp_path / "out").glob("*/*.npz") if path.stem.startswith("Virtualis_m"))
    (tmp_path / "out" / stem / f"{stem}.npz").unlink()
    succeed(*words, "--resume")
    assert rasters(folder) == before, "both species, those that were kept too"
    succeed(*words, "--species", name, "--overwrite", "--multiplier", "5")
    after = rasters(folder)
    assert after.keys() == before.keys()
    changed = {Path(file).name for file in after if after[file] != before[file]}
    assert changed
    assert all(stem in file for file in changed), "the other species is as it was"
