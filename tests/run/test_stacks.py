"""Stacks of a batch: richness of its species, made of the maps that their runs left."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from PIL import Image
from report_runs import fit

from sdm.errors import DataError, OptionError
from sdm.kinds.registry import task_for
from sdm.options.definitions import RunOptions
from sdm.options.reading import make_options
from sdm.options.rules import OUTPUT, refuse_broken
from sdm.report.pages.index import index_page
from sdm.report.results import read_rows
from sdm.run.stacks import STACK_FILES, refuse_one, write_stacks
from sdm.simulate.world import simulate

QUICK = {"output.curves": False, "output.report": False, "test.importance": False, "fit.features": "lq"}


def refuse(options: RunOptions, species: int | None) -> None:
    """Refuse stacks as a run does: before its inputs are read, and when the number of species is known."""
    refuse_broken(OUTPUT, options, "species")
    if species is not None:
        refuse_one(options, species)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    simulate(folder, size=40, layers=4, species=3, records=60, sites=150, seed=4)
    lines = (folder / "occurrences.csv").read_text().splitlines()
    (folder / "occurrences.csv").write_text("\n".join([*lines, f"lost,{lines[1].split(',', 1)[1]}"]) + "\n")
    return folder


@pytest.fixture(scope="module")
def batch(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three species with maps of presence by a cutoff, and one that failed."""
    options = {**QUICK, "predict.threshold": "10p", "background.area": "buffer", "background.buffer": 15}
    return fit(tmp_path_factory.mktemp("batch") / "results", world / "occurrences.csv", world / "layers", **options)


def options(*stack: str, **more: Any) -> RunOptions:
    return make_options({"output.stack": list(stack), **{key.replace("__", "."): value for key, value in more.items()}})


def read(path: Path) -> np.ma.MaskedArray:
    with rasterio.open(path) as source:
        return source.read(1, masked=True)


def test_richness_of_a_batch_is_that_of_its_maps(batch: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(batch, folder)
    rows = read_rows(folder / "summary.csv")
    made = write_stacks(folder, rows, options("sum", "threshold", predict__threshold="10p"))
    places = {name: folder / file for name, file in STACK_FILES.items()}
    assert all(place.is_file() for place in places.values())
    stems = [row["folder"] for row in rows if row["folder"]]
    single = [read(folder / stem / f"{stem}.tif") for stem in stems]
    assert len({int(one.mask.sum()) for one in single}) > 1, "study areas differ"
    total = np.ma.stack([one.astype(np.float64) for one in single]).sum(axis=0)
    np.testing.assert_array_equal(read(places["sum"]).mask, total.mask)
    np.testing.assert_allclose(read(places["sum"]).compressed(), total.compressed(), rtol=1e-6)
    present = np.ma.stack([read(folder / stem / f"{stem}_thresholded.tif").astype(int) for stem in stems]).sum(axis=0)
    np.testing.assert_array_equal(read(places["threshold"]).compressed(), present.compressed())
    assert made[0].startswith("richness of 3 species (sum of suitabilities): richness_sum.tif, ")
    assert "above their threshold, 10p" in made[1]
    assert all(line.endswith("; 1 without a map dropped") for line in made)
    with rasterio.open(places["threshold"]) as source:
        assert source.tags()["cutoff"] == "10p"
    with Image.open(places["picture"]) as picture:
        assert min(picture.size) > 200
    assert '<img class="richness" loading="lazy" src="richness.png"' in index_page(folder)
    assert 'src="richness.png"' not in index_page(batch)


def test_a_cutoff_is_maxsss_unless_the_run_has_another(batch: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(batch, folder)
    rows = read_rows(folder / "summary.csv")
    stems = [row["folder"] for row in rows if row["folder"]]
    levels = [json.loads((folder / s / f"{s}.json").read_text())["thresholds"]["maxsss"]["cloglog"] for s in stems]
    for own, expected in ((None, levels), (0.25, [0.25] * 3)):
        (line,) = write_stacks(folder, rows, options("threshold", predict__threshold=own))
        assert f"above their threshold, {own or 'maxsss'}" in line
        above = [read(folder / s / f"{s}.tif") >= np.float32(level) for s, level in zip(stems, expected)]
        counted = np.ma.stack(above).sum(axis=0)
        np.testing.assert_array_equal(read(folder / STACK_FILES["threshold"]).compressed(), counted.compressed())


def test_nothing_is_written_unless_asked_for(batch: Path) -> None:
    assert write_stacks(batch, read_rows(batch / "summary.csv"), options()) == []
    assert not (batch / "richness.png").exists()


@pytest.mark.thorough
def test_presence_and_absence_are_stacked_by_the_probability_of_presence(world: Path, tmp_path: Path) -> None:
    more = {**QUICK, "occurrences.response": "presence", "fit.features": "l"}
    folder = fit(tmp_path / "results", world / "presence_absence.csv", world / "layers", **more)
    rows = read_rows(folder / "summary.csv")
    write_stacks(folder, rows, options("sum", "threshold"))
    with rasterio.open(folder / STACK_FILES["sum"]) as source:
        assert source.tags()["scale"] == "probability"
    total: Any = 0.0
    for row in rows:
        with rasterio.open(folder / row["folder"] / f"{row['folder']}_probability.tif") as source:
            band = list(source.descriptions).index("1") + 1
            total = total + source.read(band, masked=True).astype(np.float64)
    np.testing.assert_allclose(read(folder / STACK_FILES["sum"]), total, rtol=1e-6)
    assert read(folder / STACK_FILES["threshold"]).max() <= len(rows)


def test_what_cannot_be_stacked_is_said(batch: Path, tmp_path: Path) -> None:
    rows = read_rows(batch / "summary.csv")
    cases: list[tuple[RunOptions, int | None, str]] = [
        (
            options("sum", output__map=False),
            None,
            r"output\.stack=sum needs the maps .* output\.map=false",
        ),
        (
            options("sum", predict__scale="raw"),
            None,
            r"not predict\.scale=raw: expected cloglog or log",
        ),
        (options("sum", "threshold"), 1, r"output\.stack=sum,threshold needs several species"),
    ]
    for wrong, species, says in cases:
        with pytest.raises(OptionError, match=says):
            refuse(wrong, species)
    refuse(options("threshold", predict__scale="raw"), 2)
    refuse(options(output__map=False), 1)
    with pytest.raises(DataError, match="needs the maps of two species or more, and one species has one"):
        write_stacks(batch, [row for row in rows if row["error"]] + rows[:1], options("sum"))
    folder = tmp_path / "results"
    shutil.copytree(batch, folder)
    for path in folder.rglob("*.tif"):
        path.unlink()
    with pytest.raises(DataError, match="needs the maps of two species or more, and no species has one"):
        write_stacks(folder, rows, options("threshold"))


def test_a_joint_model_has_its_own_richness() -> None:
    with pytest.raises(OptionError, match=r"does not apply to a joint model \(maps of richness are always written"):
        task_for("community").check_options(options("sum"))
    with pytest.raises(OptionError, match="stack"):
        options("mean")
