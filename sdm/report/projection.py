"""Stored results of a projection: its cases (the reference and all scenarios) and their maps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path

import numpy as np

from sdm.errors import ResultsError
from sdm.maps.novelty import STRICT_COLOURS, STRICT_WORDS
from sdm.maps.projection.change import CODES, COLOURS
from sdm.models.colours import hex_colour
from sdm.models.file import model_class
from sdm.report.pictures import Picture, read_picture
from sdm.report.results import SCENARIOS, Results, nested, number, read_stored, rows_of, stored_numbers, tree_of
from sdm.types import Numbers

PROJECTION_KIND = "projection"  # value of `kind` in the file of numbers
REFERENCE = "reference"
CHANGE_COLOURS = {name: hex_colour(COLOURS[code]) for code, name in enumerate(CODES)}
# Maps that mark extrapolation, in order of preference: label, and the range of values of extrapolation.
NOVELTY = {
    "mess": ("MESS below 0", -inf, 0.0),
    "exdet": ("ExDet below 0", -inf, 0.0),
    "mop_strict": ("strict extrapolation of MOP", 1.0, 2.0),
}
MESS_LABEL = "MESS (below 0: outside the training range)"
LEAST_MESS, MOST_MESS = 1.0, 100.0  # limits of the value of the last colour
MESS_PIXELS = 256
# Maps of novelty that are shown as classes: labels and colours of their values.
NOVELTY_CLASSES = {
    "exdet": {
        0: ("not novel", CHANGE_COLOURS["stable_absent"]),
        1: ("type 1: a value outside its range", "#b2182b"),
        2: ("type 2: a new combination of values", "#e69f00"),
    },
    "mop_strict": {k: (STRICT_WORDS[f"value_{k}"], hex_colour(colour)) for k, colour in STRICT_COLOURS.items()},
}
NOVELTY_LABELS = {"exdet": "ExDet: type of novelty", "mop_strict": "MOP: strict extrapolation"}


@dataclass(frozen=True)
class StoredCase:
    """One map of a projection with its numbers: of the reference or of a scenario."""

    folder: Path
    numbers: Numbers
    rule: str | None = None
    is_reference: bool = False

    @property
    def title(self) -> str:
        """The title of the case."""
        title = self.numbers.get("title")
        return REFERENCE if self.is_reference and not title else str(title or "scenario")

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the scenario, such as climate model and period."""
        return {str(key): str(value) for key, value in tree_of(self.numbers, "fields").items()}

    def raster(self, key: str) -> Path | None:
        """Return the path of a map; None without it. `presence` has the threshold of the projection."""
        name = tree_of(self.numbers, "files").get(key)
        if isinstance(name, dict):
            name = name.get(self.rule) if self.rule in name else None
        return inside(self.folder, name)

    @property
    def novelty(self) -> str | None:
        """The map that marks extrapolation; None without one."""
        return next((key for key in NOVELTY if self.raster(key)), None)

    def tree(self, key: str) -> Numbers:
        """Return a dictionary of the numbers; an empty one if it is missing."""
        return tree_of(self.numbers, key)

    @property
    def km2(self) -> float | None:
        """The suitable area, by the threshold of the projection."""
        return number(nested(self.numbers, "rules", str(self.rule), "km2"))

    def changed(self, key: str) -> float | None:
        """Return the area of one type of change, in km²."""
        return number(nested(self.numbers, "change", key, "km2"))

    @property
    def net_percent(self) -> float | None:
        """The change of the suitable area in percent of the reference."""
        return number(nested(self.numbers, "change", "net_percent"))

    @property
    def outside(self) -> float | None:
        """The share of cells outside the training range."""
        return number(nested(self.numbers, "outside", "share"))

    @property
    def centroid(self) -> tuple[float, float] | None:
        """The centroid of the suitable area, in the coordinates of the raster."""
        point = self.tree("centroid")
        x, y = number(point.get("x")), number(point.get("y"))
        return None if x is None or y is None else (x, y)

    def outside_by_variable(self) -> dict[str, float]:
        """Return the share of cells outside the training range by variable, including new categories."""
        outside = self.tree("outside")
        parts = {**tree_of(outside, "variables"), **tree_of(outside, "unseen_categories")}
        shares = {str(name): number(part.get("share")) for name, part in parts.items() if isinstance(part, dict)}
        return {name: share for name, share in shares.items() if share is not None}


@dataclass(frozen=True)
class StoredProjection:
    """The stored projection of one species."""

    folder: Path
    numbers: Numbers

    @property
    def species(self) -> str:
        """The species, or the title of classes."""
        return str(self.numbers.get("species", ""))

    @property
    def title_style(self) -> str:
        """The font style of the title: italic for names of species."""
        return "italic" if has_species_titles(self.numbers) else "normal"

    @property
    def scale(self) -> str:
        """The scale of its maps."""
        return str(self.numbers.get("scale") or "cloglog")

    @property
    def rule(self) -> str | None:
        """The rule of the threshold of presence and change."""
        stored = self.numbers.get("rule")
        return None if stored is None else str(stored)

    @cached_property
    def reference(self) -> StoredCase | None:
        """The map of the reference; None without a reference."""
        stored = self.numbers.get("reference")
        return StoredCase(self.folder, stored, self.rule, is_reference=True) if isinstance(stored, dict) else None

    @cached_property
    def scenarios(self) -> list[StoredCase]:
        """All scenarios, in the order of the run."""
        return [StoredCase(self.folder, row, self.rule) for row in rows_of(self.numbers.get("scenarios"))]

    @property
    def cases(self) -> list[StoredCase]:
        """The reference, if there is one, and all scenarios."""
        return [*([self.reference] if self.reference else []), *self.scenarios]

    @property
    def groups(self) -> list[Numbers]:
        """The results of groups of scenarios."""
        return rows_of(self.numbers.get("across"))

    @property
    def sources(self) -> list[Numbers]:
        """The shares of variance by source."""
        return rows_of(nested(self.numbers, "variance", "sources"))

    @property
    def has_change(self) -> bool:
        """Whether scenarios were compared with a reference."""
        return any(case.tree("change") for case in self.scenarios)

    @cached_property
    def mess_reach(self) -> float:
        """The value of MESS, on both sides of 0, with the last colour on the page and in figures. It is a rounded
        number that 99 % of the cells below 0 (of all cells if none is below 0) do not exceed."""
        paths = [path for case in self.cases if (path := case.raster("mess"))]
        values = [read_picture(path, MESS_PIXELS).values.ravel() for path in paths]
        finite = np.concatenate([part[np.isfinite(part)] for part in values]) if values else np.empty(0)
        sizes = -finite[finite < 0.0] if np.any(finite < 0.0) else finite
        most = float(np.percentile(sizes, 99)) if sizes.size else MOST_MESS
        return next((step for step in (LEAST_MESS, 2.0, 5.0, 10.0, 20.0, 50.0) if step >= most), MOST_MESS)

    def group_raster(self, group: Numbers, key: str) -> Path | None:
        """Return the path of a map over a group of scenarios; None without it."""
        return inside(self.folder, nested(group, "files", key))

    def varying(self) -> dict[str, list[str]]:
        """Return the fields with more than one value over the scenarios, and their values in order."""
        named = self.numbers.get("fields")
        listed = map(str, named) if isinstance(named, list) else ()
        names = dict.fromkeys([*listed, *(name for case in self.scenarios for name in case.fields)])
        values = {name: list(dict.fromkeys(case.fields.get(name, "") for case in self.scenarios)) for name in names}
        return {name: listed_values for name, listed_values in values.items() if len(listed_values) > 1}


def has_species_titles(numbers: Numbers) -> bool:
    """Whether the title of a projection is the name of a species."""
    model = model_class(str(numbers.get("of")))
    return model is None or model.of_species


def find_projections(folder: Path) -> list[Path]:
    """Return the paths of all projections in a folder; an empty list if it does not exist."""
    return stored_numbers(folder, PROJECTION_KIND) if folder.is_dir() else []


def read_projection(path: Path) -> Results:
    """Read the results of a projection."""
    return read_stored(path, lambda kind: Results)


def projection_of(results: Results) -> Results | None:
    """Return the projection of a model: in the folder `scenarios` of its results, or of their run."""
    for folder in (results.folder, results.folder.parent):
        path = folder / SCENARIOS / f"{results.name}.json"
        if path.is_file() and (stored := read_projection(path)).kind == PROJECTION_KIND:
            return stored
    return None


def inside(folder: Path, name: object) -> Path | None:
    """Return a file of a folder by its stored name; None without it. Refuse paths outside the folder."""
    if not isinstance(name, str):
        return None
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ResultsError(f"the projection in {folder} lists '{name}', not a file in it: run the projection again")
    path = folder / name
    return path if path.is_file() else None


def novelty_picture(path: Path, kind: str, pixels: int) -> Picture:
    """Read a map of a projection; convert continuous novelty to classes."""
    picture = read_picture(path, pixels)
    if kind not in NOVELTY_CLASSES:
        return picture
    values = picture.values
    if kind == "exdet":  # the type of novelty
        types = np.select([values < 0, values > 1, np.isfinite(values)], [1.0, 2.0, 0.0], np.nan)
        values = types.astype(np.float32)
    return replace(picture, values=values, legend=NOVELTY_CLASSES[kind])


def worst_change(cases: Sequence[StoredCase]) -> float | None:
    """Return the largest loss of suitable area in percent of the reference; the smallest gain if all scenarios gain."""
    return min((value for case in cases if (value := case.net_percent) is not None), default=None)


def mean_change(cases: Sequence[StoredCase]) -> float | None:
    """Return the mean change of the suitable area over scenarios, in percent of the reference."""
    changes = [value for case in cases if (value := case.net_percent) is not None]
    return math.fsum(changes) / len(changes) if changes else None


def most_outside(cases: Sequence[StoredCase]) -> float | None:
    """Return the largest share of cells outside the training range over scenarios."""
    return max((value for case in cases if (value := case.outside) is not None), default=None)
