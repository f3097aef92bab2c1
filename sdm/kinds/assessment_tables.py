"""What a run writes about how good a model is: tables, pictures, and maps over replicates."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sdm.assess.measures.thresholds import Threshold, find_threshold
from sdm.assess.uncertainty import STATISTICS
from sdm.kinds.artefacts import Artefact
from sdm.kinds.assessing import AssessedModel
from sdm.kinds.task import REPLICATES, Files
from sdm.maps.species import predict_raster, write_spread_maps
from sdm.models.file import save_model
from sdm.models.interface import ValueModel
from sdm.options.definitions import RunOptions
from sdm.report.chart_files import make_plots
from sdm.report.paper import Paper, paper_of
from sdm.storage.files import safe_name
from sdm.types import Numbers, Row

if TYPE_CHECKING:
    from sdm.data.rasters.stack import Stack
    from sdm.report.pictures import Picture

MOST_FOLDS = 20  # beyond this number colours cannot be told apart on a map
LAND_PIXELS = 400


def write_replicates(models: Sequence[Any], fitted: Any, folder: Path, name: str) -> Files:
    """Write the models of replicates, if there are any, so that `sdm project` can tell how much of a variance is
    theirs; return the name of their folder."""
    if not models:
        return {}
    (folder / REPLICATES).mkdir()
    known = {key: fitted.model.meta[key] for key in ("species", "title") if key in fitted.model.meta}
    for k, model in enumerate(models, start=1):
        save_model(replace(model, meta={**model.meta, **known}), folder / REPLICATES / f"{name}_{k}.npz")
    return {REPLICATES: REPLICATES}


def cutoff(
    thresholds: list[Threshold], wanted: str | float | None, on_scale: Callable[[float], float] = float
) -> float | None:
    """Return the cutoff of a map: a number as it is, a name as the fit defined it, on the map's scale."""
    if wanted is None or isinstance(wanted, (int, float)):
        return None if wanted is None else float(wanted)
    return on_scale(find_threshold(thresholds, wanted).raw)


def importance_rows(model: AssessedModel) -> list[Row]:
    """Return one row per variable with both kinds of importance, the one that contributes most first.

    Classes have one kind: by how much the log loss rises when a variable is shuffled.
    """
    found = model.assessed
    if not found.contribution:
        heads = {"variable": "variable", "percent": "percent", "log loss rise": "drop", "deviation": "drop_deviation"}
        return [{head: getattr(row, name) for head, name in heads.items()} for row in found.permutation]
    parts = {row.variable: row for row in found.contribution}
    rows = [
        {
            "variable": row.variable,
            "contribution": parts[row.variable].percent,
            "permutation importance": row.percent,
            "permutation deviation": row.deviation,
            "gain": parts[row.variable].gain,
            "AUC drop": row.drop,
            "AUC drop deviation": row.drop_deviation,
        }
        for row in found.permutation
    ]
    return sorted(rows, key=lambda row: -float(row["contribution"]))


def fold_rows(model: AssessedModel) -> list[Row]:
    """Return the fold of every presence, and of the background where it is divided; empty if folds overlap."""
    validation = model.assessed.validation
    split = None if validation is None else validation.split
    if split is None or split.group is None:
        return []
    names = [*(fold.name for fold in split.folds), ""]  # the last is that of −1: never held out
    groups = [split.group, split.background_group]
    return [
        {"X": x, "Y": y, "kind": kind, "fold": names[k]}
        for (kind, xs, ys), group in zip(model.table.points(), groups)
        if group is not None
        for x, y, k in zip(xs.tolist(), ys.tolist(), group.tolist())
    ]


def variogram_rows(model: AssessedModel) -> list[Row]:
    """Return the variograms that the size of blocks comes from; none if it was given."""
    validation = model.assessed.validation
    blocks = None if validation is None else validation.split.blocks
    return [] if blocks is None else blocks.rows()


def band_rows(model: AssessedModel) -> list[Row]:
    """Return the responses over the replicates in long form."""
    return [
        {
            "variable": band.variable,
            "kind": band.kind,
            "value": x,
            "class": band.classes[k] if band.classes else "",
            **{name: float(getattr(band, name)[k]) for name in STATISTICS},
        }
        for band in model.bands
        for k, x in enumerate(band.x.tolist())
    ]


def surface_rows(model: AssessedModel) -> list[Row]:
    """Return the responses to two variables at a time in long form."""
    return [
        {
            "first": surface.variables[0],
            "second": surface.variables[1],
            "kind": surface.kind,
            "first value": x,
            "second value": y,
            "response": float(surface.z[i, j]),
        }
        for surface in model.surfaces
        for i, x in enumerate(surface.x.tolist())
        for j, y in enumerate(surface.y.tolist())
    ]


ASSESSMENT: tuple[Artefact[AssessedModel], ...] = (
    Artefact("importance", "{name}_importance.csv", importance_rows, section="importance"),
    Artefact(
        "jackknife",
        "{name}_jackknife.csv",
        lambda model: [asdict(row) for row in model.assessed.jackknife],
        section="importance",
    ),
    Artefact(
        "cross-validation",
        "{name}_crossValidation.csv",
        lambda model: model.assessed.validation.rows if model.assessed.validation else [],
        section="validation",
    ),
    Artefact("folds", "{name}_folds.csv", fold_rows, section="validation"),
    Artefact("variograms", "{name}_variograms.csv", variogram_rows, section="validation"),
    Artefact(
        "null models",
        "{name}_nullModels.csv",
        lambda model: [asdict(test) for test in model.assessed.nulls.tests] if model.assessed.nulls else [],
        section="null",
    ),
    Artefact(
        "calibration",
        "{name}_calibration.csv",
        lambda model: model.assessed.survey["calibration"] if model.assessed.survey else [],
        section="survey",
    ),
    Artefact("bands", "{name}_bands.csv", band_rows, section="curves"),
    Artefact("surfaces", "{name}_surfaces.csv", surface_rows, section="curves"),
)
"""The tables of how good a model is, of every kind that has an `Assessor`."""


def draw_assessment(measured: Any, stack: "Stack | None", options: RunOptions, folder: Path, files: Files) -> None:
    """Draw the folds on a map, the variograms that the size of blocks comes from, and responses to two variables."""
    split = None if measured.assessed.validation is None else measured.assessed.validation.split
    known = [np.isfinite(x).all() and np.isfinite(y).all() for _, x, y in measured.table.points()]
    mapped = split is not None and split.group is not None and known[0] and len(split.folds) <= MOST_FOLDS
    blocks = None if split is None else split.blocks
    if not (mapped or blocks is not None or measured.surfaces):
        return
    from sdm.report.figures import assessment
    from sdm.report.figures.variables import draw_variograms

    plots, paper = make_plots(folder, files), paper_of(options.output)
    if mapped:
        _draw_folds(measured, split, known, stack, plots / "folds.png", paper)
    if blocks is not None:
        draw_variograms(blocks, plots / "variograms.png", paper)
    for surface in measured.surfaces:
        title = "surface_" + "_".join(safe_name(variable) for variable in surface.variables)
        assessment.draw_surface(surface, measured.scale, plots / f"{title}.png", paper)


def _draw_folds(
    measured: Any, split: Any, known: Sequence[Any], stack: "Stack | None", path: Path, paper: Paper
) -> None:
    """Draw the folds on a map, over the land, with the lines between blocks."""
    from sdm.report.figures.assessment import draw_folds

    places = [(x, y) for _, x, y in measured.table.points()]
    divided = f", {split.background} background" if len(places) > 1 else ""
    draw_folds(
        places[0],
        split.group,
        [fold.name for fold in split.folds],
        path,
        background=places[1] if len(places) > 1 and known[1] else None,
        background_group=split.background_group,
        geographic=stack is not None and stack.crs is not None and stack.crs.is_geographic,
        land=_land(stack),
        outlines=split.outlines,
        title=measured.name,
        caption=f"{len(split.folds)} folds, {split.method}{divided}",
        paper=paper,
    )


def _land(stack: "Stack | None") -> "Picture | None":
    """Return where the first layer that is a file of this machine has values, for a map of folds."""
    from sdm.report.pictures import read_picture

    for layer in () if stack is None else stack.layers:
        path = Path(layer.path)
        if not layer.computed and not layer.resample and path.is_file():
            picture = read_picture(path, LAND_PIXELS, layer.band)
            known = ~np.isin(picture.values, np.array(layer.nodata, dtype=np.float32))
            return replace(picture, values=np.where(known, picture.values, np.nan).astype(np.float32))
    return None


def write_value_maps(
    model: ValueModel,
    replicates: Sequence[ValueModel],
    level: float | None,
    stack: "Stack",
    raster: Path,
    of: str,
    common: Numbers,
) -> Files:
    """Write presence and absence by a cutoff, and the spread over replicates, beside a map; return their names.

    `of` is what the map is of, such as ``map`` or ``projection warmer``; `common` are arguments that all maps share.
    """
    files: Files = {}
    if replicates:
        paths = {name: raster.with_name(f"{raster.stem}_{name}.tif") for name in STATISTICS}
        about = {**common.get("tags", {}), "model_id": model.identity}
        write_spread_maps(replicates, stack, paths, **{**common, "tags": about})
        files |= {f"{name} {of}": path.name for name, path in paths.items()}
    if level is not None:
        binary = raster.with_name(f"{raster.stem}_thresholded.tif")
        predict_raster(model, stack, binary, threshold=level, **common)
        files[f"thresholded {of}"] = binary.name
    return files
