"""Records and layers as they come: every format gives the same table, and so the same model."""

from pathlib import Path

import geopandas
import numpy as np
import pytest
import rasterio
from inputs.reading import inputs_of, same_tables, table_of
from terminal import BARE, PLAIN, as_json, rows, watched


def write(world, path: Path) -> tuple[str, ...]:
    """Write the records in the format that a name asks for; return the options that it needs."""
    table = rows(world.records)
    x, y = ([float(row[name]) for row in table] for name in ("longitude", "latitude"))
    names = [row["species"] for row in table]
    points = geopandas.GeoDataFrame({"species": names}, geometry=geopandas.points_from_xy(x, y), crs="EPSG:4326")
    lines = [f"{n};{a};{b}".replace(".", ",") for n, a, b in zip(names, x, y)]
    match path.name:
        case "gbif.csv":
            head = "gbifID\tspecies\tdecimalLatitude\tdecimalLongitude\toccurrenceStatus\tbasisOfRecord\tlocality"
            rest = 'PRESENT\tHUMAN_OBSERVATION\tthe "west'
            body = [f"{k}\t{n}\t{b}\t{a}\t{rest}" for k, (n, a, b) in enumerate(zip(names, x, y))]
            body.append(f"999\t{names[0]}\t{y[0]}\t{x[0] + 0.5}\tABSENT\tHUMAN_OBSERVATION\tnowhere")
            path.write_text("\n".join([head, *body]) + "\n")
        case "excel.csv":
            path.write_bytes(("\ufeff" + "\r\n".join(["species;lon;lat", *lines])).encode())
        case "latin1.txt":
            path.write_bytes("\n".join(["species;lon;lat;ort", *(f"{line};Höhe" for line in lines)]).encode("latin-1"))
        case "named.csv":
            path.write_text("\n".join(["taxon name,E,N", *(f"{n},{a},{b}" for n, a, b in zip(names, x, y))]))
            return ("--species-column", "taxon name", "--x-column", "E", "--y-column", "N")
        case "records.parquet":
            points.to_parquet(path)
        case _:
            points.to_file(path)
    return ()


@pytest.mark.parametrize(
    "name",
    [
        "gbif.csv",
        "excel.csv",
        "latin1.txt",
        "named.csv",
        "records.gpkg",
        "records.geojson",
        "records.shp",
        "records.parquet",
    ],
)
def test_every_format_of_records_gives_the_same_table(world, tmp_path: Path, name: str) -> None:
    options = write(world, tmp_path / name)
    table = table_of(tmp_path / name, world.layers, *BARE, *options)
    same_tables(table, table_of(world.records, world.layers, *BARE))


def test_records_in_another_crs(world, tmp_path: Path) -> None:
    table = rows(world.records)
    points = geopandas.points_from_xy(
        [float(r["longitude"]) for r in table], [float(r["latitude"]) for r in table], crs="EPSG:4326"
    ).to_crs("EPSG:3857")
    lines = [f"sp,{p.x},{p.y}" for p in points]
    (tmp_path / "metres.csv").write_text("\n".join(["species,x,y", *lines]))
    degrees = table_of(world.records, world.layers, *BARE)
    for crs in ("EPSG:3857", "3857"):
        table = table_of(tmp_path / "metres.csv", world.layers, *BARE, "--crs", crs)
        np.testing.assert_array_equal(table.presence, degrees.presence)


def test_layers_in_other_formats(world, tmp_path: Path) -> None:
    """One file of several bands, and ASCII grids without a CRS, which is a notice."""
    paths = sorted(world.layers.glob("*.tif"))
    bands, masks = [], []
    for path in paths:
        with rasterio.open(path) as data:
            bands.append(data.read(1, masked=True).astype("float32").filled(-9999))
            masks.append(data.profile)
    profile = {**masks[0], "count": len(bands), "dtype": "float32", "nodata": -9999, "predictor": 1}
    with rasterio.open(tmp_path / "all.tif", "w", **profile) as out:
        for k, (path, band) in enumerate(zip(paths, bands), start=1):
            out.write(band, k)
            out.set_band_description(k, path.stem)
    (tmp_path / "ascii").mkdir()
    t = masks[0]["transform"]
    for path, band in zip(paths, bands):
        head = f"ncols 48\nnrows 48\nxllcorner {t.c}\nyllcorner {t.f + 48 * t.e}\ncellsize {t.a}\nNODATA_value -9999\n"
        body = "\n".join(" ".join(f"{value:.6g}" for value in row) for row in band)
        (tmp_path / "ascii" / f"{path.stem}.asc").write_text(head + body + "\n")
    plain = table_of(world.records, world.layers, *BARE)
    same_tables(table_of(world.records, tmp_path / "all.tif", *BARE), plain)
    prepared = inputs_of(world.records, tmp_path / "ascii", *BARE)
    assert any("without coordinate reference system" in notice for notice in prepared.notices)
    (table,) = prepared.tables.values()
    same_tables(table, plain, tolerance=1e-5)


def test_the_real_thing_bradypus_in_south_america(shared: Path, tmp_path: Path) -> None:
    data = shared / "data" / "phillips2006"
    words = ("fit", data / "bradypus.csv", data / "layers_0.25deg", "--categorical", "ecoreg", "--no-curves")
    words = (*words, *PLAIN, "--no-map-picture")
    result = as_json(*words, "-o", tmp_path / "out")["models"][0]
    assert result["numbers"]["status"] == "converged"
    assert result["numbers"]["auc_train"] > 0.8
    assert result["records"]["read"] == 116
    assert result["numbers"]["map"]["cells"] > 10_000


def test_progress_bars_on_a_terminal(world, fit, commands, tmp_path: Path) -> None:
    """With a terminal on standard error there is a bar; it must not get into the result."""
    done, shown = watched(commands, "predict", fit.model, world.layers, "-o", tmp_path / "map.tif")
    assert done.returncode == 0
    assert any("working" in line or "map" in line for line in shown)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["outside the training range", "written"]
