"""Pictures of README: the bar chart of run times beside other programs, and the badges."""

import json
import re
import tomllib
from pathlib import Path

from sdm.report.figures.style import ACCENT, GREY, INK
from tools.drawings import save

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "benchmarks" / "results" / "peers.json"
BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{name}: {value}">
<title>{name}: {value}</title>
<rect width="{width}" height="20" rx="3" fill="#2f6f73"/>
<path d="M3 0H{left}V20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#4a4f54"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{name_middle}" y="14">{name}</text>
<text x="{value_middle}" y="14">{value}</text>
</g>
</svg>
"""
LETTER = 7.2  # pixels that a letter of a badge takes on average


def peers(picture: Path) -> None:
    """Draw the run times of the Bradypus job as bars from zero."""
    from matplotlib.figure import Figure

    rows = [row for row in json.loads(PEERS.read_text(encoding="utf-8"))["bradypus"] if row["shown"]]
    figure = Figure(figsize=(8.6, 3.3), layout="constrained")
    axes = figure.subplots()
    labels = [f"{row['program']}: {row['job']}" for row in rows]
    colours = [ACCENT if row["program"] == "sdm" else GREY for row in rows]
    bars = axes.barh(labels, [row["seconds"] for row in rows], color=colours, height=0.72)
    axes.bar_label(bars, [f"{row['seconds']:.1f} s" for row in rows], padding=4, fontsize=9, color=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12 * max(row["seconds"] for row in rows))
    axes.set_xlabel("seconds from files to results (median); shorter is better")
    axes.set_title("Bradypus: 116 records, 14 layers, 10,000 background points", loc="left", fontsize=10)
    axes.tick_params(axis="y", length=0, labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, picture)


def badge(picture: Path, name: str, value: str) -> None:
    """Write a badge: a name and a value, as SVG."""
    left, right = (round(LETTER * len(text) + 12) for text in (name, value))
    middles = {"name_middle": left / 2, "value_middle": left + right / 2}
    text = BADGE.format(name=name, value=value, width=left + right, left=left, **middles)
    picture.write_text(text, encoding="utf-8")


def licence(picture: Path) -> None:
    """Write the badge of the licence that pyproject.toml names."""
    badge(picture, "licence", _project()["license"])


def python(picture: Path) -> None:
    """Write the badge of the versions of Python that the workflow tests."""
    badge(picture, "Python", " | ".join(_tested("python")))


def tests(picture: Path) -> None:
    """Write the badge of the systems that the workflow tests."""
    systems = {"ubuntu": "Linux", "macos": "macOS", "windows": "Windows"}
    names = [systems[name.removesuffix("-latest")] for name in _tested("os")]
    badge(picture, "tests", " | ".join(names))


def _project() -> dict[str, str]:
    project: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _tested(key: str) -> list[str]:
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    found = re.search(rf"^ +{key}: \[(.+)\]$", workflow, re.MULTILINE)
    return re.findall(r"[\w.-]+", found[1]) if found else []
