"""Realistic files through `check` and `fit`: the model is the one that is known from the plain files."""

from pathlib import Path
from typing import Any

import corpus
import pandas as pd
import pytest
from terminal import BARE, as_json, fail, model_answer

PLAIN = (*BARE, "--no-report")
SAME = ("training_presences", "background_points", "regularized_gain", "auc_train", "log_loss_train")


@pytest.fixture(scope="module")
def records(world) -> pd.DataFrame:
    return pd.read_csv(world.records)


@pytest.fixture(scope="module")
def known(world, tmp_path_factory) -> dict[str, Any]:
    """The result of the plain files."""
    return model_answer("fit", world.records, world.layers, *PLAIN, "-o", tmp_path_factory.mktemp("known") / "out")


def the_same(known, out: Path, *words: Any) -> dict[str, Any]:
    """Run check and fit, which must give the known result."""
    assert as_json("check", *words, "--categorical", "landcover")["problems"] == []
    answer = model_answer("fit", *words, *PLAIN, "-o", out)
    for key in SAME:
        assert answer[key] == pytest.approx(known[key], abs=1e-12), key
    return answer


@pytest.mark.parametrize("write", [corpus.gbif_simple, corpus.gbif_archive])
def test_gbif(world, records, known, tmp_path: Path, write) -> None:
    path = write(records, tmp_path / ("gbif.zip" if write is corpus.gbif_archive else "gbif.csv"))
    answer = the_same(known, tmp_path / "out", path, world.layers)
    for said in corpus.RUBBISH:
        assert any(said in notice for notice in answer["notices"]), said
    fate = pd.read_csv(tmp_path / "out" / "records_fate.csv")
    assert fate["id"].tolist() == [4_000_000_000 + k for k in range(64)]
    assert (fate["fate"] == "left out").sum() == 4


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig", "cp1252"])
def test_spreadsheets_with_decimal_commas(world, records, known, tmp_path: Path, encoding: str) -> None:
    path = corpus.spreadsheet(records, tmp_path / "Funde.csv", encoding)
    answer = the_same(known, tmp_path / "out", path, world.layers)
    assert any("decimal comma" in notice for notice in answer["notices"])


def test_utf16(world, records, known, tmp_path: Path) -> None:
    the_same(known, tmp_path / "out", corpus.utf16(records, tmp_path / "u.txt"), world.layers)


def test_geopackage_of_several_layers(world, records, known, tmp_path: Path) -> None:
    path = corpus.geopackage(records, tmp_path / "study.gpkg")
    the_same(known, tmp_path / "a", path, world.layers, "--layer", "birds")
    the_same(known, tmp_path / "b", f"{path}:birds", world.layers)
    said = fail("fit", path, world.layers, *PLAIN, "-o", tmp_path / "c")
    assert "birds" in said
    assert "visits" in said


def test_longitudes_from_0_to_360(world, records, known, tmp_path: Path) -> None:
    east = records.assign(longitude=records["longitude"] % 360)
    assert (east["longitude"] > 180).all()
    east.to_csv(tmp_path / "east.csv", index=False)
    turned = corpus.turned_layers(world.layers, tmp_path / "layers")
    answer = the_same(known, tmp_path / "a", tmp_path / "east.csv", world.layers)
    assert any("60 records" in notice and "360" in notice for notice in answer["notices"])
    answer = the_same(known, tmp_path / "b", world.records, turned)
    assert any("60 records" in notice and "360" in notice for notice in answer["notices"])
    the_same(known, tmp_path / "c", tmp_path / "east.csv", turned)


def test_nodata_without_a_tag(world, tmp_path: Path) -> None:
    layers = corpus.untagged(world.layers, tmp_path / "layers")
    said = fail("fit", world.records, layers, *PLAIN, "-o", tmp_path / "no")
    assert "-9999" in said
    assert "--nodata -9999" in said
    answer = model_answer("fit", world.records, layers, *PLAIN, "--nodata", -9999, "-o", tmp_path / "out")
    assert answer["training_presences"] == 60
    free = model_answer("fit", world.records, layers, *PLAIN, "--nodata", "none", "-o", tmp_path / "free")
    assert free["regularized_gain"] != answer["regularized_gain"]
