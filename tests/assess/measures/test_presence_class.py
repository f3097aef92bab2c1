"""The presence class of a class model: cutoffs, ROC, calibration, profiles, bands and maps, as a species has them."""

from pathlib import Path

import numpy as np
import pytest
import rasterio

from sdm.assess.class_assessor import CLASSES
from sdm.assess.measures.basic import auc
from sdm.assess.measures.classes import class_profiles
from sdm.assess.measures.presence_absence import calibration, measure_values
from sdm.assess.measures.thresholds import Curve
from sdm.assess.profiles import band, marginal, partial_dependence, response_grid, surface
from sdm.assess.splits.methods import random_folds
from sdm.assess.uncertainty import predict_spread
from sdm.assess.validation import cross_validate
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.data.site_sample import ClassSample
from sdm.errors import DataError, OptionError
from sdm.estimators.classes import ConditionalMaxent
from sdm.maps.single import predict_raster, write_spread_maps
from sdm.models.classes import ClassModel
from sdm.models.presence import PresenceOf, presence_class
from sdm.simulate.world import simulate


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    folder: Path = tmp_path_factory.mktemp("world")
    simulate(folder, size=40, layers=3, records=20, seed=6)
    return open_stack(folder / "layers", categorical=["landcover"])


def columns_of(stack: Stack) -> np.ndarray:
    """Return the values of all cells, NaN where there is none: one row per layer."""
    rows, cols = np.divmod(np.arange(stack.width * stack.height), stack.width)
    return np.asarray(stack.sample(rows, cols), dtype=np.float64).T


@pytest.fixture(scope="module")
def sample(stack: Stack) -> ClassSample:
    """Presence ("present") more often where temperature is high."""
    rng = np.random.default_rng(2)
    table = columns_of(stack)
    land = np.flatnonzero(np.isfinite(table).all(axis=0))
    cells = rng.choice(land, 120, replace=False)
    values = table[:, cells].T.astype(np.float64)
    score = (values[:, 2] - values[:, 2].mean()) / values[:, 2].std()
    target = np.where(rng.random(120) < 1 / (1 + np.exp(-2 * score)), "present", "absent")
    x, y = stack.xy(*np.divmod(cells, stack.width))
    return ClassSample("sp", stack.names, stack.categorical, values, target, x, y, np.arange(120))


@pytest.fixture(scope="module")
def model(sample: ClassSample) -> ClassModel:
    return CLASSES.fit(sample, ConditionalMaxent("lq", "l1", 0.3)).model_


@pytest.fixture(scope="module")
def folds(sample: ClassSample) -> list[PresenceOf]:
    result = cross_validate(
        sample, ConditionalMaxent("lq", "l1", 0.3), random_folds(120, 4), assessor=CLASSES, keep_models=True
    )
    return [PresenceOf.of(one) for one in result.models]


def test_presence_is_found_by_its_name() -> None:
    assert presence_class(["0", "1"]) == 1
    assert presence_class(["present", "Absent"]) == 0
    assert presence_class(["bog", "fen"]) is None
    assert presence_class(["0", "1", "2"]) is None


def test_it_predicts_the_probability_of_presence(model: ClassModel, sample: ClassSample) -> None:
    presence = PresenceOf.of(model)
    assert model.labels[presence.c] == "present"
    expected = model.predict_proba(sample.values)[:, list(model.classes).index("present")]
    np.testing.assert_array_equal(presence.predict(sample.values), expected)
    np.testing.assert_array_equal(presence.predict_columns(list(sample.values.T), "probability"), expected)
    far = sample.values + 1e6 * (np.arange(len(sample.names)) == 2)
    assert (presence.predict(far) != presence.predict(far, clamp=False)).any()
    assert (presence.names, presence.categorical, presence.meta) == (model.names, model.categorical, model.meta)
    with pytest.raises(OptionError, match="scale='cloglog': expected 'probability', the only scale of a class model"):
        presence.predict(sample.values, "cloglog")
    habitats = ConditionalMaxent("l", "l1", 1.0).fit(sample.values[:, :1], np.resize(["bog", "fen"], 120)).model_
    with pytest.raises(DataError, match="the classes are bog, fen: expected presence and absence"):
        PresenceOf.of(habitats)


def test_cutoffs_come_from_the_training_sites(model: ClassModel, sample: ClassSample) -> None:
    presence, here = PresenceOf.of(model), sample.target == "present"
    p = presence.predict(sample.values)
    curve = Curve(p[here], p[~here], None, test=p[here][:10])
    result = curve.thresholds()
    assert [threshold.key for threshold in result] == ["mtp", "10p", "equal", "maxsss"]
    levels = np.unique(p)
    missed = np.array([np.mean(p[here] < level) for level in levels])
    false = np.array([np.mean(p[~here] >= level) for level in levels])
    expected = {
        "mtp": p[here].min(),
        "10p": np.sort(p[here])[here.sum() // 10],
        "equal": levels[np.argmin(np.abs(missed - false))],
        "maxsss": levels[np.argmin(missed + false)],
    }
    for threshold in result:
        assert threshold.raw == threshold.cloglog == expected[threshold.key]
        at = np.flatnonzero(levels == threshold.raw)[0]
        assert threshold.training_omission == pytest.approx(missed[at])
        assert threshold.area == pytest.approx(false[at])
        assert threshold.test_omission == pytest.approx(np.mean(p[here][:10] < threshold.raw))
        assert np.isnan(threshold.cumulative)
    cutoff = next(one for one in result if one.key == "maxsss").raw
    numbers = measure_values(*(presence.predict(sample.values[rows]) for rows in (here, ~here)), cutoff)
    assert numbers["tss"] == pytest.approx(numbers["tss.max"]) == pytest.approx(1 - (missed + false).min())
    assert numbers["auc"] == pytest.approx(auc(p[here], p[~here]))
    with pytest.raises(OptionError, match="have no cumulative values"):
        curve.table()


def test_the_sweep_is_the_roc_curve(model: ClassModel, sample: ClassSample) -> None:
    here = sample.target == "present"
    p = PresenceOf.of(model).predict(sample.values)
    rows = Curve(p[here], p[~here], None).sweep(lambda values: values, top=1.0)
    for row in rows[::25]:
        assert row["Fractional area"] == pytest.approx(np.mean(p[~here] >= row["Threshold"]))
        assert row["Training omission"] == pytest.approx(np.mean(p[here] < row["Threshold"]))
    across, up = (np.array([1.0 - row[name] for row in rows]) for name in ("Fractional area", "Training omission"))
    up, across = np.append(0.0, up[::-1]), np.append(0.0, 1.0 - across[::-1])
    assert np.sum(np.diff(across) * (up[1:] + up[:-1]) / 2) == pytest.approx(auc(p[here], p[~here]), abs=0.01)
    bins = calibration(p[here], p[~here])
    assert sum(row["count"] for row in bins) == 120
    assert sum(row["observed"] * row["count"] for row in bins) == pytest.approx(here.sum())


def test_profiles_are_those_of_the_presence_class(model: ClassModel, sample: ClassSample) -> None:
    presence = PresenceOf.of(model)
    by = {profile.variable: profile for profile in class_profiles(model, sample.values)}
    for v, name in enumerate(model.names):
        own = marginal(presence, v, sample.values, "probability")
        np.testing.assert_array_equal(own.x, by[name].x)
        np.testing.assert_array_equal(own.y, by[name].y[presence.c])
        assert own.classes == by[name].classes
    v = 2
    mean = partial_dependence(presence, v, sample.values, "probability")
    rows = sample.values.copy()
    rows[:, v] = mean.x[0]
    assert mean.y[0] == pytest.approx(presence.predict(rows).mean())
    plane = surface(presence, 1, 2, sample.values, "probability", points=3)
    assert plane.z.shape == (3, 3)
    assert ((plane.z > 0) & (plane.z < 1)).all()


def test_bands_and_spreads_over_the_models_of_folds(folds: list[PresenceOf], model, sample: ClassSample) -> None:
    x = response_grid(PresenceOf.of(model), 2)
    curves = [marginal(one, 2, sample.values, "probability", x=x) for one in folds]
    _, built = band(curves)
    np.testing.assert_allclose(built.mean, np.mean([curve.y for curve in curves], axis=0))
    np.testing.assert_allclose(built.sd, np.std([curve.y for curve in curves], axis=0, ddof=1))
    spread = predict_spread(folds, list(sample.values.T), "probability")
    each = np.array([one.predict(sample.values) for one in folds])
    np.testing.assert_allclose(spread.mean, each.mean(axis=0))
    np.testing.assert_allclose(spread.lower, np.quantile(each, 0.05, axis=0))


def test_maps_of_presence(model: ClassModel, folds: list[PresenceOf], stack: Stack, tmp_path: Path) -> None:
    presence = PresenceOf.of(model)
    predict_raster(presence, stack, tmp_path / "p.tif", scale="probability")
    predict_raster(presence, stack, tmp_path / "cut.tif", scale="probability", threshold=0.5)
    write_spread_maps(folds, stack, {"mean": tmp_path / "mean.tif", "sd": tmp_path / "sd.tif"}, scale="probability")
    columns = list(columns_of(stack))
    expected = presence.predict_columns(columns)
    with rasterio.open(tmp_path / "p.tif") as source:
        band_ = source.read(1, masked=True).ravel()
        assert source.tags()["scale"] == "probability"
    np.testing.assert_array_equal(np.ma.getmaskarray(band_), np.isnan(expected))
    np.testing.assert_allclose(band_.compressed(), expected[~np.isnan(expected)], rtol=1e-5)
    with rasterio.open(tmp_path / "cut.tif") as source:
        cut = source.read(1, masked=True).ravel().compressed()
    np.testing.assert_array_equal(cut, expected[~np.isnan(expected)] >= 0.5)
    each = np.array([one.predict_columns(columns) for one in folds])
    with rasterio.open(tmp_path / "sd.tif") as source:
        sd = source.read(1, masked=True).ravel().compressed()
    np.testing.assert_allclose(sd, each.std(axis=0, ddof=1)[~np.isnan(expected)], rtol=1e-4, atol=1e-7)
