"""Every kind of figure looks as it did when somebody last looked at it, and can go into a paper as it is.

To renew the pictures after a change that was looked at: SDM_RENEW_PICTURES=1 pytest tests/report/pictures
"""

import importlib.util
import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sdm.maps.projection.change import COLOURS as CHANGE_COLOURS
from sdm.models.colours import hex_colour
from sdm.report.charts import COLOURS
from sdm.report.paper import COLUMN, PAGE, Paper

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("drawn", HERE / "drawn.py")
drawn: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
spec.loader.exec_module(drawn)  # type: ignore[union-attr]

REFERENCE = HERE / "reference"
RENEW = bool(os.environ.get("SDM_RENEW_PICTURES"))
DPI = 60
KINDS = sorted(path.stem for path in REFERENCE.glob("*.png"))
SIZE = re.compile(r"font(?:-size)?: (?:[a-z0-9]+ )*?([0-9.]+)px")


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[Path, Paper], Any]]:
    return drawn.figures(tmp_path_factory.mktemp("data"))


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def unlike(one: np.ndarray, other: np.ndarray) -> float:
    """The share of places that differ clearly, apart from shifts by a pixel."""
    shifts = [np.roll(other, step, (0, 1)) for step in itertools.product((-1, 0, 1), repeat=2)]
    apart = np.min([np.abs(one - moved).max(axis=2) for moved in shifts], axis=0)
    return float(np.mean(apart > 70))


def test_every_kind_has_its_picture(figures: dict[str, Any]) -> None:
    assert RENEW or sorted(figures) == KINDS
    assert sum(path.stat().st_size for path in REFERENCE.iterdir()) < 450_000


@pytest.mark.parametrize("kind", sorted(KINDS) if not RENEW else ["all"])
def test_a_figure_looks_as_it_did(figures: dict[str, Any], tmp_path: Path, kind: str) -> None:
    """Also: it is as wide as one or two columns of a journal, and no letter is smaller than 7 points there."""
    for name in figures if RENEW else [kind]:
        path = tmp_path / f"{name}.png"
        figures[name](path, Paper(("png", "svg"), DPI))
        if RENEW:
            with Image.open(path) as image:
                small = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
            small.save(REFERENCE / path.name, optimize=True)
            continue
        made, kept = pixels(path), pixels(REFERENCE / path.name)
        assert made.shape == kept.shape
        assert unlike(made, kept) < 0.003, f"{path} differs from {REFERENCE / path.name}: look at both"
        text = path.with_suffix(".svg").read_text(encoding="utf-8")
        if "system-ui" not in text:  # a chart as the page shows it
            sizes = [float(size) for size in SIZE.findall(text)]
            assert sizes
            assert min(sizes) >= 7.0
        wide = made.shape[1] / DPI * 25.4
        assert wide >= COLUMN - 1
        assert min(abs(wide - width) for width in (COLUMN, 1.5 * COLUMN, PAGE)) < 10 or wide > PAGE


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["map", "curve", "roc", "importance", "folds", "scenarios", "publication"])
def test_any_width_can_be_chosen(figures: dict[str, Any], tmp_path: Path, kind: str) -> None:
    """Letters stay as large, so that a figure of one column can be read."""
    for width in (COLUMN, PAGE):
        path = tmp_path / f"{kind}_{width:g}.png"
        figures[kind](path, Paper(("png", "svg"), DPI, width))
        assert pixels(path).shape[1] / DPI * 25.4 == pytest.approx(width, abs=0.6)
        text = path.with_suffix(".svg").read_text(encoding="utf-8")
        sizes = [float(size) for size in SIZE.findall(text)]
        assert "system-ui" in text or 7.0 <= min(sizes) <= max(sizes) <= 12.0


def test_the_same_figure_has_the_same_bytes(figures: dict[str, Any], tmp_path: Path) -> None:
    formats = ("png", "pdf", "svg")
    for kind in ("map", "curve"):
        for k in range(2):
            (tmp_path / str(k)).mkdir(exist_ok=True)
            figures[kind](tmp_path / str(k) / f"{kind}.png", Paper(formats, DPI))
        for ending in formats:
            one, other = ((tmp_path / str(k) / f"{kind}.{ending}").read_bytes() for k in range(2))
            assert one == other


# Machado, Oliveira and Fernandes (2009): how people see who lack red, green or blue cones, in linear light.
BLIND = {
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "none": np.eye(3).tolist(),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(colour: str, lacking: str) -> np.ndarray:
    c = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    light = np.clip(np.array(BLIND[lacking]) @ np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4), 0, 1)
    f = XYZ @ light / [0.95047, 1, 1.08883]
    f = np.where(f > 0.008856, np.cbrt(f), 7.787 * f + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("lacking", list(BLIND))
def test_colours_are_told_apart_by_everybody(lacking: str) -> None:
    changes = [hex_colour(colour) for colour in CHANGE_COLOURS.values()]
    for colours, least in ((COLOURS, 10.0), (changes, 20.0)):
        for one, other in itertools.combinations(colours, 2):
            assert np.linalg.norm(lab(one, lacking) - lab(other, lacking)) > least, (one, other)
