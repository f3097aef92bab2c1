"""Rules between the options of a run: which cannot be together, and which have nothing to act on without another.

A rule names the kinds of model that it holds for, the condition under which it is broken, and what to tell the user: a
template over the sections of the options. Conditions are evaluated in the order of the table, one at a time.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sdm.data.place import ELSEWHERE
from sdm.data.window import NO_CRS
from sdm.errors import OptionError
from sdm.options.definitions import AREA_WORDS, GROUP_WORD, RunOptions
from sdm.options.kinds import Section

SPECIES, CLASSES, COMMUNITY, STRATA = ("species",), ("classes",), ("community",), ("strata",)
ALL = None
WHOLE_BACKGROUND = ("random", "leave-one-out", "bootstrap", "subsample")
"""Divisions of records that leave the background undivided."""
_COUNTED = ("leave-one-out", "equal-blocks", "checkerboard", "buffer", "own")  # make folds of their own number
LEARNER_OPTIONS = {"laplace": ("shrinkage", "posterior", "rounds"), "crf-l2": ("random_effect", "traits")}
"""Options that one learner of joint models has, and no other."""
_STACKABLE = ("cloglog", "logistic")  # scales from 0 to 1
Condition = Callable[[RunOptions], object]


@dataclass(frozen=True)
class Rule:
    """What options of some kinds of model cannot be."""

    kinds: Collection[str] | None  # None: every kind
    when: Condition
    sentence: str


def broken(rules: Iterable[Rule], options: RunOptions, kind: str) -> Iterator[str]:
    """Yield the sentences of the rules of a kind of model that some options break."""
    for rule in rules:
        if (rule.kinds is None or kind in rule.kinds) and rule.when(options):
            yield rule.sentence.format_map(vars(options))


def refuse_broken(rules: Iterable[Rule], options: RunOptions, kind: str) -> None:
    """Raise OptionError for the first rule that is broken."""
    for sentence in broken(rules, options, kind):
        raise OptionError(sentence)


def chosen(section: Section, name: str) -> bool:
    """Tell whether an option has another value than its default."""
    return bool(getattr(section, name) != type(section).model_fields[name].get_default())


def _drawn(o: RunOptions) -> bool:
    return o.test.replicate_kind != "crossvalidate"


def _effort(o: RunOptions) -> Any:
    return o.background.bias or o.background.effort_column


def _grouped(o: RunOptions) -> bool:
    return o.background.kind == GROUP_WORD


def _unlearned(learner: str, name: str) -> Condition:
    return lambda o: o.joint.learner != learner and chosen(o.joint, name)


def _given_with_axes(name: str) -> Condition:
    return lambda o: o.fit.shares_axes and o.fit.axes is not None and chosen(o.fit, name)


CLASS_INPUTS = (
    Rule(CLASSES, lambda o: o.classes.raster is not None and (o.occurrences.file or o.occurrences.response
         or o.classes.column or o.classes.proportions or o.classes.select),
         "give a file of points or a raster of classes (--classes), not both"),
    Rule(CLASSES, lambda o: o.classes.raster is not None and not o.layers.files,
         "no layers: give a folder of them, as in 'sdm classify points.csv layers/ -o results'"),
    Rule(CLASSES, lambda o: o.classes.raster is None and o.occurrences.file is None,
         "no points: give a file with a class column first, or a raster of classes as --classes"),
    Rule(CLASSES, lambda o: o.occurrences.response and (o.classes.column or o.classes.proportions),
         "occurrences.response and classes.column or classes.proportions: give one of them"),
    Rule(CLASSES, lambda o: o.classes.raster is None
         and bool(o.occurrences.response or o.classes.column) == bool(o.classes.proportions),
         "say where the classes are: one --class-column, or the --proportions of several columns"),
)  # fmt: skip
COMMUNITIES = (
    *(Rule(COMMUNITY, _unlearned(learner, name),
           f"joint.{name} is for the learner {learner}, not for {{joint.learner}}: leave it out")
      for learner, names in LEARNER_OPTIONS.items() for name in names),
    Rule(COMMUNITY, lambda o: o.joint.random_effect is None and chosen(o.joint, "random_spread"),
         "joint.random_spread needs a random effect: name its column with --random-effect"),
    Rule(COMMUNITY, lambda o: o.test.percent and (o.test.folds or o.test.split != "random")
         and o.test.replicate_kind != "subsample",
         "give test.percent, or folds of sites, not both: the model is tested with one of them"),
)  # fmt: skip
TESTING = (
    Rule(ALL, lambda o: o.test.percent and o.test.replicate_kind != "subsample" and o.test.file,
         "give test.percent or test.file, not both: the model is tested with one of them"),
    Rule(ALL, lambda o: o.test.folds and o.test.replicates > 1,
         "test.folds and test.replicates are two numbers for one thing: give one of them"),
    Rule(ALL, lambda o: o.test.split in _COUNTED and not _drawn(o) and (o.test.folds or o.test.replicates > 1),
         "test.split={test.split} makes folds of its own number: leave out test.folds and test.replicates"),
    Rule(ALL, lambda o: _drawn(o) and o.test.replicates < 2,
         "test.replicate_kind={test.replicate_kind} needs a number: add --replicates, as in --replicates 10"),
    Rule(ALL, lambda o: _drawn(o) and o.test.split != "random",
         "test.split={test.split} makes folds, and replicates by {test.replicate_kind} are none: give one of them"),
    Rule(ALL, lambda o: o.test.block_size is not None and o.test.split != "block",
         "test.block_size is that of test.split=block: add --split block"),
    Rule(ALL, lambda o: o.test.split == "buffer" and o.test.radius is None,
         "test.split=buffer needs a distance in km: add --radius, as in --radius 50"),
    Rule(ALL, lambda o: o.test.radius is not None and o.test.split != "buffer",
         "test.radius is that of test.split=buffer: add --split buffer"),
    Rule(ALL, lambda o: o.test.split == "own" and o.test.fold_column is None,
         "test.split=own needs a column with the fold of every record: name it with --fold-column"),
    Rule(ALL, lambda o: o.test.fold_column is not None and o.test.split != "own",
         "test.fold_column is not used: add --split own"),
    Rule(ALL, lambda o: o.test.validation_background == "partition"
         and o.test.division_name in WHOLE_BACKGROUND,
         "test.validation_background=partition: {test.division_name} folds do not divide the background; use full, or "
         "a split in space or by environment"),
    Rule(ALL, lambda o: o.test.null_models and not o.test.division,
         "test.null_models are compared by cross-validation: add --folds, as in --folds 5"),
    Rule(ALL, lambda o: o.test.null_models == 1,
         "test.null_models=1 has no spread: expected 2 or more, such as 100"),
    Rule(ALL, lambda o: o.output.uncertainty and o.test.division is None,
         "output.uncertainty is that of replicates: add --replicates 10 --replicate-kind bootstrap, or --folds 5"),
    Rule(ALL, lambda o: o.output.replicate_maps and not o.output.uncertainty,
         "output.replicate_maps are the maps behind those of uncertainty: add --uncertainty"),
    Rule(ALL, lambda o: o.output.uncertainty and not o.output.map,
         "output.uncertainty is a map: leave out --no-map"),
)  # fmt: skip
WINDOW = (
    Rule(SPECIES, lambda o: o.layers.bounds is None and o.occurrences.crs == NO_CRS,
         "occurrences.crs=none is for the window of a point pattern: add --bounds, or give their system"),
    Rule(SPECIES, lambda o: o.layers.bounds is not None and o.layers.files,
         "layers.bounds is the window of a point pattern, which has no layers, and layers.files gives some: leave one "
         "of them out (--study-area cuts layers)"),
    Rule(SPECIES, lambda o: o.layers.bounds is not None and o.fit.spatial,
         "fit.spatial adds features of place to layers, and the variables of a point pattern are places already: leave "
         "it out"),
    Rule(SPECIES, lambda o: o.layers.bounds is not None and o.project.scenarios,
         "project.scenarios needs layers, and a point pattern has none: leave it out"),
    Rule(SPECIES, lambda o: o.layers.bounds is not None and o.layers.categorical,
         "layers.categorical: the variables of a point pattern are numbers, leave it out"),
)  # fmt: skip
SAMPLING = (
    Rule(SPECIES, lambda o: _grouped(o) and o.background.file,
         "background.file and target-group background: give one of them"),
    Rule(SPECIES, lambda o: _grouped(o) and _effort(o),
         "background.kind=target-group and background.bias correct for the same bias twice: give one of them"),
    Rule(SPECIES, lambda o: o.background.bias and o.background.bias_treatment == "sample" and o.background.file,
         "background.file leaves nothing to draw by effort: use background.bias_treatment=prior"),
    Rule(SPECIES, lambda o: o.background.bias_treatment != "sample" and not _effort(o),
         "background.bias_treatment needs sampling effort: give background.bias"),
    Rule(SPECIES, lambda o: o.background.bias_treatment == "records" and not o.background.bias,
         "background.bias_treatment=records needs a raster of effort: give background.bias, or weigh the rows of a "
         "table by a column (occurrences.record_weights)"),
    Rule(SPECIES, lambda o: o.background.target_group and not o.background.uses_group,
         "background.target_group is not used: add --background target-group, or --bias target-group"),
    Rule(SPECIES, lambda o: o.background.random_share is not None and not (_grouped(o) and o.fit.shares_axes),
         "background.random_share is of shared axes with a target group: add --model shared --background target-group"),
    Rule(SPECIES, lambda o: o.background.bandwidth != "auto" and o.background.bias != GROUP_WORD,
         "background.bandwidth is that of a target group's density: add --bias target-group"),
    Rule(SPECIES, lambda o: o.background.buffer is not None and o.background.area not in AREA_WORDS,
         "background.buffer widens an area around records: add --study-area buffer or --study-area hull"),
    Rule(SPECIES, lambda o: o.background.area == "buffer" and o.background.buffer is None,
         "background.area=buffer needs a distance in km: add --buffer, as in --buffer 200"),
    Rule(SPECIES, lambda o: o.occurrences.thin_bins and o.occurrences.partial,
         "occurrences.thin_bins needs a value of every variable: leave out --partial, or thin by --thin-distance"),
    Rule(SPECIES, lambda o: o.occurrences.thin_variables and not o.occurrences.thin_bins,
         "occurrences.thin_variables are those of occurrences.thin_bins: say how many bins"),
    Rule(CLASSES, lambda o: o.background.area in AREA_WORDS,
         "background.area={background.area} is drawn around presences: give polygons"),
)  # fmt: skip
MODELS = (
    Rule(CLASSES, lambda o: o.fit.model == "committee",
         "fit.model=committee averages models with a background: leave it out with classes"),
    Rule(SPECIES, lambda o: o.test.contribution == "steps" and (
         o.fit.model != "maxent" or o.fit.entropy != 1.0 or o.fit.regularization not in (None, "l1")),
         "test.contribution=steps is for maxent models with Shannon's entropy and an l1 penalty, as Java Maxent has: "
         "leave it out"),
    Rule(SPECIES, lambda o: o.fit.shares_axes and (o.test.jackknife or o.test.null_models),
         "the jackknife and null models fit one species again and again, and axes are of a whole group: leave them "
         "out, or use --model committee"),
    Rule(SPECIES, lambda o: o.fit.shares_axes and o.layers.chooses,
         "variables are chosen for each species by itself, and species on shared axes have the same variables: choose "
         "them with 'sdm variables' and name them with --variables, or use --model committee"),
    *(Rule(SPECIES, _given_with_axes(name),
           f"fit.{name} is that of the group whose axes were given (--axes): leave it out")
      for name in ("features", "knots", "strength", "own")),
    Rule(SPECIES, lambda o: o.fit.spatial and o.project.scenarios,
         f"project.scenarios does not go with fit.spatial, for {ELSEWHERE}: leave out one of them"),
)  # fmt: skip
OUTPUT = (
    Rule(ALL, lambda o: o.output.resume and o.output.overwrite,
         "--resume keeps what is finished, --overwrite does not: give one of them"),
    Rule(ALL, lambda o: o.output.stack and not o.output.map,
         "output.stack={output.stack_name} is made of the maps of species, and output.map=false writes none: leave one "
         "out"),
    Rule(ALL, lambda o: "sum" in o.output.stack and o.predict.scale not in _STACKABLE,
         "output.stack=sum adds up suitabilities from 0 to 1, and predict.scale={predict.scale} is not such a scale: "
         f"expected {' or '.join(_STACKABLE)}"),
    Rule(ALL, lambda o: o.project.models,
         "project.models is for 'sdm project': leave it out, for the models are those of the run"),
)  # fmt: skip
RULES = (*CLASS_INPUTS, *COMMUNITIES, *TESTING, *WINDOW, *SAMPLING, *MODELS)
"""The rules of models; what a run writes has `OUTPUT` beside."""

ON_STRATA = tuple(
    Rule(STRATA, when, f"{option} does not go with strata: {instead}")
    for option, when, instead in (
        ("background.kind=target-group", _grouped, "use --bias target-group, which is the prior then"),
        ("background.file", lambda o: o.background.file, "the prior is over all cells; leave it out"),
        ("test.validation_background=partition", lambda o: o.test.validation_background == "partition",
         "folds are measured over all cells; leave it out"),
        ("background.bias_treatment=records", lambda o: o.background.bias_treatment == "records",
         "effort is the prior of strata; leave it out"),
        ("test.percent", lambda o: o.test.percent, "use --folds"),
        ("test.file", lambda o: o.test.file, "use --folds"),
        ("project.scenarios", lambda o: o.project.scenarios, "strata are those of one place; leave them out"),
    )
)  # fmt: skip
"""The rules of a path over strata, beside those of species."""
