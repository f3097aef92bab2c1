"""The options of the studies: `sdm tune`, `sdm curve` and `sdm path`."""

from typing import Literal

from sdm.options.kinds import (
    ClassSets,
    Count,
    CountList,
    NumberList,
    Orders,
    Penalties,
    Positive,
    PositiveList,
    Section,
    Words,
    option,
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
