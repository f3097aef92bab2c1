"""Everything that a run leaves behind for one species."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from rasterio.windows import Window

from sdm.data.rasters.effort import KernelEffort
from sdm.data.records.frames import pd
from sdm.data.table import SampleTable
from sdm.kinds import assessment_tables as shared
from sdm.kinds.artefacts import Artefact, write_artefacts
from sdm.kinds.species.fit import MeasuredSpecies
from sdm.kinds.species.inputs import SpeciesPrepared
from sdm.kinds.species.mapping import map_tags, threshold_value
from sdm.kinds.task import REPLICATES, Files
from sdm.maps.gis.package import PACKAGE
from sdm.maps.gis.styles import write_styles
from sdm.maps.ranges import write_range
from sdm.maps.rasters import NODATA, write_cog
from sdm.maps.species import predict_raster
from sdm.maps.vectors import write_points
from sdm.models.file import save_model
from sdm.options.definitions import RunOptions
from sdm.progress.telling import going_on
from sdm.report.chart_files import make_plots
from sdm.report.paper import paper_of
from sdm.report.results import GROUP
from sdm.report.tables import curve_rows, maxent_results, write_frame
from sdm.storage.commit import staging
from sdm.storage.files import safe_name
from sdm.types import Numbers, Progress, Row

if TYPE_CHECKING:
    from sdm.data.rasters.stack import Stack


def write_species(
    measured: MeasuredSpecies,
    prepared: SpeciesPrepared,
    options: RunOptions,
    folder: Path,
    files: Files,
    progress: Progress | None,
) -> list[str]:
    """Write the model of one species, its tables, pictures and other maps into a folder; return notes."""
    name = safe_name(measured.name)
    files["model"] = save_model(measured.model, folder / f"{name}.npz").name
    files |= write_artefacts(SPECIES_TABLES, measured, folder, name)
    if options.output.background_predictions:
        files |= write_artefacts([BACKGROUND_PREDICTIONS], measured, folder, name)
    files |= write_artefacts(shared.ASSESSMENT, measured, folder, name)
    files |= shared.write_replicates(measured.assessed.replicates, measured, folder, name)
    if prepared.areas:
        write_background(measured.table, prepared, options, folder, files)
    shared.draw_assessment(measured, prepared.stack, options, folder, files)
    if measured.structure is not None and measured.structure.search:
        from sdm.report.figures.structure import draw_prices

        draw_prices(measured.structure, make_plots(folder, files) / "prices.png", paper_of(options.output))
    if "map" not in files:
        return []
    notes, raster = list[str](), folder / str(files["map"])
    if measured.model.alpha > 1.0 and options.predict.range:
        with going_on(progress, "range polygons"):
            notes += _write_range(measured, raster, options.predict.min_patch, files)
    _write_other_maps(measured, prepared, options, raster, files, progress)
    return notes


def _sample_rows(measured: MeasuredSpecies) -> list[Row]:
    """Return the predictions at training and test records, under the names that Java Maxent gives them."""
    samples = [("train", measured.table.presence, measured.table.presence_x, measured.table.presence_y)]
    if measured.test is not None and measured.test_xy is not None:
        samples.append(("test", measured.test, *measured.test_xy))
    heads = {f"{scale.capitalize()} prediction": scale for scale in ("raw", "cumulative", "cloglog")}
    rows = []
    for kind, values, x, y in samples:
        predicted = zip(*(measured.model.predict(values, scale).tolist() for scale in heads.values()))
        for one, other, row in zip(x.tolist(), y.tolist(), predicted):
            rows.append({"X": one, "Y": other, "Test or train": kind, **dict(zip(heads, row))})
    return rows


def _background_rows(measured: MeasuredSpecies) -> list[Row]:
    """Return the predictions at the background points, under the names that Java Maxent gives them."""
    table, model = measured.table, measured.model
    scales = {"raw": "raw", "cumulative": "cumulative", "Cloglog": "cloglog"}
    columns = {"x": table.background_x, "y": table.background_y}
    columns |= {head: model.predict(table.background, scale) for head, scale in scales.items()}
    return [dict(zip(columns, row)) for row in zip(*(values.tolist() for values in columns.values()))]


def _rule_rows(measured: MeasuredSpecies) -> list[Row]:
    """Return the rules of a structural model."""
    return [asdict(rule) for rule in measured.structure.rules] if measured.structure else []


def _interaction_rows(measured: MeasuredSpecies) -> list[Row]:
    """Return the interactions of a structural model."""
    pairs = measured.structure.interactions.items() if measured.structure else ()
    return [{"first": a, "second": b, "strength": value} for (a, b), value in pairs]


def _penalty_rows(measured: MeasuredSpecies) -> list[Row]:
    """Return the penalties that a structural model was tried with, the best first."""
    structure = measured.structure
    return (
        [
            {
                "lambda": tried.lam,
                "beta": tried.beta,
                "held-out loss": tried.loss,
                "standard error": tried.error,
                "chosen": (tried.lam, tried.beta) == (structure.lam, structure.beta),
            }
            for tried in sorted(structure.search, key=lambda tried: tried.loss)
        ]
        if structure
        else []
    )


SPECIES_TABLES: tuple[Artefact[MeasuredSpecies], ...] = (
    Artefact("results", "maxentResults.csv", lambda m: [maxent_results(m.numbers, m.thresholds)]),
    Artefact("sample predictions", "{name}_samplePredictions.csv", _sample_rows, section="map"),
    Artefact("omission", "{name}_omission.csv", lambda m: m.omission, section="omission"),
    Artefact("roc", "{name}_roc.csv", lambda m: m.roc, section="roc"),
    Artefact("curves", "{name}_curves.csv", lambda m: curve_rows(m.profiles), section="curves"),
    Artefact(
        "families",
        "{name}_families.csv",
        lambda m: [asdict(share) for share in m.structure.families] if m.structure else [],
        section="structure",
    ),
    Artefact("rules", "{name}_rules.csv", _rule_rows, section="structure"),
    Artefact("interactions", "{name}_interactions.csv", _interaction_rows, section="structure"),
    Artefact("prices", "{name}_prices.csv", _penalty_rows, section="structure"),
)
BACKGROUND_PREDICTIONS = Artefact("background predictions", "{name}_backgroundPredictions.csv", _background_rows)


def _write_range(measured: MeasuredSpecies, raster: Path, min_patch: float, files: Files) -> list[str]:
    """Write where the density is not zero as polygons; return what is to be said of them."""
    path = raster.with_name(f"{raster.stem}_range.gpkg")
    found = write_range(raster, path, species=measured.name, min_patch=min_patch)
    files["range"] = path.name
    measured.numbers["range"] = {"area_km2": found.area_km2, "patches": found.patches}
    if not found.dropped:
        return []
    size = f"{found.dropped:,} patches of less than {min_patch:g} km² ({found.dropped_km2:,.0f} km² in all)"
    return [f"the range leaves out {size}"]


def _write_other_maps(
    measured: MeasuredSpecies,
    prepared: SpeciesPrepared,
    options: RunOptions,
    raster: Path,
    files: Files,
    progress: Progress | None,
) -> None:
    """Write the map of presence and absence, unless it was made with the map, and maps of the replicates."""
    replicates, stack = measured.assessed.replicates, cast("Stack", prepared.stack)
    common: Numbers = {key: getattr(options.predict, key) for key in ("scale", "extrapolation")}
    common |= {"threads": options.threads, "progress": progress, "tags": map_tags(measured.name, options)}
    common["study_area"] = prepared.area_of(measured.name)
    level = threshold_value(measured, options)
    if level is not None:
        measured.numbers["map_threshold"] = level
    cutoff = None if "thresholded map" in files else level
    files |= shared.write_value_maps(measured.model, replicates, cutoff, stack, raster, "map", common)
    if options.output.replicate_maps:
        for k, model in enumerate(replicates, start=1):
            predict_raster(model, stack, raster.parent / REPLICATES / f"{raster.stem}_{k}.tif", **common)


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
        group, area = prepared.group.model, prepared.study_area
        with staging(folder / GROUP, overwrite=True) as stage:  # whole or not at all, whatever ends the run
            write_group(group, prepared.stack, stage, made, options, area=area, command=command)
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
