"""`sdm path`: every multiplier, strata, what is written, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
import yaml
from terminal import PLAIN, as_json, change_raster, fail, files, picture, read, rows, sdm, succeed, write_table

from sdm._version import __version__
from sdm.models.file import load_model

QUICK = ("--fc", "lq", "--no-curves", "--epsilon", "0.02", "--smallest", "0.3", "--categorical", "landcover")
LEAN = ("--no-report", "--dpi", "50")  # where nobody looks at pages and pictures
OF_FIT = ("_path.csv", "_path.png", "_coefficients.csv", ".npz", ".tif", ".json", ".png", "_samplePredictions.csv")
OF_STRATA = (
    ".html", ".json", ".png", ".tif", "_breakpoints.csv", "_mu.png", "_shares.png", "_strata.csv", "_validation.csv",
    "_validation.png", "_preview.png",
)  # fmt: skip


def name_of(world) -> str:
    return rows(world.records)[0]["species"].replace(" ", "_")


@pytest.fixture(scope="module")
def multipliers(world, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("path") / "out"
    said = succeed("path", world.records, world.layers, *QUICK, "--dpi", 50, "-o", folder).stdout
    assert "nats along the path" in said
    assert "(fitted)" in said
    return folder


@pytest.fixture(scope="module")
def strata(world, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("strata") / "out"
    said = succeed("path", world.records, "--strata", world.layers / "landcover.tif", "--dpi", 50, "-o", folder).stdout
    assert "(mapped)" in said
    assert "prior by area" in said
    return folder


def test_a_path_over_multipliers_leaves_a_fit_and_the_path(world, multipliers) -> None:
    name = name_of(world)
    there = files(multipliers)
    assert {f"{name}{ending}" for ending in OF_FIT} <= set(there)
    numbers = json.loads((multipliers / f"{name}.json").read_text())
    assert numbers["files"]["path"] == f"{name}_path.csv"
    table = rows(multipliers / f"{name}_path.csv")
    (best,) = [row for row in table if "best" in row["choice"]]
    losses = [float(row["held-out loss"]) for row in table]
    assert float(best["held-out loss"]) == min(losses)
    assert numbers["path"]["multiplier"] == pytest.approx(float(best["multiplier"]), rel=1e-9)
    assert numbers["regularized_gain"] == pytest.approx(float(best["regularized gain"]), abs=0.02)
    assert numbers["status"] == "converged"
    model = load_model(multipliers / f"{name}.npz")
    assert model.meta["settings"]["multiplier"] == numbers["path"]["multiplier"]
    assert np.ptp(picture(multipliers / f"{name}_path.png")) > 200


def test_the_run_file_of_a_path_repeats_its_fit(world, multipliers, tmp_path: Path) -> None:
    succeed("fit", multipliers / "run.yaml", "--no-map", *PLAIN, "-o", tmp_path / "again")
    name = name_of(world)
    assert (tmp_path / "again" / f"{name}.npz").read_bytes() == (multipliers / f"{name}.npz").read_bytes()


@pytest.mark.thorough
def test_one_standard_error_is_a_stronger_regularisation(world, multipliers, tmp_path: Path) -> None:
    words = (*QUICK, *LEAN, "--choice", "one_se", "--no-map")
    found = as_json("path", world.records, world.layers, *words, "-o", tmp_path / "out")
    path = found["models"][0]["numbers"]["path"]
    assert path["multiplier"] == path["one_se"]["multiplier"] >= path["best"]["multiplier"]
    first = json.loads((multipliers / f"{name_of(world)}.json").read_text())["path"]
    assert path["best"] == first["best"]


def test_a_path_over_strata_leaves_tables_pictures_and_a_map(world, strata) -> None:
    name = name_of(world)
    expected = [*(f"{name}{ending}" for ending in OF_STRATA), "command.txt", "run.yaml"]
    expected += ["records.csv", "records_fate.csv", f"{name}.qml", f"{name}.sld"]
    assert files(strata) == sorted(expected)
    numbers = json.loads((strata / f"{name}.json").read_text())
    assert numbers["version"] == __version__
    assert f"sdm {__version__}" in (strata / f"{name}.html").read_text(encoding="utf-8")
    table = rows(strata / f"{name}_strata.csv")
    assert sum(float(row["probability"]) for row in table) == pytest.approx(1, abs=1e-8)
    assert sum(float(row["records"]) for row in table) == numbers["records"]["kept"]
    losses = [float(row["held-out loss"]) for row in rows(strata / f"{name}_validation.csv") if row["held-out loss"]]
    assert numbers["strata"]["best"]["held_out_loss"] <= min(losses) + 1e-9
    cover, density = read(world.layers / "landcover.tif"), read(strata / f"{name}.tif")
    for row in table:
        here = density[(cover == int(row["stratum"])).filled(False)].compressed()
        assert here == pytest.approx(np.full(int(row["cells"]), float(row["density"])), rel=1e-5)
    for ending in ("_mu.png", "_shares.png", "_validation.png", ".png"):
        assert np.ptp(picture(strata / f"{name}{ending}")) > 200


def test_the_run_file_of_strata_repeats_them_byte_for_byte(world, strata, tmp_path: Path) -> None:
    succeed("path", strata / "run.yaml", "-o", tmp_path / "again")
    for name in files(strata):
        if name not in ("command.txt", "run.yaml") and not name.endswith(".html"):  # which say where they were written
            assert (tmp_path / "again" / name).read_bytes() == (strata / name).read_bytes(), name


@pytest.mark.thorough
def test_strata_are_named_in_a_run_file_as_in_the_terminal(own, tmp_path: Path, monkeypatch) -> None:
    """A layer by its name, a file beside the run file, and squares, from another folder."""
    results = {}
    for key, value in {"name": "landcover", "file": "layers/landcover.tif", "squares": "grid:80km"}.items():
        text = {"occurrences": "one.csv", "path": {"strata": value, "choice": "one_se"}, "output": f"{key}"}
        if key != "file":
            text["layers"] = "layers/landcover.tif"
        (own.folder / "run.yaml").write_text(yaml.safe_dump(text))
        monkeypatch.chdir(tmp_path)
        found = as_json("path", own.folder / "run.yaml", "--no-map", *LEAN)
        results[key] = found["models"][0]["numbers"]["strata"]
    assert results["name"] == results["file"]
    assert results["squares"]["of"] == "squares of 80 km"
    assert results["name"]["choice"] == "one_se"


@pytest.mark.thorough
def test_several_species_have_a_folder_each(world, tmp_path: Path) -> None:
    """One that cannot be followed does not stop the other."""
    records = rows(world.both)
    few = [list(row.values()) for row in records[:60]] + [["Rara avis", *list(records[0].values())[1:]]]
    table = write_table(tmp_path / "records.csv", list(records[0]), few)
    found = as_json_of_failing("path", table, world.layers, "--strata", "landcover", *LEAN, "-o", tmp_path / "out")
    good, bad = found["models"]
    assert good["error"] is None
    assert "one usable presence" in bad["error"]
    summary = rows(tmp_path / "out" / "summary.csv")
    assert [row["status"] for row in summary] == ["exact", "failed"]
    assert (tmp_path / "out" / name_of(world) / f"{name_of(world)}.tif").exists()


def as_json_of_failing(*words) -> dict:
    result = sdm(*words, "--json")
    assert result.exit_code == 1
    return json.loads(result.stdout)


@pytest.mark.thorough
def test_spatial_folds_choose_too(world, tmp_path: Path) -> None:
    words = ("--split", "block", "--block-size", 40, "--folds", 3, "--no-map", *LEAN)
    for k, kind in enumerate((("--strata", "grid:30km"), QUICK)):
        found = as_json("path", world.records, world.layers, *kind, *words, "-o", tmp_path / str(k))
        numbers = found["models"][0]["numbers"]
        said = numbers.get("path") or numbers["strata"]
        assert (said["method"], said["folds"]) == ("block", 3)


def test_options_of_the_model_that_strata_do_not_use_are_named(world, tmp_path: Path) -> None:
    words = ("--strata", "landcover", "--rm", 3, "--no-map", *LEAN)
    found = as_json("path", world.records, world.layers, *words, "-o", tmp_path / "out")
    assert any("--multiplier not used" in notice for notice in found["notices"])


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--epsilon", "0"), 2, "--epsilon 0: expected a number above 0"),
        (("--epsilon", "-1"), 2, "--epsilon -1: expected"),
        (("--smallest", "0"), 2, "--smallest 0: expected a number above 0"),
        (("--smallest", "1e6"), 1, "empty down to a multiplier of"),
        (("--choice", "worst"), 2, "--choice worst"),
        (("--regularization", "l2"), 2, "sdm tune"),
        (("--model", "committee"), 2, "l1 penalty, not a committee model"),
        (("--kind", "classes"), 2, "--kind classes does not apply to a model of one species"),
        (("--strata", "temperature"), 1, "expected codes of classes"),
        (("--strata", "landcovers"), 2, "landcover"),
        (("--strata", "grid:50"), 2, "grid:50km"),
        (("--strata", "grid:5000km"), 1, "a single stratum"),
        (("--strata", "landcover", "--validation-background", "partition", "--split", "equal-blocks"), 2, "partition"),
        (("--strata", "landcover", "--test-percent", "20"), 2, "does not apply to strata: use --folds"),
        (("--strata", "landcover", "--background", "target-group"), 2, "use --bias target-group as the prior"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_one_sentence(world, tmp_path: Path, words, code, text) -> None:
    base = ("--fc", "lq", "--no-curves")
    said = fail("path", world.records, world.layers, *base, *words, "-o", tmp_path / "out", code=code)
    assert text in said
    assert not files(tmp_path / "out")


def test_strata_need_a_layer(world, tmp_path: Path) -> None:
    assert "needs the cells of a layer" in fail(
        "path", world.records, "--strata", "grid:50km", "-o", tmp_path / "out", code=2
    )
    said = fail("path", world.records, "--strata", tmp_path / "nowhere.tif", "-o", tmp_path / "out", code=2)
    assert "is not a file" in said


def test_records_that_lie_in_no_stratum_are_counted(world, tmp_path: Path) -> None:
    """A layer of classes without data where the species was found."""
    with rasterio.open(world.layers / "landcover.tif") as source:
        cells = [source.index(float(row["longitude"]), float(row["latitude"])) for row in rows(world.records)]

    def spare(band: np.ndarray) -> np.ndarray:
        band[tuple(np.transpose(cells))] = 255
        return band

    soil = change_raster(world.layers / "landcover.tif", tmp_path / "soil.tif", spare, nodata=255)
    said = fail("path", world.records, "--strata", soil, "-o", tmp_path / "out")
    assert "none of 60 records can be used (60 on nodata)" in said


def test_help_teaches_by_example_and_names_its_own_options(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = succeed("path", "--help").stdout
    assert "sdm path" in text.split("Examples")[1]
    for word in ("--strata", "--epsilon", "--smallest", "--choice", "--folds", "--bias"):
        assert word in text
