"""Options of the results of a run (maps, projections, other files), and of a cluster."""

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

    scale: Literal["cloglog", "raw", "cumulative", "logistic"] = option(
        "cloglog", "Scale of the map: cloglog, raw, cumulative or logistic.", "outputformat"
    )
    extrapolation: Literal["clamp", "free", "none", "fade", "lower"] = option(
        "clamp",
        "Prediction outside the training range: clamp, free, none, fade or lower. With clamp, variables are held at "
        "the limits of the range; with free, they are not. With none, there is no prediction. Models of one species "
        "also have fade (clamp minus its difference from free) and lower (the lower of the two).",
    )
    clamp: bool | None = option(None, "Java Maxent's name: same as --extrapolation clamp (or free).", "doclamp")
    threshold: Literal["mtp", "10p", "maxsss", "equal"] | float | None = option(
        None,
        "Also map presence and absence, by a rule or a value. Rule mtp is the minimum training presence, and 10p the "
        "10th percentile. With maxsss, the sum of sensitivity and specificity is largest; with equal, they are equal.",
        "applythresholdrule",
    )
    temperature: Positive = option(
        1.0, "Divisor of the scores. Below 1, the map has more contrast, and with an entropy above 1 more zeros."
    )
    range: bool = option(True, "Also write the area without exact zeros as polygons (.gpkg), for entropies above 1.")
    min_patch: NotNegative = option(0.0, "Smallest patch in the polygons of the range, in km².")
    prevalence: float = option(0.5, "Prevalence of the logistic scale.", "defaultprevalence", gt=0, lt=1)
    unseen: Literal["zero", "error"] = option("zero", "Effect of categories without training data: zero, or an error.")

    @property
    def clamped(self) -> bool:
        """Return whether response curves are constant outside the training ranges."""
        return self.extrapolation != "free"


class ProjectOptions(Section):
    """Projection to other times and places."""

    models: Files = option(
        [], "Models of 'sdm project': files, results, or a pattern such as 'runs/{multiplier}/sp.npz'."
    )
    scenarios: Places = option(
        {},
        "Scenarios: folders, a table, or a pattern such as 'future/{gcm}_{ssp}_{period}/'. A table is a CSV file. With "
        "name=folder, a scenario has another name than its folder.",
        *("projections", "projectionlayers"),
        formerly="predict.projections",
    )
    reference: Files = option([], "Layers of the reference, for maps of change. Default: in sdm fit, its layers.")
    thresholds: Words = option(
        [],
        "Thresholds of presence: mtp, 10p, maxsss, equal, or values. Change is computed with the first. Default: "
        "--threshold, otherwise maxsss.",
    )
    novelty: Words = option(
        ["mess"],
        "Maps of novelty: mess, exdet, mop, clamping, limiting, or none. Measure mess includes the most dissimilar "
        "variable. The map clamping shows the effect of clamping, and limiting the variable that limits suitability.",
    )
    dispersal: Literal["unlimited", "none"] | Positive = option(
        "unlimited",
        "Dispersal to newly suitable cells: unlimited, none, or a distance in km. It is measured from the range in the "
        "preceding period.",
    )
    over: Words = option(
        [], "Fields to average scenarios over. Default: gcm and fields of models; without fields, all scenarios."
    )
    area: str | None = option(None, "Polygons that limit the projected maps.", "projection_area")


class OutputOptions(Section):
    """Files that a run writes."""

    folder: str | None = option(None, "Folder for the results.", "output", "outputdirectory")
    overwrite: bool = option(False, "Replace existing results.")
    resume: bool = option(
        False, "Resume a run over several species or scenarios. Finished and unchanged results are kept."
    )
    curves: bool = option(True, "Draw response curves, marginal and of each variable alone.", "responsecurves")
    curves_exponent: bool = option(
        False, "Draw response curves of the exponent of the model, from 0 at their left end.", "responsecurvesexponent"
    )
    map: bool = option(True, "Write the map (GeoTIFF) and its picture.", "pictures")
    map_picture: bool = option(True, "Draw the map as a picture (PNG). Large batches are faster without it.")
    report: bool = option(True, "Write an HTML report of each model, and an index of several.")
    metadata: bool = option(
        False, "Also write the ODMAP protocol (CSV, JSON) and the metadata of rangeModelMetadata (RMM, CSV)."
    )
    page_map: Literal["reduced", "full"] = option(
        "reduced",
        "Resolution of the maps in HTML reports. With reduced, a report is smaller than 2 MB. With full, it has all "
        "cells of each map. Scenarios are compared with up to 2,048 cells on a side.",
    )
    stack: Stacks = option(
        [],
        "Maps of several species together: sum, threshold, or both. They are the sum of suitabilities, and the number "
        "of species above their threshold (--threshold, otherwise maxsss).",
    )
    gpkg: bool = option(
        False,
        "Also write results.gpkg for a GIS. It contains the record log, background points, folds, and the ranges by a "
        "threshold as polygons with area and centroid. With scenarios, it contains the range in each.",
    )
    uncertainty: bool = option(
        False, "Map the mean, standard deviation, and 5 % and 95 % limits over the replicates or folds."
    )
    replicate_maps: bool = option(
        False, "Also write the map of each replicate or fold, in the folder replicates. It needs --uncertainty."
    )
    background_predictions: bool = option(
        False, "Also write predictions at the background points.", "writebackgroundpredictions"
    )
    append_results: str | None = option(
        None, "Also append the results of each species to this table, as maxentResults.csv.", "appendtoresultsfile"
    )
    figures: Formats = option(
        [], "Also draw figures for print: png, pdf or svg. By default, charts are SVG, and maps PNG.", "figure_format"
    )
    dpi: int = option(300, "Resolution of figures at their printed width, in dots per inch.", ge=50, le=1200)
    figure_width: Width | None = option(
        None,
        "Printed width of all figures, such as 85mm (one column) or 180mm (two columns). Font sizes do not change. "
        "Default: by figure; 85mm for curves and single maps.",
    )
    publication: bool = option(
        False, "Also draw one figure for a paper: map, responses to the four most important variables, importance."
    )
    surfaces: Words = option([], "Draw the response to pairs of variables, such as rain:temperature.")

    def curve_scale(self, scale: str) -> str:
        """Return the scale of response curves, where `scale` is the scale of the map."""
        return "exponent" if self.curves_exponent else scale

    @property
    def stack_name(self) -> str:
        """Return the stacks as the user types them."""
        return ",".join(self.stack)


def _settings(value: Any) -> Any:
    """Return settings from NAME=VALUE; numbers become text, and lists are joined by semicolons."""
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
    """Dask cluster for the work of a run; it needs the same files under the same paths."""

    address: str | None = option(
        None,
        "Dask cluster: its address (tcp://host:8786), its scheduler file, or slurm. With slurm, jobs are started for "
        "the run. The cluster does species, folds, settings and scenarios.",
        "cluster",
    )
    workers: Count = option(2, "Number of workers that --cluster slurm starts.", "cluster_workers")
    settings: Settings = option(
        {}, "Job settings of --cluster slurm: queue=long, memory=8GB, cores=4, walltime=12:00:00.", "cluster_settings"
    )
    patience: Positive | None = option(
        None,
        "Seconds to wait for a worker while the cluster has none, before the run fails. Default: 300; with --cluster "
        "slurm, as long as jobs are in the queue.",
        "cluster_patience",
    )
