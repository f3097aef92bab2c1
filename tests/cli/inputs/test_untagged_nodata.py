"""A number such as −9999 that no file calls nodata stops every command, with the option to type."""

import csv
from pathlib import Path

import numpy as np
import pytest
import rasterio
from affine import Affine
from inputs.reading import options_of, refusal, same_tables, scenarios_of, table_of
from terminal import BARE, PLAIN, as_json, fail, model_answer, rows, sdm, succeed

from sdm.data.rasters.examine import examine
from sdm.data.rasters.layers import open_stack
from sdm.errors import DataError
from sdm.options.reading import dump_yaml
from sdm.run.checking import check_run


def untag(folder: Path, code: float = -9999, *names: str, dtype: str = "float32") -> Path:
    """Write the layers of a folder (or some) anew, with a code for missing cells, and no tag that says so."""
    for file in sorted(folder.glob("*.tif")):
        if names and file.stem not in names:
            continue
        with rasterio.open(file) as data:
            profile, values, gone = data.profile, data.read(1).astype(np.float64), data.read_masks(1) == 0
        values[gone] = code
        own = {"dtype": dtype, "nodata": None, "count": 1, "predictor": 1}
        with rasterio.open(file, "w", **{**profile, **own}) as out:
            out.write(values.astype(dtype), 1)
    return folder


TWO = ("--feature-sets", "l", "--multipliers", "1,2", "--folds", "2")
POINT = ("--sets", "l:1", "--sizes", "40", "--partitions", "2")
LEAN = ("--features", "l", "--no-map", "--no-report")
COMMANDS = {
    "fit": ("fit", "{records}", "{layers}", *BARE, "-o", "{out}"),
    "fit to your own background": ("fit", "{records}", "{layers}", *BARE, "--background-file", "{both}", "-o", "{out}"),
    "classify": ("fit", "{survey}", "{layers}", "--response", "presence", *LEAN, "--rm", "1", "-o", "{out}"),
    "tune": ("tune", "{records}", "{layers}", *BARE, *TWO, "-o", "{out}"),
    "curve": ("curve", "learning", "{records}", "{layers}", *POINT, "-o", "{out}"),
    "path": ("path", "{records}", "{layers}", *BARE, "-o", "{out}"),
    "joint": ("joint", "{survey}", "{layers}", *LEAN, "--cost", "1", "-o", "{out}"),
    "predict": ("predict", "{model}", "{layers}", "-o", "{out}.tif"),
    "evaluate": ("evaluate", "{model}", "--presences", "{records}", "--layers", "{layers}"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_stops(command: str, own, fit, tmp_path: Path) -> None:
    layers = untag(own.layers, -9999, "elevation")
    places = {"records": own.records, "both": own.both, "survey": own.survey, "layers": layers}
    places |= {"model": fit.model, "out": tmp_path / "out"}
    words = [word.format(**places) for word in COMMANDS[command]]
    said = fail(*words)
    assert said.startswith("layer 'elevation' has the value -9999 in ")
    assert "% of its cells (" in said
    assert said.endswith("use --nodata -9999 to treat it as missing, or --nodata none if it is valid")
    assert not (tmp_path / "out").exists()
    succeed(*words, "--nodata", "-9999")


def test_check_lists_it_among_the_other_problems(own) -> None:
    untag(own.layers, -9999)
    result = sdm("check", own.records, own.layers, "--snap", 1, "--species", "Nobody")
    problems = [line for line in result.stdout.splitlines() if line.startswith("problem")]
    assert result.exit_code == 1
    assert sum("so have 4 others" in line and "--nodata -9999" in line for line in problems) == 1
    assert any("'Nobody'" in line for line in problems)
    assert as_json("check", own.records, own.layers, "--nodata", "-9999")["problems"] == []


def test_the_code_named_gives_the_table_of_tagged_layers(own, world, tmp_path: Path) -> None:
    """An option and a tag are the same, also where the option is in a run file."""
    untag(own.layers, -9999)
    tagged = table_of(world.records, world.layers, *BARE)
    options = options_of(own.records, own.layers, *BARE, "--nodata", "-9999,landcover=255")
    (tmp_path / "run.yaml").write_text(dump_yaml(options))
    assert "landcover=255" in (tmp_path / "run.yaml").read_text()
    same_tables(table_of(own.records, own.layers, *BARE, "--nodata", "-9999,landcover=255"), tagged)
    same_tables(table_of(tmp_path / "run.yaml"), tagged)


def test_trusting_the_files_takes_the_number_as_it_is(own, tmp_path: Path) -> None:
    untag(own.layers, -9999)
    answer = model_answer("fit", own.records, own.layers, *BARE, *PLAIN, "--nodata", "none", "-o", tmp_path / "out")
    everywhere = check_run(options_of(own.records, own.layers, "--nodata", "none")).facts
    assert any(text.startswith("2,304 of 2,304 cells") for text in everywhere)
    assert answer["status"] == "converged"


def test_a_byte_layer_with_255_names_its_layer(own) -> None:
    """255 may be a true value of other layers, so the option names the one that it is for."""
    untag(own.layers, 255, "landcover", dtype="uint8")
    said = refusal(DataError, own.records, own.layers, *BARE)
    assert "layer 'landcover' has the value 255" in said
    assert "--nodata landcover=255 to treat it as missing" in said
    assert table_of(own.records, own.layers, *BARE, "--nodata", "landcover=255").n_presences == 60


def test_a_projection_is_looked_at_too(own) -> None:
    untag(own.folder / "warmer", -9999, "temperature")
    with pytest.raises(DataError, match=r"^scenario warmer: layer 'temperature' has the value -9999"):
        scenarios_of(own.records, own.layers, *BARE, "--projections", own.folder / "warmer")


def large(path: Path, holes: np.ndarray, **profile) -> Path:
    """Write a raster of 1200 × 1200 cells with −9999 in some."""
    values = np.add.outer(np.arange(1200.0), np.arange(1200.0)).astype("float32")
    values[holes] = -9999
    size = {"width": 1200, "height": 1200, "count": 1, "dtype": "float32", "crs": "EPSG:3035"}
    place = {"transform": Affine(100, 0, 4e6, 0, -100, 3e6)}
    with rasterio.open(path, "w", driver="GTiff", **size, **place, **profile) as out:
        out.write(values, 1)
    return path


@pytest.mark.parametrize("profile", [{}, {"tiled": True, "blockxsize": 256, "blockysize": 256, "compress": "deflate"}])
def test_a_hole_between_the_blocks_of_the_first_look_is_found_by_the_scan(tmp_path: Path, profile) -> None:
    """The first look at a large raster is a few blocks; the run reads the rest anyway, and looks there too."""
    holes = np.zeros((1200, 1200), dtype=bool)
    holes[700:703, 300:304] = True
    file = large(tmp_path / "heat.tif", holes, **profile)
    records = tmp_path / "records.csv"
    spots = [(4e6 + 100 * k * 37 % 120_000, 2.9e6 + 50 * k) for k in range(40)]
    records.write_text("species,x,y\n" + "".join(f"owl,{x},{y}\n" for x, y in spots))
    if profile:
        assert examine(open_stack(file)).untagged == ()
    said = refusal(DataError, records, file, *BARE[:3], "--no-map", "--crs", "EPSG:3035")
    assert "layer 'heat' has the value -9999 in" in said
    assert ("(12 of 1,440,000)" if profile else "(12 of 532,800 in a sample)") in said
    corner = np.zeros((1200, 1200), dtype=bool)
    corner[:40, :900] = True
    file = large(tmp_path / "heat.tif", corner, **profile)
    (found,) = examine(open_stack(file)).untagged
    assert (found.variable, found.code) == ("heat", -9999)


@pytest.mark.parametrize("folder", ["phillips2006/layers", "phillips2006/layers_0.25deg", "grassland/*"])
def test_no_real_layer_is_refused_but_each_without_its_tag(shared: Path, folder: str, tmp_path: Path) -> None:
    files = sorted((shared / "data").glob(f"{folder}/*.tif"))
    assert examine(open_stack(files)).untagged == ()
    for file in files:
        target = tmp_path / file.name
        target.write_bytes(file.read_bytes())
        with rasterio.open(target, "r+") as data:
            data.nodata = None
    found = examine(open_stack(tmp_path)).untagged
    assert {one.variable: one.code for one in found} == {file.stem: -9999 for file in files}


def swd(path: Path, own, tmp_path: Path) -> list[dict[str, str]]:
    """Write a table of samples of the world's first species and its background; return its rows."""
    stack = open_stack(own.layers)
    at = [(row["longitude"], row["latitude"], row["species"]) for row in rows(own.records)]
    x, y = stack.xy(*np.divmod(np.arange(0, stack.n_cells, 3), stack.width))
    at += [(str(a), str(b), "background") for a, b in zip(x, y)]
    values = stack.sample(*stack.rowcol([float(a) for a, _, _ in at], [float(b) for _, b, _ in at]))
    table = [
        {"species": name, "longitude": a, "latitude": b, **dict(zip(stack.names, map(str, row)))}
        for (a, b, name), row in zip(at, values.tolist())
        if not np.isnan(row).any()
    ]
    write(path, table)
    return table


def write(path: Path, table: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, table[0])
        out.writeheader()
        out.writerows(table)


def test_tables_of_samples(own, tmp_path: Path) -> None:
    """A table is refused as layers are, --nodata leaves its rows out with a count, and they change the table."""
    table = swd(tmp_path / "swd.csv", own, tmp_path)
    good = table_of(tmp_path / "swd.csv", *BARE)
    for row in table[60:72]:
        row["elevation"] = "-9999"
    write(tmp_path / "swd.csv", table)
    said = fail("fit", tmp_path / "swd.csv", *BARE, "-o", tmp_path / "bad")
    assert "file 'swd.csv': column 'elevation' has the value -9999 in" in said
    assert f"(12 of {len(table)})" in said
    assert "use --nodata -9999 to treat it as missing, or --nodata none" in said
    words = (tmp_path / "swd.csv", *BARE, "--nodata", "-9999")
    named = model_answer("fit", *words, *PLAIN, "-o", tmp_path / "named")
    assert "column 'elevation': 12 values of -9999 are missing values (--nodata)" in named["notices"]
    assert "12 rows without a value for every variable dropped" in named["notes"]
    kept = [row for k, row in enumerate(table) if not 60 <= k < 72]
    write(tmp_path / "kept.csv", kept)
    without, trusted = table_of(*words), table_of(*words[:-1], "none")
    for part in ("presence", "background"):
        np.testing.assert_array_equal(getattr(without, part), getattr(table_of(tmp_path / "kept.csv", *BARE), part))
    rows_of = [one.n_presences + one.n_background for one in (without, trusted, good)]
    assert rows_of == [len(table) - 12, len(table), len(table)]
    assert [one.background.min() == -9999 for one in (without, trusted, good)] == [False, True, False]
    answer = sdm("check", tmp_path / "swd.csv", "--categorical", "landcover")
    assert answer.exit_code == 1
    assert "-9999" in answer.stdout
    model = tmp_path / "named" / next(file.name for file in (tmp_path / "named").glob("*.npz"))
    assert "column 'elevation' has the value -9999" in fail("evaluate", model, "--presences", tmp_path / "swd.csv")
    succeed("evaluate", model, "--presences", tmp_path / "swd.csv", "--nodata", "-9999")


def test_tables_of_classes_and_of_communities(own, tmp_path: Path) -> None:
    g = np.random.default_rng(3)
    table = [
        {"habitat": g.choice(["bog", "heath"]), "owl": g.integers(2), "hawk": g.integers(2), "rain": g.normal(900, 100)}
        | {"heat": -9999 if k % 10 == 0 else g.normal(12, 3)}
        for k in range(120)
    ]
    write(tmp_path / "plots.csv", table)
    wanted = ("--exclude", "owl,hawk", "--features", "l", "--multiplier", "1", "--no-curves", *PLAIN, "-o")
    words = ("classify", tmp_path / "plots.csv", "--class-column", "habitat", *wanted)
    assert "column 'heat' has the value -9999 in 10 % of its rows (12 of 120)" in fail(*words, tmp_path / "a")
    answer = model_answer(*words, tmp_path / "a", "--nodata", "-9999")
    assert answer["sites"] == 108
    assert answer["variables"] == ["rain", "heat"]
    said = fail("evaluate", tmp_path / "a" / "habitat.npz", "--sites", tmp_path / "plots.csv")
    assert "column 'heat' has the value -9999" in said
    succeed("evaluate", tmp_path / "a" / "habitat.npz", "--sites", tmp_path / "plots.csv", "--nodata", "-9999")
    sites = [{k: v for k, v in row.items() if k != "habitat"} for row in table]
    write(tmp_path / "sites.csv", sites)
    words = ("joint", tmp_path / "sites.csv", "--cost", "1", "-o", tmp_path / "b")
    assert "column 'heat' has the value -9999" in fail(*words)
    answer = model_answer(*words, "--nodata", "-9999")
    assert answer["sites"] == 108
    said = fail("evaluate", tmp_path / "b" / "joint.npz", "--sites", tmp_path / "sites.csv")
    assert "column 'heat' has the value -9999" in said
    succeed("evaluate", tmp_path / "b" / "joint.npz", "--sites", tmp_path / "sites.csv", "--nodata", "-9999")
