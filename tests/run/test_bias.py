"""Sampling bias: a correction must come nearer to the truth, and change nothing where there is no bias."""

import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import rasterio

from sdm.data.table import SampleTable
from sdm.errors import DataError, OptionError
from sdm.estimators.maxent import Maxent
from sdm.kinds.registry import task_for
from sdm.kinds.species.fit import fit_species, fit_variables, measure_species
from sdm.kinds.species.inputs import Prepared, SpeciesPrepared, prepare_species
from sdm.kinds.species.sampling import random_share
from sdm.options.reading import make_options
from sdm.simulate.world import simulate

SIZE = 80


@dataclass(frozen=True)
class Biased:
    """A virtual world in which eight species were looked for near towns, with an effort that is known."""

    folder: Path
    truth: dict[str, np.ndarray]
    effort: np.ndarray
    land: np.ndarray

    @property
    def raster(self) -> str:
        return str(self.folder / "strong.tif")

    def options(self, **more):
        source = {"occurrences": str(self.folder / "records.csv"), "layers": str(self.folder / "layers")}
        return make_options({**source, "categorical": "landcover", "features": "lq", "curves": False}, more)

    def write_effort(self, path: Path, effort: np.ndarray) -> str:
        with rasterio.open(self.raster) as source:
            profile = source.profile
        with rasterio.open(path, "w", **profile) as out:
            out.write(np.where(self.land, effort, -9999).astype("float32"), 1)
        return str(path)


@pytest.fixture(scope="module")
def biased(tmp_path_factory: pytest.TempPathFactory) -> Biased:
    folder = tmp_path_factory.mktemp("biased")
    made = simulate(folder, size=SIZE, layers=5, species=8, records=20, sites=20, seed=1, bias=True)
    assert made.effort is not None
    with rasterio.open(made.effort) as source:
        effort, profile, grid = source.read(1, masked=True), source.profile, source
    land = ~effort.mask
    strong = np.where(land, effort.data / effort.data[land].max(), 0) ** 2
    with rasterio.open(folder / "strong.tif", "w", **profile) as out:
        out.write(np.where(land, strong, -9999).astype("float32"), 1)
    rng, truth = np.random.default_rng(1), {}
    with open(folder / "records.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["species", "longitude", "latitude", "trust", "coordinateUncertaintyInMeters"])
        for species, path in zip(made.species, made.truth):
            with rasterio.open(path) as source:
                truth[species.name] = source.read(1, masked=True).filled(0)
            chance = (truth[species.name] * strong).ravel()
            for cell in rng.choice(chance.size, 250, p=chance / chance.sum()):
                x, y = grid.xy(*divmod(int(cell), SIZE))
                writer.writerow([species.name, x, y, int(rng.integers(1, 4)), int(rng.integers(10, 9000))])
    return Biased(folder, truth, strong, land)


def predictions(prepared: Prepared, options) -> dict[str, np.ndarray]:
    """The map of every species, as an array."""
    assert prepared.stack is not None
    (values,) = (array for _, array in prepared.stack.scan(prepared.stack.windows(rows=SIZE)))
    flat = list(values.reshape(len(values), -1))
    return {
        species: fit_variables(table, options).model_.predict_columns(flat).reshape(SIZE, SIZE)
        for species, table in prepared.tables.items()
    }


def agreement(biased: Biased, **more) -> float:
    """Correlation of the map with the true suitability, the mean over all species."""
    options = biased.options(**more)
    maps = predictions(prepare_species(options), options)
    return float(np.mean([np.corrcoef(maps[s][biased.land], biased.truth[s][biased.land])[0, 1] for s in maps]))


@pytest.mark.thorough
def test_corrected_models_are_nearer_to_the_truth(biased: Biased) -> None:
    plain = agreement(biased, points="all")
    corrected = {
        "sample": agreement(biased, bias=biased.raster, points=1000),
        "prior": agreement(biased, bias=biased.raster, bias_treatment="prior", points="all"),
        "target group": agreement(biased, background="target-group"),
        "density, sample": agreement(biased, bias="target-group", points=1000),
        "density, prior": agreement(biased, bias="target-group", bias_treatment="prior", points="all"),
    }
    for how, value in corrected.items():
        assert value > plain + 0.05, (how, value, plain)


@pytest.mark.parametrize("points", [500, "all"])
def test_prior_with_constant_effort_is_the_plain_fit(biased: Biased, tmp_path: Path, points) -> None:
    same = biased.write_effort(tmp_path / "same.tif", np.full(biased.effort.shape, 0.3))
    name = next(iter(biased.truth))
    fits = []
    for more in ({}, {"bias": same, "bias_treatment": "prior"}):
        options = biased.options(points=points, species=name, features="lqh", **more)
        fits.append(fit_species(prepare_species(options), name, options))
    plain, prior = fits
    np.testing.assert_allclose(prior.model.weights, plain.model.weights, rtol=0, atol=1e-9)
    for scale in ("raw", "cloglog", "cumulative"):
        both = [fitted.model.predict(plain.table.background, scale) for fitted in fits]
        np.testing.assert_allclose(both[1], both[0], rtol=0, atol=1e-9)
    assert prior.numbers["auc_train"] == plain.numbers["auc_train"]


def test_a_constant_base_measure_is_none_to_the_engine(biased: Biased) -> None:
    """Also when it is handed over as numbers, in the estimator itself."""
    options = biased.options(points=500)
    table = next(iter(prepare_species(options).tables.values()))
    x = np.vstack([table.presence, table.background])
    y = np.repeat([1, 0], [table.n_presences, table.n_background])
    plain = Maxent("lqh").fit(x, y)
    constant = Maxent("lqh").fit(x, y, base_weight=np.full(len(y), 0.3))
    np.testing.assert_allclose(constant.predict(x, "raw"), plain.predict(x, "raw"), rtol=0, atol=1e-9)


@pytest.mark.thorough
def test_sample_and_prior_agree_as_background_grows(biased: Biased) -> None:
    name = next(iter(biased.truth))

    def apart(points, seed) -> float:
        maps = []
        for how in ("sample", "prior"):
            options = biased.options(bias=biased.raster, bias_treatment=how, points=points, species=name, seed=seed)
            maps.append(predictions(prepare_species(options), options)[name][biased.land])
        return float(np.abs(maps[0] - maps[1]).mean())

    few, more, most = (np.mean([apart(points, seed) for seed in range(4)]) for points in (150, 900, 3000))
    assert few > 1.5 * more
    assert more > most
    assert apart("all", 1) < 1e-9, "with every cell they are one and the same"


def test_prior_divides_effort_out(biased: Biased) -> None:
    """The fitted distribution is effort times the prediction, and its means are those of the records."""
    options = biased.options(bias=biased.raster, bias_treatment="prior", points="all", regularization="none")
    prepared = prepare_species(replace_species(options, biased))
    table = next(iter(prepared.tables.values()))
    fitted = fit_variables(table, options)
    rows = np.vstack([table.presence, table.background])
    assert table.base_weights is not None
    p = fitted.model_.predict(rows, "raw") * table.base_weights
    heat = table.names.index("temperature")
    assert np.average(rows[:, heat], weights=p) == pytest.approx(table.presence[:, heat].mean(), rel=1e-3)


def replace_species(options, biased: Biased):
    own = options.occurrences.model_copy(update={"species": [next(iter(biased.truth))]})
    return options.model_copy(update={"occurrences": own})


def fold_rows_of(table: SampleTable, options):
    prepared = SpeciesPrepared({table.species: table})
    fitted = fit_species(prepared, table.species, options)
    return measure_species(fitted, prepared, options).numbers["cross_validation"]["rows"]


@pytest.mark.parametrize("how", ["sample", "prior"])
def test_cross_validation_knows_effort(biased: Biased, how: str) -> None:
    """Every fold is fitted with the effort of its own presences' cells, not with that of all."""
    options = replace_species(biased.options(bias=biased.raster, bias_treatment=how, points=900, folds=3), biased)
    table = next(iter(prepare_species(options).tables.values()))
    found = fold_rows_of(table, options)
    blind = replace(table, weights=None, presence_base=None)
    other = fold_rows_of(blind, options)
    assert [row["training_presences"] for row in found] == [row["training_presences"] for row in other]
    if how == "prior":
        assert [row["auc.val"] for row in found] != [row["auc.val"] for row in other]
    keep = np.arange(table.n_presences) % 3 > 0
    part = table.take(keep)
    assert part.presence_base is not None
    assert table.presence_base is not None
    np.testing.assert_array_equal(part.presence_base, table.presence_base[keep])
    assert part.base_weights is not None
    assert len(part.base_weights) == part.n_presences + part.n_background


def test_records_where_nobody_looked_are_left_out(biased: Biased, tmp_path: Path) -> None:
    half = biased.effort.copy()
    half[:, : SIZE // 2] = 0
    half[0] = -9999  # unknown
    path = biased.write_effort(tmp_path / "half.tif", half)
    for how in ("sample", "prior"):
        prepared = prepare_species(biased.options(bias=path, bias_treatment=how, points=500))
        assert prepared.ledger is not None
        assert prepared.ledger.total()["no_effort"] > 100
        assert any("zero sampling effort" in notice for notice in prepared.notices)
        assert any("no sampling effort (taken as zero)" in notice for notice in prepared.notices)
        for table in prepared.tables.values():
            assert table.presence_x.min() >= -15, "the middle of the layers"
            assert table.background_x.min() >= -15


def test_target_group_is_one_record_per_cell(biased: Biased) -> None:
    chosen = list(biased.truth)[:2]
    prepared = prepare_species(biased.options(background="target-group", species=chosen))
    with open(biased.folder / "records.csv", newline="") as file:
        sites = {(row["longitude"], row["latitude"]) for row in csv.DictReader(file)}
    for species in chosen:
        table = prepared.tables[species]
        assert table.n_background == len(sites), "of all species of the file, not of those that are modelled"
        assert table.weights is None
        assert table.sampling == {"background": "target-group"}
    other = biased.folder / "group.csv"
    other.write_text("species,longitude,latitude\nb,-15,40\nb,-15,40\nc,-14.5,40.2\n")
    few = prepare_species(biased.options(background="target-group", target_group=str(other), species=chosen[0]))
    assert few.tables[chosen[0]].n_background == 2
    assert few.tables[chosen[0]].sampling["target_group"] == "group.csv"
    (biased.folder / "far.csv").write_text("species,longitude,latitude\nb,100,0\n")
    with pytest.raises(DataError, match="none of 1 records"):
        prepare_species(biased.options(background="target-group", target_group=str(biased.folder / "far.csv")))


def test_each_species_has_its_own_accessible_area(biased: Biased) -> None:
    prepared = prepare_species(biased.options(study_area="buffer", buffer=25, points=2000))
    assert list(prepared.areas) == list(biased.truth)
    assert prepared.stack is not None
    areas = []
    for species, area in prepared.areas.items():
        table = prepared.tables[species]
        rows, cols = prepared.stack.rowcol(table.background_x, table.background_y)
        assert area.contains(prepared.stack, rows, cols).all()
        assert table.sampling["study_area"].startswith("buffer of 25 km around")
        areas.append(sum(g.area for g in area.geometries))
    assert len(set(areas)) == len(areas)
    both = prepare_species(biased.options(study_area="hull", background="target-group"))
    for species, area in both.areas.items():
        table = both.tables[species]
        rows, cols = prepared.stack.rowcol(table.background_x, table.background_y)
        assert area.contains(prepared.stack, rows, cols).all()


def test_weights_by_column_are_as_good_as_copies(biased: Biased) -> None:
    """A record of weight 3 counts as three records; penalties go by the effective number, so they are switched off."""
    name = next(iter(biased.truth))
    options = biased.options(species=name, record_weights="trust", points=900, regularization="none")
    table = prepare_species(options).tables[name]
    assert table.presence_weights is not None
    assert set(table.presence_weights) == {1, 2, 3}
    copies = np.repeat(np.arange(table.n_presences), table.presence_weights.astype(int))
    # As many cells either way: only distinct presences join the background.
    options = options.model_copy(update={"fit": options.fit.model_copy(update={"add_presences": "distinct"})})
    weighted = fit_variables(table, options).model_
    copied = fit_variables(replace(table.take(copies), presence_weights=None), options).model_
    np.testing.assert_allclose(weighted.predict(table.background), copied.predict(table.background), rtol=0, atol=2e-3)


def test_weights_by_uncertainty(biased: Biased) -> None:
    name = next(iter(biased.truth))
    prepared = prepare_species(biased.options(species=name, record_weights="uncertainty"))
    table = prepared.tables[name]
    assert table.presence_weights is not None
    assert table.sampling["record_weights"] == "uncertainty"
    assert 0 < table.presence_weights.min() < 0.3 < table.presence_weights.max() == 1
    one = prepare_species(
        biased.options(species=name, record_weights="uncertainty", uncertainty_column="trust")
    ).tables[name]
    assert one.presence_weights is not None
    assert set(one.presence_weights) == {1.0}, "a few metres are within any cell"


def write_swd(path: Path, table: SampleTable, effort: bool = True) -> str:
    """Write a table as samples with data; effort as the base weights."""
    base = table.base_weights if effort and table.base_weights is not None else None
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["species", "x", "y", *table.names, *(["looked"] if base is not None else [])])
        parts = ((table.species, table.presence), ("background", table.background))
        k = 0
        for species, values in parts:
            for row in values:
                extra = [repr(float(base[k]))] if base is not None else []
                writer.writerow([species, k, 0, *(repr(float(v)) for v in row), *extra])
                k += 1
    return str(path)


def test_tables_with_a_column_of_effort(biased: Biased, tmp_path: Path) -> None:
    """Samples with data, with effort as a column, give the model that the raster gives."""
    options = replace_species(biased.options(bias=biased.raster, bias_treatment="prior", points=700), biased)
    table = next(iter(prepare_species(options).tables.values()))
    by_raster = fit_variables(table, options).model_
    file = write_swd(tmp_path / "swd.csv", table)
    more = {"categorical": "landcover", "features": "lq", "curves": False}
    own = make_options({"occurrences": file, "effort_column": "looked"}, more)
    made = next(iter(prepare_species(own).tables.values()))
    assert "looked" not in made.names
    assert made.sampling == {"background": "swd.csv", "bias": "column looked", "bias_treatment": "prior"}
    np.testing.assert_allclose(
        fit_variables(made, own).model_.predict(table.background),
        by_raster.predict(table.background),
        rtol=0,
        atol=1e-9,
    )
    plain = make_options({"occurrences": write_swd(tmp_path / "plain.csv", table, effort=False)}, more)
    without = fit_variables(next(iter(prepare_species(plain).tables.values())), plain).model_
    assert np.abs(without.predict(table.background) - by_raster.predict(table.background)).max() > 0.05


def test_tables_with_effort_that_is_none(tmp_path: Path) -> None:
    lines = ["species,a,b,e", *(f"one,{k},{k % 3},1" for k in range(6))]
    back = [f"background,{k},{k % 4},{'' if k == 3 else 0 if k == 4 else 2}" for k in range(20)]
    (tmp_path / "t.csv").write_text("\n".join([*lines, "one,9,9,0", *back]) + "\n")
    options = make_options({"occurrences": str(tmp_path / "t.csv"), "effort_column": "e"})
    table = prepare_species(options).tables["one"]
    assert (table.n_presences, table.n_background) == (6, 18)
    assert "3 rows where the sampling effort is zero or missing dropped" in table.notes
    (tmp_path / "t.csv").write_text("\n".join([*lines, *back, "background,1,1,-2"]) + "\n")
    assert "negative sampling effort" in str(prepare_species(options).failures["one"])
    with pytest.raises(OptionError, match="has no column 'effort'"):
        prepare_species(make_options({"occurrences": str(tmp_path / "t.csv"), "effort_column": "effort"}))


def test_target_group_of_a_table(tmp_path: Path) -> None:
    rows = ["species,x,y,a", "p,1,1,0.5", "p,2,1,0.7", "p,2,1,0.7", "q,2,1,0.7", "q,5,5,0.9", "background,9,9,0"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    options = make_options({"occurrences": str(tmp_path / "t.csv"), "background": "target-group"})
    table = prepare_species(options).tables["p"]
    np.testing.assert_array_equal(table.background[:, 0], [0.5, 0.7, 0.9])
    (tmp_path / "u.csv").write_text("species,a\np,0.5\np,0.7\nq,0.7\n")
    bare = make_options({"occurrences": str(tmp_path / "u.csv"), "background": "target-group"})
    np.testing.assert_array_equal(prepare_species(bare).tables["p"].background[:, 0], [0.5, 0.7])


def test_weights_of_a_table(tmp_path: Path) -> None:
    rows = ["species,a,w", "p,1,1", "p,2,3", "p,3,2", *(f"background,{k},1" for k in range(5))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    table = prepare_species(make_options({"occurrences": str(tmp_path / "t.csv"), "record_weights": "w"})).tables["p"]
    assert table.names == ("a",)
    assert table.presence_weights is not None
    assert table.presence_weights.tolist() == [1, 3, 2]
    (tmp_path / "t.csv").write_text("\n".join([*rows, "p,4,-1"]) + "\n")
    failed = prepare_species(make_options({"occurrences": str(tmp_path / "t.csv"), "record_weights": "w"})).failures
    assert "not a column of weights (1 of 4 are missing or negative)" in str(failed["p"])


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"background": "target-group", "background_file": "b.csv"}, "use one of them"),
        ({"background": "target-group", "bias": "e.tif"}, "the same bias twice"),
        ({"bias": "e.tif", "background_file": "b.csv"}, "bias_treatment=prior"),
        ({"bias_treatment": "prior"}, "needs sampling effort"),
        ({"target_group": "g.csv"}, "needs background.kind=target-group"),
        ({"bandwidth": 20, "bias": "e.tif"}, "needs background.bias=target-group"),
        ({"buffer": 20}, "needs background.area=buffer"),
        ({"study_area": "buffer"}, "needs a distance in km"),
        ({"thin_variables": "a"}, "add occurrences.thin_bins"),
        ({"effort_column": "e"}, "with layers use background.bias"),
    ],
)
def test_what_contradicts_itself(biased: Biased, more: dict, expected: str) -> None:
    options = biased.options(**more)

    def begin() -> None:
        task_for("species").check_options(options)
        prepare_species(options)

    with pytest.raises(OptionError, match=expected):
        begin()


@pytest.mark.parametrize("more", [{"bias": "e.tif"}, {"thin_distance": 2}, {"thin_bins": 2}, {"study_area": "hull"}])
def test_what_needs_layers(tmp_path: Path, more: dict) -> None:
    (tmp_path / "t.csv").write_text("species,a\np,1\np,2\nbackground,1\nbackground,3\n")
    with pytest.raises(OptionError, match="needs layers"):
        prepare_species(make_options({"occurrences": str(tmp_path / "t.csv")}, more))
    with pytest.raises(OptionError, match="needs layers: use the name of a column"):
        prepare_species(make_options({"occurrences": str(tmp_path / "t.csv"), "record_weights": "uncertainty"}))


def test_features_of_place_have_fewer_random_cells() -> None:
    shared = {"fit.model": "shared", "background.kind": "target-group"}
    assert random_share(make_options(shared), False) == 0.1
    assert random_share(make_options(shared), True) == 0.03, "they learn where the sites are"
    assert random_share(make_options(shared | {"background.random_share": 0.2}), True) == 0.2
