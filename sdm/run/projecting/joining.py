"""Results over all scenarios: tables, maps of groups of scenarios, figures and pages."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from sdm.maps.gis.package import PACKAGE, add_ranges
from sdm.maps.gis.styles import style_folder
from sdm.maps.projection.across import REST, STATISTICS, Design, write_agreement, write_variance
from sdm.options.definitions import RunOptions
from sdm.progress.telling import step_by_step
from sdm.report.paper import paper_of
from sdm.report.projection import StoredCase
from sdm.report.tables import write_rows
from sdm.run.projecting.opening import Opened
from sdm.run.projecting.telling import COLUMNS, SpeciesProjection, field_column, projection_rows, projection_warnings
from sdm.storage.files import remove_empty, safe_name, safe_names, to_json
from sdm.types import Numbers, Progress


def write_projections(
    species: Sequence[SpeciesProjection],
    mapping: Sequence[Numbers],
    options: RunOptions,
    opened: Opened,
    place: Path,
    stage: Path,
    progress: Progress | None,
) -> None:
    """Write tables, maps over scenarios and figures into a stage; maps of single scenarios are in `place`."""
    write_rows(stage / "mapping.csv", list(mapping))
    taken: set[str] = set()
    for one in species:
        _write_across(one, options, opened, stage, progress, taken)
    columns = dict.fromkeys(field_column(name) for one in species for name in one.fields)
    rows = [row for one in species for row in projection_rows(one)]
    heads = [*COLUMNS[:2], *columns, *COLUMNS[2:]]
    write_rows(stage / "scenarios.csv", [{head: row.get(head, "") for head in heads} for row in rows])
    if options.output.gpkg:
        for one in step_by_step(species, progress, "ranges as polygons"):
            _add_to_package(one, place, stage)
    for one in step_by_step(species, progress, "pictures"):
        one.warnings, one.notices = projection_warnings(one), list(opened.notices)
        one.files |= {"table": "scenarios.csv", "mapping": "mapping.csv"}
        if options.output.report:
            from sdm.report.figures.projection.shifts import draw_projection

            pictures = draw_projection(place, one.numbers, stage, one.page, paper_of(options.output))
            one.files["pictures"] = pictures
        (stage / f"{one.page}.json").write_text(to_json(one.numbers) + "\n", encoding="utf-8")


def _add_to_package(one: SpeciesProjection, place: Path, stage: Path) -> None:
    """Add the range of a species in the reference and every scenario, by every threshold, to the common GeoPackage."""
    names = [name for case in one.cases for name in case.numbers["files"]["presence"].values()]
    rasters = {Path(name).with_suffix("").as_posix().replace("/", "_"): place / name for name in names}
    if add_ranges(rasters, stage / PACKAGE, {"species": one.name}):
        one.files["package"] = PACKAGE


def _write_across(
    one: SpeciesProjection,
    options: RunOptions,
    opened: Opened,
    stage: Path,
    progress: Progress | None,
    taken: set[str],
) -> None:
    """Write the results over scenarios: groups, and sources of variance. `taken` are existing file names."""
    cases = one.scenarios
    if len(cases) < 2:
        return
    (stage / "across").mkdir(exist_ok=True)
    common: Numbers = {"threads": options.threads, "progress": progress}
    for shared, chosen in one.groups():
        title = "_".join(shared.values()) or "all"
        maps, present = _maps(chosen)
        titles = [*STATISTICS, *(["agreement"] if present else [])]
        files = _free_files(f"{one.page}_{title}", titles, taken)
        tags = {"species": one.name, "scenario": title, "over": ", ".join(one.over), "group": title}
        places = {key: stage / name for key, name in files.items()}
        numbers = write_agreement(opened.grid, maps, present, places, tags, **common)
        group = {"over": one.over, "fields": shared, "title": title}
        one.across.append({**group, "cases": len(chosen), "numbers": numbers, "files": files})
    design = Design.of([case.fields for case in cases])
    if len(design.levels) > 1:
        sources = [*design.levels, REST]
        files = _free_files(f"{one.page}_variance", sources, taken)
        places = {source: stage / name for source, name in files.items()}
        maps, _ = _maps(cases)
        variance = write_variance(opened.grid, maps, design, places, {"species": one.name}, **common)
        for row in variance["sources"]:
            row["file"] = files[row["source"]]
        one.variance = variance
    style_folder(stage / "across")
    remove_empty([stage / "across"])


def _free_files(head: str, ends: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Return file names in the folder of maps over scenarios with a common prefix, none of which is `taken`; add them
    to `taken`."""
    safe_of = safe_names(ends)
    for k in itertools.count(1):
        begin = safe_name(head if k == 1 else f"{head}_{k}")
        files = {end: f"across/{begin}_{safe_of[end]}.tif" for end in ends}
        names = {file.casefold() for file in files.values()}
        if not names & taken:
            break
    taken |= names
    return files


def _maps(cases: Sequence[StoredCase]) -> tuple[list[Path], list[Path]]:
    """Return the suitability maps of cases, and their presence maps by the first threshold, if all cases have them."""
    maps = [path for case in cases if (path := case.raster("suitability"))]
    present = [path for case in cases if (path := case.raster("presence"))]
    return maps, present if len(present) == len(cases) else []
