"""The options of single commands: of models of several classes or species (`sdm classify` and `sdm joint`), and of the
studies (`sdm tune`, `sdm curve` and `sdm path`)."""

from typing import Literal

from sdm.options.kinds import (
    ClassSets,
    Count,
    CountList,
    NotNegative,
    NumberList,
    Orders,
    Penalties,
    Places,
    Positive,
    PositiveList,
    Section,
    Words,
    option,
)


class ClassOptions(Section):
    """Which classes a class model tells apart."""

    column: str | None = option(None, "Column with the target class of each point.", "class_column")
    proportions: Words = option([], "Columns with the proportions of the classes (cover fractions), one per class.")
    raster: str | None = option(
        None, "A raster of classes to draw points from, in place of a file of points.", "classes", "class_raster"
    )
    raster_points: Count = option(5000, "How many points to draw from the raster of classes; --points says it too.")
    select: Places = option({}, "Use only records with this value in a column: column=value, as species=Quercus robur.")
    least: Count | None = option(
        None, "Leave out classes with fewer than N records (default: stop if a class has one only)."
    )
    title: str | None = option(None, "Title of the results and name of their files (default: the class column).")


class JointOptions(Section):
    """The joint model of several species at the same sites."""

    learner: Literal["crf-l2", "crf-l1", "m3n", "l1-m3n", "laplace"] = option(
        "crf-l2",
        "A conditional random field with l2 or l1 penalty; or max margin: M3N, L1-M3N, Laplace MEDN. Max-margin "
        "learners give weight to an association only where that saves wrong labels; a CRF shows associations better.",
    )
    graph: Literal["tree", "chain", "none"] | str = option(
        "tree",
        "Which species are linked. tree: the strongest associations that the environment does not explain (a spanning "
        "tree); chain: each species with the next; none; or a table of edges (two columns of names) without a cycle.",
    )
    cost: Literal["cv"] | Positive = option(
        "cv",
        "C, the penalty on a wrong label (that on a CRF's weights is 1/C); cv chooses by held-out log loss (CRF) or "
        "wrong labels (max margin).",
        "c",
    )
    shrinkage: Literal["cv"] | Positive = option(
        1.0, "Laplace: lambda of the prior, larger keeps fewer weights; cv chooses by cross-validation."
    )
    posterior: Literal["variational", "exact"] = option(
        "variational", "Laplace: the variational posterior of Zhu and Xing (2009), or the exact one."
    )
    rounds: Count | None = option(
        None,
        "Laplace: stop after N rounds of the variational algorithm (Zhu and Xing (2009) take 3); by default it runs "
        "until its gap is small enough.",
        was=3,
    )
    random_effect: str | None = option(
        None,
        "A column of the sites whose levels (reserves, regions, observers, sites with several visits) have an "
        "intercept each, for every species; crf-l2 only. New levels, and maps, have the mean.",
        "group",
    )
    random_spread: Literal["cv"] | Positive = option(
        "cv", "Standard deviation of the random effect under its penalty; cv chooses by held-out log loss."
    )
    traits: str | None = option(
        None,
        "A table of traits: names of the species in its first column, one column per trait (numbers or classes). The "
        "effects of the environment may change with traits: fourth_corner.csv; crf-l2 only.",
    )
    presence_above: NotNegative | None = option(
        None,
        "Species columns hold counts or cover: values above N are presences, such as 0 (default: they hold 0 and 1).",
    )
    all_associations: bool = option(
        False,
        "Also estimate the association of every pair of species beyond the environment, with 95 % intervals: "
        "all_associations.csv and a picture of the matrix.",
    )


class TuneOptions(Section):
    """What `sdm tune` tries, and how it chooses."""

    feature_sets: ClassSets = option(["l", "lq", "h", "lqh", "lqph"], "Feature classes to try.")
    multipliers: PositiveList = option([0.5, 1.0, 2.0, 3.0, 4.0], "Regularisation multipliers to try.")
    entropies: Orders = option([], "Orders of entropy to try (default: that of the model).")
    regularizations: Penalties = option([], "Penalties to try (default: that of the model).")
    lambdas: NumberList = option([], "Structural: values of lambda to try (default: that of the model).")
    betas: NumberList = option([], "Values of beta to try (default: that of the model).")
    budget: int = option(
        0, "Try N settings at random, with numbers between the ends of their lists (0: every combination).", ge=0
    )
    choose_by: Words = option(
        ["loss.val.avg"],
        "Measure to choose by, such as loss.val.avg, auc.val.avg, tss.val.avg, cbi.val.avg, or.10p.avg or AICc (which "
        "needs no folds); of several measures, later ones decide between equals.",
        min_length=1,
    )
    choose_rule: Literal["best", "one_se"] = option(
        "best", "The best, or the one with the fewest coefficients within one standard error of it."
    )


class CurveOptions(Section):
    """What `sdm curve` draws."""

    sets: ClassSets = option(
        ["l:0.1", "lq:0.1", "lqp:0.1", "t:1"], "Feature classes to compare, each with its multiplier after a colon."
    )
    sizes: CountList = option([], "Numbers of training records (default: ten, evenly in the logarithm; or all).")
    strengths: PositiveList | None = option(
        None, "Regularisation multipliers of a sensitivity curve (default: 0.01 to 10).", formerly="prices"
    )
    partitions: Count = option(10, "Random partitions of the records to average over.")
    held_out: float = option(30.0, "Percent of the records that each partition holds out.", gt=0, lt=100)


class PathOptions(Section):
    """What `sdm path` follows, and which point of it is fitted or mapped."""

    strata: str | None = option(
        None,
        "Follow the exact path over strata: the name (or file) of a layer of categories, or squares such as grid:50km. "
        "By default the path is that of the model, over the regularisation multiplier.",
    )
    epsilon: Positive = option(1e-3, "Of the model's path: the largest gap between fits too, in nats.")
    smallest: Positive = option(0.1, "Of the model's path: the multiplier to go down to.")
    choice: Literal["best", "one_se"] = option(
        "best", "The least held-out loss, or the strongest regularisation within one standard error of it."
    )
