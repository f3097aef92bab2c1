"""The options of models of several classes or species together: `sdm classify` and `sdm joint`."""

from typing import Literal

from sdm.options.kinds import (
    Count,
    NotNegative,
    Places,
    Positive,
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
