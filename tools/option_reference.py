"""`python -m tools.option_reference` writes docs/reference/options.md: every command and every option of a run."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sdm.java.flags import FLAGS
from sdm.options.applies import APPLIES, applies
from sdm.options.reading import SECTIONS, Leaf, leaves
from sdm_cli.app import whole_app
from sdm_cli.options import OF_ONE, PANELS, value_words

ROOT = Path(__file__).parents[1]
RUN = {leaf.dotted.replace(".", "__") for leaf in leaves()}
COMMON = ("quiet", "verbose", "as_json", "debug", "log_file", "help_all", "help")  # those of most commands
ANOTHER = "threshold"  # in Java Maxent the threshold features, here the cutoff of a map
IN_R = {
    "seed": "`seed.val` (biomod2)",
    "processes": "`numCores` (ENMeval), `nb.cpu` (biomod2)",
    "layers.categorical": "`categoricals` (ENMeval)",
    "background.points": "`n.bg` (ENMeval)",
    "fit.add_presences": "`addsamplestobackground` (maxnet)",
    "fit.features": "`fc` (ENMeval, SDMtune), `classes` (maxnet)",
    "fit.multiplier": "`rm` (ENMeval), `regmult` (maxnet), `reg` (SDMtune)",
    "tune.feature_sets": "`tune.args$fc` (ENMeval)",
    "tune.multipliers": "`tune.args$rm` (ENMeval)",
    "test.split": "`partitions` (ENMeval)",
    "test.folds": "`kfolds` (ENMeval), `k` (SDMtune)",
    "predict.scale": "`type` (maxnet)",
    "predict.clamp": "`clamp` (maxnet), `doClamp` (ENMeval)",
}
"""What options are called in packages of R."""
BEGIN = """# Commands and options

What every command does, and every option of a run with its values and its default. Made from the code (`make docs`).
To find an option, search this page for its name, or for its name in Java Maxent or R.

An option of a run has the same meaning in the terminal (`--multiplier 2`), in a run file (`fit: {multiplier: 2}`) and
in Python (`multiplier=2`). In the terminal its full name works too (`--fit.multiplier 2`). Words in the column
*values*: `N` is a whole number, `X` a number, `TEXT` a word or several, `PATH` a file or folder; words between bars are
the choices. An option with *on/off* is switched on with `--name` and off with `--no-name`. Names of Java Maxent in the
last column work in the place of ours; those of R are there to be found.
"""
MESSAGES = """Most commands also have `--quiet` (`-q`: say only what went wrong), `--verbose` (`-v`: say more), `--json`
(one machine-readable result), `--debug` (show where an error came from), `--log-file FILE`, `--help`, and `--help-all`
where there are many options.
"""


def main() -> None:
    """Write the reference into a folder, by default `docs/reference`."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "reference"
    (folder / "options.md").write_text(reference(), encoding="utf-8")


def reference() -> str:
    """Return the text of the reference."""
    parts = [BEGIN, "## Commands\n", MESSAGES, *map("\n".join, command_parts(whole_app(), "sdm"))]
    parts.append("## Options of a run\n")
    for section in ["", *SECTIONS]:
        own = [leaf for leaf in leaves() if leaf.section == section]
        parts.append(f"### {PANELS[section]}\n")
        parts.append(f"{_section_text(section)}\n\n{option_table(own)}\n")
    return "\n".join(parts)


def command_parts(command: Any, name: str) -> Iterator[list[str]]:
    """Yield the text about each command: what it is for, what it takes of its own, and examples."""
    if hasattr(command, "commands"):
        for inner in sorted(command.commands):
            yield from command_parts(command.commands[inner], f"{name} {inner}")
        return
    text, _, examples = re.sub(r"\*\*Examples?\*\*:?", "\0", command.help or "").partition("\0")
    lines = [f"### {name}\n", f"{_prose(text)}\n"]
    own = [each for each in command.params if each.name not in RUN and each.name not in COMMON]
    if own:
        lines += ["| takes | meaning |", "|---|---|", *(f"| {_names(each)} | {_cell(each.help)} |" for each in own), ""]
    taken = [each.opts[-1] for each in command.params if each.name in RUN]
    if taken:
        which = "" if len(taken) == len(RUN) else f": {', '.join(f'`{word}`' for word in taken)}"
        lines += [f"It takes [options of a run](#options-of-a-run){which}.\n"]
    typed = [part for line in examples.splitlines() for part in re.split(r"(?:, [^,]*)?, then +", line.strip(" `"))]
    if shown := [line for line in typed if line.startswith("sdm ")]:
        lines += ["```text", *shown, "```", ""]
    yield lines


def option_table(options: list[Leaf]) -> str:
    """Return a table of options: their names, values, defaults, meanings, and names in other programs."""
    rows = ["| option | values | default | meaning | in Java Maxent, in R |", "|---|---|---|---|---|"]
    for leaf in options:
        java = java_names(leaf)
        others = ", ".join(f"`{alias}`" for alias in leaf.aliases if alias not in (leaf.shown, *java))
        meaning = _cell(str(leaf.field.description)) + (f" Also: {others}." if others else "") + _kinds(leaf)
        name = f"`--{leaf.shown.replace('_', '-')}`<br>`{leaf.dotted}`"
        theirs = "; ".join(filter(None, [", ".join(f"`{word}`" for word in java), IN_R.get(leaf.dotted, "")]))
        rows.append(f"| {name} | {_values(leaf)} | {_default(leaf)} | {meaning} | {theirs} |")
    return "\n".join(rows)


def java_names(leaf: Leaf) -> list[str]:
    """Return what an option is called in Java Maxent: its own name, if it has that there too, and other spellings."""
    return [word for word in dict.fromkeys([leaf.shown, *leaf.aliases]) if word in FLAGS and word != ANOTHER]


def _section_text(section: str) -> str:
    """Return what a section is about, and whose it is where one command has it alone."""
    text = str(SECTIONS[section].__doc__).split("\n")[0] if section else "What concerns the whole run."
    return f"{text} For one command only." if section in OF_ONE else text


def _values(leaf: Leaf) -> str:
    words = "on/off" if leaf.flag else value_words(leaf)
    several = ", several" if leaf.multiple else ""
    return " \\| ".join(f"`{word}`" for word in words.split("|")) + several


def _default(leaf: Leaf) -> str:
    default = leaf.field.get_default()
    if default in (None, [], {}):
        return ""
    if leaf.flag:
        return "on" if default else "off"
    return f"`{','.join(map(str, default))}`" if isinstance(default, list) else f"`{default}`"


def _kinds(leaf: Leaf) -> str:
    """Return for which kinds of model an option is, where it is not for all of them."""
    kinds = [kind for kind in APPLIES if applies(leaf, kind)]
    return f" *({', '.join(kinds)})*" if len(kinds) < len(APPLIES) and leaf.section not in OF_ONE else ""


def _names(parameter: Any) -> str:
    """Return how a parameter of a command is typed."""
    if parameter.param_type_name == "argument":
        return f"`{(parameter.metavar or parameter.name.upper()).replace('|', 'or')}`"
    return ", ".join(f"`{word}`" for word in (*parameter.opts, *parameter.secondary_opts))


def _cell(text: str | None) -> str:
    return _prose(text or "").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


def _prose(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")).strip()


if __name__ == "__main__":
    main()
