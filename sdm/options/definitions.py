"""The options of a run: one definition for the command line, the YAML file and Python.

A run is a tree of sections; `sdm.options.reading` reads, merges, checks and writes it. An option whose default depends
on the kind of model has none here (None): the estimator's default counts, and the text says which that is.
"""

from typing import Any, Literal

from pydantic import Field

from sdm.options.kinds import (
    BetaRule,
    Bounds,
    Classes,
    Count,
    CountList,
    Crs,
    Families,
    Files,
    Folds,
    Formats,
    Length,
    Nodata,
    NotNegative,
    Numbers,
    Order,
    Part,
    PenaltyName,
    Places,
    Positive,
    Power,
    Renames,
    Section,
    Share,
    Stacks,
    Suspicious,
    Width,
    Words,
    Years,
    option,
)
from sdm.options.projecting import ProjectOptions
from sdm.options.sharing import ClusterOptions
from sdm.options.studies import CurveOptions, PathOptions, TuneOptions


class OccurrenceOptions(Section):
    """Where the species was found."""

    file: str | None = option(
        None,
        "Occurrence records: CSV/TSV, GBIF download, GeoPackage, GeoJSON, Shapefile, Parquet.",
        *("occurrences", "samplesfile", "records"),
    )
    species: Files = option([], "Model only these species of the file (default: all).")
    crs: Crs | None = option(
        None,
        "Coordinate system of the records (default: the file's, else WGS 84; none: plain coordinates, with --bounds).",
    )
    response: str | None = option(
        None, "Column with presence and absence: one class model per species, without a background."
    )
    species_column: str | None = option(None, "Column with the species' name (default: found by its name).")
    x_column: str | None = option(None, "Column with the longitude or easting.")
    y_column: str | None = option(None, "Column with the latitude or northing.")
    site_column: str | None = option(
        None,
        "With a response, or several species: the column that names the sites (default: site, plot, station or the "
        "like). Visits to one name, or to one place, are tested together; two tables are joined by it.",
    )
    layer: str | None = option(
        None, "Layer of a GeoPackage, or of another file with several; for other files write file.gpkg:NAME."
    )
    drop_suspicious: Suspicious = option(
        [],
        "Drop records with suspicious coordinates: all, or some of equal (longitude and latitude), whole (degrees), "
        "repeated (one point of many species), sea (on nodata, far from data); zero, impossible and swapped ones are "
        "dropped in any case.",
    )
    snap: int = option(0, "Move records on nodata to the nearest valid cell, at most N cells away.", ge=0, le=1000)
    keep_duplicates: bool | None = option(
        None,
        "Keep several records of a species in one cell (default: no; for classes yes, because every visit counts, and "
        "for point patterns, --bounds).",
    )
    partial: bool = option(
        False,
        "Keep records that have some of the variables: for a value that is missing, that of another record of the "
        "species is taken, drawn by --seed, as Java Maxent does (default: such records are left out).",
        "allowpartialdata",
    )
    thin_distance: float = option(
        0.0, "Thin: keep as many records as possible, no two nearer to each other than N km.", ge=0
    )
    thin_bins: int = option(
        0, "Thin: divide every variable into N bins, and keep one record per combination of bins.", ge=0, le=10_000
    )
    thin_variables: Words = option([], "Thin: the variables that are divided into bins (default: all).")
    thin_tries: Count = option(10, "Random orders to try when thinning by distance; the largest set is kept.")
    record_weights: str | None = option(
        None, "Weigh records by this column, or by 'uncertainty': how surely they lie in their cell."
    )
    uncertainty_column: str | None = option(
        None, "Column with the coordinates' uncertainty in metres (default: found by its name)."
    )
    max_uncertainty: Length | None = option(
        None,
        "Leave out records whose coordinates are less certain than this, as in 5km or 250m (by "
        "coordinateUncertaintyInMeters, else coordinatePrecision; those that are not known stay).",
    )
    years: Years | None = option(
        None, "Only records of these years, as in 1970-2010, 1970- or -2010; those without a year are left out."
    )
    basis: Words = option(
        [],
        "Only records of these kinds (basisOfRecord), as in HUMAN_OBSERVATION,PRESERVED_SPECIMEN (default: all but "
        "fossils and captive specimens).",
    )
    exclude_issues: Words = option(
        [], "Leave out records with these issues of GBIF, as in COUNTRY_COORDINATE_MISMATCH; geospatial: all of place."
    )
    where: str | None = option(
        None,
        "Only records that satisfy a condition on columns of the file, as in \"elevation > 500 and country == 'PE'\" "
        "(comparisons, and, or, not, in ('a', 'b'), like 'Rio*', is missing).",
    )
    max_bad_rows: float = option(
        5.0, "Stop if more than N percent of the rows of a file cannot be read; fewer are left out.", ge=0, le=100
    )


class LayerOptions(Section):
    """The environment."""

    files: Files = option(
        [],
        "Environmental layers: a folder, a pattern, or files; one file per variable.",
        "layers",
        "environmentallayers",
    )
    bounds: Literal["auto"] | Bounds | None = option(
        None,
        "A point pattern, without layers: the window that the points were looked for in, as xmin,ymin,xmax,ymax in "
        "their own coordinates (auto: a box around them). The coordinates of its cells, x and y, are the variables; "
        "every cell is background, and several points in one cell count.",
    )
    cells: CountList = option(
        [100],
        "With --bounds: cells along the longer side of the window, which are squares; or columns and rows, as in "
        "48,365.",
        min_length=1,
        max_length=2,
    )
    categorical: Words = option([], "Layers whose values are categories.", "togglelayertype")
    variables: Words = option(
        [],
        "Use only these variables: names or patterns such as 'bio*' of layers, or of columns of a table.",
        "environment",
        formerly="joint.environment",
    )
    exclude: Words = option([], "Leave these variables out: names or patterns.")
    nodata: Nodata = option(
        [],
        "Values that mean 'no data', besides what the files say: -9999, several with commas between, or landcover=255 "
        "for one variable; none: what the files say is all, and a number that looks like such a value is a true one.",
    )
    rename: Renames = option(
        {},
        "Rename layers by a pattern with fields in braces, also in scenarios: 'wc2.1_10m_bio_{n}=bio{n}'.",
    )
    align: str | None = option(None, "Resample layers to the grid of this layer ('first' for the first).")
    drop_correlated: float | None = option(
        None,
        "Of continuous variables whose correlation |r| exceeds this number (often 0.7), keep the one that tells most "
        "by itself, by its gain; categories are kept.",
        gt=0,
        lt=1,
    )
    drop_vif: float | None = option(
        None,
        "Leave out the continuous variable with the largest variance inflation factor, again and again, until none "
        "exceeds this number (often 10).",
        ge=1,
    )
    reduce: bool = option(
        False,
        "Leave out the variable that matters least at held-out records, again and again, while the held-out loss gets "
        "worse by no more than its standard error.",
    )
    reduce_to: Count | None = option(None, "The same down to N variables, whatever the loss.")


class BackgroundOptions(Section):
    """The points that the species' environment is compared with."""

    kind: Literal["random", "target-group"] = option(
        "random",
        "What the background is: random cells, or all sites where any species of a target group was recorded.",
        "background",
    )
    points: Count | Literal["all"] = option(
        10_000, "How many background points to draw, or 'all' cells.", "background_points", "maximumbackground"
    )
    file: str | None = option(
        None, "Your own background points, in any format that occurrences come in.", "background_file"
    )
    area: str | None = option(
        None,
        "Study area, outside which nothing is drawn, counted or mapped: polygons (a file), or what a species can have "
        "reached: a 'buffer' around its records, or their convex 'hull'.",
        "study_area",
    )
    buffer: Positive | None = option(None, "Width of the buffer in km, for a study area of 'buffer' or 'hull'.")
    area_weighted: bool = option(False, "Draw cells by their true area (for layers in degrees).")
    target_group: str | None = option(
        None, "Records of a target group, observed as the species is (default: all species of the occurrence file)."
    )
    random_share: float | None = option(
        None,
        "Shared axes with a target group: the part of the base measure that is on 2,000 random cells, so that it is "
        "not zero where nobody looked (default: 0.1, with features of place 0.03; 0: none).",
        ge=0,
        lt=1,
    )
    bias: str | None = option(
        None,
        "Sampling effort: a raster on the grid of the layers, or 'target-group' for the density of its sites.",
        "biasfile",
    )
    bias_treatment: Literal["sample", "prior", "records"] = option(
        "sample",
        "What effort does. sample: background cells are drawn by it. prior: it is the base measure that the model is "
        "fitted relative to, and so is divided out of the map (exact; take many points). records: every record counts "
        "by one over the effort in its cell, and the background stays as it is.",
    )
    bandwidth: Literal["auto"] | Positive = option(
        "auto", "Of the density of a target group's sites: the kernel's standard deviation in km, or auto."
    )
    effort_column: str | None = option(
        None, "In tables of samples with data: the column with the sampling effort of each row."
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
        "Largest certified distance from the optimum, in nats (default: 1e-6; structural and shared axes: 1e-4).",
        "convergencethreshold",
    )
    max_iterations: Count | None = option(None, "Stop after N rounds at the latest.", "maximumiterations")
    add_presences: Literal["all", "distinct", "none"] | None = option(
        None,
        "Which presences join the background: all (default), those that it does not hold yet (distinct, as Java Maxent "
        "does with layers; the default with --bounds), or none.",
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


class PredictOptions(Section):
    """The map."""

    scale: Literal["cloglog", "raw", "cumulative", "logistic"] = option("cloglog", "Scale of the map.", "outputformat")
    extrapolation: Literal["clamp", "free", "none", "fade", "lower"] = option(
        "clamp",
        "Outside the training range. clamp: variables are held at its limits; free: they are not; none: nothing is "
        "predicted there; fade: the clamped prediction, less its difference from the free one; lower: the lower one of "
        "the two (fade and lower: one species).",
    )
    clamp: bool | None = option(None, "The earlier name of extrapolation: true is clamp, and false is free.", "doclamp")
    threshold: Literal["mtp", "10p", "maxsss", "equal"] | float | None = option(
        None,
        "Also write a map of presence and absence, with this cutoff: mtp, 10p, maxsss, equal, or a value.",
        "applythresholdrule",
    )
    temperature: Positive = option(
        1.0,
        "Divide scores by this number at prediction: below 1 the map has more contrast (entropy above 1: more zeros).",
    )
    range: bool = option(True, "Where entropy above 1 leaves exact zeros: also write the range as polygons (.gpkg).")
    min_patch: NotNegative = option(0.0, "Leave patches of less than N km² out of the range.")
    prevalence: float = option(0.5, "Prevalence, for the logistic scale.", "defaultprevalence", gt=0, lt=1)
    unseen: Literal["zero", "error"] = option(
        "zero", "A category that was not in training: it has no effect (zero), or the run stops (error)."
    )

    @property
    def clamped(self) -> bool:
        """Whether response curves hold variables at the limits of their training ranges."""
        return self.extrapolation != "free"


class OutputOptions(Section):
    """What is written, and where."""

    folder: str | None = option(None, "Folder for the results.", "output", "outputdirectory")
    overwrite: bool = option(False, "Replace results that are there already.")
    resume: bool = option(
        False, "Go on where a run over several species or scenarios ended; what is finished and unchanged is kept."
    )
    curves: bool = option(True, "Draw response curves, marginal and variable-only.", "responsecurves")
    curves_exponent: bool = option(
        False,
        "Response curves show the score of the model (the exponent of its density) in place of the scale of the map, "
        "from 0 at their left end.",
        "responsecurvesexponent",
    )
    map: bool = option(True, "Write the map (GeoTIFF) and its picture.", "pictures")
    map_picture: bool = option(True, "Draw the map as a picture (PNG) too; leave it out to save time in large batches.")
    report: bool = option(True, "Write the page of each model (HTML, opens offline), and an index of several.")
    metadata: bool = option(
        False,
        "Also write the ODMAP protocol as tables (CSV, and JSON), and the metadata that rangeModelMetadata, Wallace "
        "and ENMeval use (RMM, CSV).",
    )
    page_map: Literal["reduced", "full"] = option(
        "reduced",
        "Cells of the maps inside pages: reduced keeps a page below 2 MB; full has all cells of every map of a model, "
        "however large the page; scenarios are compared with up to 2,048 cells on a side.",
    )
    stack: Stacks = option(
        [],
        "Of several species, also map them together: sum (of their suitabilities), threshold (number of species above "
        "their cutoff: that of --threshold, or maxsss), or both with a comma.",
    )
    gpkg: bool = option(
        False,
        "Also write results.gpkg, for a GIS: records with their fate (kept, or why not), background points, folds, and "
        "the range by a cutoff as polygons with their area and centroid; of scenarios the range of each.",
    )
    uncertainty: bool = option(
        False, "Map the mean, deviation, and lower and upper limit (5 and 95 %) over the replicates or folds."
    )
    replicate_maps: bool = option(
        False, "With --uncertainty: also write the map of every replicate or fold, beside its model in replicates."
    )
    background_predictions: bool = option(
        False, "Also write predictions at the background points.", "writebackgroundpredictions"
    )
    append_results: str | None = option(
        None,
        "Also add the row of every species to this table, which has the columns of maxentResults.csv and may hold rows "
        "of earlier runs.",
        "appendtoresultsfile",
    )
    figure_format: Formats = option(
        ["png"], "Formats of figures: png (always: pages show it), and beside it pdf or svg, for print."
    )
    dpi: int = option(300, "Dots per inch of figures, at their printed width.", ge=50, le=1200)
    figure_width: Width | None = option(
        None,
        "Printed width of all figures, such as 85mm (one column of a journal) or 180mm (two); letters keep their size "
        "(default: by figure; curves and single maps 85mm).",
    )
    publication: bool = option(
        False, "Also draw one figure for a paper: the map, responses to the four most important variables, importance."
    )
    surfaces: Words = option([], "Draw the response to two variables at a time: pairs such as rain:temperature.")

    def curve_scale(self, scale: str) -> str:
        """Return the scale of response curves, where `scale` is that of the map."""
        return "exponent" if self.curves_exponent else scale


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


class RunOptions(Section):
    """Everything about a run."""

    kind: Literal["species", "classes", "community"] | None = option(
        None,
        "The kind of model: species (presences and a background), classes (a target class, or presence and absence, "
        "per site), community (several species together). Default: what the other options say.",
    )
    preset: Literal["best"] | None = option(
        None,
        "best: what did best wherever it was measured (target-group background, mean of committee and shared axes).",
    )

    occurrences: OccurrenceOptions = Field(default_factory=OccurrenceOptions)
    layers: LayerOptions = Field(default_factory=LayerOptions)
    background: BackgroundOptions = Field(default_factory=BackgroundOptions)
    fit: FitOptions = Field(default_factory=FitOptions)
    test: TestOptions = Field(default_factory=TestOptions)
    predict: PredictOptions = Field(default_factory=PredictOptions)
    project: ProjectOptions = Field(default_factory=ProjectOptions)
    output: OutputOptions = Field(default_factory=OutputOptions)
    tune: TuneOptions = Field(default_factory=TuneOptions)
    curve: CurveOptions = Field(default_factory=CurveOptions)
    path: PathOptions = Field(default_factory=PathOptions)
    classes: ClassOptions = Field(default_factory=ClassOptions)
    joint: JointOptions = Field(default_factory=JointOptions)
    seed: int = option(1, "Seed of everything random.", "randomseed", ge=0)
    threads: int = option(2, "Threads for reading and predicting rasters.", ge=1, le=1024)
    processes: int = option(
        1, "Processes of this machine for species, folds, null models, tuning, curves and scenarios.", ge=1, le=1024
    )
    cluster: ClusterOptions = Field(default_factory=ClusterOptions)
    retries: int = option(2, "How often a species or scenario is tried again whose worker died.", ge=0, le=100)

    def alone(self) -> "RunOptions":
        """Return the options without what does not change results: who does the work, and whether a run goes on."""
        plain = RunOptions()
        output = self.output.model_copy(update={"resume": False, "overwrite": False})
        return self.model_copy(
            update={"output": output, "processes": 1, "cluster": plain.cluster, "retries": plain.retries}
        )


PRESETS: dict[str, dict[str, Any]] = {"best": {"fit.model": "ensemble", "background.kind": "target-group"}}
"""Options that a preset stands for; what is given besides goes before them (docs/accuracy.md says why these)."""

PATTERN = {"occurrences.keep_duplicates": True, "background.points": "all", "fit.add_presences": "distinct"}
"""Options that a window of a point pattern (`layers.bounds`) stands for: a density over all cells, of all points."""

# Words that some of them take in place of a path.
AREA_WORDS = ("buffer", "hull")
GROUP_WORD = "target-group"
GRAPH_WORDS = ("tree", "chain", "none")
