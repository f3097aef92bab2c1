"""`sdm fit --model structural`: trees and monomials from the terminal, what is kept of them, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
from inputs.reading import refusal
from terminal import PLAIN, as_json, chart_parts, fail, model_answer, picture, rows, succeed

from sdm import load_model
from sdm.errors import OptionError
from sdm.simulate.world import simulate

PRICED = ("--model", "structural", "--lambda", 0.05, "--beta", 0.02)


@pytest.fixture(scope="module")
def results(world, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("structural") / "out"
    chosen = (
        "--families",
        "trees:3,mono:2",
        "--price-grid",
        "0.02,0.1",
        "--price-folds",
        2,
        "--background-points",
        1000,
    )
    succeed(
        *("fit", world.records, world.layers, "--categorical", "landcover", "--model", "structural", *chosen),
        *("--test-percent", 20, "--dpi", 50, "-o", out),
    )
    return out


def test_everything_is_kept(results: Path) -> None:
    numbers = json.loads(next(results.glob("*.json")).read_text())
    structure = numbers["structure"]
    for what in ("families", "rules", "interactions", "prices"):
        assert rows(results / numbers["files"][what])
    tried = rows(results / numbers["files"]["prices"])
    assert float(tried[0]["lambda"]) == pytest.approx(structure["lambda"])
    assert float(tried[0]["beta"]) == pytest.approx(structure["beta"])
    assert [float(row["held-out loss"]) for row in tried] == sorted(float(row["held-out loss"]) for row in tried)
    assert len(tried) == structure["settings_tried"] >= 4
    shares = rows(results / numbers["files"]["families"])
    assert sum(int(row["features"]) for row in shares) == numbers["features_with_weight"]
    assert all(float(row["price"]) > 0 for row in shares)
    for name in ("effects", "families", "interactions"):
        assert chart_parts(results / "plots" / f"{name}.svg") > 5
    assert picture(results / "plots" / "prices.png").std() > 0
    assert numbers["certificate"]["covers"] == "features found"
    assert "only an estimate for all of trees:" in numbers["certificate"]["text"]
    error = structure["search_error"]
    assert 0 < error["worst"] <= error["found"] <= 1
    assert f"at {error['nodes']} nodes" in numbers["certificate"]["text"]
    assert numbers["status"] == "converged"


def test_info_tells_prices_families_and_what_the_certificate_covers(results: Path) -> None:
    said = succeed("info", next(results.glob("*.npz"))).output
    for text in (
        "only an estimate for all of trees:",
        "if it misses as much everywhere",
        "penalties ",
        "lambda ",
        "bound ",
        "families ",
    ):
        assert text in said
    meta = model_answer("info", next(results.glob("*.npz")))["meta"]
    assert meta["structure"]["families"]
    bound = json.loads(next(results.glob("Virt*.json")).read_text())["performance_bound"]
    assert f"true log loss at most {bound['excess']:.3f} nats above the best model" in said


@pytest.mark.thorough
def test_without_evidence_the_default_is_the_model_of_maxent(world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, "--categorical", "landcover", "--no-curves", "--no-map")
    words = (*words, "--no-importance", "--dpi", 50)
    succeed(*words, *PLAIN, "-o", tmp_path / "plain")
    said = succeed(*words, "--model", "structural", "--tolerance", 1e-6, "-o", tmp_path / "out").output
    assert "no trees or monomials" in said
    first, second = (load_model(next(folder.glob("*.npz"))) for folder in (tmp_path / "plain", tmp_path / "out"))
    np.testing.assert_array_equal(first.weights, second.weights)
    assert first.feature_names == second.feature_names
    plain, numbers = (json.loads(next((tmp_path / run).glob("Virt*.json")).read_text()) for run in ("plain", "out"))
    assert numbers["performance_bound"] == plain["performance_bound"]  # one model has one bound
    assert numbers["structure"]["lambda"] is None
    tried = rows(tmp_path / "out" / numbers["files"]["prices"])
    assert [row["lambda"] for row in tried if row["chosen"] == "True"] == ["inf"]
    assert len(tried) > 3
    assert picture(tmp_path / "out" / "plots" / "prices.png").std() > 0
    assert "no trees or monomials" in succeed("info", next((tmp_path / "out").glob("*.npz"))).output
    page = next((tmp_path / "out").glob("Virt*.html")).read_text()
    assert "λ = ∞" in page
    assert "no trees or monomials" in page


def test_curves_have_the_partial_effect(results: Path) -> None:
    table = rows(next(results.glob("*_curves.csv")))
    assert {row["kind"] for row in table} == {"marginal", "only", "partial"}
    effect = np.array([float(row["response"]) for row in table if row["kind"] == "partial"])
    assert effect.std() > 0.01


@pytest.mark.thorough
def test_the_run_file_repeats_the_run(results: Path, tmp_path: Path) -> None:
    succeed("fit", results / "run.yaml", "--no-map", "--no-curves", *PLAIN, "-o", tmp_path / "again")
    first, second = (next(folder.glob("*.npz")) for folder in (results, tmp_path / "again"))
    np.testing.assert_array_equal(load_model(first).weights, load_model(second).weights)


def test_an_exact_search_says_so(own, tmp_path: Path) -> None:
    (own.layers / "landcover.tif").unlink()  # more classes than an exhaustive search of sets takes
    succeed(
        *("fit", own.records, own.layers, *PRICED, "--families", "exacttrees:2", "--background-points", 300),
        *("--no-curves", "--no-map", *PLAIN, "-o", tmp_path / "out"),
    )
    certificate = json.loads(next((tmp_path / "out").glob("*.json")).read_text())["certificate"]
    assert certificate["covers"] == "model"
    assert "every tree of the family" in certificate["text"]


TREES = (*PRICED, "--families", "trees:2,mono:2", "--background-points", 1000, "--no-curves", "--no-map", *PLAIN)


@pytest.fixture(scope="module")
def best(world, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The numbers of the solver that is the default."""
    out = tmp_path_factory.mktemp("best") / "out"
    return as_json("fit", world.records, world.layers, *TREES, "-o", out)["models"][0]["numbers"]


@pytest.mark.thorough
@pytest.mark.parametrize("solver", ["structmaxent1", "structmaxent2"])
def test_the_papers_own_solvers(world, best: dict, tmp_path: Path, solver: str) -> None:
    words = ("fit", world.records, world.layers, *TREES, "--solver", solver, "-o", tmp_path / "theirs")
    theirs = as_json(*words)["models"][0]["numbers"]
    assert theirs["regularized_gain"] == pytest.approx(best["regularized_gain"], abs=0.02)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--model", "structural", "--features", "lq"), "families"),
        (("--model", "structural", "--regularization", "l2"), "does not apply to a structural model"),
        (("--model", "committee", "--features", "lq"), "does not apply to a committee model"),
        (("--model", "committee", "--entropy", 2), "does not apply to a committee model"),
        (("--model", "structural", "--beta", "maxnet"), "number or auto"),
        (("--model", "structural", "--families", "trees"), "trees:4"),
        (("--model", "structural", "--families", "l,q"), "trees:K"),
        (("--model", "structural", "--lambda", -1), "at least 0"),
        (("--lambda", 0.1), "--model structural"),
        (("--families", "trees:2"), "--model structural"),
        (("--beta", "auto"), "maxent model"),
        (("--beta", 0), "--regularization none"),
    ],
)
def test_contradictions_are_refused(words, says: str) -> None:
    """Before any file is read: these do not exist."""
    assert says in refusal(OptionError, "none.csv", "none", *words)


@pytest.mark.parametrize(
    ("words", "says"),
    [(("--lambda", 0, "--beta", 0), "both 0"), (("--solver", "summet"), "structmaxent1")],
)
def test_contradictions_that_the_fit_refuses(world, tmp_path: Path, words, says: str) -> None:
    words = ("--model", "structural", *words, "-o", tmp_path / "out")
    assert says in fail("fit", world.records, world.layers, *words, code=2)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A species that lives only where one variable is above and another below a limit."""
    folder = tmp_path_factory.mktemp("gated")
    simulate(folder, size=96, layers=4, species=1, records=200, sites=50, seed=3, interaction=True)
    return folder, json.loads((folder / "truth.json").read_text())


def test_an_interaction_is_found_and_shown(gated, tmp_path: Path) -> None:
    """The heaviest rule names both variables of the gate near its limits, and their pair is the strongest."""
    folder, truth = gated
    gate = truth["species"][0]["interaction"]
    words = ("fit", folder / "occurrences.csv", folder / "layers", "--no-map", "--no-curves", *PLAIN)
    succeed(*words, "--test-percent", 30, *PRICED, "--families", "trees:4", "-o", tmp_path / "trees")
    pair = rows(next((tmp_path / "trees").glob("*_interactions.csv")))[0]
    assert {pair["first"], pair["second"]} == {gate["above"], gate["below"]}
    rule = rows(next((tmp_path / "trees").glob("*_rules.csv")))[0]["says"]
    assert gate["above"] in rule
    assert gate["below"] in rule
