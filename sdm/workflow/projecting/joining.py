"""What is written over all scenarios: tables, maps over groups of them, figures and pages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdm.files import safe_names, to_json
from sdm.maps.projection.across import REST, STATISTICS, Design, write_agreement, write_variance
from sdm.options.definitions import RunOptions
from sdm.report.tables import write_rows
from sdm.types import Progress
from sdm.workflow.projecting.opening import Opened
from sdm.workflow.projecting.summary import Case, SpeciesProjection
from sdm.workflow.projecting.telling import projection_rows, projection_warnings


def write_projections(
    species: Sequence[SpeciesProjection],
    mapping: Sequence[dict[str, Any]],
    options: RunOptions,
    opened: Opened,
    place: Path,
    stage: Path,
    progress: Progress | None,
) -> str | None:
    """Write tables, maps over scenarios, figures and pages into a stage; return the name of the index, if there is one.

    Maps of single scenarios are in `place`.
    """
    write_rows(stage / "mapping.csv", list(mapping))
    for one in species:
        _write_across(one, options, opened, place, stage, progress)
    columns = dict.fromkeys(name for one in species for name in one.fields)
    rows = [row for one in species for row in projection_rows(one)]
    heads = ["species", "scenario", *columns, "measure", "of", "value", "unit"]
    write_rows(stage / "scenarios.csv", [{head: row.get(head, "") for head in heads} for row in rows])
    for one in species:
        one.warnings = projection_warnings(one)
        one.files |= {"table": "scenarios.csv", "mapping": "mapping.csv"}
        (stage / f"{one.page}.json").write_text(to_json(one.numbers) + "\n", encoding="utf-8")
    return None


def _write_across(
    one: SpeciesProjection, options: RunOptions, opened: Opened, place: Path, stage: Path, progress: Progress | None
) -> None:
    """Write what scenarios say together: by groups, and by source of variance."""
    cases = one.scenarios
    if len(cases) < 2:
        return
    (stage / "across").mkdir(exist_ok=True)
    common: dict[str, Any] = {"threads": options.threads, "progress": progress}
    groups = one.groups()
    titles = ["_".join(shared.values()) or "all" for shared, _ in groups]
    names = safe_names(titles)
    for title, (shared, chosen) in zip(titles, groups):
        maps, present = _maps(one, chosen, place)
        wanted = [*STATISTICS, *(["agreement"] if present else [])]
        files = {key: f"across/{one.page}_{names[title]}_{key}.tif" for key in wanted}
        tags = {"species": one.name, "over": ", ".join(one.over), "group": title}
        places = {key: stage / name for key, name in files.items()}
        numbers = write_agreement(opened.grid, maps, present, places, tags, **common)
        one.across.append(
            {
                "over": one.over,
                "fields": shared,
                "title": title,
                "cases": len(chosen),
                "numbers": numbers,
                "files": files,
            }
        )
    design = Design.of([case.numbers["fields"] for case in cases])
    if len(design.levels) > 1:
        sources = [*design.levels, REST]
        safe_of = safe_names(sources)
        files = {source: f"across/{one.page}_variance_{safe_of[source]}.tif" for source in sources}
        places = {source: stage / name for source, name in files.items()}
        maps, _ = _maps(one, cases, place)
        found = write_variance(opened.grid, maps, design, places, {"species": one.name}, **common)
        for row in found["sources"]:
            row["file"] = files[row["source"]]
        one.variance = found
    if not any((stage / "across").iterdir()):
        (stage / "across").rmdir()


def _maps(one: SpeciesProjection, cases: Sequence[Case], place: Path) -> tuple[list[Path], list[Path]]:
    """Return the maps of suitability of cases, and those of presence by the first rule."""
    maps = [place / case.numbers["files"]["suitability"] for case in cases]
    rule = one.rule
    return maps, [] if rule is None else [place / case.numbers["files"]["presence"][rule] for case in cases]
