"""The options of `sdm classify`: one definition for the command line, the YAML file and Python."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, ValidationError

from sdm.errors import OptionError
from sdm.features.classes import parse_classes
from sdm.features.families import parse_families
from sdm.options.definitions import Section, option
from sdm.options.kinds import Count, Crs, Files, Folds, NotNegative, Places, Positive, Words, read_places
from sdm.options.reading import Leaf, explain, rebase
from sdm.reading import load_yaml


def _features(value: Any) -> Any:
    """Check feature classes and families, given as text or as a list of names."""
    value = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value
    if isinstance(value, str):
        parse_families(value, 1) if ":" in value else parse_classes(value, 1)
    return value


class ClassifyOptions(Section):
    """Everything about a run of `sdm classify`."""

    records: str | None = option(None, "Points with a class: CSV/TSV, GeoPackage, GeoJSON, Shapefile, Parquet.")
    class_column: str | None = option(None, "Column with the class of every point.")
    select: Places = option({}, "Use only records with this value in a column: column=value, as species=Quercus robur.")
    proportions: Words = option([], "Columns with the proportions of the classes (cover fractions), one a class.")
    title: str | None = option(None, "Title of the results and name of their files (default: the class column).")
    classes: str | None = option(None, "A raster of classes to draw points from, in place of a file of points.")
    points: Count = option(5000, "How many points to draw from the raster of classes.")
    least: Count | None = option(None, "Leave out classes with fewer records (default: stop if one has a single one).")
    crs: Crs | None = option(None, "Coordinate system of the points (default: the file's, else WGS 84).")
    x_column: str | None = option(None, "Column with the longitude or easting.")
    y_column: str | None = option(None, "Column with the latitude or northing.")
    site_column: str | None = option(
        None,
        "Column that names the sites, whose visits are tested together (default: site, plot, station or the like).",
    )
    snap: int = option(0, "Move points on nodata to the nearest valid cell within so many cells.", ge=0, le=1000)
    keep_duplicates: bool = option(True, "Keep several points of a class in one cell: every visit counts.")
    layers: Files = option([], "Environmental layers: a folder, a glob, or files; one file a variable.")
    categorical: Words = option([], "Layers whose values are categories.")
    nodata: float | None = option(None, "A value that means 'no data', besides what the files say.", allow_inf_nan=True)
    align: str | None = option(None, "Resample layers to the grid of this layer ('first' for the first).")
    study_area: str | None = option(None, "Polygons outside which nothing is used or mapped.")
    features: Annotated[str, BeforeValidator(_features)] = option(
        "auto", "Feature classes (auto, or letters of l q p h t), with trees and monomials: l,q,trees:8,mono:4.", "fc"
    )
    multiplier: Literal["auto"] | Positive = option(
        "auto", "Regularisation multiplier: larger is smoother; auto: by the loss at held-out sites.", "rm"
    )
    regularization: Literal["auto", "l1", "none", "smoothed_l1", "l2", "l2sq", "elastic"] = option(
        "auto", "The penalty on the weights; auto: l1, or elastic if that does better at held-out sites."
    )
    entropy: float = option(
        1.0, "1 is the logistic loss; up to 2 (sparsemax) a class can get no probability.", ge=1, le=2
    )
    knots: Literal["maxent", "maxnet", "all"] | Count = option(
        30, "Where hinges and thresholds bend: maxent, maxnet, all, or so many quantiles."
    )
    beta: Literal["maxent", "maxnet", "deviation", "corollary7", "auto"] | NotNegative | None = option(
        None, "Where the prices come from, or a price; with trees or monomials, the beta of lambda·B + beta, or auto."
    )
    lam: Literal["auto"] | NotNegative = option(
        0.01,
        "With trees or monomials: a feature of complexity B pays lambda·B + beta; auto: by held-out loss.",
        "lambda",
    )
    price_folds: Count = option(5, "Folds that choose the multiplier; lambda and beta of trees and monomials.", ge=2)
    tolerance: Positive | None = option(None, "Largest certified distance from the optimum, in nats.")
    max_iterations: Count | None = option(None, "Stop after so many rounds at the latest.")
    smoothing: Positive = option(0.1, "For smoothed_l1: smaller is nearer to l1.")
    ratio: Positive = option(4.0, "For elastic: the l2² price over the l1 price.")
    test_percent: float = option(0.0, "Set aside so many percent of every class for testing.", ge=0, le=90)
    folds: Folds = option(0, "Cross-validate in so many random folds (0: do not).")
    repeats: Count = option(5, "How often each variable is shuffled to see how important it is.")
    clamp: bool = option(True, "Hold variables at the limits of their training ranges.")
    projections: Places = option({}, "Other layers to map the classes on: name=folder, or a folder.")
    map: bool = option(True, "Write the maps (GeoTIFF) and their pictures.")
    curves: bool = option(True, "Draw the classes' probabilities along every variable.")
    report: bool = option(True, "Write the page (HTML, opens offline).")
    folder: str | None = option(None, "Folder for the results.", "output")
    overwrite: bool = option(False, "Replace results that are there already.")
    seed: int = option(1, "Seed of everything random.", ge=0)
    threads: int = option(2, "Threads for reading and predicting rasters.", ge=1, le=1024)


PATHS = ("records", "classes", "layers", "study_area", "projections", "folder")
_PANELS = {
    "occurrences": "records class_column select proportions title classes points least crs x_column y_column "
    "site_column snap "
    "keep_duplicates",
    "layers": "layers categorical nodata align study_area",
    "fit": "features multiplier regularization entropy knots beta lam price_folds tolerance max_iterations "
    "smoothing ratio",
    "test": "test_percent folds repeats",
    "predict": "clamp map projections",
    "output": "folder overwrite curves report",
}


def classify_leaves() -> Iterator[Leaf]:
    """Yield every option, under the section of `sdm fit`'s help that it belongs to."""
    where = {name: section for section, names in _PANELS.items() for name in names.split()}
    for name, field in ClassifyOptions.model_fields.items():
        yield Leaf(where.get(name, ""), name, field, set())


_NAMES = {word: leaf.name for leaf in classify_leaves() for word in (leaf.name, *leaf.aliases)}


def read_classify_yaml(path: str | Path) -> dict[str, Any]:
    """Read a run file of `sdm classify`: options by name, paths relative to its folder."""
    loaded = load_yaml(path, "a run file of 'sdm classify'")
    if not isinstance(loaded, dict):
        raise OptionError(f"{path} holds no options: expected lines such as 'class_column: habitat'")
    known = {_NAMES.get(str(key).replace("-", "_"), str(key)): value for key, value in loaded.items()}
    return {name: _located(name, value, Path(path).parent) for name, value in known.items()}


def _located(name: str, value: Any, folder: Path) -> Any:
    """Return the value of an option of a run file that lies in a folder."""
    if name == "projections":
        try:
            value = read_places(value)
        except ValueError:
            return value  # `make_classify_options` says what is wrong
    return rebase(value, folder) if name in PATHS else value


def make_classify_options(*sources: Mapping[str, Any]) -> ClassifyOptions:
    """Merge sources, later ones first, and check them all at once; None stands for the default.

    Raises
    ------
    OptionError
        With every unknown name and wrong value in one message.
    """
    chosen: dict[str, Any] = {}
    problems = []
    for source in sources:
        for key, value in source.items():
            name = _NAMES.get(str(key).replace("-", "_"))
            if name is None:
                near = difflib.get_close_matches(str(key), list(_NAMES), n=1, cutoff=0.6)
                problems.append(f"unknown option '{key}'" + (f" (did you mean '{near[0]}'?)" if near else ""))
            elif value is not None:
                chosen[name] = value
    try:
        options = ClassifyOptions.model_validate(chosen)
    except ValidationError as error:
        problems += explain(error)
    if problems:
        raise OptionError("; ".join(dict.fromkeys(problems)))
    return options


def dump_classify_yaml(options: ClassifyOptions) -> str:
    """Write options as YAML: everything needed to repeat a run from any folder, but nothing that replaces results."""
    tree = options.model_dump(mode="json", exclude={"overwrite"})
    for name in PATHS:
        tree[name] = rebase(tree[name], Path.cwd())
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
