"""What a run left in a folder, read back: numbers, tables, settings, and where the maps are. Nothing is computed."""

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdm.errors import DataError, OptionError
from sdm.reading import load_json, load_yaml
from sdm.report.tables import unquoted

if TYPE_CHECKING:
    from sdm.models.species import Model

Row = dict[str, str]
TREES = (
    "cross_validation", "importance", "map", "null_models", "presence_absence", "range", "records", "sampling",
    "structure", "thresholds", "tuning", "versions",
)  # fmt: skip
"""Numbers that have names in them; what is stored under these and has none is not ours, and left out."""


@dataclass(frozen=True)
class Results:
    """The results of one species.

    Attributes
    ----------
    folder : Path
    name : str
        What its files begin with.
    numbers : dict
        What is in `<name>.json`.
    run : dict
        `run.yaml`: every option of the run; empty where the file is not there.
    command : str
    """

    folder: Path
    name: str
    numbers: dict[str, Any]
    run: dict[str, Any]
    command: str

    @property
    def species(self) -> str:
        """The species' name."""
        return str(self.numbers["species"])

    @property
    def page(self) -> Path:
        """Where its page belongs."""
        return self.folder / f"{self.name}.html"

    @property
    def files(self) -> dict[str, str]:
        """Its files that are there, by what they are."""
        return {what: name for what, name in self._named.items() if (self.folder / name).exists()}

    @property
    def _named(self) -> dict[str, str]:
        named = self.numbers["files"]
        # A name with a folder in it would lead out of the results: whoever wrote that, it was not a run.
        return {str(what): str(name) for what, name in named.items() if Path(str(name)).name == str(name)}

    def path(self, what: str) -> Path | None:
        """Return where a file is, by what it is; None where it is not."""
        name = self.files.get(what)
        return None if name is None else self.folder / name

    def table(self, what: str) -> list[Row]:
        """Return the rows of a table; none where it is not there."""
        path = self.path(what)
        return [] if path is None else read_rows(path)

    def option(self, dotted: str) -> Any:
        """Return an option of the run, such as `fit.multiplier`; None where it is not known."""
        found: Any = self.run
        for part in dotted.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found

    @property
    def scale(self) -> str:
        """The scale of its maps."""
        return str(self.option("predict.scale") or "cloglog")

    @cached_property
    def model(self) -> "Model | None":
        """The model; None where its file is not there."""
        from sdm.models.species import Model

        path = self.path("model")
        return None if path is None else Model.load(path)


def read_results(place: Path) -> Results:
    """Read the results of one species.

    Parameters
    ----------
    place : Path
        Its folder, its model (`.npz`), or its numbers (`.json`).

    Raises
    ------
    DataError
        If there are none, or they cannot be read.
    """
    place = Path(place)
    if place.is_dir():
        found = [path for path in sorted(place.glob("*.json")) if _is_numbers(path)]
        if len(found) != 1:
            many = f"{len(found)} species in it" if found else "no results of `sdm fit` in it"
            raise DataError(f"{place} has {many}: expected the folder of one species, or its model file")
        numbers = found[0]
    elif place.suffix == ".npz":
        numbers = place.with_suffix(".json")
        if place.is_file() and not numbers.is_file():
            raise DataError(f"{place} has no {numbers.name} beside it: the page is made of the whole results folder")
    else:
        numbers = place
    return _read(numbers)


def find_results(place: Path) -> list[Path]:
    """Return the folders of all species of a run: the folder itself, or those in it, in the summary's order.

    Raises
    ------
    DataError
        If there are none.
    """
    place = Path(place)
    if not place.exists():
        raise DataError(f"{place} is not there: expected a results folder of `sdm fit`, or a model file in one")
    if not place.is_dir() or any(_is_numbers(path) for path in place.glob("*.json")):
        return [place]
    found = [folder for folder in species_folders(place) if any(_is_numbers(path) for path in folder.glob("*.json"))]
    if not found:
        raise DataError(f"{place} has no results of `sdm fit` in it: expected its output folder, or a model file")
    return found


def species_folders(place: Path) -> list[Path]:
    """Return the folders of a run's species, in the summary's order; without a summary, all folders."""
    summary = place / "summary.csv"
    if not summary.is_file():
        return sorted(path for path in place.iterdir() if path.is_dir())
    listed = [Path(row.get("folder") or "") for row in read_rows(summary)]
    return [place / path for path in listed if path.name and path.name == str(path)]


def read_rows(path: Path) -> list[Row]:
    """Read a CSV file as dictionaries of texts.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    try:
        with path.open(newline="", encoding="utf-8") as source:
            head, *rows = [[unquoted(cell) for cell in row] for row in csv.reader(source) if row] or [[]]
            return [dict(zip(head, row)) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read ({error}): make the results again with `sdm fit`") from error


def number(text: Any) -> float | None:
    """Return a finite number, or None."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def column(rows: Iterable[Row], name: str) -> list[float]:
    """Return a column as numbers; what is none is NaN."""
    values = [number(row.get(name)) for row in rows]
    return [math.nan if value is None else value for value in values]


def _is_numbers(path: Path) -> bool:
    """Whether a JSON file is that of a species."""
    try:
        tree = load_json(path)
    except (OSError, ValueError):
        return False
    return isinstance(tree, dict) and "species" in tree and isinstance(tree.get("files"), dict)


def _read(path: Path) -> Results:
    if not path.is_file():
        raise DataError(f"{path} is not there: expected a results folder of `sdm fit`, or a model file in one")
    try:
        numbers = load_json(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON ({error}): make the results again with `sdm fit`") from error
    if not _is_numbers(path):
        raise DataError(f"{path} holds no results of `sdm fit`: expected 'species' and 'files' in it")
    numbers = {key: value for key, value in numbers.items() if key not in TREES or isinstance(value, dict)}
    return Results(path.parent, path.stem, numbers, _read_run(path.parent), _read_command(path.parent))


def _read_run(folder: Path) -> dict[str, Any]:
    path = folder / "run.yaml"
    if not path.is_file():
        return {}
    try:
        tree = load_yaml(path, "the run file of these results")
    except OptionError as error:
        raise DataError(f"{error}; make the results again") from error
    return tree if isinstance(tree, dict) else {}


def _read_command(folder: Path) -> str:
    path = folder / "command.txt"
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
