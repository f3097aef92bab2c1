"""Files of an assessment: the models of the replicates, tables, and figures."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from sdm.assess.splits.folds import Split
from sdm.assess.uncertainty import STATISTICS
from sdm.kinds.assessing import AnyMeasured
from sdm.kinds.model_task import Artefact
from sdm.kinds.task import REPLICATES, Destination
from sdm.models.file import save_model
from sdm.models.interface import FittedModel
from sdm.report.model_figures import make_plots
from sdm.report.paper import Paper, paper_of
from sdm.storage.files import safe_name
from sdm.types import AnyArray, Row

if TYPE_CHECKING:
    from sdm.data.rasters.stack import Stack
    from sdm.report.pictures import Picture
    from sdm.types import Index

MOST_FOLDS = 20  # largest number of distinguishable colours on a map
LAND_PIXELS = 400


def importance_rows(model: AnyMeasured) -> list[Row]:
    """Return one row per variable with both kinds of importance, in decreasing order of contribution.

    Classes have one kind: the increase of the log loss by permutation.
    """
    assessed = model.assessed
    if not assessed.contribution:
        heads = {"variable": "variable", "percent": "percent", "log loss rise": "drop", "deviation": "drop_deviation"}
        return [{head: getattr(row, name) for head, name in heads.items()} for row in assessed.permutation]
    parts = {row.variable: row for row in assessed.contribution}
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
        for row in assessed.permutation
    ]
    return sorted(rows, key=lambda row: -float(row["contribution"]))


def fold_rows(model: AnyMeasured) -> list[Row]:
    """Return the fold of every presence, and of the background if it is divided; empty if folds overlap."""
    validation = model.assessed.validation
    split = None if validation is None else validation.split
    if split is None or split.group is None:
        return []
    names = [*(fold.name for fold in split.folds), ""]  # the last entry is for −1: never held out
    groups = [split.group, split.background_group]
    return [
        {"X": x, "Y": y, "kind": kind, "fold": names[k]}
        for (kind, xs, ys), group in zip(model.fit.table.points(), groups)
        if group is not None
        for x, y, k in zip(xs.tolist(), ys.tolist(), group.tolist())
    ]


def variogram_rows(model: AnyMeasured) -> list[Row]:
    """Return the variograms of the block size; empty if the user set it."""
    validation = model.assessed.validation
    blocks = None if validation is None else validation.split.blocks
    return [] if blocks is None else blocks.rows()


def band_rows(model: AnyMeasured) -> list[Row]:
    """Return the responses over the replicates in long form."""
    return [
        {
            "variable": mean.variable,
            "kind": mean.kind,
            "value": x,
            "class": mean.classes[k] if mean.classes else "",
            **{name: float(getattr(spread, name)[k]) for name in STATISTICS},
        }
        for mean, spread in model.bands
        for k, x in enumerate(mean.x.tolist())
    ]


def surface_rows(model: AnyMeasured) -> list[Row]:
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


ASSESSMENT: tuple[Artefact[AnyMeasured], ...] = (
    Artefact("importance", "{name}_importance.csv", importance_rows),
    Artefact(
        "jackknife",
        "{name}_jackknife.csv",
        lambda model: [asdict(row) for row in model.assessed.jackknife],
    ),
    Artefact(
        "cross-validation",
        "{name}_crossValidation.csv",
        lambda model: model.assessed.validation.rows if model.assessed.validation else [],
    ),
    Artefact("folds", "{name}_folds.csv", fold_rows),
    Artefact("variograms", "{name}_variograms.csv", variogram_rows),
    Artefact(
        "null models",
        "{name}_nullModels.csv",
        lambda model: model.assessed.nulls.tests if model.assessed.nulls else [],
    ),
    Artefact(
        "calibration",
        "{name}_calibration.csv",
        lambda model: model.assessed.survey["calibration"] if model.assessed.survey else [],
    ),
    Artefact("bands", "{name}_bands.csv", band_rows),
    Artefact("surfaces", "{name}_surfaces.csv", surface_rows),
)
"""The assessment tables of every kind with an `Assessor`."""


def write_assessment(measured: AnyMeasured, model: FittedModel, stack: "Stack | None", to: Destination) -> None:
    """Write a model, the models of its replicates and the assessment figures, and register their names."""
    folder, files = to.folder, to.files
    name, replicates = safe_name(measured.name), measured.assessed.replicates
    files["model"] = save_model(model, folder / f"{name}.npz").name
    if replicates:  # for the variance partitioning of `sdm project`
        files[REPLICATES] = REPLICATES
        (folder / REPLICATES).mkdir()
        tags = {key: model.meta[key] for key in ("species", "title") if key in model.meta}
        for k, one in enumerate(replicates, start=1):
            save_model(replace(one, meta={**one.meta, **tags}), folder / REPLICATES / f"{name}_{k}.npz")
    _draw_assessment(measured, stack, to)


def _draw_assessment(measured: AnyMeasured, stack: "Stack | None", to: Destination) -> None:
    """Draw the folds on a map, the variograms of the block size, and responses to two variables."""
    split = None if measured.assessed.validation is None else measured.assessed.validation.split
    blocks = None if split is None else split.blocks
    divided = split is not None and split.group is not None and len(split.folds) <= MOST_FOLDS
    mapped = divided and _is_placed(measured.fit.table.points()[0])
    if not (mapped or blocks is not None or measured.surfaces):
        return
    from sdm.report.figures import assessment
    from sdm.report.figures.variables import draw_variograms

    plots, paper = make_plots(to.folder, to.files), paper_of(to.options.output)
    if split is not None and mapped:
        _draw_folds(measured, split, stack, plots / "folds.png", paper)
    if blocks is not None:
        draw_variograms(blocks, plots / "variograms.png", paper)
    for surface in measured.surfaces:
        title = "surface_" + "_".join(safe_name(variable) for variable in surface.variables)
        assessment.draw_surface(surface, measured.scale, plots / f"{title}.png", paper)


def _is_placed(points: tuple[str, AnyArray, AnyArray]) -> bool:
    """Whether the coordinates of all points of a type are known."""
    return all(bool(np.isfinite(part).all()) for part in points[1:])


def _draw_folds(measured: AnyMeasured, split: Split, stack: "Stack | None", path: Path, paper: Paper) -> None:
    """Draw the folds over a map, with the boundaries of blocks."""
    from sdm.report.figures.assessment import FoldPlaces, draw_folds

    points = measured.fit.table.points()
    placed = [part[1:] for part in points if _is_placed(part)]
    divided = f", {split.background} background" if len(points) > 1 else ""
    places = FoldPlaces(
        placed[0],
        cast("Index", split.group),
        [fold.name for fold in split.folds],
        background=placed[1] if len(placed) > 1 else None,
        background_group=split.background_group,
        geographic=stack is not None and stack.crs is not None and stack.crs.is_geographic,
        land=_land(stack),
        outlines=split.outlines,
    )
    caption = f"{len(split.folds)} folds, {split.method}{divided}"
    draw_folds(places, path, title=measured.name, caption=caption, paper=paper)


def _land(stack: "Stack | None") -> "Picture | None":
    """Return the mask of data of the first local layer, for a map of folds."""
    from sdm.report.pictures import read_picture

    for layer in () if stack is None else stack.layers:
        path = Path(layer.path)
        if not layer.computed and not layer.resample and path.is_file():
            picture = read_picture(path, LAND_PIXELS, layer.band)
            has_data = ~np.isin(picture.values, np.array(layer.nodata, dtype=np.float32))
            return replace(picture, values=np.where(has_data, picture.values, np.nan).astype(np.float32))
    return None
