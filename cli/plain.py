"""Text without control characters of a terminal, and without secrets."""

import re

from sdm.errors import hide_secrets

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Return a text with control characters escaped as \\x1b, and without secrets in addresses."""
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), hide_secrets(text))
