"""`sdm cite`: entries that BibTeX can read, of the version that is installed."""

import re

from terminal import succeed

from sdm._version import __version__


def test_cite_gives_a_line_and_entries() -> None:
    said, entries = succeed("cite").stdout, succeed("cite", "--bibtex").stdout
    assert said.startswith("The sdm developers (")
    assert f"version {__version__}" in said
    assert re.findall(r"^@(\w+)\{(\w+),$", entries, re.MULTILINE) == [
        ("software", "sdm"), ("article", "phillips2006"), ("article", "dudik2007"),
    ]  # fmt: skip
    assert entries.count("{") == entries.count("}")
    assert entries in said
