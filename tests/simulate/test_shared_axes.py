"""Virtual species that share hidden axes: what a method finds in them can be compared with what is there."""

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.transform import rowcol

from sdm.errors import DataError, OptionError, OutputError
from sdm.simulate import axis_lottery, strips
from sdm.simulate.axes import AxisSpecies
from sdm.simulate.world import Simulation, read_truth, simulate

OPTIONS = {"size": (300, 110), "layers": 9, "noise": 1, "records": 40, "sites": 400, "seed": 5}
AXES, COUNT = 2, 70  # more species than truth rasters are written at a time, in more than one strip of rows
TINY = {"size": 40, "layers": 5, "records": 8, "sites": 10}


@pytest.fixture(scope="module")
def kin(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    folder = tmp_path_factory.mktemp("kin") / "made"
    return simulate(folder, species=COUNT, shared_axes=AXES, truth=True, **OPTIONS)


def read(path: Path) -> np.ma.MaskedArray:
    with rasterio.open(path) as source:
        return source.read(1, masked=True)


def rows(path: Path) -> list[list[str]]:
    with open(path, encoding="utf-8") as file:
        return list(csv.reader(file))


def layers_on_land(made: Simulation) -> dict[str, np.ndarray]:
    return {path.stem: read(path).compressed().astype(float) for path in made.layers}


def axes_on_land(made: Simulation) -> np.ndarray:
    """Axis × cell."""
    return np.array([read(path).compressed().astype(float) for path in made.axes])


@pytest.fixture(scope="module")
def log_truth(kin: Simulation) -> np.ndarray:
    """Cell × species."""
    return np.log(np.column_stack([read(path).compressed().astype(float) for path in kin.truth]))


# --- what species share --------------------------------------------------------------------------------------------


def test_true_log_suitability_has_as_many_dimensions_as_there_are_axes(log_truth):
    cells = np.random.default_rng(1).choice(len(log_truth), 500, replace=False)
    matrix = log_truth[cells]
    size = np.linalg.svd(matrix - matrix.mean(axis=0), compute_uv=False)
    assert size[AXES - 1] > 0.2 * size[0]
    assert size[AXES] < 1e-6 * size[0]  # rasters hold seven digits


@pytest.mark.parametrize("axes", [1, 3, 8])
def test_any_number_of_axes_up_to_the_number_of_layers(tmp_path, axes):
    made = simulate(tmp_path / "x", **{**TINY, "layers": 9}, species=20, shared_axes=axes)
    values = layers_on_land(made)
    matrix = np.column_stack([species.log_suitability(values) for species in made.species])
    size = np.linalg.svd(matrix - matrix.mean(axis=0), compute_uv=False)
    assert size[axes - 1] > 0.02 * size[0]
    assert size[axes] < 1e-10 * size[0]
    assert len(made.axes) == axes


def test_suitability_follows_from_the_written_axes_and_slopes(kin, log_truth):
    head, *lines = rows(kin.axis_tables[1])
    assert head == ["species", "intercept", "axis_1", "axis_2"]
    assert [line[0] for line in lines] == [species.name for species in kin.species]
    numbers = np.array([line[1:] for line in lines], float)
    expected = numbers[:, 0] + axes_on_land(kin).T @ numbers[:, 1:].T
    assert np.allclose(log_truth, expected, atol=1e-5)


def test_axes_follow_from_the_written_layers_and_loadings(kin):
    head, *lines = rows(kin.axis_tables[0])
    assert head == ["layer", "mean", "deviation", "axis_1", "axis_2"]
    assert [line[0] for line in lines] == [path.stem for path in kin.layers][:8]  # neither land cover nor noise
    values, expected = layers_on_land(kin), np.zeros((AXES, 1))
    for name, *numbers in lines:
        mean, deviation, *loadings = map(float, numbers)
        assert mean == pytest.approx(values[name].mean(), rel=1e-5)
        assert deviation == pytest.approx(values[name].std(), rel=1e-5)
        expected = expected + np.outer(loadings, (values[name] - mean) / deviation)
    assert np.allclose(axes_on_land(kin), expected, atol=1e-5)


def test_axes_are_standardised_and_not_correlated_over_the_land(kin):
    values = axes_on_land(kin)
    assert np.allclose(values.mean(axis=1), 0, atol=1e-3)
    assert np.allclose(np.cov(values), np.eye(AXES), atol=1e-3)


def test_the_best_cell_of_the_land_has_suitability_one_and_none_has_zero(log_truth):
    """Otherwise the logarithm would be cut off somewhere."""
    assert np.isfinite(log_truth).all()
    assert log_truth.max() <= 0
    assert log_truth.max(axis=0).min() > -1.1e-4


def test_the_best_cells_are_found_whatever_is_looked_at_together(kin, monkeypatch, tmp_path):
    monkeypatch.setattr(axis_lottery, "_PRODUCTS", 3 * COUNT)
    again = simulate(tmp_path / "x", species=COUNT, shared_axes=AXES, truth=False, **OPTIONS)
    assert again.species == kin.species


def test_species_respond_with_any_slope(kin):
    slopes = np.array([species.slopes for species in kin.species if isinstance(species, AxisSpecies)])
    length = np.sqrt((slopes**2).sum(axis=1))
    assert length.min() > axis_lottery.WEAKEST * 0.99
    assert length.max() < axis_lottery.STRONGEST * 1.01
    assert abs(np.mean(length < np.sqrt(axis_lottery.WEAKEST * axis_lottery.STRONGEST)) - 0.5) < 0.2
    quarters = 2 * (slopes[:, 0] > 0) + (slopes[:, 1] > 0)
    assert np.bincount(quarters, minlength=4).min() > COUNT / 10


# --- records and sites ---------------------------------------------------------------------------------------------


def test_records_lie_where_the_axes_say(kin, log_truth):
    values, truth = [read(path) for path in kin.axes], np.exp(log_truth)
    with rasterio.open(kin.layers[0]) as source:
        transform = source.transform
    places: dict[str, list[tuple[int, int]]] = {}
    for name, x, y in rows(kin.occurrences)[1:]:
        places.setdefault(name, []).append(rowcol(transform, float(x), float(y)))
    apart = []
    for number, species in enumerate(kin.species):
        weight = truth[:, number] / truth[:, number].sum()
        assert len(set(places[species.name])) == 40
        for axis in values:
            mean = weight @ axis.compressed()
            spread = np.sqrt(weight @ (axis.compressed() - mean) ** 2 / 40)
            apart.append((np.mean([axis[at] for at in places[species.name]]) - mean) / spread)
    assert abs(np.mean(apart)) < 5 / np.sqrt(len(apart))
    assert 0.7 < np.std(apart) < 1.3


def test_the_survey_finds_species_as_often_as_they_are_suitable(kin):
    truth = {path.stem: read(path) for path in kin.truth}
    with rasterio.open(kin.layers[0]) as source:
        transform = source.transform
    names, xs, ys, presences = zip(*rows(kin.presence_absence)[1:], strict=True)
    found = [int(presence) for presence in presences]
    at = zip(*rowcol(transform, np.array(xs, float), np.array(ys, float)), strict=True)
    p = np.array([truth[name.replace(" ", "_")][place] for name, place in zip(names, at, strict=True)], float)
    assert len(found) == 400 * COUNT
    assert abs(sum(found) - p.sum()) < 5 * np.sqrt((p * (1 - p)).sum())


# --- the files -----------------------------------------------------------------------------------------------------


def test_the_truth_can_be_read_back(kin):
    species = read_truth(kin.truth_json)
    assert species == kin.species
    values = layers_on_land(kin)
    for one, path in list(zip(species, kin.truth))[::9]:
        assert set(one.variables) == {path.stem for path in kin.layers[:8]}
        assert np.allclose(one.suitability(values), read(path).compressed(), rtol=1e-4, atol=1e-6)
    listed = json.loads(kin.truth_json.read_text(encoding="utf-8"))
    assert listed["species"][0]["prevalence"] == pytest.approx(read(kin.truth[0]).mean(dtype=float), abs=1e-4)


def test_every_file_is_listed(kin):
    assert [path.name for path in kin.axes] == ["axis_1.tif", "axis_2.tif"]
    assert {*kin.axes, *kin.axis_tables} < {*kin.files}
    assert {path for path in kin.folder.rglob("*.*") if not path.name.startswith(".")} == {*kin.files}
    land = [~np.ma.getmaskarray(read(path)) for path in (*kin.axes, kin.layers[0])]
    assert np.array_equal(land[0], land[2])
    assert np.array_equal(land[1], land[2])


@pytest.mark.thorough
def test_thousands_of_species_share_axes_too(tmp_path):
    made = simulate(tmp_path / "x", **TINY, species=3000, shared_axes=2, bias=True, warming=2)
    assert (len(made.species), len(made.truth), len(made.axes)) == (3000, 0, 2)
    assert len(rows(made.axis_tables[1])) == 3001
    assert len(rows(made.occurrences)) == 1 + 3000 * TINY["records"]
    values = layers_on_land(made)
    matrix = np.column_stack([species.log_suitability(values) for species in made.species])
    assert matrix.max(axis=0) == pytest.approx(0, abs=1.1e-4)
    mixed = (matrix - matrix.mean(axis=0)) @ np.random.default_rng(1).normal(size=(3000, 10))  # has the same rank
    size = np.linalg.svd(mixed, compute_uv=False)
    assert size[2] < 1e-10 * size[0] < size[1]


def test_in_another_climate_suitability_ends_at_one_and_its_logarithm_goes_on(tmp_path):
    made = simulate(tmp_path / "x", **TINY, species=12, shared_axes=1, warming=8)
    warmer = {path.stem: read(path).compressed().astype(float) for path in made.warmer}
    tops = [(s.suitability(warmer).max(), s.log_suitability(warmer).max()) for s in made.species]
    assert max(top for top, _ in tops) == 1
    assert max(top for _, top in tops) > 0.01


def test_a_layer_that_is_missing_is_named(kin):
    with pytest.raises(DataError, match=r"every shared axis needs the layers .*slope.*, got elevation"):
        kin.species[0].suitability({"elevation": [1.0]})


# --- one seed, the same bytes --------------------------------------------------------------------------------------


def test_worlds_without_shared_axes_are_what_they_were(tmp_path):
    """Digests of the version before there were shared axes."""
    options = {"size": (300, 90), "layers": 16, "species": 40, "records": "5-50", "bias": True, "truth": True}
    made = simulate(tmp_path / "x", **options, noise=1, warming=2, seed=4)
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (made.occurrences, made.presence_absence, made.truth_json)
    }
    assert digests == {
        "occurrences.csv": "190011d516e53f8336d4490db9cdc75438eec4a54184faae1298ee6dbb381691",
        "presence_absence.csv": "82ecb1c6a88fc6291242f0e2e86e41632bb009ac73724e1055ee4f8673cc2451",
        "truth.json": "95f05d90fcbbf4f32ebf7414a20e59b47541e2d3120f1b36bc2bb0caf8a9017f",
    }
    assert (made.axes, made.axis_tables) == ((), ())
    assert not list(made.folder.glob("truth/ax*"))


def test_the_landscape_is_the_same_with_and_without_shared_axes(tmp_path):
    one, other = (
        simulate(tmp_path / str(axes), **TINY, species=3, noise=1, bias=True, shared_axes=axes) for axes in (0, 2)
    )
    for a, b in zip((*one.layers, one.effort), (*other.layers, other.effort), strict=True):
        assert a.read_bytes() == b.read_bytes(), a.name


def test_axes_and_species_are_the_same_however_many_others_there_are(kin, tmp_path):
    few = simulate(tmp_path / "few", species=5, shared_axes=AXES, **OPTIONS)
    assert few.species == kin.species[:5]
    for path in (*few.axes, *few.truth, few.axis_tables[0]):
        assert path.read_bytes() == (kin.folder / path.relative_to(few.folder)).read_bytes(), path.name
    alone = simulate(tmp_path / "alone", species=5, shared_axes=1, **OPTIONS)
    assert alone.axes[0].read_bytes() == kin.axes[0].read_bytes()


def test_a_seed_gives_the_same_bytes_whatever_the_threads(kin, tmp_path, monkeypatch):
    monkeypatch.setattr(strips, "_WORKERS", 1)
    monkeypatch.setattr(strips, "_OPEN", 7)
    monkeypatch.setattr(strips, "_TOGETHER", 3)
    again = simulate(tmp_path / "x", species=COUNT, shared_axes=AXES, truth=True, **OPTIONS)
    for path in again.files:
        assert path.read_bytes() == (kin.folder / path.relative_to(again.folder)).read_bytes(), path.name


def test_another_seed_gives_other_axes(kin, tmp_path):
    other = simulate(tmp_path / "x", species=5, shared_axes=AXES, **{**OPTIONS, "seed": 6})
    assert rows(other.axis_tables[0])[1][3:] != rows(kin.axis_tables[0])[1][3:]
    assert rows(other.axis_tables[1])[1][2:] != rows(kin.axis_tables[1])[1][2:]


# --- what goes wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, message",
    [
        ({"shared_axes": -1}, "shared_axes=-1: expected a whole number from 0 to 19"),
        ({"shared_axes": 2.0}, "shared_axes=2.0: expected a whole number"),
        ({"shared_axes": True}, "shared_axes=True: expected a whole number"),
        ({"shared_axes": 5}, "shared_axes=5: expected at most the 4 continuous layers; .* at least 6 layers"),
        ({"shared_axes": 3, "species": 2}, "shared_axes=3: there are 2 species; use at least 3"),
        ({"shared_axes": 2, "species": 1}, "shared_axes=2: there is 1 species"),
        ({"shared_axes": 2, "interaction": True}, "interaction=True and shared_axes=2 exclude each other"),
        (
            {"shared_axes": 19, "layers": 20, "species": 30},
            r"shared_axes=19: the layers of this landscape allow 1\d",
        ),
    ],
)
def test_shared_axes_that_make_no_sense_are_refused_and_nothing_is_written(tmp_path, options, message):
    with pytest.raises(OptionError, match=message):
        simulate(tmp_path / "new" / "x", **{**TINY, "species": 9, **options})
    assert not list(tmp_path.iterdir())


def test_axes_of_an_earlier_world_are_not_overwritten_unasked_and_do_not_stay(tmp_path):
    simulate(tmp_path, **TINY, species=4, shared_axes=3)
    with pytest.raises(OutputError, match="exists already"):
        simulate(tmp_path, **TINY)
    simulate(tmp_path, **TINY, species=4, shared_axes=1, overwrite=True)
    assert sorted(path.name for path in (tmp_path / "truth").glob("*ax*")) == [
        "axes.csv",
        "axis_1.tif",
        "species_axes.csv",
    ]
    made = simulate(tmp_path, **TINY, overwrite=True)
    assert [path.name for path in (tmp_path / "truth").iterdir()] == [made.truth[0].name]


@pytest.mark.parametrize("name", ["axes.csv", "species_axes.csv", "axis_12.tif"])
def test_a_file_of_shared_axes_alone_is_not_overwritten_either(tmp_path, name):
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / name).write_text("mine")
    with pytest.raises(OutputError, match=f"{name} exists already"):
        simulate(tmp_path, **TINY)
