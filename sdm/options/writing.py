"""The options of what a run gives (maps, those of other times and places, what is written beside them), and of the
cluster that shares its work."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from sdm.options.kinds import (
    Count,
    Files,
    Formats,
    NotNegative,
    Places,
    Positive,
    Section,
    Stacks,
    Width,
    Words,
    option,
    read_places,
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


class ProjectOptions(Section):
    """Other times and places to map models on, and what is measured there."""

    models: Files = option(
        [],
        "For 'sdm project': model files, results of a run or of a batch, or a pattern with fields in braces, such as "
        "'runs/{multiplier}/sp.npz'.",
    )
    scenarios: Places = option(
        {},
        "Scenarios to map models on: a pattern with fields in braces, such as 'future/{gcm}_{ssp}_{period}/', a table "
        "(.csv), folders or files, or name=folder.",
        *("projections", "projectionlayers"),
        formerly="predict.projections",
    )
    reference: Files = option(
        [], "Layers of the present, which change is measured against (of a fit: its own layers, unless given)."
    )
    thresholds: Words = option(
        [],
        "Map presence by these cutoffs: mtp, 10p, maxsss, equal, or values; change goes by the first (default: "
        "--threshold, else maxsss).",
    )
    novelty: Words = option(
        ["mess"],
        "Measures of novelty to map: mess (with the most dissimilar variable), exdet, mop, clamping (its effect), "
        "limiting (the variable that keeps suitability low), or none.",
    )
    dispersal: Literal["unlimited", "none"] | Positive = option(
        "unlimited",
        "Which cells that become suitable are gained: all (unlimited), none, or those at most N km from where the "
        "species was in the period before.",
    )
    over: Words = option(
        [], "Fields to average scenarios over (default: gcm, and the fields of models; without fields, all scenarios)."
    )
    area: str | None = option(None, "Polygons outside which nothing is mapped.", "projection_area")


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
    figures: Formats = option(
        [],
        "Also draw all figures for print, as png, pdf or svg. Without it, curves and other charts are SVG files as the "
        "page shows them, and maps are PNG files.",
        "figure_format",
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

    @property
    def stack_name(self) -> str:
        """Return the stacks as they are typed."""
        return ",".join(self.stack)


def _settings(value: Any) -> Any:
    """Let NAME=VALUE stand for a setting; keep numbers as text, and several values with semicolons between them."""
    named = read_places(value)
    return {name: _text(item) for name, item in named.items()} if isinstance(named, dict) else named


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return str(value) if isinstance(value, (int, float)) else value


_TEXT = {"type": ["string", "number", "boolean", "array"]}
_NAMED = {"anyOf": [{"type": ["string", "array"]}, {"type": "object", "additionalProperties": _TEXT}]}
Settings = Annotated[dict[str, str], BeforeValidator(_settings), WithJsonSchema(_NAMED)]


class ClusterOptions(Section):
    """A Dask cluster that does the work; it sees the same files, under the same paths, as this machine."""

    address: str | None = option(
        None,
        "A Dask cluster for species, folds, settings and scenarios: its address (tcp://host:8786), its scheduler file, "
        "or slurm (jobs that are started for the run).",
        "cluster",
    )
    workers: Count = option(2, "How many workers to start, with --cluster slurm.", "cluster_workers")
    settings: Settings = option(
        {},
        "How jobs are started, with --cluster slurm: as in queue=long, memory=8GB, cores=4, walltime=12:00:00.",
        "cluster_settings",
    )
    patience: Positive | None = option(
        None,
        "How many seconds to wait for a worker while the cluster has none, before the run fails. By default 300; with "
        "--cluster slurm as long as jobs wait in the queue.",
        "cluster_patience",
    )
