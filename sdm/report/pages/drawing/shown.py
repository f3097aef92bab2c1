"""Pictures of a run inside a page: large ones are reduced, for they are made for print."""

from io import BytesIO
from pathlib import Path

from PIL import Image

from sdm.errors import DataError
from sdm.report.pictures import embed

WIDE = 1100  # pixels, at most
LARGE = 120_000  # bytes of a file that is embedded as it is, at most
TINTS = 256


def shown_picture(path: Path, wide: int = WIDE) -> str:
    """Return a PNG file as the text of a data address, reduced to a width and a number of colours if it is large."""
    if path.stat().st_size <= LARGE:
        return embed(path)
    try:
        with Image.open(path) as source:
            picture = source.convert("RGB")
    except OSError as error:
        raise DataError(f"{path} cannot be read as a picture ({error}): make the results again") from error
    if picture.width > wide:
        high = max(1, round(picture.height * wide / picture.width))
        picture = picture.resize((wide, high), Image.Resampling.BOX, reducing_gap=2.0)
    out = BytesIO()
    picture.quantize(TINTS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(out, "PNG")
    return embed(out.getvalue())
