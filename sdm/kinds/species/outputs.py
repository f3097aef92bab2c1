"""Everything that a run leaves behind for one species."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from rasterio.windows import Window

from sdm.assess.structure import Structure
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.effort import KernelEffort
from sdm.data.records.frames import pd
from sdm.data.table import SampleTable
from sdm.executors.painter import Painter
from sdm.kinds import assessment_tables as shared
from sdm.kinds.species.fit import SpeciesFit
from sdm.kinds.species.inputs import SpeciesPrepared
from sdm.kinds.species.map_ahead import MapAhead, map_tags
from sdm.kinds.species.pictures import draw_curves_later, draw_map_picture, draw_measured
from sdm.kinds.task import REPLICATES, Files
from sdm.maps.gis.package import PACKAGE
from sdm.maps.gis.styles import write_styles
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.ranges import write_range
from sdm.maps.rasters import NODATA, RasterSummary, write_cog
from sdm.maps.species import PlannedMap, predict_raster, predict_rasters
from sdm.maps.vectors import write_points
from sdm.models.file import save_model
from sdm.options.definitions import RunOptions
from sdm.progress.telling import going_on
from sdm.report.paper import paper_of
from sdm.report.results import GROUP
from sdm.report.tables import maxent_results, write_frame, write_profiles, write_rows
from sdm.report.titled import draw_titled, make_plots
from sdm.storage.commit import staging
from sdm.storage.files import safe_name
from sdm.types import Progress

if TYPE_CHECKING:
    from sdm.data.rasters.stack import Stack


def write_species(
    fitted: SpeciesFit,
    prepared: SpeciesPrepared,
    options: RunOptions,
    folder: Path,
    files: Files,
    painter: Painter,
    progress: Progress | None,
) -> list[str]:
    """Write the model of one species, its tables, pictures and maps into a folder; return notes."""
    name = safe_name(fitted.name)
    with fitted.ahead or nullcontext():  # if something fails, the map is waited for
        files["model"] = save_model(fitted.model, folder / f"{name}.npz").name
        row = maxent_results(fitted.numbers, fitted.thresholds)
        files["results"] = write_rows(folder / "maxentResults.csv", [row]).name
        tables = {
            "sample predictions": ("samplePredictions", _sample_rows(fitted)),
            "omission": ("omission", fitted.omission),
            "roc": ("roc", fitted.roc),
            **({} if fitted.structure is None else _structure_tables(fitted.structure)),
        }
        if options.output.background_predictions:
            tables["background predictions"] = ("backgroundPredictions", _background_rows(fitted))
        shared.write_tables(tables, folder, name, files)
        shared.write_assessment(fitted, folder, name, files)
        if prepared.areas:
            write_background(fitted.table, prepared, options, folder, files)
        return _write_maps_and_pictures(fitted, prepared, options, folder, files, painter, progress)


def _write_maps_and_pictures(
    fitted: SpeciesFit,
    prepared: SpeciesPrepared,
    options: RunOptions,
    folder: Path,
    files: Files,
    painter: Painter,
    progress: Progress | None,
) -> list[str]:
    """Write the maps, and have pictures drawn meanwhile; return notes."""
    species, stack, area = fitted.name, prepared.stack, prepared.area_of(fitted.name)
    name, notes = safe_name(species), list[str]()
    mapped, raster = stack is not None and options.output.map, folder / f"{name}.tif"
    if fitted.profiles:
        files["curves"] = write_profiles(folder / f"{name}_curves.csv", fitted.profiles).name
    if mapped and fitted.ahead is not None:
        _take_map_ahead(fitted, progress)
    draw_measured(painter, fitted, stack, options, folder)
    if fitted.profiles:
        make_plots(folder, files)
        draw_curves_later(painter, fitted, options, folder)
    if stack is not None and mapped:
        common: dict[str, Any] = {key: getattr(options.predict, key) for key in ("scale", "extrapolation")}
        common |= {"threads": options.threads, "progress": progress, "tags": map_tags(species, options)}
        if fitted.ahead is None:
            _write_map(fitted, stack, raster, area, common)
            draw_map_picture(painter, raster, fitted.model, fitted.table, fitted.test_xy, options, area)
        files["map"] = raster.name
        if fitted.model.alpha > 1.0 and options.predict.range:
            with going_on(progress, "range polygons"):
                notes += _write_range(fitted, raster, options.predict.min_patch, files)
        if options.output.publication:
            points = fitted.table.presence_x, fitted.table.presence_y
            ways: dict[str, Any] = {"scale": options.predict.scale, "edges": fitted.model.alpha > 1.0}
            ways |= {"profiles": fitted.profiles, "records": points, "curve_scale": fitted.curve_scale}
            figure = shared.publication_picture(fitted, raster, **ways)
            painter.draw(draw_titled, [figure], folder, paper_of(options.output))
        _write_other_maps(fitted, prepared, threshold_value(fitted, options), raster, files, common)
        if options.output.replicate_maps:
            place = folder / REPLICATES
            for k, model in enumerate(fitted.assessed.replicates, start=1):
                predict_raster(model, stack, place / f"{name}_{k}.tif", study_area=area, **common)
    return notes


def _take_map_ahead(fitted: SpeciesFit, progress: Progress | None) -> None:
    """Wait for the map that was begun before the model was measured."""
    with going_on(progress, "map"):
        made, counted = cast(MapAhead, fitted.ahead).take()
    fitted.numbers |= {"map": made.numbers, **counted}


def _write_map(fitted: SpeciesFit, stack: Stack, raster: Path, area: StudyArea | None, common: dict[str, Any]) -> None:
    """Write the map, or take the one that was made together with those of other species."""
    if fitted.mapped:
        fitted.numbers |= {"map": take_map(fitted.mapped["map"], raster).numbers, **fitted.counted}
        return
    counted = NoveltyMaps(fitted.model)
    made = predict_raster(fitted.model, stack, raster, study_area=area, novelty=counted, **common)
    fitted.numbers |= {"map": made.numbers, **counted.numbers}


def _sample_rows(fitted: SpeciesFit) -> list[dict[str, Any]]:
    """Return the predictions at training and test records, under the names that Java Maxent gives them."""
    samples = [("train", fitted.table.presence, fitted.table.presence_x, fitted.table.presence_y)]
    if fitted.test is not None and fitted.test_xy is not None:
        samples.append(("test", fitted.test, *fitted.test_xy))
    heads = {f"{scale.capitalize()} prediction": scale for scale in ("raw", "cumulative", "cloglog")}
    rows = []
    for kind, values, x, y in samples:
        predicted = zip(*(fitted.model.predict(values, scale).tolist() for scale in heads.values()))
        for one, other, row in zip(x.tolist(), y.tolist(), predicted):
            rows.append({"X": one, "Y": other, "Test or train": kind, **dict(zip(heads, row))})
    return rows


def _background_rows(fitted: SpeciesFit) -> list[dict[str, Any]]:
    """Return the predictions at the background points, under the names that Java Maxent gives them."""
    table, model = fitted.table, fitted.model
    scales = {"raw": "raw", "cumulative": "cumulative", "Cloglog": "cloglog"}
    columns = {"x": table.background_x, "y": table.background_y}
    columns |= {head: model.predict(table.background, scale) for head, scale in scales.items()}
    return [dict(zip(columns, row)) for row in zip(*(values.tolist() for values in columns.values()))]


def _structure_tables(structure: Structure) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """Return the families, rules and interactions of a structural model, and the penalties that were tried."""
    heads = {"lambda": "lam", "beta": "beta", "held-out loss": "loss", "standard error": "error"}
    chosen = structure.lam, structure.beta
    pairs = structure.interactions.items()
    tables: dict[str, list[dict[str, Any]]] = {
        "families": [asdict(share) for share in structure.families],
        "rules": [asdict(rule) for rule in structure.rules],
        "interactions": [{"first": a, "second": b, "strength": value} for (a, b), value in pairs],
        "prices": [
            {**{head: getattr(s, name) for head, name in heads.items()}, "chosen": (s.lam, s.beta) == chosen}
            for s in sorted(structure.search, key=lambda s: s.loss)
        ],
    }
    return {what: (what, rows) for what, rows in tables.items()}


def _write_range(fitted: SpeciesFit, raster: Path, min_patch: float, files: Files) -> list[str]:
    """Write where the density is not zero as polygons; return what is to be said of them."""
    path = raster.with_name(f"{raster.stem}_range.gpkg")
    found = write_range(raster, path, species=fitted.name, min_patch=min_patch)
    files["range"] = path.name
    fitted.numbers["range"] = {"area_km2": found.area_km2, "patches": found.patches}
    if not found.dropped:
        return []
    size = f"{found.dropped:,} patches of less than {min_patch:g} km² ({found.dropped_km2:,.0f} km² in all)"
    return [f"the range leaves out {size}"]


def _write_other_maps(
    fitted: SpeciesFit,
    prepared: SpeciesPrepared,
    level: float | None,
    raster: Path,
    files: Files,
    ways: dict[str, Any],
) -> None:
    """Write the map of presence and absence, and maps over the replicates."""
    model, replicates = fitted.model, fitted.assessed.replicates
    if level is not None:
        fitted.numbers["map_threshold"] = level
    here = ways | {"study_area": prepared.area_of(fitted.name)}
    if level is not None and "thresholded" in fitted.mapped:
        binary = raster.with_name(f"{raster.stem}_thresholded.tif")
        take_map(fitted.mapped["thresholded"], binary)
        files["thresholded map"], level = binary.name, None
    files |= shared.write_value_maps(model, replicates, level, cast("Stack", prepared.stack), raster, "map", here)


def map_species_together(
    fitted: Sequence[tuple[SpeciesFit, SpeciesPrepared]], options: RunOptions, folder: Path, progress: Progress | None
) -> None:
    """Map several species in one pass over the layers, into a folder; `write_species` takes the maps from there."""
    if not options.output.map or any(one.stack is None for _, one in fitted):
        return
    names = dict.fromkeys(layer.name for _, one in fitted for layer in cast("Stack", one.stack).layers)
    known = {layer.name: layer for _, one in fitted for layer in cast("Stack", one.stack).layers}
    stack = replace(cast("Stack", fitted[0][1].stack), layers=tuple(known[name] for name in names))
    planned: dict[tuple[int, str], PlannedMap] = {}
    for k, (one, prepared) in enumerate(fitted):
        level, about = threshold_value(one, options), map_tags(one.name, options)
        place: dict[str, Any] = {"study_area": prepared.area_of(one.name), "tags": about}
        planned[k, "map"] = PlannedMap(one.model, folder / f"{k}.tif", novelty=NoveltyMaps(one.model), **place)
        if level is not None:
            planned[k, "thresholded"] = PlannedMap(one.model, folder / f"{k}_thresholded.tif", level, **place)
    ways: dict[str, Any] = {key: getattr(options.predict, key) for key in ("scale", "extrapolation")}
    made = predict_rasters(list(planned.values()), stack, threads=options.threads, progress=progress, **ways)
    for ((k, what), plan), summary in zip(planned.items(), made):
        fitted[k][0].mapped[what] = summary
        if plan.novelty is not None:
            fitted[k][0].counted |= plan.novelty.numbers


def take_map(made: RasterSummary, place: Path) -> RasterSummary:
    """Move a map that was made together with others to its place."""
    os.replace(made.path, place)
    return replace(made, path=place)


def threshold_value(fitted: SpeciesFit, options: RunOptions) -> float | None:
    """Return the chosen threshold on the map's scale."""
    own, model = options.predict, fitted.model
    return shared.cutoff(fitted.thresholds, own.threshold, lambda raw: float(model.from_raw(raw, own.scale)))


def write_shared(prepared: SpeciesPrepared, options: RunOptions, folder: Path, files: Files) -> None:
    """Write what all species share: the background, unless each has its own, and effort that was estimated."""
    if prepared.tables and not prepared.areas:
        write_background(next(iter(prepared.tables.values())), prepared, options, folder, files)
    _write_effort(prepared, folder, files)
    if prepared.group is not None and not prepared.group.placing:
        from sdm.kinds.group.outputs import write_group

        made: Files = {}
        typed = folder / "command.txt"  # of the run
        command = typed.read_text(encoding="utf-8").strip() if typed.is_file() else ""
        ways: dict[str, Any] = {"area": prepared.study_area, "command": command}
        with staging(folder / GROUP, overwrite=True) as stage:  # whole or not at all, whatever ends the run
            write_group(prepared.group.model, prepared.stack, stage, made, options, **ways)
        files["group"] = f"{GROUP}/{made.get('page', made['numbers'])}"


def write_background(
    table: SampleTable, prepared: SpeciesPrepared, options: RunOptions, folder: Path, files: Files
) -> None:
    """Write the background points, which are cells of layers; where all cells are background, there is no need."""
    everywhere = options.background.points == "all" and options.background.file is None
    if prepared.stack is None or everywhere or options.path.strata is not None:
        return
    points = pd.DataFrame({"x": table.background_x, "y": table.background_y})
    if table.weights is not None:
        points["weight"] = table.weights
    files["background"] = write_frame(folder / "background.csv", points).name
    if options.output.gpkg:
        files["package"] = write_points(points, folder / PACKAGE, "background", prepared.stack.crs).name


def _write_effort(prepared: SpeciesPrepared, folder: Path, files: Files) -> None:
    """Write effort that was estimated from a target group as a raster, so that it can be looked at; note its name."""
    effort, stack = prepared.effort, prepared.stack
    if not isinstance(effort, KernelEffort) or stack is None:
        return

    def band(window: Window, _: np.ndarray) -> np.ndarray:
        part = effort.window(window)
        return np.where(np.isnan(part), NODATA, part).astype(np.float32)

    first = replace(stack, layers=stack.layers[:1])  # whatever is read, the band does not depend on it
    tags = {"what": "sampling effort", "from": effort.name, "bandwidth_km": f"{effort.bandwidth:g}"}
    write_cog(first, folder / "effort.tif", band, nodata=NODATA, dtype="float32", tags=tags)
    write_styles(folder / "effort.tif")
    files["effort"] = "effort.tif"
