"""`sdm curve`: learning and sensitivity curves from the terminal, a run file and Python."""

from pathlib import Path

import pytest
import yaml
from inputs.reading import options_of
from terminal import as_json, fail, files, picture, rows, sdm, succeed

from sdm.errors import DataError, OptionError
from sdm.options.reading import make_options
from sdm.run.studies.curves import run_curve, sets

POINTS = ("--categorical", "landcover", "--background-points", 300, "--partitions", 3)


def test_a_learning_curve_falls(world, tmp_path: Path) -> None:
    words = ("--sets", "l:0.1,lq:0.1", "--sizes", "4,12,40")
    result = succeed("curve", "learning", world.records, world.layers, *POINTS, *words, "-o", tmp_path / "out")
    assert "L " in result.stdout
    assert "least loss" in result.stdout
    table = rows(tmp_path / "out" / "Virtualis_montanus_learning.csv")
    assert [(row["label"], row["presences"]) for row in table] == [
        (label, size) for label in ("L", "LQ") for size in ("4", "12", "40")
    ]
    for label in ("L", "LQ"):
        loss = [float(row["loss"]) for row in table if row["label"] == label]
        assert loss[0] > loss[-1], "more records, less loss"
    assert {row["partitions"] for row in table} == {"3"}
    assert picture(tmp_path / "out" / "Virtualis_montanus_learning.png").std() > 5


def test_a_sensitivity_curve_of_several_sizes(world, tmp_path: Path) -> None:
    words = ("--sets", "lq", "--strengths", "10,0.01,1", "--sizes", "10,42")
    found = as_json("curve", "sensitivity", world.records, world.layers, *POINTS, *words, "-o", tmp_path / "out")
    (curve,) = found["models"]
    assert (curve["name"], curve["kind"], curve["error"]) == ("Virtualis montanus", "sensitivity", None)
    points = curve["numbers"]["points"]
    assert [(p["presences"], p["multiplier"]) for p in points] == [
        (size, strength) for size in (10, 42) for strength in (0.01, 1.0, 10.0)
    ]
    uniform = max(p["loss"] for p in points)
    assert min(p["loss"] for p in points) < uniform - 0.05
    assert curve["files"] == {end: f"Virtualis_montanus_sensitivity.{end}" for end in ("csv", "png")}
    table = rows(tmp_path / "out" / "Virtualis_montanus_sensitivity.csv")
    assert [float(row["loss"]) for row in table] == pytest.approx([p["loss"] for p in points])


@pytest.mark.thorough
def test_terminal_run_file_and_python_are_one_on_any_number_of_processes(world, tmp_path: Path) -> None:
    source = {
        "occurrences": {"file": str(world.both)},
        "layers": {"files": str(world.layers), "categorical": "landcover"},
        "background": {"points": 300},
        "curve": {"sets": ["l:0.1", "t:1"], "sizes": [8, 30], "partitions": 2, "held_out": 25},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(source))
    succeed("curve", "learning", tmp_path / "run.yaml", "-o", tmp_path / "yaml", "--processes", 2)
    words = ("--sets", "l:0.1", "--sets", "t:1", "--sizes", "8,30", "--partitions", 2, "--held-out", 25)
    more = ("--categorical", "landcover", "--background-points", 300, "-o", tmp_path / "words")
    succeed("curve", "learning", world.both, world.layers, *words, *more)
    done = run_curve(make_options(source, {"output": str(tmp_path / "python")}), "learning")
    assert not done.failures
    names = [name for name in files(tmp_path / "yaml") if "learning" in name]
    assert len(names) == 4
    for name in names:
        assert len({(tmp_path / where / name).read_bytes() for where in ("yaml", "words", "python")}) == 1
    succeed("curve", "learning", tmp_path / "words" / "run.yaml", "-o", tmp_path / "again")
    assert (tmp_path / "again" / names[0]).read_bytes() == (tmp_path / "yaml" / names[0]).read_bytes()


def test_sets_by_their_words() -> None:
    found = sets(make_options({"sets": "lq:0.5,lq:2,t", "multiplier": 3}))
    assert found == {
        "LQ 0.5": {"features": "lq", "multiplier": 0.5},
        "LQ 2": {"features": "lq", "multiplier": 2.0},
        "T": {"features": "t", "multiplier": 3.0},
    }
    paper = sets(make_options())
    assert {label: setting["multiplier"] for label, setting in paper.items()} == {
        "L": 0.1,
        "LQ": 0.1,
        "LQP": 0.1,
        "T": 1,
    }


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("--sets", "lq:zero"), 2, "a positive multiplier after the colon"),
        (("--sets", "x"), 2, "not a feature class"),
        (("--sets", "l,L"), 2, "and one occurs twice"),
        (("--sizes", "5,500"), 1, "sizes from 5 to 500: expected 2 to 42"),
        (("--strengths", "0"), 2, "curve.strengths='0': expected"),
        (("--prices", "0"), 2, "curve.strengths='0': expected"),
        (("--buffer", 20), 2, "background.buffer needs background.area=buffer"),
        (("--response", "present"), 2, "does not apply to"),
        (("--kind", "community"), 2, "kind='community' does not apply to"),
        (("--held-out", "100"), 2, "curve.held_out='100': expected"),
        (("--model", "structural"), 2, "remove --model structural"),
    ],
)
def test_options_that_make_no_sense(world, tmp_path: Path, words, code, part) -> None:
    with pytest.raises(OptionError if code == 2 else DataError) as refused:
        run_curve(options_of(world.records, world.layers, *POINTS, "-o", tmp_path / "out", *words), "learning")
    assert part in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_species_that_fails_does_not_stop_the_others(world, tmp_path: Path) -> None:
    lines = world.both.read_text().splitlines()
    first = [line for line in lines[1:] if line.startswith("Virtualis montanus")]
    other = [line for line in lines[1:] if not line.startswith("Virtualis montanus")][:3]
    (tmp_path / "records.csv").write_text("\n".join([lines[0], *first, *other]) + "\n")
    words = ("--sets", "l", "--sizes", "10", "-o", tmp_path / "out")
    result = sdm("curve", "learning", tmp_path / "records.csv", world.layers, *POINTS, *words)
    assert result.exit_code == 1
    assert "expected 2 to 2" in result.stderr
    assert (tmp_path / "out" / "Virtualis_montanus_learning.csv").exists()


def test_it_needs_a_place_and_a_kind(world) -> None:
    assert "no output folder" in fail("curve", "learning", world.records, world.layers, code=2)
    help_text = succeed("curve", "--help").stdout
    assert "learning" in help_text
    assert "sensitivity" in help_text
