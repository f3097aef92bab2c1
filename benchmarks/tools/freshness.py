"""Whether figures in documents are older than the code that they speak of.

Every benchmark that saves results leaves beside them, in `results/measured/`, the date of each part and a digest of
every file of code that was at work. `python -m benchmarks check-docs` reads which pages name which benchmark, and
compares. A digest is of what code does: comments, docstrings and layout do not count.
"""

import ast
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = ("docs/*.md", "benchmarks/notes/*.md", "README.md")
PROGRAM = ("sdm", "cli")  # all of whose code is at work when a benchmark starts the program
_COMMAND = re.compile(r"python -m benchmarks[. ](?:\w+\.)*(\w+)")
_FILE = re.compile(r"benchmarks/results/(\w+)\.(?:json|csv)")
STATES = ("current", "unknown", "older")
_started: list[str] = []  # programs of this project that this process started


def watch_programs() -> None:
    """Remember from now on whether this process starts the program, or another Python: it then measures all code."""

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and not _started:
            words = [str(word) for word in given[1]] if isinstance(given[1], list | tuple) else [str(given[1])]
            _started.extend(word for word in words[:1] if Path(word).name.startswith(("python", "sdm")))

    sys.addaudithook(hear)


def code_at_work() -> dict[str, str]:
    """Return the digests of the files of this project that this process has loaded; of all of the program if it was
    started."""
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    files = {Path(name).resolve() for name in loaded if name}
    if _started:
        files |= {path for top in PROGRAM for path in (ROOT / top).rglob("*.py")}
    tops = tuple(ROOT / top for top in (*PROGRAM, "benchmarks"))
    files -= {ROOT / "benchmarks" / "__main__.py"}  # which measures nothing
    own = sorted(path for path in files if path.suffix == ".py" and any(path.is_relative_to(top) for top in tops))
    return {path.relative_to(ROOT).as_posix(): code_digest(path) for path in own}


@cache
def code_digest(path: Path) -> str:
    """Return a digest of what a file of Python does; empty if there is no such file."""
    if not path.is_file():
        return ""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(
            body, list
        ):
            node.body = [one for one in body if not _is_text(one)]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def stamp(
    name: str,
    results: Iterable[str],
    kept: Collection[str] = (),
    folder: Path = RESULTS,
    code: Mapping[str, str] | None = None,
) -> None:
    """Write when each part of some results was measured, and with which code (that of this process, unless it is
    given); parts that are `kept` from an earlier run keep what was known of them."""
    place = folder / "measured" / f"{name}.json"
    known = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}
    now = {"date": datetime.now(UTC).date().isoformat(), "code": code_at_work() if code is None else dict(code)}
    parts = {part: known.get(part) if part in kept else now for part in results}
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({part: own for part, own in parts.items() if own}, indent=None) + "\n")


@dataclass(frozen=True)
class Figures:
    """The figures of one benchmark, or of one results file, and the pages that show them."""

    name: str
    pages: tuple[str, ...]
    state: str  # current, older, or unknown
    text: str


def check_figures(root: Path = ROOT) -> list[Figures]:
    """Return the figures of all pages, with their age; of several files of a benchmark that of the worst."""
    pages: dict[str, list[str]] = {}
    for page in sorted(path for pattern in PAGES for path in root.glob(pattern)):
        text = page.read_text(encoding="utf-8")
        for name in dict.fromkeys([*_FILE.findall(text), *_COMMAND.findall(text)]):
            pages.setdefault(name, []).append(page.relative_to(root).as_posix())
    found = []
    for name, shown in sorted(pages.items()):
        ages = [_age(path, root) for path in _files(name, root)]
        if ages:
            state, text = max(ages, key=lambda age: STATES.index(age[0]))
            more = f" (one of {len(ages)} files)" if len(ages) > 1 else ""
            found.append(Figures(name, tuple(shown), state, text + more))
    return found


def _files(name: str, root: Path) -> list[Path]:
    """Return the results of a benchmark, or those of a name."""
    folder = root / "benchmarks" / "results"
    every = sorted([*folder.glob("*.json"), *folder.glob("*.csv")])
    return [path for path in every if path.stem == name or path.stem.startswith(f"{name}_")]


def _age(file: Path, root: Path) -> tuple[str, str]:
    """Return the state of a results file, and what is to be said of it."""
    place = file.parent / "measured" / f"{file.stem}.json"
    known: dict[str, Any] = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}
    parts = list(json.loads(file.read_text(encoding="utf-8"))) if file.suffix == ".json" else []
    if not known or any(part not in known for part in parts if part != "machine"):
        return _by_git(file, root)
    changed: dict[str, None] = {}
    for own in known.values():
        changed |= dict.fromkeys(at for at, digest in own["code"].items() if code_digest(root / at) != digest)
    dates = sorted({own["date"] for own in known.values()})
    if not changed:
        return "current", f"measured {' and '.join(dates)}, with the code as it is"
    first, more = next(iter(changed)), len(changed) - 1
    return "older", f"measured {dates[0]}; since then {first}{f' and {more} other files' if more else ''} changed"


def _by_git(file: Path, root: Path) -> tuple[str, str]:
    """Return what the history tells of results that do not say with which code they were measured."""
    commit, date = (*_git(root, "log", "-1", "--format=%H %cs", "--", str(file)).split(), "", "")[:2]
    if not commit:
        return "unknown", "it is not known when they were measured"
    changes = int(_git(root, "rev-list", "--count", f"{commit}..HEAD", "--", "sdm", "cli") or 0)
    if not changes:
        return "current", f"written {date}, and no code changed since"
    return "unknown", f"written {date} without a note of the code; {changes} changes to the code since"


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def main(root: Path = ROOT) -> int:
    """Print the age of all figures; return 1 if some are, or may be, older than their code."""
    found = check_figures(root)
    words = {"current": "current", "older": "OLDER THAN THE CODE", "unknown": "age unknown"}
    for figures in found:
        shown = ", ".join(figures.pages)
        print(f"{words[figures.state]:>19}  {figures.name}: {figures.text}  ({shown})")
    counts = {state: sum(one.state == state for one in found) for state in words}
    print(f"\n{len(found)} results are shown: {counts['current']} current, {counts['older']} older than the code, "
          f"{counts['unknown']} of unknown age")  # fmt: skip
    if counts["older"] or counts["unknown"]:
        print("Measure them again with the command that the page names: python -m benchmarks NAME")
    return int(bool(counts["older"] or counts["unknown"]))
