"""Options and run files that cannot be understood: all that is wrong, at once, with the nearest name."""

from pathlib import Path

import pytest
from inputs.reading import refusal
from terminal import fail, files

from sdm.errors import OptionError


@pytest.fixture
def refused(own, tmp_path: Path):
    """Run a fit from a run file that must fail; return the sentence."""

    def run(text: str, *words) -> str:
        (own.folder / "run.yaml").write_text(text, encoding="utf-8")
        before = files(own.folder)
        message = fail("fit", own.folder / "run.yaml", *words, code=2)
        assert files(own.folder) == before
        return message

    return run


GOOD = "occurrences: {file: one.csv}\nlayers: {files: layers}\noutput: {folder: out}\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("fit: {multiplyer: 2}", ["unknown option 'fit.multiplyer' (did you mean 'fit.multiplier'?)"]),
        ("fitt: {multiplier: 2}", ["unknown option 'fitt' (did you mean 'fit'?)"]),
        ("betamultiplyer: 2", ["'betamultiplyer' (did you mean 'fit.multiplier'?)"]),
        ("fit: {threshold: mtp}", ["'fit.threshold' (did you mean 'predict.threshold'?)"]),
        ("fit: {zzz: 1}", ["unknown option 'fit.zzz' (expected one of model, features, multiplier"]),
        ("fit: {multiplier: strong}", ["fit.multiplier='strong': expected 'auto' or a number"]),
        ("fit: {multiplier: -1}", ["fit.multiplier=-1: expected 'auto' or a number above 0"]),
        ("fit: {multiplier: yes}", ["fit.multiplier=True"]),
        ("fit: {multiplier: .inf}", ["fit.multiplier=inf: expected 'auto' or a finite number"]),
        ("fit: {features: xyz}", ["fit.features='xyz'", "not a feature class", "'lqh'"]),
        ("fit: 3", ["fit=3: expected a section of options"]),
        ("fit: [1, 2]", ["fit=[1, 2]: expected a section of options"]),
        ("background: {points: many}", ["background.points='many': expected a whole number or 'all'"]),
        ("test: {percent: 95}", ["test.percent=95: expected a number of at most 90"]),
        ("test: {folds: 1}", ["at least 2 folds"]),
        ("predict: {threshold: p10}", ["predict.threshold='p10'", "'10p'", "or a number"]),
        ("predict: {projections: [a/x, b/x]}", ["'x' twice", "name=folder"]),
        ("seed: 1.5", ["seed=1.5: expected a whole number"]),
        ("output: {overwrite: perhaps}", ["output.overwrite='perhaps': expected true or false"]),
    ],
)
def test_one_mistake(tmp_path: Path, text: str, parts) -> None:
    key = text.split(":")[0]
    rest = "\n".join(line for line in GOOD.splitlines() if not line.startswith(f"{key}:"))
    (tmp_path / "run.yaml").write_text(f"{rest}\n{text}\n")
    message = refusal(OptionError, tmp_path / "run.yaml")
    for part in parts:
        assert part in message


@pytest.mark.parametrize("command", ["classify", "joint"])
def test_a_kind_that_is_not_that_of_the_command(world, tmp_path: Path, command: str) -> None:
    said = fail(command, world.survey, world.layers, "--kind", "species", "-o", tmp_path / "out", code=2)
    assert said == f"--kind species does not apply to 'sdm {command}': remove it"


def test_several_mistakes_are_listed_at_once(refused) -> None:
    message = refused("fit: {multiplyer: 2, knots: few}\npredikt: {scale: raw}\nseed: x\nthreads: 0\n")
    for part in ("fit.multiplyer", "fit.knots='few'", "predikt", "seed='x'", "threads=0"):
        assert message.count(part) == 1
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("fit: {multiplier: 2\n", "not a readable YAML file"),
        ("\tfit: 2\n", "not a readable YAML file"),
        ("- one\n- two\n", "has no sections"),
        ("just text\n", "has no sections"),
        ("!!python/object/apply:os.system ['true']\n", "not a readable YAML file"),
    ],
)
def test_what_is_no_run_file(tmp_path: Path, text, part) -> None:
    (tmp_path / "run.yaml").write_text(text)
    message = refusal(OptionError, tmp_path / "run.yaml")
    assert "run.yaml" in message
    assert part in message


def test_an_empty_run_file_says_what_is_missing(refused) -> None:
    assert "no output folder" in refused("")
    assert "no occurrence file" in refused("output: {folder: out}\n")


def test_an_option_of_the_run_file_has_the_name_that_it_has_there(refused) -> None:
    """The user finds each of the two where it was written."""
    said = refused(GOOD + "test: {replicates: 10}\n", "--folds", 3)
    assert said == "--folds and test.replicates exclude each other: use one of them"


def test_a_run_file_that_is_not_there(tmp_path: Path) -> None:
    message = fail("fit", tmp_path / "run.yaml", code=2)
    assert "does not exist" in message
    assert "sdm init" in message


def test_mistakes_in_the_terminal_are_named_by_their_flags(world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, "-o", tmp_path / "out")
    message = fail(*words, "--rm", "strong", "--knots", "few", "--seed", "-1", code=2)
    for part in ("--multiplier strong: expected", "--knots few: expected", "--seed -1: expected"):
        assert part in message
    assert files(tmp_path) == []


def test_an_override_wins_over_a_mistake_in_the_file(refused) -> None:
    assert "multiplier" not in refused(GOOD + "fit: {multiplier: strong, knots: few}\n", "--rm", 2)


def test_files_in_a_run_file_are_looked_for_beside_it(refused, own) -> None:
    (own.folder / "run.yaml").write_text(GOOD.replace("one.csv", "none.csv"))
    assert str(own.folder / "none.csv") in fail("fit", own.folder / "run.yaml")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--beta", "theorem8"), "needs regularization='smoothed_l1'"),
        (("--add-presences", "none", "--entropy", "1.5"), "needs entropy=1"),
        (("--response", "presence", "--beta", "theorem8"), "not to classes"),
        (("--regularization", "lp", "--solver", "summet"), "excludes 'lp': use solver='newton'"),
        (("--response", "presence", "--regularization", "mahalanobis"), "that penalty is for species"),
    ],
)
def test_what_a_model_would_refuse_is_refused_before_any_work(words, part) -> None:
    """Before any file is read: these do not exist."""
    assert part in refusal(OptionError, "none.csv", "none", *words)
