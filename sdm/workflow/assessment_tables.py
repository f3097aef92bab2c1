"""What a run writes about how good a model is: tables, pictures, and maps over replicates."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sdm.assess.splits.folds import Split
from sdm.assess.uncertainty import STATISTICS
from sdm.files import safe_name
from sdm.maps.species import predict_raster, write_spread_maps
from sdm.models.interface import ValueModel
from sdm.models.species import Model
from sdm.options.definitions import RunOptions
from sdm.report.tables import write_rows
from sdm.workflow.assessing import Assessed

if TYPE_CHECKING:
    from sdm.data.rasters.stack import Stack

PICTURES = (
    "importance", "jackknife", "jackknife_test_gain", "jackknife_test_auc", "folds", "calibration", "bands", "tune",
)  # fmt: skip
"""Names in `plots/` that are not a variable's."""


def write_assessment(fitted: Any, folder: Path, name: str, files: dict[str, str]) -> None:
    """Write every table of what was measured, and note their names."""
    found = fitted.assessed
    tables: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "importance": ("importance", importance_rows(found)),
        "jackknife": ("jackknife", [asdict(row) for row in found.jackknife]),
        "cross-validation": ("crossValidation", found.validation.rows if found.validation else []),
        "folds": ("folds", fold_rows(fitted.table, found)),
        "null models": ("nullModels", [asdict(test) for test in found.nulls.tests] if found.nulls else []),
        "calibration": ("calibration", found.survey["calibration"] if found.survey else []),
        "bands": ("bands", band_rows(fitted)),
        "surfaces": ("surfaces", surface_rows(fitted)),
    }
    for what, (ending, rows) in tables.items():
        if rows:
            files[what] = write_rows(folder / f"{name}_{ending}.csv", rows).name


def importance_rows(found: Assessed) -> list[dict[str, Any]]:
    """Return one row per variable with both kinds of importance, the one that contributes most first.

    Classes have one kind: by how much the log loss rises when a variable is shuffled.
    """
    if not found.contribution:
        rows = [
            {
                "variable": row.variable,
                "percent": row.percent,
                "log loss rise": row.drop,
                "deviation": row.drop_deviation,
            }
            for row in found.permutation
        ]
        return rows
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


def fold_rows(table: Any, found: Assessed) -> list[dict[str, Any]]:
    """Return the fold of every presence, and of the background where it is divided; empty if folds overlap."""
    split = None if found.validation is None else found.validation.split
    if split is None or split.group is None:
        return []
    names = [*(fold.name for fold in split.folds), ""]  # the last is that of −1: never held out
    groups = [split.group, split.background_group]
    return [
        {"X": x, "Y": y, "kind": kind, "fold": names[k]}
        for (kind, xs, ys), group in zip(table.points(), groups)
        if group is not None
        for x, y, k in zip(xs.tolist(), ys.tolist(), group.tolist())
    ]


def band_rows(fitted: Any) -> list[dict[str, Any]]:
    """Return the responses over the replicates in long form."""
    return [
        {
            "variable": band.variable,
            "kind": band.kind,
            "value": x,
            "class": band.classes[k] if band.classes else "",
            **{name: float(getattr(band, name)[k]) for name in STATISTICS},
        }
        for band in fitted.bands
        for k, x in enumerate(band.x.tolist())
    ]


def surface_rows(fitted: Any) -> list[dict[str, Any]]:
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
        for surface in fitted.surfaces
        for i, x in enumerate(surface.x.tolist())
        for j, y in enumerate(surface.y.tolist())
    ]


def draw_assessment(
    fitted: Any, stack: "Stack | None", options: RunOptions, folder: Path, files: dict[str, str]
) -> None:
    """Draw what was measured to `plots/`; the importance of variables, which nobody asked for, only with curves."""
    from sdm.report.figures import assessment as figures

    found, plots = fitted.assessed, folder / "plots"
    scale = options.predict.scale if isinstance(fitted.model, Model) else "probability"
    todo: list[Callable[[], Path]] = []
    if found.permutation and options.output.curves:
        bars = found.permutation, found.contribution
        todo.append(lambda: figures.draw_importance(*bars, plots / "importance.png"))
    if found.jackknife:
        measures = {"train_gain": "jackknife"}
        if fitted.test is not None:
            measures |= {"test_gain": "jackknife_test_gain", "test_auc": "jackknife_test_auc"}
        for measure, title in measures.items():
            todo.append(
                lambda m=measure, t=title: figures.draw_jackknife(found.jackknife, m, plots / f"{t}.png")  # type: ignore[misc]
            )
    split = None if found.validation is None else found.validation.split
    if split is not None and len(split.folds) <= figures.MOST_FOLDS:
        todo += _fold_map(fitted.name, fitted.table, split, stack, plots / "folds.png")
    if found.survey is not None:
        rows = found.survey["calibration"]
        todo.append(lambda: figures.draw_calibration(rows, plots / "calibration.png"))
    if fitted.bands:
        todo.append(lambda: figures.draw_bands(fitted.bands, scale, plots / "bands.png"))
    for surface in fitted.surfaces:
        title = "surface_" + "_".join(safe_name(variable) for variable in surface.variables)
        todo.append(lambda s=surface, t=title: figures.draw_surface(s, scale, plots / f"{t}.png"))  # type: ignore[misc]
    if todo:
        plots.mkdir(exist_ok=True)
        files["plots"] = "plots"
    for draw in todo:
        draw()


def _fold_map(name: str, table: Any, split: Split, stack: "Stack | None", path: Path) -> list[Callable[[], Path]]:
    """Return how to draw a map of the folds; nothing if they overlap, or records have no coordinates."""
    from sdm.report.figures.assessment import draw_folds

    places = [(x, y) for _, x, y in table.points()]
    known = [all(np.isfinite(part).all() for part in place) for place in places]
    group = split.group
    if group is None or not known[0]:
        return []
    around = places[1] if len(places) > 1 and known[1] else None
    measured = f", {split.background} background" if len(places) > 1 else ""
    return [
        lambda: draw_folds(
            places[0],
            group,
            [fold.name for fold in split.folds],
            path,
            background=around,
            background_group=split.background_group,
            geographic=stack is not None and stack.crs is not None and stack.crs.is_geographic,
            title=f"{name}: {len(split.folds)} folds, {split.method}{measured}",
        )
    ]


def write_value_maps(
    model: ValueModel,
    replicates: Sequence[ValueModel],
    level: float | None,
    stack: "Stack",
    raster: Path,
    of: str,
    common: dict[str, Any],
) -> dict[str, str]:
    """Write presence and absence by a cutoff, and the spread over replicates, beside a map; return their names.

    `of` is what the map is of, such as ``map`` or ``projection warmer``; `common` are arguments that all maps share.
    """
    files: dict[str, str] = {}
    if replicates:
        paths = {name: raster.with_name(f"{raster.stem}_{name}.tif") for name in STATISTICS}
        write_spread_maps(replicates, stack, paths, **common)
        files |= {f"{name} {of}": path.name for name, path in paths.items()}
    if level is not None:
        binary = raster.with_name(f"{raster.stem}_thresholded.tif")
        predict_raster(model, stack, binary, threshold=level, **common)
        files[f"thresholded {of}"] = binary.name
    return files
