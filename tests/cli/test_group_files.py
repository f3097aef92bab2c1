"""The file of a group of species in every command: what is in it, its maps, tables, and what does not apply to it."""

from pathlib import Path

import numpy as np
import pytest
from shared_axes.written import model_of
from terminal import as_json, fail, read, rows, succeed, write_table

from sdm.data.rasters.layers import open_stack
from sdm.models.file import save_model
from sdm.models.group import GroupModel

SPECIES = ["Genus alba", "Genus/nigra", "mess", "Genus alba ", "Zea <b>", "Aster 6"]


@pytest.fixture(scope="module")
def model(world) -> GroupModel:
    return model_of(open_stack(world.layers, categorical=["landcover"]), SPECIES, rank=3, own=True)


@pytest.fixture
def file(model: GroupModel, tmp_path: Path) -> Path:
    return save_model(model, tmp_path / "group.npz")


def test_info_tells_axes_species_and_relatives(file: Path, model: GroupModel) -> None:
    said = succeed("info", file, "--weights", 2).output
    assert "6 species: Genus alba, Genus/nigra" in said
    assert "500 presences" in said
    first = said.partition("  axis 1 ")[2].splitlines()[0].split()
    assert first[:2] == [f"{100 * model.explained[0]:.1f}", "%"]
    assert model.relatives("Genus alba", 1)[0][0] in said.partition("most similar species")[2].splitlines()[1]
    assert "and 4 more" in said
    numbers = as_json("info", file)["models"][0]
    assert numbers["kind"] == "group"
    assert [one["species"] for one in numbers["numbers"]["species"]] == SPECIES


@pytest.fixture(scope="module")
def columns(world) -> list[np.ndarray]:
    """The layers' values, cell by cell."""
    paths = open_stack(world.layers, categorical=["landcover"]).paths
    return [read(Path(path)).astype(np.float64).filled(np.nan).ravel() for path in paths]


@pytest.mark.parametrize("scale", [None, "raw"])
def test_predict_writes_one_map_per_species_under_names_that_differ(
    file: Path, model: GroupModel, world, columns: list[np.ndarray], tmp_path: Path, scale: str | None
) -> None:
    words = ("predict", file, world.layers, "-o", tmp_path / "maps", "--novelty", "mess")
    answer = as_json(*words, *(() if scale is None else ("--scale", scale)))["models"][0]
    told = {one["species"]: (key, one) for key, one in answer["numbers"]["maps"].items()}
    assert list(told) == SPECIES
    assert told["Genus alba"][0] == "Genus_alba.tif"
    there = {path.name for path in (tmp_path / "maps").glob("*.tif")}
    assert there == {key for key, _ in told.values()} | {"mess.tif", "mod.tif"}
    assert len({name.casefold() for name in there}) == len(SPECIES) + 2
    wanted = model.column_values(columns, scale)
    for s, (key, one) in enumerate(told.values()):
        band = read(tmp_path / "maps" / key).ravel()
        np.testing.assert_array_equal(np.ma.getmaskarray(band), np.isnan(wanted[s]))
        np.testing.assert_allclose(band.compressed(), wanted[s][~np.isnan(wanted[s])], rtol=1e-5)
        assert one["mean"] == pytest.approx(np.nanmean(wanted[s]), rel=1e-4)
    assert "outside" in answer["numbers"]


def test_maps_are_not_overwritten_unasked_and_need_a_folder(file: Path, world, tmp_path: Path) -> None:
    succeed("predict", file, world.layers, "-o", tmp_path / "maps")
    assert "contains files already" in fail("predict", file, world.layers, "-o", tmp_path / "maps")
    succeed("predict", file, world.layers, "-o", tmp_path / "maps", "--overwrite")
    said = fail("predict", file, world.layers, "-o", tmp_path / "maps.tif", code=2)
    assert "one per species" in said
    assert "-o" in said


def test_a_table_gets_one_column_per_species(file: Path, model: GroupModel, columns, tmp_path: Path) -> None:
    whole = np.flatnonzero(np.isfinite(columns).all(axis=0))[:20]
    body = [[repr(float(column[i])) for column in columns] for i in whole]
    points = write_table(tmp_path / "points.csv", model.names, body)
    succeed("predict", file, points, "-o", tmp_path / "out.csv")
    found = rows(tmp_path / "out.csv")
    wanted = model.column_values([column[whole] for column in columns])
    for s, name in enumerate(SPECIES):
        np.testing.assert_allclose([float(row[f"cloglog {name}"]) for row in found], wanted[s], rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--threshold", "10p"), "--threshold does not apply to a model of a group of species"),
        (("--scale", "link"), "expected one of cloglog, raw, logistic"),
        (("--scale", "cumulative"), "expected one of cloglog, raw, logistic"),
        (("--extrapolation", "fade"), "does not apply to a model of a group of species"),
    ],
)
def test_options_that_do_not_apply_are_refused(file: Path, world, tmp_path: Path, words, said: str) -> None:
    assert said in fail("predict", file, world.layers, "-o", tmp_path / "maps", *words, code=2)
    assert not (tmp_path / "maps").exists()


def test_a_group_is_not_evaluated_as_a_whole(file: Path, world) -> None:
    said = fail("evaluate", file, "--presences", world.records, "--layers", world.layers, code=2)
    assert "needs the model of one species" in said


def test_a_damaged_file_is_told(file: Path, model: GroupModel, tmp_path: Path) -> None:
    (tmp_path / "half.npz").write_bytes(file.read_bytes()[:-400])
    assert "half.npz" in fail("info", tmp_path / "half.npz")
