"""The files that how-to pages list are those that runs write, on small virtual data."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from documents.commands import small_pictures
from documents.tables import differences
from terminal import files, succeed

from sdm.simulate.world import simulate

pytestmark = pytest.mark.thorough
COMMON = ("*.qml", "*.sld", "maps/*.qml", "maps/*.sld", "plots/*", "*.aux.xml", "command.txt", "records_fate.csv")
"""Files of every run, which the page of a run of one species lists."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A landscape with three species, a survey, plots with habitats, and sites with columns of species."""
    folder = tmp_path_factory.mktemp("tables")
    simulate(folder / "world", size=40, layers=4, species=6, records=60, sites=150, seed=3, warming=2)
    survey = pd.read_csv(folder / "world" / "presence_absence.csv")
    wide = survey.pivot_table(index=["longitude", "latitude"], columns="species", values="presence").reset_index()
    wide.columns = [str(name).replace(" ", "_") for name in wide.columns]
    wide.assign(reserve=np.arange(len(wide)) % 4).to_csv(folder / "sites.csv", index=False)
    names = [name for name in wide.columns if name.startswith("Virtualis")]
    habitat = np.select([wide[names[0]] == 1, wide[names[1]] == 1], ["forest", "steppe"], "heath")
    wide[["longitude", "latitude"]].assign(habitat=habitat).to_csv(folder / "plots.csv", index=False)
    pd.DataFrame({"species": names, "size": np.arange(len(names)) * 1.5}).to_csv(folder / "traits.csv", index=False)
    return folder


def run(folder: Path, *words: str) -> None:
    succeed(*small_pictures([str(folder / word) if (folder / word).exists() else word for word in words]))


def written(*folders: Path) -> set[str]:
    inside = [(folder, name) for folder in folders for name in files(folder)]
    return {name for folder, name in inside if (folder / name).is_file() and not Path(name).name.startswith(".")}


def test_files_of_classes(world: Path, tmp_path: Path) -> None:
    layers = ("world/layers", "--categorical", "landcover")
    name = "Virtualis montanus"
    several, two, tuned = (tmp_path / each for each in ("several", "two", "tuned"))
    run(world, "classify", "plots.csv", *layers, "--class-column", "habitat", "--folds", "2", "--jackknife",
        "--uncertainty", "--scenarios", f"warm={world / 'world' / 'warmer'}", "-o", str(several))  # fmt: skip
    survey = ("world/presence_absence.csv", *layers, "--response", "presence", "--species", name)
    run(world, "fit", *survey, "--folds", "2",
        "--threshold", "maxsss", "--null-models", "2", "--uncertainty", "-o", str(two))  # fmt: skip
    run(world, "tune", "plots.csv", *layers, "--class-column", "habitat", "--multipliers", "1,4", "--folds", "2",
        "-o", str(tuned))  # fmt: skip
    names = {each.replace("Virtualis_montanus", "habitat") for each in written(several, two, tuned)}
    assert differences("classify", "habitat", names, COMMON) == ([], [])


def test_files_of_a_community(world: Path, tmp_path: Path) -> None:
    inputs = ("sites.csv", "world/layers", "--species", "Virtualis*", "--categorical", "landcover")
    effects = ("--all-associations", "--random-effect", "reserve", "--traits", "traits.csv")
    run(world, "joint", *inputs, *effects, "--folds", "2", "-o", str(tmp_path / "joint"))
    assert differences("joint", "joint", written(tmp_path / "joint"), COMMON) == ([], [])


def test_files_of_a_group(world: Path, tmp_path: Path) -> None:
    run(world, "fit", "world/occurrences.csv", "world/layers", "--categorical", "landcover", "--model", "shared",
        "--no-curves", "-o", str(tmp_path / "shared"))  # fmt: skip
    assert differences("shared", "group", written(tmp_path / "shared" / "group"), COMMON) == ([], [])


def test_files_of_a_virtual_world(tmp_path: Path) -> None:
    simulate(tmp_path / "world", size=40, layers=4, species=2, records=20, sites=30, warming=2, bias=True)
    simulate(tmp_path / "axes", size=40, layers=4, species=3, records=20, sites=30, shared_axes=2)
    assert differences("virtual", "world", written(tmp_path / "world", tmp_path / "axes")) == ([], [])


def test_files_of_paths(world: Path, tmp_path: Path) -> None:
    """With strata too; the files of the fit are those of any fit."""
    species = ("--species", "Virtualis montanus")
    records, layers = "world/occurrences.csv", ("world/layers", "--categorical", "landcover")
    run(world, "path", records, *layers, *species, "--fc", "lq", "--points", "200", "-o", str(tmp_path / "path"))
    strata = ("--strata", "world/layers/landcover.tif")
    run(world, "path", records, *species, *strata, "-o", str(tmp_path / "strata"))
    _, unlisted = differences("outputs", "", written(tmp_path / "path", tmp_path / "strata"))
    assert unlisted == []


def test_files_of_trees(world: Path, tmp_path: Path) -> None:
    run(world, "fit", "world/occurrences.csv", "world/layers", "--categorical", "landcover", "--species",
        "Virtualis montanus", "--model", "structural", "--families", "trees:4", "--lambda", "0.05", "--beta", "0.1",
        "--no-curves", "-o", str(tmp_path / "trees"))  # fmt: skip
    missing, _ = differences("complexity", "", written(tmp_path / "trees"))
    assert set(missing) <= {"<species>_prices.csv"}, "both penalties were given"


def test_files_of_variables_and_projections(study, climates) -> None:
    missing, unlisted = differences("preparing", "", written(study.folder / "variables"), ("run.yaml", "command.txt"))
    assert (missing, unlisted) == ([], [])
    missing, unlisted = differences(
        "scenarios", "<species>", written(climates.folder / "climates"), ("*/*.qml", "*/*.sld")
    )
    assert (set(missing), unlisted) == ({"across/"}, []), "of several climate models"
