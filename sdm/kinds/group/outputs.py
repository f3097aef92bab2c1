"""Outputs of the group of a run: model file, tables, figures, maps and a page."""

from collections.abc import Sequence
from pathlib import Path

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import Stack
from sdm.kinds.group.kind import GroupTask
from sdm.kinds.group.tables import CHART_FILES, GROUP_TABLES, group_charts, strength_rows
from sdm.kinds.model_task import write_artefacts
from sdm.kinds.task import Destination, Files
from sdm.kinds.writing import versions, write_numbers, write_run
from sdm.maps.gis.styles import style_folder
from sdm.maps.passes import MapPass
from sdm.maps.several import COLOURS, axis_title, write_axis_maps
from sdm.models.extrapolation import BOTH
from sdm.models.file import save_model
from sdm.models.group import GroupModel
from sdm.progress.telling import going_on
from sdm.report.model_figures import write_charts
from sdm.report.paper import Paper, paper_of
from sdm.report.results import GROUP, Results
from sdm.storage.files import safe_names
from sdm.types import Numbers

FEW_SPECIES = 5  # fewest species for a group


def write_group(
    model: GroupModel,
    stack: Stack | None,
    to: Destination,
    *,
    area: StudyArea | None = None,
    command: str = "",
) -> None:
    """Write a group of species into an existing empty folder, and register the names of its files.

    Parameters
    ----------
    stack
        The layers; None without maps.
    to
        A folder such as `group/` in the folder of a run over several species.
    area
        The study area; cells outside are nodata.
    command
        The command as typed.
    """
    folder, files, options = to.folder, to.files, to.options
    files |= {"run": "run.yaml", "command": "command.txt"}
    files["model"] = save_model(model, folder / f"{GROUP}.npz").name
    with going_on(to.progress, "axes of the group"):
        files |= write_artefacts(GROUP_TABLES, model, folder)
        files |= draw_group(Results(folder, GROUP, GROUP, {"files": files}, {}, "", ""), paper_of(options.output))
    if options.output.map and stack is not None:
        _write_maps(model, stack, to, area)
    style_folder(folder)
    write_run(GroupTask(), options, folder, command)
    numbers = {"kind": model.kind, **group_numbers(model), "versions": versions(), "files": files}
    numbers["folders"] = safe_names(model.species)  # folders of the species, to which the page links
    numbers["warnings"] = group_warnings(model)
    files["numbers"] = f"{GROUP}.json"
    if options.output.report:
        files["page"] = f"{GROUP}.html"
    write_numbers(numbers, to)


def group_numbers(model: GroupModel) -> Numbers:
    """Return the main numbers of a group (JSON values)."""
    count = len(model.species)
    return {
        "title": f"{count} species" if count != 1 else model.species[0],
        "species": list(model.species),
        "variables": list(model.names),
        "features": len(model.terms) + len(model.shapes),
        "sites": model.n_domain,
        "records_used": model.meta.get("presences", float(model.records.sum())),
        "rank": model.rank,
        "supported": model.meta.get("supported"),
        "explained": model.explained.tolist(),
        "strength": model.strength,
        "penalty": model.penalty,
        **{key: model.meta.get(key) for key in ("status", "gap", "certificate", "version", "seed")},
        "spatial": bool(model.meta.get("spatial", False)),
    }


def group_warnings(model: GroupModel) -> list[str]:
    """Return warnings about the interpretation of the axes."""
    warnings, count = [], len(model.species)
    if count < FEW_SPECIES:
        warnings.append(
            f"The group has only {count} species: the axes describe the responses of these species and may not apply "
            "to others"
        )
    if model.meta.get("spatial"):
        warnings.append(
            "The model has spatial features: the axes apply to this region only, and their maps can include the "
            "sampling effort"
        )
    if not model.rank:
        warnings.append("The model has no axes at this strength of the penalty: the species share no response")
    rows = strength_rows(model.meta)
    chosen = [k for k, row in enumerate(rows) if row["chosen"] is True]
    if len(rows) > 1 and chosen and rows[chosen[0]]["held_out"] != "" and chosen[0] in (0, len(rows) - 1):
        end, more = ("weakest", "weaker") if chosen[0] == 0 else ("strongest", "stronger")
        warnings.append(
            f"The selected strength, {rows[chosen[0]]['strength']:g}, is the {end} of the compared ones: a {more} "
            "penalty may have a smaller loss"
        )
    return warnings


def draw_group(results: Results, paper: Paper) -> Files:
    """Draw the biplot, the curves and the path of strengths from their tables; return the names of the files."""
    charts, strengths = group_charts(results), results.table("path")
    write_charts(charts, results.folder, paper)
    files: Files = {key: f"{name}.svg" for name, key in CHART_FILES.items() if name in charts}
    if strengths:
        from sdm.report.figures.paths import draw_strengths

        files["path picture"] = draw_strengths(strengths, results.folder / "path.png", paper).name
    return files


def _write_maps(model: GroupModel, stack: Stack, to: Destination, area: StudyArea | None) -> None:
    """Write the maps of the axes, separately and as a colour composite, with their figures."""
    folder, files, options, progress = to.folder, to.files, to.options, to.progress
    word = options.predict.extrapolation
    how = MapPass("clamp" if word in BOTH else word, area, options.threads, progress)
    summaries = write_axis_maps(model, stack, folder, how)
    if not summaries:
        return
    titles = [axis_title(model, k) for k in range(len(summaries))]
    files |= {f"map of axis {k + 1}": one.path.name for k, one in enumerate(summaries)}
    files["colours"] = COLOURS
    with going_on(progress, "pictures of the axes"):
        files |= draw_axis_maps(folder, files, titles, paper_of(options.output))


def draw_axis_maps(folder: Path, files: Files, titles: Sequence[str], paper: Paper) -> Files:
    """Draw the maps of the axes, separately and as a colour composite; return the names of the files."""
    from sdm.report.figures.maps.drawn import draw_axes, draw_colours

    maps = {title: folder / files[f"map of axis {k}"] for k, title in enumerate(titles, start=1)}
    each = draw_axes(maps, folder / "axes.png", paper)
    together = draw_colours(folder / files["colours"], titles[:3], folder / "axes_rgb.png", paper)
    return {"axes picture": each.name, "colours picture": together.name}
