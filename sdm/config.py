"""The options of a run: one definition for the command line, the YAML file and Python.

A run is a tree of sections. Every leaf has a dotted name (`fit.multiplier`), a short one (`multiplier`) where that is
unambiguous, and the spellings that users of other programs know (`betamultiplier`).
"""

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from sdm.errors import OptionError


def option(default: Any, text: str, *aliases: str, **limits: Any) -> Any:
    """Declare an option: its default, what it does, and other spellings of its name."""
    return Field(default, description=text, json_schema_extra={"aliases": list(aliases)}, **limits)


class Section(BaseModel):
    """A group of options; a misspelt name is an error."""

    model_config = ConfigDict(extra="forbid", validate_default=True)


def _words(value: Any) -> Any:
    """Let one word, or several with commas between, stand for a list."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        return value
    return [word.strip() for part in parts for word in str(part).split(",") if word.strip()]


def _places(value: Any) -> Any:
    """Let `name=folder`, or a folder called by its own name, stand for an entry of a dictionary."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        return value
    pairs = [part.split("=", 1) if "=" in part else (Path(part).name, part) for part in map(str, parts)]
    return {name.strip(): place for name, place in pairs}


Words = Annotated[list[str], BeforeValidator(_words)]
Files = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
Places = Annotated[dict[str, str], BeforeValidator(_places)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class OccurrenceOptions(Section):
    """Where the species was found."""

    file: str | None = option(None, "Occurrence records: CSV/TSV, GBIF download, GeoPackage, GeoJSON, Shapefile, Parquet.", "samplesfile")
    species: Files = option([], "Model only these species of the file (default: all).")
    crs: str | None = option(None, "Coordinate system of the records (default: the file's, else WGS 84).")
    species_column: str | None = option(None, "Column with the species' name (default: found by its name).")
    x_column: str | None = option(None, "Column with the longitude or easting.")
    y_column: str | None = option(None, "Column with the latitude or northing.")
    snap: int = option(0, "Move records on nodata to the nearest valid cell within so many cells.", ge=0)
    keep_duplicates: bool = option(False, "Keep several records of a species in one cell.")


class LayerOptions(Section):
    """The environment."""

    files: Files = option([], "Environmental layers: a folder, a glob, or files; one file a variable.", "environmentallayers")
    categorical: Words = option([], "Layers whose values are classes.", "togglelayertype")
    nodata: float | None = option(None, "A value that means 'no data', besides what the files say.")
    align: str | None = option(None, "Resample layers to the grid of this layer ('first' for the first).")


class BackgroundOptions(Section):
    """The points that the species' environment is compared with."""

    points: Count | Literal["all"] = option(10_000, "How many background points to draw, or 'all' cells.", "background_points", "maximumbackground")
    file: str | None = option(None, "Your own background points, in any format that occurrences come in.", "background_file")
    area: str | None = option(None, "Study area: polygons outside which nothing is drawn or counted.", "study_area")
    area_weighted: bool = option(False, "Draw cells by their true area (for layers in degrees).")


class FitOptions(Section):
    """The model."""

    features: str = option("auto", "Feature classes: auto, or letters of l q p h t (linear, quadratic, product, hinge, threshold).", "fc")
    multiplier: Positive = option(1.0, "Regularisation multiplier: larger is smoother.", "rm", "betamultiplier")
    regularization: Literal["l1", "none", "smoothed_l1", "l2", "l2sq", "elastic"] = option("l1", "The penalty on the weights.")
    entropy: float = option(1.0, "1 is Shannon's entropy; up to 2 the map has exact zeros.", ge=1, le=2)
    knots: Literal["maxent", "maxnet", "all"] | Count = option("maxent", "Where hinges and thresholds bend: maxent, maxnet, all, or so many quantiles.")
    beta: Literal["maxent", "maxnet", "deviation", "corollary7"] | Positive | None = option(None, "Where the prices come from (default: Maxent's tables).")
    solver: Literal["newton", "summet", "plummet"] = option("newton", "How the optimum is found.")
    tolerance: Positive = option(1e-6, "Largest certified distance from the optimum, in nats.", "convergencethreshold")
    max_iterations: Count | None = option(None, "Stop after so many rounds at the latest.", "maximumiterations")
    add_presences: Literal["all", "distinct"] | None = option(None, "Which presences join the background (default: all, as Java Maxent).")
    smoothing: Positive = option(0.1, "For smoothed_l1: smaller is nearer to l1.")
    ratio: Positive = option(1.0, "For elastic: the l2² price over the l1 price.")


class TestOptions(Section):
    """How the model is tested."""

    percent: float = option(0.0, "Set aside so many percent of the records for testing.", "test_percent", "randomtestpoints", ge=0, le=90)
    file: str | None = option(None, "Test with the records of this file.", "test_samples", "testsamplesfile")
    folds: int = option(0, "Cross-validate in so many random folds (0: do not).", ge=0)


class PredictOptions(Section):
    """The map."""

    scale: Literal["cloglog", "raw", "cumulative", "logistic"] = option("cloglog", "Scale of the map.", "outputformat")
    clamp: bool = option(True, "Hold variables at the limits of their training ranges.", "doclamp")
    threshold: Literal["mtp", "10p", "maxsss", "equal"] | float | None = option(None, "Also write a map of presence and absence: mtp, 10p, maxsss, equal, or a value.", "applythresholdrule")
    prevalence: float = option(0.5, "Prevalence, for the logistic scale.", "defaultprevalence", gt=0, lt=1)
    unseen: Literal["zero", "error"] = option("zero", "What a class does that was not in training.")
    projections: Places = option({}, "Other layers to map the model on: a name and a folder each.", "projectionlayers")


class OutputOptions(Section):
    """What is written, and where."""

    folder: str | None = option(None, "Folder for the results.", "output", "outputdirectory")
    overwrite: bool = option(False, "Replace results that are there already.")
    curves: bool = option(True, "Draw response curves, marginal and variable-only.", "responsecurves")
    map: bool = option(True, "Write the map (GeoTIFF) and its picture.", "pictures")


class RunOptions(Section):
    """Everything about a run of `sdm fit`."""

    occurrences: OccurrenceOptions = OccurrenceOptions()
    layers: LayerOptions = LayerOptions()
    background: BackgroundOptions = BackgroundOptions()
    fit: FitOptions = FitOptions()
    test: TestOptions = TestOptions()
    predict: PredictOptions = PredictOptions()
    output: OutputOptions = OutputOptions()
    seed: int = option(1, "Seed of everything random.", "randomseed", ge=0)
    threads: Count = option(2, "Threads for reading and predicting rasters.")


# Options with paths: relative ones in a YAML file are relative to that file.
PATHS = (
    "occurrences.file", "layers.files", "background.file", "background.area", "test.file", "predict.projections",
    "output.folder",
)  # fmt: skip


class Leaf:
    """One option: its dotted name, its other spellings, its field."""

    def __init__(self, section: str, name: str, field: FieldInfo, ambiguous: set[str]) -> None:
        self.dotted = f"{section}.{name}" if section else name
        self.field = field
        extra = field.json_schema_extra
        aliases = list(extra["aliases"]) if isinstance(extra, dict) else []  # type: ignore[arg-type]
        short = [] if name in ambiguous or name == self.dotted else [name]
        self.spellings = [*short, self.dotted, *map(str, aliases)]
        # The spelling to show: one of several words says more than one that is short.
        self.shown = next((word for word in map(str, aliases) if "_" in word), self.spellings[0])

    @property
    def multiple(self) -> bool:
        """Whether the option takes several values."""
        return get_origin(self.field.annotation) in (list, dict)

    @property
    def flag(self) -> bool:
        """Whether the option is on or off."""
        return self.field.annotation is bool

    @property
    def choices(self) -> list[str]:
        """The words that the option takes."""
        parts = get_args(self.field.annotation) if get_origin(self.field.annotation) is not Literal else ()
        literals = [self.field.annotation, *parts]
        return [word for part in literals if get_origin(part) is Literal for word in get_args(part)]


def leaves() -> Iterator[Leaf]:
    """Yield every option of a run."""
    sections: dict[str, type[Section]] = {"": RunOptions}
    for name, field in RunOptions.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            sections[name] = field.annotation
    names = [name for model in sections.values() for name in model.model_fields]
    ambiguous = {name for name in names if names.count(name) > 1}
    for section, model in sections.items():
        for name, field in model.model_fields.items():
            if name not in sections:
                yield Leaf(section, name, field, ambiguous)


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a run file; relative paths in it become relative to its folder."""
    path = Path(path)
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OptionError(f"{path} does not exist: expected a run file; 'sdm init' writes one") from None
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise OptionError(f"{path} is not a readable YAML file: {reason}") from None
    if loaded is None:
        loaded = {}
    if not isinstance(loaded, dict):
        raise OptionError(f"{path} holds a {type(loaded).__name__}, expected sections such as 'occurrences:' and 'layers:'")
    for dotted in PATHS:
        section, name = dotted.split(".")
        values = loaded.get(section)
        if isinstance(values, dict) and values.get(name) is not None:
            values[name] = _rebase(values[name], path.parent)
    return loaded


def _rebase(value: Any, folder: Path) -> Any:
    if isinstance(value, str):
        return os.path.normpath(folder / value)
    if isinstance(value, list):
        return [_rebase(item, folder) for item in value]
    if isinstance(value, dict):
        return {key: _rebase(item, folder) for key, item in value.items()}
    return value


def make_options(*sources: Mapping[str, Any]) -> RunOptions:
    """Merge sources, later ones first, and check them all at once.

    A source is a tree of sections (as from a YAML file), or holds options under any of their spellings
    (`{"multiplier": 2, "fit.features": "lq"}`).
    """
    where = {spelling: leaf.dotted for leaf in leaves() for spelling in leaf.spellings}
    sections = set(RunOptions.model_fields)
    merged: dict[str, Any] = {}
    problems: list[str] = []
    for source in sources:
        for key, value in source.items():
            if key in sections and isinstance(value, Mapping):
                for name, inner in value.items():
                    dotted = where.get(f"{key}.{name}") or next(
                        (w for s, w in where.items() if s == name and w.startswith(f"{key}.")), f"{key}.{name}"
                    )
                    _put(merged, dotted, inner)
            elif key in where:
                _put(merged, where[key], value)
            elif key in sections and value is None:
                continue
            else:
                problems.append(_unknown(str(key), where, sections))
    try:
        options = RunOptions.model_validate(merged)
    except ValidationError as error:
        problems += [_explain(item, where) for item in error.errors()]
    if problems:
        raise OptionError("; ".join(dict.fromkeys(problems)))
    return options


def _put(tree: dict[str, Any], dotted: str, value: Any) -> None:
    section, _, name = dotted.rpartition(".")
    if section:
        tree.setdefault(section, {})[name] = value
    else:
        tree[name] = value


def _unknown(key: str, where: Mapping[str, str], sections: set[str]) -> str:
    near = difflib.get_close_matches(key, [*where, *sections], n=1, cutoff=0.6)
    hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(sorted(sections))}"
    return f"unknown option '{key}'{hint}"


def _explain(item: Any, where: Mapping[str, str]) -> str:
    """Say in one line what is wrong with one option."""
    place = [str(part) for part in item["loc"]]
    dotted = ".".join(place[:2]) if place[0] in RunOptions.model_fields and place[0] not in where else place[0]
    if item["type"] == "extra_forbidden":
        own = [spelling.split(".")[1] for spelling in where if spelling.startswith(f"{place[0]}.")]
        near = difflib.get_close_matches(place[-1], own, n=1, cutoff=0.5)
        hint = f"; did you mean '{place[0]}.{near[0]}'?" if near else f"; there are {', '.join(own)}"
        return f"unknown option '{dotted}'{hint}"
    expected = item["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{dotted}={item['input']!r}: expected {expected}"


def dump_yaml(options: RunOptions) -> str:
    """Write options as YAML: everything needed to repeat a run."""
    return yaml.safe_dump(options.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def template() -> str:
    """Write a commented YAML file with every option and its default."""
    lines = [
        "# Options of `sdm fit`. Every line is optional but occurrences.file, layers.files and output.folder.",
        "# Relative paths are relative to this file. Any option can be overridden: sdm fit run.yaml --fit.multiplier 2",
    ]
    section = None
    for leaf in sorted(leaves(), key=lambda leaf: "." not in leaf.dotted):
        group, _, name = leaf.dotted.rpartition(".")
        if group != section:
            section = group
            lines += ["", f"{group}:"] if group else [""]
        indent = "  " if group else ""
        default = yaml.safe_dump(leaf.field.get_default(), default_flow_style=True).strip().removesuffix("...").strip()
        choices = f" ({', '.join(leaf.choices)})" if leaf.choices else ""
        lines += [f"{indent}# {leaf.field.description}{choices}", f"{indent}{name}: {default}"]
    return "\n".join(lines) + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a run file, for editors."""
    return RunOptions.model_json_schema()
