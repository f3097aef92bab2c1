"""Species that were seen at a site inform the others: `sdm predict joint.npz … --known survey.csv`."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from community import SPECIES, draw_community, write_community
from rasterio import Affine
from terminal import fail, model_answer, read, succeed

from sdm.joint.inference import scores
from sdm.models.community import FittedJoint

SIDE = 8  # cells of half a degree


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table of sites, and layers of the same two variables."""
    home = tmp_path_factory.mktemp("known")
    words = ("--environment", "heat,rain", "--features", "l", "--cost", "1", "--no-report", "--dpi", 50)
    succeed("joint", write_community(home), *words, "-o", home / "out")
    rng = np.random.default_rng(4)
    (home / "layers").mkdir()
    for name in ("heat", "rain"):
        profile = {"width": SIDE, "height": SIDE, "count": 1, "dtype": "float32", "nodata": -9999, "crs": "EPSG:4326"}
        with rasterio.open(
            home / "layers" / f"{name}.tif", "w", driver="GTiff", transform=Affine(0.5, 0, 0, 0, -0.5, 54), **profile
        ) as out:
            out.write(rng.normal(size=(SIDE, SIDE)).astype("float32"), 1)
    return home


def given(model: FittedJoint, x: np.ndarray, known: dict[str, int]) -> np.ndarray:
    """Every species' probability at one place, from all 2⁴ labelings that agree with what is known."""
    d = model.discriminant
    unary, table = d.unary(model.weights, model.features.evaluate(x[None])), d.table(model.weights)
    total = np.zeros(len(SPECIES))
    weight = 0.0
    for labels in itertools.product((0, 1), repeat=len(SPECIES)):
        if all(labels[model.species.index(name)] == label for name, label in known.items()):
            one = float(np.exp(scores(model.forest, unary, table, np.array([labels], dtype=np.int8))[0]))
            total += one * np.array(labels)
            weight += one
    return total / weight


def test_cells_with_known_labels_are_predicted_given_them(folder: Path, tmp_path: Path) -> None:
    """Two sites of one cell are one: a presence counts, wherever in the cell it is. No other cell changes."""
    survey = pd.DataFrame({"lon": [0.6, 0.7, 3.2, 9], "lat": [53.7, 53.8, 50.1, 51], "owl": [0, 1, np.nan, 1]})
    survey["fox"] = [np.nan, np.nan, 0, 1]
    survey.to_csv(tmp_path / "survey.csv", index=False)
    model = folder / "out" / "joint.npz"
    succeed("predict", model, folder / "layers", "-o", tmp_path / "plain")
    words = ("predict", model, folder / "layers", "--known", tmp_path / "survey.csv", "-o", tmp_path / "given")
    found = model_answer(*words)
    assert found["numbers"]["known"] == {"cells": 2, "labels": 2}
    fitted = FittedJoint.load(model)
    layers = np.stack([read(folder / "layers" / f"{name}.tif") for name in fitted.names])
    cells = {(0, 1): {"owl": 1}, (7, 6): {"fox": 0}}
    changed = np.zeros((SIDE, SIDE), dtype=bool)
    maps = {name: read(tmp_path / "given" / "maps" / f"{name}.tif") for name in SPECIES}
    for cell, known in cells.items():
        changed[cell] = True
        expected = given(fitted, layers[(slice(None), *cell)].astype(float), known)
        got = [float(maps[name][cell]) for name in fitted.species]
        np.testing.assert_allclose(got, expected, atol=1e-6)
        for name, label in known.items():
            assert float(read(tmp_path / "given" / "maps" / f"{name}_present.tif")[cell]) == label
    for name in SPECIES:
        plain = read(tmp_path / "plain" / "maps" / f"{name}.tif")
        np.testing.assert_array_equal(plain[~changed], maps[name][~changed])
    vole = [float(part[0, 1]) for part in (read(tmp_path / "plain" / "maps" / "vole.tif"), maps["vole"])]
    assert vole[1] > vole[0] + 0.1, "voles are where owls are"
    total = sum(maps[name][0, 1] for name in SPECIES)
    assert float(read(tmp_path / "given" / "richness.tif")[0, 1]) == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("how", ["itself", "site", "coordinates", "rows", "long"])
def test_rows_of_a_table_given_a_survey(folder: Path, tmp_path: Path, how: str) -> None:
    sites = draw_community(6, seed=9)
    survey = sites[["site", "longitude", "latitude", "owl"]].astype({"owl": float})
    survey.loc[3:, "owl"] = np.nan
    points, keep = sites[["site", "longitude", "latitude", "heat", "rain"]], list(survey.columns)
    if how == "itself":
        points = points.assign(owl=survey["owl"])
    elif how == "coordinates":
        points, keep = points.drop(columns="site"), ["longitude", "latitude", "owl"]
    elif how == "rows":
        points, keep = points[["heat", "rain"]], ["latitude", "owl"]
    points.to_csv(tmp_path / "points.csv", index=False)
    survey[keep].iloc[:: 1 if how in ("rows", "itself") else -1].to_csv(tmp_path / "survey.csv", index=False)
    if how == "long":
        long = survey.rename(columns={"owl": "presence"}).assign(species="owl").dropna()
        long.astype({"presence": int}).to_csv(tmp_path / "survey.csv", index=False)
    place = tmp_path / ("points.csv" if how == "itself" else "survey.csv")
    model = folder / "out" / "joint.npz"
    succeed("predict", model, tmp_path / "points.csv", "--known", place, "-o", tmp_path / "out.csv")
    fitted, made = FittedJoint.load(model), pd.read_csv(tmp_path / "out.csv")
    for i in range(6):
        x = sites.loc[i, list(fitted.names)].to_numpy(dtype=float)
        expected = given(fitted, x, {"owl": int(survey["owl"][i])} if i < 3 else {})
        got = made.loc[i, [f"probability {name}" for name in fitted.species]].to_numpy(dtype=float)
        np.testing.assert_allclose(got, expected, atol=1e-6)


def test_a_few_possible_communities_per_row(folder: Path, tmp_path: Path) -> None:
    """Their probabilities add up to one at every row, and known labels are in all of them."""
    sites = draw_community(8, seed=9)
    sites.assign(owl=[1, 0] + [np.nan] * 6).drop(columns=["fox", "vole", "hen"]).to_csv(tmp_path / "p.csv", index=False)
    model, points = folder / "out" / "joint.npz", tmp_path / "p.csv"
    succeed("predict", model, points, "--known", points, "--communities", "-o", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out_communities.csv", keep_default_na=False)
    assert len(pd.read_csv(tmp_path / "out.csv")) == found["row"].nunique() == 8
    np.testing.assert_allclose(found.groupby("row")["probability"].sum(), 1)
    assert found.groupby("row").size().max() <= 2 * len(SPECIES)
    fitted = FittedJoint.load(model)
    held = np.full((8, len(SPECIES)), np.nan)
    held[:2, fitted.species.index("owl")] = [1, 0]
    for k, (row, own) in enumerate(found.groupby("row")):
        best = fitted.communities(sites, held)[k]
        assert own["probability"].tolist() == pytest.approx(best.probability.tolist())
        listed = [{name for name, there in zip(fitted.species, labels) if there} for labels in best.labels]
        assert [set(filter(None, text.split("; "))) for text in own["species"]] == listed
        assert all(("owl" in names) == (row == 2) for names in listed) or k > 1
    assert "for a table" in fail("predict", model, folder / "layers", "--communities", "-o", tmp_path / "x", code=2)


def test_surveys_of_no_use(folder: Path, fit, tmp_path: Path) -> None:
    model, layers = folder / "out" / "joint.npz", folder / "layers"
    pd.DataFrame({"lon": [1.0], "lat": [51.0], "yeti": [1]}).to_csv(tmp_path / "other.csv", index=False)
    pd.DataFrame({"lon": [70.0], "lat": [51.0], "owl": [1]}).to_csv(tmp_path / "away.csv", index=False)
    pd.DataFrame({"lon": [1.0], "lat": [51.0], "owl": [3]}).to_csv(tmp_path / "counts.csv", index=False)
    for name, text in (
        ("other", "none of the species of the model"),
        ("away", "is on the layers"),
        ("counts", "has 3"),
    ):
        words = ("predict", model, layers, "--known", tmp_path / f"{name}.csv", "-o", tmp_path / "out")
        assert text in fail(*words), name
        assert not (tmp_path / "out").exists()
    words = ("predict", fit.model, layers, "--known", tmp_path / "other.csv", "-o", tmp_path / "map.tif")
    assert "--known does not apply" in fail(*words, code=2)
