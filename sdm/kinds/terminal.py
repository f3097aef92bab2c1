"""Lines of the terminal, from tables of labels and formats.

A row is a label and one or more formats, all templates of `str.format` over the values of a model. A part whose values
are missing is left out, and a row whose first part is left out is not shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Rows = Sequence[tuple[str, ...]]
Values = Mapping[str, Any]
RESULT = "  {:<11} {}"  # a line below the name of a model
FACT = "{:<12} {}"  # a line of an evaluation or of a model file


def terminal_lines(rows: Rows, values: Values, layout: str) -> list[str]:
    """Return the rows whose values are there, each with its label."""
    lines = []
    for label, *parts in rows:
        texts = [filled(part, values) for part in parts]
        if texts[0] is not None:
            lines.append(layout.format(label.format_map(values), "".join(text or "" for text in texts)))
    return lines


def table_lines(row: str, items: Iterable[Values]) -> list[str]:
    """Return one line per item."""
    return [row.format_map(item) for item in items]


def filled(template: str, values: Values) -> str | None:
    """Return a template with its values; None where one is missing."""
    try:
        return template.format_map(values)
    except (KeyError, IndexError, TypeError):
        return None
