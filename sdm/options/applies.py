"""Options that apply to each kind of model. Other options are refused if the user sets them."""

from collections.abc import Collection, Iterable, Iterator

from sdm.errors import InapplicableError, OptionError
from sdm.options.definitions import RunOptions
from sdm.options.reading import Leaf, leaves

# The name of a section ends with a dot; a name after a minus is an exception.
_EVERY = {
    "kind", "seed", "threads", "processes", "cluster.", "retries",
    "layers.", "occurrences.file", "occurrences.species", "occurrences.crs",
    "occurrences.x_column", "occurrences.y_column", "occurrences.snap", "occurrences.drop_suspicious",
    "occurrences.max_uncertainty", "occurrences.uncertainty_column", "occurrences.years", "occurrences.basis",
    "occurrences.exclude_issues", "occurrences.where", "occurrences.max_bad_rows", "fit.features", "fit.knots",
    "fit.tolerance",
    "fit.max_iterations", "test.percent", "test.folds", "test.split", "test.block_size", "test.radius",
    "test.orientation", "test.aggregation", "test.fold_column", "test.replicates", "test.replicate_kind",
    "predict.clamp", "predict.extrapolation", "project.", "output.resume",
    "output.folder", "output.overwrite", "output.map", "output.report", "output.metadata", "output.page_map",
    "output.gpkg", "output.figures", "output.dpi", "output.figure_width",
}  # fmt: skip
_SPECIES = {
    "preset", "occurrences.", "background.", "fit.", "test.", "predict.", "output.", "tune.", "curve.", "path.",
    "-occurrences.response", "-occurrences.site_column",
}  # fmt: skip
_CLASSES = {
    "occurrences.response", "occurrences.layer", "occurrences.site_column", "occurrences.species_column",
    "occurrences.keep_duplicates",
    "background.area", "fit.model", "fit.families", "fit.lam", "fit.beta", "fit.multiplier", "fit.regularization",
    "fit.beta_lqp", "fit.beta_hinge", "fit.beta_threshold", "fit.beta_categorical", "fit.entropy",
    "fit.quadratic_from", "fit.hinge_from", "fit.product_from",
    "fit.penalty_folds", "fit.smoothing", "fit.ratio", "test.file", "test.importance", "test.repeats",
    "test.jackknife", "test.null_models", "predict.threshold", "output.curves", "output.uncertainty",
    "output.replicate_maps", "output.surfaces", "output.stack", "output.map_picture", "output.publication",
    "tune.", "classes.",
}  # fmt: skip
_LAYERS = {"-layers.bounds", "-layers.cells"}
APPLIES: dict[str, set[str]] = {
    "species": _EVERY | _SPECIES,
    "classes": _EVERY | _CLASSES | _LAYERS,
    "community": _EVERY | {"occurrences.site_column", "joint.", "-layers.reduce", "-layers.reduce_to"} | _LAYERS,
}
_REDUCED = "a joint model has no permutation importance, and choosing C in every step would take hours"
_RICHNESS = "maps of richness are always written"
_TABLES = "joint.cost sets the strength of its one penalty"
REASONS = {
    ("community", "layers.reduce"): _REDUCED,
    ("community", "layers.reduce_to"): _REDUCED,
    ("community", "output.stack"): _RICHNESS,
    **{("community", f"fit.beta_{name}"): _TABLES for name in ("lqp", "hinge", "threshold", "categorical")},
    ("community", "output.replicate_maps"): "its replicates have no maps",
}
"""Reasons why an option does not apply to a kind of model."""


# Options for reading records and layers, for commands with a model instead of a run.
READING = (
    "occurrences.crs", "occurrences.x_column", "occurrences.y_column", "occurrences.layer",
    "occurrences.drop_suspicious", "occurrences.uncertainty_column", "occurrences.max_uncertainty",
    "occurrences.years", "occurrences.basis", "occurrences.exclude_issues", "occurrences.where",
    "occurrences.max_bad_rows", "layers.nodata", "layers.align", "layers.rename",
)  # fmt: skip

# Options of `sdm project`.
PROJECTING = (
    "project.models", "project.scenarios", "project.reference", "project.thresholds", "project.novelty",
    "project.dispersal", "project.over", "project.area", "predict.scale", "predict.threshold", "predict.extrapolation",
    "predict.clamp", "layers.nodata", "layers.align", "layers.rename", "output.folder", "output.overwrite",
    "output.resume", "output.report", "output.page_map", "output.gpkg", "output.figures", "output.dpi",
    "output.figure_width", "threads", "processes", "cluster.address", "cluster.workers", "cluster.settings",
    "cluster.patience", "retries",
)  # fmt: skip

STUDIES = ("tune", "curve", "path")
"""Sections of one command each. A run file may contain sections of several commands."""


def refuse_other_studies(typed: Iterable[str], used: Collection[str], command: str) -> None:
    """Raise OptionError if the user typed an option of a study that a command does not use, except sections `used`."""
    by_word = {word: leaf for leaf in leaves() if leaf.section in STUDIES for word in leaf.spellings}
    for name in typed:
        word = name.lstrip("-").replace("-", "_")
        section = word if word in STUDIES else by_word[word].section if word in by_word else None
        if section is not None and section not in used:
            raise InapplicableError(f"{name} is an option of 'sdm {section}', not of '{command}': remove it")


def applies(leaf: Leaf, kind: str) -> bool:
    """Return whether an option applies to a kind of model."""
    words = APPLIES[kind]
    return (leaf.dotted in words or f"{leaf.section}." in words) and f"-{leaf.dotted}" not in words


def misplaced(options: RunOptions, kind: str, called: str) -> Iterator[OptionError]:
    """Yield an error per option that is set and does not apply to a kind of model, with the name `called`."""
    for leaf in leaves():
        value = getattr(getattr(options, leaf.section) if leaf.section else options, leaf.name)
        if not applies(leaf, kind) and value != leaf.field.get_default():
            reason = REASONS.get((kind, leaf.dotted))
            why = f" ({reason})" if reason else ""
            yield InapplicableError(f"{leaf.dotted}={value!r} does not apply to {called}{why}: remove it")
