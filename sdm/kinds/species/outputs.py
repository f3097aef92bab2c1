"""Outputs of a species model, and its maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from rasterio.windows import Window

from sdm.assess.measures.basic import column_rows
from sdm.assess.structure import Structure
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.effort import KernelEffort
from sdm.data.rasters.stack import Stack
from sdm.data.records.frames import pd
from sdm.data.table import SampleTable
from sdm.kinds.assessment_tables import write_assessment
from sdm.kinds.mapping import rule_tag, write_value_map, write_value_maps
from sdm.kinds.model_task import Artefact, MapOptions
from sdm.kinds.species.fit import MeasuredSpecies, SpeciesFit
from sdm.kinds.species.inputs import SpeciesPrepared
from sdm.kinds.task import REPLICATES, Destination, Files, ModelMaps
from sdm.maps.gis.package import PACKAGE
from sdm.maps.gis.styles import write_styles
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.ranges import write_points, write_range
from sdm.maps.rasters import NODATA, Raster, write_rasters
from sdm.maps.single import PlannedMap, predict_rasters, threshold_on_scale
from sdm.options.definitions import RunOptions
from sdm.progress.telling import going_on
from sdm.report.model_figures import make_plots
from sdm.report.paper import paper_of
from sdm.report.results import GROUP
from sdm.report.tables import curve_rows, maxent_results, write_frame
from sdm.storage.commit import staging
from sdm.storage.files import safe_name
from sdm.types import Array, Progress, Row


def write_species(measured: MeasuredSpecies, prepared: SpeciesPrepared, to: Destination) -> list[str]:
    """Write the model of one species, its figures and other maps into a folder; return notes."""
    model, structure, predict = measured.fit.model, measured.fit.added.structure, to.options.predict
    write_assessment(measured, model, prepared.stack, to)
    if prepared.areas:
        write_background(measured.fit.table, prepared, to)
    if structure is not None and structure.search:
        from sdm.report.figures.assessment import draw_prices

        draw_prices(structure, make_plots(to.folder, to.files) / "prices.png", paper_of(to.options.output))
    if "map" not in to.files:
        return []
    notes, raster = list[str](), to.folder / str(to.files["map"])
    if model.alpha > 1.0 and predict.range:
        with going_on(to.progress, "range polygons"):
            notes += _write_range(measured, raster, predict.min_patch, to.files)
    _write_other_maps(measured, prepared, raster, to)
    return notes


def _sample_rows(measured: MeasuredSpecies) -> list[Row]:
    """Return the predictions at training and test records, with the column names of Java Maxent."""
    fit = measured.fit
    samples = [("train", fit.table.presence, fit.table.presence_x, fit.table.presence_y)]
    if fit.test is not None and fit.test_xy is not None:
        samples.append(("test", fit.test, *fit.test_xy))
    heads = {f"{scale.capitalize()} prediction": scale for scale in ("raw", "cumulative", "cloglog")}
    rows = []
    for kind, values, x, y in samples:
        predicted = zip(*(fit.model.predict(values, scale).tolist() for scale in heads.values()))
        for one, other, row in zip(x.tolist(), y.tolist(), predicted):
            rows.append({"X": one, "Y": other, "Test or train": kind, **dict(zip(heads, row))})
    return rows


def _background_rows(measured: MeasuredSpecies) -> list[Row]:
    """Return the predictions at the background points, if requested, with the column names of Java Maxent."""
    if not measured.options.output.background_predictions:
        return []
    table, model = measured.fit.table, measured.fit.model
    scales = {"raw": "raw", "cumulative": "cumulative", "Cloglog": "cloglog"}
    columns = {"x": table.background_x, "y": table.background_y}
    columns |= {head: model.predict(table.background, scale) for head, scale in scales.items()}
    return column_rows(columns)


def _of_structure(rows: Callable[[Structure], list[Row]]) -> Callable[[MeasuredSpecies], list[Row]]:
    """Return the rules of a structural model; other models have none."""
    return lambda measured: [] if measured.fit.added.structure is None else rows(measured.fit.added.structure)


def _penalty_rows(structure: Structure) -> list[Row]:
    """Return the penalties that a structural model compared, the best first."""
    return [
        {
            "lambda": tried.lam,
            "beta": tried.beta,
            "held-out loss": tried.loss,
            "standard error": tried.error,
            "chosen": (tried.lam, tried.beta) == (structure.lam, structure.beta),
        }
        for tried in sorted(structure.search, key=lambda tried: tried.loss)
    ]


SPECIES_TABLES: tuple[Artefact[MeasuredSpecies], ...] = (
    Artefact("results", "maxentResults.csv", lambda m: [maxent_results(m.numbers, m.fit.thresholds)]),
    Artefact("sample predictions", "{name}_samplePredictions.csv", _sample_rows),
    Artefact("omission", "{name}_omission.csv", lambda m: m.omission),
    Artefact("roc", "{name}_roc.csv", lambda m: m.roc),
    Artefact("curves", "{name}_curves.csv", lambda m: curve_rows(m.profiles)),
    Artefact("families", "{name}_families.csv", _of_structure(lambda structure: structure.families)),
    Artefact("rules", "{name}_rules.csv", _of_structure(lambda structure: structure.rules)),
    Artefact("interactions", "{name}_interactions.csv", _of_structure(lambda structure: structure.interactions)),
    Artefact("prices", "{name}_prices.csv", _of_structure(_penalty_rows)),
    Artefact("background predictions", "{name}_backgroundPredictions.csv", _background_rows),
)


def _write_range(measured: MeasuredSpecies, raster: Path, min_patch: float, files: Files) -> list[str]:
    """Write the cells with positive density as polygons; return a note."""
    path = raster.with_name(f"{raster.stem}_range.gpkg")
    measured.numbers["range"], dropped = write_range(raster, path, species=measured.name, min_patch=min_patch)
    files["range"] = path.name
    if not dropped:
        return []
    size = f"{len(dropped):,} patches of less than {min_patch:g} km² ({sum(dropped):,.0f} km² in all)"
    return [f"the range excludes {size}"]


def _write_other_maps(measured: MeasuredSpecies, prepared: SpeciesPrepared, raster: Path, to: Destination) -> None:
    """Write the map of presence and absence, unless it exists, and maps of the replicates."""
    model, replicates, stack = measured.fit.model, measured.assessed.replicates, cast("Stack", prepared.stack)
    predict, tags = to.options.predict, {"species": measured.name}
    map_options = MapOptions.of_run(to.options, prepared.area_of(measured.name), to.progress)
    presence = replace(map_options, threshold=predict.threshold)
    if presence.threshold is not None:
        measured.numbers["map_threshold"] = threshold_on_scale(model, presence.threshold, predict.scale)
    missing = map_options if "thresholded map" in to.files else presence
    to.files.update(write_value_maps(model, replicates, stack, raster, "map", missing, tags))
    if to.options.output.replicate_maps:
        for k, one in enumerate(replicates, start=1):
            write_value_map(one, stack, raster.parent / REPLICATES / f"{raster.stem}_{k}.tif", map_options, tags)


def write_shared(prepared: SpeciesPrepared, to: Destination) -> None:
    """Write the common files of all species: the background, unless each has its own, and estimated effort."""
    if prepared.tables and not prepared.areas:
        write_background(next(iter(prepared.tables.values())), prepared, to)
    _write_effort(prepared, to)
    if prepared.group is not None and not prepared.group.placing:
        from sdm.kinds.group.outputs import write_group

        typed = to.folder / "command.txt"  # of the run
        command = typed.read_text(encoding="utf-8").strip() if typed.is_file() else ""
        with staging(to.folder / GROUP, overwrite=True) as stage:  # written atomically
            inside = Destination(stage, to.options)
            write_group(prepared.group.model, prepared.stack, inside, area=prepared.study_area, command=command)
        to.files["group"] = f"{GROUP}/{inside.files.get('page', inside.files['numbers'])}"


def write_background(table: SampleTable, prepared: SpeciesPrepared, to: Destination) -> None:
    """Write the background points, which are cells of layers; not needed if all cells are background."""
    drawn = to.options.background
    everywhere = drawn.points == "all" and drawn.file is None
    if prepared.stack is None or everywhere or to.options.path.strata is not None:
        return
    points = pd.DataFrame({"x": table.background_x, "y": table.background_y})
    if table.weights is not None:
        points["weight"] = table.weights
    to.files["background"] = write_frame(to.folder / "background.csv", points).name
    if to.options.output.gpkg:
        to.files["package"] = write_points(points, to.folder / PACKAGE, "background", prepared.stack.crs).name


def _write_effort(prepared: SpeciesPrepared, to: Destination) -> None:
    """Write effort that was estimated from a target group as a raster, and register its name."""
    effort, stack = prepared.effort, prepared.stack
    if not isinstance(effort, KernelEffort) or stack is None:
        return

    def bands(window: Window, _: np.ndarray) -> list[np.ndarray]:
        part = effort.window(window)
        return [np.where(np.isnan(part), NODATA, part).astype(np.float32)]

    first = replace(stack, layers=stack.layers[:1])  # the band does not depend on it
    tags = {"what": "sampling effort", "from": effort.name, "bandwidth_km": f"{effort.bandwidth:g}"}
    write_rasters(first, [Raster(to.folder / "effort.tif")], bands, [tags])
    write_styles(to.folder / "effort.tif")
    to.files["effort"] = "effort.tif"


def map_species(
    fit: SpeciesFit, prepared: SpeciesPrepared, options: RunOptions, folder: Path, progress: Progress | None
) -> ModelMaps:
    """Write the map of one species."""
    map_options, counted = MapOptions.of_run(options, prepared.area_of(fit.name), progress), NoveltyMaps(fit.model)
    raster, tags = folder / f"{safe_name(fit.name)}.tif", {"species": fit.name}
    summary = write_value_map(fit.model, cast(Stack, prepared.stack), raster, map_options, tags, counted)
    return ModelMaps(folder, {"map": summary.path.name}, {"map": summary.numbers, **counted.numbers})


def map_species_together(
    fits: Sequence[tuple[SpeciesFit, SpeciesPrepared]], options: RunOptions, folder: Path, progress: Progress | None
) -> list[ModelMaps]:
    """Write the maps of several species in one pass over the layers, each into its folder."""
    if not options.output.map or any(one.stack is None for _, one in fits):
        return []
    layers = {layer.name: layer for _, one in fits for layer in cast(Stack, one.stack).layers}
    stack, predict = replace(cast(Stack, fits[0][1].stack), layers=tuple(layers.values())), options.predict
    planned: dict[tuple[int, str], PlannedMap] = {}
    for k, (fit, prepared) in enumerate(fits):
        (folder / str(k)).mkdir()
        raster, area = folder / str(k) / f"{safe_name(fit.name)}.tif", prepared.area_of(fit.name)
        tags = {"species": fit.name}
        planned[k, "map"] = PlannedMap(fit.model, raster, None, area, tags, NoveltyMaps(fit.model))
        if predict.threshold is not None:
            presence = raster.with_name(f"{raster.stem}_thresholded.tif")
            level = threshold_on_scale(fit.model, predict.threshold, predict.scale)
            tags = tags | rule_tag(predict.threshold)
            planned[k, "thresholded map"] = PlannedMap(fit.model, presence, level, area, tags)
    how = MapOptions.of_run(options, None, progress).how
    summaries = predict_rasters(list(planned.values()), stack, how, scale=predict.scale)
    maps = [ModelMaps(folder / str(k), {}, {}) for k in range(len(fits))]
    for ((k, key), plan), summary in zip(planned.items(), summaries):
        maps[k].files[key] = summary.path.name
        if plan.novelty is not None:
            maps[k].numbers.update({"map": summary.numbers, **plan.novelty.numbers})
    return maps


def draw_species_maps(fit: SpeciesFit, maps: ModelMaps, prepared: SpeciesPrepared, options: RunOptions) -> Files:
    """Draw the map of a species with its records."""
    records = {"training record": (fit.table.presence_x, fit.table.presence_y)}
    records |= {} if fit.test_xy is None else {"test record": fit.test_xy}
    area = prepared.area_of(fit.name)
    return draw_with_records(fit.name, maps, options, options.predict.scale, records, area, fit.model.alpha > 1.0)


def draw_with_records(
    name: str,
    maps: ModelMaps,
    options: RunOptions,
    scale: str,
    records: Mapping[str, tuple[Array, Array]],
    area: StudyArea | None,
    zeros: bool = False,
) -> Files:
    """Draw the map of a species with its records; `zeros`: whether the map has exact zeros."""
    from sdm.report.figures.maps.drawn import draw_map
    from sdm.report.figures.maps.plan import Marks, suitability

    raster, marks = maps.folder / maps.files["map"], Marks(records, area, zeros)
    place, shades, paper = raster.with_suffix(".png"), suitability(scale), paper_of(options.output)
    picture = draw_map(raster, place, shades=shades, title=name, species=True, marks=marks, paper=paper)
    return {"picture": picture.name}
