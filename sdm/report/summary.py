"""The table of a batch, one row per species: `summary.csv` and `summary.parquet`; and its failures by their reason."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sdm.report.parquet import write_parquet
from sdm.report.tables import table_text
from sdm.storage.files import has_parquet, write_text
from sdm.types import Row

SUMMARY, SUMMARY_PARQUET = "summary.csv", "summary.parquet"
HEAD = ("species", "status")
TAIL = ("folder", "page", "preview", "error")
"""The columns around the numbers. `page` and `preview` are paths relative to the folder of the batch, or empty."""
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def write_summary(folder: Path, rows: Sequence[Row]) -> list[Path]:
    """Write the rows of a batch as `summary.csv`, and as `summary.parquet` where pyarrow is installed, each in one
    step; earlier ones are replaced.

    The columns are `species`, `status`, every number that any species has, and `folder`, `page`, `preview`, `error`,
    whichever species comes first: a failed one has no numbers.
    """
    inner = dict.fromkeys(key for row in rows for key in row if key not in (*HEAD, *TAIL))
    columns = (*HEAD, *inner, *TAIL)
    ordered = [{key: row.get(key, "") for key in columns} for row in rows]
    text = table_text(ordered) if ordered else ",".join(columns) + "\n"
    written = [write_text(folder / SUMMARY, text, overwrite=True)]
    if has_parquet():
        written.append(write_parquet(folder / SUMMARY_PARQUET, ordered, columns))
    return written


@dataclass(frozen=True)
class FailureGroup:
    """Species that failed for one reason; numbers in which their messages differ are `…` in the reason."""

    reason: str
    species: list[str]


def group_failures(rows: Iterable[Row]) -> list[FailureGroup]:
    """Return the failures of a batch by their reason, the most frequent first; messages that differ in the species'
    name or in numbers alone are one reason."""
    found: dict[str, tuple[dict[str, None], list[str]]] = {}
    for row in rows:
        if error := str(row.get("error") or ""):
            said = without_name(error, str(row.get("species", "")))
            texts, species = found.setdefault(_NUMBER.sub("…", said), ({}, []))
            texts[said] = None
            species.append(str(row.get("species", "")))
    groups = [FailureGroup(_common(texts), species) for texts, species in found.values()]
    return sorted(groups, key=lambda group: -len(group.species))


def _common(texts: Iterable[str]) -> str:
    """Return what messages have in common that differ in numbers alone."""
    numbers = iter([*zip(*(_NUMBER.findall(text) for text in texts))])

    def kept(_: re.Match[str]) -> str:
        values = set(next(numbers))
        return values.pop() if len(values) == 1 else "…"

    return _NUMBER.sub(kept, next(iter(texts)))


def without_name(error: str, species: str) -> str:
    """Return a message without the species' name before it, and with `the species` for the name inside it."""
    said = error.removeprefix(f"{species}: ")
    return re.sub(rf"(?<!\w){re.escape(species)}(?!\w)", "the species", said) if species else said
