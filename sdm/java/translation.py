"""Convert a command of maxent.jar to the options of a run."""

import csv
import io
import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sdm.assess.measures.thresholds import NAMES, TEST_NAMES
from sdm.data.records.textfile import TextTable
from sdm.errors import ColumnError, ConflictError, DuplicateNameError, MissingFileError, MissingInputError, OptionError
from sdm.java.flags import JavaCommand
from sdm.kinds.inputs import is_swd
from sdm.kinds.task import ModelResult
from sdm.maxent.penalty_weights import table_numbers
from sdm.options.definitions import RunOptions
from sdm.options.reading import make_options
from sdm.storage.files import safe_name, write_text
from sdm.types import Numbers

LAYER_ENDINGS = (".asc", ".tif", ".tiff", ".bil", ".grd", ".img", ".nc", ".flt", ".bip", ".bsq")
FOLDER = "sdm"  # results of sdm in the output folder: a folder per species
_LETTERS = {"linear": "l", "quadratic": "q", "product": "p", "hinge": "h", "threshold": "t"}
_SQUARE_ROOT = ((10, 17, 30), (0.2, 0.1, 0.05))
_BIAS_TYPES = {0: "prior", 3: "prior", 7: "records"}  # numbers of the types of a bias file
_BETAS = ("beta_lqp", "beta_hinge", "beta_threshold", "beta_categorical")
_FROM = {"q": "l2lqthreshold", "h": "hingethreshold", "p": "lq2lqptthreshold", "t": "lq2lqptthreshold"}


def run_options(command: JavaCommand) -> RunOptions:
    """Return the options of the run for a command.

    Raises
    ------
    OptionError
        If the occurrence file, the layers or the output folder is not given, or flags contradict each other.
    """
    for name in ("samplesfile", "environmentallayers", "outputdirectory"):
        if not command[name]:
            raise MissingInputError(f"{name} is missing: expected {name}=PLACE, as for maxent.jar")
    layers = command["environmentallayers"]
    table = is_swd([layers])
    effort, treatment = sampling_effort(command)
    values: Numbers = {
        "occurrences.file": command["samplesfile"],
        "occurrences.species": chosen_species(command),
        "occurrences.keep_duplicates": None if command["removeduplicates"] else True,
        "occurrences.partial": command["allowpartialdata"],
        "layers.files": [layers],
        "layers.categorical": sorted(_toggled(variable_names(layers), command, "togglelayertype")),
        "layers.exclude": sorted(_toggled(variable_names(layers), command, "togglelayerselected")),
        "layers.nodata": [str(command["nodata"])] if "nodata" in command.typed else None,
        "background.points": None if table else command["maximumbackground"],
        "background.bias": effort or None,
        "background.bias_treatment": treatment if effort else None,
        "fit.multiplier": command["betamultiplier"],
        "fit.tolerance": command.typed.get("convergencethreshold"),
        "fit.max_iterations": command.typed.get("maximumiterations"),
        "fit.add_presences": added_presences(command, table),
        "fit.quadratic_from": command["l2lqthreshold"],
        "fit.hinge_from": command["hingethreshold"],
        "fit.product_from": command["lq2lqptthreshold"],
        **{f"fit.{name}": command[name] if command[name] >= 0 else None for name in _BETAS},
        "test.contribution": "steps",
        "test.percent": None if tests_by_folds(command) else command["randomtestpoints"],
        "test.file": command["testsamplesfile"] or None,
        "test.jackknife": command["jackknife"],
        "predict.scale": command["outputformat"],
        "predict.extrapolation": extrapolation(command),
        "predict.prevalence": command["defaultprevalence"],
        "output.folder": str(_own_folder(command)),
        "output.overwrite": True,  # the folder belongs to sdm; files next to it were checked before
        "output.curves": command["responsecurves"],
        "output.curves_exponent": command["responsecurvesexponent"],
        "output.figures": ["png"],  # as in Java Maxent, for curves and jackknives
        "output.background_predictions": command["writebackgroundpredictions"],
        "output.map": not table and (command["outputgrids"] or command["replicates"] > 1),
        "output.map_picture": command["pictures"] and not table,
        "threads": command["threads"],
        "seed": time.time_ns() % 2**31 if command["randomseed"] else None,
    }
    if not feature_letters(command, 10**9):
        raise ConflictError("no feature class remains: expected at least one of linear, quadratic, product, hinge")
    return make_options({name: value for name, value in values.items() if value not in (None, [])})


def divides(command: JavaCommand) -> bool:
    """Return whether replicates are drawn from the records of a species, and not separate species in the file."""
    return bool(command["replicates"] > 1 and not command["manualreplicates"])


def tests_by_folds(command: JavaCommand) -> bool:
    """Return whether the run has no percentage of test records, because replicates draw them, or are folds."""
    return divides(command) or (command["replicates"] > 1 and command["replicatetype"] == "crossvalidate")


def sampling_effort(command: JavaCommand) -> tuple[str, str]:
    """Return the raster of sampling effort and its treatment; the raster is empty without effort. As in Java Maxent,
    the last of several flags is used."""
    effort, treatment = command["biasfile"], "prior"
    if effort and command["biastype"] not in _BIAS_TYPES:
        raise OptionError(
            f"biastype={command['biastype']}: expected 3 (the effort is the prior) or 7 (records are weighted by one "
            "over the effort); to use the raster as a variable, put it into the folder of layers"
        )
    treatment = _BIAS_TYPES.get(command["biastype"], treatment)
    for name, use in (("factorbiasout", "prior"), ("priordistribution", "prior"), ("debiasaverages", "records")):
        effort, treatment = (command[name], use) if command[name] else (effort, treatment)
    return effort, treatment


def added_presences(command: JavaCommand, table: bool) -> str:
    """Return the presences to add to the background: with layers those in other cells, with tables all."""
    if not command["addsamplestobackground"]:
        return "none"
    return "all" if table or command["addallsamplestobackground"] else "distinct"


def _own_folder(command: JavaCommand) -> Path:
    """Return the folder of the results of sdm. One species has a subfolder too."""
    names = chosen_species(command) or species_of_samples(command["samplesfile"])
    folder = Path(command["outputdirectory"]) / FOLDER
    return folder / safe_name(names[0]) if len(names) == 1 else folder


def extrapolation(command: JavaCommand) -> str:
    """Return the treatment of extrapolation."""
    if not command["extrapolate"]:
        return "none"
    if not command["doclamp"]:
        return "free"
    if command["fadebyclamping"] and command["minclamping"]:
        raise ConflictError("fadebyclamping and minclamping exclude each other: use one of them")
    return "fade" if command["fadebyclamping"] else "lower" if command["minclamping"] else "clamp"


def feature_letters(command: JavaCommand, records: int) -> str:
    """Return the feature classes for a number of training records, by the rules of Java Maxent."""
    allowed = [letter for name, letter in _LETTERS.items() if command[name]]
    if not command["autofeature"]:
        return "".join(allowed)
    return "".join(letter for letter in allowed if letter == "l" or records >= command[_FROM[letter]])


def square_root_beta(letters: str, records: int) -> float:
    """Return the regularisation of categories with `dosqrtcat`: the geometric mean of the one of linear features and of
    another table."""
    return math.sqrt(table_numbers(letters, records)["l"] * float(np.interp(records, *_SQUARE_ROOT)))


def threshold_key(text: str) -> str | None:
    """Return the key of a threshold rule from its full name in Java Maxent or its key; None for an empty text."""
    if not text:
        return None
    keys = {name.lower(): key for key, name in {**NAMES, **TEST_NAMES}.items()}
    key = keys.get(text.lower(), text.lower() if text.lower() in keys.values() else None)
    if key is None:
        names = "; ".join({**NAMES, **TEST_NAMES}.values())
        raise OptionError(f"applythresholdrule={text}: expected one of {names}")
    return key


def projections(command: JavaCommand) -> dict[str, str]:
    """Return the layers to project to, by the names of their results."""
    places = [place.strip() for place in command["projectionlayers"].split(",") if place.strip()]
    names = [Path(place).stem if is_swd([place]) else Path(place).name for place in places]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DuplicateNameError(f"two projection layers have the name '{twice[0]}': rename one of them")
    for place in places:
        if not Path(place).exists():
            raise MissingFileError(f"the projection layers {place} do not exist: check the path")
    return dict(zip(names, places))


def variable_names(layers: str) -> list[str]:
    """Return the names of the layers of a folder, or of the variables of a table of samples with data."""
    if is_swd([layers]):
        return list(TextTable(_file(layers)).header[3:])
    folder = Path(layers)
    if not folder.is_dir():
        raise MissingFileError(f"environmentallayers={layers} is neither a folder nor a table: check the path")
    return sorted({path.stem for path in folder.iterdir() if path.suffix.lower() in LAYER_ENDINGS})


def chosen_species(command: JavaCommand) -> list[str]:
    """Return the species that are not excluded by toggles; empty for all species."""
    if not command.toggles["togglespeciesselected"]:
        return []
    names = species_of_samples(command["samplesfile"])
    out = _toggled(names, command, "togglespeciesselected")
    if not (remaining := [name for name in names if name not in out]):
        raise ConflictError("togglespeciesselected excludes all species: use other prefixes of names")
    return remaining


def species_of_samples(samples: str) -> list[str]:
    """Return the species in the first column of an occurrence file, as in Java Maxent."""
    rows = TextTable(_file(samples)).texts()
    return list(dict.fromkeys(row[0].strip() for _, row in rows if row and row[0].strip()))


def _file(place: str) -> Path:
    if not Path(place).is_file():
        raise MissingFileError(f"{place} does not exist: check the path")
    return Path(place)


def _toggled(names: Sequence[str], command: JavaCommand, flag: str) -> set[str]:
    """Return the names that toggles select. A toggle inverts all names with its prefix, so that two cancel out."""
    out: set[str] = set()
    for word in command.toggles[flag]:
        out ^= _hit(names, word, command["prefixes"])
    return out


def _hit(names: Iterable[str], word: str, prefixes: bool) -> set[str]:
    """Return the names that a toggle matches; spaces and underscores are equal."""
    plain = word.replace(" ", "_")
    same = {name: name.replace(" ", "_") for name in names}
    return {name for name, text in same.items() if text == plain or (prefixes and text.startswith(plain))}


# Columns of species, x, y and the first variable in a file of the NCEAS group (Elith et al. 2006), from 0.
_SPECIES, _X, _Y, _FIRST = 1, 4, 5, 7
_REPLICATE = re.compile(r"(?P<base>.+)_(?P<number>\d+)$")


def with_plain_columns(command: JavaCommand) -> JavaCommand:
    """Return a command with tables of species, x, y and variables. With `nceas`, copies of the tables with these
    columns are written to the output folder.

    Raises
    ------
    DataError
        If a table does not exist, or has fewer columns.
    """
    if not command["nceas"]:
        return command
    values = dict(command.values)
    for name in ("samplesfile", "testsamplesfile", "environmentallayers"):
        source = Path(values[name])
        if values[name] and (name != "environmentallayers" or source.is_file()):
            values[name] = str(_write_plain(source, Path(command["outputdirectory"])))
    return replace(command, values=values)


def _write_plain(source: Path, folder: Path) -> Path:
    """Write a copy of a table in the NCEAS format with the usual columns."""
    if not source.is_file():
        raise MissingFileError(f"{source} does not exist: check the path")
    table = TextTable(source)
    if len(table.header) <= _Y:
        raise ColumnError(
            f"{source} has {len(table.header)} columns, and nceas needs the species in column {_SPECIES + 1}, x in "
            f"column {_X + 1} and y in column {_Y + 1}: remove nceas, or use such a file"
        )
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(["species", "x", "y", *table.header[_FIRST:]])
    for _, row in table.texts():
        writer.writerow([row[_SPECIES], row[_X], row[_Y], *row[_FIRST:]])
    folder.mkdir(parents=True, exist_ok=True)
    return write_text(folder / f"{source.stem}_columns.csv", made.getvalue(), overwrite=True)


def replicates_by_name(models: dict[str, ModelResult], count: int) -> dict[str, list[ModelResult]]:
    """Group models of `<species>_0`, `<species>_1`, … by species (`manualreplicates`). Species without all `count`
    replicates remain separate."""
    if count < 2:
        return {name: [model] for name, model in models.items()}
    numbers = {name: _REPLICATE.fullmatch(name) for name in models}
    bases = dict.fromkeys(match["base"] for match in numbers.values() if match)
    complete = {base: [f"{base}_{k}" for k in range(count)] for base in bases}
    complete = {base: names for base, names in complete.items() if all(name in models for name in names)}
    taken = {name for names in complete.values() for name in names}
    gathered = {base: [models[name] for name in names] for base, names in complete.items()}
    return gathered | {name: [models[name]] for name in models if name not in taken}
