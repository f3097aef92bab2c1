"""The command line of maxent.jar (3.4.4): a table of its flags, its words read as Java Maxent reads them, and a `java`.

`ACTS`: the flag does what it does in Java Maxent. `IGNORED`: it concerns the window, pictures or the speed of Java
Maxent; results do not depend on it. `WARNED`: it has no use, for the reason that is given; a value that differs from
the default is said in a warning, and results can differ.
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

FlagValue = str | int | float  # a truth value is an int


@dataclass(frozen=True)
class JavaFlag:
    """One flag: its name in small letters, its default (whose type is the type of its values), and what happens."""

    name: str
    default: FlagValue
    does: str
    text: str
    short: str = ""  # letters, each of which stands for it
    words: tuple[str, ...] = ()  # its values, if there are few; each may also stand alone, as in Java Maxent


_flag = JavaFlag


FLAGS: dict[str, JavaFlag] = {
    flag.name: flag
    for flag in (
        # What is read, and where results go
        _flag("samplesfile", "", ACTS, "the occurrence file, also samples with data (SWD)", "s"),
        _flag("environmentallayers", "", ACTS, "the folder of layers, or the background as a table (SWD)", "e"),
        _flag("outputdirectory", "", ACTS, "the folder of the results; results of sdm itself go to `sdm/` in it", "o"),
        _flag("projectionlayers", "", ACTS, "folders or tables (SWD) to project to, commas between them", "j"),
        _flag("testsamplesfile", "", ACTS, "test records", "T"),
        _flag("biasfile", "", ACTS, "sampling effort, which is divided out (`bias_treatment: prior`)"),
        _flag("biastype", 0, ACTS, "type of the bias file: 3 effort as the prior, 7 as debiasaverages; 0: 3"),
        _flag("factorbiasout", "", ACTS, "the same as biasfile"),
        _flag("priordistribution", "", ACTS, "the same as biasfile, as in Java Maxent 3.4"),
        _flag("debiasaverages", "", ACTS, "sampling effort; records count by one over it (`bias_treatment: records`)"),
        _flag("nodata", -9999, ACTS, "a value that means no data", "n"),
        _flag("togglelayertype", "", ACTS, "layers whose names begin so are categories; may be repeated", "t"),
        _flag("togglelayerselected", "", ACTS, "layers whose names begin so are excluded; may be repeated", "N"),
        _flag("togglespeciesselected", "", ACTS, "species whose names begin so are excluded; may be repeated", "E"),
        _flag("prefixes", True, ACTS, "whether the three flags before take beginnings of names, or whole names"),
        _flag("nceas", False, ACTS, "tables have the species in column 2, x and y in 5 and 6, variables from 8", "f"),
        _flag("removeduplicates", True, ACTS, "one record per cell, or per place in a table"),
        _flag("askoverwrite", True, ACTS, "if it is off, existing results are replaced; there is no dialogue", "r"),
        _flag("skipifexists", False, ACTS, "species that have results are skipped", "S"),
        # The model
        _flag("autofeature", True, ACTS, "feature classes by the number of training records", "A"),
        _flag("linear", True, ACTS, "linear features", "l"),
        _flag("quadratic", True, ACTS, "quadratic features", "q"),
        _flag("product", True, ACTS, "product features", "p"),
        _flag("hinge", True, ACTS, "hinge features", "h"),
        _flag("threshold", False, ACTS, "threshold features"),
        _flag("l2lqthreshold", 10, ACTS, "records from which autofeature takes quadratic features"),
        _flag("hingethreshold", 15, ACTS, "records from which autofeature takes hinge features"),
        _flag("lq2lqptthreshold", 80, ACTS, "records from which autofeature takes product and threshold features"),
        _flag("betamultiplier", 1.0, ACTS, "the regularisation multiplier", "b"),
        _flag("beta_lqp", -1.0, ACTS, "regularisation of linear, quadratic, product features; negative: by the table"),
        _flag("beta_hinge", -1.0, ACTS, "regularisation of hinge features; negative: 0.5"),
        _flag("beta_threshold", -1.0, ACTS, "regularisation of threshold features; negative: by the table"),
        _flag("beta_categorical", -1.0, ACTS, "regularisation of categories; negative: by the table"),
        _flag("dosqrtcat", False, ACTS, "categories: √(regularisation of linear features · a table of its own)"),
        _flag("maximumbackground", 10_000, ACTS, "background points", "MB"),
        _flag("addsamplestobackground", True, ACTS, "presences that are not in the background join it", "d"),
        _flag("addallsamplestobackground", False, ACTS, "all presences join the background"),
        _flag("allowpartialdata", False, ACTS, "records with some missing values are kept; values are imputed"),
        _flag("maximumiterations", 500, ACTS, "most rounds of sdm's solver, which needs about ten", "m"),
        _flag("convergencethreshold", 0.00001, ACTS, "the largest duality gap, in nats", "c"),
        _flag("randomseed", False, ACTS, "another seed in every run"),
        _flag("defaultprevalence", 0.5, ACTS, "the prevalence of the logistic scale"),
        # Tests
        _flag("randomtestpoints", 0, ACTS, "percentage of records for testing", "X"),
        _flag("replicates", 1, ACTS, "number of replicates"),
        _flag("replicatetype", "crossvalidate", ACTS, "how replicates are made", "", REPLICATE_KINDS),
        _flag("manualreplicates", False, ACTS, "replicates are species in the file, called `<species>_0`, `_1`, …"),
        _flag("jackknife", False, ACTS, "fits without each variable, and with each alone", "J"),
        # Maps and tables
        _flag("outputformat", "cloglog", ACTS, "the scale of the maps", "", SCALE_WORDS),
        _flag("outputfiletype", "asc", ACTS, "the format of the maps; mxe is written as asc", "", FILE_TYPES),
        _flag("outputgrids", True, ACTS, "whether maps are written, also for every replicate", "x"),
        _flag("doclamp", True, ACTS, "variables are held at the limits of their training ranges"),
        _flag("extrapolate", True, ACTS, "if it is off, cells outside the training range have no value"),
        _flag("fadebyclamping", False, ACTS, "predictions are reduced by the effect of clamping"),
        _flag("minclamping", False, ACTS, "variables are held only where that lowers the prediction"),
        _flag("writeclampgrid", True, ACTS, "the effect of clamping on projections: `_clamping`"),
        _flag("writemess", True, ACTS, "novelty of projections: `_novel`, `_novel_limiting`"),
        _flag("applythresholdrule", "", ACTS, "also a map of presence and absence, by the full name of a rule"),
        _flag("responsecurves", False, ACTS, "response curves in `plots/`", "P"),
        _flag("responsecurvesexponent", False, ACTS, "response curves show the exponent, from 0 at their left end"),
        _flag("writeplotdata", False, ACTS, "response curves as tables: `plots/<species>_<variable>.dat`, `_only.dat`"),
        _flag("pictures", True, ACTS, "pictures of maps in `plots/`"),
        _flag("writebackgroundpredictions", False, ACTS, "predictions at background points"),
        _flag("perspeciesresults", False, ACTS, "also one table per species, `<species>Results.csv`"),
        _flag("appendtoresultsfile", False, ACTS, "rows are added to `maxentResults.csv`"),
        _flag("logfile", "maxent.log", ACTS, "the name of the log in the output folder"),
        _flag("threads", 1, ACTS, "threads for maps, and for models of 100,000 cells or more"),
        _flag("printversion", False, ACTS, "print the version and end"),
        # What sdm does not repeat
        _flag("polyhedral", False, WARNED, "(v − v²)/4 is a weighted sum of the linear and the quadratic feature"),
        _flag("biasisbayesianprior", False, WARNED, "maps of Java Maxent 3.4 do not have the prior either"),
        # The window, pictures and speed of Java Maxent
        _flag("autorun", False, IGNORED, "sdm always begins at once", "a"),
        _flag("visible", True, IGNORED, "sdm has no window", "z"),
        _flag("warnings", True, IGNORED, "warnings are printed"),
        _flag("tooltips", True, IGNORED, "sdm has no window"),
        _flag("verbose", False, IGNORED, "the log has the notes of the run", "v"),
        _flag("logscale", True, IGNORED, "pictures have one scale"),
        _flag("adjustsampleradius", 0, IGNORED, "points of pictures have one size"),
        _flag("plots", True, IGNORED, "pictures of the page are always written"),
        _flag("givemaxaucestimate", True, IGNORED, "the page does not have it"),
        _flag("cache", True, IGNORED, "sdm needs no copies of the layers"),
        _flag("cachefeatures", True, IGNORED, "sdm chooses itself what it keeps in memory"),
        _flag("parallelupdatefrequency", 30, IGNORED, "it is of Java Maxent's algorithm"),
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
    """The values of all flags, those that were given, and what is to be said of them."""

    values: Numbers = field(default_factory=lambda: {flag.name: flag.default for flag in FLAGS.values()})
    given: dict[str, FlagValue] = field(default_factory=dict)
    toggles: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in TOGGLES})

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def set(self, flag: JavaFlag, value: FlagValue) -> None:
        """Give a flag a value of its type."""
        if flag.name in self.toggles:
            self.toggles[flag.name].append(str(value))
        else:
            self.values[flag.name] = value
        self.given[flag.name] = value

    @property
    def warnings(self) -> list[str]:
        """What was asked for and is not done."""
        changed = [FLAGS[name] for name, value in self.given.items() if value != FLAGS[name].default]
        return [f"{flag.name}={_shown(self.given[flag.name])} has no effect: {flag.text}"
                for flag in changed if flag.does == WARNED]  # fmt: skip

    @property
    def ignored(self) -> list[str]:
        """The flags that were given, of which results do not depend."""
        return [name for name in self.given if FLAGS[name].does == IGNORED]


def read_command(words: Sequence[str]) -> JavaCommand:
    """Read the words of a command of maxent.jar.

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
                command.set(flag, not command[flag.name])  # as Java Maxent: a short form turns it round
            elif not rest or not _set(command, flag, rest.pop(0)):
                wrong.append(word)
        elif word.startswith("-") or not _read_word(command, word):
            wrong.append(word)
    if wrong:
        listed = ", ".join(f"'{word}'" for word in wrong)
        raise UnknownOptionError(f"{listed}: unknown flags of Java Maxent; expected flags such as betamultiplier=2")
    return command


def _read_word(command: JavaCommand, word: str) -> bool:
    """Take one word that is no short form; return whether it was understood."""
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
    """Give a flag the value that a text means; return whether it means one."""
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


_SCRIPT = Path(__file__).with_name("java.sh")  # what `sdm maxent --shim` writes


def write_shim(folder: Path, *, overwrite: bool = False) -> Path:
    """Write the program `java` into a folder, which must be there; nothing else is touched.

    With that folder first on the PATH, `java -jar maxent.jar …` runs `sdm maxent …`.
    """
    if not folder.is_dir():
        raise OutputError(f"the folder {folder} does not exist: create it first")
    script = _SCRIPT.read_text(encoding="utf-8").replace("{python}", shlex.quote(sys.executable))
    place = write_text(folder / "java", script, overwrite=overwrite)
    os.chmod(place, 0o755)  # noqa: S103 - a program that others may run
    return place
