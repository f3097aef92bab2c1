"""The shape of the code: no circle of imports, no crowded folder. The layers are a contract of `make check`."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
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
MOST_LINES = 60  # of a function, without its signature and docstring
MOST_PARAMETERS = 8
LIBRARIES = (
    "jinja2",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "pydantic",
    "rasterio",
    "scipy",
    "threading",
    "typer",
    "yaml",
)


@cache
def modules() -> dict[str, Path]:
    """Return every module of the package and of the command line, by its dotted name."""
    paths = {}
    for folder, name in (("sdm", "sdm"), ("cli", "sdm_cli")):
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            paths[".".join((name, *(part for part in parts if part != "__init__")))] = path
    return paths


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return everything in the syntax tree of a file."""
    return list(ast.walk(syntax_tree(path)))


def imported_names(path: Path) -> set[str]:
    """Return the modules and names that a file imports, also inside functions and for types alone."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{name.name}" for name in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
    return names


def imports(path: Path, paths: Mapping[str, Path]) -> set[str]:
    """Return the modules of the project that a file imports."""
    return imported_names(path) & set(paths)


def test_every_module_of_the_project_that_is_imported_exists() -> None:
    packages = {str(path.parent.relative_to(ROOT)).replace("/", ".") for path in modules().values()}
    known = {*modules(), *packages, *(name.replace("cli", "sdm_cli", 1) for name in packages)}
    missing = []
    for path in modules().values():
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in ("sdm", "sdm_cli"):
                missing += [f"{path}: {node.module}"] if node.module not in known else []
    assert not missing


def layers() -> list[list[str]]:
    """Return the layers of the house from the top, as the contract of `make check` has them."""
    text = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = text["tool"]["importlinter"]["contracts"][0]["layers"]
    return [row.split(" | ") for row in rows]


def test_nothing_imports_upwards() -> None:
    floors = {room: floor for floor, rooms in enumerate(layers()) for room in rooms}

    def floor_of(name: str) -> tuple[int, str] | None:
        rooms = [room for room in floors if name == room or name.startswith(f"{room}.")]
        return (floors[rooms[0]], rooms[0]) if rooms else None

    upwards = []
    for name, path in modules().items():
        here = floor_of(name)
        for other in imports(path, modules()):
            there = floor_of(other)
            if here and there and here[1] != there[1] and there[0] <= here[0]:
                upwards.append(f"{name} imports {other}")
    assert not upwards


def test_no_files_import_each_other_in_a_circle() -> None:
    paths = modules()
    graph = {name: imports(path, paths) - {name} for name, path in paths.items()}
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


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield all functions by module and name, except kernels, which take the arrays and scalars of a loop."""
    for module, path in modules().items():
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and not any("jit" in ast.unparse(one) for one in node.decorator_list):
                yield f"{module}.{node.name}", node


def lines_of(function: ast.FunctionDef) -> int:
    """Return the lines of a function without its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_functions_are_read_at_once() -> None:
    long = {name: lines_of(node) for name, node in functions() if lines_of(node) > MOST_LINES}
    assert not long


def is_public_signature(name: str, node: ast.FunctionDef) -> bool:
    """Whether users call a function: its parameters are documented one by one, or are options of the terminal."""
    documented = "Parameters\n---" in (ast.get_docstring(node) or "")
    return documented or name.startswith(("sdm.estimators", "sdm_cli.commands"))


def test_functions_have_few_parameters() -> None:
    crowded = {}
    for name, node in functions():
        count = len([one for one in (*node.args.args, *node.args.kwonlyargs) if one.arg not in ("self", "cls")])
        if count > MOST_PARAMETERS and not is_public_signature(name, node):
            crowded[name] = count
    assert not crowded


def test_kinds_and_runs_pass_values_by_name() -> None:
    """A reader sees which values a function takes."""
    rooms = ("sdm.kinds", "sdm.run")
    assert not [name for name, node in functions() if name.startswith(rooms) and node.args.kwarg is not None]


def private_names(tree: ast.AST) -> list[str]:
    """Return the private names of other packages that a file uses."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{one.name}" for one in node.names]
            continue
        else:
            continue
        names.append(name)
    return [
        name
        for name in names
        if name.split(".")[0] in LIBRARIES and any(re.fullmatch("_[a-z].*", part) for part in name.split(".")[1:])
    ]


def test_no_private_name_of_another_package_is_used() -> None:
    assert not [f"{path}: {name}" for path in modules().values() for name in private_names(syntax_tree(path))]


@pytest.mark.parametrize("code", ["numba.core._memo", "from typer import _click", "threading.current._shutdown()"])
def test_a_private_name_would_be_seen(code: str) -> None:
    assert private_names(ast.parse(code))


def test_the_page_for_new_kinds_names_the_whole_interface() -> None:
    """Whoever adds a kind of model finds every member that a task and a model must have."""
    text = (ROOT / "docs/development/adding_a_kind.md").read_text(encoding="utf-8")
    for interface in (Task, FittedModel):
        missing = [name for name in interface.__abstractmethods__ if f"{name}(" not in text and f"`{name}`" not in text]
        assert not missing, interface.__name__


def test_no_two_public_names_are_the_same() -> None:
    """One word for one thing: a class or function of the library has a name that no other has."""
    counts: Counter[str] = Counter()
    for name, path in modules().items():
        if name.startswith("sdm."):
            body = syntax_tree(path).body
            counts.update(node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef)))
    assert not [name for name, count in counts.items() if count > 1 and not name.startswith("_")]


def test_files_of_the_user_are_opened_in_one_place() -> None:
    """Rasters and vector files may name other files and servers: they are opened where that is checked."""
    opened = []
    for name, path in modules().items():
        for node in nodes(path):
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
            tree = syntax_tree(path)
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
