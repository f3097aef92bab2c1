"""Presence and absence in a column of the records: `sdm fit --response` is `sdm classify`, two classes a species."""

import logging
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sdm.commit import claim, staging_species
from sdm.data.records.columns import SPECIES, first_of, named_column, species_column
from sdm.data.records.occurrences import ABSENT, Occurrences, as_text, read_occurrences
from sdm.data.records.textfile import SAMPLE_ROWS
from sdm.errors import DataError, OptionError
from sdm.files import output_folder, refuse_existing, safe_names, write_text
from sdm.options.classes import ClassifyOptions, make_classify_options
from sdm.options.definitions import RunOptions
from sdm.options.reading import leaves
from sdm.report.tables import table_text
from sdm.types import Progress
from sdm.workflow.classes.fitting import ClassifyResult, classify
from sdm.workflow.classes.inputs import listed
from sdm.workflow.run import TABLES
from sdm.workflow.several import each_species
from sdm.workflow.species.inputs import check_species

log = logging.getLogger("sdm")

# Options of a fit that mean the same to classes, under the name that they have there.
SAME = {
    "occurrences.file": "records", "occurrences.response": "class_column", "occurrences.crs": "crs",
    "occurrences.x_column": "x_column", "occurrences.y_column": "y_column",
    "occurrences.site_column": "site_column", "occurrences.snap": "snap",
    "occurrences.keep_duplicates": "keep_duplicates", "layers.files": "layers", "layers.categorical": "categorical",
    "layers.nodata": "nodata", "layers.align": "align", "background.area": "study_area", "fit.features": "features",
    "fit.multiplier": "multiplier", "fit.regularization": "regularization", "fit.entropy": "entropy",
    "fit.knots": "knots", "fit.beta": "beta", "fit.tolerance": "tolerance", "fit.max_iterations": "max_iterations",
    "fit.smoothing": "smoothing", "fit.ratio": "ratio", "test.percent": "test_percent", "test.folds": "folds",
    "predict.clamp": "clamp", "predict.projections": "projections", "output.folder": "folder",
    "output.overwrite": "overwrite", "output.curves": "curves", "output.map": "map",
    "output.report": "report", "fit.price_folds": "price_folds", "seed": "seed", "threads": "threads",
}  # fmt: skip
# Options that are read here, or say nothing of the model.
READ = ("occurrences.species", "occurrences.species_column", "fit.model", "fit.families", "fit.lam")


@dataclass
class ResponseRuns:
    """The runs of classes that a fit with a response stands for, by species; why others fail; what is to be said."""

    options: dict[str, ClassifyOptions] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


@dataclass
class ResponseResult:
    """A finished run: what became of every species (its result, or why it failed), and what the user should be told."""

    folder: Path
    species: dict[str, ClassifyResult | str]
    notices: list[str]
    index: Path | None = None

    @property
    def failed(self) -> dict[str, str]:
        """The species that could not be fitted, and why."""
        return {name: found for name, found in self.species.items() if isinstance(found, str)}


def run_response(options: RunOptions, *, command: str = "", progress: Progress | None = None) -> ResponseResult:
    """Fit presence and absence of every species of the options' file, or of those that were named.

    As of `sdm.workflow.run.run`, results of a single species lie in the output folder itself; of several, in a folder
    each, beside a summary, and one that fails does not stop the others.

    Raises
    ------
    SdmError
        For what concerns the whole run, or the only species. With several species a failure is in the result.
    """
    target = output_folder(options.output.folder)
    refuse_existing(target, overwrite=options.output.overwrite)
    runs = response_runs(options)
    for notice in runs.notices:
        log.info(notice)
    names = [*runs.options, *runs.failures]
    if len(names) == 1:
        if runs.failures:
            raise DataError(runs.failures[names[0]])
        found = classify(runs.options[names[0]], command=command, progress=progress)
        return ResponseResult(target, {names[0]: found}, runs.notices)

    def work(name: str, folder: Path) -> ClassifyResult:
        own = runs.options[name].model_copy(update={"folder": str(folder)})
        return classify(own, command=command, progress=progress)

    folders, overwrite = safe_names(names, taken=TABLES), options.output.overwrite
    planned = [*TABLES, *(f"{name}/" for name in folders.values())]
    with (
        claim(target, overwrite=overwrite),
        staging_species(target, overwrite=overwrite, planned=planned) as place,
    ):
        every = each_species({name: place / folders[name] for name in names}, work, failures=runs.failures)
        species = {n: f if isinstance(f, str) else replace(f, folder=target / folders[n]) for n, f in every.items()}
        result = ResponseResult(target, species, runs.notices)
        rows = [_summary_row(name, found) for name, found in result.species.items()]
        write_text(place / "summary.csv", table_text(rows), overwrite=True)
        if options.output.report:
            from sdm.report.pages.index import write_index

            result.index = target / write_index(place).name
    return result


def _summary_row(name: str, found: ClassifyResult | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {"species": name, "status": "failed", "folder": "", "error": found}
    n = found.numbers
    kind, best = list(n["measures"].items())[-1]
    return {
        "species": name,
        "status": n["status"],
        "sites": n["sites"],
        "features_with_weight": n["features_with_weight"],
        "tested_on": kind,
        "auc": best["mean_auc"],
        "log_loss": best["log_loss"],
        "constant_log_loss": best["constant_log_loss"],
        "multiplier": n["multiplier"],
        "kappa": best["kappa"],
        "gap": n["gap"],
        "folder": found.folder.name,
        "error": "",
    }


def response_runs(options: RunOptions) -> ResponseRuns:
    """Return the run of classes of every species that a fit with a response column stands for.

    Raises
    ------
    OptionError
        For options that concern a background, or anything else that presence and absence do not have; for a column
        that holds something else; for a species that is not in the file.
    """
    common = _chosen(options) | _structural(options)
    own = options.occurrences
    if own.file is None:
        raise OptionError("no occurrence file: give it first, as in 'sdm fit survey.csv layers/ --response presence'")
    if not options.layers.files:
        raise OptionError("no layers: presence and absence need a folder of them, after the occurrence file")
    records = read_occurrences(
        own.file,
        crs=own.crs,
        species_column=own.response,
        x_column=own.x_column,
        y_column=own.y_column,
        columns=[own.species_column] if own.species_column else SPECIES,
    )
    source = Path(records.source).name
    check_presence(records, str(own.response), source)
    runs = ResponseRuns()
    column = _species_column(records, own.species_column, source, runs.notices)
    if column is None:
        names = np.full(len(records), Path(records.source).stem)
    else:
        names = as_text(records.extra[column])
    known = [name for name in dict.fromkeys(names.tolist()) if name]
    check_species(own.species, known, source)
    if blank := int(np.count_nonzero(names == "")):
        runs.notices.append(f"{blank:,} rows without a species in column '{column}' left out")
    wanted = own.species or known
    if len(wanted) > 1:
        runs.notices.append(f"{len(wanted):,} species, from column '{column}': a model each")
    for name in wanted:
        said = set(records.species[names == name].astype(str).tolist())
        if len(said) < 2:
            what = "absences" if _absent(said.pop()) else "presences"
            runs.failures[name] = (
                f"{name}: all {np.count_nonzero(names == name):,} records are {what}: expected both presences and "
                "absences"
            )
            continue
        select = {} if column is None else {"select": {column: name}}
        runs.options[name] = make_classify_options(common | select, {"title": name})
    return runs


def check_presence(records: Occurrences, column: str, source: str) -> None:
    """Raise unless a column holds two values, one of which says absence."""
    found = sorted({str(name) for name in records.species})
    if len(found) == 2 and sum(map(_absent, found)) == 1:
        return
    expected = "--response expects two values, presence and absence, such as 1 and 0, or present and absent"
    instead = f"for classes use 'sdm classify --class-column {column}'"
    if len(found) > 2 and any(map(_absent, found)) and all(name.isascii() and name.isdigit() for name in found):
        most = max(map(int, found))
        raise OptionError(
            f"column '{column}' of {source} holds counts from 0 to {most:,}: {expected}; write 1 in place of counts "
            f"above 0 ({instead})"
        )
    quoted = listed([f"'{name}'" for name in found], 5)
    what = f"{len(found):,} values ({quoted})" if len(found) > 2 else quoted.replace(", ", " and ")
    what += " only" if len(found) == 1 else ""
    raise OptionError(f"column '{column}' of {source} holds {what}: {expected}; {instead}")


def _absent(word: str) -> bool:
    return word.strip().lower() in ABSENT


def _species_column(records: Occurrences, wanted: str | None, source: str, notices: list[str]) -> str | None:
    """Return the column of species: named, or known by its name.

    Surveys often describe their sites in words, so a column of words that nobody named is no species here.
    """
    header = [str(name) for name in records.extra.columns]
    found = first_of(header, SPECIES) if wanted is None else named_column(wanted, header, source)
    if found is None:
        sample = [[str(value) for value in line] for line in records.extra.head(SAMPLE_ROWS).to_numpy()]
        perhaps = species_column(header, sample, None, source)
        hint = f"; if '{perhaps}' names species, say so with --species-column" if perhaps else ""
        notices.append(f"no column of species in {source}: all rows are taken for one{hint}")
    return found


def _chosen(options: RunOptions) -> dict[str, Any]:
    """Return the options that were given, under the names that they have for classes."""
    chosen: dict[str, Any] = {}
    for leaf in leaves():
        home = getattr(options, leaf.section) if leaf.section else options
        value = getattr(home, leaf.name)
        if leaf.dotted in SAME:
            if leaf.name in home.model_fields_set:
                chosen[SAME[leaf.dotted]] = value
        elif leaf.dotted not in READ and value != leaf.field.get_default():
            raise OptionError(
                f"{leaf.dotted}={value!r} says nothing to presence and absence (occurrences.response): leave it out"
            )
    return chosen


def _structural(options: RunOptions) -> dict[str, Any]:
    """Return the families and prices of a structural model."""
    fit = options.fit
    if fit.model == "committee":
        raise OptionError("fit.model=committee averages models with a background: leave it out with a response")
    return {"features": fit.families, "lam": fit.lam} if fit.model == "structural" else {}
