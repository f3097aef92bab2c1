"""The small commands: check, info, init, schema, simulate, version; and help."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from terminal import QUICK, as_json, change_raster, fail, files, model_answer, sdm, succeed, write_table

from sdm._version import __version__
from sdm.errors import DataError, OptionError
from sdm.options.reading import leaves, make_options, read_yaml, run_file_schema
from sdm.run.outcome import outcome_schema
from sdm_cli.options import OF_PROJECT

# Sections of options that belong to one command, and are in its help only.
OF_ONE = {"tune": "tune", "curve": "curve learning", "path": "path", "classes": "classify", "joint": "joint"}


def test_version() -> None:
    assert succeed("version").stdout == succeed("--version").stdout == f"sdm {__version__}\n"


def test_help_names_every_option_and_its_other_spellings(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    helps = {
        command: succeed(*command.split(), "--help-all").stdout for command in ("fit", "project", *OF_ONE.values())
    }
    for leaf in leaves():
        if leaf.dotted == "project.models":  # the words of the command
            continue
        text = helps["project" if leaf.dotted in OF_PROJECT else OF_ONE.get(leaf.section, "fit")]
        assert f"--{leaf.shown.replace('_', '-')}" in text
        for alias in leaf.aliases:
            assert alias.replace("_", "-") in text, alias
    assert "--feature-sets" not in helps["fit"]


@pytest.mark.parametrize(
    ("command", "words", "owner"),
    [
        ("fit", ("--multipliers", "1,2"), "tune"),
        ("tune", ("--sizes", "10"), "curve"),
        ("curve sensitivity", ("--feature-sets", "l"), "tune"),
        ("path", ("--strengths", "1"), "curve"),
        ("variables", ("--multipliers", "1"), "tune"),
        ("classify", ("--sizes", "10"), "curve"),
        ("joint", ("--multipliers", "1"), "tune"),
    ],
)
def test_an_option_of_another_study_is_refused(world, tmp_path: Path, command: str, words: tuple, owner: str) -> None:
    said = fail(*command.split(), world.records, world.layers, *words, "-o", tmp_path / "no", code=2)
    assert f"{words[0]} is an option of 'sdm {owner}', not of 'sdm {command}': remove it" in said
    assert not (tmp_path / "no").exists()


def test_a_run_file_may_have_the_options_of_several_studies(own, tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(
        f"occurrences: {{file: '{own.records}'}}\nlayers: {{files: '{own.layers}'}}\ntune: {{multipliers: [1, 2]}}\n"
        "fit: {features: l}\noutput: {map: false, report: false, curves: false}\n"
    )
    succeed("fit", file, "--no-importance", "-o", tmp_path / "out")
    assert "0 problems" in succeed("check", file, "--feature-sets", "l").stdout


def test_init_writes_a_file_that_runs_once_it_is_filled_in(own, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(own.folder)
    assert "run.yaml" in succeed("init").stdout
    assert make_options(read_yaml("run.yaml")) == make_options()
    assert "no output folder" in fail("fit", "run.yaml", code=2)
    text = Path("run.yaml").read_text()
    text = text.replace("file: null", "file: one.csv", 1).replace("files: []", "files: layers")
    text = text.replace("folder: null", "folder: results").replace("categorical: []", "categorical: [landcover]")
    Path("run.yaml").write_text(text.replace("features: auto", "features: lq").replace("curves: true", "curves: false"))
    succeed("fit", "run.yaml")
    assert (own.folder / "results" / "maxentResults.csv").exists()
    assert "--overwrite" in fail("init")
    succeed("init", "--overwrite")
    assert "cannot be written" in fail("init", own.folder / "none" / "run.yaml")


def test_schema_describes_the_example_files() -> None:
    printed = json.loads(succeed("schema").stdout)
    assert printed == run_file_schema()
    for path in (Path(__file__).parents[2] / "configs").glob("*.yaml"):
        for section, values in yaml.safe_load(path.read_text()).items():
            if isinstance(values, dict):
                home = f"{section.removesuffix('s').title()}Options"
                assert set(values) <= set(printed["$defs"][home]["properties"])


def test_examples_follow_the_schema_to_the_letter() -> None:
    validator = jsonschema.Draft202012Validator
    validator.check_schema(run_file_schema())
    for path in (Path(__file__).parents[2] / "configs").glob("*.yaml"):
        validator(run_file_schema()).validate(yaml.safe_load(path.read_text()))
    with pytest.raises(jsonschema.ValidationError):
        validator(run_file_schema()).validate({"fit": {"multiplyer": 2}})


def test_schema_of_answers() -> None:
    printed = json.loads(succeed("schema", "answer").stdout)
    assert printed == outcome_schema()
    jsonschema.Draft202012Validator.check_schema(printed)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"command": "fit", "species": []}, printed)
    assert "expected run or answer" in fail("schema", "answers", code=2)


def test_simulate_and_what_it_suggests(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = succeed("simulate", "demo", "--size", 40, "--layers", 3, "--records", 30, "--seed", 3).stdout
    command = said.split("now: sdm ")[1].split()
    succeed(*command, "--fc", "lq", "--no-curves")
    assert list((tmp_path / "demo" / "results").glob("*.tif"))
    again = as_json("simulate", "again", "--size", 40, "--layers", 3, "--records", 30, "--seed", 3)
    for path in map(Path, again["files"]):
        assert path.read_bytes() == (Path("demo") / path.relative_to("again")).read_bytes()


def test_simulate_species_that_share_axes(tmp_path: Path) -> None:
    words = ("--size", 40, "--layers", 4, "--species", 10, "--records", 9, "--shared-axes", 2)
    said = succeed("simulate", tmp_path / "kin", *words).stdout
    assert str(tmp_path / "kin" / "truth" / "axes.csv") in said
    again = as_json("simulate", tmp_path / "again", *words)
    made = {Path(path).relative_to(tmp_path / "again").as_posix() for path in again["files"]}
    assert {name for name in made if name.startswith("truth/")} == {
        "truth/axes.csv", "truth/species_axes.csv", "truth/axis_1.tif", "truth/axis_2.tif",
    }  # fmt: skip
    for name in made:
        assert (tmp_path / "kin" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--size", 5), "--size 5: expected"),
        (("--layers", 99), "--layers 99: expected"),
        (("--species", 0), "--species 0: expected"),
        (("--crs", "nonsense"), "nonsense"),
        (("--size", 40, "--records", 100000), "records"),
        (("--species", 9, "--shared-axes", 7), "--shared-axes 7: expected at most the 6 continuous layers"),
        (("--shared-axes", 2), "--shared-axes 2: there is 1 species"),
        (("--species", 9, "--shared-axes", 2, "--interaction"), "interaction"),
    ],
)
def test_simulate_says_what_makes_no_sense(tmp_path: Path, words, part) -> None:
    assert part in fail("simulate", tmp_path / "demo", *words, code=2)
    assert files(tmp_path) == []


def test_simulate_does_not_overwrite(tmp_path: Path) -> None:
    words = ("simulate", tmp_path, "--size", 40, "--layers", 3, "--records", 30)
    succeed(*words)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert "--overwrite" in fail(*words, "--seed", 9)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    succeed(*words, "--seed", 9, "--overwrite", "-q")
    assert (tmp_path / "occurrences.csv").read_bytes() != before[tmp_path / "occurrences.csv"]


def test_info_shows_where_a_model_came_from(fit) -> None:
    text = succeed("info", fit.model, "--features", 3).stdout
    for word in (
        fit.name.replace("_", " "),
        f"sdm {__version__}",
        "seed 1",
        "certificate",
        "landcover",
        "48 presences",
    ):
        assert word in text
    listed = text.split("features with non-zero weight")[1].strip().splitlines()
    assert len(listed) == 1 + 3 + 1
    found = model_answer("info", fit.model)
    assert found["meta"]["seed"] == 1
    assert found["meta"]["gap"] <= 1e-6
    assert len(found["features"]) > 3


def test_check_finds_nothing_wrong_and_writes_nothing(world, tmp_path: Path) -> None:
    words = ("check", world.both, world.layers, "--categorical", "landcover", "-o", tmp_path / "out")
    result = succeed(*words)
    assert "0 problems" in result.stdout
    assert "60 usable presences" in result.stdout
    assert files(tmp_path) == []
    found = as_json(*words)
    assert found["problems"] == []
    assert len([fact for fact in found["notices"] if "usable presences" in fact]) == 2


def test_check_suggests_that_a_layer_holds_classes(world) -> None:
    assert "use --categorical landcover" in succeed("check", world.both, world.layers).stdout


def test_check_lists_all_problems_at_once(own, tmp_path: Path) -> None:
    change_raster(own.layers / "elevation.tif", own.layers / "elevation.tif", lambda band: band * 0 + 3)
    (own.folder / "warmer" / "elevation.tif").unlink()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("old")
    records = write_table(
        tmp_path / "records.csv", ["species", "lon", "lat"], [("far", 100, 0), ("far", 101, 0), ("empty", None, None)]
    )
    words = ("check", records, own.layers, "-o", tmp_path / "out", "--projections", own.folder / "warmer")
    words = (*words, "--study-area", tmp_path / "none.gpkg", "--background-file", tmp_path / "none.csv")
    result = sdm(*words, "--species", "far", "--species", "empty", "--species", "unknown")
    assert result.exit_code == 1
    problems = [line for line in result.stdout.splitlines() if line.startswith("problem")]
    for part in (
        *("contains files already", "scenario warmer: layer 'elevation'", "far: none of 2 records can be used"),
        *("species 'unknown'", "empty: none of 1 records", "none.gpkg' does not exist", "none.csv' does not exist"),
    ):
        assert sum(part in line for line in problems) == 1, (part, problems)
    assert "'elevation' has one value everywhere" in result.stdout
    quiet = sdm(*words, "-q")
    assert quiet.stdout == ""
    assert quiet.stderr.count("error: ") == len(problems) - 1
    assert files(tmp_path / "out") == ["old.txt"]


def test_check_sees_what_fit_would_only_meet_in_the_middle(own, tmp_path: Path) -> None:
    """A damaged layer, and options that no fit can use."""
    path = own.layers / "elevation.tif"
    path.write_bytes(path.read_bytes()[:1500])
    result = sdm("check", own.records, own.layers, *QUICK)
    assert result.exit_code == 1
    assert "'elevation.tif' cannot be" in result.stdout
    assert "not a feature class" in fail("check", own.records, own.layers, "--fc", "xyz", code=2)
    assert "no occurrence file" in sdm("check", "--seed", 2).stdout


def test_check_reads_run_files_and_tables(own) -> None:
    (own.folder / "run.yaml").write_text("occurrences: one.csv\nlayers: layers\n")
    assert succeed("check", own.folder / "run.yaml").exit_code == 0
    body = [("sp", 1.0 * k) for k in range(4)] + [("background", 0.5 * k) for k in range(30)]
    table = write_table(own.folder / "swd.csv", ["species", "warmth"], body)
    assert "only 4 usable presences" in succeed("check", table).stdout


def test_debug_shows_where(world, tmp_path: Path) -> None:
    words = ("fit", tmp_path / "none.csv", world.layers, "-o", tmp_path / "out")
    result = sdm(*words, "--debug")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: ")
    answer = json.loads(sdm(*words, "--json").stdout)
    jsonschema.validate(answer, outcome_schema())
    assert (answer["command"], answer["error"], answer["models"]) == ("fit", fail(*words), [])


@pytest.mark.parametrize(
    ("problem", "part"),
    [
        (PermissionError(13, "Permission denied", "records.csv"), "records.csv: Permission denied"),
        (MemoryError(), "not enough memory"),
        (RuntimeError("can't start new thread"), "not enough memory"),
        (ImportError("_algos.so: failed to map segment from shared object"), "not enough memory"),
        (OSError(12, "Cannot allocate memory"), "not enough memory"),
        (OSError(24, "Too many open files", "a.tif"), "too many open files: raise the limit"),
        (ZeroDivisionError("no"), "unexpected ZeroDivisionError: no (this is a bug in sdm; --debug shows where)"),
    ],
)
def test_whatever_happens_is_one_line(monkeypatch, problem, part) -> None:
    def broken(*_, **__) -> None:
        raise problem

    monkeypatch.setattr("sdm.run.run.run", broken)
    result = sdm("fit", "a.csv", "b")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {part}")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    assert "Traceback" in sdm("fit", "a.csv", "b", "--debug").stderr
    assert json.loads(sdm("fit", "a.csv", "b", "--json").stdout)["error"].startswith(part[:20])


@pytest.mark.parametrize("kind", [DataError, OptionError, OSError])
def test_a_shortage_is_the_reason_whatever_was_raised_after_it(monkeypatch, kind) -> None:
    """A library that does not fit into memory is reported as missing by the package that loads it."""

    def broken(*_, **__) -> None:
        try:
            raise OSError("libllvmlite.so: failed to map segment from shared object")
        except OSError:
            raise kind("could not load libllvmlite.so")  # noqa: B904 - as llvmlite does

    monkeypatch.setattr("sdm.run.run.run", broken)
    assert fail("fit", "a.csv", "b").startswith("not enough memory")


def test_a_long_error_is_cut(monkeypatch) -> None:
    def broken(*_, **__) -> None:
        raise DataError(", ".join(["name"] * 10_000))

    monkeypatch.setattr("sdm.run.run.run", broken)
    assert fail("fit", "a.csv", "b").endswith("… (59,998 characters)")
    assert len(fail("fit", "a.csv", "b")) < 2_100


def test_verbose_says_how_long_things_took(world, tmp_path: Path) -> None:
    result = succeed("fit", world.records, world.layers, *QUICK, "--no-map", "-o", tmp_path / "out", "-v")
    assert "read in" in result.stderr
    assert "fitted and measured in" in result.stderr
