"""`sdm fit --model shared` over several species: what it leaves, on any number of workers, also if it is ended."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from shared_axes.runs import Group, without_names, write_records
from simulated.flora import result_bytes
from terminal import as_json, fail, read, rows, sdm, start, succeed

from sdm import load_model
from sdm.options.reading import make_options
from sdm.run.run import run

SPECIES = [f"Planta_numerus{k:03d}" for k in range(5)]


def test_every_species_has_its_results_and_the_group_its_own(out: Path) -> None:
    group = load_model(out / "group" / "group.npz")
    assert [name.replace(" ", "_") for name in group.species] == SPECIES, "the one with one record is not of the group"
    for name in SPECIES:
        folder = out / name
        numbers = json.loads((folder / f"{name}.json").read_text())
        assert numbers["shared"]["species"] == 5
        assert numbers["shared"]["rank"] == group.rank > 0
        assert rows(folder / f"{name}_curves.csv")
        assert "hared axes" in (folder / f"{name}.html").read_text()
        values = read(folder / f"{name}.tif")
        assert values.count() > 1000
        assert 0 <= values.min() < values.max() <= 1
    for file in ("group.json", "group.html", "axes.csv", "species_axes.csv", "biplot.svg", "axes_rgb.png"):
        assert (out / "group" / file).stat().st_size > 100, file
    assert not (out / "Solus_unicus").exists()
    assert "group/group.html" in (out / "index.html").read_text()


@pytest.mark.thorough
def test_two_processes_give_the_same_bytes(group: Group, bare: dict[str, bytes], tmp_path: Path) -> None:
    assert sdm(*group.bare(tmp_path / "out", "--processes", 2)).exit_code == 1
    assert without_names(result_bytes(tmp_path / "out")) == without_names(bare)


def test_run_file_and_python_give_the_same_bytes(group: Group, bare: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        f"occurrences: {group.records}\nlayers: {{files: {group.layers}, categorical: landcover}}\n"
        "background: {points: 800}\nfit: {model: shared, features: lq, strength: 1}\ntest: {importance: false}\n"
        "output: {curves: false, map: false, report: false, dpi: 50}\n"
    )
    assert sdm("fit", tmp_path / "run.yaml", "-o", tmp_path / "yaml" / "out").exit_code == 1
    assert without_names(result_bytes(tmp_path / "yaml" / "out")) == without_names(bare)
    about = {"model": "shared", "features": "lq", "strength": 1, "curves": False, "map": False, "report": False}
    about |= {"background_points": 800, "importance": False, "dpi": 50}
    places = {"occurrences.file": str(group.records), "layers.files": [str(group.layers)]}
    options = make_options({**about, **places, "categorical": ["landcover"], "output": str(tmp_path / "py" / "out")})
    found = run(options)
    assert [model.name for model in found.failed] == ["Solus unicus"]
    assert without_names(result_bytes(tmp_path / "py" / "out")) == without_names(bare)


def test_what_is_finished_is_kept_until_the_axes_change(
    group: Group, bare_out: Path, bare: dict[str, bytes], tmp_path: Path
) -> None:
    place, mine = shutil.copytree(bare_out, tmp_path / "out"), replace(group, records=tmp_path / "records.csv")
    write_records(mine.records, group.body)
    assert "5 of 6 species are finished and unchanged, and are kept" in sdm(*mine.bare(place, "--resume")).output
    assert without_names(result_bytes(place)) == without_names(bare)
    shutil.rmtree(place / SPECIES[1])
    assert "4 of 6 species are finished" in sdm(*mine.bare(place, "--resume")).output
    assert without_names(result_bytes(place)) == without_names(bare)
    write_records(mine.records, group.body[1:])  # a record of the first species: the axes of all of them
    said = sdm(*mine.bare(place, "--resume")).output
    assert "5 of 6 species fitted" in said
    assert "unchanged, and are kept" not in said
    sdm(*mine.bare(tmp_path / "fresh" / "out"))
    assert without_names(result_bytes(place)) == without_names(result_bytes(tmp_path / "fresh" / "out"))


def test_species_of_a_group_are_not_made_anew_one_by_one(group: Group, bare_out: Path, tmp_path: Path) -> None:
    place = shutil.copytree(bare_out, tmp_path / "out")
    before = result_bytes(place)
    some = ("--species", "Planta numerus001", "--species", "Planta numerus002", "--overwrite")
    assert "are fitted together, and 4 of them" in fail(*group.bare(place, *some))
    assert "fitted together" in fail(*group.bare(place, *some, "--model", "ensemble"))
    fewer = replace(group, records=write_records(tmp_path / "fewer.csv", group.body[:-1]))
    assert "'Solus unicus'" in fail(*fewer.bare(place, "--resume"))
    assert result_bytes(place) == before


@pytest.mark.thorough
def test_after_a_kill_the_group_is_whole_or_absent(group: Group, bare: dict[str, bytes], tmp_path: Path) -> None:
    place = tmp_path / "out"
    with start(*group.bare(place), hold="open *species_axes.csv*") as child:  # its model is written, its tables not
        child.kill()
        child.communicate()
    assert not (place / "group").exists()
    assert "5 of 6 species are finished" in sdm(*group.bare(place, "--resume")).output
    assert without_names(result_bytes(place)) == without_names(bare)


def test_every_command_takes_the_model_of_a_species(out: Path, world, tmp_path: Path) -> None:
    model, layers = out / SPECIES[0] / f"{SPECIES[0]}.npz", world.layers
    succeed("predict", model, layers, "-o", tmp_path / "map.tif")
    assert (read(tmp_path / "map.tif") == read(model.with_suffix(".tif"))).all()
    words = ("--presences", world.survey, "--species", "Virtualis montanus", "--layers", layers)
    measured = as_json("evaluate", model, *words)["models"][0]["numbers"]
    assert 0 < measured["auc"] <= 1
    assert "Planta numerus000" in succeed("info", model).output
    copy = shutil.copytree(out, tmp_path / "copy")
    (copy / "group" / "group.html").unlink()
    (copy / SPECIES[1] / f"{SPECIES[1]}.html").unlink()
    succeed("report", copy)
    assert (copy / "group" / "group.html").exists()
    assert (copy / SPECIES[1] / f"{SPECIES[1]}.html").exists()


def test_scenarios_are_those_of_species_and_not_of_their_group(out: Path, world, tmp_path: Path) -> None:
    succeed("project", out, "--scenarios", world.folder / "warmer", "-o", tmp_path / "future", "--no-report")
    maps = {path.stem for path in (tmp_path / "future" / "warmer").glob("*.tif")}
    assert set(SPECIES) <= maps
    assert not any(name.startswith("group") for name in maps)
    for place in (out / "group", out / "group" / "group.npz"):
        words = ("project", place, "--scenarios", world.folder / "warmer", "-o", tmp_path / "no")
        assert "axes of a group, which are not projected" in fail(*words, code=2)
