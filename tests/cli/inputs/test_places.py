"""Records where they cannot be, longitudes of every convention, the date line, and files with several layers."""

from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import rasterio
from affine import Affine
from inputs.reading import inputs_of, options_of, refusal, same_tables
from shapely.geometry import Polygon, box
from terminal import BARE, PLAIN, as_json, fail, model_answer, rows, succeed, write_table

from sdm.errors import OptionError
from sdm.kinds.registry import task_of
from sdm.kinds.species.inputs import prepare_species
from sdm.options.reading import make_options
from sdm.run.checking import check_run

LEAN = (*BARE, *PLAIN)
HEAD = ("species", "longitude", "latitude")


def places(path: Path) -> list[tuple[str, float, float]]:
    return [(row["species"], float(row["longitude"]), float(row["latitude"])) for row in rows(path)]


def moved_layers(world, folder: Path, degrees: float) -> Path:
    """Write the layers some degrees farther east."""
    folder.mkdir()
    for path in world.layers.glob("*.tif"):
        with rasterio.open(path) as source:
            a = source.transform
            profile = {**source.profile, "transform": Affine(a.a, 0, a.c + degrees, 0, a.e, a.f)}
            with rasterio.open(folder / path.name, "w", **profile) as out:
                out.write(source.read())
    return folder


def turned(path: Path, target: Path, degrees: float) -> Path:
    """Write a table with longitudes some degrees farther east, from -180 to 180."""
    table = rows(path)
    for row in table:
        row["longitude"] = round((float(row["longitude"]) + degrees + 180) % 360 - 180, 6)
    return write_table(target, list(table[0]), [list(row.values()) for row in table])


# Suspicious coordinates


@pytest.fixture
def odd(world, tmp_path: Path) -> Path:
    """Records with one at whole degrees, one of equal coordinates (outside anyway), one at (0, 0), and one nowhere."""
    good = places(world.records)
    name = good[0][0]
    body = [*good, (name, -15, 40), (name, 0, 0), (name, -15.12345, -15.12345), (name, -15.12345, 95.5)]
    return write_table(tmp_path / "odd.csv", HEAD, body)


def test_suspicious_records_are_told_and_dropped_on_request(odd: Path, world, tmp_path: Path) -> None:
    told = inputs_of(odd, world.layers, *LEAN)
    line = (
        "3 records with suspicious coordinates: 1 at (0, 0), 1 with a latitude beyond ±90° or a longitude beyond "
        "±360°, dropped; 1 at whole degrees, not dropped: look at them, or use --drop-suspicious whole"
    )
    assert [text for text in told.notices if "suspicious" in text] == [line]
    counts = told.ledger.total()
    assert (counts["impossible"], counts["swapped"], counts["whole_degrees"]) == (1, 0, 0)
    assert line in check_run(options_of(odd, world.layers, *LEAN)).warnings
    dropped = model_answer("fit", odd, world.layers, *LEAN, "--drop-suspicious", "whole,sea", "-o", tmp_path / "b")
    assert dropped["records"]["whole_degrees"] == 1
    assert dropped["training_presences"] == counts["kept"] - 1
    assert any("1 at whole degrees, dropped" in text for text in dropped["notices"])
    fate = {row["row"]: row for row in rows(tmp_path / "b" / "records_fate.csv")}
    last = len(places(odd)) + 1
    assert [fate[str(last - k)]["flags"] for k in (3, 2, 1, 0)] == ["whole", "zero", "equal", "impossible"]
    assert (fate[str(last - 3)]["fate"], fate[str(last - 3)]["reason"]) == ("dropped", "at whole degrees")
    assert {row["flags"] for number, row in fate.items() if int(number) < last - 3} == {""}


def test_a_run_file_and_python_drop_them_too(odd: Path, world, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        f"occurrences: {{file: {odd}, drop_suspicious: all}}\n"
        f"layers: {{files: {world.layers}, categorical: landcover}}\n"
    )
    assert inputs_of(tmp_path / "run.yaml").ledger.total()["whole_degrees"] == 1
    options = make_options({"occurrences": str(odd), "layers": str(world.layers), "drop_suspicious": ["whole"]})
    ledger = prepare_species(options).ledger
    assert ledger is not None
    assert ledger.total()["whole_degrees"] == 1
    assert "drop_suspicious" in refusal(OptionError, odd, world.layers, "--drop-suspicious", "see")


def test_classes_communities_and_evaluations_drop_them(odd: Path, world, fit, tmp_path: Path) -> None:
    name, *_ = places(world.records)[0]
    survey = [(*place, k % 2, k % 3 // 2, k % 2) for k, place in enumerate(places(odd))]
    table = write_table(tmp_path / "sites.csv", (*HEAD, "kind", "owl", "fox"), survey)
    words = (table, world.layers, "--categorical", "landcover", "--drop-suspicious", "whole")
    for chosen in (("--class-column", "kind"), ("--kind", "community", "--species", "owl,fox")):
        notices = inputs_of(*words, *chosen).notices
        assert any("1 at whole degrees, dropped" in text for text in notices), chosen
        assert "1 at whole degrees, dropped" in succeed("check", *words, *chosen).output
    words = ("evaluate", fit.model, "--presences", odd, "--species", name, "--layers", world.layers)
    assert model_answer(*words, "--drop-suspicious", "all")["presences"] == model_answer(*words)["presences"] - 1


# Longitudes


def close(one, two) -> None:
    for key in ("training_presences", "background_points", "auc_train", "gain"):
        assert one[key] == pytest.approx(two[key], rel=1e-6), key


def test_every_file_comes_to_the_longitudes_of_the_layers(world, tmp_path: Path) -> None:
    """Layers of 0 … 360°, and records, background, tests, polygons and sites of -180 … 180°: nothing is lost."""
    layers = moved_layers(world, tmp_path / "layers", 360)
    points = [place for place in places(world.both) if place[0] != places(world.records)[0][0]]
    background = write_table(tmp_path / "background.csv", HEAD, points * 3)
    area = tmp_path / "area.gpkg"
    geopandas.GeoDataFrame(geometry=[box(-16.5, 38.2, -13.2, 41.9)], crs=4326).to_file(area)
    ways = ("--background-file", background, "--test", world.survey, "--study-area", area)
    words = ("fit", world.records, *LEAN, *ways)
    words = (*words, "--species", places(world.records)[0][0])
    one = model_answer(words[0], words[1], world.layers, *words[2:], "-o", tmp_path / "a")
    two = model_answer(words[0], words[1], layers, *words[2:], "-o", tmp_path / "b")
    close(one, two)
    for key in ("test_presences", "auc_test", "log_loss_test"):
        assert one[key] == pytest.approx(two[key], rel=1e-6), key
    shifted = "were shifted by 360° to the longitudes of the layers (343 … 347°)"
    assert any(f"of 60 records {shifted}" in text for text in two["notices"])
    assert any(f"background points {shifted}" in text for text in two["notices"])
    assert any(f"test records {shifted}" in text for text in two["notices"])
    assert any(f"of 1 polygons {shifted}" in text for text in two["notices"])
    assert not any("360°" in text for text in one["notices"])
    assert any(f"of 60 records {shifted}" in text for text in as_json("check", world.records, layers, *LEAN)["notices"])
    model = next((tmp_path / "a").glob("*.npz"))
    numbers = [
        model_answer("evaluate", model, "--presences", world.records, "--layers", place)["auc"]
        for place in (world.layers, layers)
    ]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.02), "the background is drawn anew"
    maps = [tmp_path / f"{k}.tif" for k in range(2)]
    for place, target in zip((world.layers, layers), maps):
        succeed("predict", model, place, "-o", target, "--study-area", area)
    with rasterio.open(maps[0]) as a, rasterio.open(maps[1]) as b:
        np.testing.assert_array_equal(a.read(1), b.read(1))


@pytest.mark.parametrize("kind", ["classes", "community"])
def test_points_and_sites_come_to_the_longitudes_of_the_layers(world, tmp_path: Path, kind: str) -> None:
    layers = moved_layers(world, tmp_path / "layers", 360)
    table = [(*place, k % 2, k % 3 // 2, k % 2) for k, place in enumerate(places(world.records))]
    sites = write_table(tmp_path / "sites.csv", (*HEAD, "kind", "owl", "fox"), table)
    chosen = {"classes": ("--class-column", "kind"), "community": ("--species", "owl,fox")}[kind]
    one, two = (inputs_of(sites, place, *chosen, "--kind", kind) for place in (world.layers, layers))
    assert not any("by 360°" in text for text in one.notices)
    brought = f"the longitudes of 60 {'points' if kind == 'classes' else 'sites'} were shifted by 360°"
    assert any(brought in text for text in two.notices)
    (a,), (b,) = (prepared.tables.values() for prepared in (one, two))
    if kind == "classes":
        np.testing.assert_array_equal(a.values, b.values)
    else:
        pd.testing.assert_frame_equal(a.environment, b.environment)


@pytest.mark.parametrize(
    "ways",
    [
        ("--study-area", "hull", "--buffer", 20),
        ("--study-area", "buffer", "--buffer", 40),
        ("--split", "block", "--block-size", 60, "--folds", 3),
        ("--split", "equal-blocks"),
        ("--split", "checkerboard", "--aggregation", 4),
        ("--split", "buffer", "--radius", 20),
        ("--thin-distance", 15),
        ("--study-area", "polygon"),
    ],
)
def test_a_study_across_the_date_line_is_that_of_anywhere(world, tmp_path: Path, ways: tuple) -> None:
    """The same world, once in the Atlantic and once from 178° to 182°, with records of -180 … 180°."""
    layers = moved_layers(world, tmp_path / "layers", 195)
    records = turned(world.records, tmp_path / "records.csv", 195)
    assert {row[1] > 0 for row in places(records)} == {True, False}
    found = []
    for place, file, east in ((world.layers, world.records, 0), (layers, records, 195)):
        words = list(ways)
        if "polygon" in words:
            corners = ((-16.4, 38.3), (-13.4, 38.6), (-13.6, 41.8), (-16.2, 41.1))
            shape = Polygon([((x + east + 180) % 360 - 180, y) for x, y in corners])
            words[-1] = tmp_path / str(east) / "area.gpkg"
            words[-1].parent.mkdir()
            geopandas.GeoDataFrame(geometry=[shape], crs=4326).to_file(words[-1])
        options = options_of(file, place, *LEAN, *words)
        prepared = inputs_of(file, place, *LEAN, *words)
        (name,) = prepared.tables
        found.append((prepared.ledger.total(), task_of(options).plan(prepared, name, options)))
    (counts, one), (others, two) = found
    if "--thin-distance" in ways:  # which of several records stays is by chance
        assert counts["kept"] == pytest.approx(others["kept"], abs=2)
        assert counts["thinned"] > 5
        return
    assert counts == others
    same_tables(one.table, two.table)
    assert (one.split is not None) == ("--split" in ways)
    if one.split is not None:
        for a, b in zip(one.split.folds, two.split.folds, strict=True):
            for part in ("train", "test", "background_train", "background_test"):
                np.testing.assert_array_equal(getattr(a, part), getattr(b, part))


# Layers of vector files


@pytest.fixture
def package(world, tmp_path: Path) -> Path:
    """A GeoPackage with the records, other records, a target group, a study area, and lines."""
    path = tmp_path / "study.gpkg"
    everyone = places(world.both)
    own = [place for place in everyone if place[0] == places(world.records)[0][0]]
    for layer, chosen in (("mine", own), ("tests", own[::3]), ("points", everyone), ("group", everyone)):
        names, x, y = zip(*chosen)
        frame = geopandas.GeoDataFrame({"species": names}, geometry=geopandas.points_from_xy(x, y), crs=4326)
        frame.to_file(path, layer=layer)
    for layer, shape in (("west", box(-17, 38, -14, 42)), ("east", box(-15.5, 38, -13, 42))):
        geopandas.GeoDataFrame(geometry=[shape], crs=4326).to_file(path, layer=layer)
    return path


def test_layers_of_a_geopackage_are_named(package: Path, world, tmp_path: Path) -> None:
    plain = model_answer("fit", world.records, world.layers, *LEAN, "-o", tmp_path / "a")
    named = model_answer("fit", f"{package}:mine", world.layers, *LEAN, "-o", tmp_path / "b")
    option = model_answer("fit", package, world.layers, *LEAN, "--layer", "mine", "-o", tmp_path / "c")
    for found in (named, option):
        close(plain, found)
    (tmp_path / "run.yaml").write_text(
        f"occurrences: {{file: study.gpkg:mine}}\nlayers: {{files: {world.layers}, categorical: landcover}}\n"
        "background: {file: study.gpkg:points, area: study.gpkg:west}\ntest: {file: study.gpkg:tests}\n"
        "output: {curves: false, map: false}\nfit: {features: lq}\n"
    )
    whole = model_answer("fit", tmp_path / "run.yaml", "-o", tmp_path / "d")
    assert 0 < whole["training_presences"] < plain["training_presences"], "the study area is the west"
    assert succeed("check", tmp_path / "run.yaml").exit_code == 0
    grouped = ("--background", "target-group", "--target-group", f"{package}:group")
    assert (
        model_answer("fit", f"{package}:mine", world.layers, *LEAN, *grouped, "-o", tmp_path / "e")[
            "training_presences"
        ]
        > 0
    )
    model = next((tmp_path / "a").glob("*.npz"))
    words = ("evaluate", model, "--presences", package, "--layers", world.layers)
    assert model_answer(*words, "--layer", "mine")["presences"] == 60
    target = tmp_path / "map.tif"
    succeed("predict", model, world.layers, "-o", target, "--study-area", f"{package}:east")


def test_a_layer_that_is_not_named(package: Path, world, tmp_path: Path) -> None:
    words = ("fit", package, world.layers, *LEAN, "-o", tmp_path / "out")
    problem = fail(*words)
    assert "has the layers mine (Point), tests (Point)" in problem
    assert "study.gpkg:mine (for the records also --layer mine)" in problem
    assert f"{problem} [E012]" in as_json_problems(*words[1:-2])
    assert "has no layer 'none': expected one of mine, tests" in fail(*words, "--layer", "none")
    assert "study.gpkg:west" in fail(*words, "--layer", "mine", "--study-area", package)
    assert "'one.csv' is a text table, which has no layers: remove 'x'" in fail(
        "fit", world.records, *words[2:], "--layer", "x", code=2
    )
    both = tmp_path / "both.gpkg"
    for layer in ("mine", "west"):
        geopandas.read_file(package, layer=layer).to_file(both, layer=layer)
    answer = model_answer("fit", both, world.layers, *LEAN, "--study-area", both, "-o", tmp_path / "out")
    assert "layer 'mine' of 'both.gpkg' is used, the only one with points (others: west)" in answer["notices"]
    assert "layer 'west' of 'both.gpkg' is used, the only one with polygons (others: mine)" in answer["notices"]


def as_json_problems(*words) -> list[str]:
    import json

    from terminal import sdm

    return json.loads(sdm("check", *words, "--json").stdout)["problems"]
