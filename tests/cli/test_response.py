"""`sdm fit --response`: presence and absence in a column, as two classes."""

from pathlib import Path

import pytest
from terminal import as_json, fail, rows, succeed


@pytest.fixture
def species(world) -> str:
    return rows(world.survey)[0]["species"]


def test_it_is_classify_with_two_classes(world, species: str, tmp_path: Path) -> None:
    common = ("--categorical", "landcover", "--features", "lq", "--folds", 3, "--no-curves")
    fitted = as_json(
        *("fit", world.survey, world.layers, "--response", "presence", "--species", species, *common),
        *("-o", tmp_path / "fit"),
    )
    classified = as_json(
        *("classify", world.survey, world.layers, "--class-column", "presence", "--select", f"species={species}"),
        *(*common, "-o", tmp_path / "classes"),
    )
    assert fitted["status"] == "converged"
    assert len(fitted["classes"]) == 2
    assert fitted["measures"] == classified["measures"]
    assert fitted["measures"]["cross-validation"]["mean_auc"] > 0.6
    models = [next((tmp_path / name).glob("*.npz")) for name in ("fit", "classes")]
    assert models[0].read_bytes() == models[1].read_bytes()
    assert "classes" in succeed("info", models[0]).output


def test_a_run_file_says_it_too(world, species: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        f"occurrences: {{file: {world.survey}, response: presence, species: {species}}}\n"
        f"layers: {{files: {world.layers}, categorical: landcover}}\n"
        "fit: {model: structural, families: 'l,trees:2', lam: 0.05, beta: 0.02}\noutput: {curves: false, map: false}\n"
    )
    result = as_json("fit", tmp_path / "run.yaml", "-o", tmp_path / "out")
    assert result["status"] == "converged"
    assert result["feature_classes"] == "l,trees:2"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--background-points", 500), "says nothing to presence and absence"),
        (("--preset", "best"), "says nothing to presence and absence"),
        (("--model", "committee"), "averages models with a background"),
        (("--species", "a", "--species", "b"), "one by one"),
    ],
)
def test_what_it_does_not_take(world, tmp_path: Path, words, says: str) -> None:
    message = fail("fit", world.survey, world.layers, "--response", "presence", *words, "-o", tmp_path / "x", code=2)
    assert says in message
    assert not (tmp_path / "x").exists()


def test_other_commands_refuse_it(world, tmp_path: Path) -> None:
    words = (world.survey, world.layers, "--response", "presence", "-o", tmp_path / "x")
    assert "'sdm fit'" in fail("tune", *words, code=2)
