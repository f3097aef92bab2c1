"""The options of a model and of its tests: features, penalty, solver; folds, replicates, measures."""

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
    """The model."""

    model: Literal["maxent", "structural", "committee", "shared", "ensemble"] = option(
        "maxent",
        "maxent: feature classes; structural: trees and monomials too, where held-out records show that they help; "
        "committee: the mean of five maxent models of different shape; shared: one fit for all species of the run, "
        "whose responses share a few axes of the environment; ensemble: the mean of committee and shared (of one "
        "species alone the committee).",
    )
    features: Classes = option(
        "auto",
        "Feature classes: auto, or letters of l q p h t (linear, quadratic, product, hinge, threshold); for species "
        "also random rectified features, as in lqh,relu:1000, which hold how variables act together (drawn by --seed); "
        "for classes also trees and monomials, as in l,q,trees:8 (auto: by the number of records; for communities lq). "
        'By variable, and with single products: "bio1:lq, slope:h, bio1*bio12"; letters without a name, as in '
        "lq,slope:h, are those of all other variables.",
        "fc",
    )
    multiplier: Literal["auto"] | Positive | None = option(
        None,
        "Regularisation multiplier: larger is smoother (default: 1, as in Java Maxent; for classes auto: chosen by the "
        "loss at held-out sites, because the tables of Java Maxent are not made for them).",
        *("rm", "betamultiplier"),
        was=1.0,
    )
    regularization: Literal["auto", PenaltyName] | None = option(
        None,
        "The penalty on the weights (default: l1; for classes auto: l1, or elastic if that does better at held-out "
        "sites). For species also mahalanobis, which is l2sq with the correlations of the features, and lp, a norm "
        "between l1 and l2.",
        was="l1",
    )
    entropy: Literal["auto"] | Order = option(
        1.0,
        "1 is Shannon's entropy; up to 2 the map has exact zeros; auto: 1, 1.25, 1.5 or 2, by the log loss at held-out "
        "records or sites.",
    )
    knots: Literal["maxent", "maxnet", "all"] | Count | None = option(
        None,
        "Knots of hinges and thresholds: maxent, maxnet, all, or N quantiles (default: maxent; for classes 30, because "
        "every class has weights of its own).",
        was="maxent",
    )
    families: Families = option(
        "auto,trees:8,mono:4",
        "Structural: families, such as l,q,p,h,trees:8,mono:4 (auto: feature classes by sample size; trees to 8 nodes, "
        "monomials to degree 4; exacttrees:2 searches all trees of up to 2 nodes).",
    )
    lam: Literal["auto"] | NotNegative | None = option(
        None,
        "Structural: the penalty of a tree or monomial of complexity B is lambda·B + beta; auto chooses by held-out "
        "loss, and leaves trees and monomials out unless they help by more than one standard error (default: auto; for "
        "classes 0.01, because the choice takes long).",
        "lambda",
        was="auto",
    )
    beta: BetaRule | NotNegative | None = option(
        None,
        "Where the penalties of features come from (default: Maxent's tables; structural: auto, by held-out loss). "
        "deviation: σ/√m at the presences; tables and deviation give at least 0.001, times the multiplier. By the "
        "theory of Dudík et al. (2007): corollary5, 6 and 7 for l1, theorem8 and corollary9 for smoothed_l1, theorem11 "
        "for l2, theorem13 for l2sq, theorem15 for elastic.",
    )
    delta: Share = option(
        0.05, "For penalties by the theory: how often they may be too small (0.05: in 5 % of samples of records)."
    )
    norm: Positive = option(
        10.0,
        "For theorem8, corollary9, theorem13 and theorem15: the size of the weights of models to do well against.",
    )
    beta_lqp: NotNegative | None = option(
        None,
        "Regularisation of linear, quadratic and product features, before the multiplier (default: by Maxent's table).",
    )
    beta_hinge: NotNegative | None = option(
        None, "Regularisation of hinge features, before the multiplier (default: 0.5, as Maxent)."
    )
    beta_threshold: NotNegative | None = option(
        None, "Regularisation of threshold features, before the multiplier (default: by Maxent's table)."
    )
    beta_categorical: NotNegative | None = option(
        None, "Regularisation of categories, before the multiplier (default: by Maxent's table)."
    )
    quadratic_from: Count = option(
        10, "For features auto: records, or sites, from which quadratic features are used.", "l2lqthreshold"
    )
    hinge_from: Count = option(
        15, "For features auto: records, or sites, from which hinge features are used.", "hingethreshold"
    )
    product_from: Count = option(
        80, "For features auto: records, or sites, from which product features are used.", "lq2lqptthreshold"
    )
    complexity: Literal["bound", "sample"] = option(
        "bound", "Structural: complexity of families by the theory's bound, or estimated on the sample."
    )
    penalty_folds: Count = option(
        5,
        "Folds that choose penalties: lambda and beta of a structural model (1: one split of 70 and 30 %), and the "
        "multiplier of classes.",
        formerly="price_folds",
    )
    penalty_repeats: Count = option(
        2, "Structural: how often to divide the records into these folds.", formerly="price_repeats"
    )
    penalty_grid: Numbers | None = option(
        None,
        "Structural: values to try for lambda and for beta (default: a few, beta by the number of presences).",
        formerly="price_grid",
    )
    strength: Literal["auto"] | Positive | None = option(
        None,
        "Shared axes: strength of the penalty on axes; larger means fewer axes (default: auto, by the loss at records "
        "in blocks of sites that were left out; in an ensemble 1.4).",
    )
    own: Positive | None = option(
        None,
        "Shared axes: give each species a part of its own beside the axes, with the penalties of Java Maxent times "
        "this multiplier (default: none).",
    )
    axes: str | None = option(
        None,
        "Shared axes: the group.npz of an earlier run, on whose axes these species are placed; three records are "
        "enough (default: axes of the species of this run).",
    )
    spatial: bool = option(
        False, "Smooth functions of place among the features, for mapping within the region only (shared axes)."
    )
    solver: Literal["newton", "summet", "plummet", "structmaxent1", "structmaxent2"] = option(
        "newton", "How the optimum is found."
    )
    tolerance: Positive | None = option(
        None,
        "Largest duality gap, in nats (default: 1e-6; structural and shared axes: 1e-4).",
        "convergencethreshold",
    )
    max_iterations: Count | None = option(None, "Stop after N rounds at the latest.", "maximumiterations")
    add_presences: Literal["all", "distinct", "none"] | None = option(
        None,
        "Which presences join the background: all (default), those that it does not hold yet (distinct, as Java Maxent "
        "does with layers; the default with --bounds and with --knots maxnet), or none.",
    )
    smoothing: Positive = option(0.1, "For smoothed_l1: smaller is nearer to l1.")
    ratio: Positive | None = option(
        None, "For elastic: the l2² penalty relative to the l1 penalty (default: 1; for classes 4).", was=1.0
    )
    ridge: Positive | None = option(
        None, "For elastic: the strength of the l2² penalty by itself (default: by --ratio)."
    )
    power: Power = option(1.5, "For lp: the p of the norm, between 1 and 2; near 1 it is like l1, near 2 like l2.")
    uncorrelated: Part = option(
        0.01, "For mahalanobis: the share of the features' correlations that is left out, up to 1, which is l2sq."
    )

    @property
    def feature_text(self) -> str:
        """The text of the features: the families of a structural model, else the feature classes."""
        return self.families if self.model == "structural" else self.features

    @property
    def shares_axes(self) -> bool:
        """Tell whether the models of a run are on shared axes."""
        return self.model in ("shared", "ensemble")


class TestOptions(Section):
    """How the model is tested."""

    percent: float = option(
        0.0,
        "Set aside N percent of the records, or sites, for testing.",
        *("test_percent", "randomtestpoints"),
        ge=0,
        le=90,
    )
    file: str | None = option(
        None,
        "Test with the records, or sites, of this file; where a column says 1 and 0, on its absences too.",
        *("test", "test_samples", "testsamplesfile"),
    )
    folds: Folds = option(0, "Cross-validate in N folds (0: do not).")
    split: Literal[
        "random", "leave-one-out", "block", "equal-blocks", "checkerboard", "buffer", "environment", "own"
    ] = option(
        "random",
        "How records, or sites, are divided into folds: random; one at a time; blocks (squares); four blocks of equal "
        "counts; a checkerboard; one at a time without the neighbours within a buffer; clusters of the environment; or "
        "your own column of folds.",
    )
    validation_background: Literal["full", "partition"] = option(
        "full", "What a fold is measured against: the whole background, or the part that lies with it."
    )
    block_size: Literal["auto"] | Positive | None = option(
        None,
        "For --split block: the side of a square in km; auto: the range of spatial autocorrelation of the variables at "
        "the records (median over variables).",
    )
    radius: NotNegative | None = option(
        None, "For --split buffer: records within N km of the one held out do not train."
    )
    orientation: Literal["lat_lon", "lon_lat", "lat_lat", "lon_lon"] = option(
        "lat_lon", "For --split equal-blocks: which coordinate is cut first, and which second."
    )
    aggregation: CountList = option(
        [2],
        "For --split checkerboard: cells along the side of a square; a second number lays a board of larger squares "
        "over it, for four folds.",
        min_length=1,
        max_length=2,
    )
    fold_column: str | None = option(None, "For --split own: the column with the fold of each record.")
    replicates: int = option(0, "Fit N replicates (0 and 1: none).", ge=0)
    replicate_kind: Literal["crossvalidate", "bootstrap", "subsample"] = option(
        "crossvalidate",
        "How replicates are made: as folds; as samples drawn with replacement; or as all records but a share "
        "(--test-percent, or 25).",
        "replicatetype",
    )
    importance: bool = option(
        True, "Measure each variable: permutation importance, and percent contribution for species."
    )
    contribution: Literal["shares", "steps"] = option(
        "shares",
        "How percent contribution is counted. shares: by the weights alone, whatever the algorithm did; steps: along "
        "the steps of Java Maxent's algorithm, as it does (up to 500 of them, or --max-iterations).",
    )
    repeats: Count = option(10, "How often each variable is shuffled for its permutation importance.")
    jackknife: bool = option(False, "Also fit without each variable, and with each variable alone.")
    null_models: int = option(
        0, "Compare the cross-validation with that of N null models, fitted to random records (0: do not).", ge=0
    )

    @property
    def division(self) -> str | None:
        """Return how records are divided for validation; None if they are not."""
        if self.replicates > 1 and self.replicate_kind != "crossvalidate":
            return self.replicate_kind
        return self.split if self.split != "random" or max(self.folds, self.replicates) > 1 else None

    @property
    def division_name(self) -> str:
        """Return how records are divided, by default at random."""
        return self.division or "random"
