"""Read feature classes: letters, Java Maxent's rule by sample size, random ReLU features, growing families, and classes
by variable.

Feature choices are text everywhere, as in ``bio1:lq, slope:h, bio1*bio12``; this module reads it. Classes without a
variable, as in ``lq, slope:h``, are for all variables that are not named. Without such classes, variables that are not
named have no feature.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdm.errors import OptionError, UnknownVariableError

if TYPE_CHECKING:
    from sdm.features.domain import DomainVariable

LETTERS = "lqphtc"
# presences from which auto includes a class, as in Java Maxent
SINCE: dict[str, float] = {"l": 0, "q": 10, "p": 80, "h": 15}
LARGEST = {"trees": 63, "mono": 12, "exacttrees": 2}  # largest sizes of growing families
MOST_RECTIFIED = 10_000  # largest number of random ReLU features of a fit
_NOT_RECTIFIED = "'{}' (random ReLU features) needs a maxent model of one species: remove it"
_WORDS = ("linear", "quadratic", "product", "hinge", "threshold", "category", "categorical")
NAMES = {word: word[0] for word in _WORDS}

_CLASSES = re.compile(r"(?P<name>.+):\s*(?P<letters>[lqphtcLQPHTC]+)")
_PRODUCT = re.compile(r"(?P<first>[^*:]+)\*(?P<second>[^*:]+)")
_FAMILIES = ("trees", "mono", "exacttrees", "relu")  # followed by a colon and a number


def auto_classes(presences: float, since: Mapping[str, float] = SINCE) -> str:
    """Return Java Maxent's classes for a number of presences: l, then q from 10, h from 15, p from 80.

    `since` may contain other numbers.
    """
    return "".join(letter for letter in SINCE if presences >= since.get(letter, SINCE[letter]))


def parse_features(
    features: str | Sequence[str], presences: float, since: Mapping[str, float] = SINCE
) -> tuple[str, int]:
    """Return the class letters (may be empty) and the number of random ReLU features.

    The text is as for `parse_classes`, with `relu:N` in addition, such as ``lqh,relu:1000`` or ``auto,relu:300``.
    """
    rest, rectified = split_rectified(features)
    if not rectified:
        return parse_classes(features, presences, since), 0
    ordinary = [auto_classes(presences, since) if part == "auto" else part for part in rest]
    return parse_classes(ordinary, presences) if ordinary else "", rectified


def split_rectified(features: str | Sequence[str]) -> tuple[list[str], int]:
    """Return the parts of a feature text other than `relu:N`, and N (0 without such a part)."""
    rest, rectified = [], 0
    for part in _parts(features):
        name, colon, count = part.partition(":")
        if name != "relu":
            rest.append(part)
        elif not colon or not count.isdecimal() or not 1 <= int(count) <= MOST_RECTIFIED:
            raise OptionError(f"features: '{part}' needs a number from 1 to {MOST_RECTIFIED:,}, as in relu:1000")
        else:
            rectified = int(count)
    return rest, rectified


def refuse_rectified(features: str | Sequence[str]) -> None:
    """Raise for random ReLU features, for models that do not support them."""
    for part in _parts(features):
        if part.partition(":")[0] == "relu":
            raise OptionError(f"features={features!r}: {_NOT_RECTIFIED.format(part)}")


def features_text(classes: str, rectified: int) -> str:
    """Return the text of these features, for `parse_features`."""
    return ",".join([*([classes] if classes else []), *([f"relu:{rectified}"] if rectified else [])])


def parse_classes(features: str | Sequence[str], presences: float, since: Mapping[str, float] = SINCE) -> str:
    """Return the classes as letters in the order `lqphtc`.

    Accepted are ``auto``, letters in any case and order (``LQH``), and names (``["linear", "hinge"]``,
    ``"linear,hinge"``). Parts with variables (``bio1:lq``, ``bio1*bio12``) follow unchanged; `FeatureChoice` reads
    them.
    """
    if isinstance(features, str) and features.strip().lower() == "auto":
        return auto_classes(presences, since)
    refuse_rectified(features)
    letters, parts = set[str](), _parts(features)
    by_variable = [part for part in parts if names_variable(part)]
    for part in parts:
        if part in by_variable:
            continue
        if part == "auto" and by_variable:
            letters.update(auto_classes(presences, since))
        elif part in NAMES:
            letters.add(NAMES[part])
        elif part and set(part) <= set(LETTERS):
            letters.update(part)
        else:
            raise OptionError(
                f"features={features!r}: '{part}' is not a feature class; expected 'auto', letters of {LETTERS} such "
                f"as 'lqh', names among {', '.join(dict.fromkeys(NAMES))}, or classes of a variable such as 'bio1:lq'"
            )
    return ",".join(filter(None, ["".join(letter for letter in LETTERS if letter in letters), *by_variable]))


def has_growing(features: str | Sequence[str]) -> bool:
    """Return whether trees or monomials are among the features."""
    return any(":" in part and not names_variable(part) for part in split_rectified(features)[0])


def parse_families(
    text: str | Sequence[str], presences: float, since: Mapping[str, float] = SINCE
) -> tuple[str, dict[str, int]]:
    """Return the ordinary class letters (may be empty) and the largest size of each growing family.

    The text is like `l,q,h,trees:8,mono:4`; `since` is as for `auto_classes`.
    """
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
                raise OptionError(f"families: '{part}' needs a size from 1 to {LARGEST[name]}, as in {name}:4")
            growing[name] = int(size)
        elif name in LARGEST:
            raise OptionError(f"families: '{part}' needs a largest size, as in {name}:4")
        elif part:
            ordinary.append(auto_classes(presences, since) if part == "auto" else part)
    if not growing:
        raise OptionError(f"families={text!r}: expected trees:K or mono:K; without these use --model maxent")
    return parse_classes(ordinary, presences) if ordinary else "", growing


def _parts(features: str | Sequence[str]) -> list[str]:
    """Return the lower-case parts of a feature text or list, at least one."""
    listed = features if isinstance(features, str | Iterable) else [features]
    return _words(listed, blank=True) or [""]


def _words(features: str | Iterable[object], blank: bool = False) -> list[str]:
    listed = features.strip().replace("+", ",").split(",") if isinstance(features, str) else map(str, features)
    return [_part_text(*read_part(part)) for part in listed if blank or part.strip()]


@dataclass(frozen=True)
class FeatureChoice:
    """The classes of named variables, named products, and the classes of all other variables."""

    letters: dict[str, str]
    products: frozenset[frozenset[str]]
    others: str  # letters; empty if only named variables have features

    @classmethod
    def read(cls, text: str) -> "FeatureChoice":
        """Read a feature text in which classes without variables are letters, as from `parse_classes`."""
        letters: dict[str, str] = {}
        products, others = set[frozenset[str]](), ""
        for part in filter(None, (part.strip() for part in text.split(","))):
            names, classes = read_part(part)
            if len(names) == 2:
                products.add(frozenset(names))
            elif names:
                letters[names[0]] = letters.get(names[0], "") + classes
            else:
                others += part
        return cls(letters, frozenset(products), others)

    @property
    def names(self) -> set[str]:
        """Return the named variables."""
        return set(self.letters).union(*self.products)

    @property
    def classes(self) -> str:
        """Return all classes that a variable has."""
        return self.others + "".join(self.letters.values()) + "p" * bool(self.products)

    def has(self, letter: str, variable: "DomainVariable") -> bool:
        """Return whether a variable has a feature class other than products.

        A named categorical variable has its categories.
        """
        if variable.categorical and variable.name in self.names:
            return letter == "c"
        if letter == "c" and variable.name not in self.names:
            return bool(self.others)
        return letter in self.letters.get(variable.name, self.others)

    def multiplies(self, first: "DomainVariable", second: "DomainVariable") -> bool:
        """Return whether two variables have a product feature."""
        return frozenset((first.name, second.name)) in self.products or (self.has("p", first) and self.has("p", second))

    def check(self, names: Sequence[str]) -> None:
        """Raise for named variables that are not in `names`."""
        for name in sorted(self.names - set(names)):
            from difflib import get_close_matches

            near = get_close_matches(name, names, n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise UnknownVariableError(
                f"features: '{name}' is not a variable: {hint}The variables are {', '.join(names)}"
            )


def read_part(part: str) -> tuple[tuple[str, ...], str]:
    """Return the variables in a part of a feature text, and the classes of a single variable in lower case.

    Products have two variables and no classes. A part without variables is returned in lower case.
    """
    if match := _PRODUCT.fullmatch(part.strip()):
        return (match["first"].strip(), match["second"].strip()), ""
    match = _CLASSES.fullmatch(part.strip())
    if match is None or match["name"].strip() in _FAMILIES:
        return (), part.strip().lower()
    return (match["name"].strip(),), match["letters"].lower()


def names_variable(part: str) -> bool:
    """Return whether a part of a feature text is for a variable or a product of two."""
    return bool(read_part(part)[0])


def _part_text(names: tuple[str, ...], letters: str) -> str:
    return "*".join(names) if len(names) == 2 else ":".join([*names, letters])


def capitals(features: str | Iterable[str]) -> str:
    """Return features with their classes in capitals, as in R packages; names of variables are unchanged."""
    parts = [read_part(part) for part in _words(features)]
    return ",".join(_part_text(names, letters.upper()) for names, letters in parts)


def named_alone(features: str | Iterable[str]) -> list[str]:
    """Return the named variables, in order, if no other variable has features; else an empty list."""
    parts = _words(features)
    if not all(names_variable(part) or ":" in part for part in parts):
        return []
    return list(dict.fromkeys(name for part in parts for name in read_part(part)[0]))


def for_variables(features: str | Sequence[str], names: Sequence[str]) -> str | Sequence[str]:
    """Return the features of the given variables; a named variable without remaining features gets a linear one."""
    parts = _words(features)
    if not any(map(names_variable, parts)):
        return features
    usable = [part for part in parts if {*read_part(part)[0]} <= {*names}]
    before, after = (FeatureChoice.read(",".join(each)).names for each in (parts, usable))
    return ",".join([*usable, *(f"{name}:l" for name in names if name in before and name not in after)])
