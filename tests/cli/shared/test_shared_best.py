"""`--preset best`: the mean of a committee and of shared axes; for one species the committee."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shared_axes.runs import Group, write_records
from terminal import PLAIN, fail, read, sdm, succeed

BARE = ("--categorical", "landcover", "--no-curves", *PLAIN)
RAW = ("--scale", "raw", "--extrapolation", "free")  # members are clamped to ranges of their own


@pytest.mark.thorough
def test_the_map_is_the_mean_of_both(group: Group, tmp_path: Path) -> None:
    three = write_records(tmp_path / "three.csv", group.body[:63])
    words = ("fit", three, group.layers, *BARE, *RAW, "--no-map-picture")
    quick = ("--features", "lq", "--strength", 1)
    succeed(*words, "--preset", "best", *quick, "-o", tmp_path / "best")
    own = ("--background", "target-group", "--model")
    succeed(*words, *own, "committee", "-o", tmp_path / "committee")
    succeed(*words, *own, "shared", *quick, "-o", tmp_path / "shared")
    for name in ("Planta_numerus000", "Planta_numerus002"):
        best, one, two = (
            np.log(read(tmp_path / run / name / f"{name}.tif").compressed()) for run in ("best", "committee", "shared")
        )
        left = best - (one + two) / 2
        assert np.ptp(best) > 0.1
        np.testing.assert_allclose(left, left[0], atol=2e-4)
        numbers = json.loads((tmp_path / "best" / name / f"{name}.json").read_text())
        assert numbers["shared"]["species"] == 3
    assert (tmp_path / "best" / "group" / "group.npz").read_bytes() == (
        tmp_path / "shared" / "group" / "group.npz"
    ).read_bytes()


def test_one_species_alone_gets_the_committee(group: Group, world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *BARE, "--no-map", "--target-group", group.records)
    said = succeed(*words, "--preset", "best", "-o", tmp_path / "best").output
    assert "one species has no group for shared axes: its model is the committee alone" in said
    succeed(*words, "--background", "target-group", "--model", "committee", "-o", tmp_path / "own")
    best, own = (json.loads((tmp_path / run / "Virtualis_montanus.json").read_text()) for run in ("best", "own"))
    assert best["log_loss_train"] == own["log_loss_train"]
    assert "shared" not in best
    said = fail(*words, "--preset", "best", "--spatial", "-o", tmp_path / "no", code=2)
    assert "needs a group of species" in said


def test_a_second_species_that_cannot_be_fitted_is_no_group(group: Group, tmp_path: Path) -> None:
    pair = replace(group, records=write_records(tmp_path / "pair.csv", [*group.body[:20], group.body[-1]]))
    words = (pair.records, pair.layers, *BARE, "--no-map", "--background", "random")
    result = sdm("fit", *words, "--preset", "best", "-o", tmp_path / "best")
    assert result.exit_code == 1, result.output
    assert "1 of 2 species fitted" in result.output
    assert "the committee alone" in result.output
    assert "need two species with enough records" in fail(
        "fit", *words, "--model", "shared", "-o", tmp_path / "shared", code=2
    )
