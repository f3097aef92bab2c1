"""Colours of classes: from the training raster, and a palette for the others."""

import colorsys
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sdm.types import Colour

# Colours that most people can distinguish, then equally spaced hues.
FIRST = (
    *("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#8c564b", "#e69f00", "#332288", "#88ccee"),
    *("#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255"),
)
# Colour ramps of maps, from low to high: suitability, uncertainty, and diverging around zero.
VIRIDIS = (
    "440154", "481a6c", "472f7d", "414487", "39568c", "31688e", "2a788e", "23888e",
    "1f988b", "22a884", "35b779", "54c568", "7ad151", "a5db36", "d2e21b", "fde725",
)  # fmt: skip
MAGMA = ("000004", "180f3d", "440f76", "721f81", "9e2f7f", "cd4071", "f1605d", "fd9668", "feca8d", "fcfdbf")
RED_TO_BLUE = ("b2182b", "d6604d", "f4a582", "fddbc7", "f7f7f7", "d1e5f0", "92c5de", "4393c3", "2166ac")
HEX = re.compile("#[0-9a-f]{6}")


def palette(count: int) -> list[Colour]:
    """Return a colour for each of `count` classes."""
    out = [read_colour(text) for text in FIRST[:count]]
    for k in range(count - len(out)):
        red, green, blue = colorsys.hsv_to_rgb((k * 0.618034) % 1.0, 0.55 + 0.3 * (k % 2), 0.85 - 0.25 * (k % 3 == 1))
        out.append((round(255 * red), round(255 * green), round(255 * blue)))
    return out


def hex_colour(colour: Colour) -> str:
    """Return a colour as text, such as #228833."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def read_colour(text: str) -> Colour:
    """Return the colour of a text such as #228833."""
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def ramp_colour(ramp: Sequence[str], share: float) -> Colour:
    """Return the colour at a share, from 0 to 1, of a ramp."""
    position = min(max(share, 0.0), 1.0) * (len(ramp) - 1)
    k = min(int(position), len(ramp) - 2)
    low, high = (bytes.fromhex(ramp[i]) for i in (k, k + 1))
    red, green, blue = (round(a + (b - a) * (position - k)) for a, b in zip(low, high))
    return red, green, blue


def recorded_colours(meta: Mapping[str, Any]) -> dict[str, Colour]:
    """Return the colours of classes in the metadata of a model, by label; invalid colours are ignored."""
    stored = meta.get("colours")
    pairs = stored.items() if isinstance(stored, dict) else ()
    return {str(label): read_colour(text) for label, text in pairs if isinstance(text, str) and HEX.fullmatch(text)}
