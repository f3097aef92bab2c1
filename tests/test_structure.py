"""The shape of the code: no circle of imports, no crowded folder. The layers are a contract of `make check`."""

import ast
import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from sdm.kinds.species.methods.method import method_of
from sdm.kinds.task import Task
from sdm.models.interface import FittedModel
from sdm.options.definitions import RunOptions
from sdm.options.fitting import FitOptions

ROOT = Path(__file__).parents[1]
MOST_FILES = 20


def modules() -> dict[str, Path]:
    """Every module of the package and of the command line, by its dotted name."""
    found = {}
    for folder, name in (("sdm", "sdm"), ("cli", "sdm_cli")):
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join((name, *(part for part in parts if part != "__init__")))] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that a file imports, also inside functions and for types alone."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found & set(known)


def test_no_files_import_each_other_in_a_circle() -> None:
    known = modules()
    graph = {name: imports(path, known) - {name} for name, path in known.items()}
    while free := [name for name, needed in graph.items() if not needed]:
        for name in free:
            del graph[name]
        for needed in graph.values():
            needed.difference_update(free)
    assert not graph, f"these import each other: {sorted(graph)}"


def test_a_circle_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    from sdm.b import g\n")
    assert imports(tmp_path / "a.py", {"sdm.b": tmp_path}) == {"sdm.b"}


@pytest.mark.parametrize("top", ["sdm", "cli", "tests", "benchmarks"])
def test_no_folder_is_crowded(top: str) -> None:
    counts = Counter(path.parent for path in (ROOT / top).rglob("*.py"))
    crowded = {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count > MOST_FILES}
    assert not crowded


def test_contributing_names_the_whole_interface_of_a_kind() -> None:
    """Whoever adds a kind of model finds every member that a task and a model must have."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for interface in (Task, FittedModel):
        missing = [name for name in interface.__abstractmethods__ if f"{name}(" not in text and f"`{name}`" not in text]
        assert not missing, interface.__name__


def test_no_two_public_names_are_the_same() -> None:
    """One word for one thing: a class or function of the library has a name that no other has."""
    counts: Counter[str] = Counter()
    for name, path in modules().items():
        if name.startswith("sdm."):
            body = ast.parse(path.read_text(encoding="utf-8")).body
            counts.update(node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef)))
    assert not [name for name, count in counts.items() if count > 1 and not name.startswith("_")]


def test_files_of_the_user_are_opened_in_one_place() -> None:
    """Rasters and vector files may name other files and servers: they are opened where that is checked."""
    opened = []
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.unparse(node) if isinstance(node, ast.Call) else ""
            if text.startswith(("geopandas.read_file(", "pyogrio.read")) and name != "sdm.data.vectors":
                opened.append(name)
            if text.startswith("rasterio.open(") and not re.search(r", (mode=)?'w'", text):
                opened.append(name)
    assert not opened


def test_a_method_for_species_is_one_file() -> None:
    """`fit.model` names a module of methods, and nothing else asks for it."""
    folder = ROOT / "sdm" / "kinds" / "species" / "methods"
    for name in get_args(FitOptions.model_fields["model"].annotation):
        method = method_of(RunOptions(fit=FitOptions(model=name)))
        assert (method.name, method.__module__) == (name, f"sdm.kinds.species.methods.{name}")
        assert (folder / f"{name}.py").exists()
    asked = re.compile(r"fit\.model (==|!=|in|not in) ")
    asking = {name for name, path in modules().items() if asked.search(path.read_text(encoding="utf-8"))}
    assert asking <= {"sdm.kinds.classes.kind", "sdm.options.rules"}


def kinds_of_models() -> set[str]:
    """The names of the kinds of models."""
    from sdm.kinds.registry import HOMES

    return {*HOMES} - {"projection"}


def asks_for_kind(node: ast.AST, kinds: set[str]) -> bool:
    """Whether an expression compares something with the name of a kind, or is about the class of a model."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        named = {one.value for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant)}
        asked = re.search(r"\bkind\b|kind_of", " ".join(ast.unparse(side) for side in sides))
        return bool(asked and kinds & {name for name in named if isinstance(name, str)})
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
        return bool(re.search(r"\b(ClassModel|FittedJoint|GroupModel)\b", ast.unparse(node.args[1])))
    return False


def test_nothing_outside_the_folders_of_kinds_asks_for_a_kind() -> None:
    """Whatever is particular to a kind of model is in its folder, so that a new kind needs no change elsewhere."""
    kinds, asking = kinds_of_models(), []
    for name, path in modules().items():
        if not name.startswith(("sdm.kinds", "sdm.models", "sdm.estimators")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            asking += [f"{path}:{node.lineno}" for node in ast.walk(tree) if asks_for_kind(node, kinds)]
    for path in (ROOT / "sdm" / "report" / "templates").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        asking += [str(path)] if re.search(r"results\.kind\b|(?<!item\.)\bkind\s*(==|!=|in)\s*[\"(]", text) else []
    assert not asking


@pytest.mark.parametrize(
    "code", ['results.kind == "species"', 'kind in ("classes", "group")', "isinstance(model, ClassModel)"]
)
def test_asking_for_a_kind_would_be_seen(code: str) -> None:
    assert asks_for_kind(ast.parse(code, mode="eval").body, {"species", "classes", "group"})
