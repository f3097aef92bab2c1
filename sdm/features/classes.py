"""Which features to use: the field's letters, Java Maxent's rule by sample size, random rectified features, and growing
families."""

from collections.abc import Iterable, Mapping, Sequence

from sdm.errors import OptionError
from sdm.features.by_variable import names_variable, plain_part

LETTERS = "lqphtc"
SINCE: dict[str, float] = {"l": 0, "q": 10, "p": 80, "h": 15}  # presences from which auto takes a class, as Java Maxent
LARGEST = {"trees": 63, "mono": 12, "exacttrees": 2}  # sizes of growing families
MOST_RECTIFIED = 10_000  # random rectified features of a fit
_NOT_RECTIFIED = "'{}', random rectified features, are for maxent models of one species: leave it out here"
_WORDS = ("linear", "quadratic", "product", "hinge", "threshold", "category", "categorical")
NAMES = {word: word[0] for word in _WORDS}


def auto_classes(presences: float, since: Mapping[str, float] = SINCE) -> str:
    """Return Java Maxent's classes for a number of presences: l, then q from 10, h from 15, p from 80; `since` may have
    other numbers."""
    return "".join(letter for letter in SINCE if presences >= since.get(letter, SINCE[letter]))


def parse_features(
    features: str | Sequence[str], presences: float, since: Mapping[str, float] = SINCE
) -> tuple[str, int]:
    """Return the class letters, which may be none, and how many random rectified features there are, of classes as for
    `parse_classes` with `relu:N` among them, such as ``lqh,relu:1000`` or ``auto,relu:300``."""
    rest, rectified = split_rectified(features)
    if not rectified:
        return parse_classes(features, presences, since), 0
    ordinary = [auto_classes(presences, since) if part == "auto" else part for part in rest]
    return parse_classes(ordinary, presences) if ordinary else "", rectified


def split_rectified(features: str | Sequence[str]) -> tuple[list[str], int]:
    """Return the parts of a text of features other than `relu:N`, and N (0 where there is none)."""
    rest, rectified = [], 0
    for part in _parts(features):
        name, colon, count = part.partition(":")
        if name != "relu":
            rest.append(part)
        elif not colon or not count.isdecimal() or not 1 <= int(count) <= MOST_RECTIFIED:
            raise OptionError(f"features: '{part}' has no number from 1 to {MOST_RECTIFIED:,}, such as relu:1000")
        else:
            rectified = int(count)
    return rest, rectified


def refuse_rectified(features: str | Sequence[str]) -> None:
    """Raise where random rectified features are among those of a model that cannot have them."""
    for part in _parts(features):
        if part.partition(":")[0] == "relu":
            raise OptionError(f"features={features!r}: {_NOT_RECTIFIED.format(part)}")


def features_text(classes: str, rectified: int) -> str:
    """Return the text that `parse_features` reads these features from."""
    return ",".join([*([classes] if classes else []), *([f"relu:{rectified}"] if rectified else [])])


def parse_classes(features: str | Sequence[str], presences: float, since: Mapping[str, float] = SINCE) -> str:
    """Return the classes as letters in the order `lqphtc`. Accepts ``auto``, letters in any case and order (``LQH``),
    or names (``["linear", "hinge"]``, ``"linear,hinge"``). Parts that name variables (``bio1:lq``, ``bio1*bio12``)
    follow them as they are; `FeatureChoice` reads them."""
    if isinstance(features, str) and features.strip().lower() == "auto":
        return auto_classes(presences, since)
    refuse_rectified(features)
    letters, parts = set[str](), _parts(features)
    own = [part for part in parts if names_variable(part)]
    for part in parts:
        if part in own:
            continue
        if part == "auto" and own:
            letters.update(auto_classes(presences, since))
        elif part in NAMES:
            letters.add(NAMES[part])
        elif part and set(part) <= set(LETTERS):
            letters.update(part)
        else:
            raise OptionError(
                f"features={features!r}: '{part}' is no feature class; expected 'auto', letters of {LETTERS} such as "
                f"'lqh', names among {', '.join(dict.fromkeys(NAMES))}, or classes of a variable such as 'bio1:lq'"
            )
    return ",".join(filter(None, ["".join(letter for letter in LETTERS if letter in letters), *own]))


def _parts(features: str | Sequence[str]) -> list[str]:
    """Return the words of a text of features, or of a list of them, in small letters."""
    if isinstance(features, str):
        return [plain_part(part) for part in features.strip().replace("+", ",").split(",")]
    listed = features if isinstance(features, Iterable) else [features]
    return [plain_part(str(part)) for part in listed] or [""]


def has_growing(features: str | Sequence[str]) -> bool:
    """Tell whether trees or monomials are among the features."""
    return any(":" in part and not names_variable(part) for part in split_rectified(features)[0])


def parse_families(
    text: str | Sequence[str], presences: float, since: Mapping[str, float] = SINCE
) -> tuple[str, dict[str, int]]:
    """Return the ordinary class letters (may be none), and the largest size of each growing family, of a text such as
    `l,q,h,trees:8,mono:4`; `since` as for `auto_classes`."""
    refuse_rectified(text)
    parts = _parts(text)
    growing: dict[str, int] = {}
    ordinary = []
    for part in parts:
        name, colon, size = part.partition(":")
        if names_variable(part):
            ordinary.append(part)
        elif name in LARGEST and colon:
            if not size.isdigit() or not 1 <= int(size) <= LARGEST[name]:
                raise OptionError(f"families: '{part}' has no size from 1 to {LARGEST[name]}, such as {name}:4")
            growing[name] = int(size)
        elif name in LARGEST:
            raise OptionError(f"families: '{part}' needs a largest size, such as {name}:4")
        elif part:
            ordinary.append(auto_classes(presences, since) if part == "auto" else part)
    if not growing:
        raise OptionError(f"families={text!r}: expected trees:K or mono:K among them; without, use model 'maxent'")
    return parse_classes(ordinary, presences) if ordinary else "", growing
