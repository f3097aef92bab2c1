"""`python -m tools.api_reference` writes docs/reference/api.md from the docstrings and annotations of public names."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import sdm
from sdm import errors
from sdm.estimators.species import SpeciesEstimator

ROOT = Path(__file__).parents[1]
WIDTH = 110
STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
# Members that are there for those who add a kind of model (docs/development/adding_a_kind.md), not for users.
INNER = {
    "changed", "fit_again", "warm_start", "for_fold", "settings", "check_numbers", "used_seed",
    "array_names", "optional_names", "to_file", "from_file", "attempt", "to_bytes", "column_values",
}  # fmt: skip
# Classes of values that functions and attributes return; users do not construct them.
RETURNED = {
    "Findings": "sdm.kinds.task", "Evaluation": "sdm.run.evaluating", "Solution": "sdm.maxent.solution",
    "Aicc": "sdm.assess.measures.basic", "FittedModel": "sdm.models.interface", "ClassModel": "sdm.models.classes",
    "FittedJoint": "sdm.models.community", "GroupModel": "sdm.models.group",
}  # fmt: skip
LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises")
_HEADER = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
_ENTRY = re.compile(r'^ {4}"(\w+)": "([\w.]+)",$')
BEGIN = """# Python reference

Every public name of `sdm`, made from its docstring (`make docs`). Shapes: `n` points or sites, `V` variables, `J`
features, `C` classes, `S` species. A table is an array `(n, V)` or a data frame, whose columns are matched by name.

Estimators follow the conventions of scikit-learn without importing it: parameters are stored unchanged by the
constructor, `get_params` and `set_params`, `fit` returns the estimator, and fitted attributes end in `_`. They are not
subclasses of `BaseEstimator`, but work in `clone`, `Pipeline`, `GridSearchCV` and `cross_val_score`, can be pickled,
and pass `check_estimator` with these exceptions: a missing value has a missing prediction; an integer weight is not
the same as a repeated record, because penalties depend on the effective number of records; `predict` of models of
species returns the suitability, not a class. To store a model, use `save`, whose file contains no code.
"""
ERRORS = """### Classes of errors

All are in `sdm.errors`; indented classes are subclasses. [Error codes](errors.md) has an entry for each code. The
exit code of a command is 2 for a subclass of `OptionError`, and otherwise 1.
"""


def main() -> None:
    """Write the reference into a folder, by default `docs/reference`."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "reference"
    (folder / "api.md").write_text(reference(), encoding="utf-8")


def reference() -> str:
    """Return the text of the reference."""
    sections = list(groups())
    contents = [f"- {title[0].upper()}{title[1:]}: {', '.join(map(_link, names))}" for title, names in sections]
    parts = [BEGIN, "\n".join(contents) + "\n"]
    for title, names in sections:
        parts.append(f"## {title[0].upper()}{title[1:]}\n")
        parts += [described(name, getattr(sdm, name)) for name in names]
    parts += [ERRORS, "\n".join(error_lines(errors.SdmError)), "\n## Returned types\n"]
    parts += [returned(name, getattr(import_module(home), name)) for name, home in RETURNED.items()]
    return "\n".join(parts)


def error_lines(parent: type[errors.SdmError], depth: int = 0) -> Iterator[str]:
    """Yield a class of errors with its code and meaning, and its subclasses below it."""
    text = (parent.__doc__ or "").split("\n")[0].rstrip(".")
    yield f"{'    ' * depth}- `{parent.__name__}` ({parent.code}): {text[:1].lower()}{text[1:]}"
    for child in parent.__subclasses__():
        yield from error_lines(child, depth + 1)


def returned(name: str, public: type) -> str:
    """Return the section of a class whose objects are returned: its purpose, its fields and its public members."""
    parts = [f"### {name}\n\n{markdown(inspect.getdoc(public))}\n"]
    notes = field_notes(public) if is_dataclass(public) else {}
    members = {field: f"`{note.strip(chr(39))}`" for field, note in notes.items() if not note.startswith("ClassVar")}
    for member, function in inspect.getmembers(public):
        shown_in_help = inspect.isfunction(function) or isinstance(function, property)
        if shown_in_help and not member.startswith("_") and member not in INNER and inspect.getdoc(function):
            shown = member if isinstance(function, property) else f"{member}()"
            members[shown] = str(inspect.getdoc(function)).split("\n\n")[0].replace("\n", " ")
    fields = [member for member in members if not member.startswith("_")]
    return "\n".join([*parts, *(f"- `{member}`: {_prose(members[member])}" for member in fields), ""])


def groups() -> Iterator[tuple[str, list[str]]]:
    """Yield the groups of public names, as comments head them in the table of `sdm/__init__.py`."""
    source = Path(sdm.__file__).read_text(encoding="utf-8")
    table = source.split("_HOMES = {\n", 1)[1].split("\n}\n", 1)[0]
    title, names = "", list[str]()
    for line in table.splitlines():
        if line.strip().startswith("#"):
            if names:
                yield title, names
            title, names = line.strip("# "), []
        elif found := _ENTRY.match(line):
            names.append(found[1])
    yield title, names


def described(name: str, public: Any) -> str:
    """Return the section of one public name."""
    if not inspect.isclass(public):
        return f"### {name}\n\n{_code(signature(name, public))}\n\n{markdown(inspect.getdoc(public))}\n"
    made = not issubclass(public, Exception)
    constructor = public if is_dataclass(public) else public.__init__
    head = signature(name, constructor) if made else name
    parts = [f"### {name}\n\n{_code(head)}\n\n{markdown(inspect.getdoc(public))}\n"]
    methods, base = own_methods(public)
    for method, function in methods:
        text = markdown(inspect.getdoc(function), nested=True)
        if isinstance(function, property):
            parts.append(f"#### {name}.{method}\n\n{text}\n")
        else:
            parts.append(f"#### {name}.{method}\n\n{_code(signature(method, _plain(function)))}\n\n{text}\n")
    if base:
        parts.append(f"The other methods are those of {_link(base)}.\n")
    return "\n".join(parts)


def own_methods(public: type) -> tuple[list[tuple[str, Any]], str | None]:
    """Return the methods of a class and of its bases up to one that is public, and the name of that."""
    found: dict[str, Any] = {}
    for one in public.__mro__:
        if one is not public and one.__name__ in sdm.__all__:
            return list(found.items()), one.__name__
        if one is SpeciesEstimator and public is not sdm.Maxent:  # its methods are described once
            return list(found.items()), "Maxent"
        if one.__module__.startswith("sdm."):
            for name, value in vars(one).items():
                known = inspect.isfunction(value) or isinstance(value, (classmethod, property))
                if known and not name.startswith("_") and name not in INNER:
                    found.setdefault(name, value)
    return list(found.items()), None


def signature(name: str, function: Any) -> str:
    """Return a signature with annotations as they are written in the source, without `self`."""
    tree = _parsed(function)
    notes = field_notes(function) if isinstance(tree, ast.ClassDef) else argument_notes(tree)
    listed, starred = list[str](), False
    for one in inspect.signature(function).parameters.values():
        if one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            listed.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        note = f": {notes[one.name]}" if one.name in notes else ""
        value = "..." if repr(one.default) == "<factory>" else repr(one.default)
        default = "" if one.default is one.empty else f"{' = ' if note else '='}{value}"
        listed.append(f"{STARS.get(one.kind, '')}{one.name}{note}{default}")
    returns = None if isinstance(tree, ast.ClassDef) or tree.name == "__init__" else tree.returns
    back = "" if returns is None else f" -> {ast.unparse(returns)}"
    line = f"{name}({', '.join(listed)}){back}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in listed) + f"){back}"


def argument_notes(tree: ast.FunctionDef) -> dict[str, str]:
    """Return the annotations of a function's arguments."""
    given = tree.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return {one.arg: ast.unparse(one.annotation) for one in every if one.annotation is not None}


def field_notes(public: type) -> dict[str, str]:
    """Return the annotations of the fields of a dataclass, whose constructor has them as arguments."""
    notes: dict[str, str] = {}
    for one in filter(is_dataclass, reversed(public.__mro__)):
        fields = [line for line in _parsed(one).body if isinstance(line, ast.AnnAssign)]
        notes |= {ast.unparse(line.target): ast.unparse(line.annotation) for line in fields}
    return notes


def _parsed(public: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(public))).body[0]


def markdown(doc: str | None, nested: bool = False) -> str:
    """Return a docstring of numpydoc as Markdown."""
    first, *rest = _HEADER.split(doc or "")
    parts = [_prose(first.strip())]
    for title, body in zip(rest[::2], rest[1::2]):
        lines = body.strip("\n")
        if title == "Examples":
            parts.append(f"```python\n{lines.strip()}\n```")
        elif title == "See Also":
            parts.append("See also " + ", ".join(map(_link, re.findall(r"\w+", lines))) + ".")
        else:
            text = _entries(lines) if title in LISTS else _prose(lines.strip())
            parts.append(f"**{title}**\n\n{text}")
    return "\n\n".join(part for part in parts if part)


def _entries(body: str) -> str:
    """Return the entries of a list of parameters: a name with a type, and an indented text below it."""
    out: list[str] = []
    for line in body.splitlines():
        if line and not line.startswith(" "):
            name, colon, kind = line.partition(" : ")
            named = colon or re.fullmatch(r"[\w, ]+", name)
            shown = ", ".join(f"`{one}`" for one in name.split(", ")) if named else _prose(name)
            out.append(f"- {shown}{colon and f': {_prose(kind)}'}")
        elif line.strip():
            out.append(f"  {_prose(line.strip())}")
    return "\n".join(out)


def _prose(text: str) -> str:
    return text.replace("``", "`")


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})" if name in sdm.__all__ else f"`{name}`"


def _plain(function: Any) -> Any:
    return function.__func__ if isinstance(function, classmethod) else function


if __name__ == "__main__":
    main()
