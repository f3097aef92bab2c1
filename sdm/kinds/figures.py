"""The figures of stored results of any kind, drawn again for print."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from sdm.kinds.registry import page_of
from sdm.kinds.results import read_results
from sdm.options.kinds import read_width
from sdm.report.paper import DPI, Paper
from sdm.report.projection import find_projections
from sdm.report.results import GROUP, SCENARIOS, Results, find_results, number


def draw_figures(places: Iterable[Path], formats: Sequence[str]) -> list[Path]:
    """Draw the figures of stored results of any kind again, in some formats; return their files.

    The places are as for `make_pages`. Figures have the resolution and the width of their run. What results do not hold
    is not drawn: the outline of a study area on a map, the lines between blocks, responses to two variables at a time,
    and the pictures of a path.
    """
    drawn: list[Path] = []
    for place in map(Path, places):
        found = [read_results(path) for path in find_results(place)]
        folders = dict.fromkeys([place, *(results.folder for results in found)]) if place.is_dir() else {}
        found += [read_results(path) for folder in folders for path in find_projections(folder / SCENARIOS)]
        group = place / GROUP / f"{GROUP}.json"
        if group.is_file() and all(results.folder != group.parent for results in found):
            found.append(read_results(group))
        for results in found:
            page_of(results).draw(results, _paper(results, formats))
            for folder in (results.folder, results.folder / "plots"):
                drawn += [path for path in sorted(folder.glob("*")) if path.suffix[1:] in formats]
    return list(dict.fromkeys(drawn))


def _paper(results: Results, formats: Sequence[str]) -> Paper:
    """Return what the figures of stored results are made for."""
    dpi, width = number(results.option("output.dpi")), results.option("output.figure_width")
    return Paper(tuple(formats), int(dpi or DPI), None if width is None else read_width(str(width)), pictures_as=())
