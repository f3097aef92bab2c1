"""The text that chooses families: ordinary classes and growing families, such as `l,q,h,trees:8,mono:4`."""

from collections.abc import Sequence

from sdm.errors import OptionError
from sdm.features.classes import auto_classes, parse_classes

LARGEST = {"trees": 63, "mono": 12, "exacttrees": 2}


def parse_families(text: str | Sequence[str], presences: float) -> tuple[str, dict[str, int]]:
    """Return the ordinary class letters (may be none), and the largest size of each growing family."""
    parts = [part.strip().lower() for part in (text.split(",") if isinstance(text, str) else text)]
    growing: dict[str, int] = {}
    ordinary = []
    for part in parts:
        name, colon, size = part.partition(":")
        if name in LARGEST and colon:
            if not size.isdigit() or not 1 <= int(size) <= LARGEST[name]:
                raise OptionError(f"families: '{part}' has no size from 1 to {LARGEST[name]}, such as {name}:4")
            growing[name] = int(size)
        elif name in LARGEST:
            raise OptionError(f"families: '{part}' needs a largest size, such as {name}:4")
        elif part:
            ordinary.append(auto_classes(presences) if part == "auto" else part)
    if not growing:
        raise OptionError(f"families={text!r}: expected trees:K or mono:K among them; without, use model 'maxent'")
    return parse_classes(ordinary, presences) if ordinary else "", growing
