"""Paths of a run: strata against a plain count of cells and the optimality condition, multipliers against fits."""

import csv
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import rasterio
from affine import Affine
from naive import ellipsoid_km2
from rasterio.crs import CRS
from relaxation import solve_relaxation

from sdm.assess.fits import fit_table
from sdm.assess.paths.multiplier import follow_table, validate_multipliers
from sdm.assess.validation import cross_validate
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.data.rasters.strata import SquareDivision, make_division, square_km, survey_strata
from sdm.data.table import SampleTable
from sdm.errors import DataError, OptionError
from sdm.kinds.registry import task_for
from sdm.kinds.species.fit import plan_species
from sdm.kinds.species.inputs import SpeciesPrepared, prepare_species
from sdm.kinds.species.methods.method import species_estimator
from sdm.kinds.splitting import RecordPlan, with_default_folds
from sdm.options.definitions import RunOptions
from sdm.options.reading import make_options
from sdm.run.job import Chosen
from sdm.run.studies.paths import choose_multiplier, coefficient_rows, path_rows, run_path
from sdm.run.studies.strata_path import (
    StrataPath,
    breakpoint_rows,
    follow_strata,
    strata_options,
    stratum_rows,
    survey,
)
from sdm.simulate.world import simulate

SIZE = 48


@dataclass(frozen=True)
class World:
    folder: Path

    def options(self, **more) -> RunOptions:
        source = {"occurrences": str(self.folder / "occurrences.csv"), "layers": str(self.folder / "layers")}
        return make_options({**source, "categorical": "landcover", "features": "lq", "curves": False}, more)

    def band(self, name: str) -> np.ma.MaskedArray:
        with rasterio.open(self.folder / name) as source:
            return source.read(1, masked=True)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("paths")
    simulate(folder, size=SIZE, layers=5, species=1, records=70, sites=20, seed=4, bias=True)
    with rasterio.open(folder / "effort.tif") as source:  # no effort at all in a corner without records
        effort, profile = source.read(1), source.profile
    effort[:4, :4] = 0
    with rasterio.open(folder / "effort.tif", "w", **profile) as out:
        out.write(effort, 1)
    return World(folder)


def divided(table: SampleTable, options: RunOptions, stack: Stack | None = None) -> RecordPlan:
    prepared = SpeciesPrepared({table.species: table}, stack=stack)
    return plan_species(prepared, table.species, with_default_folds(options))


def chosen_multiplier(options: RunOptions) -> Chosen:
    prepared = prepare_species(options)
    return choose_multiplier(task_for("species"), prepared, next(iter(prepared.tables)), options, None)


def follow(options: RunOptions) -> StrataPath:
    options = strata_options(options)
    prepared = prepare_species(options)
    (table,) = prepared.tables.values()
    plan = divided(table, options, prepared.stack)
    return follow_strata(plan, survey(prepared, options, None), options, prepared.stack)


def counted(world: World) -> tuple[dict[int, int], dict[int, int], dict[int, float]]:
    """Cells, records (one per cell) and area of every class, from the files, cell by cell."""
    cover = world.band("layers/landcover.tif")
    valid = ~np.logical_or.reduce(
        [world.band(f"layers/{p.name}").mask for p in (world.folder / "layers").glob("*.tif")]
    )
    with rasterio.open(world.folder / "layers" / "landcover.tif") as source:
        transform = source.transform
        with (world.folder / "occurrences.csv").open() as file:
            where = {source.index(float(r["longitude"]), float(r["latitude"])) for r in csv.DictReader(file)}
    cells: dict[int, int] = {}
    records: dict[int, int] = {}
    area: dict[int, float] = {}
    for row, col in np.argwhere(valid):
        code = int(cover[row, col])
        top, bottom = transform.f + transform.e * (row + np.array([0, 1]))
        cells[code] = cells.get(code, 0) + 1
        records[code] = records.get(code, 0) + ((int(row), int(col)) in where)
        area[code] = area.get(code, 0.0) + ellipsoid_km2(transform.a, bottom, top)
    return cells, records, area


def test_strata_hold_the_cells_areas_and_records_that_a_plain_count_finds(world) -> None:
    cells, records, area = counted(world)
    rows = {int(row["stratum"]): row for row in stratum_rows(follow(world.options(strata="landcover")))}
    assert {code: row["cells"] for code, row in rows.items()} == cells
    assert {code: row["records"] for code, row in rows.items()} == records
    whole = sum(area.values())
    for code, row in rows.items():
        assert row["area_km2"] == pytest.approx(area[code], rel=1e-9)
        assert row["prior"] == pytest.approx(area[code] / whole, rel=1e-9)
        assert row["observed"] == pytest.approx(records[code] / sum(records.values()))


@pytest.mark.parametrize("more", [{"strata": "landcover"}, {"strata": "grid:60km", "choice": "one_se"}])
def test_the_choice_is_optimal_within_its_tolerance(world, more) -> None:
    """Nearest to the prior: within the tolerance of what was observed, and proportional to the prior inside it."""
    found = follow(world.options(**more))
    rows = stratum_rows(found)
    m, p, q, u = (np.array([row[key] for row in rows]) for key in ("cells", "probability", "observed", "prior"))
    sets = np.array([row["set"] for row in rows])
    assert p.sum() == pytest.approx(1, abs=1e-12)
    slack = (p - q) / m
    assert np.all(np.abs(slack) <= found.tolerance * (1 + 1e-9))
    inside = p[sets == "I0"] / u[sets == "I0"]
    if inside.size:
        assert np.ptp(inside) <= 1e-9 * inside.max()
        # Held at the upper end: the prior would have more; at the lower end: less.
        assert np.all(p[sets == "I+"] / u[sets == "I+"] <= inside.max() * (1 + 1e-9))
        assert np.all(p[sets == "I-"] / u[sets == "I-"] >= inside.min() * (1 - 1e-9))
    assert np.allclose(slack[sets == "I+"], found.tolerance)
    assert np.allclose(slack[sets == "I-"], -found.tolerance)


def test_the_held_out_loss_is_that_of_solving_each_fold_anew_and_nowhere_less(world) -> None:
    options = strata_options(world.options(strata="landcover", folds=4, seed=3))
    prepared = prepare_species(options)
    (table,) = prepared.tables.values()
    strata = survey(prepared, options, None)
    plan = divided(table, options, prepared.stack)
    found = follow_strata(plan, strata, options, prepared.stack)
    place = np.searchsorted(strata.codes, table.presence[:, table.names.index("landcover")])
    u, m = strata.prior / strata.cells, strata.cells

    def loss(nu: float) -> float:
        values = []
        for fold in plan.split.folds:
            q = np.bincount(place[fold.train], minlength=u.size) / m
            p = solve_relaxation(u, q, nu, m).p
            values.append(-np.mean(np.log(p[place[fold.test]] / u[place[fold.test]])))
        return float(np.mean(values))

    best = found.validation.best
    assert loss(best.nu) == pytest.approx(best.mean, abs=1e-10)
    with np.errstate(divide="ignore"):
        others = [loss(nu) for nu in best.nu * np.geomspace(0.01, 100, 81)]
    assert min(others) >= best.mean - 1e-10
    assert found.validation.one_error.nu <= best.nu
    assert found.validation.one_error.mean <= best.mean + best.error + 1e-10


def test_breakpoints_tell_the_sets_between_them(world) -> None:
    """Replaying the moves gives the sets that a direct solve finds half way to the next breakpoint."""
    found = follow(world.options(strata="grid:60km"))
    names, atoms = found.strata.names, found.path.atoms
    state = dict.fromkeys(names, "I0")
    rows = breakpoint_rows(found)
    assert len(rows) > 10
    order = {"I-": -1, "I0": 0, "I+": 1}
    for row, after in pairwise(rows):
        assert state[row["stratum"]] == row["from"]
        assert abs(order[row["to"]] - order[row["from"]]) == 1
        state[row["stratum"]] = row["to"]
        if after["nu"] > row["nu"] * (1 + 1e-6):
            direct = solve_relaxation(atoms.u, atoms.q, 0.5 * (row["nu"] + after["nu"]), atoms.m)
            assert [order[state[name]] for name in names] == direct.sign.tolist()


def test_the_map_is_the_chosen_distribution_as_density_over_area(world, tmp_path: Path) -> None:
    result = run_path(world.options(strata="landcover", output=str(tmp_path / "out")))
    (species,) = result.models
    density = world.band(tmp_path / "out" / species.files["map"])
    cover = world.band("layers/landcover.tif")
    with rasterio.open(world.folder / "layers" / "landcover.tif") as source:
        edges = source.transform.f + source.transform.e * np.arange(SIZE + 1)
    rows = [ellipsoid_km2(1, south, north) for north, south in pairwise(edges)]
    area = np.broadcast_to(np.array(rows)[:, None], density.shape)
    share = density * area / area[~density.mask].sum()
    assert share.sum() == pytest.approx(1, abs=1e-6)
    with (tmp_path / "out" / species.files["strata"]).open() as file:
        for row in csv.DictReader(file):
            assert share[cover == int(row["stratum"])].sum() == pytest.approx(float(row["probability"]), abs=1e-6)


def test_effort_is_the_prior_and_is_divided_out_of_the_map(world, tmp_path: Path) -> None:
    effort, cover = world.band("effort.tif").astype(np.float64), world.band("layers/landcover.tif").astype(np.int64)
    options = world.options(strata="landcover", bias=str(world.folder / "effort.tif"), output=str(tmp_path / "out"))
    (species,) = run_path(options).models
    with (tmp_path / "out" / species.files["strata"]).open() as file:
        rows = {int(row["stratum"]): row for row in csv.DictReader(file)}
    seen = (effort.filled(0) > 0) & ~cover.mask
    for code, row in rows.items():
        mine = seen & (cover.filled(-1) == code)
        assert int(row["cells"]) == np.count_nonzero(mine)
        assert float(row["prior"]) == pytest.approx(effort[mine].sum() / effort[seen].sum(), rel=1e-6)
    density = world.band(tmp_path / "out" / species.files["map"])
    assert np.array_equal(~density.mask, seen), "cells that nobody looked at say nothing"
    ratio = {code: float(row["probability"]) / float(row["prior"]) for code, row in rows.items()}
    first, *others = rows
    for code in others:
        assert float(rows[code]["density"]) * ratio[first] == pytest.approx(
            float(rows[first]["density"]) * ratio[code], rel=1e-6
        )


@pytest.mark.parametrize(("factor", "crs"), [(1000.0, "EPSG:25833"), (3280.839895, "EPSG:2263")])
def test_squares_of_a_projected_grid_are_whole_blocks_of_cells(factor: float, crs: str) -> None:
    """100 × 80 cells of 1 km, in metres or in feet: squares of 20 km are 20 × 20 cells."""
    feet = crs == "EPSG:2263"
    step = 1000 / 0.3048006096 if feet else factor
    grid = Grid(width=100, height=80, transform=Affine(step, 0, 5e5, 0, -step, 6e6), crs=CRS.from_string(crs))
    codes = SquareDivision(grid, 20.0).codes(np.ogrid[:80, :100], np.empty((1, 80, 100)))
    expected = np.add.outer(np.arange(80) // 20 * 1000, np.arange(100) // 20)
    _, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    assert count.tolist() == [400] * 20
    assert np.array_equal(place.reshape(codes.shape), np.unique(expected, return_inverse=True)[1].reshape(codes.shape))
    part = SquareDivision(grid, 20.0).codes(np.ogrid[10:15, 30:37], np.empty((1, 5, 7)))
    assert np.array_equal(part, codes[10:15, 30:37])


def test_squares_of_degrees_have_the_area_that_they_say(world) -> None:
    stack = open_stack(world.folder / "layers" / "elevation.tif")
    strata = survey_strata(stack, make_division("grid:80km", stack))
    largest = strata.area.max()
    cell = strata.area.sum() / strata.cells.sum()
    assert largest == pytest.approx(6400, abs=2 * 80 * np.sqrt(cell))
    assert strata.cells.sum() == np.count_nonzero(~world.band("layers/elevation.tif").mask)


def test_strata_have_the_same_area_however_the_layers_are_cut(world, monkeypatch) -> None:
    """Large layers are read in windows; the area of a cell in degrees depends on its row in the whole layer."""
    stack = open_stack(world.folder / "layers" / "landcover.tif", categorical=["landcover"])
    division = make_division("landcover", stack)
    whole = survey_strata(stack, division)
    cut = stack.tiles(7, 11)
    monkeypatch.setattr(Stack, "windows", lambda self, rows=None: cut)
    parts = survey_strata(stack, division)
    assert parts.cells.tolist() == whole.cells.tolist()
    np.testing.assert_allclose(parts.area, whole.area, rtol=1e-12)
    np.testing.assert_allclose(parts.prior, whole.prior, rtol=1e-12)


def test_sizes_of_squares_are_read_with_their_units() -> None:
    assert square_km("grid:50km") == 50
    assert square_km("GRID: 2.5 km") == 2.5
    assert square_km("grid:500m") == 0.5
    for text in ("grid:50", "grid:km", "grid:0km", "grid:-5km", "grid:5miles", "grid:"):
        with pytest.raises(OptionError, match="grid:50km"):
            square_km(text)


def test_a_continuous_layer_is_no_layer_of_classes(world) -> None:
    with pytest.raises(DataError, match=r"expected codes of classes.*grid:50km"):
        follow(world.options(strata="temperature"))


def test_whole_numbers_of_every_kind_are_no_classes_either(world, tmp_path: Path) -> None:
    with rasterio.open(world.folder / "layers" / "landcover.tif") as source:
        profile = {**source.profile, "dtype": "int32", "nodata": -1}
    with rasterio.open(tmp_path / "number.tif", "w", **profile) as out:
        out.write(np.arange(SIZE * SIZE, dtype=np.int32).reshape(SIZE, SIZE), 1)
    with pytest.raises(DataError, match="2,304 distinct values in 2,304 cells, too many for strata"):
        follow(
            make_options({"occurrences": str(world.folder / "occurrences.csv"), "strata": str(tmp_path / "number.tif")})
        )


QUICK = {"epsilon": 0.02, "smallest": 0.3}


def test_held_out_loss_along_the_multipliers_is_that_of_fits_at_them(world) -> None:
    """Every fold's path serves every multiplier to within ε, so held-out losses are near those of fits of their own."""
    options = world.options(**{**QUICK, "epsilon": 0.003}, folds=3)
    (table,) = prepare_species(options).tables.values()
    base, split = species_estimator(options, ["landcover"]), divided(table, options).split
    whole = follow_table(table, base, epsilon=0.003, smallest=0.3)
    found = validate_multipliers(table, whole, base, split)
    assert found.losses.shape == (3, len(whole.path.knots))
    assert np.all(found.gaps <= 0.003)
    for k in (len(found.multipliers) // 3, found.best.index, len(found.multipliers) - 1):
        fitted = base.changed(multiplier=float(found.multipliers[k]))
        rows = cross_validate(table, fitted, split).rows
        assert found.losses[:, k] == pytest.approx([row["loss.val"] for row in rows], abs=0.03)
    assert found.best.mean == found.mean.min()
    level = found.best.mean + found.best.error
    assert found.one_error.multiplier == max(t for t, mean in zip(found.multipliers, found.mean) if mean <= level)


def test_the_refit_is_the_fit_of_the_path_that_was_chosen(world) -> None:
    options = world.options(**QUICK)
    (table,) = prepare_species(options).tables.values()
    chosen = chosen_multiplier(options)
    said = chosen.numbers
    assert chosen.options.fit.multiplier == said["multiplier"] == said["best"]["multiplier"]
    refit = fit_table(table, species_estimator(chosen.options, ["landcover"])).solution_
    assert refit.status == "converged"
    assert refit.gain - said["best"]["regularized_gain"] >= -refit.gap
    assert refit.gain - said["best"]["regularized_gain"] <= said["best"]["gap"] + 1e-12
    assert said["certified"]
    assert said["gap"] <= 0.02


def test_tables_of_the_path_say_what_the_fits_are(world) -> None:
    options = world.options(**QUICK)
    (table,) = prepare_species(options).tables.values()
    base = species_estimator(options, ["landcover"])
    whole = follow_table(table, base, **QUICK)
    rows = path_rows(whole.path, validate_multipliers(table, whole, base, divided(table, options).split))
    weights = coefficient_rows(whole)
    assert [row["multiplier"] for row in rows] == whole.path.multipliers.tolist()
    assert rows[0]["features"] == 0
    for row, knot in zip(rows, whole.path.knots):
        own = {w["feature"]: w["weight"] for w in weights if w["multiplier"] == knot.multiplier}
        assert len(own) == row["features"] == np.count_nonzero(knot.weights)
        assert sorted(own.values()) == sorted(knot.weights[knot.weights != 0].tolist())
        assert row["gain"] >= row["regularized gain"] - 1e-9
        assert row["gap"] <= row["gap down to the next"] <= 0.02
    assert sum("best" in row["choice"] for row in rows) == sum("one_se" in row["choice"] for row in rows) == 1


def test_folds_keep_the_classes_of_the_whole(world) -> None:
    """With `auto` a fold of fewer records would have other classes, and its multiplier another meaning."""
    options = world.options(features="auto", **QUICK)
    (table,) = prepare_species(options).tables.values()
    some = table.take(np.arange(16))
    base = species_estimator(options, ["landcover"])
    whole = follow_table(some, base, epsilon=0.05, smallest=1.0)
    assert whole.classes == "lqh"
    found = validate_multipliers(some, whole, base, divided(some, options).split)
    fixed = validate_multipliers(some, whole, base.changed(features="lqh"), divided(some, options).split)
    assert np.array_equal(found.losses, fixed.losses)


@pytest.mark.thorough
def test_two_processes_give_the_same_path(world) -> None:
    options = world.options(**QUICK, folds=2)
    one = chosen_multiplier(options).numbers
    two = chosen_multiplier(options.model_copy(update={"processes": 2})).numbers
    assert one == two


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"regularization": "l2"}, "l1 penalty, not l2"),
        ({"model": "structural"}, "l1 penalty, not a structural model"),
    ],
)
def test_only_the_l1_penalty_has_a_path(world, tmp_path: Path, more, text) -> None:
    fit = {"features": None, **more} if "model" in more else more
    with pytest.raises(OptionError, match=text):
        run_path(world.options(**fit, output=str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()
