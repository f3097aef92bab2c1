"""`sdm maxent` with Java Maxent's defaults on Bradypus, and the figures of Java Maxent itself."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from java import java_raw

from sdm.assess.measures.basic import auc
from sdm.assess.measures.thresholds import NAMES, Curve
from sdm.java.flags import read_command
from sdm.java.run import run_java
from sdm.models.file import load_model


@dataclass(frozen=True)
class Done:
    """The row of maxentResults.csv, and the raw output of Java Maxent's converged model at presences and all rows."""

    folder: Path
    row: Mapping[str, str]
    presences: np.ndarray
    rows: np.ndarray


def only_row(path: Path) -> dict[str, str]:
    with path.open(newline="", encoding="utf-8") as source:
        (row,) = csv.DictReader(source)
    return row


@pytest.fixture(scope="module")
def done(bradypus, shared, tmp_path_factory) -> Done:
    table, present = bradypus
    place = tmp_path_factory.mktemp("bradypus")
    for label, name in ((1, "bradypus"), (0, "background")):
        part = table[present == label]
        part = part.assign(species=name, longitude=np.arange(len(part)), latitude=0.0)
        part[["species", "longitude", "latitude", *table.columns]].to_csv(place / f"{name}.csv", index=False)
    words = [f"samplesfile={place / 'bradypus.csv'}", f"environmentallayers={place / 'background.csv'}"]
    run_java(read_command([*words, f"outputdirectory={place / 'out'}", "togglelayertype=ecoreg", "autorun"]))
    columns = {name: table[name].to_numpy(dtype=float) for name in table.columns}
    raw = java_raw(shared / "reference" / "java_lqph_converged.lambdas", columns)
    return Done(place / "out", only_row(place / "out" / "maxentResults.csv"), raw[present == 1], raw)


def test_columns_are_javas(done, shared):
    java = only_row(shared / "reference" / "java_auto_maxentResults.csv")
    assert list(done.row) == list(java)
    for name in ("Species", "#Training samples", "#Background points"):
        assert done.row[name] == java[name]


def test_gains_are_those_of_java_when_it_has_converged(done, shared):
    figures = json.loads((shared / "reference" / "bradypus.json").read_text())["java_converged"]
    (java,) = [row for row in figures if (row["variables"], row["classes"]) == ("all 14", "lqph+category")]
    assert float(done.row["Regularized training gain"]) == pytest.approx(java["regularised_gain"], abs=0.005)
    assert float(done.row["Unregularized training gain"]) == pytest.approx(java["unregularised_gain"], abs=0.005)
    assert float(done.row["Entropy"]) == pytest.approx(java["entropy"], abs=0.005)


def test_auc_and_thresholds_are_those_of_java_when_it_has_converged(done):
    assert float(done.row["Training AUC"]) == pytest.approx(auc(done.presences, done.rows), abs=0.002)
    model = load_model(done.folder / "bradypus.lambdas")
    java = Curve(done.presences, done.rows, lambda raw: model.from_raw(raw, "cumulative"))
    found = {found.key: found for found in java.thresholds(model.entropy)}
    assert set(found) == set(NAMES), "all nine rules"
    for key, name in NAMES.items():
        theirs = float(1.0 - np.exp(-np.exp(model.entropy) * found[key].raw))
        assert float(done.row[f"{name} Cloglog threshold"]) == pytest.approx(theirs, abs=0.01), name


def test_contributions_have_the_order_of_java(done, shared):
    java = only_row(shared / "reference" / "java_auto_maxentResults.csv")
    names = [name for name in java if name.endswith(" contribution")]
    ours, theirs = ([*sorted(names, key=lambda name: -float(row[name]))][:5] for row in (done.row, java))
    assert ours == theirs
