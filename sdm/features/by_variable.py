"""Features by variable, as in ``bio1:lq, slope:h, bio1*bio12``: which classes each variable has, and which products.

A text of features stays a text everywhere; this module says what the parts that name variables mean. Classes without a
name, as in ``lq, slope:h``, are those of all variables that are not named. Without such classes, variables that are not
named have no feature.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sdm.errors import OptionError

_CLASSES = re.compile(r"(?P<name>.+):\s*(?P<letters>[lqphtcLQPHTC]+)")
_PRODUCT = re.compile(r"(?P<first>[^*:]+)\*(?P<second>[^*:]+)")
_FAMILIES = ("trees", "mono", "exacttrees", "relu")  # whose numbers come after a colon


class Featured(Protocol):
    """A variable that has features."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def categorical(self) -> bool:
        """Whether its values are categories."""
        ...


@dataclass(frozen=True)
class FeatureChoice:
    """The classes of variables that are named, products that are, and the classes of all other variables."""

    letters: dict[str, str]
    products: frozenset[frozenset[str]]
    others: str  # letters; none if only variables that are named have features

    @classmethod
    def read(cls, text: str) -> "FeatureChoice":
        """Read a text whose plain parts are letters, as `parse_classes` returns it."""
        letters: dict[str, str] = {}
        products, others = set[frozenset[str]](), ""
        for part in filter(None, (part.strip() for part in text.split(","))):
            if found := _PRODUCT.fullmatch(part):
                products.add(frozenset((found["first"].strip(), found["second"].strip())))
            elif names_variable(part) and (found := _CLASSES.fullmatch(part)):
                name = found["name"].strip()
                letters[name] = letters.get(name, "") + found["letters"].lower()
            else:
                others += part
        return cls(letters, frozenset(products), others)

    @property
    def names(self) -> set[str]:
        """The variables that are named."""
        return set(self.letters).union(*self.products)

    @property
    def classes(self) -> str:
        """All classes that some variable has."""
        return self.others + "".join(self.letters.values()) + "p" * bool(self.products)

    def has(self, letter: str, variable: Featured) -> bool:
        """Tell whether a variable has a class of features, other than products; a categorical one has its categories
        if it is named at all."""
        if variable.categorical and variable.name in self.names:
            return letter == "c"
        if letter == "c" and variable.name not in self.names:
            return bool(self.others)
        return letter in self.letters.get(variable.name, self.others)

    def multiplies(self, first: Featured, second: Featured) -> bool:
        """Tell whether two variables have their product."""
        return frozenset((first.name, second.name)) in self.products or (self.has("p", first) and self.has("p", second))

    def check(self, known: Sequence[str]) -> None:
        """Raise if variables are named that there are not."""
        for name in sorted(self.names - set(known)):
            from difflib import get_close_matches

            near = get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise OptionError(f"features name '{name}', which is no variable: {hint}There are {', '.join(known)}")


def names_variable(part: str) -> bool:
    """Tell whether a part of a text of features is of one variable, or of a product of two."""
    found = _CLASSES.fullmatch(part.strip())
    return bool(_PRODUCT.fullmatch(part.strip())) or (found is not None and found["name"].strip() not in _FAMILIES)


def plain_part(part: str) -> str:
    """Return a part that names variables without spaces, with small letters of classes; others in small letters."""
    if found := _PRODUCT.fullmatch(part.strip()):
        return f"{found['first'].strip()}*{found['second'].strip()}"
    if names_variable(part) and (found := _CLASSES.fullmatch(part.strip())):
        return f"{found['name'].strip()}:{found['letters'].lower()}"
    return part.strip().lower()


def capitals(features: str | Iterable[str]) -> str:
    """Return features with their classes in capitals, as R packages write them; names of variables stay."""
    parts = []
    for part in _split(features):
        name, colon, letters = part.rpartition(":") if names_variable(part) and "*" not in part else ("", "", part)
        parts.append(part if "*" in part else f"{name}{colon}{letters.upper()}")
    return ",".join(parts)


def named_alone(features: str | Iterable[str]) -> list[str]:
    """Return the variables that features name, in their order, if no other variable has features; else none."""
    parts = _split(features)
    if not parts or not all(names_variable(part) or ":" in part for part in parts):
        return []
    names: list[str] = []
    for part in filter(names_variable, parts):
        names += part.split("*") if _PRODUCT.fullmatch(part) else [part.rpartition(":")[0]]
    return list(dict.fromkeys(name.strip() for name in names))


def for_variables(features: str | Sequence[str], names: Sequence[str]) -> str | Sequence[str]:
    """Return features without those of variables that are not among these; one that is left without any has a linear
    one."""
    parts = _split(features)
    if not any(map(names_variable, parts)):
        return features
    whole, kept = FeatureChoice.read(",".join(parts)), list[str]()
    for part in parts:
        used = part.split("*") if _PRODUCT.fullmatch(part) else [part.rpartition(":")[0]]
        if not names_variable(part) or {name.strip() for name in used} <= set(names):
            kept.append(part)
    left = FeatureChoice.read(",".join(kept)).names
    return ",".join([*kept, *(f"{name}:l" for name in names if name in whole.names and name not in left)])


def _split(features: str | Iterable[str]) -> list[str]:
    listed = features.replace("+", ",").split(",") if isinstance(features, str) else [str(part) for part in features]
    return [plain_part(part) for part in listed if part.strip()]
