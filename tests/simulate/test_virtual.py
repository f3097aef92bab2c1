"""Sample data whose truth is known: reproducible to the byte, honest as a sample."""

import csv
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.warp import transform as reproject

from sdm.errors import DataError, OptionError, OutputError
from sdm.simulate import noise, strips
from sdm.simulate.drawing import CellDraws
from sdm.simulate.landscape import LAYERS
from sdm.simulate.noise import key
from sdm.simulate.world import Simulation, read_truth, simulate
from sdm.storage.written_files import LISTED

ALL = [layer.name for layer in LAYERS] + ["landcover"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """All layers, more than one strip of rows, several species, noise."""
    folder = tmp_path_factory.mktemp("virtual") / "made"
    return simulate(folder, size=(300, 280), layers=14, species=8, records=300, sites=2000, seed=3, noise=2)


def read(path: Path) -> np.ma.MaskedArray:
    with rasterio.open(path) as source:
        return source.read(1, masked=True)


def table(path: Path) -> dict[str, np.ndarray]:
    """Rows by species: longitude, latitude and what else there is."""
    rows: dict[str, list[list[float]]] = {}
    with open(path, encoding="utf-8") as file:
        for line in list(csv.reader(file))[1:]:
            rows.setdefault(line[0], []).append([float(value) for value in line[1:]])
    return {name: np.array(values) for name, values in rows.items()}


def cells(path: Path, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fractional rows and columns of longitudes and latitudes in a raster."""
    with rasterio.open(path) as source:
        x, y = places[:, 0], places[:, 1]
        if source.crs.to_epsg() != 4326:
            x, y = (np.array(v) for v in reproject("EPSG:4326", source.crs, x, y))
        return (y - source.transform.f) / source.transform.e, (x - source.transform.c) / source.transform.a


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != LISTED)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


# --- one seed, the same bytes --------------------------------------------------------------------------------------


def test_one_seed_gives_the_same_bytes_whatever_the_number_of_threads(tmp_path, monkeypatch):
    options = {"size": (300, 80), "layers": 8, "species": 2, "seed": 11, "noise": 1, "bias": True, "records": 50}
    first = contents(simulate(tmp_path / "a", **options).folder)
    monkeypatch.setattr(strips, "_WORKERS", 1)
    assert contents(simulate(tmp_path / "b", **options).folder) == first
    monkeypatch.setattr(strips, "_CACHE", 2**20)  # GDAL writes blocks at other times, but in the same order
    assert contents(simulate(tmp_path / "c", **options).folder) == first


def test_another_seed_gives_another_world(tmp_path):
    a, b = (read(simulate(tmp_path / str(seed), size=64, records=50, seed=seed).layers[0]) for seed in (1, 2))
    assert not np.array_equal(a.filled(0), b.filled(0))


# --- the files -----------------------------------------------------------------------------------------------------


def test_noise_layers_know_nothing(made):
    layers = {path.stem: read(path) for path in made.layers}
    for name in ("noise1", "noise2"):
        for other in {"temperature", "precipitation", "noise1", "noise2"} - {name}:
            r = np.corrcoef(layers[name].compressed(), layers[other].compressed())[0, 1]
            assert abs(r) < 0.03
    assert not {"noise1", "noise2"} & {name for species in made.species for name in species.variables}


def test_layers_are_tiled_geotiffs_on_one_grid(made):
    assert [path.stem for path in made.layers] == [*ALL[:13], "landcover", "noise1", "noise2"]
    masks = []
    for path in (*made.layers, *made.truth):
        with rasterio.open(path) as source:
            assert (source.height, source.width, source.count) == (300, 280, 1)
            assert source.crs.to_epsg() == 4326
            assert source.transform.a == pytest.approx(4 / 300)
            assert source.transform.e == pytest.approx(-4 / 300)
            assert source.block_shapes == [(256, 256)]
            assert source.compression.name == "deflate"
            categorical = path.stem == "landcover"
            assert (source.dtypes[0], source.nodata) == (("uint8", 0) if categorical else ("float32", -9999))
            masks.append(source.read_masks(1) > 0)
    assert all(np.array_equal(mask, masks[0]) for mask in masks)
    with rasterio.open(made.folder / "layers/temperature.tif") as source:
        assert source.units == ("°C",)
    with rasterio.open(made.folder / "layers/landcover.tif") as source:
        assert source.tags(1)["CLASS_5"] == "wetland"


def test_the_default_sample_is_small(tmp_path):
    made = simulate(tmp_path / "sample")
    assert [path.stem for path in made.layers] == [*ALL[:6], "landcover"]
    assert sorted(contents(made.folder)) == sorted(path.relative_to(made.folder).as_posix() for path in made.files)
    assert sum(path.stat().st_size for path in made.files) < 1_000_000
    assert made.occurrences.read_text().startswith("species,longitude,latitude\nVirtualis montanus,-1")
    assert made.presence_absence.read_text().startswith("species,longitude,latitude,presence\n")


def test_progress_is_told(tmp_path):
    calls: list[tuple[int, int, str]] = []
    simulate(tmp_path / "x", size=(300, 32), layers=3, records=20, progress=lambda *call: calls.append(call))
    assert [call[:2] for call in calls] == [(0, 2), (1, 2), (2, 2)]


def test_projected_landscape_with_records_in_wgs84(tmp_path):
    made = simulate(tmp_path / "utm", size=100, records=60, crs="EPSG:32628", layers=3)
    with rasterio.open(made.layers[0]) as source:
        assert source.crs.to_epsg() == 32628
        assert source.res == (4000.0, 4000.0)
    places = table(made.occurrences)["Virtualis montanus"]
    assert (np.abs(places - [-15, 40]) < 3).all()
    rows, cols = cells(made.truth[0], places)
    assert (read(made.truth[0])[rows.astype(int), cols.astype(int)].filled(0) > 0).all()


# --- the species ---------------------------------------------------------------------------------------------------


def test_truth_rasters_are_the_niches_of_the_written_layers(made):
    """Whoever has the layers and truth.json has the truth."""
    layers = {path.stem: read(path) for path in made.layers}
    land = ~layers["temperature"].mask
    listed = json.loads(made.truth_json.read_text(encoding="utf-8"))
    assert read_truth(made.truth_json) == made.species
    assert (listed["seed"], listed["rows"], listed["cols"]) == (3, 300, 280)
    for species, path, entry in zip(made.species, made.truth, listed["species"]):
        truth = read(path)
        expected = species.suitability({name: layers[name].data[land] for name in species.variables})
        assert np.allclose(truth.data[land], expected, atol=6e-5)
        assert truth.min() >= 0
        assert 0.8 < truth.max() <= 1
        assert made.folder / entry["truth"] == path
        assert entry["prevalence"] == pytest.approx(truth.mean(dtype=float), abs=1e-3)
        assert 0.02 < entry["prevalence"] < 0.5


def test_records_are_cells_drawn_by_suitability(made):
    for path, (name, places) in zip(made.truth, table(made.occurrences).items()):
        assert path.stem == name.replace(" ", "_")
        truth = read(path)
        rows, cols = cells(path, places)
        assert len(set(zip(rows.astype(int), cols.astype(int)))) == 300  # without replacement
        for part in (rows % 1, cols % 1):  # the rule for points on an edge never matters
            assert part.min() > 0.099
            assert part.max() < 0.901
        found = truth[rows.astype(int), cols.astype(int)]
        assert (found.filled(0) > 0).all()
        values = truth.compressed().astype(float)
        expected = (values**2).sum() / values.sum()  # mean suitability at draws proportional to it
        spread = np.sqrt((values**3).sum() / values.sum() - expected**2) / np.sqrt(300)
        assert abs(found.mean(dtype=float) - expected) < 5 * spread


def test_draws_without_replacement_have_the_right_odds():
    """First draw of many: a cell of weight 3 comes three times as often as one of weight 1, one of 0 never."""
    weight, rows, cols = np.array([0.0, 1.0, 3.0], np.float32), np.full(3, 10), np.arange(3)
    first, u = [], np.empty(3)
    for seed in range(4000):
        noise.white(u, rows, cols, key(seed, "x"))
        one, everything = CellDraws(1), CellDraws(3)
        for draws in (one, everything):
            draws.add(u, weight, rows, cols)
        first.append(int(one.cells[0, 2]))
        assert everything.cells[:, 2].tolist() in ([1, 2], [2, 1])
        assert everything.cells[0, 2] == first[-1]
        assert everything.cells[:, 1].tolist() == [10, 10]
    assert abs(np.mean(np.array(first) == 2) - 0.75) < 0.03


@pytest.mark.parametrize("records", [1, 2, 7, 100, 5000])
def test_draws_are_the_cells_of_lowest_rank(records):
    """The slow, obvious way: all ranks at once, sorted; in one strip or in several."""
    rng, code = np.random.default_rng(records), key(records, "x")
    rows, cols = (part.ravel().astype(np.int32) for part in np.indices((50, 60)))
    weight = np.round(rng.random(3000) * rng.integers(0, 2, 3000), 4).astype(np.float32)
    effort = rng.uniform(0.01, 1, 3000).astype(np.float32)
    u = np.empty(3000)
    noise.white(u, rows.astype(np.int64), cols.astype(np.int64), code)
    with np.errstate(divide="ignore"):
        rank = -np.log(u) / (weight * effort)
    best = [n for n in np.argsort(rank, kind="stable")[:records] if np.isfinite(rank[n])]
    for cuts in ([], [1, 2, 700, 2999]):
        draws = CellDraws(records)
        for part in np.split(np.arange(3000), cuts):
            draws.add(u[part], (weight * effort)[part], rows[part], cols[part])
        assert np.array_equal(draws.cells[:, 1:], np.column_stack([rows[best], cols[best]]))


def test_survey_finds_a_species_as_often_as_it_is_suitable(made):
    survey = table(made.presence_absence)
    first = next(iter(survey.values()))
    for path, sites in zip(made.truth, survey.values()):
        assert np.array_equal(sites[:, :2], first[:, :2])  # one survey, all species
        rows, cols = cells(path, sites)
        p = read(path)[rows.astype(int), cols.astype(int)]
        assert not np.ma.getmaskarray(p).any()
        assert set(sites[:, 2]) == {0.0, 1.0}
        assert abs(sites[:, 2].sum() - p.sum()) < 5 * np.sqrt((p * (1 - p)).sum())
        assert sites[p < 0.0001, 2].sum() == 0


def test_biased_records_come_from_where_observers_are(tmp_path):
    fair, biased = (
        simulate(tmp_path / str(bias), size=120, records=150, layers=3, bias=bias) for bias in (False, True)
    )
    assert fair.effort is None
    assert (
        contents(fair.folder)["truth/Virtualis_montanus.tif"] == contents(biased.folder)["truth/Virtualis_montanus.tif"]
    )
    effort = read(biased.effort)
    assert effort.min() > 0
    assert effort.max() <= 1
    means = []
    for made in (fair, biased):
        rows, cols = cells(biased.effort, table(made.occurrences)["Virtualis montanus"])
        means.append(effort[rows.astype(int), cols.astype(int)].mean())
    assert means[1] > 1.4 * means[0]
    assert len(json.loads(biased.truth_json.read_text(encoding="utf-8"))["effort"]["towns"]) == 5


def test_interaction_confines_a_species(tmp_path):
    made = simulate(tmp_path / "x", size=100, layers=3, records=40, species=3, interaction=True)
    layers = {path.stem: read(path) for path in made.layers}
    for species, path in zip(made.species, made.truth):
        gate = species.interaction
        outside = (layers[gate.above] <= gate.low) | (layers[gate.below] >= gate.high)
        assert read(path)[outside.filled(False)].max() == 0
        assert read(path).max() > 0.5


def test_interaction_confines_species_with_random_niches_too(tmp_path):
    made = simulate(tmp_path / "x", size=60, layers=3, records=20, species=10, sites=0, interaction=True)
    layers = {path.stem: path for path in made.layers}
    for species in made.species[8:]:
        gate, places = species.interaction, table(made.occurrences)[species.name]
        above, below = (
            read(layers[name])[tuple(one.astype(int) for one in cells(layers[name], places))]
            for name in (gate.above, gate.below)
        )
        assert (above > gate.low).all()
        assert (below < gate.high).all()


def test_truth_that_is_not_one(tmp_path):
    (tmp_path / "truth.json").write_text("{}")
    with pytest.raises(DataError, match="is not a truth"):
        read_truth(tmp_path / "truth.json")
    with pytest.raises(DataError, match="is not a truth"):
        read_truth(tmp_path / "none.json")


# --- what goes wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, message",
    [
        ({"size": 31}, "size=31: expected a whole number from 32"),
        ({"size": (100, 100, 3)}, "expected one number of cells, or rows and columns"),
        ({"size": 99.5}, "size=99.5"),
        ({"size": "big"}, "size='big'"),
        ({"layers": 2}, "layers=2: expected a whole number from 3 to 20"),
        ({"layers": 21}, "layers=21"),
        ({"species": 100_001}, "species=100001: expected a whole number from 1 to 100,000"),
        ({"species": True}, "species=True"),
        ({"records": 0}, "records=0"),
        ({"records": "20-"}, "records='20-': expected a whole number, or two such as 20-200"),
        ({"records": "-5"}, "records='-5': expected a whole number, or two such as 20-200"),
        ({"records": "200-20"}, "records='200-20': expected the fewest before the most"),
        ({"records": (1, 2, 3)}, "expected one number, or the fewest and the most"),
        ({"records": 2.5}, "records=2.5: expected a whole number"),
        ({"records": "4000-5000", "size": 64}, "records=4,000: Virtualis montanus can live in .* cells"),
        ({"sites": -1}, "sites=-1: expected a whole number from 0"),
        ({"records": 5000, "size": 64}, "records=5,000: Virtualis montanus can live in .* cells; use fewer records"),
        ({"sites": 5000, "size": 64, "records": 9}, "sites=5,000: the land has .* cells; use fewer sites"),
        ({"seed": -1}, "seed=-1"),
        ({"noise": -1}, "noise=-1"),
        ({"crs": "EPSG:99999"}, "crs='EPSG:99999': expected a coordinate system"),
        ({"crs": "EPSG:4978"}, "crs='EPSG:4978': expected a coordinate system"),
    ],
)
def test_a_bad_option_is_one_sentence_and_nothing_is_written(tmp_path, options, message, capfd):
    with pytest.raises(OptionError, match=message):
        simulate(tmp_path / "new" / "x", **options)
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


def test_results_are_never_overwritten_unasked(tmp_path):
    small = {"size": 48, "layers": 3, "records": 20}
    simulate(tmp_path, **{**small, "layers": 5, "noise": 1, "bias": True})
    (tmp_path / "layers/mine.tif").write_text("mine")
    (tmp_path / "README.md").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(OutputError, match="exists already: choose another folder, or use --overwrite"):
        simulate(tmp_path, **small)
    assert contents(tmp_path) == before
    made = simulate(tmp_path, **small, overwrite=True)
    left = {path.relative_to(tmp_path).as_posix() for path in made.files} | {"layers/mine.tif", "README.md"}
    assert set(contents(tmp_path)) == left  # no layer of the earlier landscape stays among those of the new one


def test_an_interrupted_run_leaves_nothing_behind(tmp_path):
    def stop(done: int, total: int, text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(tmp_path / "x", size=48, layers=3, progress=stop)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match=r"file.x cannot be written \(File exists\)"):
        simulate(tmp_path / "file" / "x", size=48, layers=3)
    with pytest.raises(OutputError, match="cannot be written"):
        simulate(tmp_path / "file", size=48, layers=3)


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "fork"), reason="needs a limit on file sizes")
def test_a_full_disk_is_an_output_error_and_leaves_nothing(tmp_path):
    import resource

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, old[1]))
    try:
        with pytest.raises(OutputError, match="choose a folder with room"):
            simulate(tmp_path / "x", size=200)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert not list(tmp_path.iterdir())
