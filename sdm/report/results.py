"""Stored results of a run: numbers, tables, settings, and paths of the maps. Nothing is computed."""

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sdm.assess.profiles import EXPONENT
from sdm.errors import OptionError, ResultsError
from sdm.models.file import ENDINGS, kind_of
from sdm.options.yaml_files import load_yaml
from sdm.report.tables import table_text, unquoted
from sdm.storage.files import write_text
from sdm.storage.reading import load_json
from sdm.types import Numbers

if TYPE_CHECKING:
    from sdm.models.interface import FittedModel

Row = dict[str, str]
SCENARIOS = "scenarios"  # folder of projections inside the folder of a run
REPLICATED = ("bootstrap", "subsample")  # methods of partitioning that give replicates, not folds
GROUP = "group"  # folder and file name of the results of a group inside the folder of a run
SPREAD = {
    "mean map": "mean over replicates",
    "sd map": "standard deviation over replicates",
    "lower map": "lower limit over replicates",
    "upper map": "upper limit over replicates",
}
TRAINING = "training layers"
SCALES = {
    "cloglog": "Suitability (cloglog)",
    "logistic": "Suitability (logistic)",
    "cumulative": "Cumulative value (%)",
    "raw": "Raw density",
    "probability": "Probability",
    "density": "Density relative to area",
    EXPONENT: "Score (exponent)",
}


@dataclass(frozen=True)
class MapLayer:
    """A band of a raster on a page.

    Attributes
    ----------
    threshold : bool
        Whether the threshold of the page applies to it.
    apart : bool
        Whether its colours end at its own highest value.
    spread : bool
        Whether it shows an uncertainty, in other colours.
    species : str
        A name in the label, in italics.
    """

    name: str
    path: Path
    label: str
    band: int = 1
    threshold: bool = True
    apart: bool = False
    spread: bool = False
    species: str = ""


PRESENT_COLOUR, ABSENT_COLOUR = "#ffffff", "#8fa3ad"  # colours of sites on a map


@dataclass(frozen=True)
class SiteGroup:
    """Sites that a map shows in one colour: the rows of `sites` with the class `label`."""

    name: str
    colour: str
    label: str


@dataclass(frozen=True)
class Results:
    """The results of one model: the numbers in `<name>.json`, and all options of `run.yaml`.

    Every kind of model has its own class (`sdm/kinds`). `repeat` is the command that repeats the run.
    """

    record: ClassVar[str] = "site"  # a row of the data, as a noun
    presence_only: ClassVar[bool] = False  # whether records are compared with a background
    has_seed: ClassVar[bool] = True  # whether the results depend on the seed
    data_type: ClassVar[str] = ""  # of rangeModelMetadata; a kind without one has no metadata files
    area_column: ClassVar[str] = "Fractional area"  # of the ROC table
    area_key: ClassVar[str] = "area"  # of a threshold
    shows_survey: ClassVar[bool] = False  # whether a map shows the sites of the file of records
    species_maps: ClassVar[bool] = False  # whether there is a map of each species
    data_text: ClassVar[str] = ""  # of the ODMAP protocol
    output_text: ClassVar[str] = ""  # of the ODMAP protocol

    folder: Path
    name: str
    kind: str
    numbers: Numbers
    run: Numbers
    command: str
    repeat: str

    @property
    def title(self) -> str:
        """The title for people: a species, the title of classes, or the number of species of a joint model."""
        return self.stored_title.replace("_", " ")

    @property
    def stored_title(self) -> str:
        """The title as the data have it, with underscores."""
        stored = self.numbers.get("title", self.numbers.get("species", self.name))
        return f"{len(stored)} species" if isinstance(stored, list) else str(stored)

    @property
    def of_species(self) -> bool:
        """Whether the title is the name of a species, which is written in italics."""
        return False

    @property
    def page(self) -> Path:
        """The path of the page."""
        return self.folder / f"{self.name}.html"

    @property
    def files(self) -> dict[str, str]:
        """The existing files, by content."""
        named = self.numbers["files"].items()
        return {key: name for key, name in named if isinstance(name, str) and (self.folder / name).exists()}

    def path(self, key: str) -> Path | None:
        """Return the path of a file by content; None without it."""
        name = self.numbers["files"].get(key)
        path = self.folder / name if isinstance(name, str) else None
        return path if path is not None and path.exists() else None

    def table(self, key: str) -> list[Row]:
        """Return the rows of a table; an empty list without it."""
        path = self.path(key)
        if path is None:
            return []
        if key not in self._tables:
            self._tables[key] = read_rows(path)
        return self._tables[key]

    @cached_property
    def _tables(self) -> dict[str, list[Row]]:
        """The tables that have been read, by content."""
        return {}

    def plot(self, name: str) -> Path | None:
        """Return the path of a file in `plots/`; None without it."""
        plots = self.path("plots")
        path = None if plots is None else plots / name
        return path if path is not None and path.is_file() else None

    def tree(self, key: str) -> Numbers:
        """Return a dictionary of the numbers; an empty one if it is missing."""
        return tree_of(self.numbers, key)

    def option(self, dotted: str) -> Any:
        """Return an option of the run, such as `fit.multiplier`; None if it is not stored."""
        return nested(self.run, *dotted.split("."))

    @property
    def curve_scale(self) -> str:
        """The scale of its response curves."""
        return "exponent" if self.option("output.curves_exponent") else self.scale

    @property
    def scale(self) -> str:
        """The scale of its maps."""
        return str(self.option("predict.scale") or "cloglog")

    @property
    def classes(self) -> list[str]:
        """The labels of the classes; empty for other models."""
        labels = self.numbers.get("classes")
        return [str(label) for label in labels] if isinstance(labels, list) else []

    @property
    def tested(self) -> bool:
        """Whether records or sites were held out."""
        return self.numbers.get("auc_test") is not None or "test" in self.tree("measures")

    @property
    def survey(self) -> Numbers:
        """Measures at independent sites with absences."""
        return {}

    @property
    def assessed(self) -> bool:
        """Whether any measure is from held-out or independent data."""
        folds, tuned = self.tree("cross_validation"), self.tree("tuning").get("folds")
        parts = (folds.get("rows") or folds.get("folds"), tuned, self.survey, self.tree("test"))
        return self.tested or "cross-validation" in self.tree("measures") or any(map(bool, parts))

    @property
    def presence_band(self) -> int | None:
        """The band of the probability of presence in a presence–absence model."""
        return None

    @property
    def program(self) -> str:
        """The program that fitted the model, with its version."""
        return str(self.numbers.get("software") or f"sdm {self.numbers.get('version') or ''}".strip())

    @property
    def objective_unit(self) -> str:
        """The unit of the duality gap."""
        return "nats"

    @property
    def algorithm(self) -> str:
        """The algorithm in a sentence."""
        return ""

    @property
    def metadata(self) -> Numbers:
        """Entities of rangeModelMetadata for this kind of model."""
        return {"model$algorithms": f"maximum entropy, {self.kind}"}

    def map_layers(self) -> list[MapLayer]:
        """Return the maps, in the order of display."""
        label = SCALES.get(self.scale, self.scale)
        names = {key: f"projection: {title}" if title else TRAINING for key, title in self.map_titles().items()}
        layers = [MapLayer(name, path, label) for key, name in names.items() if (path := self.path(key))]
        return [*layers, *self.spread_layers(label)]

    def map_titles(self) -> dict[str, str]:
        """Return the titles of projections by the key of their map; the title of the training layers is empty."""
        titles = dict.fromkeys(key.partition("projection ")[2] for key in self.files if "projection " in key)
        return {"map": "", **{f"projection {title}": title for title in titles}}

    def spread_layers(self, label: str) -> list[MapLayer]:
        """Return the maps over replicates."""
        return [
            MapLayer(name, path, f"{label}: {name}", 1, key != "sd map", key == "sd map", key == "sd map")
            for key, name in SPREAD.items()
            if (path := self.path(key))
        ]

    def site_groups(self, legend: Iterable[tuple[str, str]]) -> list[SiteGroup]:
        """Return the groups of sites on a map, from labels and colours of the legend of the map."""
        return []

    def presence_rows(self, count: int) -> Sequence[int]:
        """Return which of the `count` rows of the training environment are presences; empty if unknown."""
        return ()

    def map_text(self, label: str) -> str:
        """Return the text alternative of the map."""
        return f"{self.title}: {label.lower()}"

    @cached_property
    def model(self) -> "FittedModel | None":
        """The model; None without its file."""
        from sdm.models.file import load_model

        path = self.path("model")
        return None if path is None else load_model(path)


def read_stored(place: Path, class_of: Callable[[str], type[Results]]) -> Results:
    """Read the results of one model from its folder, its model (`.npz`, `.lambdas`), or its numbers (`.json`).
    `class_of` returns the class of a kind."""
    place = Path(place)
    if place.is_dir():
        paths = stored_numbers(place)
        if len(paths) != 1:
            many = f"{len(paths)} models" if paths else "no results of `sdm fit`"
            raise ResultsError(f"{place} has {many}: expected the folder of one model, or its model file")
        return _read(paths[0], class_of)
    path = place.with_suffix(".json") if place.suffix in ENDINGS else place
    if path != place and place.is_file() and not path.is_file():
        raise ResultsError(f"{place} has no {path.name} in its folder: the HTML report needs all results")
    return _read(path, class_of)


def find_results(place: Path) -> list[Path]:
    """Return the files of numbers of all models of a run, in the order of the summary."""
    place = Path(place)
    if not place.exists():
        raise ResultsError(f"{place} does not exist: expected a results folder of sdm, or a model file in one")
    if not place.is_dir():
        return [place]
    paths = stored_numbers(place) or [path for folder in species_folders(place) for path in stored_numbers(folder)]
    if not paths:
        raise ResultsError(f"{place} has no results of `sdm fit`: expected its output folder, or a model file")
    return paths


def species_folders(place: Path) -> list[Path]:
    """Return the folders of the species of a run, in the order of the summary; without a summary, all folders."""
    summary = place / "summary.csv"
    if not summary.is_file():
        return sorted(path for path in place.iterdir() if path.is_dir())
    listed = [Path(row.get("folder") or "") for row in read_rows(summary)]
    return [place / path for path in listed if path.name and path.name == str(path)]


def read_rows(path: Path) -> list[Row]:
    """Read a CSV file as dictionaries of texts."""
    try:
        with path.open(newline="", encoding="utf-8") as source:
            head, *rows = [[unquoted(cell) for cell in row] for row in csv.reader(source) if row] or [[]]
            return [dict(zip(head, row)) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ResultsError(f"{path} cannot be read ({error}): run the fit again") from error


def add_rows(path: Path, rows: Sequence[Numbers]) -> Path:
    """Add rows to a table and create it if necessary; skip rows that it contains."""
    earlier: list[Numbers] = [*read_rows(path)] if path.exists() else []
    present = [{key: value for key, value in row.items() if value != ""} for row in earlier]
    fresh = [row for row in rows if {key: value for key, value in row.items() if value != ""} not in present]
    return write_text(path, table_text([*earlier, *fresh]), overwrite=True)


def nested(tree: object, *keys: str) -> Any:
    """Return a value of nested dictionaries by its keys; None if it is missing."""
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def tree_of(tree: object, *keys: str) -> Numbers:
    """Return a dictionary of nested dictionaries by its keys; an empty one if it is missing."""
    value = nested(tree, *keys)
    return value if isinstance(value, dict) else {}


def number(text: Any) -> float | None:
    """Return a finite number, or None."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def column(rows: Iterable[Numbers], name: str) -> list[float]:
    """Return a column as numbers; NaN for missing or invalid ones."""
    values = [number(row.get(name)) for row in rows]
    return [math.nan if value is None else value for value in values]


def rows_of(value: object) -> list[Numbers]:
    """Return the dictionaries of a list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def rows_by(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    """Return rows by the text of a column, in their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.get(name, ""), []).append(row)
    return groups


def stored_numbers(folder: Path, *kinds: str) -> list[Path]:
    """Return the files of numbers in a folder, of some kinds or of all."""
    paths = []
    for path in sorted(folder.glob("*.json")):
        try:
            tree = load_json(path)
        except (OSError, ValueError):
            continue
        kind = _kind(path, tree)
        if kind is not None and (not kinds or kind in kinds):
            paths.append(path)
    return paths


def _kind(path: Path, tree: object) -> str | None:
    """Return the kind of the numbers, as stored or by the model file; None for other files."""
    if not isinstance(tree, dict) or not isinstance(tree.get("files"), dict):
        return None
    if isinstance(tree.get("kind"), str):
        return str(tree["kind"])
    return kind_of(path.with_suffix(".npz"))  # missing in results of earlier versions


def _read(path: Path, class_of: Callable[[str], type[Results]]) -> Results:
    if not path.is_file():
        raise ResultsError(f"{path} does not exist: expected a results folder of sdm, or a model file in one")
    try:
        numbers = load_json(path)
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path} cannot be read as JSON ({error}): run the fit again") from error
    kind = _kind(path, numbers)
    if kind is None:
        raise ResultsError(f"{path} has no results of sdm: expected 'kind' and 'files', or a model file next to it")
    _check_names(path, numbers["files"])
    folder, run = path.parent, path.parent / "run.yaml"
    try:
        tree = load_yaml(run, "the run file of these results") if run.is_file() else {}
    except OptionError as error:
        raise ResultsError(f"{error}; run the fit again") from error
    repeat = _text(run).partition("\n")[0].partition("# Repeat with: ")[2]
    options = tree if isinstance(tree, dict) else {}
    return class_of(kind)(folder, path.stem, kind, numbers, options, _text(folder / "command.txt"), repeat)


def _check_names(path: Path, files: Numbers, deep: bool = False) -> None:
    """Refuse names outside the results, which no run writes."""
    for name in files.values():
        if isinstance(name, dict):
            _check_names(path, name, deep=True)
            continue
        parts = Path(name).parts if isinstance(name, str) and not Path(name).is_absolute() else ("..",)
        if ".." in parts or (len(parts) != 1 and not deep):
            raise ResultsError(f"{path} lists '{name}', which is not a file of the results: run the fit again")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
