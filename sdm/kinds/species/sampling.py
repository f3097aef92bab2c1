"""Sampling bias in a run: effort, target group, accessible area, thinning, weights of records."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from sdm.data.background import Background, Weighting, background_from_points, sample_backgrounds
from sdm.data.rasters.accessible import Shape, accessible_area
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.effort import Effort, KernelEffort, kernel_effort, open_effort
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import CleanPoints, Located, locate
from sdm.data.records.occurrences import Occurrences
from sdm.data.records.weights import record_weights
from sdm.options.definitions import AREA_WORDS, GROUP_WORD, RunOptions
from sdm.types import Numbers


def random_share(options: RunOptions, place: bool) -> float:
    """Return the share of the base measure on random cells; it is smaller with spatial features, which can model the
    sites."""
    share = options.background.random_share
    return share if share is not None else 0.03 if place else 0.1


def accessible_areas(options: RunOptions, located: Located) -> dict[str, StudyArea]:
    """Draw the area around the records of each species with records in the layers; empty if not requested."""
    if options.background.area not in AREA_WORDS:
        return {}
    shape, km = cast(Shape, options.background.area), options.background.buffer or 0.0
    species = located.occurrences.species.astype(str)[located.record]
    areas = {}
    for name in located.occurrences.species_names:
        rows = located.record[species == name]
        if len(rows):
            areas[name] = accessible_area(located.stack, located.x[rows], located.y[rows], shape, km)
    return areas


def make_effort(options: RunOptions, stack: Stack, group: Occurrences | None) -> Effort | None:
    """Open the bias raster, or estimate effort from the sites of the target group."""
    background = options.background
    if background.bias is None or (background.bias == GROUP_WORD and group is None):
        return None
    if group is None or background.bias != GROUP_WORD:
        return open_effort(background.bias, stack, nodata=options.layers.nodata, align=options.layers.align is not None)
    located = locate(group, stack)
    rows, cols = located.cells
    name = f"target group {Path(group.source).name}"
    effort = kernel_effort(stack, rows, cols, bandwidth=background.bandwidth, name=name, threads=options.threads)
    notices = located.describe_turned("records of the target group") if background.target_group else []
    return replace(effort, notes=tuple(notices))


def make_backgrounds(
    options: RunOptions,
    stack: Stack,
    areas: Sequence[StudyArea | None],
    points: Occurrences | None,
    effort: Effort | None,
    cells: tuple[np.ndarray, np.ndarray],
) -> list[Background]:
    """Return the background in each study area; empty if an area has none.

    `points` are points of the user or of the target group, None to draw cells; `cells` are looked up in the same pass
    over the layers.
    """
    bg = options.background
    if bg.bias_treatment == "records":
        effort = None  # records are weighted by it instead
    if points is None:
        return sample_backgrounds(
            stack,
            areas,
            n=bg.points,
            seed=options.seed,
            weighting=Weighting(bg.area_weighted, "prior" if bg.bias_treatment == "prior" else "sample"),
            effort=None if effort is None else effort.window,
            lookup_cells=cells,
            threads=options.threads,
        )
    # A study area of polygons is the same for all; records outside it are reported.
    shared = areas[0] if len(areas) == 1 else None
    drawn = background_from_points(stack, points, study_area=shared, effort=effort, one_per_cell=bg.kind == GROUP_WORD)
    if len(areas) == 1:
        return [drawn]
    inside = [slice(None) if area is None else area.contains(stack, drawn.rows, drawn.cols) for area in areas]
    return [drawn.take(cast(np.ndarray, which)) for which in inside]


def weigh(
    options: RunOptions, records: Occurrences, points: CleanPoints, stack: Stack, effort: np.ndarray | None = None
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Return the weights of presences (None if all are equal) and notes; `effort` is the effort in their cells, for
    weights of 1/effort."""
    source, notes = options.occurrences, tuple[str, ...]()
    weights = None if effort is None else effort.mean() / effort
    if source.record_weights is not None:
        factor, notes = record_weights(records, points, stack, source.record_weights, source.uncertainty_column)
        weights = factor if weights is None else weights * factor
    return weights, notes


def tell(options: RunOptions, effort: Effort | None, background: Background) -> list[str]:
    """Report the treatment of sampling bias."""
    texts = []
    if options.background.kind == GROUP_WORD:
        texts.append(f"background: {len(background):,} sites of the target group, one record per cell")
    if isinstance(effort, KernelEffort):
        texts += effort.notes
        kernel = f"a kernel of {effort.bandwidth:.3g} km over {effort.n_sites:,} sites"
        texts.append(f"sampling effort of the {effort.name}: {kernel}, written to effort.tif")
    if effort is not None:
        drawn = "background cells are drawn by it"
        effects = {"sample": drawn, "prior": "it is the base measure, divided out of the map"}
        effects["records"] = "every record counts by one over the effort in its cell"
        texts.append(f"sampling effort '{effort.name}': {effects[options.background.bias_treatment]}")
    return texts


def describe(
    options: RunOptions, effort: Effort | None = None, area: StudyArea | None = None, rows: str | None = None
) -> Numbers:
    """Return the treatment of sampling bias for the model file and the results; `rows` is a table of background."""
    bg, records = options.background, options.occurrences
    source = bg.file if rows is None else rows
    description: Numbers = {"background": bg.kind if source is None or bg.kind == GROUP_WORD else Path(source).name}
    if bg.target_group is not None:
        description["target_group"] = Path(bg.target_group).name
    if effort is not None:
        description |= {"bias": effort.name, "bias_treatment": bg.bias_treatment}
        if isinstance(effort, KernelEffort):
            description |= {"bandwidth_km": round(effort.bandwidth, 6), "sites": effort.n_sites}
    if bg.effort_column is not None:
        description |= {"bias": f"column {bg.effort_column}", "bias_treatment": "prior"}
    if area is not None:
        description["study_area"] = area.source if bg.area in AREA_WORDS else Path(area.source).name
    if records.thin_bins:
        chosen = f" of {', '.join(records.thin_variables)}" if records.thin_variables else " per variable"
        description["thinned_by_environment"] = f"{records.thin_bins} bins{chosen}"
    thinning = {"thinned_to_km": records.thin_distance or None, "record_weights": records.record_weights}
    return description | {name: value for name, value in thinning.items() if value is not None}
