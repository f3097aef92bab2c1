"""`make docs-figures` makes the pictures of the documentation, from the sample data and from virtual species.

Pictures of measurements are made by the benchmarks that measure (`OF_BENCHMARKS`): they take longer, and some need data
that are not part of the project. Pages of a run are photographed by a Chromium; where there is none, their pictures
stay as they are, and that is said.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from tools import drawings, front_page
from tools.notebook_page import NOTEBOOKS, write_page

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
NOTES = ROOT / "benchmarks" / "notes" / "pictures"
OF_BENCHMARKS = {
    "convergence.png": "structural",
    "pattern_city.png": "patterns",
    "pattern_road.png": "patterns",
    "edges.png": "edges",
    "joint_learners.png": "learners",
    "path_mu.png": "path",
    "path_multipliers.png": "path",
    "path_strata.png": "path",
    "path_validation.png": "path",
    **dict.fromkeys(("penalties_learning.png", "penalties_profiles.png", "penalties_sensitivity.png"), "penalties"),
    "proportions.png": "proportions",
}
"""Pictures of measurements, and the benchmark that draws each (`python -m benchmarks NAME`)."""
OF_COMMANDS = {
    **dict.fromkeys(("joint_network.png", "joint_pairs.png", "joint_variance.png"), "how-to/joint.md"),
    "shared_biplot.png": "how-to/shared.md",
}
"""Pictures that a run of sdm itself writes, and the page that has the command."""
DRAWN: dict[str, Callable[[Path], None]] = {
    "certificate.png": drawings.certificate,
    "regularisation.png": drawings.regularisation,
    "complexity.png": drawings.complexity,
    "background.png": drawings.background,
    "same_records.png": drawings.same_records,
    "peers.png": front_page.peers,
    "badge_licence.svg": front_page.licence,
    "badge_python.svg": front_page.python,
    "badge_tests.svg": front_page.tests,
}
COPIED = {
    "map.png": "first/results/Virtualis_montanus.png",
    "curve.png": "first/results/plots/temperature.png",
    "future_novelty.png": "first/climates/Virtualis_montanus_novelty.png",
    "future_change.png": "first/climates/Virtualis_montanus_change_maps.png",
}
"""Pictures that the tutorials' own commands write."""
PHOTOGRAPHED = {
    "page.png": ("first/results/Virtualis_montanus.html", 1310),
    "page_top.png": ("first/results/Virtualis_montanus.html", 975),
    "projection.png": ("first/climates/Virtualis_montanus.html", 1120),
    "batch_index.png": ("first/batch/index.html", 880),
}
"""Pages that are photographed, and how many pixels of their height."""
COMMANDS = (
    "example first",
    "fit first/run.yaml",
    "report first/results --figures png",
    "simulate first/world/2050 --size 120 --species 3 --records 150 --sites 400 --warming 2 --seed 1",
    "simulate first/world/2080 --size 120 --species 3 --records 150 --sites 400 --warming 4 --seed 1",
    "project first/results --scenarios first/world/{period}/warmer --reference first/layers --novelty mess,limiting "
    "-o first/climates",
    "fit first/occurrences.csv first/layers --categorical landcover --features lq --no-curves --seed 1 -o first/batch",
)
WIDEST = 1100  # pixels of a picture on the site


def main() -> None:
    """Make all pictures, or those that are named on the command line."""
    wanted = set(sys.argv[1:])
    names = {*DRAWN, *COPIED, *PHOTOGRAPHED, "notebook"}
    if unknown := wanted - names:
        sys.exit(f"there is no picture {sorted(unknown)[0]}: expected one of {', '.join(sorted(names))}")
    wanted = wanted or names
    for name in sorted(wanted & set(DRAWN)):
        DRAWN[name](PICTURES / name)
        print(name)
    if "notebook" in wanted:
        for notebook, page in NOTEBOOKS.items():
            write_page(notebook)
            print(f"{page}.md and its pictures")
    if wanted & {*COPIED, *PHOTOGRAPHED}:
        with tempfile.TemporaryDirectory() as folder:
            _of_tutorials(Path(folder), wanted)


def _of_tutorials(folder: Path, wanted: set[str]) -> None:
    for line in COMMANDS:
        subprocess.run([sys.executable, "-m", "sdm_cli.main", *line.split()], cwd=folder, check=True)  # noqa: S603
    for name in sorted(wanted & set(COPIED)):
        shrink(folder / COPIED[name], PICTURES / name)
        print(name)
    browser = next(
        filter(None, map(shutil.which, (os.environ.get("SDM_CHROMIUM", ""), "chromium", "google-chrome"))), None
    )
    for name in sorted(wanted & set(PHOTOGRAPHED)):
        if browser is None:
            print(f"{name} stays as it is: no Chromium was found (set SDM_CHROMIUM)")
            continue
        page, height = PHOTOGRAPHED[name]
        photograph(browser, folder / page, height, PICTURES / name)
        print(name)


def photograph(browser: str, page: Path, height: int, picture: Path) -> None:
    """Take a picture of the upper part of a page."""
    with tempfile.TemporaryDirectory() as profile:
        made = Path(profile) / "page.png"
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        flags += [f"--user-data-dir={profile}/user", f"--window-size=1152,{height}", f"--screenshot={made}"]
        command = [browser, *flags, "--virtual-time-budget=5000", page.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603
        shrink(made, picture)


def shrink(source: Path, picture: Path) -> None:
    """Write a picture with few colours, and no wider than the site shows it."""
    with Image.open(source) as image:
        plain = image.convert("RGB")
        if plain.width > WIDEST + 100:
            plain = plain.resize((WIDEST, round(plain.height * WIDEST / plain.width)), Image.Resampling.LANCZOS)
        plain.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main()
