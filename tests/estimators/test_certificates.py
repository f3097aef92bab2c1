"""Every model contains what its duality gap covers, in the words that the terminal, the page and `--json` print."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio

import sdm
from sdm.estimators.on_axes import OnAxes

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    x = np.vstack([rng.normal(0.6, 0.5, size=(40, 2)), rng.normal(size=(300, 2))])
    return x, np.repeat([1, 0], [40, 300])


def certificate(model, rows):
    return model.fit(*rows).model_.meta["certificate"]


def test_a_model_of_feature_classes_is_certified_over_all_of_them_and_so_is_its_map(rows):
    model = sdm.Maxent("lqh")
    result = certificate(model, rows)
    assert result["covers"] == "model"
    assert result["text"].endswith(f"over all {model.coef_.size:,} features")
    assert 0.0 <= result["cloglog"]["mean"] <= result["cloglog"]["largest"] < 0.1
    assert f"at most {result['cloglog']['largest']:.2g} (mean: {result['cloglog']['mean']:.2g})" in result["map"]


@pytest.mark.parametrize("changed", [{"entropy": 2.0}, {"temperature": 0.7}])
def test_no_bound_is_claimed_for_maps_that_it_is_not_proved_for(rows, changed):
    assert "map" not in certificate(sdm.Maxent("lq", **changed), rows)


def test_trees_are_an_estimate_unless_there_are_none(rows):
    result = certificate(sdm.StructMaxent("l,trees:3", lam=0.01, beta=0.02), rows)
    assert result["covers"] == "features found"
    assert "certified" not in result["text"]
    assert "only an estimate for all of trees:3" in result["text"]
    assert certificate(sdm.StructMaxent("l,trees:3", lam=np.inf), rows)["covers"] == "model"


def test_of_a_committee_the_members_are_certified_and_their_mean_is_not(rows):
    model = sdm.Committee()
    result = certificate(model, rows)
    assert result["covers"] == "members"
    worst = max(member.solution_.gap for member in model.members_)
    assert result["text"] == f"certified members, not their mean: 5 models, largest duality gap {worst:.2g} nats"
    assert "map" not in result


def test_species_on_shared_axes_are_certified_together_and_new_ones_on_the_given_axes(rows):
    x, y = rows
    species = np.where(y == 0, None, np.where(np.arange(len(y)) % 2, "a", "b"))
    group = sdm.SharedMaxent("lq", strength=1.0).fit(x, species).model_
    assert group.meta["certificate"]["covers"] == "group"
    assert "for all species together" in certificate(OnAxes(group, "a"), rows)["text"]
    placed = certificate(OnAxes(group), rows)
    assert placed["covers"] == "model"
    assert "all slopes along the given axes" in placed["text"]


def test_classes_and_communities_are_certified_in_the_unit_of_their_loss(rows):
    x, y = rows
    labels = np.where(x[:, 0] + 0.3 * y > 0.5, "wet", "dry")
    assert "features of every class" in certificate(sdm.ConditionalMaxent("lq", multiplier=1.0), (x, labels))["text"]
    both = np.column_stack([x[:, 0] > 0.2, x[:, 1] > 0.1]).astype(int)
    joint = sdm.JointModel(c=1.0, learner="m3n").fit(x, both).model_
    assert "wrong labels per site, over all weights of all species and edges" in joint.meta["certificate"]["text"]


@pytest.fixture(scope="module")
def bradypus_fits(shared):
    """Bradypus with 10,000 random cells of a coarse grid: by default, and fitted to a hundred-millionth of its gap."""
    folder = shared / "data" / "phillips2006"
    layers = sorted((folder / "layers_0.25deg").glob("*.tif"))
    with rasterio.open(layers[0]) as first:
        index = first.index
    bands = np.ma.stack([rasterio.open(path).read(1, masked=True) for path in layers])
    cells = ~np.ma.getmaskarray(bands).any(axis=0)
    records = pd.read_csv(folder / "bradypus.csv")
    places = [index(x, y) for x, y in records[["dd long", "dd lat"]].to_numpy()]
    present = np.array([bands.data[:, row, col] for row, col in places if cells[row, col]], dtype=float)
    every = bands.data[:, cells].T.astype(float)
    drawn = every[np.random.default_rng(1).choice(len(every), 10_000, replace=False)]
    x, y = np.vstack([present, drawn]), np.repeat([1, 0], [len(present), len(drawn)])
    kinds = [path.stem == "ecoreg" for path in layers]
    assert sum(kinds) == 1
    return [sdm.Maxent(categorical=[kinds.index(True)], tolerance=gap).fit(x, y) for gap in (1e-6, 1e-12)]


@pytest.mark.thorough
def test_a_tighter_fit_of_real_data_changes_the_map_by_rounding(bradypus_fits):
    """Nobody waits for a tighter tolerance and gets another map."""
    model, best = bradypus_fits
    away = np.abs(np.subtract(*(fit.model_.from_raw(fit.solution_.p, "cloglog") for fit in bradypus_fits)))
    assert away.max() < 1e-5
    assert away.mean() < 1e-6
    assert best.solution_.gap < 1e-12 < model.solution_.gap < 1e-6
