"""Pages, metadata and printed figures of stored results of any kind."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from sdm.kinds.registry import page_of, read_results
from sdm.options.kinds import read_width
from sdm.progress.telling import step_by_step
from sdm.report.model_figures import write_preview
from sdm.report.pages.frame import page_text
from sdm.report.pages.index import COLUMNS, write_index, write_projection_index
from sdm.report.pages.metadata import write_metadata
from sdm.report.paper import DPI, Paper
from sdm.report.projection import PROJECTION_KIND, find_projections
from sdm.report.results import GROUP, SCENARIOS, Results, Row, find_results, number, read_rows
from sdm.report.summary import SUMMARY
from sdm.storage.files import write_text
from sdm.types import Progress


def make_page(results: Results) -> str:
    """Return the page of a model."""
    return page_text(results, page_of(results))


def write_page(results: Results) -> Path:
    """Write the page of a model into its folder; replace an existing one."""
    return write_text(results.page, make_page(results), overwrite=True)


def write_all_metadata(place: Path) -> list[Path]:
    """Write the metadata of all models of a results folder."""
    return [path for results in _results_in(place) if results.data_type for path in write_metadata(results)]


def draw_figures(places: Iterable[Path], formats: Sequence[str]) -> list[Path]:
    """Draw the figures of stored results again, in some formats; return their files.

    Places are as in `make_pages`. Figures have the resolution and the width of their run. Figures omit content that is
    not stored: the boundary of a study area, the boundaries of blocks, responses to two variables, and paths.
    """
    drawn: list[Path] = []
    for place in map(Path, places):
        all_results = _results_in(place)
        folders = dict.fromkeys([place, *(results.folder for results in all_results)]) if place.is_dir() else {}
        all_results += [read_results(path) for folder in folders for path in find_projections(folder / SCENARIOS)]
        for results in [*all_results, *_group_beside(place, all_results)]:
            page_of(results).draw(results, _paper(results, formats))
            for folder in (results.folder, results.folder / "plots"):
                drawn += [path for path in sorted(folder.glob("*")) if path.suffix[1:] in formats]
    return list(dict.fromkeys(drawn))


def _paper(results: Results, formats: Sequence[str]) -> Paper:
    """Return the figure settings of stored results."""
    dpi, width = number(results.option("output.dpi")), results.option("output.figure_width")
    return Paper(tuple(formats), int(dpi or DPI), None if width is None else read_width(str(width)), pictures_as=())


def _results_in(place: Path) -> list[Results]:
    """Return the results of a place."""
    return [read_results(path) for path in find_results(place)]


def _group_beside(place: Path, all_results: Sequence[Results]) -> list[Results]:
    """Return the results of the group of a folder, unless they are in the list."""
    group = place / GROUP / f"{GROUP}.json"
    return [read_results(group)] if group.is_file() and all(one.folder != group.parent for one in all_results) else []


def make_pages(places: Iterable[Path], planned: Callable[[Path], int | None] | None = None) -> list[Path]:
    """Write the pages of results of any kind, and the index of every run over several species.

    The places are results folders of `sdm fit`, `sdm classify`, `sdm joint` or `sdm project`, or model files or numbers
    in them. Projections in the folder `scenarios` and the group in the folder `group` are included. `planned` returns
    the number of species of a run, if it is known.
    """
    written = []
    for place in map(Path, places):
        all_results = _results_in(place)
        previews = [None if results.kind == PROJECTION_KIND else write_preview(results) for results in all_results]
        written += [write_page(results) for results in all_results]
        if not place.is_dir():
            continue
        for folder in dict.fromkeys([place, *(results.folder for results in all_results)]):
            written += projection_pages(folder / SCENARIOS)
        written += [write_page(group) for group in _group_beside(place, all_results)]
        if sum(results.kind == PROJECTION_KIND for results in all_results) > 1:
            written.append(write_projection_index(place))
        elif any(results.folder != place for results in all_results):
            n_planned = None if planned is None else planned(place)
            written.append(write_index(place, n_planned, _rows(place, list(zip(all_results, previews)))))
    return written


def projection_pages(folder: Path, progress: Progress | None = None) -> list[Path]:
    """Write the pages of the projections in a folder, and their index where there are several."""
    steps = step_by_step(find_projections(folder), progress, "pages")
    pages = [write_page(read_results(path)) for path in steps]
    return [*pages, write_projection_index(folder)] if len(pages) > 1 else pages


def _rows(folder: Path, pairs: Sequence[tuple[Results, Path | None]]) -> list[Row]:
    """Return the rows of the summary with the page and the preview of every species; without a summary, rows from the
    results."""
    shown, new_rows = {}, []
    for results, preview in pairs:
        inside = results.folder.relative_to(folder).as_posix()
        page, small = (path and path.relative_to(folder).as_posix() for path in (results.page, preview))
        shown[inside] = {"page": page or "", "preview": small or ""}
        numbers = {**results.numbers, **(results.tree("cross_validation").get("mean") or {})}
        values = {
            key: str(numbers[key]) for key in ("status", *COLUMNS) if isinstance(numbers.get(key), (str, int, float))
        }
        new_rows.append({"species": results.title, **values, "folder": inside})
    summary = folder / SUMMARY
    rows = read_rows(summary) if summary.is_file() else new_rows
    return [{**row, **shown.get(row.get("folder", ""), {})} for row in rows]
