"""Everything that a run leaves behind for one species."""

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sdm.assess.thresholds import choose
from sdm.config import RunOptions, dump_yaml
from sdm.files import safe_name
from sdm.modelfile import save_model
from sdm.predict import Progress, predict_raster
from sdm.report.tables import maxent_results, write_profiles, write_rows
from sdm.run.fitting import Fitted
from sdm.run.prepare import Prepared, open_layers


@dataclass
class Written:
    """The files of a species, by what they are; paths are relative to its folder."""

    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def write_species(
    fitted: Fitted,
    prepared: Prepared,
    options: RunOptions,
    folder: Path,
    command: str,
    progress: Progress | None = None,
) -> Written:
    """Write the results of one species into a folder that is there and empty."""
    name = safe_name(fitted.table.species)
    done = Written()
    done.files["model"] = save_model(fitted.model, folder / f"{name}.npz").name
    _write_tables(fitted, folder, name, done)
    if fitted.profiles:
        done.files["curves"] = write_profiles(folder / f"{name}_curves.csv", fitted.profiles).name
        _draw_curves(fitted, options, folder, done)
    if prepared.stack is not None and options.output.map:
        _write_maps(fitted, prepared, options, folder, name, done, progress)
    (folder / "run.yaml").write_text(f"# repeat with: {command}\n{dump_yaml(options)}", encoding="utf-8")
    done.files["run"] = "run.yaml"
    (folder / "command.txt").write_text(command + "\n", encoding="utf-8")
    done.files["command"] = "command.txt"
    numbers = {**fitted.numbers, "files": done.files, "notes": [*fitted.notes, *done.notes]}
    if prepared.ledger is not None:
        numbers["records"] = prepared.ledger.as_dict().get(fitted.table.species, {})
    done.files["numbers"] = f"{name}.json"
    (folder / f"{name}.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    return done


def _write_tables(fitted: Fitted, folder: Path, name: str, done: Written) -> None:
    """Write results, sample predictions and omission, under the names that Java Maxent gives them."""
    model = fitted.model
    cloglog = {key: values["cloglog"] for key, values in fitted.numbers["thresholds"].items()}
    row = maxent_results(fitted.numbers, fitted.thresholds, cloglog)
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


def _draw_curves(fitted: Fitted, options: RunOptions, folder: Path, done: Written) -> None:
    """Draw the response curves to `plots/`."""
    from sdm.report.figures import draw_profiles

    plots = folder / "plots"
    plots.mkdir()
    names = {variable.name: safe_name(variable.name) for variable in fitted.model.variables}
    draw_profiles(fitted.profiles, plots, options.predict.scale, names)
    done.files["plots"] = "plots"


def _write_maps(
    fitted: Fitted,
    prepared: Prepared,
    options: RunOptions,
    folder: Path,
    name: str,
    done: Written,
    progress: Progress | None,
) -> None:
    """Write the map and its picture, the map of presence and absence, and the projections."""
    from sdm.report.figures import draw_map

    scale, model, stack = options.predict.scale, fitted.model, prepared.stack
    if stack is None:
        return
    common: dict[str, Any] = {
        "scale": scale,
        "clamp": options.predict.clamp,
        "threads": options.threads,
        "progress": progress,
        "tags": {"species": fitted.table.species},
    }
    raster = folder / f"{name}.tif"
    summary = predict_raster(model, stack, raster, study_area=prepared.study_area, **common)
    done.files["map"] = raster.name
    fitted.numbers["map"] = {"cells": summary.cells, "min": summary.minimum, "max": summary.maximum, "mean": summary.mean}
    done.files["picture"] = draw_map(
        raster,
        folder / f"{name}.png",
        title=fitted.table.species,
        scale=scale,
        x=fitted.table.presence_x,
        y=fitted.table.presence_y,
        test=fitted.test_xy,
    ).name
    level = threshold_value(fitted, options)
    if level is not None:
        fitted.numbers["map_threshold"] = level
        binary = folder / f"{name}_thresholded.tif"
        predict_raster(model, stack, binary, study_area=prepared.study_area, threshold=level, **common)
        done.files["thresholded map"] = binary.name
    for title, place in options.predict.projections.items():
        elsewhere = open_layers(options, [place], names=model.names)
        done.notes += [f"projection {title}: {notice}" for notice in elsewhere.notices]
        path = folder / f"{name}_{safe_name(title)}.tif"
        predict_raster(model, elsewhere, path, **common)
        done.files[f"projection {title}"] = path.name
        if level is not None:
            binary = path.with_name(f"{path.stem}_thresholded.tif")
            predict_raster(model, elsewhere, binary, threshold=level, **common)
            done.files[f"thresholded projection {title}"] = binary.name


def threshold_value(fitted: Fitted, options: RunOptions) -> float | None:
    """Return the chosen threshold on the map's scale; a number is taken as it is."""
    wanted = options.predict.threshold
    if wanted is None or isinstance(wanted, (int, float)):
        return None if wanted is None else float(wanted)
    chosen = choose(fitted.thresholds, wanted)
    if options.predict.scale == "raw":
        return chosen.raw
    if options.predict.scale == "cumulative":
        return chosen.cumulative
    return float(fitted.numbers["thresholds"][wanted][options.predict.scale])


def write_ledger(path: Path, prepared: Prepared) -> Path | None:
    """Write what became of the records of every species."""
    if prepared.ledger is None:
        return None
    return write_rows(path, prepared.ledger.rows())


def write_summary(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write the table of a run over several species; columns are the union of what they have."""
    heads = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, heads, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.10g}" if isinstance(v, (float, np.floating)) else v for k, v in row.items()} for row in rows)
    return path
