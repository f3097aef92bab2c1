"""Results that no page names, and whose age nobody is told: `python -m benchmarks check-docs` lists them too."""

from pathlib import Path

from benchmarks.tools.freshness import ROOT, check_figures


def results_of_no_page(root: Path = ROOT) -> list[str]:
    """Return the names of results that belong to no benchmark, and to no results file, that a page names."""
    folder = root / "benchmarks" / "results"
    named = [figures.name for figures in check_figures(root)]
    every = sorted({path.stem for end in ("json", "csv") for path in folder.glob(f"*.{end}")})
    return [stem for stem in every if not any(stem == name or stem.startswith(f"{name}_") for name in named)]


def main(root: Path = ROOT) -> int:
    """Print them; return 1 if there are any."""
    found = results_of_no_page(root)
    if found:
        print(f"On no page: {', '.join(found)}. Name the benchmark where its figures are shown, or remove the results.")
    return int(bool(found))
