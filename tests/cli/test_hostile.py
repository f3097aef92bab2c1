"""Files and words that were made to do harm, or might as well have been: one sentence, nothing written, nothing run."""

import csv
import io
import json
import os
import shutil
import socket
import zipfile
from pathlib import Path

import numpy as np
import pytest
import rasterio
from community import write_community
from inputs.reading import refusal, table_of
from odd import BOMB
from rasterio.crs import CRS
from terminal import BARE, change_raster, fail, files, model_answer, process, rows, sdm, start, succeed, write_table

from sdm.errors import DataError, OptionError
from sdm.report.tables import quoted, unquoted
from sdm.storage.archive import digest
from sdm_cli.console import plain

CROSS = ("--class-column", "habitat", "--fc", "l", "--no-map", "--no-curves", "--no-report")


# Run files


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (BOMB, "its aliases unfold to more than 100,000 entries"),
        ("a: &a {<<: [" + "*a," * 9 + "]}", "an alias in it refers to itself"),
        ("fit: &a [*a]", "an alias in it refers to itself"),
        ("[" * 5000, "nested more than 32 deep"),
        ("fit: {" + "a: {" * 40 + "}" * 41, "nested more than 32 deep"),
        ("seed: " + "7" * 5000, "a whole number of 5,000 digits"),
        ("seed: 2001-99-99", "is not a readable YAML file"),
        ("# " + "x" * (17 << 20), "it has more than 16 MB"),
    ],
    ids=["bomb", "merge", "cycle", "brackets", "braces", "digits", "date", "size"],
)
def test_run_files_that_unfold_without_end(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    assert part in refusal(OptionError, path)
    for command in ("fit", "classify", "check") if text == BOMB else ():
        assert part in fail(command, path, "-o", tmp_path / "out", code=2)
    assert files(tmp_path) == ["run.yaml"]


def test_an_honest_run_file_may_use_aliases(world, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        f"occurrences: {{file: &f {world.records}}}\nlayers: {{files: {world.layers}}}\ntest: {{file: *f}}\n"
    )
    assert "2 layers" not in succeed("check", path, "-o", tmp_path / "out").output


# Devices, pipes and sockets


@pytest.mark.parametrize("place", ["/dev/zero", "fifo", "socket"])
def test_what_is_no_file_is_not_read(world, fit, tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "socket"))
        path = tmp_path / place  # an absolute one stays as it is
        kind = {"/dev/zero": "a device", "fifo": "a pipe", "socket": "a socket"}[place]
        commands = [
            (("info", path), 1),
            (("fit", path, world.layers), 1),
            (("fit", world.records, path), 1),
            (("predict", path, world.layers), 1),
            (("fit", world.records, world.layers, "--study-area", path), 1),
        ]
        for words, code in commands:
            out = () if words[0] == "info" else ("-o", tmp_path / "out")
            assert f"{path} is {kind}: expected" in fail(*words, *out, code=code)
        os.symlink(path, tmp_path / "run.yaml")
        assert f"is {kind}: expected" in fail("fit", tmp_path / "run.yaml", "-o", tmp_path / "out", code=2)
        for words in (
            ("init", path),
            ("predict", fit.model, world.layers, "-o", path),
            ("fit", world.records, world.layers, "-o", path),
        ):
            assert f"{path} is {kind}, and results are files" in fail(*words, "--overwrite")
        assert not path.is_file()
    assert files(tmp_path) == ["fifo", "run.yaml", "socket"]


def test_names_that_are_not_text(world, fit, tmp_path: Path) -> None:
    name = tmp_path / os.fsdecode(b"caf\xe9")
    done = process("fit", world.records, world.layers, *BARE, "-o", name)
    assert done.returncode == 1, done.stderr
    why = "is not a name in UTF-8: choose another name for the results"
    assert done.stderr.endswith(f"error: {tmp_path}/caf\\udce9 {why} [E060]\n")
    for words in (
        ("predict", fit.model, world.layers, "-o", f"{name}.tif"),
        ("init", f"{name}.yaml"),
        ("simulate", name),
    ):
        assert fail(*words) == f"{tmp_path}/caf\\udce9{Path(str(words[-1])).suffix} {why}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_an_input_whose_name_is_not_text_is_read(world, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    shutil.copy(world.records, path)
    done = process("fit", path, world.layers, *BARE, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "caf\\udce9.csv" in (tmp_path / "out" / "command.txt").read_text()


# Zip files


def packed(path: Path, content: bytes, count: int = 1) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("records.csv", "w") as out:
        for _ in range(count):
            out.write(content)
    return path


def flagged(path: Path, local: int, central: int, value: int) -> Path:
    body = bytearray(path.read_bytes())
    body[local], body[body.rindex(b"PK\x01\x02") + central] = value, value
    path.write_bytes(body)
    return path


def test_a_table_that_unpacks_to_gigabytes(world, tmp_path: Path) -> None:
    """Neither read into memory, nor unpacked at all; a small table in a zip is read as ever."""
    content = world.records.read_bytes()
    bomb = packed(tmp_path / "bomb.zip", b"0" * (1 << 20), 100)
    assert bomb.stat().st_size < 200_000
    said = refusal(DataError, bomb, world.layers)
    assert "'records.csv' in 'bomb.zip' unpacks to 0.1 GB: if that is correct, unzip it" in said
    lying = packed(tmp_path / "lying.zip", content)
    body = bytearray(lying.read_bytes())
    at = body.rindex(b"PK\x01\x02") + 24
    body[at : at + 4] = (3 << 30).to_bytes(4, "little")
    lying.write_bytes(body)
    assert "unpacks to 3.2 GB" in refusal(DataError, lying, world.layers)
    assert table_of(packed(tmp_path / "good.zip", content), world.layers).n_presences == 60


def test_zips_that_python_cannot_unpack(world, tmp_path: Path) -> None:
    content = world.records.read_bytes()
    locked = flagged(packed(tmp_path / "locked.zip", content), 6, 8, 1)
    assert "'locked.zip' is encrypted: unzip it with its password" in refusal(DataError, locked, world.layers)
    method = flagged(packed(tmp_path / "method.zip", content), 8, 10, 77)
    assert "cannot be unpacked" in refusal(DataError, method, world.layers)
    cut = packed(tmp_path / "cut.zip", content)
    body = bytearray(cut.read_bytes())
    body[60:90] = bytes(30)
    cut.write_bytes(body)
    assert "'cut.zip' is damaged" in refusal(DataError, cut, world.layers)


# Layers


@pytest.mark.parametrize(
    ("profile", "part"),
    [
        ({"dtype": "complex64", "nodata": None}, "layer 'elevation' has complex numbers"),
        ({"transform": rasterio.Affine(0, 0, 1, 0, 0, 1)}, "layer 'elevation.tif' has cells of 0 by 0"),
        ({"transform": rasterio.Affine(1e308, 0, 1, 0, -1e308, 1)}, "layer 'elevation.tif' has cells of 1e+308"),
    ],
    ids=["complex", "zero", "huge"],
)
def test_rasters_that_are_no_maps(own, profile, part) -> None:
    path = own.layers / "elevation.tif"
    change_raster(path, path, **profile)
    assert part in refusal(DataError, own.records, own.layers, *BARE)


def test_layers_in_a_local_system(own) -> None:
    for path in own.layers.glob("*.tif"):
        change_raster(path, path, crs=CRS.from_wkt('LOCAL_CS["the field",UNIT["metre",1]]'))
    message = refusal(DataError, own.records, own.layers, *BARE)
    assert "coordinates cannot be transformed from 'EPSG:4326' to" in message
    assert "--crs" in message


# Models


def changed(source: Path, target: Path, change) -> Path:
    """Copy a model file with something changed in it, and its digest made right again, as an attacker would."""
    with zipfile.ZipFile(source) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (title,) = (name for name in parts if name.endswith(".json"))
    header = json.loads(parts.pop(title))
    arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(body)) for name, body in parts.items()}
    change(header, arrays)
    header["digest"] = digest(header, arrays)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(title, json.dumps(header))
        for name, array in arrays.items():
            body = io.BytesIO()
            np.save(body, array)
            archive.writestr(f"{name}.npy", body.getvalue())
    return target


@pytest.fixture(scope="module")
def models(world, fit, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    body = [(r["longitude"], r["latitude"], ("wet", "dry")[k % 2]) for k, r in enumerate(rows(world.records))]
    plots = write_table(folder / "plots.csv", ["longitude", "latitude", "habitat"], body)
    succeed("classify", plots, world.layers, *CROSS, "--multiplier", 0.1, "-o", folder / "classes")
    sites = write_community(folder)
    words = ("--environment", "heat,rain", "--learner", "crf-l2")
    succeed("joint", sites, *words, "-o", folder / "joint")
    return {
        "species": fit.model,
        "classes": folder / "classes" / "habitat.npz",
        "joint": folder / "joint" / "joint.npz",
        "page": folder / "joint",
    }


def put(name: str, value: float):
    def change(_header, arrays) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name].flat[0] = value

    return change


def say(**fields):
    return lambda header, _arrays: header.update(fields)


def many(name: str):
    def change(_header, arrays) -> None:
        arrays[name] = np.zeros(5_000_000, dtype=arrays[name].dtype)

    return change


HARM = [
    ("species", put("terms_weight", np.nan)),
    ("species", put("terms_lo", 1e300)),
    ("species", say(tau=float("nan"))),
    ("species", many("shapes_tree_size")),
    ("classes", put("weights", np.nan)),
    ("classes", put("intercept", 1e300)),
    ("classes", put("terms_knot", np.inf)),
    ("classes", many("shapes_monomial_size")),
    ("joint", put("weights", np.inf)),
    ("joint", put("lo", np.nan)),
    ("joint", put("terms_hi", np.nan)),
    ("joint", put("mean", 1e300)),
    ("joint", put("terms_weight", np.nan)),
    ("joint", many("weights")),
]


@pytest.mark.parametrize(("kind", "change"), HARM)
def test_models_with_numbers_that_no_fit_writes(models, tmp_path: Path, kind, change) -> None:
    model = changed(models[kind], tmp_path / "model.npz", change)
    assert "or is damaged (ValueError): copy it, or fit again" in fail("info", model)


@pytest.mark.parametrize("kind", ["species", "classes", "joint"])
def test_headers_that_no_fit_writes(models, tmp_path: Path, kind) -> None:
    for meta in ({"gap": "wide"}, {"settings": 7}, {"species": {"a": [1]}, "gap": None}, {"structure": [1]}):

        def change(header, _arrays, meta=meta) -> None:
            header["meta"] |= meta

        result = sdm("info", changed(models[kind], tmp_path / "model.npz", change))
        assert "unexpected" not in result.output
        assert "Traceback" not in result.output
        assert result.exit_code == 0 or "or fit again" in result.stderr


def test_a_model_that_unpacks_to_a_lot(models, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    shutil.copy(models["species"], path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.npy", bytes(80 << 20))
    assert "unpacks to more than 64 MB" in fail("info", path)


def test_a_page_takes_no_files_from_elsewhere(models, tmp_path: Path) -> None:
    """A results folder from a stranger must not put the reader's own files into the page."""
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"secret")
    for name in (str(secret), "../secret.png"):
        folder = shutil.copytree(models["page"], tmp_path / "joint", dirs_exist_ok=True)
        numbers = json.loads((folder / "joint.json").read_text())
        numbers["files"]["network"] = name
        (folder / "joint.json").write_text(json.dumps(numbers))
        assert "is not a file of the results" in fail("report", folder)


# Options


def test_numbers_that_make_no_sense(world, fit, models, tmp_path: Path) -> None:
    sites = models["page"].parent / "sites.csv"
    words = ("joint", sites, "--environment", "heat,rain", "-o", tmp_path / "out")
    message = fail(*words, "--cost", "1e300", code=2)
    assert "--cost 1e300: 'cv' or a number of at most 1e+12" in message.replace("expected ", "")
    evaluate = ("evaluate", fit.model, "--presences", world.survey, "--layers", world.layers)
    result = sdm(*evaluate, "--seed", -1)
    assert result.exit_code == 2
    long = fail("fit", world.records, world.layers, "--seed", "7" * 5000, "-o", tmp_path / "out", code=2)
    assert len(long) < 300
    assert files(tmp_path) == []


# What is shown, and what is written


def test_a_name_does_not_command_the_terminal(world, tmp_path: Path) -> None:
    """Neither in results and notices nor in errors: a colour, a title, or a line that hides another."""
    evil = "red\x1b[31m \x9b2J\u202eeulb"
    text = world.records.read_text().replace(rows(world.records)[0]["species"], evil)
    (tmp_path / "records.csv").write_text(text, encoding="utf-8")
    result = succeed("fit", tmp_path / "records.csv", world.layers, *BARE, "-o", tmp_path / "out")
    assert "red\\x1b[31m \\x9b2J\\u202eeulb" in result.output
    error = fail(
        "fit", tmp_path / "records.csv", world.layers, "--species", "\x1b]0;x\x07", "-o", tmp_path / "o", code=2
    )
    assert "\\x1b]0;x\\x07" in error
    for said in (result.output, error):
        assert not any(character in said for character in "\x1b\x07\x9b\u202e")
    assert plain("tabs\tand\nlines, ü, 漢, 🦥") == "tabs\tand\nlines, ü, 漢, 🦥"


def test_a_name_is_no_formula_in_a_spreadsheet(world, tmp_path: Path) -> None:
    """Text that begins like one has an apostrophe before it, which a spreadsheet hides; pages show the name itself."""
    evil = '=HYPERLINK("http://x","y")'
    both = [[evil if k < 30 else "@other", r["longitude"], r["latitude"]] for k, r in enumerate(rows(world.records))]
    path = write_table(tmp_path / "records.csv", ["species", "longitude", "latitude"], both)
    succeed("fit", path, world.layers, *BARE, "-o", tmp_path / "out")
    assert [row["species"] for row in rows(tmp_path / "out" / "summary.csv")] == [f"'{evil}", "'@other"]
    for table in (tmp_path / "out").rglob("*.csv"):
        with table.open(newline="", encoding="utf-8") as source:
            cells = [cell for row in csv.reader(source) for cell in row]
        assert not any(cell[:1] in ("=", "@") for cell in cells), table
    page = (tmp_path / "out" / "index.html").read_text()
    assert "&#39;=HYPERLINK" not in page
    assert "=HYPERLINK" in page
    # The species come back as they were: an index is made again from the summary.
    succeed("report", tmp_path / "out")
    assert "=HYPERLINK" in (tmp_path / "out" / "index.html").read_text()


@pytest.mark.parametrize(
    "text", ["=1", "+a", "-a", "@a", "\ta", "'=1", "''-x", "plain", "-5.25", "+3e-4", "'quoted'", "", "'", "-inf"]
)
def test_quoting_is_undone(text: str) -> None:
    assert unquoted(quoted(text)) == text
    assert quoted(text)[:1] not in ("=", "@", "\t")
    assert quoted("-5.25") == "-5.25", "numbers stay numbers"


@pytest.mark.thorough
def test_a_closed_reader_of_a_long_run(world, tmp_path: Path) -> None:
    """`sdm fit … | head -0`: results are written all the same."""
    with start("fit", world.records, world.layers, *BARE, "-o", tmp_path / "out") as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.wait(timeout=120) == 141
    assert model_answer("info", next((tmp_path / "out").glob("*.npz")))["features"]
