"""Realistic files: `check` has nothing against them, and a model is fitted to the same table as from plain files."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import climate
import numpy as np
import pandas as pd
import pytest
import rasterio
from inputs import corpus
from inputs.reading import inputs_of, options_of, refusal, same_tables, scenarios_of, table_of
from terminal import BARE, as_json, model_answer, read, scenario_file

from sdm.errors import DataError
from sdm.run.checking import check_run

PLAIN = (*BARE, "--no-report")
number_in = re.compile(r"bio_?(\d+)").search


@pytest.fixture(scope="module")
def records(world) -> pd.DataFrame:
    return pd.read_csv(world.records)


@pytest.fixture(scope="module")
def known(world) -> Any:
    """The table that is made of the plain files."""
    return table_of(world.records, world.layers, *PLAIN)


def the_same(known, *words: Any) -> Any:
    """Read files that must give the known table; return the inputs."""
    assert check_run(options_of(*words, *PLAIN)).problems == []
    prepared = inputs_of(*words, *PLAIN)
    (table,) = prepared.tables.values()
    same_tables(table, known)
    return prepared


@pytest.mark.parametrize("write", [corpus.gbif_simple, corpus.gbif_archive])
def test_gbif(world, records, known, tmp_path: Path, write) -> None:
    path = write(records, tmp_path / ("gbif.zip" if write is corpus.gbif_archive else "gbif.csv"))
    prepared = the_same(known, path, world.layers)
    for said in corpus.RUBBISH:
        assert any(said in notice for notice in prepared.notices), said
    assert prepared.fate["id"].astype(int).tolist() == [4_000_000_000 + k for k in range(64)]
    assert (prepared.fate["fate"] == "dropped").sum() == 4


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig", "cp1252"])
def test_spreadsheets_with_decimal_commas(world, records, known, tmp_path: Path, encoding: str) -> None:
    path = corpus.spreadsheet(records, tmp_path / "Funde.csv", encoding)
    assert any("decimal comma" in notice for notice in the_same(known, path, world.layers).notices)


def test_utf16(world, records, known, tmp_path: Path) -> None:
    the_same(known, corpus.utf16(records, tmp_path / "u.txt"), world.layers)


def test_geopackage_of_several_layers(world, records, known, tmp_path: Path) -> None:
    path = corpus.geopackage(records, tmp_path / "study.gpkg")
    the_same(known, path, world.layers, "--layer", "birds")
    the_same(known, f"{path}:birds", world.layers)
    said = refusal(DataError, path, world.layers, *PLAIN)
    assert "birds" in said
    assert "visits" in said


def test_longitudes_from_0_to_360(world, records, known, tmp_path: Path) -> None:
    east = records.assign(longitude=records["longitude"] % 360)
    assert (east["longitude"] > 180).all()
    east.to_csv(tmp_path / "east.csv", index=False)
    turned = corpus.turned_layers(world.layers, tmp_path / "layers")
    for records_file, layers in ((tmp_path / "east.csv", world.layers), (world.records, turned)):
        prepared = the_same(known, records_file, layers)
        assert any("60 records" in notice and "360" in notice for notice in prepared.notices)
    the_same(known, tmp_path / "east.csv", turned)


def test_nodata_without_a_tag(world, tmp_path: Path) -> None:
    layers = corpus.untagged(world.layers, tmp_path / "layers")
    assert "--nodata -9999" in refusal(DataError, world.records, layers, *PLAIN)
    table, free = (table_of(world.records, layers, *PLAIN, "--nodata", code) for code in (-9999, "none"))
    assert table.n_presences == 60
    assert free.n_background > table.n_background
    assert free.background.min() == -9999 < table.background.min()


@pytest.mark.parametrize("write", [climate.worldclim, climate.chelsa])
def test_names_of_climate_providers(world, known, tmp_path: Path, write) -> None:
    """Layers under the names of WorldClim 2.1 or CHELSA 2.1, for present and future: the model is that of the plain
    files, and finds its variables in the future's files."""
    names = sorted(path.stem for path in world.layers.glob("*.tif"))
    places = {"present": world.layers, "future": world.folder / "warmer"}
    files = {k: {n: folder / f"{name}.tif" for n, name in enumerate(names, 1)} for k, folder in places.items()}
    present = write(tmp_path / "present", files["present"])
    if write is climate.worldclim:
        future: Any = climate.worldclim_future(tmp_path / "future", files["future"])
    else:
        future = climate.chelsa(tmp_path / "future", files["future"], "2041-2070_gfdl-esm4_ssp126")
    place = names.index("landcover") + 1
    cover = f"wc2.1_10m_bio_{place}" if write is climate.worldclim else f"CHELSA_bio{place}_1981-2010_V.2.1"
    words = (world.records, present, "--categorical", cover, "--projections", f"then={future}")
    assert check_run(options_of(*words)).problems == []
    table = table_of(*words)
    order = [list(table.names).index(name) for name in sorted(table.names, key=lambda name: int(number_in(name)[1]))]
    for part in ("presence", "background"):
        np.testing.assert_allclose(getattr(table, part)[:, order], getattr(known, part), rtol=1e-6)
    (then,) = scenarios_of(*words).values()
    there = ("--categorical", "landcover", "--projections", f"then={places['future']}")
    (expected,) = scenarios_of(world.records, world.layers, *there).values()
    cells = np.divmod(np.arange(then.n_cells), then.width)
    np.testing.assert_allclose(then.sample(*cells)[:, order], expected.sample(*cells), rtol=1e-6)


def test_netcdf_with_months(world, tmp_path: Path) -> None:
    with rasterio.open(world.layers / "temperature.tif") as data:
        values = data.read(1, masked=True).astype("float32").filled(np.nan)
        place = {"x0": data.bounds.left, "y0": data.bounds.bottom, "cell": data.transform.a}
    months = values + np.arange(12, dtype="float32")[:, None, None] % 7
    later = (date(2042, 1, 1) - date(1850, 1, 1)).days
    for name, start in (("present", 0), ("future", later)):
        times = [start + 15 + 30.4 * k for k in range(12)]
        climate.netcdf(tmp_path / f"{name}.nc", {"tas": months}, times=times, **place)
    words = (world.records, tmp_path / "present.nc", "--projections", f"then={tmp_path / 'future.nc'}")
    checked = as_json("check", *words)
    assert checked["problems"] == []
    answer = model_answer("fit", *words, "--fc", "l", "--no-curves", "--no-report", "-o", tmp_path / "out")
    assert answer["training_presences"] == 60
    assert any("tas_jan" in text and "tas_dec" in text for text in answer["notices"])
    (now,) = (tmp_path / "out").glob("*.tif")
    then = scenario_file(tmp_path / "out", "then")
    np.testing.assert_array_equal(read(now).filled(-1), read(then).filled(-1))
