"""`python -m tools.message_reference` writes docs/reference/messages.md: every error message in the code."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GAP = "…"
PROBLEMS = ("problems", "misplaced")  # functions that yield what is wrong with options
LEAST = 3  # words without which a message cannot be searched for
TOPICS = (
    ("cli", "The command line"),
    ("sdm/options", "Options of a run"),
    ("sdm/data/records", "Records"),
    ("sdm/data/rasters", "Layers"),
    ("sdm/data", "Tables, background, study areas"),
    ("sdm/assess", "Testing and tuning"),
    ("sdm/models", "Model files"),
    ("sdm/storage/archive.py", "Model files"),
    ("sdm/maps", "Maps and projections"),
    ("sdm/novelty", "Maps and projections"),
    ("sdm/run/projecting", "Maps and projections"),
    ("sdm/java", "Commands and files of Java Maxent"),
    ("sdm/run", "Many species, workers, clusters"),
    ("sdm/executors", "Many species, workers, clusters"),
    ("sdm/kinds", "Runs"),
    ("sdm/run", "Runs"),
    ("sdm/java", "Runs"),
    ("sdm/report", "Pages and figures"),
    ("sdm/api", "Python"),
    ("sdm/simulate", "Virtual species"),
    ("sdm/features", "Features and fitting"),
    ("sdm/maxent", "Features and fitting"),
    ("sdm/conditional", "Features and fitting"),
    ("sdm/joint", "Features and fitting"),
    ("sdm/shared", "Features and fitting"),
    ("sdm/estimators", "Features and fitting"),
    ("sdm", "Reading and writing files"),
)
BEGIN = f"""# Every error message

To find out about a message, search this page for some of its words (Ctrl-F, or `sdm help messages` and search there).
Names and numbers of your own stand for {GAP} here. Every message says what happened, what was found, and what to do.
[When something goes wrong](../how-to/troubleshooting.md) says more about the frequent ones, and about kinds of errors.
Made from the code (`make docs`).
"""


def main() -> None:
    """Write the reference into a folder, by default `docs/reference`."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "reference"
    (folder / "messages.md").write_text(reference(), encoding="utf-8")


def reference() -> str:
    """Return the text of the reference: topics, and in each its messages in the order of the alphabet."""
    known, found = set(error_classes()), dict[str, set[tuple[str, str]]]()
    for path, tree in sources():
        topic = next(title for start, title in TOPICS if path.startswith(start))
        found.setdefault(topic, set()).update(messages(tree, known))
    parts = [BEGIN]
    for title in dict.fromkeys(title for _, title in TOPICS):
        rows = sorted(found.get(title, ()), key=lambda row: (row[0].lstrip(f"{GAP}'\" ").lower(), row))
        parts += [f"## {title}\n", "| message | kind |", "|---|---|"]
        parts += [f"| `{text.replace('|', chr(92) + '|').replace('`', chr(39))}` | {kind} |" for text, kind in rows]
        parts.append("")
    return "\n".join(parts)


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Yield every file of the program, read as code."""
    for top in ("sdm", "cli"):
        for path in sorted((ROOT / top).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def error_classes() -> list[str]:
    """Return the names of `SdmError` and of all classes under it."""
    parents = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for _, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    names = ["SdmError"]
    for name in names:  # grows while it is read
        names += [each for each, bases in parents.items() if name in bases and each not in names]
    return names


def messages(tree: ast.Module, known: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the errors that a file makes: what each says, and its class."""
    for text, kind in _texts(tree, known):
        if sum(any(letter.isalpha() for letter in word) for word in text.split()) >= LEAST:
            yield " ".join(text.split()), kind


def _texts(tree: ast.Module, known: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the texts of errors, of rules between options, and of what else is wrong with options."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            if node.func.id in known:
                yield fixed_text(node.args[0]), node.func.id
            elif node.func.id == "Rule":
                yield re.sub(r"\{[^}]*\}", GAP, fixed_text(node.args[2])), "OptionError"
        elif isinstance(node, ast.FunctionDef) and node.name in PROBLEMS:
            yields = (each.value for each in ast.walk(node) if isinstance(each, ast.Yield))
            yield from ((fixed_text(text), "OptionError") for text in yields if isinstance(text, ast.JoinedStr))


def fixed_text(node: ast.expr) -> str:
    """Return a text of the code, with a gap for what is filled in when it is shown."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(fixed_text(each) if isinstance(each, ast.Constant) else GAP for each in node.values)
    return GAP


if __name__ == "__main__":
    main()
