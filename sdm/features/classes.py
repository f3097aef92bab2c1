"""Which feature classes to use: the field's letters, and Java Maxent's rule by sample size."""

from collections.abc import Iterable, Sequence

from sdm.errors import OptionError

LETTERS = "lqphtc"
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
