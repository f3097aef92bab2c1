"""Options of single commands: `sdm classify`, `sdm joint`, `sdm tune`, `sdm curve` and `sdm path`."""

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
    """Target classes of a class model."""

    column: str | None = option(None, "Column with the target class of each point.", "class_column")
    proportions: Words = option([], "Columns with the proportion (cover) of each class.")
    raster: str | None = option(
        None, "Raster of classes to sample points from, instead of a file.", "classes", "class_raster"
    )
    raster_points: Count = option(5000, "Number of points to sample from the raster (also --points).")
    select: Places = option({}, "Use only records with a value in a column, such as year=2020.")
    least: Count | None = option(
        None, "Exclude classes with fewer than N records. Default: none; a class with one record is an error."
    )
    title: str | None = option(None, "Title of the results and name of their files. Default: the class column.")


class JointOptions(Section):
    """Joint model of several species at the same sites."""

    learner: Literal["crf-l2", "crf-l1", "m3n", "l1-m3n", "laplace"] = option(
        "crf-l2",
        "Learner: a conditional random field (CRF) or a max-margin learner. CRFs have an l2 or l1 penalty. Max-margin "
        "learners are m3n (M3N), l1-m3n (L1-M3N) and laplace (Laplace MEDN). They use an association only where it "
        "prevents wrong labels; a CRF shows associations better.",
    )
    graph: Literal["tree", "chain", "none"] | str = option(
        "tree",
        "Graph of associations: tree, chain, none, or a table of edges. A tree spans the strongest associations that "
        "the environment does not explain. A chain links each species with the next. A table has two columns of names, "
        "without cycles.",
    )
    cost: Literal["cv"] | Positive = option(
        "cv",
        "Inverse strength of the penalty; larger values fit more closely. For max-margin learners, it is the cost of a "
        "wrong label. With cv, it is chosen by held-out log loss (CRF) or wrong labels (max margin).",
        "c",
    )
    shrinkage: Literal["cv"] | Positive = option(1.0, "Lambda of the laplace prior, or cv; larger values drop weights.")
    posterior: Literal["variational", "exact"] = option(
        "variational", "Posterior of laplace: variational (Zhu and Xing 2009) or exact."
    )
    rounds: Count | None = option(
        None, "Maximum rounds of variational laplace (Zhu and Xing 2009: 3). Default: until convergence.", was=3
    )
    random_effect: str | None = option(
        None,
        "Column with a random effect, such as reserve or observer; crf-l2 only. Each level has an intercept for each "
        "species. New levels and maps have the mean.",
        "group",
    )
    random_spread: Literal["cv"] | Positive = option(
        "cv", "Standard deviation of the random effect, or cv. With cv, it is chosen by held-out log loss."
    )
    traits: str | None = option(
        None,
        "Table of species traits; crf-l2 only. Its first column has the names of the species, every other column a "
        "trait. Environmental effects may depend on traits: see fourth_corner.csv.",
    )
    presence_above: NotNegative | None = option(
        None, "Presence threshold for counts or cover: larger values are presences. Default: columns of 0 and 1."
    )
    all_associations: bool = option(
        False, "Also estimate pairwise associations given the environment, with 95 % intervals (all_associations.csv)."
    )


class TuneOptions(Section):
    """Settings that `sdm tune` tries, and the rule of its choice."""

    feature_sets: ClassSets = option(["l", "lq", "h", "lqh", "lqph"], "Feature classes to try.")
    multipliers: PositiveList = option([0.5, 1.0, 2.0, 3.0, 4.0], "Regularisation multipliers to try.")
    entropies: Orders = option([], "Orders of the entropy to try. Default: the order of the model.")
    regularizations: Penalties = option([], "Penalties to try. Default: the penalty of the model.")
    lambdas: NumberList = option([], "Structural models: values of lambda to try. Default: lambda of the model.")
    betas: NumberList = option([], "Values of beta to try. Default: beta of the model.")
    budget: int = option(0, "Number of random settings to try (0: all combinations).", ge=0)
    choose_by: Words = option(
        ["loss.val.avg"],
        "Measures to choose by, such as loss.val.avg, auc.val.avg or AICc. Others are tss.val.avg, cbi.val.avg and "
        "or.10p.avg. Later measures resolve ties. AICc needs no folds.",
        min_length=1,
    )
    choose_rule: Literal["best", "one_se"] = option(
        "best",
        "Choice: best, or the simplest within one standard error of it. The simplest has the fewest coefficients.",
    )


class CurveOptions(Section):
    """Curves that `sdm curve` draws."""

    sets: ClassSets = option(
        ["l:0.1", "lq:0.1", "lqp:0.1", "t:1"], "Feature classes to compare, each with its multiplier after a colon."
    )
    sizes: CountList = option(
        [], "Numbers of training records. Default: ten on a logarithmic scale; all for a sensitivity curve."
    )
    strengths: PositiveList | None = option(
        None, "Regularisation multipliers of a sensitivity curve. Default: 0.01 to 10.", formerly="prices"
    )
    partitions: Count = option(10, "Number of random partitions of the records to average over.")
    held_out: float = option(30.0, "Percentage of the records that each partition holds out.", gt=0, lt=100)


class PathOptions(Section):
    """Path that `sdm path` follows, and the choice of its fit."""

    strata: str | None = option(
        None, "Strata of an exact path: a layer of categories, or squares (grid:50km). Default: the path of the model."
    )
    epsilon: Positive = option(1e-3, "Path of the model: largest duality gap, also between fits, in nats.")
    smallest: Positive = option(0.1, "Path of the model: smallest multiplier.")
    choice: Literal["best", "one_se"] = option(
        "best", "Fit to choose: best, or the strongest regularisation within one standard error."
    )
