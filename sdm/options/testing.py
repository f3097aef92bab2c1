"""The options of what is measured of a model."""

from typing import Literal

from sdm.options.kinds import (
    Count,
    CountList,
    Folds,
    NotNegative,
    Positive,
    Section,
    option,
)


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
