"""The maps of species that depend on their models alone, and their pictures."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from sdm.data.rasters.stack import Stack
from sdm.kinds import assessment_tables as shared
from sdm.kinds.species.fit import MeasuredSpecies, SpeciesFit
from sdm.kinds.species.inputs import SpeciesPrepared
from sdm.kinds.task import Files, ModelMaps
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.species import PlannedMap, predict_raster, predict_rasters
from sdm.options.definitions import RunOptions
from sdm.report.paper import paper_of
from sdm.storage.files import safe_name
from sdm.types import Progress


def map_species(
    fit: SpeciesFit | MeasuredSpecies,
    prepared: SpeciesPrepared,
    options: RunOptions,
    folder: Path,
    progress: Progress | None,
) -> ModelMaps:
    """Write the map of one species."""
    if prepared.stack is None or not options.output.map:
        return ModelMaps(folder, {}, {})
    counted = NoveltyMaps(fit.model)
    made = predict_raster(
        fit.model,
        prepared.stack,
        folder / f"{safe_name(fit.name)}.tif",
        scale=options.predict.scale,
        extrapolation=options.predict.extrapolation,
        threads=options.threads,
        tags=map_tags(fit.name, options),
        study_area=prepared.area_of(fit.name),
        novelty=counted,
        progress=progress,
    )
    return ModelMaps(folder, {"map": made.path.name}, {"map": made.numbers, **counted.numbers})


def map_species_together(
    measured: Sequence[tuple[MeasuredSpecies, SpeciesPrepared]],
    options: RunOptions,
    folder: Path,
    progress: Progress | None,
) -> list[ModelMaps]:
    """Write the maps of several species in one pass over the layers, each into its own folder."""
    if not options.output.map or any(one.stack is None for _, one in measured):
        return []
    layers = {layer.name: layer for _, one in measured for layer in cast(Stack, one.stack).layers}
    stack = replace(cast(Stack, measured[0][1].stack), layers=tuple(layers.values()))
    planned: dict[tuple[int, str], PlannedMap] = {}
    for k, (one, prepared) in enumerate(measured):
        (folder / str(k)).mkdir()
        raster, level = folder / str(k) / f"{safe_name(one.name)}.tif", threshold_value(one, options)
        place: dict[str, Any] = {"study_area": prepared.area_of(one.name), "tags": map_tags(one.name, options)}
        planned[k, "map"] = PlannedMap(one.model, raster, novelty=NoveltyMaps(one.model), **place)
        if level is not None:
            presence = raster.with_name(f"{raster.stem}_thresholded.tif")
            planned[k, "thresholded map"] = PlannedMap(one.model, presence, level, **place)
    made = predict_rasters(
        list(planned.values()),
        stack,
        scale=options.predict.scale,
        extrapolation=options.predict.extrapolation,
        threads=options.threads,
        progress=progress,
    )
    maps = [ModelMaps(folder / str(k), {}, {}) for k in range(len(measured))]
    for ((k, what), plan), summary in zip(planned.items(), made):
        maps[k].files[what] = summary.path.name
        if plan.novelty is not None:
            maps[k].numbers.update({"map": summary.numbers, **plan.novelty.numbers})
    return maps


def draw_species_maps(
    fit: SpeciesFit | MeasuredSpecies, maps: ModelMaps, prepared: SpeciesPrepared, options: RunOptions
) -> Files:
    """Draw the map of a species with its records, if a picture is wanted."""
    if "map" not in maps.files or not options.output.map_picture:
        return {}
    from sdm.report.figures.maps.drawn import draw_map
    from sdm.report.figures.maps.plan import suitability

    raster = maps.folder / maps.files["map"]
    picture = draw_map(
        raster,
        raster.with_suffix(".png"),
        shades=suitability(options.predict.scale),
        x=fit.table.presence_x,
        y=fit.table.presence_y,
        test=fit.test_xy,
        title=fit.name,
        species=True,
        area=prepared.area_of(fit.name),
        edges=fit.model.alpha > 1.0,
        paper=paper_of(options.output),
    )
    return {"picture": picture.name}


def map_tags(species: str, options: RunOptions) -> dict[str, str]:
    """Return what maps of a species say of it, and of the rule of their cutoff."""
    rule = options.predict.threshold
    return {"species": species} | ({"threshold_rule": rule} if isinstance(rule, str) else {})


def threshold_value(fit: SpeciesFit | MeasuredSpecies, options: RunOptions) -> float | None:
    """Return the chosen threshold on the map's scale."""
    wanted, scale = options.predict.threshold, options.predict.scale
    return shared.cutoff(fit.thresholds, wanted, lambda raw: float(fit.model.from_raw(raw, scale)))
