"""`python -m tools.option_reference` writes docs/reference/options.md: every command and every option of a run."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sdm.java.flags import ACTS, FLAGS, IGNORED, WARNED
from sdm.maxent.penalty_weights import table_numbers
from sdm.options.applies import APPLIES, applies
from sdm.options.reading import SECTIONS, Leaf, leaves
from sdm_cli.app import whole_app
from sdm_cli.options import OF_ONE, PANELS, value_words

ROOT = Path(__file__).parents[1]
RUN = {leaf.dotted.replace(".", "__") for leaf in leaves()}
COMMON = ("quiet", "verbose", "as_json", "debug", "log_file", "help_all", "help")  # those of most commands
ANOTHER = "threshold"  # in Java Maxent the threshold features, here the threshold of a map
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
"""Names of options in packages of R."""
BEGIN = """# Commands and options

All commands, and all options of a run with their values and defaults. This page is made from the code (`make docs`).
To find an option, search for its name, or for its name in Java Maxent or R; `sdm help NAME` shows it in the terminal.

An option of a run has the same meaning in the terminal (`--multiplier 2`), in a run file (`fit: {multiplier: 2}`) and
in Python (`multiplier=2`). Its full name also works in the terminal (`--fit.multiplier 2`). In the column *values*, `N`
is a whole number, `NUMBER` a number, `TEXT` a text, and `FILE` a file, folder or pattern. `NAME,…` stands for several
values with commas. Alternatives are separated by bars. An option with *on/off* is switched on with `--name` and off
with `--no-name`. Names of Java Maxent in the last column are also accepted; names in R packages are for reference.
"""
MESSAGES = """Most commands also have `--quiet` (`-q`: only warnings and errors), `--verbose` (`-v`: more information),
`--json` (the result as JSON), `--debug` (the traceback of an error), `--log-file FILE` and `--help`. Commands with many
options have `--help-all`.
"""
RUN_FILES = """## Run files

A run file is YAML with a section for each group of options, as in this example. An option that can be repeated in the
terminal is a list; an option with *on/off* is `true` or `false`. Options of the whole run have no section. Relative
paths start at the folder of the run file. An option in the terminal replaces its value in the file. `sdm init` writes a
file with every option, its default and its meaning.

```yaml
seed: 1
occurrences:
  file: occurrences.csv
  species: [Virtualis montanus, Virtualis aridus]
layers:
  files: [layers, more/soil.tif]
  categorical: [landcover]
background: {points: 10000, area: buffer, buffer: 200}
fit: {features: lqh, multiplier: 2}
test: {folds: 5, split: block, block_size: 100}
predict: {threshold: maxsss}
project:
  scenarios: {warm: warmer}  # or a pattern: future/{gcm}_{ssp}/
output: {folder: results, figures: [png]}
```

The other sections are `tune`, `curve`, `path`, `classes`, `joint` and `cluster`. [The JSON Schema](schema.md) lets an
editor complete the names.
"""
VARIABLES = """## Environment variables

- `SDM_CACHE_DIR`: the folder of compiled kernels, by default `~/.cache/sdm` (macOS: `~/Library/Caches/sdm`, Windows:
  `%LOCALAPPDATA%\\sdm`). Nodes of a cluster may share it. Where it cannot be written, as with a read-only home, every
  process compiles again.
- `SDM_THREADS`: the largest number of threads of a process, whatever `--threads` is. `sdm` sets it to 1 in its workers.
- `TMPDIR`: the folder of temporary files. Results are assembled next to the output folder, which needs the space.
- `OPENBLAS_NUM_THREADS`, `MKL_NUM_THREADS`, `OMP_NUM_THREADS`: the command sets them to 1, because the last digits of
  results depend on the number of threads. In Python, set them before numpy is imported.
- Variables of GDAL, such as `GDAL_CACHEMAX`, `GDAL_HTTP_HEADERS` and `AWS_ACCESS_KEY_ID`, apply to reading layers.
"""
BETA = """## Table of beta

Java Maxent's regularisation by feature class and number of presences, before the multiplier (`--beta maxent`). Values
between the columns are interpolated linearly; beyond the last one they are constant. The weight of a feature is
`multiplier · max(table · s/√m, 0.001)` ([rules](conventions.md#features-and-penalties)).
"""
TABLES = {
    "linear, without other classes": ("l", "l"),
    "linear and quadratic, without products": ("lq", "q"),
    "linear, quadratic and product": ("lqp", "p"),
    "hinge": ("h", "h"),
    "threshold": ("t", "t"),
    "category": ("c", "c"),
}
PRESENCES = (1, 10, 17, 30, 100)
"""Numbers of presences: the first one, and the knots of the tables."""
FLAGS_OF_JAVA = """## Flags of Java Maxent

`sdm maxent` accepts all flags of `maxent.jar` 3.4 ([Java Maxent](maxent.md)).
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
    return "\n".join([*parts, RUN_FILES, VARIABLES, BETA, beta_table(), FLAGS_OF_JAVA, flag_table()])


def beta_table() -> str:
    """Return the table of regularisation values, as the program uses it."""
    lines = [f"| feature classes of the model | {' | '.join(map(str, PRESENCES))} |", "|---" * 6 + "|"]
    for title, (letters, letter) in TABLES.items():
        values = (table_numbers(letters, m)[letter] for m in PRESENCES)
        lines.append(f"| {title} | {' | '.join(f'{value:.4g}' for value in values)} |")
    return "\n".join(lines) + "\n"


def flag_table() -> str:
    """Return the table of the flags of maxent.jar."""
    lines = ["| flag | short | default | effect in `sdm maxent` |", "|---|---|---|---|"]
    for flag in FLAGS.values():
        short = " ".join(f"`-{letter}`" for letter in flag.short)
        default = str(flag.default).lower() if isinstance(flag.default, bool) else str(flag.default)
        before = {ACTS: "", IGNORED: "no effect: ", WARNED: "no effect, with a warning: "}[flag.does]
        lines.append(f"| `{flag.name}` | {short} | {default and f'`{default}`'} | {before}{flag.text} |")
    return "\n".join(lines) + "\n"


def command_parts(command: Any, name: str) -> Iterator[list[str]]:
    """Yield the text about each command: its purpose, its arguments and options, and examples."""
    if hasattr(command, "commands"):
        for inner in sorted(command.commands):
            yield from command_parts(command.commands[inner], f"{name} {inner}")
        return
    examples = re.findall(r"^ +(sdm .*)$", command.help or "", re.MULTILINE)
    lines = [f"### {name}\n", _prose(re.sub(r"Examples?:\n\n( +.*\n*)+", "", command.help or "")) + "\n"]
    own = [each for each in command.params if each.name not in RUN and each.name not in COMMON]
    if own:
        lines += [
            "| argument or option | values | default | meaning |",
            "|---|---|---|---|",
            *(f"| {_names(each)} | {_own_values(each)} | {_own_default(each)} | {_cell(each.help)} |" for each in own),
            "",
        ]
    taken = [each.opts[-1] for each in command.params if each.name in RUN]
    if taken:
        which = "" if len(taken) == len(RUN) else f": {', '.join(f'`{word}`' for word in taken)}"
        lines += [f"It also has [options of a run](#options-of-a-run){which}.\n"]
    if examples:
        lines += ["```text", *examples, "```", ""]
    yield lines


def option_table(options: list[Leaf]) -> str:
    """Return a table of options: names, values, defaults, meanings, and names in other programs."""
    rows = ["| option | values | default | meaning | in Java Maxent, in R |", "|---|---|---|---|---|"]
    for leaf in options:
        java = java_names(leaf)
        short = leaf.name if leaf.name in leaf.spellings else leaf.shown
        aliases = dict.fromkeys([short, *leaf.aliases])
        others = ", ".join(f"`--{each.replace('_', '-')}`" for each in aliases if each not in (leaf.shown, *java))
        meaning = _cell(str(leaf.field.description)) + (f" Also: {others}." if others else "") + _kinds(leaf)
        name = f"`--{leaf.shown.replace('_', '-')}`<br>`{leaf.dotted}`"
        theirs = "; ".join(filter(None, [", ".join(f"`{word}`" for word in java), IN_R.get(leaf.dotted, "")]))
        rows.append(f"| {name} | {_values(leaf)} | {_default(leaf)} | {meaning} | {theirs} |")
    return "\n".join(rows)


def java_names(leaf: Leaf) -> list[str]:
    """Return the names of an option in Java Maxent."""
    return [word for word in dict.fromkeys([leaf.shown, *leaf.aliases]) if word in FLAGS and word != ANOTHER]


def _section_text(section: str) -> str:
    """Return the subject of a section, with a note if only one command has it."""
    text = str(SECTIONS[section].__doc__).split("\n")[0] if section else "Options of the whole run."
    return f"{text} For one command only." if section in OF_ONE else text


def _values(leaf: Leaf) -> str:
    words = "on/off" if leaf.flag else value_words(leaf)
    several = ", several" if leaf.multiple and "…" not in words else ""
    return " \\| ".join(f"`{word}`" for word in words.split("|")) + several


def _default(leaf: Leaf) -> str:
    default = leaf.field.get_default()
    if default in (None, [], {}):
        return ""
    if leaf.flag:
        return "on" if default else "off"
    return f"`{','.join(map(str, default))}`" if isinstance(default, list) else f"`{default}`"


def _kinds(leaf: Leaf) -> str:
    """Return the kinds of models with an option, unless all have it."""
    kinds = [kind for kind in APPLIES if applies(leaf, kind)]
    return f" *({', '.join(kinds)})*" if len(kinds) < len(APPLIES) and leaf.section not in OF_ONE else ""


def _names(parameter: Any) -> str:
    """Return the names of a parameter of a command."""
    if parameter.param_type_name == "argument":
        return " \\| ".join(f"`{word.strip()}`" for word in (parameter.metavar or parameter.name.upper()).split("|"))
    return ", ".join(f"`{word}`" for word in (*parameter.opts, *parameter.secondary_opts))


def _own_values(parameter: Any) -> str:
    """Return the values of a parameter of a command, which no run has."""
    if parameter.param_type_name == "argument":
        return "required" if parameter.required else ""
    if parameter.is_flag:
        return "on/off" if parameter.secondary_opts else ""
    words = " \\| ".join(f"`{word}`" for word in str(parameter.metavar or parameter.type.name.upper()).split("|"))
    return f"{words}, required" if parameter.required else words


def _own_default(parameter: Any) -> str:
    """Return the default of a parameter of a command; its help names one that depends on other options."""
    default = parameter.default
    if parameter.param_type_name == "option" and parameter.is_flag:
        return "on" if default and parameter.secondary_opts else ""
    simple = isinstance(default, (str, int, float)) and not isinstance(default, bool) and default != ""
    return f"`{default}`" if simple else ""


def _cell(text: str | None) -> str:
    return _prose(text or "").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


def _prose(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")).strip()


if __name__ == "__main__":
    main()
