"""Options of a model and its test: features, penalty, solver; folds, replicates, measures."""

from typing import Literal

from sdm.options.kinds import (
    BetaRule,
    Classes,
    Count,
    CountList,
    Families,
    Folds,
    NotNegative,
    Numbers,
    Order,
    Part,
    PenaltyName,
    Positive,
    Power,
    Section,
    Share,
    option,
)


class FitOptions(Section):
    """The model: features, penalty and solver."""

    model: Literal["maxent", "structural", "committee", "shared", "ensemble"] = option(
        "maxent",
        "Model: maxent, structural, committee, shared or ensemble. A structural model adds trees and monomials where "
        "they reduce the held-out loss. A committee is the mean of five maxent models with different settings. A "
        "shared model fits all species together on a few environmental axes. An ensemble is the mean of committee and "
        "shared, or a committee for a single species.",
    )
    features: Classes = option(
        "auto",
        "Feature classes: auto, or letters of lqpht (linear, quadratic, product, hinge, threshold). With auto, they "
        "depend on the number of records; communities use lq. Classes by variable and single products are written "
        "'bio1:lq, slope:h, bio1*bio12'. Letters without a variable apply to all other variables. Models of species "
        "also take random ReLU features, which capture interactions, such as lqh,relu:1000. Class models also take "
        "trees and monomials, such as l,q,trees:8.",
        "fc",
    )
    multiplier: Literal["auto"] | Positive | None = option(
        None,
        "Regularisation multiplier; larger values give smoother models. With auto, it is chosen by the held-out loss. "
        "Default: 1, as in Java Maxent; auto for classes.",
        *("rm", "betamultiplier"),
        was=1.0,
    )
    regularization: Literal["auto", PenaltyName] | None = option(
        None,
        "Penalty on the weights. Default: l1; for classes auto, which is l1 or elastic by the held-out loss. Models of "
        "species also have mahalanobis (l2sq with the correlations of the features) and lp (a norm between l1 and l2).",
        was="l1",
    )
    entropy: Literal["auto"] | Order = option(
        1.0,
        "Order of the entropy, from 1 (Shannon) to 2, or auto. Above 1, the map has exact zeros. With auto, it is 1, "
        "1.25, 1.5 or 2, by the held-out log loss.",
    )
    knots: Literal["maxent", "maxnet", "all"] | Count | None = option(
        None, "Knots of hinge and threshold features, or N quantiles. Default: maxent; 30 for classes.", was="maxent"
    )
    families: Families = option(
        "auto,trees:8,mono:4",
        "Structural models: feature families, such as l,q,p,h,trees:8,mono:4. Trees have up to 8 nodes here, and "
        "monomials a degree up to 4. With auto, feature classes depend on the sample size. With exacttrees:2, all "
        "trees of up to 2 nodes are searched.",
    )
    lam: Literal["auto"] | NotNegative | None = option(
        None,
        "Structural models: lambda; a tree or monomial of complexity B has the penalty lambda·B + beta. With auto, "
        "trees and monomials are used if they reduce the held-out loss by more than one standard error. Default: auto; "
        "0.01 for classes.",
        "lambda",
        was="auto",
    )
    beta: BetaRule | NotNegative | None = option(
        None,
        "Regularisation of features before the multiplier: a rule, or a number. Default: maxent, the tables of Java "
        "Maxent; for structural models auto, chosen by the held-out loss. Rule deviation is σ/√m at the presences. "
        "Rules of Dudík et al. (2007) are corollary5, corollary6, corollary7 (for l1), theorem8, corollary9 "
        "(smoothed_l1), theorem11 (l2), theorem13 (l2sq) and theorem15 (elastic). The other rules give at least 0.001, "
        "times the multiplier.",
    )
    delta: Share = option(
        0.05, "Rules of Dudík et al. (2007): accepted probability that the regularisation is too small."
    )
    norm: Positive = option(
        10.0, "Rules theorem8, corollary9, theorem13 and theorem15: norm of the weights of the comparison models."
    )
    beta_lqp: NotNegative | None = option(
        None, "Regularisation of linear, quadratic and product features, before the multiplier. Default: Java Maxent's."
    )
    beta_hinge: NotNegative | None = option(
        None, "Regularisation of hinge features, before the multiplier. Default: 0.5, as in Java Maxent."
    )
    beta_threshold: NotNegative | None = option(
        None, "Regularisation of threshold features, before the multiplier. Default: Java Maxent's table."
    )
    beta_categorical: NotNegative | None = option(
        None, "Regularisation of categories, before the multiplier. Default: Java Maxent's table."
    )
    quadratic_from: Count = option(
        10, "Minimum number of records, or sites, for quadratic features with --features auto.", "l2lqthreshold"
    )
    hinge_from: Count = option(
        15, "Minimum number of records, or sites, for hinge features with --features auto.", "hingethreshold"
    )
    product_from: Count = option(
        80, "Minimum number of records, or sites, for product features with --features auto.", "lq2lqptthreshold"
    )
    complexity: Literal["bound", "sample"] = option(
        "bound", "Structural models: complexity of families by its theoretical bound, or estimated from the sample."
    )
    penalty_folds: Count = option(
        5,
        "Folds for the choice of penalties: lambda and beta of structural models, and the multiplier of classes. With "
        "1, there is one split into 70 % and 30 %.",
        formerly="price_folds",
    )
    penalty_repeats: Count = option(
        2, "Structural models: number of repeated divisions into --penalty-folds.", formerly="price_repeats"
    )
    penalty_grid: Numbers | None = option(
        None, "Structural models: values of lambda and beta to try. Default: a few values.", formerly="price_grid"
    )
    strength: Literal["auto"] | Positive | None = option(
        None,
        "Shared axes: penalty on the axes; larger values give fewer axes. Default: auto, chosen by the loss in "
        "held-out blocks of sites; 1.4 in an ensemble.",
    )
    own: Positive | None = option(
        None,
        "Shared axes: multiplier of an additional response of each species. Its penalties are those in Java Maxent, "
        "times this multiplier. Default: no additional response.",
    )
    axes: str | None = option(
        None,
        "Shared axes: group.npz of an earlier run, whose axes are used for these species. At least three records are "
        "needed. Default: the axes are fitted to the species of this run.",
    )
    spatial: bool = option(
        False, "Shared axes: add smooth functions of location, for maps within the region of the records only."
    )
    solver: Literal["newton", "summet", "plummet", "structmaxent1", "structmaxent2"] = option(
        "newton", "Optimisation algorithm."
    )
    tolerance: Positive | None = option(
        None, "Largest duality gap, in nats. Default: 1e-6; 1e-4 if structural or shared.", "convergencethreshold"
    )
    max_iterations: Count | None = option(None, "Maximum number of iterations of the solver.", "maximumiterations")
    add_presences: Literal["all", "distinct", "none"] | None = option(
        None,
        "Presences that are added to the background: all, distinct or none. With distinct, only presences that are not "
        "in it, as in maxnet, and in Java Maxent with layers. Default: all; distinct with --bounds and --knots maxnet.",
    )
    smoothing: Positive = option(0.1, "Penalty smoothed_l1: width of the smoothing; 0 is the limit l1.")
    ratio: Positive | None = option(
        None, "Penalty elastic: ratio of the l2² penalty to the l1 penalty. Default: 1; 4 for classes.", was=1.0
    )
    ridge: Positive | None = option(None, "Penalty elastic: strength of the l2² penalty. Default: by --ratio.")
    power: Power = option(1.5, "Penalty lp: exponent p of the norm, between 1 (l1) and 2 (l2).")
    uncorrelated: Part = option(
        0.01, "Penalty mahalanobis: shrinkage of the correlations of the features, up to 1 (l2sq)."
    )

    @property
    def feature_text(self) -> str:
        """Return the families of a structural model, otherwise the feature classes."""
        return self.families if self.model == "structural" else self.features

    @property
    def shares_axes(self) -> bool:
        """Return whether the models of a run are on shared axes."""
        return self.model in ("shared", "ensemble")


class TestOptions(Section):
    """Test of the model: held-out records, folds, replicates and importance."""

    percent: float = option(
        0.0, "Percentage of records, or sites, held out for testing.", "test_percent", "randomtestpoints", ge=0, le=90
    )
    file: str | None = option(
        None, "File of test records, or sites; absences are used too.", "test", "test_samples", "testsamplesfile"
    )
    folds: Folds = option(0, "Number of folds of a cross-validation (0: none).")
    split: Literal[
        "random", "leave-one-out", "block", "equal-blocks", "checkerboard", "buffer", "environment", "own"
    ] = option(
        "random",
        "Division of the records into folds: random, block, buffer, environment, and others. With leave-one-out, each "
        "record is a fold. With block, folds consist of squares. With equal-blocks, four blocks have equal counts. "
        "With checkerboard, folds alternate in squares. With buffer, each record is a fold, and records around it are "
        "not used for training. With environment, folds are clusters in the environment. With own, --fold-column "
        "contains the folds.",
    )
    validation_background: Literal["full", "partition"] = option(
        "full", "Background for the validation of a fold: all of it, or its part in the area of the fold."
    )
    block_size: Literal["auto"] | Positive | None = option(
        None,
        "Side of the squares of --split block, in km, or auto. With auto, it is the range of spatial autocorrelation "
        "of the variables at the records (the median over variables).",
    )
    radius: NotNegative | None = option(
        None, "Buffer of --split buffer, in km. Records within it around the held-out record are not used for training."
    )
    orientation: Literal["lat_lon", "lon_lat", "lat_lat", "lon_lon"] = option(
        "lat_lon", "Coordinates of the first and the second division of --split equal-blocks."
    )
    aggregation: CountList = option(
        [2], "Cells per side of --split checkerboard squares; two numbers give four folds.", min_length=1, max_length=2
    )
    fold_column: str | None = option(None, "Column with the fold of each record, for --split own.")
    replicates: int = option(0, "Number of replicates (0 and 1: none).", ge=0)
    replicate_kind: Literal["crossvalidate", "bootstrap", "subsample"] = option(
        "crossvalidate",
        "Kind of replicates: folds, samples with replacement, or subsamples. With subsample, --test-percent of the "
        "records are held out (25 by default).",
        "replicatetype",
    )
    importance: bool = option(True, "Compute permutation importance, and percent contribution for species.")
    contribution: Literal["shares", "steps"] = option(
        "shares",
        "Computation of percent contribution. With shares, it depends on the weights alone. With steps, it is computed "
        "along the steps of Java Maxent's algorithm, up to 500 or --max-iterations.",
    )
    repeats: Count = option(10, "Number of permutations of each variable for permutation importance.")
    jackknife: bool = option(False, "Also fit without each variable, and with each variable alone.")
    null_models: int = option(
        0, "Number of null models to compare the cross-validation with (0: none). They use random records.", ge=0
    )

    @property
    def division(self) -> str | None:
        """Return the division of records for validation; None without one."""
        if self.replicates > 1 and self.replicate_kind != "crossvalidate":
            return self.replicate_kind
        return self.split if self.split != "random" or max(self.folds, self.replicates) > 1 else None

    @property
    def division_name(self) -> str:
        """Return the division of records, by default random."""
        return self.division or "random"
