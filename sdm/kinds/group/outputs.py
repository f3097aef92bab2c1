"""Everything that a run leaves behind of the group of its species: the file, tables, pictures, maps and a page."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdm.kinds.artefacts import write_artefacts
from sdm.kinds.group.kind import GroupTask
from sdm.kinds.group.tables import GROUP_TABLES, strength_rows
from sdm.kinds.results import read_results
from sdm.kinds.task import Files
from sdm.kinds.writing import versions, write_run
from sdm.maps.gis.styles import style_folder
from sdm.maps.group import axis_title, write_axis_maps
from sdm.models.extrapolation import BOTH
from sdm.models.file import save_model
from sdm.models.group import GroupModel
from sdm.options.definitions import RunOptions
from sdm.progress.telling import going_on
from sdm.report.results import GROUP, read_rows
from sdm.storage.files import safe_names, to_json
from sdm.types import Progress

if TYPE_CHECKING:
    from sdm.data.rasters.area import StudyArea
    from sdm.data.rasters.stack import Stack

FEW_SPECIES = 5  # below which axes are hardly those of a group


def write_group(
    model: GroupModel,
    stack: "Stack | None",
    folder: Path,
    files: Files,
    options: RunOptions,
    progress: Progress | None = None,
    *,
    folders: Mapping[str, str] | None = None,
    area: "StudyArea | None" = None,
    command: str = "",
) -> None:
    """Write a group of species into a folder that is there and empty, and note the names of its files.

    Parameters
    ----------
    stack
        The layers; None where there are none to map.
    folder
        Such as `group/` in the folder of a run over several species.
    files
        Gets the names of the files, by what they are.
    folders
        The folder of every species beside this one, which the page links to; those of a run that has these species and
        no others, unless given.
    area
        The study area, outside which maps have no data.
    command
        What the user typed.
    """
    files |= {"run": "run.yaml", "command": "command.txt"}
    files["model"] = save_model(model, folder / f"{GROUP}.npz").name
    with going_on(progress, "axes of the group"):
        files |= write_artefacts(GROUP_TABLES, model, folder)
        _draw(folder, files, options)
    if options.output.map and stack is not None:
        _write_maps(model, stack, folder, files, options, area, progress)
    style_folder(folder)
    write_run(GroupTask(), options, folder, command)
    numbers = {"kind": model.kind, **group_numbers(model), "versions": versions(), "files": files}
    numbers["folders"] = dict(folders or safe_names(model.species))
    numbers["warnings"] = group_warnings(model)
    files["numbers"] = f"{GROUP}.json"
    if options.output.report:
        files["page"] = f"{GROUP}.html"
    (folder / files["numbers"]).write_text(to_json(numbers) + "\n", encoding="utf-8")
    if options.output.report:
        from sdm.kinds.pages import write_page

        write_page(read_results(folder / files["numbers"]))


def group_numbers(model: GroupModel) -> dict[str, Any]:
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
        **{key: model.meta.get(key) for key in ("status", "gap", "version", "seed")},
        "spatial": bool(model.meta.get("spatial", False)),
    }


def group_warnings(model: GroupModel) -> list[str]:
    """Return what could mislead whoever reads the axes of a group."""
    found, count = [], len(model.species)
    if count < FEW_SPECIES:
        found.append(
            f"The group has {count} species: axes of so few are hardly more than the responses of these species "
            "themselves, and tell little about others"
        )
    if model.meta.get("spatial"):
        found.append(
            "The features have functions of place among them: the axes are for mapping within the region only, not for "
            "other places or times, and a map of an axis may show where people looked"
        )
    if not model.rank:
        found.append("No axis entered at this strength of the penalty: the species share nothing in this model")
    rows = strength_rows(model.meta)
    chosen = [k for k, row in enumerate(rows) if row["chosen"] is True]
    if len(rows) > 1 and chosen and rows[chosen[0]]["held_out"] != "" and chosen[0] in (0, len(rows) - 1):
        end, more = ("weakest", "weaker") if chosen[0] == 0 else ("strongest", "stronger")
        found.append(
            f"The chosen strength, {rows[chosen[0]]['strength']:g}, is the {end} that was tried: a {more} penalty may "
            "do better"
        )
    return found


def _draw(folder: Path, files: Files, options: RunOptions) -> None:
    """Draw the biplot, the curves and the path from their tables, as the page does."""
    from sdm.kinds.group.charts import curve_charts, place_bars, stored_biplot
    from sdm.report.figures.axes import draw_biplot, draw_strengths
    from sdm.report.figures.charts import draw_bars, draw_panels
    from sdm.report.paper import paper_of
    from sdm.report.results import column

    paper = paper_of(options.output)
    tables = {key: read_rows(folder / files[key]) if key in files else [] for key in ("axes", "species axes", "sites")}
    explained = column(tables["axes"], "explained")
    if len(explained) == 1:
        files["biplot"] = draw_bars(place_bars(tables["species axes"]), folder / "biplot.png", paper).name
    elif explained:
        chart = stored_biplot(tables["sites"], tables["species axes"], explained)
        files["biplot"] = draw_biplot(chart, folder / "biplot.png", paper).name
    if "axis curves" in files and (charts := curve_charts(read_rows(folder / files["axis curves"]))):
        several = len(explained) > 1
        files["curves picture"] = draw_panels(charts, folder / "axis_curves.png", legend=several, paper=paper).name
    if "path" in files:
        files["path picture"] = draw_strengths(read_rows(folder / files["path"]), folder / "path.png", paper).name


def _write_maps(
    model: GroupModel,
    stack: "Stack",
    folder: Path,
    files: Files,
    options: RunOptions,
    area: "StudyArea | None",
    progress: Progress | None,
) -> None:
    """Write the maps of the axes, one by one and as colours, with their pictures."""
    from sdm.report.figures.axes import draw_axes, draw_colours
    from sdm.report.paper import paper_of

    word = options.predict.extrapolation
    made = write_axis_maps(
        model,
        stack,
        folder,
        extrapolation="clamp" if word in BOTH else word,
        study_area=area,
        threads=options.threads,
        progress=progress,
    )
    if made.colours is None:
        return
    titles = [axis_title(model, k) for k in range(len(made.axes))]
    files |= {f"map of axis {k + 1}": one.path.name for k, one in enumerate(made.axes)}
    files["colours"] = made.colours.name
    with going_on(progress, "pictures of the axes"):
        paper = paper_of(options.output)
        picture = draw_axes(dict(zip(titles, (one.path for one in made.axes))), folder / "axes.png", paper)
        files["axes picture"] = picture.name
        files["colours picture"] = draw_colours(made.colours, titles[:3], folder / "axes_rgb.png", paper).name
