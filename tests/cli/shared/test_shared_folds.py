"""Folds of species on shared axes: the whole group is fitted without the records of a fold."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shared_axes.runs import HEAD, Group, write_records
from terminal import as_json, rows, sdm, write_table

NAME = "Planta_numerus000"


def auc_of(model: Path, held: Path, background: Path) -> float:
    """The AUC of a model at the records of a file."""
    words = ("evaluate", model, "--presences", held, "--species", "Planta numerus000", "--layers", background)
    return float(as_json(*words)["models"][0]["numbers"]["auc"])


@pytest.mark.thorough
@pytest.mark.parametrize("model", ["shared", "ensemble"])
def test_a_fold_is_measured_on_axes_that_never_saw_it(group: Group, tmp_path: Path, model: str) -> None:
    body = group.body[:63]  # of three species
    middle = np.median([float(row[1]) for row in body])
    half = [("west" if float(row[1]) < middle else "east") for row in body]
    marked = [(*row, fold) for row, fold in zip(body, half)]
    both = replace(group, records=write_table(tmp_path / "both.csv", [*HEAD, "part"], marked))
    common = ("--model", model, "--background-points", 10000)  # those that a model is evaluated with
    words = ("--split", "own", "--fold-column", "part", *common)
    assert sdm(*both.bare(tmp_path / "both", *words)).exit_code == 0
    table = rows(tmp_path / "both" / NAME / f"{NAME}_crossValidation.csv")
    found = {row["fold"]: float(row["auc.val"]) for row in table if row["fold"] == "west"}
    kept = [row for row, part in zip(body, half) if part == "east"]
    held = write_records(tmp_path / "held.csv", [row for row, part in zip(body, half) if part == "west"])
    alone = replace(group, records=write_records(tmp_path / "kept.csv", kept))
    assert sdm(*alone.bare(tmp_path / "kept", *common)).exit_code == 0
    by_hand, leaking = (auc_of(tmp_path / run / NAME / f"{NAME}.npz", held, group.layers) for run in ("kept", "both"))
    assert found["west"] == pytest.approx(by_hand, abs=1e-4)
    assert abs(leaking - by_hand) > 0.01, "else this test could not tell"
