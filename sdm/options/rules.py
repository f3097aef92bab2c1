"""Rules about combinations of options: some exclude each other, and some need another one.

A rule has the kinds of model that it applies to, the condition under which it is broken, and its message, a template
over the sections of the options. Conditions are evaluated lazily in the order of the table.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sdm.data.place import ELSEWHERE
from sdm.data.window import NO_CRS
from sdm.errors import ConflictError, OptionError
from sdm.options.definitions import AREA_WORDS, GROUP_WORD, RunOptions
from sdm.options.kinds import Section

SPECIES, CLASSES, COMMUNITY, STRATA = ("species",), ("classes",), ("community",), ("strata",)
ALL = None
WHOLE_BACKGROUND = ("random", "leave-one-out", "bootstrap", "subsample")
"""Divisions of records that do not divide the background."""
_COUNTED = ("leave-one-out", "equal-blocks", "checkerboard", "buffer", "own")  # their number of folds is fixed
LEARNER_OPTIONS = {"laplace": ("shrinkage", "posterior", "rounds"), "crf-l2": ("random_effect", "traits")}
"""Options of only one learner of joint models."""
_STACKABLE = ("cloglog", "logistic")  # scales from 0 to 1
Condition = Callable[[RunOptions], object]


@dataclass(frozen=True)
class Rule:
    """A combination of options that is refused for some kinds of model."""

    kinds: Collection[str] | None  # None: every kind
    when: Condition
    sentence: str


def broken(rules: Iterable[Rule], options: RunOptions, kind: str) -> Iterator[OptionError]:
    """Yield an error for each broken rule of a kind of model."""
    for rule in rules:
        if (rule.kinds is None or kind in rule.kinds) and rule.when(options):
            yield ConflictError(rule.sentence.format_map(vars(options)))


def refuse_broken(rules: Iterable[Rule], options: RunOptions, kind: str) -> None:
    """Raise the error of the first broken rule."""
    for error in broken(rules, options, kind):
        raise error


def chosen(section: Section, name: str) -> bool:
    """Whether an option differs from its default."""
    return bool(getattr(section, name) != type(section).model_fields[name].get_default())


def _drawn(o: RunOptions) -> bool:
    return o.test.replicate_kind != "crossvalidate"


def _effort(o: RunOptions) -> Any:
    return o.background.bias or o.background.effort_column


def _grouped(o: RunOptions) -> bool:
    return o.background.kind == GROUP_WORD


def _unlearned(learner: str, name: str) -> Condition:
    return lambda o: o.joint.learner != learner and chosen(o.joint, name)


def _set_with_axes(name: str) -> Condition:
    return lambda o: o.fit.shares_axes and o.fit.axes is not None and chosen(o.fit, name)


CLASS_INPUTS = (
    Rule(CLASSES, lambda o: o.classes.raster is not None and (o.occurrences.file or o.occurrences.response
         or o.classes.column or o.classes.proportions or o.classes.select),
         "a file of points and classes.raster exclude each other: use one of them"),
    Rule(CLASSES, lambda o: o.classes.raster is not None and not o.layers.files,
         "no layers: add a folder of layers, as in 'sdm classify points.csv layers/ -o results'"),
    Rule(CLASSES, lambda o: o.classes.raster is None and o.occurrences.file is None,
         "no points: give a file with a class column first, or add classes.raster"),
    Rule(CLASSES, lambda o: o.occurrences.response and (o.classes.column or o.classes.proportions),
         "occurrences.response excludes classes.column and classes.proportions: use one of them"),
    Rule(CLASSES, lambda o: o.classes.raster is None
         and bool(o.occurrences.response or o.classes.column) == bool(o.classes.proportions),
         "no classes: add classes.column, or classes.proportions with several columns"),
)  # fmt: skip
COMMUNITIES = (
    *(Rule(COMMUNITY, _unlearned(learner, name),
           f"joint.{name} needs joint.learner={learner}, not {{joint.learner}}: remove it")
      for learner, names in LEARNER_OPTIONS.items() for name in names),
    Rule(COMMUNITY, lambda o: o.joint.random_effect is None and chosen(o.joint, "random_spread"),
         "joint.random_spread needs a random effect: add joint.random_effect with its column"),
    Rule(COMMUNITY, lambda o: o.test.percent and (o.test.folds or o.test.split != "random")
         and o.test.replicate_kind != "subsample",
         "test.percent excludes folds of sites: use one of them"),
)  # fmt: skip
TESTING = (
    Rule(ALL, lambda o: o.test.percent and o.test.replicate_kind != "subsample" and o.test.file,
         "test.percent and test.file exclude each other: use one of them"),
    Rule(ALL, lambda o: o.test.folds and o.test.replicates > 1,
         "test.folds and test.replicates exclude each other: use one of them"),
    Rule(ALL, lambda o: o.test.split in _COUNTED and not _drawn(o) and (o.test.folds or o.test.replicates > 1),
         "test.split={test.split} sets the number of folds: remove test.folds and test.replicates"),
    Rule(ALL, lambda o: _drawn(o) and o.test.replicates < 2,
         "test.replicate_kind={test.replicate_kind} needs the number of replicates: add test.replicates=10"),
    Rule(ALL, lambda o: _drawn(o) and o.test.split != "random",
         "test.split={test.split} and test.replicate_kind={test.replicate_kind} exclude each other: use one of them"),
    Rule(ALL, lambda o: o.test.block_size is not None and o.test.split != "block",
         "test.block_size needs test.split=block: add it"),
    Rule(ALL, lambda o: o.test.split == "buffer" and o.test.radius is None,
         "test.split=buffer needs a distance in km: add test.radius=50"),
    Rule(ALL, lambda o: o.test.radius is not None and o.test.split != "buffer",
         "test.radius needs test.split=buffer: add it"),
    Rule(ALL, lambda o: o.test.split == "own" and o.test.fold_column is None,
         "test.split=own needs a column with the fold of every record: name it with test.fold_column"),
    Rule(ALL, lambda o: o.test.fold_column is not None and o.test.split != "own",
         "test.fold_column needs test.split=own: add it"),
    Rule(ALL, lambda o: o.test.validation_background == "partition"
         and o.test.division_name in WHOLE_BACKGROUND,
         "test.validation_background=partition: {test.division_name} folds do not divide the background; use full, or "
         "a spatial or environmental test.split"),
    Rule(ALL, lambda o: o.test.null_models and not o.test.division,
         "test.null_models needs cross-validation: add test.folds=5"),
    Rule(ALL, lambda o: o.test.null_models == 1,
         "test.null_models=1 has no standard deviation: expected 2 or more, such as 100"),
    Rule(ALL, lambda o: o.output.uncertainty and o.test.division is None,
         "output.uncertainty needs replicates: add test.folds=5, or test.replicates=10 and a test.replicate_kind"),
    Rule(ALL, lambda o: o.output.replicate_maps and not o.output.uncertainty,
         "output.replicate_maps needs output.uncertainty: add it"),
    Rule(ALL, lambda o: o.output.uncertainty and not o.output.map,
         "output.uncertainty needs maps: remove output.map=false"),
)  # fmt: skip
WINDOW = (
    Rule(SPECIES, lambda o: o.layers.bounds is None and o.occurrences.crs == NO_CRS,
         "occurrences.crs=none needs the window of a point pattern: add layers.bounds, or use another crs"),
    Rule(SPECIES, lambda o: o.layers.bounds is not None and o.layers.files,
         "layers.bounds (the window of a point pattern) and layers.files exclude each other: remove one of them; "
         "background.area cuts layers"),
    Rule(SPECIES, lambda o: o.layers.bounds is not None and o.fit.spatial,
         "fit.spatial does not apply to a point pattern, whose variables are coordinates: remove it"),
    Rule(SPECIES, lambda o: o.layers.bounds is not None and o.project.scenarios,
         "project.scenarios needs layers, and a point pattern has none: remove it"),
    Rule(SPECIES, lambda o: o.layers.bounds is not None and o.layers.categorical,
         "layers.categorical: the variables of a point pattern are numbers; remove it"),
)  # fmt: skip
SAMPLING = (
    Rule(SPECIES, lambda o: _grouped(o) and o.background.file,
         "background.file and background.kind=target-group exclude each other: use one of them"),
    Rule(SPECIES, lambda o: _grouped(o) and _effort(o),
         "background.kind=target-group and background.bias correct for the same bias twice: use one of them"),
    Rule(SPECIES, lambda o: o.background.bias and o.background.bias_treatment == "sample" and o.background.file,
         "background.file excludes drawing by effort: use background.bias_treatment=prior"),
    Rule(SPECIES, lambda o: o.background.bias_treatment != "sample" and not _effort(o),
         "background.bias_treatment needs sampling effort: add background.bias"),
    Rule(SPECIES, lambda o: o.background.bias_treatment == "records" and not o.background.bias,
         "background.bias_treatment=records needs a raster of effort: add background.bias; for a table use a column of "
         "weights (occurrences.record_weights)"),
    Rule(SPECIES, lambda o: o.background.target_group and not o.background.uses_group,
         "background.target_group needs background.kind=target-group or background.bias=target-group: add one of them"),
    Rule(SPECIES, lambda o: o.background.random_share is not None and not (_grouped(o) and o.fit.shares_axes),
         "background.random_share needs fit.model=shared and background.kind=target-group: add both"),
    Rule(SPECIES, lambda o: o.background.bandwidth != "auto" and o.background.bias != GROUP_WORD,
         "background.bandwidth needs background.bias=target-group: add it"),
    Rule(SPECIES, lambda o: o.background.buffer is not None and o.background.area not in AREA_WORDS,
         "background.buffer needs background.area=buffer or background.area=hull: add one of them"),
    Rule(SPECIES, lambda o: o.background.area == "buffer" and o.background.buffer is None,
         "background.area=buffer needs a distance in km: add background.buffer=200"),
    Rule(SPECIES, lambda o: o.occurrences.thin_bins and o.occurrences.partial,
         "occurrences.thin_bins needs all variables: remove occurrences.partial, or use occurrences.thin_distance"),
    Rule(SPECIES, lambda o: o.occurrences.thin_variables and not o.occurrences.thin_bins,
         "occurrences.thin_variables needs the number of bins: add occurrences.thin_bins"),
    Rule(CLASSES, lambda o: o.background.area in AREA_WORDS,
         "background.area={background.area} needs presences: use a file of polygons"),
)  # fmt: skip
MODELS = (
    Rule(CLASSES, lambda o: o.fit.model == "committee",
         "fit.model=committee needs a background, and classes have none: remove it"),
    Rule(SPECIES, lambda o: o.test.contribution == "steps" and (
         o.fit.model != "maxent" or o.fit.entropy != 1.0 or o.fit.regularization not in (None, "l1")),
         "test.contribution=steps needs a maxent model with Shannon's entropy and an l1 penalty: remove it"),
    Rule(SPECIES, lambda o: o.fit.shares_axes and (o.test.jackknife or o.test.null_models),
         "test.jackknife and test.null_models fit single species, and shared axes need a group: remove them, or use "
         "fit.model=committee"),
    Rule(SPECIES, lambda o: o.fit.shares_axes and o.layers.chooses,
         "variables are chosen per species, and species on shared axes need the same variables: choose them with "
         "'sdm variables' and add layers.variables, or use fit.model=committee"),
    *(Rule(SPECIES, _set_with_axes(name),
           f"fit.{name} was set in the group of fit.axes: remove it")
      for name in ("features", "knots", "strength", "own")),
    Rule(SPECIES, lambda o: o.fit.spatial and o.project.scenarios,
         f"project.scenarios and fit.spatial exclude each other, because {ELSEWHERE}: remove one of them"),
)  # fmt: skip
OUTPUT = (
    Rule(ALL, lambda o: o.output.resume and o.output.overwrite,
         "output.resume keeps finished results, and output.overwrite replaces them: use one of them"),
    Rule(ALL, lambda o: o.output.stack and not o.output.map,
         "output.stack={output.stack_name} needs the maps of species: remove it, or output.map=false"),
    Rule(ALL, lambda o: "sum" in o.output.stack and o.predict.scale not in _STACKABLE,
         "output.stack=sum needs a scale from 0 to 1, not predict.scale={predict.scale}: expected "
         f"{' or '.join(_STACKABLE)}"),
    Rule(ALL, lambda o: o.project.models,
         "project.models belongs to 'sdm project': remove it, because a run projects its own models"),
)  # fmt: skip
RULES = (*CLASS_INPUTS, *COMMUNITIES, *TESTING, *WINDOW, *SAMPLING, *MODELS)
"""The rules of models; `OUTPUT` are additional rules of runs."""

ON_STRATA = tuple(
    Rule(STRATA, when, f"{option} does not apply to strata: {instead}")
    for option, when, instead in (
        ("background.kind=target-group", _grouped, "use background.bias=target-group as the prior"),
        ("background.file", lambda o: o.background.file, "the prior covers all cells; remove it"),
        ("test.validation_background=partition", lambda o: o.test.validation_background == "partition",
         "folds are measured over all cells; remove it"),
        ("background.bias_treatment=records", lambda o: o.background.bias_treatment == "records",
         "sampling effort is the prior of strata; remove it"),
        ("test.percent", lambda o: o.test.percent, "use test.folds"),
        ("test.file", lambda o: o.test.file, "use test.folds"),
        ("project.scenarios", lambda o: o.project.scenarios, "strata belong to one region; remove it"),
    )
)  # fmt: skip
"""Additional rules of a path over strata."""
