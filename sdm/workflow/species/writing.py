"""Everything that a run leaves behind for one species."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from rasterio.windows import Window

from sdm.assess.measures.thresholds import find_threshold
from sdm.assess.structure import Structure
from sdm.assess.uncertainty import STATISTICS
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.effort import KernelEffort
from sdm.files import safe_name, safe_names
from sdm.maps.ranges import write_range
from sdm.maps.rasters import NODATA, write_cog
from sdm.maps.species import predict_raster
from sdm.models.file import save_model
from sdm.options.definitions import RunOptions
from sdm.report.tables import maxent_results, write_profiles, write_rows
from sdm.types import Progress
from sdm.workflow.assessment_tables import PICTURES as ASSESSMENT
from sdm.workflow.assessment_tables import draw_assessment, write_assessment, write_value_maps
from sdm.workflow.species.fitting import SpeciesFit
from sdm.workflow.species.inputs import SpeciesPrepared

if TYPE_CHECKING:
    from sdm.data.rasters.stack import Stack

PICTURES = ("effects", "families", "interactions", "prices", *ASSESSMENT)
"""Names in `plots/` that are not a variable's."""


def write_species(
    fitted: SpeciesFit,
    prepared: SpeciesPrepared,
    options: RunOptions,
    folder: Path,
    files: dict[str, Any],
    progress: Progress | None = None,
) -> list[str]:
    """Write the model of one species, its tables, pictures and maps into a folder; return notes."""
    name = safe_name(fitted.table.species)
    done = Written(files)
    files["model"] = save_model(fitted.model, folder / f"{name}.npz").name
    _write_tables(fitted, folder, name, done)
    # Pictures are drawn in a thread of their own while the map is computed in others, outside Python's lock.
    with ThreadPoolExecutor(1) as painter:
        pictures = []
        if fitted.profiles:
            files["curves"] = write_profiles(folder / f"{name}_curves.csv", fitted.profiles).name
            pictures.append(painter.submit(_draw_curves, fitted, options, folder, done))
        if fitted.structure is not None:
            _write_structure(fitted.structure, folder, name, done)
            pictures.append(painter.submit(_draw_structure, fitted.structure, folder, done))
        write_assessment(fitted, folder, name, files)
        pictures.append(painter.submit(draw_assessment, fitted, prepared.stack, options, folder, files))
        if prepared.stack is not None and options.output.map:
            raster = _write_map(fitted, prepared, options, folder, name, done, progress)
            area = prepared.area_of(fitted.table.species)
            pictures.append(painter.submit(_draw_map, raster, fitted, options, done, area))
            _write_other_maps(fitted, prepared, options, raster, done, progress)
        for picture in pictures:
            picture.result()
    return done.notes


@dataclass
class Written:
    """The files of a species, by what they are, and what is to be said of them."""

    files: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def _write_tables(fitted: SpeciesFit, folder: Path, name: str, done: Written) -> None:
    """Write results, sample predictions and omission, under the names that Java Maxent gives them."""
    model = fitted.model
    row = maxent_results(fitted.numbers, fitted.thresholds)
    done.files["results"] = write_rows(folder / "maxentResults.csv", [row]).name
    samples = [("train", fitted.table.presence, fitted.table.presence_x, fitted.table.presence_y)]
    if fitted.test is not None and fitted.test_xy is not None:
        samples.append(("test", fitted.test, *fitted.test_xy))
    rows: list[dict[str, Any]] = []
    for kind, values, x, y in samples:
        scales = [model.predict(values, scale).tolist() for scale in ("raw", "cumulative", "cloglog")]
        for k, (raw, cumulative, suitability) in enumerate(zip(*scales)):
            rows.append(
                {
                    "X": float(x[k]),
                    "Y": float(y[k]),
                    "Test or train": kind,
                    "Raw prediction": raw,
                    "Cumulative prediction": cumulative,
                    "Cloglog prediction": suitability,
                }
            )
    done.files["sample predictions"] = write_rows(folder / f"{name}_samplePredictions.csv", rows).name
    done.files["omission"] = write_rows(folder / f"{name}_omission.csv", fitted.omission).name
    done.files["roc"] = write_rows(folder / f"{name}_roc.csv", fitted.roc).name


def _write_structure(structure: Structure, folder: Path, name: str, done: Written) -> None:
    """Write the families, rules and interactions of a structural model, and the prices that were tried."""
    tables: dict[str, list[dict[str, Any]]] = {
        "families": [asdict(share) for share in structure.families],
        "rules": [asdict(rule) for rule in structure.rules],
        "interactions": [
            {"first": a, "second": b, "strength": value} for (a, b), value in structure.interactions.items()
        ],
        "prices": [
            {
                "lambda": s.lam,
                "beta": s.beta,
                "held-out loss": s.loss,
                "standard error": s.error,
                "chosen": (s.lam, s.beta) == (structure.lam, structure.beta),
            }
            for s in sorted(structure.search, key=lambda s: s.loss)
        ],
    }
    for what, rows in tables.items():
        if rows:
            done.files[what] = write_rows(folder / f"{name}_{what}.csv", rows).name


def _draw_structure(structure: Structure, folder: Path, done: Written) -> None:
    """Draw the families, interactions and prices of a structural model to `plots/`."""
    from sdm.report.figures.structure import draw_families, draw_interactions, draw_prices

    plots = folder / "plots"
    plots.mkdir(exist_ok=True)
    if structure.families:
        draw_families(structure, plots / "families.png")
    if structure.interactions:
        draw_interactions(structure, plots / "interactions.png")
    if structure.search:
        draw_prices(structure, plots / "prices.png")
    done.files["plots"] = "plots"


def _draw_curves(fitted: SpeciesFit, options: RunOptions, folder: Path, done: Written) -> None:
    """Draw the response curves to `plots/`."""
    from sdm.report.figures.curves import draw_profiles

    plots = folder / "plots"
    plots.mkdir(exist_ok=True)
    variables = [variable.name for variable in fitted.model.variables]
    names = safe_names(variables, taken=[*PICTURES, *(f"{safe_name(name)}_only" for name in variables)])
    draw_profiles(fitted.profiles, plots, options.predict.scale, names)
    done.files["plots"] = "plots"


def _draw_map(raster: Path, fitted: SpeciesFit, options: RunOptions, done: Written, area: StudyArea | None) -> None:
    """Draw the map with its points."""
    from sdm.report.figures.maps import draw_map, suitability

    table = fitted.table
    path = raster.with_suffix(".png")
    draw_map(
        raster,
        path,
        title=table.species,
        shades=suitability(options.predict.scale),
        x=table.presence_x,
        y=table.presence_y,
        test=fitted.test_xy,
        edges=fitted.model.alpha > 1.0,
        area=area,
    )
    done.files["picture"] = path.name


def _common(fitted: SpeciesFit, options: RunOptions, progress: Progress | None) -> dict[str, Any]:
    """Return what all maps of a species share."""
    return {
        "scale": options.predict.scale,
        "clamp": options.predict.clamp,
        "threads": options.threads,
        "progress": progress,
        "tags": {"species": fitted.table.species},
    }


def _write_map(
    fitted: SpeciesFit,
    prepared: SpeciesPrepared,
    options: RunOptions,
    folder: Path,
    name: str,
    done: Written,
    progress: Progress | None,
) -> Path:
    """Write the map of the training layers."""
    raster = folder / f"{name}.tif"
    stack = cast("Stack", prepared.stack)
    common = _common(fitted, options, progress)
    area = prepared.area_of(fitted.table.species)
    summary = predict_raster(fitted.model, stack, raster, study_area=area, **common)
    done.files["map"] = raster.name
    fitted.numbers["map"] = summary.numbers
    if fitted.model.alpha > 1.0 and options.predict.range:
        _write_range(fitted, raster, options.predict.min_patch, done)
    return raster


def _write_range(fitted: SpeciesFit, raster: Path, min_patch: float, done: Written) -> None:
    """Write where the density is not zero as polygons."""
    path = raster.with_name(f"{raster.stem}_range.gpkg")
    found = write_range(raster, path, species=fitted.table.species, min_patch=min_patch)
    done.files["range"] = path.name
    fitted.numbers["range"] = {"area_km2": found.area_km2, "patches": found.patches}
    if found.dropped:
        size = f"{found.dropped:,} patches of less than {min_patch:g} km² ({found.dropped_km2:,.0f} km² in all)"
        done.notes.append(f"the range leaves out {size}")


def _write_other_maps(
    fitted: SpeciesFit,
    prepared: SpeciesPrepared,
    options: RunOptions,
    raster: Path,
    done: Written,
    progress: Progress | None,
) -> None:
    """Write the map of presence and absence, the projections, and maps over the replicates."""
    model, stack, common = fitted.model, cast("Stack", prepared.stack), _common(fitted, options, progress)
    replicates = fitted.assessed.validation.models if fitted.assessed.validation else []
    level = threshold_value(fitted, options)
    if level is not None:
        fitted.numbers["map_threshold"] = level
    area = {"study_area": prepared.area_of(fitted.table.species)}
    done.files |= write_value_maps(model, replicates, level, stack, raster, "map", common | area)
    endings = ["thresholded", *STATISTICS]
    taken = [*endings, *(f"{safe_name(t)}_{ending}" for t in prepared.projections for ending in endings)]
    titles = safe_names(prepared.projections, taken=taken)
    for title, elsewhere in prepared.projections.items():
        path, of = raster.with_name(f"{raster.stem}_{titles[title]}.tif"), f"projection {title}"
        predict_raster(model, elsewhere, path, **common)
        done.files[of] = path.name
        done.files |= write_value_maps(model, replicates, level, elsewhere, path, of, common)


def threshold_value(fitted: SpeciesFit, options: RunOptions) -> float | None:
    """Return the chosen threshold on the map's scale; a number is taken as it is."""
    wanted = options.predict.threshold
    if wanted is None or isinstance(wanted, (int, float)):
        return None if wanted is None else float(wanted)
    return float(fitted.model.from_raw(find_threshold(fitted.thresholds, wanted).raw, options.predict.scale))


def write_effort(prepared: SpeciesPrepared, folder: Path, files: dict[str, Any]) -> None:
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
    files["effort"] = "effort.tif"
