"""Read, merge, check and write options from the command line, YAML files and Python.

Each leaf of the tree has a dotted name (`fit.multiplier`), a short name (`multiplier`) if it is unambiguous, and the
spellings of other programs (`betamultiplier`).
"""

import difflib
import os
import textwrap
from collections.abc import Container, Iterator, Mapping
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from sdm.errors import OptionError, RunFileError, UnknownOptionError, hide_address, hide_secrets, name_list
from sdm.options.definitions import AREA_WORDS, GRAPH_WORDS, GROUP_WORD, PATTERN, PRESETS, RunOptions
from sdm.options.kinds import Section, read_places

SECTIONS: dict[str, type[Section]] = {
    name: field.annotation
    for name, field in RunOptions.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
}
# Options with paths: relative ones in a YAML file are relative to that file.
PATHS = (
    "occurrences.file", "layers.files", "background.file", "background.area", "background.target_group",
    "background.bias", "test.file", "output.folder", "output.append_results", "path.strata", "classes.raster",
    "joint.graph", "joint.traits", "project.models", "project.scenarios", "project.reference", "project.area",
    "cluster.address",
)  # fmt: skip


class Leaf:
    """One option: its dotted name, its other spellings, its field."""

    def __init__(self, section: str, name: str, field: FieldInfo, ambiguous: set[str]) -> None:
        self.dotted = f"{section}.{name}" if section else name
        self.section, self.name, self.field = section, name, field
        extra = field.json_schema_extra
        schema: dict[str, Any] = extra if isinstance(extra, dict) else {"aliases": [], "formerly": [], "was": None}
        self.aliases: list[str] = list(schema["aliases"])
        self.was: Any = schema["was"]
        short = [] if name in ambiguous or name == self.dotted else [name]
        self.spellings = [*short, self.dotted, *self.aliases, *schema["formerly"]]
        # The shown spelling: an alias of several words, the name of the section, or a keyword of Python (lambda), which
        # cannot be a field; otherwise the first.
        preferred = [word for word in self.aliases if "_" in word or word == section or iskeyword(word)]
        self.shown = [*preferred, *self.spellings][0]

    @property
    def text(self) -> str:
        """The description, with the values of the option unless it names them."""
        text = str(self.field.description)
        named = all(word in text for word in self.choices)
        return text if named else f"{text} Values: {', '.join(self.choices)}."

    @property
    def multiple(self) -> bool:
        """Whether the option takes several values."""
        return get_origin(self.field.annotation) in (list, dict)

    @property
    def flag(self) -> bool:
        """Whether the option is a flag."""
        return self.field.annotation in (bool, bool | None)

    @property
    def kinds(self) -> list[Any]:
        """The types that the option takes: `int`, `float`, `str`, `Literal[…]`."""
        annotation = self.field.annotation
        parts = [annotation] if get_origin(annotation) in (None, Literal, list, dict) else get_args(annotation)
        return [getattr(part, "__origin__", part) if get_origin(part) is not Literal else part for part in parts]

    @property
    def choices(self) -> list[str]:
        """The words that the option takes."""
        return [word for part in self.kinds if get_origin(part) is Literal for word in get_args(part)]


@cache
def leaves() -> tuple[Leaf, ...]:
    """Return every option of a run."""
    models: dict[str, type[Section]] = {"": RunOptions, **SECTIONS}
    fields = [item for model in models.values() for item in model.model_fields.items()]
    names = [name for name, _ in fields]
    spelt = {str(word) for _, field in fields for word in (field.json_schema_extra or {}).get("aliases", [])}  # type: ignore[union-attr]
    ambiguous = {name for name in names if names.count(name) > 1} | (spelt & set(names))
    return tuple(
        Leaf(section, name, field, ambiguous)
        for section, model in models.items()
        for name, field in model.model_fields.items()
        if name not in SECTIONS
    )


WHERE = {spelling: leaf.dotted for leaf in leaves() for spelling in leaf.spellings}  # dotted names by spelling


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a run file: options by their dotted names, with paths relative to its folder made absolute."""
    from sdm.options.yaml_files import load_yaml

    loaded = load_yaml(path, "a run file; 'sdm init' writes one")
    loaded = {} if loaded is None else loaded
    if not isinstance(loaded, dict):
        raise RunFileError(f"{path} has no sections: expected 'occurrences:', 'layers:' and others")
    options = {name: _located(name, value, Path(path).parent) for name, value in _flat(loaded)}
    fit = loaded.get("fit")
    if isinstance(fit, dict) and "price_folds" in fit:  # written by a run of an earlier version
        # All defaults were written, and some now depend on the kind of model: the user did not choose them.
        was = {leaf.dotted: leaf.was for leaf in leaves() if leaf.was is not None}
        return {name: value for name, value in options.items() if name not in was or value != was[name]}
    return options


def _located(name: str, value: Any, folder: Path) -> Any:
    """Return the value of an option of a run file in a folder."""
    if name == "project.scenarios":
        try:
            value = read_places(value)
        except ValueError:
            return value  # `make_options` reports the error
    if name == "path.strata" and os.path.basename(str(value)) == value and not (folder / value).is_file():
        return value  # the name of a layer, or squares
    if name == "cluster.address" and not str(value).endswith(".json"):
        return value  # an address, or the name of a kind of cluster
    return rebase(value, folder) if name in PATHS else value


def rebase(value: Any, folder: Path) -> Any:
    """Make paths relative to a folder absolute. URLs and subdatasets of GDAL are unchanged."""
    if isinstance(value, str):
        special = "://" in value or value.startswith("/vsi") or value.count(":") > 1
        special |= value in (*AREA_WORDS, GROUP_WORD, *GRAPH_WORDS)
        return value if special else os.path.abspath(folder / os.path.expanduser(value))
    if isinstance(value, dict):
        return {key: rebase(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [rebase(item, folder) for item in value]
    return value


MOST_PROBLEMS = 20  # per message
_CLAMP = {"true": "clamp", "yes": "clamp", "on": "clamp", "1": "clamp"}
_CLAMP |= {"false": "free", "no": "free", "off": "free", "0": "free"}


def make_options(*sources: Mapping[str, Any]) -> RunOptions:
    """Merge sources, with priority of later ones, and check all values.

    A source is a tree of sections (as from a YAML file), or a mapping of options in any spelling
    (`{"multiplier": 2, "fit.features": "lq"}`). None is the default. The `OptionError` lists all problems, with the
    nearest names of unknown options.
    """
    flags = {leaf.dotted: leaf.flag for leaf in leaves()}
    chosen: dict[str, Any] = {}
    problems: list[str] = []
    for source in sources:
        for name, value in _renamed(dict(_flat(source)), problems):
            if name not in flags:
                problems.append(_unknown(name, value))
            elif isinstance(value, bool) and not flags[name]:
                problems.append(f"{name}={shortened(value)}: expected a value, not true or false")
            elif not _storable(value, name in PATHS):
                problems.append(f"{name}={shortened(value)}: expected text in UTF-8, without a zero byte")
            else:
                chosen[name] = value
    pattern = {} if chosen.get("layers.bounds") is None else PATTERN
    chosen = {**pattern, **PRESETS.get(str(chosen.get("preset")), {}), **chosen}
    _settle_points(chosen)
    try:
        options = RunOptions.model_validate(_tree({k: v for k, v in chosen.items() if v is not None}))
    except ValidationError as error:
        problems += explain(error)
    if problems:
        unknown = all(text.startswith("unknown option") for text in problems)
        raise (UnknownOptionError if unknown else OptionError)(name_list(dict.fromkeys(problems), MOST_PROBLEMS, "; "))
    return options


def _storable(value: object, path: bool) -> bool:
    """Return whether all texts of a value can be written to a file, or are names of files (not always UTF-8)."""
    if isinstance(value, Mapping):
        return all(_storable(item, path) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple):
        return all(_storable(item, path) for item in value)
    if not isinstance(value, str):
        return True
    try:
        return b"\0" not in (os.fsencode(value) if path else value.encode())
    except UnicodeEncodeError:
        return False


def plain_values(value: Any) -> Any:
    """Return a value with texts for paths, also in lists and mappings, and with numbers of Python for numpy."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if type(value).__module__ == "numpy":
        return plain_values(value.tolist())
    return str(value) if isinstance(value, Path) else value


def _flat(source: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the options of a source by their dotted names; unknown names are unchanged."""
    for key, value in source.items():
        if key in SECTIONS and isinstance(value, Mapping):
            for name, inner in value.items():
                dotted = WHERE.get(str(name), "")
                yield WHERE.get(f"{key}.{name}") or (dotted if dotted.startswith(f"{key}.") else f"{key}.{name}"), inner
        elif key in SECTIONS and value is None:
            continue
        else:
            yield WHERE.get(str(key), str(key)), value


def _renamed(source: dict[str, Any], problems: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the options of a source, with `predict.extrapolation` for `predict.clamp`."""
    for name, value in source.items():
        word = _CLAMP.get(str(value).lower()) if name == "predict.clamp" else None
        if word is None:
            yield name, value
        elif source.get("predict.extrapolation") in (None, word):
            yield "predict.extrapolation", word
        else:
            other = shortened(source["predict.extrapolation"])
            problems.append(f"predict.clamp={value} means {word}, got predict.extrapolation={other}: use one of them")


def _settle_points(chosen: dict[str, Any]) -> None:
    """Read `points` as the number of points from the raster of classes, if there is one."""
    points = chosen.get("background.points")
    default = SECTIONS["background"].model_fields["points"].get_default()
    if chosen.get("classes.raster") is not None and points not in (None, default):  # the default in a run file
        chosen.setdefault("classes.raster_points", chosen.pop("background.points"))
    elif chosen.get("classes.column") is not None and points == 5000:  # the default in files of earlier versions
        del chosen["background.points"]


def _tree(options: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for dotted, value in options.items():
        section, _, name = dotted.rpartition(".")
        (tree.setdefault(section, {}) if section else tree)[name] = value
    return tree


def _unknown(name: str, value: object) -> str:
    """Return the message of an unknown option, with the nearest name."""
    section, _, last = name.rpartition(".")
    if name in SECTIONS:
        example = next(iter(SECTIONS[name].model_fields))
        return f"{name}={shortened(value)}: expected a section of options, such as '{name}: {{{example}: …}}'"
    if last in WHERE:
        return f"unknown option '{name}' (did you mean '{WHERE[last]}'?)"
    inside = [leaf for leaf in leaves() if leaf.section == section] if section in SECTIONS else list(leaves())
    words = {word.removeprefix(f"{section}."): leaf.dotted for leaf in inside for word in (*leaf.spellings, leaf.name)}
    near = difflib.get_close_matches(last if section in SECTIONS else name, [*words, *SECTIONS], n=1, cutoff=0.6)
    if near:
        return f"unknown option '{name}' (did you mean '{near[0] if near[0] in SECTIONS else words[near[0]]}'?)"
    model = SECTIONS.get(section, RunOptions)
    return f"unknown option '{name}' (expected one of {', '.join(model.model_fields)})"


# Messages for the kinds of errors of pydantic.
_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "literal_error": "{expected}",
}


def explain(error: ValidationError) -> list[str]:
    """Return one sentence about the error of each option."""
    wrong: dict[str, list[str]] = {}
    for item in error.errors():
        place = [str(part) for part in item["loc"]]
        dotted = ".".join(place[:2]) if place[0] in SECTIONS else place[0]
        context = item.get("ctx", {})
        cause, kind = context.get("error"), item["type"]
        text = _EXPECTED.get(kind) or _EXPECTED.get(kind.split("_")[0])
        expected = text.format(**context) if text else str(cause or item["msg"]).removeprefix("Input should be ")
        sentence = str(cause).partition(": ")[2] if isinstance(cause, OptionError) else f"expected {expected}"
        texts = wrong.setdefault(f"{dotted}={shortened(item['input'])}", [])
        texts.append(sentence.removeprefix("expected ") if texts else sentence)
    return [f"{setting}: {' or '.join(texts)}" for setting, texts in wrong.items()]


def shortened(value: object) -> str:
    """Return the text of a value in messages."""
    text = hide_secrets(repr(value))
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text):,} characters)"


def dump_yaml(options: RunOptions, names: Container[str] | None = None) -> str:
    """Return options as YAML, to repeat a run from any folder, without the options that replace results.

    `wanted` are the dotted names to write, by default all; values other than defaults are always written.
    """
    import yaml

    tree = options.model_dump(mode="json", exclude={"output": {"overwrite", "resume"}, "predict": {"clamp"}})
    for dotted in PATHS:
        section, name = dotted.split(".")
        tree[section][name] = _located(dotted, tree[section][name], Path.cwd())
    tree = _without_secrets(tree)
    for leaf in leaves() if names is not None else ():
        home = tree[leaf.section] if leaf.section else tree
        if names is not None and leaf.dotted not in names and home.get(leaf.name) == leaf.field.get_default():
            home.pop(leaf.name, None)
    written = {name: value for name, value in tree.items() if value != {}}
    try:
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml takes a tenth of the time
        return str(yaml.dump(written, Dumper=dumper, sort_keys=False, allow_unicode=True))
    except UnicodeEncodeError:  # names of files that are not text
        return yaml.safe_dump(written, sort_keys=False, allow_unicode=True)


def _without_secrets(value: Any) -> Any:
    """Return options without secrets in addresses."""
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    return hide_address(value) if isinstance(value, str) and ("://" in value or "/vsi" in value) else value


def template() -> str:
    """Return a commented run file with every option and its default."""
    import yaml

    lines = [
        "# Run file of sdm. Only occurrences.file, layers.files and output.folder are required.",
        "# Paths are relative to this file. Options of the command line override it: sdm fit run.yaml --multiplier 2",
    ]
    section = None
    for leaf in sorted(leaves(), key=lambda leaf: "." not in leaf.dotted):
        group, _, name = leaf.dotted.rpartition(".")
        if group != section:
            section = group
            lines += ["", f"{group}:"] if group else [""]
        indent = "  " if group else ""
        mark = f"{indent}# "
        default = yaml.safe_dump(leaf.field.get_default(), default_flow_style=True).strip().removesuffix("...").strip()
        lines += textwrap.wrap(mark + leaf.text, 110, subsequent_indent=mark, break_on_hyphens=False)
        lines.append(f"{indent}{name}: {default}")
    return "\n".join(lines) + "\n"


def run_file_schema() -> dict[str, Any]:
    """Return the JSON Schema of a run file, with every spelling of the options."""
    tree = RunOptions.model_json_schema()
    for leaf in leaves():
        home = tree["$defs"][SECTIONS[leaf.section].__name__] if leaf.section else tree
        entry = home["properties"][leaf.name]
        for key in ("aliases", "formerly", "was"):
            entry.pop(key)
        for alias in leaf.aliases:
            home["properties"][alias] = {**entry, "description": f"The same as {leaf.name}."}
            if alias == leaf.section:
                short = tree["properties"][alias]
                tree["properties"][alias] = {"anyOf": [{"$ref": f"#/$defs/{SECTIONS[alias].__name__}"}, entry], **short}
                tree["properties"][alias].pop("$ref", None)
    return tree
