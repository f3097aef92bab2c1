"""Common output files of all models: files that repeat the run, record log, numbers, and page."""

from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING

from sdm.errors import HIDDEN, hide_secrets
from sdm.kinds.assessing import AssessedModel
from sdm.kinds.assessment_tables import fold_rows
from sdm.kinds.model_task import AnyModelTask, write_artefacts
from sdm.kinds.registry import read_results, results_class
from sdm.kinds.task import AnyTask, Destination, Measured, ModelMaps, ModelResult, Prepared
from sdm.maps.gis.package import PACKAGE, add_ranges
from sdm.maps.gis.styles import style_folder
from sdm.maps.ranges import write_points
from sdm.options.applies import applies
from sdm.options.definitions import RunOptions
from sdm.options.reading import dump_yaml, leaves
from sdm.progress.telling import going_on
from sdm.report.model_figures import write_figures, write_preview
from sdm.report.paper import paper_of
from sdm.report.tables import write_frame, write_rows
from sdm.storage.files import safe_name, to_json
from sdm.types import Numbers, Progress

if TYPE_CHECKING:
    import pandas as pd


def write_model(
    task: AnyTask,
    measured: Measured,
    maps: ModelMaps,
    prepared: Prepared,
    options: RunOptions,
    command: str,
    also: Callable[[Destination], None],
    progress: Progress | None = None,
) -> ModelResult:
    """Write the results of one model into the folder of its maps; `also` writes more files."""
    name, folder = safe_name(measured.name), maps.folder
    to = Destination(folder, options, {"run": "run.yaml", "command": "command.txt", **maps.files}, progress)
    files = to.files
    measured.numbers |= maps.numbers
    files.update(write_artefacts(task.artefacts, measured, folder, name))
    notes = [*measured.notes, *task.write(measured, prepared, to)]
    write_run(task, task.repeat(options, measured.name), folder, command)
    numbers = {"kind": task.kind, **measured.numbers, "versions": versions(), "files": files, "notes": notes}
    numbers["notices"] = list(prepared.notices)
    numbers["warnings"] = warnings = [*prepared.warnings, *measured.numbers.get("warnings", [])]
    if prepared.single:
        task.write_shared(prepared, to)
    records = task.records(prepared, measured.name)
    if records is not None:
        files["records"] = write_rows(folder / "records.csv", records[0]).name
        numbers["records"] = records[1]
    write_fate(prepared, prepared.fate_of(measured.name), to)
    also(to)
    results = results_class(task.kind)(folder, name, task.kind, numbers, options.model_dump(), "", "")
    with going_on(progress, "pictures"):
        files.update(write_figures(results, paper_of(options.output)))
    if options.output.gpkg:
        _add_to_package(measured, prepared, to)
    style_folder(folder)
    files["numbers"] = f"{name}.json"
    if options.output.report:
        files["page"] = f"{name}.html"
        preview = write_preview(results)
        if preview is not None:
            files["preview"] = preview.name
    if options.output.metadata:
        from sdm.report.pages.metadata import metadata_files

        files.update(metadata_files(name))
    write_numbers(numbers, to)
    if options.output.metadata:
        from sdm.report.pages.metadata import write_metadata

        write_metadata(read_results(folder / files["numbers"]))
    counts = None if records is None else records[1]
    return ModelResult(measured.name, task.kind, folder, measured.numbers, files, notes, warnings, records=counts)


def write_numbers(numbers: Numbers, to: Destination) -> None:
    """Write the numbers of a model, and its page if requested."""
    place = to.folder / to.files["numbers"]
    place.write_text(to_json(numbers) + "\n", encoding="utf-8")
    if to.options.output.report:
        from sdm.kinds.pages import write_page

        write_page(read_results(place))


def _add_to_package(measured: Measured, prepared: Prepared, to: Destination) -> None:
    """Add the folds, and the ranges of thresholded maps with their centroids, to the GeoPackage of a model."""
    import pandas as pd

    folder, files, crs = to.folder, to.files, None if prepared.stack is None else prepared.stack.crs
    folds = fold_rows(measured) if isinstance(measured, AssessedModel) else []
    if folds:
        table = pd.DataFrame(folds).rename(columns={"X": "x", "Y": "y"})
        files["package"] = write_points(table, folder / PACKAGE, "folds", crs).name
    names = {key: str(file) for key, file in files.items() if key.startswith("thresholded")}
    rasters = {Path(file).stem: folder / file for file in names.values()}
    if add_ranges(rasters, folder / PACKAGE, {"species": measured.name}):
        files["package"] = PACKAGE


def write_fate(prepared: Prepared, fate: "pd.DataFrame | None", to: Destination) -> None:
    """Write the record log, and register the names of the files."""
    if fate is not None:
        to.files["fate of records"] = write_frame(to.folder / "records_fate.csv", fate).name
        if to.options.output.gpkg:
            to.files["package"] = write_points(fate, to.folder / PACKAGE, "records", prepared.fate_crs).name


def write_run(task: AnyModelTask, options: RunOptions, folder: Path, command: str, verb: str | None = None) -> None:
    """Write the run file that repeats the run, and the command."""
    head = f"# Repeat with: {verb or task.command} run.yaml -o FOLDER\n"
    names = {leaf.dotted for leaf in leaves() if applies(leaf, task.options_of)}
    text = dump_yaml(options.model_copy(update={"kind": task.options_of}), names)
    if HIDDEN in text:
        head += (
            f"# Secrets of addresses are not stored: write them in place of {HIDDEN}, or as environment variables such "
            "as ${TOKEN}, or give\n# the layers again: "
            f"{verb or task.command} run.yaml LAYERS -o FOLDER\n"
        )
    (folder / "run.yaml").write_text(head + text, encoding="utf-8")
    (folder / "command.txt").write_text(hide_secrets(command) + "\n", encoding="utf-8")


@cache
def versions() -> dict[str, str]:
    """Return the versions of software that results depend on."""
    return {"python": python_version(), **{name: version(name) for name in ("numpy", "numba", "rasterio")}}
