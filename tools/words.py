"""`python -m tools.words [PATHS]` checks documentation, help, messages and pages against the rules of tools/words.yaml.

It prints `file:line: rule: suggestion` for each finding, and exits with 1 if there is any.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
VOCABULARY = Path(__file__).with_suffix(".yaml")
LONGEST = 30  # words of a sentence
GAP = "…"  # a value that is filled in
_BLANK = re.compile(r"[^\n]")
_CODE = re.compile(r"^ *(```|~~~).*?^ *\1 *$|\A---\n.*?^---$|<!--.*?-->", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\s*(?:#+ |[-*+] |\d+\. |> |!!! \w+|(?=\|))")
_TEMPLATE = re.compile(r"<(script|style|code|pre)\b.*?</\1>|\{#.*?#\}|\{%.*?%\}", re.DOTALL)
_ATTRIBUTE = re.compile(r"(?:title|alt|aria-label|placeholder)=\"([^\"<>]*)\"")
_STRING = re.compile(r"\"([^\"\n]{12,})\"|'([^'\n]{12,})'|`([^`\n]{12,})`")
_VALUE = re.compile(r"style=\"[^\"]*\"|\{\{.*?\}\}|\$?\{[^{}]*\}|%\([^)]*\)\w|%[.\d]*[sdfg]\b", re.DOTALL)
_SENTENCE = re.compile(r"(?<!\bal)(?<!\bvs)(?<!\bcf)(?<!\b[a-z])[.!?][\"')*_]*\s+|\n\s*\n|(?<=:)\s+(?=[A-Z])|¶")
_FUNCTION = re.compile(r"\b(the|an?|of|is|are|in|to|or)\b")  # lists of names have none of these
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Rule:
    """A pattern that a sentence must not match, what to write instead, and an example of both."""

    name: str
    find: re.Pattern[str]
    use: str
    bad: str
    good: str


@cache
def vocabulary() -> dict[str, Any]:
    """Return the content of tools/words.yaml."""
    content: dict[str, Any] = yaml.safe_load(VOCABULARY.read_text(encoding="utf-8"))
    return content


@cache
def rules() -> list[Rule]:
    """Return the rules of the vocabulary."""
    rows = [(name, row) for name, rows in vocabulary()["rules"].items() for row in rows]
    return [Rule(name, re.compile(row["find"]), row["use"], row["bad"], row["good"]) for name, row in rows]


def problems(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the position, the rule and the suggestion of everything in a text that breaks a rule."""
    start = 0
    for mark in [*_SENTENCE.finditer(text), None]:
        sentence, here = text[start : mark.start() if mark else None], start
        start = mark.end() if mark else start
        flat = " ".join(sentence.split())
        count = len(_WORD.findall(flat))
        if count > LONGEST and _FUNCTION.search(flat):
            yield here, "length", f"{count} words in a sentence, at most {LONGEST}: {flat[:60]}…"
        if flat.count(";") > 1:
            yield here, "semicolons", f"at most one semicolon in a sentence: {flat[:60]}…"
        for rule in rules():
            if found := rule.find.search(flat):
                first = re.search(r"\s+".join(map(re.escape, found[0].split())), sentence)
                yield here + (first.start() if first else 0), rule.name, f"'{found[0].strip()}': {rule.use}"


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with spaces for what a pattern matches, so that lines keep their numbers."""
    return pattern.sub(lambda match: _BLANK.sub(" ", match[0]), text)


def markdown(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every paragraph, heading, list item and table cell."""
    text = re.sub(r"`[^`\n]+`", "code", _blanked(_CODE, text))
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    start, block, nested = 1, "", False
    for line, words in enumerate([*text.splitlines(), ""], 1):
        if words.startswith("    ") and not block and not nested:
            continue  # code
        nested = bool(_BLOCK.match(words)) or (nested and not words[:1].strip())
        if _BLOCK.match(words) or not words.strip():
            yield from ((start, cell) for cell in (block.split("|") if block.startswith("|") else [block]))
            start, block = line, _BLOCK.sub("", words)
        else:
            block += f"\n{words}"


def template(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of what a template shows."""
    text = _blanked(_TEMPLATE, re.sub(r"\{% el[^%]*%\}", lambda match: "¶" + " " * (len(match[0]) - 1), text))
    for block in re.finditer(r"(?:[^<>]|</?(?:b|i|em|strong|a|span|small)\b[^>]*>)+(?=<|$)", text):
        yield text.count("\n", 0, block.start()) + 1, re.sub(r"<[^>]*>", "", _VALUE.sub(GAP, block[0]))
    for value in _ATTRIBUTE.finditer(text):
        yield text.count("\n", 0, value.start()) + 1, _VALUE.sub(GAP, value[1])


def script(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every string of a script that is prose."""
    text = re.sub(r"//.*", "", text)
    for value in _STRING.finditer(text):
        words = value[1] or value[2] or value[3]
        yield from [(text.count("\n", 0, value.start()) + 1, _VALUE.sub(GAP, words))] if _is_prose(words) else []


def python(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every string of the code that is prose, and of docstrings shown as help."""
    tree = ast.parse(text)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(id(node.value))  # a docstring
        elif isinstance(node, ast.JoinedStr):
            words = "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
            yield from [(node.lineno, words)] if _is_prose(words) else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield from [(node.lineno, _VALUE.sub(GAP, node.value))] if _is_prose(node.value) else []
        elif isinstance(node, ast.FunctionDef) and any("console" in ast.unparse(one) for one in node.decorator_list):
            yield node.lineno, re.sub(r"`[^`\n]+`", "code", ast.get_docstring(node) or "")


def _is_prose(text: str) -> bool:
    return len(re.findall(r"(?:^|\s)[('\"]?[^\W\d_]+(?=[\s.,;:)'\"]|$)", text)) >= 3  # words between spaces


READERS = {".md": markdown, ".html": template, ".js": script, ".py": python}


def files(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the files with text at some paths: files, folders, or patterns below the project."""
    for each in paths:
        for path in [Path(each)] if Path(each).exists() else sorted(ROOT.glob(each)):
            inside = sorted(path.rglob("*")) if path.is_dir() else [path]
            yield from (one for one in inside if one.suffix in READERS and one.name not in vocabulary()["generated"])


def main() -> None:
    """Check the paths of the command line, by default those of the vocabulary, and print the findings."""
    count = 0
    for path in dict.fromkeys(files(sys.argv[1:] or vocabulary()["paths"])):
        for line, text in READERS[path.suffix](path.read_text(encoding="utf-8")):
            for position, rule, suggestion in problems(text):
                print(f"{path}:{line + text.count(chr(10), 0, position)}: {rule}: {suggestion}")
                count += 1
    sys.exit(f"{count} findings; the rules are in tools/words.yaml" if count else 0)


if __name__ == "__main__":
    main()
