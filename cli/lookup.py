"""Options, terms of the glossary and error codes by name, for `sdm help NAME`."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from sdm.options.reading import leaves
from sdm_cli.help_text import WIDTH, first_sentence
from sdm_cli.options import option_text, value_words

Entry = tuple[set[str], str, str]
"""Names, title and text."""


def look_up(name: str, glossary: Path) -> list[str]:
    """Return the entries with a name in full, then the titles of entries whose names contain it."""
    key = _plain(name)
    entries = [*_options(), *_terms(glossary.read_text(encoding="utf-8"))]
    exact = [entry for entry in entries if key in entry[0]]
    others = [each for each in entries if each not in exact and key and any(f"_{key}" in f"_{one}" for one in each[0])]
    exact, others = (exact, others) if exact or len(others) > 1 else (others, [])
    wrapper = textwrap.TextWrapper(WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    complete = [f"{title}\n{wrapper.fill(text)}\n" for _, title, text in exact]
    return complete + [f"{title}: {first_sentence(text)}" for _, title, text in others]


def error_entry(code: str, page: Path) -> str:
    """Return the entry of an error code, such as E013; an empty text if there is none."""
    entries = page.read_text(encoding="utf-8").split("\n## ")[1:]
    return next((f"## {entry.strip()}\n" for entry in entries if entry.startswith(f"{code.upper()}: ")), "")


def _options() -> Iterator[Entry]:
    for leaf in leaves():
        title = f"--{leaf.shown.replace('_', '-')}{'' if leaf.flag else f' {value_words(leaf)}'}"
        yield {_plain(word) for word in (leaf.name, *leaf.spellings)}, f"{title} ({leaf.dotted})", option_text(leaf)


def _terms(glossary: str) -> Iterator[Entry]:
    plain = re.sub(r"\[(.*?)\]\(.*?\)|[`*]", r"\1", glossary)
    for term, meaning, others in re.findall(r"^\| (?!term \|)(.+?) \| (.+?) \|(.*)\|$", plain, re.MULTILINE):
        yield {_plain(word) for word in re.split("[,;]", f"{term},{others}")} - {""}, f"{term} (glossary)", meaning


def _plain(word: str) -> str:
    return re.sub(r"\W+", "_", word.lower()).strip("_")
