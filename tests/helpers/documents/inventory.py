"""The numbers on the pages for users, and the texts that claim them: a number that no text claims has no check."""

import re
from collections.abc import Iterable
from pathlib import Path

from documents.commands import ROOT

FOLDERS = ("start", "tutorials", "how-to")
_FILES = [ROOT / "README.md", *(path for name in FOLDERS for path in sorted((ROOT / "docs" / name).glob("*.md")))]
PAGES = {path.stem: path for path in _FILES}
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
         "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty")  # fmt: skip
TENS = {"thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "thousand": 1000, "million": 1_000_000}
POWERS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_DIGITS = r"[-−+±]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e-?\d+)?(?:[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"
_SPELLED = rf"(?i:\b(?:{'|'.join((*WORDS, *TENS))})\b)"
_LARGE = rf"(?i:\b(?:{'|'.join((*WORDS[5:], *list(TENS)[:4]))})\b)"  # smaller words are of the language
NUMBER = re.compile(rf"(?<![\w.,]){_DIGITS}(?!\w)|{_LARGE}")
NOT_FACTS = {
    r"^ *(?:sdm|pip|pipx|uv|python3|conda|dask|ssh|sbatch) .*$|^ {4,}(?:[\w-]+:|- |--).*$": "commands and run files",
    r"`[^`\n]+`": "names, options and formulas",
    r"\]\([^)]*\)|<https?:[^>]*>": "links",
    r"^#+ \d+\.|^ *\d+\. |\bsteps? \d(?: to \d)?|\baxis \d|\bclass \d": "numbering",
    r"\d{4}-\d\d-\d\d|(?<![\d.,])(?:19|20)\d\d\b": "years of papers, of data and of scenarios",
    r"\b(?:Maxent|ENMeval|maxnet|elapid|speed:|kuenm2|biomod2|sdm|Python|PEP|WGS|UTF|Latin|JPEG)[ -]\d[\d.]*(?:-\d+)?":
        "versions and standards",
    r"(?<![\d.,])[01](?![\d.,]*\d|e-| ?%| km)": "ends of scales, absence and presence",
    r"^>.*$": "the template of a methods section",
}  # fmt: skip
"""Numbers that are not facts about the program or its measurements, by patterns, and what they are."""


def value_of(text: str) -> float:
    """The value of a number as a page shows it: 10,000, −0.97, 10⁻⁶, or a word."""
    word = text.lower()
    if word in WORDS:
        return float(WORDS.index(word))
    if word in TENS:
        return float(TENS[word])
    plain = text.replace(",", "").replace("−", "-").lstrip("±+")
    base, power = re.fullmatch(r"([^⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)(.*)", plain).groups()
    return float(base) ** int(power.translate(POWERS) or 1)


def pattern_of_text(text: str) -> re.Pattern[str]:
    """A pattern for a text of a page, wherever its lines break; `#` is any number, and `…` the rest of a cell."""
    parts = re.split("([#…])", " ".join(text.split()))
    holes = {"#": rf"({_DIGITS}|{_SPELLED})", "…": r"[^\n|]*?"}
    return re.compile("".join(holes.get(part, re.escape(part).replace(r"\ ", r"\s+")) for part in parts))


def table_pattern(heading: str) -> re.Pattern[str]:
    """A pattern for the whole table whose first column has a heading."""
    return re.compile(rf"^\| *{re.escape(heading)} *\|(?:.*\n)+?(?=\n|\Z)", re.MULTILINE)


OUTPUT = re.compile(r"^```text\n.*?^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^( *)```(\w*)\n.*?^\1```$", re.MULTILINE | re.DOTALL)


def unclaimed(page: Path, claims: Iterable[re.Pattern[str]]) -> list[str]:
    """The place, the number and the line of every number that no claim and no rule covers."""
    text = page.read_text(encoding="utf-8")
    covered = [match.span() for pattern in claims for match in pattern.finditer(text)]
    covered += [match.span() for match in FENCED.finditer(text) if match[2] != "text"]
    covered += [match.span() for rule in NOT_FACTS for match in re.finditer(rule, text, re.MULTILINE)]
    lines, found = text.splitlines(), []
    for match in NUMBER.finditer(text):
        if not any(start <= match.start() < end for start, end in covered):
            line = text.count("\n", 0, match.start())
            found.append(f"{page.name}:{line + 1}: {match[0]}: {lines[line].strip()[:110]}")
    return found
