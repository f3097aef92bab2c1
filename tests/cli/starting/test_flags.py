"""Messages in the terminal name the flags that a user can type; run files and Python keep the names of options."""

import ast
import re
from pathlib import Path

import pytest
from terminal import fail

import sdm
from sdm.options import rules
from sdm.options.definitions import RunOptions
from sdm.options.reading import WHERE, leaves
from sdm_cli.flags import java_flags, run_flags, with_flags

FLAGS = run_flags(leaves())
_DOTTED = "|".join(sorted((re.escape(leaf.dotted) for leaf in leaves() if leaf.section), key=len, reverse=True))
DOTTED = re.compile(rf"(?<![\w./-])({_DOTTED})(?!\w|\.\w)")
SHORT = re.compile(r"(?<![\w./-])([a-z]\w*)=(?=[\w'\"])")


def texts_of(path: Path) -> list[str]:
    """The texts of a module that are no docstrings, with `x` for the values in them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent |= {id(part) for part in node.values}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            found.append(node.value)
    return [re.sub(r"\{[\w.]+\}", "x", text) for text in found if " " in text]


TEXTS = {path: texts_of(path) for path in Path(sdm.__file__).parent.rglob("*.py")}


def test_no_message_shows_a_dotted_option_in_the_terminal() -> None:
    named = [text for texts in TEXTS.values() for text in texts if DOTTED.search(text)]
    assert len(named) > 100
    for text in named:
        shown = with_flags(text, FLAGS)
        assert not DOTTED.search(shown), shown
        for dotted in DOTTED.findall(text):
            assert re.search(rf"--(no-)?{FLAGS[dotted].partition('/')[0].strip('- ')}\b", shown), shown


def test_no_rule_shows_a_dotted_option_in_the_terminal() -> None:
    tables = [table for table in vars(rules).values() if isinstance(table, tuple)]
    every = {rule.sentence for table in tables for rule in table if isinstance(rule, rules.Rule)}
    assert len(every) > 60
    for sentence in every:
        assert DOTTED.search(sentence) or "--" not in sentence
        assert not DOTTED.search(with_flags(sentence.format_map(vars(RunOptions())), FLAGS)), sentence


def test_an_option_is_shown_by_its_flag_wherever_a_sentence_has_it() -> None:
    for leaf in leaves():
        if leaf.section:
            flag, dotted = FLAGS[leaf.dotted].partition("/")[0].strip(), leaf.dotted
            for before, after in (("", ": x"), ("use ", "."), ("'", "' x"), ("(", ")"), ("", ", or x")):
                assert with_flags(f"{before}{dotted}{after}", FLAGS) == f"{before}{flag}{after}"


def test_short_names_of_options_in_errors_are_flags_too() -> None:
    """Estimators raise errors with the names of their parameters."""
    short = {text for texts in TEXTS.values() for text in texts if set(SHORT.findall(text)) & WHERE.keys()}
    assert len(short) > 40
    for text in short:
        assert not set(SHORT.findall(with_flags(text, FLAGS))) & WHERE.keys(), text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("layers.exclude=['a', 'b'] leaves no layer", "--exclude a,b leaves no layer"),
        ("layers.exclude=['two words', 'b']: x", "--exclude ['two words', 'b']: x"),
        ("layers.nodata={'a': '1'}: x", "--nodata a=1: x"),
        ("path.strata='grid:50km' needs layers", "--strata grid:50km needs layers"),
        ("occurrences.where='a > 1, or b': x", "--where 'a > 1, or b': x"),
        ("test.file='Peter\\'s.csv' x", "--test Peter\\s.csv x"),
        ("use test.percent=25.", "use --test-percent 25."),
        ("remove output.map=false, or clamp=True", "remove --no-map, or --clamp"),
        ("beta=x needs regularization='none'", "--beta x needs --regularization none"),
        # No options: parts of addresses, paths, files, other names.
        ("https://host/layers.exclude?seed=3&threads=4", "https://host/layers.exclude?seed=3&threads=4"),
        ("results/output.map and auc.val.avg and fit.nope=3", "results/output.map and auc.val.avg and fit.nope=3"),
        ("output.map.png has no threshold", "output.map.png has no threshold"),
    ],
)
def test_values_are_shown_as_they_are_typed(text: str, shown: str) -> None:
    assert with_flags(text, FLAGS) == shown


def test_notices_may_contain_conditions() -> None:
    text = "only records with species=Acer, see layers.exclude"
    assert with_flags(text, FLAGS, error=False) == "only records with species=Acer, see --exclude"


def test_options_that_only_one_command_has_are_shown_by_its_flags(world, tmp_path: Path) -> None:
    message = fail("simulate", tmp_path / "new", "--warming", 90, code=2)
    assert message.startswith("--warming 90")
    message = fail("simulate", tmp_path / "new", "--interaction", "--shared-axes", 2, "--species", 3, code=2)
    assert message == "--interaction and --shared-axes 2 exclude each other: remove one of them"
    model = Path(__file__).parents[3] / "nothing.npz"
    message = fail("evaluate", model, "--presences", world.records, "--seed", -1, code=2)
    assert message == "--seed -1: expected a number of at least 0"


def test_java_maxent_has_its_own_flags() -> None:
    message = "fit.multiplier=2 needs test.percent; betamultiplier=2, occurrences.snap"
    shown = "betamultiplier=2 needs randomtestpoints; betamultiplier=2, occurrences.snap"
    assert with_flags(message, java_flags()) == shown
