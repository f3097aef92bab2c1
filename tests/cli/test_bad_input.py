"""Bad input: one sentence that says what is wrong and what to do, an exit code, and nothing half-written."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import rasterio
from inputs.reading import inputs_of, refusal, table_of
from terminal import BARE, PLAIN, QUICK, as_json, change_raster, fail, files, rows, succeed, write_table

from sdm.errors import DataError, OptionError

HEAD = ["species", "longitude", "latitude"]


def refused(records, layers, *words, code: int = 1) -> str:
    """Return the sentence with which a fit would end, and its exit code would be this one."""
    return refusal(OptionError if code == 2 else DataError, records, layers, *words)


def test_the_command_ends_with_one_sentence_and_writes_nothing(world, tmp_path: Path) -> None:
    out = ("-o", tmp_path / "deep" / "out")
    assert "one usable presence" in fail("fit", alone(world, tmp_path), world.layers, *QUICK, *out)
    assert "does not exist" in fail("fit", tmp_path / "none.csv", world.layers, *out)
    assert "no column 'east'" in fail(
        "fit", world.records, world.layers, "--x-column", "east", "--y-column", "north", *out, code=2
    )
    assert files(tmp_path) == ["alone.csv"]


def alone(world, folder: Path) -> Path:
    """Write the first record."""
    return write_table(folder / "alone.csv", HEAD, points(world)[:1])


def points(world) -> list[tuple[str, str, str]]:
    return [(r["species"], r["longitude"], r["latitude"]) for r in rows(world.records)]


# Records


@pytest.mark.parametrize("content", ["", "\n\n", "species,longitude,latitude\n"])
def test_empty_file(world, tmp_path: Path, content) -> None:
    (tmp_path / "records.csv").write_text(content)
    message = refused(tmp_path / "records.csv", world.layers)
    assert "'records.csv'" in message
    assert "expected" in message


def test_no_coordinate_columns(world, tmp_path: Path) -> None:
    path = write_table(tmp_path / "records.csv", ["species", "where", "when", "who"], [("a", "b", "c", "d")])
    message = refused(path, world.layers)
    assert "decimalLongitude" in message
    assert "species, where, when, who" in message
    assert "--x-column" in message
    assert "no column 'east'" in refused(path, world.layers, "--x-column", "east", "--y-column", "north", code=2)


def test_missing_files_and_folders(world, tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "none.csv", world.layers)
    assert "does not exist" in refused(world.records, tmp_path / "none")
    assert "is a folder" in refused(tmp_path, world.layers)
    (tmp_path / "empty").mkdir()
    assert "no raster layer found" in refused(world.records, tmp_path / "empty")
    assert "no file matches" in refused(world.records, f"{tmp_path}/*.tif")


def test_one_presence(world, tmp_path: Path) -> None:
    path = alone(world, tmp_path)
    assert "one usable presence, expected at least 2" in refused(path, world.layers, *QUICK)
    twice = write_table(tmp_path / "twice.csv", HEAD, points(world)[:1] * 2)
    assert "one usable presence" in refused(twice, world.layers, *QUICK)


def test_two_presences_are_a_model(world, tmp_path: Path) -> None:
    path = write_table(tmp_path / "records.csv", HEAD, points(world)[:2])
    succeed("fit", path, world.layers, *BARE, *PLAIN, "-o", tmp_path / "out")


def test_too_few_to_set_aside(world, tmp_path: Path) -> None:
    path = write_table(tmp_path / "records.csv", HEAD, points(world)[:2])
    assert "too few" in refused(path, world.layers, *QUICK, "--test-percent", 50)
    assert "too few for 2 folds" in refused(path, world.layers, *QUICK, "--folds", 2)


def sea(world) -> tuple[float, float]:
    """The centre of a cell without data, next to land."""
    with rasterio.open(world.layers / "elevation.tif") as data:
        land = data.read_masks(1) > 0
        shifted = np.zeros_like(land)
        shifted[:, 1:] = land[:, :-1]
        row, col = np.argwhere(~land & shifted)[0]
        return data.xy(row, col)


def test_all_presences_on_nodata(world, tmp_path: Path) -> None:
    x, y = sea(world)
    path = write_table(tmp_path / "records.csv", HEAD, [("fish", x, y), ("fish", x + 1e-4, y)])
    message = refused(path, world.layers, *BARE)
    assert "none of 2 records can be used (2 on nodata)" in message
    assert "--snap 1" in message
    moved = write_table(tmp_path / "snap.csv", HEAD, [("fish", x, y), *(("fish", *at) for _, *at in points(world)[:9])])
    counts = inputs_of(moved, world.layers, *BARE, "--snap", 1).ledger.total()
    assert (counts["snapped"], counts["nodata"]) == (1, 0)


def test_all_presences_elsewhere(world, tmp_path: Path) -> None:
    path = write_table(tmp_path / "records.csv", HEAD, [("far", 512345.0, 5412345.0), ("far", 512399.0, 5412399.0)])
    message = refused(path, world.layers, *QUICK)
    assert "--crs" in message
    assert "not degrees" in message
    assert "crs 'EPSG:99999999'" in refused(path, world.layers, *QUICK, "--crs", "EPSG:99999999", code=2)


def test_text_in_a_column_of_numbers_has_a_row_number(world, tmp_path: Path) -> None:
    body = [list(point) for point in points(world)]
    for row in body[17:30]:
        row[1] = "12°30'"
    message = refused(write_table(tmp_path / "records.csv", HEAD, body), world.layers)
    assert "row 19" in message
    assert "'longitude'" in message
    assert "12°30'" in message


def test_a_picture_is_not_a_table(world, fit) -> None:
    assert "is not a text file" in refused(fit.folder / f"{fit.name}.png", world.layers)


def test_absences_only(world, tmp_path: Path) -> None:
    body = [(*point, 0) for point in points(world)]
    path = write_table(tmp_path / "records.csv", [*HEAD, "presence"], body)
    assert "only absences" in refused(path, world.layers)


# Layers


def test_grids_that_differ(own, tmp_path: Path) -> None:
    path = own.layers / "elevation.tif"
    change_raster(path, path, lambda band: band[:40], height=40)
    message = refused(own.records, own.layers, *BARE)
    assert "has 48×48 cells, the stack has 48×40" in message
    assert "--align first" in message
    notices = inputs_of(own.records, own.layers, *BARE, "--align", "landcover").notices
    assert any("'elevation' has 48×40 cells, the stack has 48×48: resampled (bilinear)" in text for text in notices)
    assert "layer to align to 'landcovr' does not exist: did you mean 'landcover'?" in refused(
        own.records, own.layers, *BARE, "--align", "landcovr", code=2
    )


def test_a_hair_of_difference_is_a_notice(own, tmp_path: Path) -> None:
    path = own.layers / "elevation.tif"
    with rasterio.open(path) as data:
        t = data.transform
    change_raster(path, path, transform=rasterio.Affine(t.a, 0, t.c + 1e-8 * t.a, 0, t.e, t.f))
    notices = inputs_of(own.records, own.layers, *BARE).notices
    assert any("less than 1e-6 of a cell" in notice for notice in notices)


def test_a_layer_with_one_value_is_a_note_not_a_crash(own, tmp_path: Path) -> None:
    path = own.layers / "elevation.tif"
    change_raster(path, path, lambda band: np.where(band == -9999, band, 7))
    words = ("--fc", "lqph", "--categorical", "landcover", "--no-map", *PLAIN)
    result = as_json("fit", own.records, own.layers, *words, "-o", tmp_path / "out")
    notes = result["models"][0]["notes"]
    assert any("elevation" in note for note in notes), notes
    assert not (tmp_path / "out" / "plots" / "elevation.svg").exists()


@pytest.mark.parametrize("damage", ["truncated", "overwritten", "empty", "text"])
def test_damaged_files(own, damage) -> None:
    path = own.layers / "elevation.tif"
    content = bytearray(path.read_bytes())
    if damage == "truncated":
        content = content[: len(content) // 2]
    elif damage == "overwritten":
        content[600:1500] = bytes(900)
    else:
        content = bytearray(b"" if damage == "empty" else b"species,x,y\n")
    path.write_bytes(content)
    message = refused(own.records, own.layers, *QUICK)
    assert "'elevation.tif' cannot be" in message


def test_a_layer_without_any_data(own) -> None:
    path = own.layers / "elevation.tif"
    change_raster(path, path, lambda band: band * 0 - 9999)
    assert "'elevation.tif' has no valid cell" in refused(own.records, own.layers, *QUICK)


def test_layers_of_one_name(own) -> None:
    shutil.copy(own.layers / "elevation.tif", own.layers / "elevation.tiff")
    assert "two layers have the name 'elevation'" in refused(own.records, own.layers, *QUICK)


def test_a_categorical_layer_that_is_not_there(world) -> None:
    message = refused(world.records, world.layers, "--categorical", "landcovr", code=2)
    assert "categorical layer 'landcovr' does not exist: did you mean 'landcover'?" in message


def test_classes_never_seen_can_be_an_error(own, tmp_path: Path) -> None:
    path = own.folder / "warmer" / "landcover.tif"
    change_raster(path, path, lambda band: np.where(band > 0, 99, 0))
    words = ("fit", own.records, own.layers, *QUICK, *PLAIN, "--projections", own.folder / "warmer")
    succeed(*words, "-o", tmp_path / "zero")
    message = fail(*words, "-o", tmp_path / "error", "--unseen", "error")
    assert "'landcover' has 1 classes that were not in the training data (99)" in message
    assert not (tmp_path / "error").exists()


def test_layers_in_a_strange_projection_meet_records_in_degrees(own, tmp_path: Path) -> None:
    """Records are reprojected to the layers, whatever CRS either has."""
    succeed("simulate", tmp_path / "metres", "--size", 40, "--layers", 3, "--records", 30, "--crs", "EPSG:3035")
    assert table_of(tmp_path / "metres" / "occurrences.csv", tmp_path / "metres" / "layers", *BARE).n_presences == 30
