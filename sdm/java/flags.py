"""The command line of maxent.jar (3.4.4): the table of its flags, its parser, and a script `java`.

`ACTS`: the flag has the same effect as in Java Maxent. `IGNORED`: it concerns the window, pictures or the speed of Java
Maxent, and does not change results. `WARNED`: it has no effect for the stated reason, and results can differ; a value
other than the default gives a warning.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sdm.errors import OutputError, UnknownOptionError
from sdm.storage.files import write_text
from sdm.types import Numbers

ACTS, IGNORED, WARNED = "acts", "ignored", "warned"
SCALE_WORDS = ("cloglog", "logistic", "cumulative", "raw")
FILE_TYPES = ("asc", "mxe", "grd", "bil")
REPLICATE_KINDS = ("crossvalidate", "bootstrap", "subsample")

FlagValue = str | int | float  # booleans are integers


@dataclass(frozen=True)
class JavaFlag:
    """A flag: its name in lower case, its default (whose type is the type of its values), and its effect."""

    name: str
    default: FlagValue
    does: str
    text: str
    short: str = ""  # letters of its short forms
    words: tuple[str, ...] = ()  # its values, if they are few; each is also a word of its own, as in Java Maxent


_flag = JavaFlag


FLAGS: dict[str, JavaFlag] = {
    flag.name: flag
    for flag in (
        # Inputs and results
        _flag("samplesfile", "", ACTS, "occurrence file, or samples with data (SWD)", "s"),
        _flag("environmentallayers", "", ACTS, "folder of layers, or table of background points (SWD)", "e"),
        _flag("outputdirectory", "", ACTS, "folder of the results; results of sdm are in its subfolder `sdm/`", "o"),
        _flag("projectionlayers", "", ACTS, "folders or tables (SWD) to project to, separated by commas", "j"),
        _flag("testsamplesfile", "", ACTS, "test records", "T"),
        _flag("biasfile", "", ACTS, "raster of sampling effort, used as prior (`bias_treatment: prior`)"),
        _flag("biastype", 0, ACTS, "treatment of the bias file: 3 is prior, 7 is debiasaverages; 0 is 3"),
        _flag("factorbiasout", "", ACTS, "same as biasfile"),
        _flag("priordistribution", "", ACTS, "same as biasfile, as in Java Maxent 3.4"),
        _flag("debiasaverages", "", ACTS, "effort; records are weighted by its inverse (`bias_treatment: records`)"),
        _flag("nodata", -9999, ACTS, "nodata value", "n"),
        _flag("togglelayertype", "", ACTS, "prefix of categorical layers; may be repeated", "t"),
        _flag("togglelayerselected", "", ACTS, "prefix of excluded layers; may be repeated", "N"),
        _flag("togglespeciesselected", "", ACTS, "prefix of excluded species; may be repeated", "E"),
        _flag("prefixes", True, ACTS, "whether the toggle flags take prefixes or full names"),
        _flag("nceas", False, ACTS, "tables have the species in column 2, x and y in 5 and 6, variables from 8", "f"),
        _flag("removeduplicates", True, ACTS, "one record per cell, or per coordinate pair in a table"),
        _flag("askoverwrite", True, ACTS, "if off, existing results are replaced; there is no dialogue", "r"),
        _flag("skipifexists", False, ACTS, "skip species with results", "S"),
        # Model
        _flag("autofeature", True, ACTS, "feature classes by the number of training records", "A"),
        _flag("linear", True, ACTS, "linear features", "l"),
        _flag("quadratic", True, ACTS, "quadratic features", "q"),
        _flag("product", True, ACTS, "product features", "p"),
        _flag("hinge", True, ACTS, "hinge features", "h"),
        _flag("threshold", False, ACTS, "threshold features"),
        _flag("l2lqthreshold", 10, ACTS, "training records for quadratic features by autofeature"),
        _flag("hingethreshold", 15, ACTS, "training records for hinge features by autofeature"),
        _flag("lq2lqptthreshold", 80, ACTS, "training records for product and threshold features by autofeature"),
        _flag("betamultiplier", 1.0, ACTS, "regularisation multiplier", "b"),
        _flag("beta_lqp", -1.0, ACTS, "regularisation of linear, quadratic, product features; negative: default table"),
        _flag("beta_hinge", -1.0, ACTS, "regularisation of hinge features; negative: 0.5"),
        _flag("beta_threshold", -1.0, ACTS, "regularisation of threshold features; negative: default table"),
        _flag("beta_categorical", -1.0, ACTS, "regularisation of categories; negative: default table"),
        _flag("dosqrtcat", False, ACTS, "regularisation of categories: √(linear one · a second table)"),
        _flag("maximumbackground", 10_000, ACTS, "number of background points", "MB"),
        _flag("addsamplestobackground", True, ACTS, "add presences in other cells to the background", "d"),
        _flag("addallsamplestobackground", False, ACTS, "add all presences to the background"),
        _flag("allowpartialdata", False, ACTS, "keep records with missing values of some variables, and impute them"),
        _flag("maximumiterations", 500, ACTS, "maximum number of iterations; the solver of sdm needs about ten", "m"),
        _flag("convergencethreshold", 0.00001, ACTS, "largest duality gap, in nats", "c"),
        _flag("randomseed", False, ACTS, "another seed in every run"),
        _flag("defaultprevalence", 0.5, ACTS, "prevalence of the logistic scale"),
        # Tests
        _flag("randomtestpoints", 0, ACTS, "percentage of test records", "X"),
        _flag("replicates", 1, ACTS, "number of replicates"),
        _flag("replicatetype", "crossvalidate", ACTS, "type of replicates", "", REPLICATE_KINDS),
        _flag("manualreplicates", False, ACTS, "replicates are species of the file, called `<species>_0`, `_1`, …"),
        _flag("jackknife", False, ACTS, "fit without each variable, and with each variable alone", "J"),
        # Maps and tables
        _flag("outputformat", "cloglog", ACTS, "scale of the maps", "", SCALE_WORDS),
        _flag("outputfiletype", "asc", ACTS, "format of the maps; mxe is written as asc", "", FILE_TYPES),
        _flag("outputgrids", True, ACTS, "write maps, also of every replicate", "x"),
        _flag("doclamp", True, ACTS, "clamp variables to their training ranges"),
        _flag("extrapolate", True, ACTS, "if off, cells outside the training range are nodata"),
        _flag("fadebyclamping", False, ACTS, "subtract the effect of clamping from predictions"),
        _flag("minclamping", False, ACTS, "clamp only where this decreases the prediction"),
        _flag("writeclampgrid", True, ACTS, "map of the effect of clamping for projections: `_clamping`"),
        _flag("writemess", True, ACTS, "novelty of projections: `_novel`, `_novel_limiting`"),
        _flag("applythresholdrule", "", ACTS, "also map presence and absence, by the full name of a threshold rule"),
        _flag("responsecurves", False, ACTS, "response curves in `plots/`", "P"),
        _flag("responsecurvesexponent", False, ACTS, "response curves of the exponent, from 0 at their left end"),
        _flag("writeplotdata", False, ACTS, "tables of response curves: `plots/<species>_<variable>.dat`, `_only.dat`"),
        _flag("pictures", True, ACTS, "pictures of maps in `plots/`"),
        _flag("writebackgroundpredictions", False, ACTS, "predictions at background points"),
        _flag("perspeciesresults", False, ACTS, "also one table per species, `<species>Results.csv`"),
        _flag("appendtoresultsfile", False, ACTS, "append rows to `maxentResults.csv`"),
        _flag("logfile", "maxent.log", ACTS, "name of the log in the output folder"),
        _flag("threads", 1, ACTS, "threads for maps, and for models of 100,000 cells or more"),
        _flag("printversion", False, ACTS, "print the version, and exit"),
        # Not supported
        _flag("polyhedral", False, WARNED, "(v − v²)/4 is a weighted sum of the linear and the quadratic feature"),
        _flag("biasisbayesianprior", False, WARNED, "maps of Java Maxent 3.4 exclude the prior too"),
        # Window, pictures and speed of Java Maxent
        _flag("autorun", False, IGNORED, "sdm always starts at once", "a"),
        _flag("visible", True, IGNORED, "sdm has no window", "z"),
        _flag("warnings", True, IGNORED, "warnings are printed"),
        _flag("tooltips", True, IGNORED, "sdm has no window"),
        _flag("verbose", False, IGNORED, "the log contains the notes of the run", "v"),
        _flag("logscale", True, IGNORED, "pictures have one scale"),
        _flag("adjustsampleradius", 0, IGNORED, "points in pictures have one size"),
        _flag("plots", True, IGNORED, "figures of the HTML report are always written"),
        _flag("givemaxaucestimate", True, IGNORED, "the HTML report does not contain it"),
        _flag("cache", True, IGNORED, "sdm needs no copies of the layers"),
        _flag("cachefeatures", True, IGNORED, "sdm manages its memory itself"),
        _flag("parallelupdatefrequency", 30, IGNORED, "it belongs to the algorithm of Java Maxent"),
        _flag("scientificpattern", "#.#####E0", IGNORED, "grids have seven digits"),
    )
}  # fmt: skip
"""All flags, by name."""

SHORT: dict[str, JavaFlag] = {letter: flag for flag in FLAGS.values() for letter in flag.short}
"""Flags by their short form, such as `e` for `-e`."""


TOGGLES = ("togglelayertype", "togglelayerselected", "togglespeciesselected")
_OFF = ("no", "dont")
_WORDS = {word: flag for flag in FLAGS.values() for word in flag.words}
_TRUTH = {"true": True, "false": False}


@dataclass
class JavaCommand:
    """The values of all flags, and the values in the command."""

    values: Numbers = field(default_factory=lambda: {flag.name: flag.default for flag in FLAGS.values()})
    typed: dict[str, FlagValue] = field(default_factory=dict)
    toggles: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in TOGGLES})

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def set(self, flag: JavaFlag, value: FlagValue) -> None:
        """Set a flag to a value of its type."""
        if flag.name in self.toggles:
            self.toggles[flag.name].append(str(value))
        else:
            self.values[flag.name] = value
        self.typed[flag.name] = value

    @property
    def warnings(self) -> list[str]:
        """Warnings for flags without effect."""
        changed = [FLAGS[name] for name, value in self.typed.items() if value != FLAGS[name].default]
        return [f"{flag.name}={_shown(self.typed[flag.name])} has no effect: {flag.text}"
                for flag in changed if flag.does == WARNED]  # fmt: skip

    @property
    def ignored(self) -> list[str]:
        """The typed flags that do not change results."""
        return [name for name in self.typed if FLAGS[name].does == IGNORED]


def read_command(words: Sequence[str]) -> JavaCommand:
    """Parse the words of a command of maxent.jar.

    Raises
    ------
    OptionError
        If a word is no flag of Java Maxent, or has a value that makes no sense; all such words are named.
    """
    command, wrong, rest = JavaCommand(), list[str](), list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-") and len(word) == 2 and word[1] in SHORT:
            flag = SHORT[word[1]]
            if isinstance(flag.default, bool):
                command.set(flag, not command[flag.name])  # a short form inverts the default, as in Java Maxent
            elif not rest or not _set(command, flag, rest.pop(0)):
                wrong.append(word)
        elif word.startswith("-") or not _read_word(command, word):
            wrong.append(word)
    if wrong:
        listed = ", ".join(f"'{word}'" for word in wrong)
        raise UnknownOptionError(f"{listed}: unknown flags of Java Maxent; expected flags such as betamultiplier=2")
    return command


def _read_word(command: JavaCommand, word: str) -> bool:
    """Parse a word that is not a short form; return whether it is valid."""
    key, sign, value = word.partition("=")
    key = key.lower()
    if sign:
        return key in FLAGS and _set(command, FLAGS[key], value)
    if key == "redoifexists":
        key = "noaskoverwrite"
    if key in FLAGS and isinstance(FLAGS[key].default, bool):
        command.set(FLAGS[key], True)
        return True
    for off in _OFF:
        name = key.removeprefix(off)
        if name != key and name in FLAGS and isinstance(FLAGS[name].default, bool):
            command.set(FLAGS[name], False)
            return True
    if key in _WORDS:
        command.set(_WORDS[key], key)
        return True
    return False


def _set(command: JavaCommand, flag: JavaFlag, text: str) -> bool:
    """Set a flag to the value of a text; return whether it is valid."""
    text = text.strip()
    if isinstance(flag.default, bool):
        value: FlagValue | None = _TRUTH.get(text.lower())
    elif isinstance(flag.default, int | float):
        value = _number(text, type(flag.default))
    elif flag.words:
        value = text.lower() if text.lower() in flag.words else None
    else:
        value = text
    if value is None:
        return False
    command.set(flag, value)
    return True


def _number(text: str, kind: type[int] | type[float]) -> FlagValue | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return kind(number) if kind is float or number == round(number) else None


def _shown(value: FlagValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_SCRIPT = Path(__file__).with_name("java.sh")  # the script of `sdm maxent --shim`


def write_shim(folder: Path, *, overwrite: bool = False) -> Path:
    """Write the program `java` into an existing folder.

    If the folder is the first on the PATH, `java -jar maxent.jar …` runs `sdm maxent …`.
    """
    if not folder.is_dir():
        raise OutputError(f"the folder {folder} does not exist: create it first")
    script = _SCRIPT.read_text(encoding="utf-8").replace("{python}", shlex.quote(sys.executable))
    place = write_text(folder / "java", script, overwrite=overwrite)
    os.chmod(place, 0o755)  # noqa: S103 - a program that others may run
    return place
