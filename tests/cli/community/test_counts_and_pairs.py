"""`sdm joint` on counts, with the associations of all pairs and the parts of the variance."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from community import SPECIES, draw_community
from terminal import fail, picture, rows, succeed

from sdm.joint.pairs import pair_associations
from sdm.models.community import FittedJoint

OWN = ("--environment", "heat,rain", "--species", ",".join(SPECIES), "--cost", "1", "--features", "l")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on counts of animals, a tenth of which are singles that do not count as presence."""
    home = tmp_path_factory.mktemp("counted")
    rng = np.random.default_rng(2)
    frame = draw_community()
    for name in SPECIES:
        frame[name] = np.where(frame[name] > 0, 2 + rng.poisson(3, len(frame)), rng.random(len(frame)) < 0.1)
    frame.to_csv(home / "counts.csv", index=False)
    words = ("joint", home / "counts.csv", *OWN, "--presence-above", 1, "--all-associations")
    succeed(*words, "--dpi", 50, "-o", home / "out")
    return home


@pytest.mark.thorough
def test_counts_above_the_number_are_the_presences(counted: Path) -> None:
    prevalence = json.loads((counted / "out" / "joint.json").read_text())["prevalence"]
    assert prevalence == pytest.approx(draw_community()[list(SPECIES)].mean().to_dict())
    said = fail("joint", counted / "counts.csv", *OWN, "-o", counted / "no")
    assert "--presence-above 0" in said
    assert (
        "known labels" in succeed("evaluate", counted / "out" / "joint.npz", "--sites", counted / "counts.csv").output
    )


def test_every_pair_has_an_association_with_an_interval(counted: Path) -> None:
    out = counted / "out"
    found = {(row["first"], row["second"]): row for row in rows(out / "all_associations.csv")}
    assert len(found) == 6
    frame = draw_community()
    single = FittedJoint.load(out / "joint.npz")
    assert float(found["owl", "vole"]["low"]) > 0, "voles are where owls are"
    assert float(found["fox", "hen"]["high"]) < 0, "hens are where no foxes are"
    assert float(found["owl", "fox"]["q"]) > 0.05
    for row in found.values():
        assert float(row["low"]) < float(row["weight"]) < float(row["high"])
        assert int(row["sites"]) == len(frame)
    numbers = json.loads((out / "joint.json").read_text())
    assert numbers["pairs"]["number"] == 6
    assert 0 <= numbers["pairs"]["gap"] < 1e-6
    assert numbers["pairs"]["sure"] == sum(float(row["q"]) <= 0.05 for row in found.values())
    labels = frame[list(single.species)].to_numpy().astype(np.int8)
    odds = np.zeros((len(frame), 4))
    raw = pair_associations(single.species, odds, labels)
    assert raw.weight[0] == pytest.approx(float(found["owl", "vole"]["weight"]), abs=0.3), "not only the environment's"


def test_parts_of_the_variance_are_written_and_shown(counted: Path) -> None:
    out = counted / "out"
    table = pd.read_csv(out / "variance.csv").set_index("species")
    np.testing.assert_allclose(table[["heat", "rain", "associations"]].sum(axis=1), 1)
    assert table.loc["owl", "heat"] > table.loc["owl", "rain"]
    assert (table["r2 given the others"] > table["r2"]).all()
    for name in ("variance.png", "all_associations.png"):
        assert picture(out / name).std() > 0
    page = (out / "joint.html").read_text()
    assert "2 of 6 pairs of species have a significant association" in page
    assert "Variance partitioning" in page
