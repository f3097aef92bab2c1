"""Small tables of HTML, by which notebooks show models, solutions and runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_CELL = 'style="text-align: left; padding: 2px 12px 2px 0; vertical-align: top; border: none"'
_NUMBER = 'style="text-align: right; padding: 2px 12px 2px 0; vertical-align: top; border: none"'


def _escape(text: str) -> str:
    from html import escape  # which only a notebook needs

    return escape(text)


def shown(value: Any) -> str:
    """Return a value as a person reads it: numbers with four digits."""
    if isinstance(value, bool) or value is None:
        return "" if value is None else ("yes" if value else "no")
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "" if value != value else f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"
    return str(value)


def facts_html(title: str, facts: Mapping[str, Any], more: str = "") -> str:
    """Return a heading and a table of names and values; `more` is HTML that stands below.

    Examples
    --------
    >>> facts_html("A model", {"AUC": 0.8974})[:20]
    '<div><b>A model</b><'
    """
    rows = "".join(
        f"<tr><th {_CELL}>{_escape(name)}</th><td {_CELL}>{_escape(shown(value))}</td></tr>"
        for name, value in facts.items()
        if value not in (None, "")
    )
    return f"<div><b>{_escape(title)}</b><table>{rows}</table>{more}</div>"


def rows_html(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table with a head; numbers stand right. A cell that is a dictionary has its HTML under ``html``."""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    heads = "".join(f"<th {_CELL}>{_escape(name)}</th>" for name in head)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f"<td {_CELL}>{value['html']}</td>"
    style = _NUMBER if isinstance(value, int | float) and not isinstance(value, bool) else _CELL
    return f"<td {style}>{_escape(shown(value))}</td>"
