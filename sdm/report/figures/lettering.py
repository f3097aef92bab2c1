"""Letters in pictures: the font of the plotting library, without loading it."""

from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from unicodedata import category

from PIL import Image, ImageDraw, ImageFont

from sdm.report.charts import short

UPRIGHT, SLANTED = "DejaVuSans.ttf", "DejaVuSans-Oblique.ttf"


@cache
def font_of(pixels: float, face: str = UPRIGHT) -> ImageFont.FreeTypeFont:
    """Return the font of all pictures, in a size."""
    home = find_spec("matplotlib")
    place = Path(str(home.origin if home else "")).parent / "mpl-data" / "fonts" / "ttf" / face
    if not place.is_file():  # some systems keep it elsewhere, which only the library knows
        from matplotlib import get_data_path

        place = Path(get_data_path()) / "fonts" / "ttf" / face
    return ImageFont.truetype(str(place), round(pixels))


@lru_cache(maxsize=64)
def turned_words(text: str, pixels: float) -> Image.Image:
    """Return a text as a mask, turned to be read from the right."""
    font = font_of(pixels)
    left, top, right, bottom = font.getbbox(text)
    mask = Image.new("L", (int(right - left) + 2, int(bottom - top) + 2))
    ImageDraw.Draw(mask).text((1 - left, 1 - top), text, 255, font)
    return mask.rotate(90, expand=True)


def drawable(text: str, longest: int = 40) -> str:
    """Keep a name from running out of the picture, with a box for each letter that the font does not have."""
    return "".join(letter if _has_letter(letter) else "□" for letter in short(text, longest))


@cache
def _has_letter(letter: str) -> bool:
    """Tell whether the font has a letter: all that it does not have look the same. What is no text, as the end of a
    line or parts of the names of some files, is no letter."""
    font = font_of(20)
    return category(letter) not in ("Cc", "Cs") and bytes(font.getmask(letter)) != bytes(font.getmask("\uffff"))
