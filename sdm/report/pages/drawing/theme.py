"""The colours of charts on a dark page: each colour that charts are drawn in, made light enough to be seen."""

from colorsys import hls_to_rgb, rgb_to_hls
from functools import cache

from sdm.models.colours import hex_colour, read_colour
from sdm.report.charts import COLOURS, SHADE, WHISKER

DIMMEST = 0.6  # lightness of a line on a dark page, at least
# What charts are drawn in beside the palette: light page, dark page.
NEUTRAL = {
    "#e3e6e8": "#3a444c", "#444444": "#aab4bb", SHADE: "#26313a", "#ffffff": "#161b20", WHISKER: "#c3cbd1",
    "#b9c1c6": "#55616a", "#9aa5ac": "#74808a", "#8fa3b0": "#8fa3b0", "#2b3238": "#e4e8eb",
}  # fmt: skip


def on_dark(colour: str) -> str:
    """Return a colour of the same hue that is light enough for a dark page; the darker it was, the lighter it becomes:
    two of one hue can be told apart."""
    red, green, blue = (part / 255 for part in read_colour(colour))
    hue, light, full = rgb_to_hls(red, green, blue)
    red, green, blue = (255 * part for part in hls_to_rgb(hue, max(1.03 - 0.78 * light, DIMMEST), min(full, 0.75)))
    return hex_colour((round(red), round(green), round(blue)))


@cache
def dark_charts() -> str:
    """Return the style rules that turn the colours of charts on a dark page.

    Charts keep the colours of a light page as attributes, so that they can be copied out of the page as they are; rules
    of style count more than attributes.
    """
    turned = {**NEUTRAL, **{colour.lower(): on_dark(colour) for colour in COLOURS}}
    rules = [f'.chart [{what}="{old}"]{{{what}:{new}}}' for old, new in turned.items() for what in ("stroke", "fill")]
    return "@media screen and (prefers-color-scheme:dark){" + "".join(rules) + "}\n"
