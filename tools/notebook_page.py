"""`python -m tools.notebook_page` runs the notebooks, and writes each with its results as a page of the site."""

import ast
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOTEBOOKS = {
    "first_model": "notebook",
    "published_figure": "notebook_figure",
    "scikit_learn": "notebook_scikit_learn",
}
"""The notebooks of `docs/notebooks`, and the page of each."""
PICTURES = ROOT / "docs" / "pictures"
NOTE = (
    "This page is the notebook `docs/notebooks/{notebook}.ipynb` with its results. To run it, type `sdm example first` "
    "in a terminal, start Jupyter in the same folder (`pip install jupyterlab 'sdm-maxent[xarray]'`), and write "
    '`data = Path("first")` in the first cell.'
)


def cells(notebook: str) -> list[tuple[str, str]]:
    """Return the kind and the text of every cell of a notebook."""
    tree = json.loads((ROOT / "docs" / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in tree["cells"]]


def write_page(notebook: str) -> None:
    """Run a notebook in a folder of its own, and write the page and its pictures."""
    from matplotlib import pyplot

    parts, names, before = list[str](), dict[str, Any](__name__="__main__"), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "docs" / "notebooks"
        place.mkdir(parents=True)
        (Path(folder) / "sample_data").symlink_to(ROOT / "sample_data")
        os.chdir(place)
        try:
            for number, (kind, text) in enumerate(cells(notebook)):
                if kind == "markdown":
                    parts += [text, NOTE.replace("{notebook}", notebook)] if not number else [text]
                    continue
                shown = run_cell(text, names)
                parts.append(f"```python\n{text.rstrip().removesuffix(';')}\n```")
                if shown:
                    parts.append(f"```text\n{shown}\n```")
                parts += list(figures(f"{NOTEBOOKS[notebook]}_{number}"))
        finally:
            os.chdir(before)
            pyplot.close("all")
    page = ROOT / "docs" / "tutorials" / f"{NOTEBOOKS[notebook]}.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def run_cell(text: str, names: dict[str, Any]) -> str:
    """Run a cell; return what it prints, and the value of its last line, as a notebook shows them."""
    import pandas as pd

    body = ast.parse(text)
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) and not text.rstrip().endswith(";") else None
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pd.option_context("display.width", 110, "display.max_columns", 8):
        exec(compile(body, "a cell", "exec"), names)  # noqa: S102
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "a cell", "eval"), names)  # noqa: S307
            if value is not None and not hasattr(value, "figure"):
                print(_short(repr(value)))
    return said.getvalue().rstrip()


def _short(text: str, most: int = 24) -> str:
    lines = [line.rstrip().replace(str(Path.cwd()) + "/", "") for line in text.splitlines()]
    return "\n".join(lines if len(lines) <= most else [*lines[:most], "…"])


def figures(cell: str) -> Iterator[str]:
    """Save the figures that a cell drew under its name, and yield their links."""
    from matplotlib import pyplot

    for k in pyplot.get_fignums():
        name = f"{cell}_{k}.png" if len(pyplot.get_fignums()) > 1 else f"{cell}.png"
        pyplot.figure(k).savefig(PICTURES / name, dpi=120, metadata={"Software": None}, bbox_inches="tight")
        yield f"![The figure of the cell](../pictures/{name})"
    pyplot.close("all")


if __name__ == "__main__":
    for name in NOTEBOOKS:
        write_page(name)
