"""Presence and absence in a column of the records: `sdm fit --response` is `sdm classify` with two classes."""

from typing import Any

from sdm.config import RunOptions, leaves
from sdm.errors import OptionError
from sdm.run.classify_options import ClassifyOptions, make_classify_options

# Options of a fit that mean the same to classes, under the name that they have there.
SAME = {
    "occurrences.file": "records", "occurrences.response": "class_column", "occurrences.crs": "crs",
    "occurrences.x_column": "x_column", "occurrences.y_column": "y_column", "occurrences.snap": "snap",
    "occurrences.keep_duplicates": "keep_duplicates", "layers.files": "layers", "layers.categorical": "categorical",
    "layers.nodata": "nodata", "layers.align": "align", "background.area": "study_area", "fit.features": "features",
    "fit.multiplier": "multiplier", "fit.regularization": "regularization", "fit.entropy": "entropy",
    "fit.knots": "knots", "fit.beta": "beta", "fit.tolerance": "tolerance", "fit.max_iterations": "max_iterations",
    "fit.smoothing": "smoothing", "fit.ratio": "ratio", "test.percent": "test_percent", "test.folds": "folds",
    "predict.clamp": "clamp", "predict.projections": "projections", "output.folder": "folder",
    "output.overwrite": "overwrite", "output.curves": "curves", "output.map": "map", "seed": "seed",
    "threads": "threads",
}  # fmt: skip
# Options that are read here, or say nothing of the model.
READ = ("occurrences.species", "occurrences.species_column", "fit.model", "fit.families", "fit.lam", "output.report")


def response_options(options: RunOptions) -> ClassifyOptions:
    """Return the run of classes that a fit with a response column stands for.

    Raises
    ------
    OptionError
        For options that concern a background, or anything else that presence and absence do not have.
    """
    chosen: dict[str, Any] = {}
    for leaf in leaves():
        value = _value(options, leaf.section, leaf.name)
        if value == leaf.field.get_default():
            continue
        if leaf.dotted in SAME:
            chosen[SAME[leaf.dotted]] = value
        elif leaf.dotted not in READ:
            raise OptionError(
                f"{leaf.dotted}={value!r} says nothing to presence and absence (occurrences.response): leave it out"
            )
    chosen |= _structural(options) | _select(options)
    return make_classify_options(chosen)


def _value(options: RunOptions, section: str, name: str) -> Any:
    return getattr(getattr(options, section) if section else options, name)


def _structural(options: RunOptions) -> dict[str, Any]:
    """Return the families and prices of a structural model."""
    fit = options.fit
    if fit.model == "committee":
        raise OptionError("fit.model=committee averages models with a background: leave it out with a response")
    return {"features": fit.families, "lam": fit.lam} if fit.model == "structural" else {}


def _select(options: RunOptions) -> dict[str, Any]:
    """Return which rows are the species'."""
    own = options.occurrences
    if len(own.species) > 1:
        raise OptionError(f"occurrences.species names {len(own.species)} species: with a response, fit them one by one")
    if not own.species:
        return {}
    return {"select": {own.species_column or "species": own.species[0]}}
