"""Folds in space as scikit-learn's cross-validators: the folds of a run, for any estimator."""

import geopandas
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

from sdm import Buffered, Checkerboard, EnvironmentBlocks, SpatialBlocks
from sdm.assess.splits.spatial import blocks, buffered_leave_one_out, checkerboard, environmental_clusters
from sdm.errors import DataError, OptionError

PRESENCES, BACKGROUND = 40, 160


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    xy = rng.uniform(0, 100, (PRESENCES + BACKGROUND, 2))
    frame = pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "heat": xy[:, 0] / 50 + rng.normal(size=len(xy))})
    y = np.zeros(len(xy), dtype=int)
    y[np.argsort(-frame["heat"] + rng.normal(size=len(xy)))[:PRESENCES]] = 1
    return frame, y


def splitters(xy):
    return {
        "blocks": SpatialBlocks(20, n_splits=4, coordinates=xy),
        "checkerboard": Checkerboard(10, 2, coordinates=xy),
        "buffer": Buffered(25, coordinates=xy),
        "environment": EnvironmentBlocks(4, variables=["heat"]),
    }


@pytest.mark.parametrize("name", ["blocks", "checkerboard", "buffer", "environment"])
def test_no_row_trains_and_tests(table, name):
    """What is held out is not trained on; every presence is held out once."""
    frame, y = table
    splitter = splitters(("x", "y"))[name]
    folds = list(splitter.split(frame, y))
    assert len(folds) == splitter.get_n_splits(frame, y)
    held_out = np.concatenate([test[y[test] == 1] for _, test in folds])
    assert sorted(held_out) == np.flatnonzero(y).tolist()
    for train, test in folds:
        assert not set(train) & set(test)
        assert set(y[test]) == set(y[train]) == {0, 1}


def test_the_folds_are_those_of_a_run(table):
    frame, y = table
    xy, present = frame[["x", "y"]].to_numpy(), y == 1
    pair = xy[present], xy[~present]
    upper = (xy[:, 0].min(), xy[:, 1].max())
    values = frame[["heat"]].to_numpy()
    expected = {
        "blocks": blocks(*pair, 20, 4, background="partition"),
        "checkerboard": checkerboard(*pair, origin=upper, cell=10, aggregation=2, background="partition"),
        "buffer": buffered_leave_one_out(*pair, 25, background="partition"),
        "environment": environmental_clusters(values[present], values[~present], 4, background="partition"),
    }
    for name, splitter in splitters(xy).items():
        for (train, test), fold in zip(splitter.split(frame, y), expected[name].folds, strict=True):
            np.testing.assert_array_equal(train[y[train] == 1], np.flatnonzero(present)[fold.train])
            np.testing.assert_array_equal(test[y[test] == 0], np.flatnonzero(~present)[fold.background_test])


def test_the_whole_background_can_train_and_test(table):
    frame, y = table
    for splitter in (SpatialBlocks(20, 4, coordinates=("x", "y"), background="full"), EnvironmentBlocks(4)):
        splitter.background = "full"
        for train, test in splitter.split(frame, y):
            assert (y[train] == 0).sum() == (y[test] == 0).sum() == BACKGROUND
    with pytest.raises(OptionError, match="y must have two values"):
        next(splitter.split(frame))


def test_coordinates_in_every_form(table):
    """An array, names of columns, a data frame, points, or the points of X itself: the same folds."""
    frame, y = table
    xy = frame[["x", "y"]]
    points = geopandas.GeoSeries.from_xy(frame["x"], frame["y"])
    given = [xy.to_numpy(), ("x", "y"), xy, points, geopandas.GeoDataFrame(geometry=points)]
    tables = [frame] * len(given) + [geopandas.GeoDataFrame(frame, geometry=points)]
    result = [
        [test.tolist() for _, test in SpatialBlocks(20, coordinates=one).split(X, y)]
        for one, X in zip([*given, None], tables)
    ]
    assert all(folds == result[0] for folds in result)


def test_degrees_are_known_by_name_and_by_crs(table):
    """Blocks of 20 are of 20 km where coordinates are degrees: a hundred degrees are many of them."""
    frame, y = table
    degrees = frame.rename(columns={"x": "longitude", "y": "latitude"}) * [1, 0.5, 1]
    points = geopandas.GeoSeries.from_xy(degrees["longitude"], degrees["latitude"], crs=4326)
    asked = SpatialBlocks(500, coordinates=degrees[["longitude", "latitude"]].to_numpy(), geographic=True)
    expected = [test.tolist() for _, test in asked.split(degrees, y)]
    for coordinates in (("longitude", "latitude"), points):
        assert [t.tolist() for _, t in SpatialBlocks(500, coordinates=coordinates).split(degrees, y)] == expected
    with pytest.raises(DataError, match="got 1 of size 500"):
        list(SpatialBlocks(500, coordinates=("longitude", "latitude"), geographic=False).split(degrees, y))


def test_any_estimator_can_use_them(table):
    frame, y = table
    folds = SpatialBlocks(20, 4, coordinates=frame[["x", "y"]])
    X = frame[["heat"]]
    scores = cross_val_score(RandomForestClassifier(5, random_state=1), X, y, cv=folds, scoring="roc_auc")
    assert len(scores) == 4
    assert np.isfinite(scores).all()
    result = cross_validate(LinearRegression(), X, frame["x"], cv=folds)["test_score"]  # no presences: all rows alike
    assert len(result) == 4
    classes = np.array(["bog", "heath", "wood"])[np.arange(len(y)) % 3]
    assert (
        len(
            cross_val_score(
                LogisticRegression(), X, classes, cv=Checkerboard(10, (1, 2), coordinates=frame[["x", "y"]])
            )
        )
        == 4
    )


def test_nested_cross_validation(table):
    """The inner folds divide a part of the table: coordinates with an index, or in columns, still fit."""
    frame, y = table
    coordinates = frame[["x", "y"]]
    inner = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=SpatialBlocks(20, 3, coordinates=coordinates))
    outer = SpatialBlocks(30, 3, coordinates=coordinates)
    scores = cross_val_score(inner, frame[["heat"]], y, cv=outer, error_score="raise")
    assert np.isfinite(scores).all()
    with pytest.raises(DataError, match="nested cross-validation"):
        next(SpatialBlocks(20, coordinates=coordinates.to_numpy()).split(frame[:100], y[:100]))


def test_mistakes_are_explained(table):
    frame, y = table
    with pytest.raises(OptionError, match="coordinates are missing"):
        next(SpatialBlocks(20).split(frame, y))
    with pytest.raises(OptionError, match="no column 'lon'"):
        next(SpatialBlocks(20, coordinates=("lon", "lat")).split(frame, y))
    with pytest.raises(DataError, match="give X"):
        Buffered(10, coordinates=("x", "y")).get_n_splits()
    with pytest.raises(DataError, match="differs from the index of X"):
        next(SpatialBlocks(20, coordinates=frame[["x", "y"]][:50]).split(frame, y))
    with pytest.raises(OptionError, match="no column 'rain'"):
        next(EnvironmentBlocks(3, variables=["rain"]).split(frame, y))
    with pytest.raises(DataError, match="no column of numbers"):
        next(EnvironmentBlocks(3).split(pd.DataFrame({"soil": ["a", "b"] * 10})))
    assert repr(SpatialBlocks(20, coordinates=("x", "y"))).startswith("SpatialBlocks(size=20, n_splits=5, coordinates=")
