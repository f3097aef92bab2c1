"""Thousands of virtual species: names, niches and numbers of records of their own; the first ones as ever."""

import csv
import json
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import rasterio
from pydantic import TypeAdapter
from rasterio.transform import rowcol

from sdm.simulate import strips
from sdm.simulate.drawing import compile_niche, niche_values
from sdm.simulate.landscape import CLASSES, LAYERS, Landscape
from sdm.simulate.names import FILE_NAME, MOST_SPECIES, virtual_name
from sdm.simulate.niche import NICHES, VirtualSpecies, make_species
from sdm.simulate.random_niche import COMMONEST, RAREST, NicheLottery
from sdm.simulate.world import Simulation, read_truth, simulate

SMALL = {"size": (300, 90), "layers": 16, "seed": 4, "sites": 30}
COUNT = 300


@pytest.fixture(scope="module")
def flora(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """More species than truth rasters are written at a time, in more than one strip of rows."""
    return simulate(tmp_path_factory.mktemp("flora") / "made", species=COUNT, records=(10, 60), truth=True, **SMALL)


def records(made: Simulation) -> dict[str, list[tuple[str, str]]]:
    """Places by species, in the order of the file."""
    found: dict[str, list[tuple[str, str]]] = {}
    with open(made.occurrences, encoding="utf-8") as file:
        for name, x, y in list(csv.reader(file))[1:]:
            found.setdefault(name, []).append((x, y))
    return found


def read(path: Path) -> np.ma.MaskedArray:
    with rasterio.open(path) as source:
        return source.read(1, masked=True)


def test_names_are_a_genus_and_an_epithet_and_none_comes_twice():
    names = [virtual_name(number) for number in range(MOST_SPECIES)]
    assert len({name.lower() for name in names}) == MOST_SPECIES
    assert all(re.fullmatch(r"[A-Z][a-z]+ [a-z]+", name) for name in names)
    assert all(re.fullmatch(FILE_NAME, name.replace(" ", "_")) for name in names[:2000])
    genera = Counter(name.split()[0] for name in names[:1000])
    assert len(genera) > 300  # a flora, not one genus


@pytest.mark.thorough
def test_the_first_species_are_as_they_are_without_the_others(flora, tmp_path):
    """What was measured with eight species or fewer is measured with thousands too."""
    few = simulate(tmp_path / "few", species=8, records=(10, 60), truth=True, **SMALL)
    more = simulate(tmp_path / "more", species=40, records=(10, 60), **SMALL)
    assert flora.species[:40] == more.species
    assert more.species[:8] == few.species
    assert list(records(flora).items())[:40] == list(records(more).items())
    assert list(records(more).items())[:8] == list(records(few).items())
    for path in (*few.layers, *few.truth):
        assert path.read_bytes() == (flora.folder / path.relative_to(few.folder)).read_bytes(), path.name
    lines = [made.presence_absence.read_text().splitlines() for made in (few, flora)]
    assert lines[1][: len(lines[0])] == lines[0]
    assert len(lines[1]) == 1 + 30 * COUNT


@pytest.mark.thorough
def test_a_seed_gives_the_same_bytes_whatever_the_threads(tmp_path, monkeypatch):
    options = {**SMALL, "species": 40, "records": "5-50", "bias": True, "truth": True}
    made = [simulate(tmp_path / "a", **options)]
    monkeypatch.setattr(strips, "_WORKERS", 1)
    monkeypatch.setattr(strips, "_OPEN", 7)
    monkeypatch.setattr(strips, "_TOGETHER", 3)
    made.append(simulate(tmp_path / "b", **options))
    for one, other in zip(*(simulation.files for simulation in made), strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_progress_moves_within_a_strip(tmp_path):
    """A strip of a thousand species takes a while."""
    calls: list[tuple[int, int, str]] = []
    small = {"size": (300, 32), "layers": 3, "records": 2, "sites": 0}
    simulate(tmp_path / "x", species=40, truth=True, progress=lambda *call: calls.append(call), **small)
    assert [call[:2] for call in calls] == [(k, 6) for k in range(7)]  # two strips, three groups of species


@pytest.mark.thorough
def test_species_are_rare_and_common_and_know_few_layers(flora):
    listed = json.loads(flora.truth_json.read_text(encoding="utf-8"))["species"]
    prevalence = np.array([one["prevalence"] for one in listed[8:]])
    assert prevalence.min() > RAREST / 3
    assert prevalence.max() < COMMONEST * 1.5
    assert np.mean(prevalence < 0.02) > 0.15
    assert np.mean(prevalence > 0.1) > 0.15
    known = [species.variables for species in flora.species[8:]]
    assert {len(set(names) - {"landcover"}) for names in known} == {2, 3, 4}
    assert {name for names in known for name in names} == {*(path.stem for path in flora.layers)}
    assert 0.25 < np.mean(["landcover" in names for names in known]) < 0.55
    assert len({species.responses for species in flora.species}) == COUNT


def test_numbers_of_records_are_spread_evenly_in_their_logarithm(flora):
    listed = json.loads(flora.truth_json.read_text(encoding="utf-8"))
    assert listed["records"] == [10, 60]
    counts = np.array([one["records"] for one in listed["species"]])
    assert counts.tolist() == [len(places) for places in records(flora).values()]
    assert counts.min() >= 10
    assert counts.max() <= 60
    share = np.mean(counts < np.sqrt(10 * 60))
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(COUNT)


def test_truth_rasters_are_the_niches_and_have_all_records(flora):
    layers = {path.stem: read(path) for path in flora.layers}
    land = ~layers["temperature"].mask
    assert read_truth(flora.truth_json) == flora.species
    assert len(flora.truth) == COUNT > strips._OPEN
    places = records(flora)
    with rasterio.open(flora.layers[0]) as source:
        transform = source.transform
    for species, path in list(zip(flora.species, flora.truth))[::23]:
        truth = read(path)
        assert np.array_equal(~np.ma.getmaskarray(truth), land)
        expected = species.suitability({name: layers[name].data[land] for name in species.variables})
        assert np.allclose(truth.data[land], expected, atol=6e-5)
        for x, y in places[species.name]:
            assert truth[rowcol(transform, float(x), float(y))] > 0


def test_truth_rasters_of_many_species_are_written_only_if_asked_for(tmp_path):
    small = {"size": 64, "layers": 3, "records": 5, "sites": 20}
    for species, truth, expected in ((8, None, 8), (9, None, 0), (9, True, 9), (2, False, 0)):
        made = simulate(tmp_path / f"{species}{truth}", species=species, truth=truth, **small)
        assert len(made.truth) == len(list(made.folder.glob("truth/*.tif"))) == expected
        listed = json.loads(made.truth_json.read_text(encoding="utf-8"))["species"]
        assert [one["truth"] is not None for one in listed] == [bool(expected)] * species
    assert all(path.exists() for path in made.files)


def test_a_world_without_sites_has_no_table_of_them(tmp_path):
    made = simulate(tmp_path / "x", size=64, layers=3, records=5, sites=0)
    assert made.presence_absence is None
    assert not (made.folder / "presence_absence.csv").exists()
    assert all(path.exists() for path in made.files)


def test_truth_rasters_of_an_earlier_world_do_not_stay(tmp_path):
    small = {"size": 64, "layers": 3, "records": 5, "sites": 20}
    simulate(tmp_path / "x", species=12, truth=True, **small)
    (tmp_path / "x/truth/Quercus_robur.tif").write_text("mine")
    simulate(tmp_path / "x", species=9, overwrite=True, **small)
    assert [path.name for path in (tmp_path / "x/truth").iterdir()] == ["Quercus_robur.tif"]


def test_a_species_of_few_cells_has_a_record_in_each(tmp_path):
    """A range gives what there is; a world that has less than its low end is refused (test_virtual.py)."""
    made = simulate(tmp_path / "x", size=40, layers=3, species=60, records="2-2000", sites=0)
    live = [species.suitability(_cells(made)) for species in made.species]
    counts = [len(places) for places in records(made).values()]
    most = [int(np.sum(np.round(values, 4) > 0)) for values in live]
    assert all(count <= there for count, there in zip(counts, most))
    assert sum(count == there for count, there in zip(counts, most)) >= 3


def _cells(made: Simulation) -> dict[str, np.ndarray]:
    layers = {path.stem: read(path) for path in made.layers}
    land = ~layers["temperature"].mask
    return {name: values.data[land] for name, values in layers.items()}


@pytest.mark.parametrize("interaction", [False, True])
def test_compiled_niches_are_the_formulas_rounded(interaction):
    """Records are drawn by the compiled form, truth.json has the formula."""
    world, names = Landscape(60, 60, 2), [*(layer.name for layer in LAYERS), "landcover"]
    look = world.sample(names)
    lottery = NicheLottery(world, look)
    species = [*make_species(look, len(NICHES), interaction), *(lottery.niche(k, interaction) for k in range(60))]
    columns = np.array([look[name] for name in names], np.float32)
    out = np.empty(columns.shape[1], np.float32)
    for one in species:
        total = niche_values(out, columns, *compile_niche(one, names))
        expected = np.rint(one.suitability(look) * 10_000) / 10_000
        assert np.array_equal(out, expected.astype(np.float32)), one.name
        assert total == pytest.approx(expected.sum())
        assert out.max() > 0.3
        assert (one.interaction is not None) == interaction
        assert TypeAdapter(VirtualSpecies).validate_python(json.loads(json.dumps(asdict(one)))) == one


def test_further_layers_are_plausible():
    layers, land = Landscape(150, 150, 6).strip(0, 150, [*(layer.name for layer in LAYERS), "landcover"])
    at = {name: values[land].astype(float) for name, values in layers.items()}
    assert (at["cold_quarter"] < at["temperature"]).all()
    assert (at["temperature"] < at["warm_quarter"]).all()
    assert (at["sand"] + at["clay"] <= 100.1).all()
    assert at["wind"].min() > 0
    assert at["soil_depth"].min() >= 2
    assert np.corrcoef(at["cloud"], at["precipitation"])[0, 1] > 0.5
    for name in ("warm_quarter", "cold_quarter", "wind", "cloud", "soil_depth", "clay"):
        others = [abs(np.corrcoef(at[name], at[other])[0, 1]) for other in at if other not in (name, "landcover")]
        assert max(others) < 0.995, f"{name} is another layer in disguise"
        alone = Landscape(150, 150, 6).strip(40, 50, [name])[0][name]
        assert np.array_equal(alone, layers[name][40:50]), "a layer depends on which others are made"


def test_a_warmer_world_is_warmer_in_every_season(tmp_path):
    made = simulate(tmp_path / "x", size=48, layers=20, records=5, sites=5, warming=3)
    for path, warmer in zip(made.layers, made.warmer):
        raised = path.stem in ("temperature", "warm_quarter", "cold_quarter")
        assert np.allclose((read(warmer) - read(path).astype(float)).compressed(), 3 * raised, atol=1e-5), path.stem
    assert set(np.unique(read(made.layers[19]).compressed())) <= set(CLASSES)
