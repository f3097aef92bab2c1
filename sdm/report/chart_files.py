"""Charts as files: SVG as the page shows it, and drawn for print in other formats."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sdm.report.charts import Chart
from sdm.report.pages.drawing.svg import svg_file
from sdm.report.paper import Paper
from sdm.types import Numbers

Files = Numbers  # names of files in a folder, by what they are


def write_charts(charts: Mapping[str, Sequence[Chart]], folder: Path, paper: Paper) -> None:
    """Write charts by their names into a folder that is there; several charts of one name stand side by side."""
    for name, parts in charts.items():
        path = folder / f"{name}.svg"
        path.write_text(svg_file(parts), encoding="utf-8")
        if paper.of_charts:
            from sdm.report.figures.charts import draw_charts

            draw_charts(parts, path, paper)


def make_plots(folder: Path, files: Files) -> Path:
    """Return the folder of figures in a folder of results, which is there then, and note its name."""
    files["plots"] = "plots"
    (folder / "plots").mkdir(exist_ok=True)
    return folder / "plots"
