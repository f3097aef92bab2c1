"""Presence and absence, classes, and communities in Python: maps, predictions and plots of every kind of model."""

import numpy as np
import pandas as pd
import pytest
import rasterio
from matplotlib import pyplot

import sdm

NAME = "Virtualis montanus"


@pytest.fixture(scope="module")
def survey(world) -> pd.DataFrame:
    return pd.read_csv(world.folder / "presence_absence.csv")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


@pytest.mark.thorough
def test_presence_and_absence(world, survey: pd.DataFrame) -> None:
    """The map is the probability of presence, one band, as are predictions for tables and layers."""
    run = sdm.fit(
        survey[survey["species"] == NAME], world.layers, response="presence", features="lq", multiplier=1,
        variables="temperature,precipitation", regularization="l1", repeats=1, report=False, importance=False, dpi=50,
    )  # fmt: skip
    assert run.kind == "classes"
    assert run.map.ndim == 2
    np.testing.assert_array_equal(run.predict(world.layers).values, run.map.values)
    here = run.map.to_series().dropna()
    cells = world.dataset().to_dataframe(dim_order=["y", "x"]).loc[here.index]
    np.testing.assert_allclose(run.predict(cells), here, rtol=1e-5)
    shown = run.plot.map().images[0].get_array()
    assert float(np.nanmax(shown)) == pytest.approx(float(run.map.max()))
    assert run.plot.calibration().has_data()
    assert run.plot.roc().has_data()
    with pytest.raises(sdm.SdmError, match="no table 'omission'"):
        run.plot.omission()


def test_classes(world, survey: pd.DataFrame) -> None:
    with rasterio.open(world.layers / "landcover.tif") as source:
        cover = [int(v) % 3 for (v,) in source.sample(survey[["longitude", "latitude"]].to_numpy())]
    plots = survey[["longitude", "latitude"]].assign(habitat=[f"habitat {k}" for k in cover])
    run = sdm.fit(
        plots, world.layers, class_column="habitat", exclude="landcover", features="l", multiplier=1,
        regularization="l1", repeats=1, report=False, dpi=50,
    )  # fmt: skip
    assert run.map.band.values.tolist() == run.numbers["classes"]
    np.testing.assert_allclose(run.map.sum("band", skipna=False).to_series().dropna(), 1, atol=1e-5)
    assert run.predict(pd.DataFrame([dict.fromkeys(run.model.names, 1.0)])).shape == (1, 3)
    assert len(run.plot.curves()[0].lines) == 3
    assert run.plot.map().get_legend() is not None, "the most probable class"


@pytest.mark.thorough
def test_communities(world, survey: pd.DataFrame) -> None:
    sites = survey.pivot_table(index=["longitude", "latitude"], columns="species", values="presence").reset_index()
    run = sdm.fit(
        sites, world.layers, kind="community", exclude="landcover", features="l", cost=1, report=False, dpi=50
    )
    assert run.map.band.values.tolist() == run.numbers["species"]
    np.testing.assert_array_equal(run.predict(world.layers).values, run.map.values)
    richness = run.get_map("richness")
    np.testing.assert_allclose(run.map.sum("band", skipna=False), richness, atol=1e-5)
    assert run.plot.map().has_data()


def test_samples_with_data() -> None:
    """Two tables with the variables in their columns: no layers, and no map."""
    rng = np.random.default_rng(3)
    presences = pd.DataFrame({"species": "Puma", "x": 0.0, "y": 0.0, "rain": rng.normal(1, 1, 40)})
    background = pd.DataFrame({"species": "background", "x": 0.0, "y": 0.0, "rain": rng.normal(0, 1, 200)})
    run = sdm.fit(
        presences, background, features="l", keep_duplicates=True, curves=False, report=False, importance=False
    )
    assert run.predict(background).shape == (200,)
    with pytest.raises(sdm.SdmError, match="no map of Puma"):
        _ = run.map
