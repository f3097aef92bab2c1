"""Nodata values in the form of the option: `-9999`, several of them, `landcover=255`, or `none`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sdm.errors import ConflictError, OptionError

TRUST = "none"
EXPECTED = "expected a number, several numbers with commas, variable=number, or 'none' (only the values in the files)"


@dataclass(frozen=True)
class NodataCodes:
    """Nodata codes by names (or patterns) of variables; None means only the nodata values in the files."""

    entries: tuple[tuple[str, float | None], ...] = ()

    @classmethod
    def read(cls, values: "NodataValues") -> "NodataCodes":
        """Read the option: a number, text, or several of them."""
        if isinstance(values, NodataCodes):
            return values
        parts = [] if values is None else [values] if isinstance(values, str | float | int) else list(values)
        words = [word.strip() for part in parts for word in str(part).split(",") if word.strip()]
        entries = []
        for word in words:
            name, equals, text = word.rpartition("=")
            entries.append((name.strip() if equals else "*", _number(text.strip(), word)))
        everywhere = {value for name, value in entries if name == "*"}
        if None in everywhere and len(everywhere) > 1:
            raise ConflictError(f"layers.nodata={','.join(words)}: 'none' excludes other values")
        return cls(tuple(entries))

    def of(self, name: str) -> tuple[float, ...]:
        """Return the codes of a variable."""
        return tuple(value for pattern, value in self.entries if value is not None and _meant(pattern, name))

    def trusts(self, name: str) -> bool:
        """Whether untagged codes of a variable are accepted as values."""
        return any(value is None and _meant(pattern, name) for pattern, value in self.entries)

    @property
    def patterns(self) -> list[str]:
        """Names, or patterns, of single variables."""
        return [pattern for pattern, _ in self.entries if pattern != "*"]


NodataValues = NodataCodes | float | str | Sequence[float | str] | None
"""Accepted types of nodata values."""


def _meant(pattern: str, name: str) -> bool:
    return pattern == name or fnmatchcase(name, pattern)


def _number(text: str, word: str) -> float | None:
    if text.lower() == TRUST:
        return None
    try:
        value = float(text)
    except ValueError:
        raise OptionError(f"layers.nodata={word}: {EXPECTED}") from None
    return math.nan if math.isnan(value) else value
