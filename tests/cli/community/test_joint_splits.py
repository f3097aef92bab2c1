"""Joint models are tested in every split of sites, beside the constant model, with the true skill statistic."""

from pathlib import Path

import numpy as np
import pytest
from terminal import model_answer, write_table

SPLITS = {
    "random": ("--folds", "3"),
    "leave-one-out": ("--split", "leave-one-out"),
    "block": ("--split", "block", "--block-size", "40", "--folds", "3"),
    "equal blocks": ("--split", "equal-blocks"),
    "buffer": ("--split", "buffer", "--radius", "10"),
    "environment": ("--split", "environment", "--folds", "3"),
    "own": ("--split", "own", "--fold-column", "team"),
    "bootstrap": ("--replicates", "3", "--replicate-kind", "bootstrap"),
    "subsample": ("--replicates", "3", "--replicate-kind", "subsample"),
    "percent": ("--test-percent", "25"),
}


@pytest.fixture(scope="module")
def sites(tmp_path_factory) -> Path:
    """Thirty sites, each visited twice, with two species."""
    rng = np.random.default_rng(1)
    body = []
    for k in range(30):
        place, heat, rain = rng.uniform([0, 40], [2, 42]), rng.normal(), rng.normal()
        for _ in range(2):
            found = [int(value + rng.normal() > 0) for value in (heat, rain)]
            body.append((f"s{k}", *place, heat, rain, *found, "ABC"[k % 3]))
    head = ("site", "longitude", "latitude", "heat", "rain", "owl", "fox", "team")
    return write_table(tmp_path_factory.mktemp("sites") / "sites.csv", head, body)


@pytest.mark.thorough
@pytest.mark.parametrize("method", SPLITS)
def test_joint_models_take_every_split(sites: Path, tmp_path: Path, method: str) -> None:
    words = ("--species", "owl,fox", "--environment", "heat,rain", "--cost", "1", "--fc", "l", "--no-report")
    words = (*words, "--dpi", "50")
    found = model_answer("joint", sites, *words, *SPLITS[method], "-o", tmp_path / "out")["test"]
    assert found["method"] == method
    assert all(fold["sites"] % 2 == 0 for fold in found["folds"]) or method == "bootstrap", "both visits of a site"
    losses = found["mean"]["joint"]
    assert losses["constant log loss"] == pytest.approx(np.log(2) * 2, rel=0.25), (
        "two species, each at half of the sites"
    )
    assert np.isfinite(losses["marginal log loss"])
    assert -1 <= (losses["tss"] if losses["tss"] is not None else 0) <= 1
