"""Tables of the documentation: their cells, and the numbers in them."""

import re

from documents.commands import page_of

NUMBER = re.compile(r"[-−+]?\d[\d,]*\.?\d*")


def table_of(topic: str, heading: str) -> dict[str, list[str]]:
    """The rows of a table of a page, by their first cells; the table is found by the heading of its first column."""
    text = f"\n{page_of(topic).read_text(encoding='utf-8')}".partition(f"\n| {heading} |".replace("  ", " "))[2]
    assert text, f"{topic} has no table with the heading {heading!r}"
    rows = [[cell.strip(" `*") for cell in line.strip("|").split("|")] for line in text.split("\n\n")[0].splitlines()]
    return {row[0]: row[1:] for row in rows[2:]}


def numbers_of(cells: list[str]) -> list[tuple[float, float]]:
    """The first number of each cell that has one, and half of the unit of its last digit."""
    found = [match[0] for match in map(NUMBER.search, cells) if match]
    places = [len(text.partition(".")[2]) for text in found]
    values = [float(text.replace(",", "").replace("−", "-")) for text in found]
    return [(value, 0.500001 * 10.0**-digits) for value, digits in zip(values, places, strict=True)]


def disagreements(cells: list[str], expected: list[float]) -> list[str]:
    """What is wrong with a row: the numbers that are not the expected ones, rounded as the row rounds them."""
    shown = numbers_of(cells)
    if len(shown) != len(expected):
        return [f"{len(shown)} numbers, expected {len(expected)}: {cells}"]
    pairs = zip(shown, expected, strict=True)
    return [f"{value} is not {wanted:.6g}" for (value, half), wanted in pairs if abs(value - wanted) > half]


def listed_files(topic: str, name: str) -> list[str]:
    """The files in the tables of a page whose first column is `file`, with a name in the place of the page's own.

    `_folds.csv` after `habitat_roc.csv` is a file of the same name, `.png` after `habitat.tif` the same file as a
    picture.
    """
    text = page_of(topic).read_text(encoding="utf-8")
    found = list[str]()
    for table in re.findall(r"^\| file \|.*?(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL):
        for row in table.splitlines()[2:]:
            last = ""
            for word in re.findall(r"`([^`]+)`", row.split("|")[1]):
                last = last.rpartition(".")[0] + word if word.startswith(".") else word
                last = f"{name}{word}" if word.startswith("_") else last
                found.append(last)
    return found


def pattern_of(file: str) -> re.Pattern[str]:
    """The names that a file of a table stands for: `<variable>` is any name, and so is `*`; `_1` is any number."""
    text = re.sub(r"<\w+>|\\\*", "[^/]+", re.escape(file)).replace(r"_1\.", r"_\d+\.")
    return re.compile(f"{text}.*" if file.endswith("/") else text)


def differences(
    topic: str, name: str, written: set[str], elsewhere: tuple[str, ...] = ()
) -> tuple[list[str], list[str]]:
    """The files of the tables that no run wrote, and the files of the runs that no table lists."""
    files = listed_files(topic, name)
    patterns = [pattern_of(file) for file in (*files, *elsewhere)]
    missing = [file for file in files if not any(pattern_of(file).fullmatch(each) for each in written)]
    return missing, sorted(each for each in written if not any(one.fullmatch(each) for one in patterns))
