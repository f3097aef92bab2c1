"""Which features to use: the field's letters, Java Maxent's rule by sample size, and growing families."""

from collections.abc import Iterable, Sequence

from sdm.errors import OptionError

LETTERS = "lqphtc"
LARGEST = {"trees": 63, "mono": 12, "exacttrees": 2}  # sizes of growing families
_WORDS = ("linear", "quadratic", "product", "hinge", "threshold", "category", "categorical")
NAMES = {word: word[0] for word in _WORDS}


def auto_classes(presences: float) -> str:
    """Return Java Maxent's classes for a number of presences: l, then q from 10, h from 15, p from 80."""
    return "l" + "".join(letter for letter, least in (("q", 10), ("p", 80), ("h", 15)) if presences >= least)


def parse_classes(features: str | Sequence[str], presences: float) -> str:
    """Return the classes as letters in the order `lqphtc`. Accepts ``auto``, letters in any case and order (``LQH``),
    or names (``["linear", "hinge"]``, ``"linear,hinge"``)."""
    if isinstance(features, str):
        text = features.strip().lower()
        if text == "auto":
            return auto_classes(presences)
        parts = [part.strip() for part in text.replace("+", ",").split(",")]
    else:
        listed = features if isinstance(features, Iterable) else [features]
        parts = [str(part).strip().lower() for part in listed] or [""]
    letters: set[str] = set()
    for part in parts:
        if part in NAMES:
            letters.add(NAMES[part])
        elif part and set(part) <= set(LETTERS):
            letters.update(part)
        else:
            raise OptionError(
                f"features={features!r}: '{part}' is no feature class; expected 'auto', letters of {LETTERS} such as "
                f"'lqh', or names among {', '.join(dict.fromkeys(NAMES))}"
            )
    return "".join(letter for letter in LETTERS if letter in letters)


def parse_families(text: str | Sequence[str], presences: float) -> tuple[str, dict[str, int]]:
    """Return the ordinary class letters (may be none), and the largest size of each growing family, of a text such as
    `l,q,h,trees:8,mono:4`."""
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
