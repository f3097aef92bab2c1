"""Runs over species with variables of place: tables, maps, importance, curves, the page, and what is refused."""

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio

from sdm import Maxent, load_model
from sdm.api.functions import project_models
from sdm.assess.importance import jackknife, percent_contribution, permutation_importance
from sdm.assess.measures.basic import auc
from sdm.assess.splits.methods import split_table
from sdm.assess.variables.correlation import measure_collinearity
from sdm.data.place import PLACE_WARNING, Region
from sdm.data.rasters.layers import open_stack
from sdm.errors import DataError, OptionError
from sdm.estimators.shared import SharedMaxent
from sdm.kinds.assessing import read_pairs
from sdm.kinds.registry import task_for
from sdm.kinds.species.fit import fit_variables
from sdm.kinds.species.inputs import SpeciesPrepared, prepare_species
from sdm.kinds.species.methods.method import method_of, species_estimator
from sdm.kinds.species.outputs import map_species_together
from sdm.kinds.task import Findings
from sdm.models.file import save_model
from sdm.options.reading import make_options
from sdm.options.rules import MODELS, refuse_broken
from sdm.run.evaluating import evaluate_files
from sdm.run.job import Job
from sdm.run.predicting import predict_files
from sdm.run.projecting.tables import PredictionSettings
from sdm.simulate.world import Simulation, simulate
from sdm.storage.files import safe_name

SIZE = 40


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """A world in which people looked for both species in the west alone: place tells where records are."""
    folder = tmp_path_factory.mktemp("world")
    made = simulate(folder, size=SIZE, layers=4, species=2, records=120, sites=60, seed=6, warming=2)
    records = pd.read_csv(made.occurrences)
    lon = records.columns[1]
    records[records[lon] < records[lon].median()].to_csv(made.occurrences, index=False)
    return made


def options(made: Simulation, **more):
    known = {"occurrences": str(made.occurrences), "layers": str(made.folder / "layers"), "categorical": "landcover"}
    return make_options({**known, "spatial": True, "features": "lq", "multiplier": 0.3}, more)


@dataclass(frozen=True)
class Results:
    """A species that was fitted and written with variables of place."""

    folder: Path
    prepared: SpeciesPrepared
    name: str

    @property
    def model(self) -> Path:
        return next(path for path in self.folder.glob("*.npz"))

    @property
    def numbers(self) -> dict:
        return json.loads(self.model.with_suffix(".json").read_text())

    def rows(self, ending: str) -> list[dict[str, str]]:
        with self.model.with_name(f"{self.model.stem}_{ending}.csv").open() as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def run(made: Simulation, tmp_path_factory: pytest.TempPathFactory) -> Results:
    chosen = options(made, folds=2, uncertainty=True, jackknife=True, species=made.species[0].name)
    prepared = prepare_species(chosen)
    job, folder = Job(task_for("species"), chosen), tmp_path_factory.mktemp("run") / "results"
    ready = job.fit(prepared, made.species[0].name)
    job.write(ready, folder)
    return Results(folder, prepared, made.species[0].name)


def cells(made: Simulation, model) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the variables of a model at every cell, and which cells have all of them."""
    columns = {}
    for path in sorted((made.folder / "layers").glob("*.tif")):
        with rasterio.open(path) as data:
            columns[path.stem] = data.read(1, masked=True).astype(float).filled(np.nan).ravel()
            col, row = np.meshgrid(np.arange(data.width) + 0.5, np.arange(data.height) + 0.5)
            x, y = data.transform @ (col, row)
    table = pd.DataFrame(columns).assign(place_x=x.ravel(), place_y=y.ravel())[list(model.names)]
    return table, table.notna().all(axis=1).to_numpy()


def band_of(path: Path) -> np.ndarray:
    with rasterio.open(path) as data:
        return data.read(1, masked=True).astype(float).filled(np.nan).ravel()


def test_tables_have_the_places_of_their_cells(made: Simulation) -> None:
    plain, placed = (prepare_species(options(made, spatial=spatial)) for spatial in (False, True))
    assert placed.stack.names == (*plain.stack.names, "place_x", "place_y")
    assert PLACE_WARNING in placed.warnings
    assert PLACE_WARNING not in plain.warnings
    for name, table in placed.tables.items():
        old = plain.tables[name]
        assert table.names == (*old.names, "place_x", "place_y")
        assert table.categorical == old.categorical
        np.testing.assert_array_equal(table.presence[:, :-2], old.presence)
        np.testing.assert_array_equal(table.background[:, :-2], old.background)
        np.testing.assert_array_equal(table.background[:, -2:].T, [table.background_x, table.background_y])
        row, col = placed.stack.rowcol(table.presence_x, table.presence_y)
        np.testing.assert_array_equal(table.presence[:, -2:].T, placed.stack.xy(row, col))
        assert old.region is None
        assert table.region == Region.of_layers(placed.stack)


def test_test_records_have_places_too(made: Simulation) -> None:
    prepared = prepare_species(options(made, test_samples=str(made.occurrences)))
    for name, points in prepared.tests.items():
        assert points.values.shape[1] == len(prepared.tables[name].names)
        np.testing.assert_array_equal(points.values[:, -2:].T, prepared.stack.xy(points.rows, points.cols))


def test_the_region_is_the_study_area_where_there_is_one(made: Simulation, tmp_path: Path) -> None:
    left, bottom, right, top = open_stack(made.folder / "layers").bounds
    middle = (left + right) / 2
    ring = [[left, bottom], [middle, bottom], [middle, top], [left, top], [left, bottom]]
    shape = {"type": "Polygon", "coordinates": [ring]}
    (tmp_path / "west.geojson").write_text(json.dumps(shape))
    prepared = prepare_species(options(made, study_area=str(tmp_path / "west.geojson")))
    for table in prepared.tables.values():
        assert table.region.box == pytest.approx((left, bottom, middle, top))


def test_the_map_of_a_run_is_that_of_a_table_with_coordinates(made: Simulation, run: Results) -> None:
    model = load_model(run.model)
    table, valid = cells(made, model)
    assert any("place" in name for name in model.feature_names)
    found = band_of(run.model.with_suffix(".tif"))
    np.testing.assert_array_equal(~np.isnan(found), valid)
    np.testing.assert_allclose(found[valid], model.predict(table[valid]), rtol=1e-5, atol=1e-8)
    replicates = [load_model(path) for path in sorted((run.folder / "replicates").glob("*.npz"))]
    mean = np.mean([one.predict(table[valid]) for one in replicates], axis=0)
    (file,) = run.folder.glob("*_mean.tif")
    np.testing.assert_allclose(band_of(file)[valid], mean, rtol=1e-5, atol=1e-7)


def test_species_mapped_together_have_the_same_maps(made: Simulation, tmp_path: Path) -> None:
    chosen = options(made, curves=False)
    prepared = prepare_species(chosen)
    job = Job(task_for("species"), chosen)
    fits = [(job.fit(prepared, name).fit, prepared) for name in prepared.tables]
    maps = map_species_together(fits, chosen, tmp_path, None)
    for (one, _), made_maps in zip(fits, maps, strict=True):
        table, valid = cells(made, one.model)
        found = band_of(made_maps.folder / made_maps.files["map"])
        np.testing.assert_allclose(found[valid], one.model.predict(table[valid]), rtol=1e-5, atol=1e-8)


def test_the_model_says_where_it_is_for(made: Simulation, run: Results) -> None:
    known = load_model(run.model).meta["region"]
    assert known["box"] == pytest.approx(open_stack(made.folder / "layers").bounds)
    assert "WGS" in known["crs"]
    assert PLACE_WARNING in run.numbers["warnings"]
    lines = task_for("species").info_lines(load_model(run.model), 5)
    assert [line for line in lines if line.startswith("region ") and "applies to this region only" in line]
    page = run.model.with_suffix(".html").read_text()
    assert "The model has spatial features" in page
    assert "not at other places or times" in page


def test_place_has_no_response_curve(run: Results) -> None:
    names = {row["variable"] for row in run.rows("curves")}
    assert names == {name for name in load_model(run.model).names if not name.startswith("place")}
    assert {row["variable"] for row in run.rows("bands")} == names
    assert not [path for path in (run.folder / "plots").iterdir() if path.name.startswith("place")]
    with pytest.raises(OptionError, match="expected two variables"):
        read_pairs(["place_x:place_y"], load_model(run.model).names)


def test_place_is_one_row_of_importance(run: Results) -> None:
    for ending in ("importance", "jackknife"):
        names = [row["variable"] for row in run.rows(ending)]
        assert "place" in names
        assert not {"place_x", "place_y"} & set(names)
    percents = {row["variable"]: float(row["contribution"]) for row in run.rows("importance")}
    assert sum(percents.values()) == pytest.approx(100)
    assert percents["place"] > 10


def test_importance_of_place_is_that_of_both_coordinates(run: Results, made: Simulation) -> None:
    chosen = options(made)
    table = run.prepared.tables[run.name]
    fitted = fit_variables(table, chosen)
    model = fitted.model_
    found = {one.variable: one for one in permutation_importance(model, table.presence, table.background, repeats=3)}
    rows, m = np.vstack([table.presence, table.background]), table.n_presences
    rng, drops = np.random.default_rng(1), []
    whole = auc((raw := model.predict(rows, "raw"))[:m], raw)
    for _ in range(3 * (len(model.names) - 2)):
        rng.permutation(len(rows))  # of the variables before
    for _ in range(3):
        changed = rows.copy()
        changed[:, -2:] = rows[rng.permutation(len(rows)), -2:]
        raw = model.predict(changed, "raw")
        drops.append(whole - auc(raw[:m], raw))
    assert found["place"].drop == pytest.approx(np.mean(drops), rel=1e-9)
    parts = {one.variable: one.gain for one in percent_contribution(fitted.problem_, fitted.coef_)}
    raw = model.predict(np.vstack([table.background, table.presence]), "raw")
    gain = np.log(len(raw)) + np.mean(np.log(model.predict(table.presence, "raw")))
    assert sum(parts.values()) == pytest.approx(gain, rel=1e-6), "the parts are the whole gain"
    base = species_estimator(chosen, table.categorical)
    each = {(one.variable, one.kind): one.train_gain for one in jackknife(table, base)}
    only = fit_variables(table, chosen, [len(model.names) - 2, len(model.names) - 1])
    assert each["place", "only"] == pytest.approx(only.solution_.gain)
    rest = fit_variables(table.pick(model.names[:-2]), chosen)
    assert each["place", "without"] == pytest.approx(rest.solution_.gain)


def test_correlations_leave_place_out(run: Results) -> None:
    table = run.prepared.tables[run.name]
    found = measure_collinearity(table.background, table.names, table.categorical)
    assert not {"place_x", "place_y"} & {*found.names, *found.constant, *found.categorical}


def test_choosing_variables_keeps_place(made: Simulation, tmp_path: Path) -> None:
    for more in ({"drop_correlated": 0.01}, {"reduce_to": 1, "repeats": 2}):
        chosen = options(made, species=made.species[0].name, curves=False, map=False, **more)
        ready = Job(task_for("species"), chosen).fit(prepare_species(chosen), made.species[0].name)
        names = ready.fit.model.names
        assert names[-2:] == ("place_x", "place_y")
        assert ready.prepared.stack.names == names
        assert len(names) < 6


def test_predict_maps_its_own_region_and_no_other(made: Simulation, run: Results, tmp_path: Path) -> None:
    layers = made.folder / "layers"
    predict_files(run.model, [str(layers)], tmp_path / "again.tif", PredictionSettings(novelty="mess,clamping"))
    np.testing.assert_array_equal(band_of(tmp_path / "again.tif"), band_of(run.model.with_suffix(".tif")))
    away = tmp_path / "away"
    away.mkdir()
    for path in layers.glob("*.tif"):
        with rasterio.open(path) as data:
            shift = data.transform.translation(2 * data.transform.a, 0) @ data.transform
            with rasterio.open(away / path.name, "w", **{**data.profile, "transform": shift}) as out:
                out.write(data.read())
    with pytest.raises(
        DataError, match=r"^the model has spatial features, which are valid in the training region only"
    ):
        predict_files(run.model, [str(away)], tmp_path / "away.tif")
    assert not (tmp_path / "away.tif").exists()
    with pytest.raises(DataError, match="in the training region only"):
        evaluate_files(run.model, str(made.occurrences), layers=[str(away)])
    evaluate_files(run.model, str(made.occurrences), layers=[str(layers)])


def test_a_table_is_predicted_by_its_columns_or_its_coordinates(made: Simulation, run: Results, tmp_path: Path) -> None:
    model = load_model(run.model)
    table, valid = cells(made, model)
    some = table[valid].iloc[::50]
    names = {"place_x": "x", "place_y": "y"}, {"place_x": "longitude", "place_y": "latitude"}
    truth = model.predict(some)
    for k, new in enumerate(({}, *names)):
        some.rename(columns=new).to_csv(tmp_path / f"{k}.csv", index=False)
        predict_files(run.model, [str(tmp_path / f"{k}.csv")], tmp_path / f"out{k}.csv")
        np.testing.assert_allclose(pd.read_csv(tmp_path / f"out{k}.csv")["cloglog"], truth, rtol=1e-6)
    some.drop(columns=["place_x", "place_y"]).to_csv(tmp_path / "bare.csv", index=False)
    with pytest.raises(DataError, match="add columns of coordinates, such as x and y, or longitude and latitude"):
        predict_files(run.model, [str(tmp_path / "bare.csv")], tmp_path / "bare_out.csv")
    points = some.rename(columns=names[1])[["longitude", "latitude"]]
    points.to_csv(tmp_path / "points.csv", index=False)
    layers = [str(made.folder / "layers")]
    predict_files(
        run.model, [str(tmp_path / "points.csv")], tmp_path / "points_out.csv", PredictionSettings(values_from=layers)
    )
    np.testing.assert_allclose(pd.read_csv(tmp_path / "points_out.csv")["cloglog"], truth, rtol=1e-6)


def test_rows_elsewhere_have_no_prediction(made: Simulation, run: Results, tmp_path: Path) -> None:
    model = load_model(run.model)
    table, valid = cells(made, model)
    some = table[valid].iloc[:5].rename(columns={"place_x": "x", "place_y": "y"})
    some.iloc[1, some.columns.get_loc("x")] += 300
    some.to_csv(tmp_path / "some.csv", index=False)
    found = predict_files(run.model, [str(tmp_path / "some.csv")], tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["cloglog"].isna().tolist() == [False, True, False, False, False]
    assert [text for text in found.notices if "1 of 5 rows" in text and "outside the training region" in text]
    some.assign(x=some["x"] + 300).iloc[[0, 2]].to_csv(tmp_path / "all.csv", index=False)
    with pytest.raises(DataError, match="none of 2 rows is in this region"):
        predict_files(run.model, [str(tmp_path / "all.csv")], tmp_path / "out2.csv")


def test_longitude_and_latitude_are_brought_to_the_coordinates_of_the_fit(made: Simulation, tmp_path: Path) -> None:
    """Of a model whose layers were in metres: degrees are projected, x and y are taken as they are."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"elevation": rng.normal(size=300), "place_x": rng.uniform(4e5, 6e5, 300)})
    table["place_y"] = rng.uniform(4.9e6, 5.1e6, 300)
    labels = (table["place_x"] + rng.normal(0, 5e4, 300) > 5.4e5).to_numpy().astype(int)
    model = Maxent(features="lq").fit(table, labels).model_
    crs = rasterio.crs.CRS.from_string("EPSG:32632").to_wkt()
    region = {"box": [4e5, 4.9e6, 6e5, 5.1e6], "crs": crs}
    save_model(replace(model, meta={**model.meta, "region": region}), tmp_path / "m.npz")
    lon, lat = [8.2, 9.0, 9.9], [44.6, 45.1, 45.7]
    x, y = rasterio.warp.transform("EPSG:4326", "EPSG:32632", lon, lat)
    truth = model.predict(pd.DataFrame({"elevation": 0.5, "place_x": x, "place_y": y}))
    assert np.ptp(truth) > 0.1
    for names, xy in ((("longitude", "latitude"), (lon, lat)), (("x", "y"), (x, y)), (("x", "y"), (lon, lat))):
        pd.DataFrame({"elevation": 0.5, **dict(zip(names, xy))}).to_csv(tmp_path / "t.csv", index=False)
        settings = PredictionSettings(crs="EPSG:4326" if names[0] == "x" and xy[0] is lon else None, overwrite=True)
        predict_files(tmp_path / "m.npz", [str(tmp_path / "t.csv")], tmp_path / "o.csv", settings)
        np.testing.assert_allclose(pd.read_csv(tmp_path / "o.csv")["cloglog"], truth, rtol=1e-6)
    with pytest.raises(DataError, match="the training layers were in EPSG:32632"):
        predict_files(tmp_path / "m.npz", [str(made.folder / "layers")], tmp_path / "x.tif")


def test_scenarios_are_refused(made: Simulation, run: Results, tmp_path: Path) -> None:
    warmer = str(made.folder / "warmer")
    with pytest.raises(OptionError, match="cannot be projected to scenarios: the model has spatial features"):
        project_models(run.folder, warmer, tmp_path / "out")
    with pytest.raises(
        OptionError, match=r"scenarios and fit.spatial exclude each other, because the model has spatial features"
    ):
        refuse_broken(MODELS, options(made, scenarios=warmer), "species")
    refuse_broken(MODELS, options(made), "species")
    task = task_for("species")
    with pytest.raises(OptionError, match=r"fit.spatial=True does not apply to a maxent model: add --model shared"):
        task.check_options(options(made))
    committee = options(made, model="committee", features="auto", multiplier=None)
    with pytest.raises(OptionError, match="does not apply to a committee model"):
        method_of(committee).check(committee.fit)


def test_tables_of_samples_have_place_from_their_coordinates(made: Simulation, tmp_path: Path) -> None:
    layers = prepare_species(options(made, species=made.species[0].name)).tables[made.species[0].name]
    rows = pd.DataFrame(np.vstack([layers.presence, layers.background]), columns=list(layers.names))
    rows.insert(0, "species", ["a"] * layers.n_presences + ["background"] * layers.n_background)
    rows = rows.rename(columns={"place_x": "x", "place_y": "y"})
    rows.loc[1, "x"] = np.nan
    rows.to_csv(tmp_path / "swd.csv", index=False)
    known = {"occurrences": str(tmp_path / "swd.csv"), "categorical": "landcover", "features": "lq"}
    table = prepare_species(make_options(known, {"spatial": True})).tables["a"]
    assert set(table.names[-2:]) == {"place_x", "place_y"}
    assert table.n_presences == layers.n_presences - 1, "a record without coordinates is nowhere"
    np.testing.assert_array_equal(table.presence[:, -2:].T, [table.presence_x, table.presence_y])
    assert table.region == Region.of_points(rows["x"].dropna().to_numpy(), rows["y"].to_numpy())
    fitted = fit_variables(table, make_options(known))
    assert fitted.model_.names == table.names
    rows.drop(columns=["x", "y"]).to_csv(tmp_path / "swd.csv", index=False)
    with pytest.raises(DataError, match="has no coordinates, which spatial features"):
        prepare_species(make_options(known, {"spatial": True}))
    rows.rename(columns={"x": "place_x"}).to_csv(tmp_path / "swd.csv", index=False)
    for spatial in (True, False):
        with pytest.raises(DataError, match=r"column 'place_x' of 'swd.csv' has a name that is reserved for"):
            prepare_species(make_options(known, {"spatial": spatial}))


def test_checks_see_the_same_variables(made: Simulation) -> None:
    task, found = task_for("species"), Findings()
    task.check(options(made), found)
    assert not found.problems
    assert [text for text in found.facts if "place_x, place_y" in text]
    assert any(text.startswith("4 layers of") for text in found.facts)


def test_thinning_and_environmental_folds_leave_place_out(made: Simulation) -> None:
    ways = {"thin_bins": 4, "points": 300, "species": made.species[0].name}
    plain, placed = (
        prepare_species(options(made, spatial=spatial, **ways)).tables[made.species[0].name]
        for spatial in (False, True)
    )
    assert plain.n_presences < 60
    np.testing.assert_array_equal(plain.presence_x, placed.presence_x)
    splits = [split_table(table, "environment", k=3, seed=1) for table in (plain, placed)]
    np.testing.assert_array_equal(splits[0].group, splits[1].group)


def test_maps_of_a_group_know_where_they_are(made: Simulation, tmp_path: Path) -> None:
    """`sdm predict group.npz`: one map per species, each what the group predicts for the coordinates of its cells."""
    tables = prepare_species(options(made)).tables
    first = next(iter(tables.values()))
    rows = np.vstack([first.background, *(table.presence for table in tables.values())])
    species = [None] * first.n_background + [name for name, one in tables.items() for _ in range(one.n_presences)]
    names = [name for name in first.names if name != "landcover"]
    frame = pd.DataFrame(rows, columns=list(first.names))[names]
    group = SharedMaxent(features="lq", strength=0.3).fit(frame, species).model_
    group = replace(group, meta={**group.meta, "region": first.region.as_dict()})
    save_model(group, tmp_path / "group.npz")
    found = predict_files(
        tmp_path / "group.npz", [str(made.folder / "layers")], tmp_path / "maps", PredictionSettings(novelty="mess")
    )
    table, valid = cells(made, group)
    truth = group.values(table[valid])
    for k, name in enumerate(group.species):
        (file,) = (path for path in found.files.values() if path.stem == safe_name(name))
        np.testing.assert_allclose(band_of(file)[valid], truth[:, k], rtol=1e-5, atol=1e-8)
    plain = SharedMaxent(features="lq", strength=0.3).fit(frame[names[:-2]], species).model_
    save_model(plain, tmp_path / "plain.npz")
    other = predict_files(
        tmp_path / "plain.npz", [str(made.folder / "layers")], tmp_path / "plain", PredictionSettings(novelty="mess")
    )
    np.testing.assert_array_equal(band_of(tmp_path / "maps" / "mess.tif"), band_of(tmp_path / "plain" / "mess.tif"))
    assert other.numbers["outside"] == found.numbers["outside"]
    with pytest.raises(OptionError, match="axes of a group, which are not projected"):
        project_models(tmp_path / "group.npz", str(made.folder / "warmer"), tmp_path / "out")
    far = replace(group, meta={**group.meta, "region": {"box": [100, 0, 110, 10], "crs": ""}})
    save_model(far, tmp_path / "far.npz")
    with pytest.raises(DataError, match="of the training region x 100 to 110, y 0 to 10"):
        predict_files(tmp_path / "far.npz", [str(made.folder / "layers")], tmp_path / "no")
