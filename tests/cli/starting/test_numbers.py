"""The numbers of README, tutorials and how-to pages: each is a stored result, a constant of the program, or of a run.

A number that no check claims fails with its file and line. Give it a check: a text in tests/helpers/documents/facts.py
that is made from the source of the number, a row of `RUNS`, or a row in claims.py if another test compares it.
"""

import contextlib
import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from documents.claims import ELSEWHERE, NOT_COMPARED
from documents.commands import ROOT, indented, small_pictures
from documents.facts import facts
from documents.inventory import NUMBER, OUTPUT, PAGES, pattern_of_text, table_pattern, unclaimed, value_of
from terminal import succeed

from sdm.simulate.world import simulate


def of_folds(folder: Path, name: str, measure: str) -> float:
    """The mean of a measure over the folds of a run."""
    return float(pd.read_csv(folder / f"{name}_crossValidation.csv")[measure].mean())


def number_after(words: str, text: str) -> list[float]:
    """The numbers of the line of an output that begins with some words, but for those of the words."""
    (line,) = (line for line in text.splitlines() if line.strip().startswith(words))
    return [value_of(found) for found in NUMBER.findall(line.replace(words, ""))]


def collinear(text: str) -> list[float]:
    """The numbers of collinear layers of a suggestion, the largest group first."""
    groups = re.search(r"collinear +(.*?)\nkeep", text, re.DOTALL)[1].splitlines()
    return sorted((float(len(line.split(","))) for line in groups), reverse=True)


def of_change(folder: Path, title: str, measure: str, unit: str = "km2") -> float:
    """A measure of a scenario of a projection."""
    table = pd.read_csv(folder / "scenarios.csv", dtype={"scenario": str})
    return float(table.query("scenario == @title and measure == @measure and unit == @unit")["value"].iloc[0])


def less_gain(done: Any, title: str) -> float:
    """The percentage of the gain that is out of reach."""
    free, limited = (of_change(done.folder / name, title, "gain") for name in ("climates", "reachable"))
    return 100 * (1 - limited / free)


def outside(folder: Path) -> list[float]:
    """The percentages of cells outside the training range, by scenario."""
    numbers = json.loads((folder / "Virtualis_montanus.json").read_text(encoding="utf-8"))
    return [100 * each["outside"]["share"] for each in numbers["scenarios"]]


def peak(folder: Path) -> float:
    """The temperature with the largest suitability."""
    curves = pd.read_csv(folder / "Virtualis_montanus_curves.csv").query(
        "variable == 'temperature' and kind == 'marginal'"
    )
    return float(curves.loc[curves["response"].idxmax(), "value"])


def paired(folder: Path) -> list[float]:
    """The mean and the standard error of the differences of log loss between a setting and the chosen one, by fold."""
    losses = pd.read_csv(folder / "tune_folds.csv").pivot_table(index="fold", columns="tune.args", values="loss.val")
    differences = losses["fc.LQH_rm.2"] - losses["fc.L_rm.0.5"]
    return [differences.mean(), differences.std() / len(differences) ** 0.5]


def suggested(folder: Path) -> float:
    """The size of blocks in km that the program suggests for the layers of a tutorial."""
    words = ["bradypus.csv", "layers", "--categorical", "ecoreg", "--drop-correlated", "0.7", "--split", "block"]
    quick = ["--features", "l", "--no-map", "--no-curves", "--no-report", "--no-importance", "--folds", "2"]
    said = succeed("fit", *words, "--block-size", "auto", *quick, "-o", "suggested").output
    return value_of(re.search(r"block size +([\d.,]+)", said)[1])


def counted(table: Path) -> list[int]:
    """The smallest and the largest number of records of a species."""
    counts = pd.read_csv(table)["species"].value_counts()
    return [counts.min(), counts.max()]


def files_of_species(flora: Any) -> list[float]:
    """The number of files of a species without a map, and of those that a map adds."""
    words = ("fit", "occurrences.csv", "layers", "--no-curves", "--no-report", "--no-map-picture")
    simulate(flora.folder / "small", size=40, layers=3, species=2, records=30, sites=10)
    found = []
    with contextlib.chdir(flora.folder / "small"):
        for name, more in (("plain", ["--no-map"]), ("maps", [])):
            succeed(*words, *more, "-o", name)
            found.append(sum(path.is_file() for path in Path(name).glob("*/*")) / 2)
    return [found[0], found[1] - found[0]]


@dataclass
class Flora:
    """The folder of the example with a known truth, and the output of its last command."""

    folder: Path
    said: str


@pytest.fixture(scope="module")
def flora(tmp_path_factory: pytest.TempPathFactory) -> Flora:
    """The example of shared axes, as its page has it."""
    folder, said = tmp_path_factory.mktemp("flora"), ""
    with contextlib.chdir(folder):
        for line in indented(PAGES["shared"])[:3]:
            said = succeed(*small_pictures(shlex.split(line)[1:])).output
    return Flora(folder, said)


RUNS: list[tuple[str, str, str, Callable[[Any], Sequence[float]]]] = [
    ("tutorial", "first_model", "a peak at # degrees", lambda done: [peak(done.folder / "results")]),
    ("tutorial", "first_model", "these are # per cent", lambda done: outside(done.folder / "future")),
    ("climates", "future", "one cell of #", lambda done: [100 / outside(done.folder / "climates")[1]]),
    ("climates", "future", "| # % and # % |", lambda done: outside(done.folder / "climates")),
    ("climates", "future", "decreases by # % in 2050 and by less than # % in 2080",
     lambda done: [less_gain(done, "2050"), np.ceil(less_gain(done, "2080"))]),
    ("climates", "future", "shrinks by # % (2050) and # % (2080)",
     lambda done: [-of_change(done.folder / "climates", title, "change", "%") for title in ("2050", "2080")]),
    ("climates", "future", "no, # km²",
     lambda done: [of_change(done.folder / "climates", "2080", "suitable area outside the training range")]),
    ("study", "study", "(# km, chosen by `auto`)",
     lambda done: [value_of(re.findall("block size +([0-9.]+)", "".join(done.said.values()))[-1])]),
    ("sloth", "bradypus", "# layers of temperature, frost and vapour pressure are collinear, and so are # layers",
     lambda done: collinear((done.folder / "variables" / "suggestion.txt").read_text(encoding="utf-8"))),
    ("sloth", "bradypus", "# % of the held-out records",
     lambda done: [100 * of_folds(done.folder / "blocks", "bradypus_variegatus", "or.10p")]),
    ("sloth", "bradypus", "is # ± # nats larger", lambda done: paired(done.folder / "tuned")),
    ("sloth", "bradypus", "standard error of # paired differences",
     lambda done: [pd.read_csv(done.folder / "tuned" / "tune_folds.csv")["fold"].nunique()]),
    ("sloth", "bradypus", "We used # records",
     lambda done: [len(pd.read_csv(done.folder / "final" / "bradypus_variegatus_samplePredictions.csv"))]),
    ("sloth", "bradypus", "suggests more than # km", lambda done: [1000 * (suggested(done.folder) // 1000)]),
    ("flora", "shared", "They have # to # records",
     lambda done: counted(done.folder / "flora" / "occurrences.csv")),
    *(("flora", "shared", f"axis {k} # % # % # … #", lambda done, k=k: number_after(f"axis {k}", done.said))
      for k in (1, 2, 3)),
    ("flora", "scale", "about # files, and # more with a map", files_of_species),
    ("flora", "shared", "axes: # of #", lambda done: number_after("supported", done.said)),
    ("flora", "shared", "# axes here, of which # are true", lambda done: number_after("supported", done.said)[::-1]),
]  # fmt: skip
"""Numbers of runs: a fixture that has run commands, a page, a text, and the numbers of the text."""


@cache
def claims() -> dict[str, list[re.Pattern[str]]]:
    """The texts with checked numbers of every page."""
    found = dict[str, list[re.Pattern[str]]]()
    texts = [
        *facts(),
        *((page, text) for _, page, text, _ in RUNS),
        *(row for rows in NOT_COMPARED.values() for row in rows),
    ]
    for page, text in texts:
        found.setdefault(page, []).append(pattern_of_text(text))
    for page, place in (row for rows in ELSEWHERE.values() for row in rows):
        table = re.fullmatch(r"\|([^#|]*)\|", place)
        pattern = OUTPUT if place == "```" else table_pattern(table[1].strip()) if table else pattern_of_text(place)
        found.setdefault(page, []).append(pattern)
    return found


def test_numbers_of_results_and_of_the_program_are_on_their_pages() -> None:
    wrong = []
    for page, text in facts():
        shown = PAGES[page].read_text(encoding="utf-8")
        if not pattern_of_text(text).search(shown):
            like = pattern_of_text(NUMBER.sub("#", text)).search(shown)
            wrong += [f"{page}: expected {text!r}, the page has {like[0]!r}"] if like else []
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES)
def test_every_number_has_a_check(page: str) -> None:
    found = unclaimed(PAGES[page], claims().get(page, []))
    assert not found, "add a check, or let the text of a check follow the page (see the top of this file)"


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES)
def test_every_check_has_its_text(page: str) -> None:
    """Texts that a page no longer has can be removed."""
    shown = PAGES[page].read_text(encoding="utf-8")
    assert not [pattern.pattern for pattern in claims().get(page, []) if not pattern.search(shown)]


def test_a_new_number_is_seen(tmp_path: Path) -> None:
    """A number in the text, in a table or in an output has no check; one in a command or a name needs none."""
    page = tmp_path / "page.md"
    page.write_text("It takes 7 s\nand `--folds 9`.\n\n| a | 0.61 |\n\n```text\nAUC 0.75\nsdm fit --folds 9\n```\n"
                    "\n```sh\nsdm fit --folds 9\n```\n\nSince 2019, at most fifteen.\n", encoding="utf-8")  # fmt: skip
    assert [found.split(": ")[1] for found in unclaimed(page, [])] == ["7", "0.61", "0.75", "fifteen"]
    claimed = [pattern_of_text("takes # s and"), table_pattern("a")]
    assert [found.split(": ")[1] for found in unclaimed(page, claimed)] == ["0.75", "fifteen"]


def test_checks_of_other_tests_exist() -> None:
    sources = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    for test in ELSEWHERE:
        module, _, name = test.partition(".")
        assert f"def {name}(" in sources[module], test


@pytest.mark.thorough
@pytest.mark.parametrize(("fixture", "page", "text", "numbers"), RUNS, ids=[f"{row[1]}: {row[2][:30]}" for row in RUNS])
def test_numbers_are_those_of_the_run(fixture: str, page: str, text: str, numbers, request) -> None:
    done = request.getfixturevalue(fixture)
    with contextlib.chdir(done.folder):
        expected = numbers(done)
    found = pattern_of_text(text).search(PAGES[page].read_text(encoding="utf-8"))
    assert found, text
    for shown, value in zip(found.groups(), expected, strict=True):
        digits = len(shown.partition(".")[2])
        assert abs(value_of(shown) - value) <= 1.5 * 10.0**-digits, (found[0], expected)
