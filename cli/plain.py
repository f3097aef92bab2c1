"""Text that may be shown anywhere: nothing that a terminal obeys, and no secrets."""

import re

from sdm.errors import hide_secrets

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Show what a terminal would obey (colours, moves of the cursor, text turned round) as \\x1b and the like, and no
    secrets of addresses."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), hide_secrets(text))
