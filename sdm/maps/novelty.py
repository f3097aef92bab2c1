"""Maps of novelty, in addition to the map of a model: all requested measures, from one window of layers.

| measure | maps |
|---|---|
| mess | `mess` (Elith, Kearney and Phillips 2010), `mod`: the most dissimilar variable |
| exdet | `exdet` (Mesgaran, Cousens and Webber 2014), `exdet_variable`: the most influential variable |
| mop | `mop` (Owens et al. 2013), `mop_strict`: 1 where a value is outside its range |
| clamping | `clamping`: the difference of the predictions with and without clamping; the largest, for several models |
| limiting | `limiting`: the variable that limits the prediction (Elith, Kearney and Phillips 2010) |

Maps of variables contain their numbers, from 1 in the order of the model; 0 means no variable. Variables of place are
excluded, because distance from the training sites is not environmental novelty.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.place import is_place, without_place
from sdm.data.rasters.grid import Grid
from sdm.errors import InapplicableError, IncompleteModelError, OptionError
from sdm.maps.cells import KnownCells
from sdm.maps.gis.tags import RasterSummary
from sdm.maps.outside import OutsideTally, outside_line
from sdm.maps.rasters import BINARY_NODATA, NODATA, Raster
from sdm.models.colours import palette
from sdm.models.interface import FittedModel
from sdm.models.presence import presence_class
from sdm.novelty.exdet import NONE, Extrapolation
from sdm.novelty.mess import Similarity
from sdm.novelty.mop import Parity
from sdm.types import AnyArray, Array, Colour, Numbers

STRICT_COLOURS: dict[int, Colour] = {0: (225, 225, 225), 1: (213, 94, 0)}
STRICT_WORDS = {"value_0": "inside all ranges", "value_1": "outside a range"}
MEASURES: dict[str, tuple[str, ...]] = {
    "mess": ("mess", "mod"),
    "exdet": ("exdet", "exdet_variable"),
    "mop": ("mop", "mop_strict"),
    "clamping": ("clamping",),
    "limiting": ("limiting",),
}
OF_VARIABLES = ("mod", "exdet_variable", "limiting")  # maps with numbers of variables
REPEATS = ("mess", "clamping")  # shares of the reference points, mostly 0
TITLES = {
    "mess": "MESS (negative: outside the training range)",
    "mod": "most dissimilar variable",
    "exdet": "ExDet (below 0: type 1 novelty, above 1: type 2)",
    "exdet_variable": "most influential variable of the novelty (0: not novel)",
    "mop": "MOP (distance to the nearest 5 % of the training environment)",
    "mop_strict": "strict extrapolation",
    "clamping": "difference between predictions with and without clamping",
    "limiting": "limiting variable (0: none)",
}
NUMBERS = 1 << 22  # features and predictions in memory at once, per thread
NO_VARIABLE: Colour = (220, 220, 220)


def read_measures(words: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the measures of novelty without repetition, from names or a text with commas."""
    listed = [words] if isinstance(words, str) else list(words or ())
    names = [name.strip() for text in listed for name in text.split(",") if name.strip()]
    for name in names:
        if name not in MEASURES:
            raise OptionError(f"novelty={name!r}: expected some of {', '.join(MEASURES)}")
    return tuple(name for name in MEASURES if name in names)


def check_measures(model: FittedModel, measures: Sequence[str]) -> None:
    """Raise if a measure does not apply to a model."""
    if "limiting" in measures:
        _one_band(model)
    if model.reference is None and set(measures) - {"clamping"}:
        raise IncompleteModelError(_unknown(model))
    if measures and not without_place(model.names):
        raise IncompleteModelError("the model has spatial variables only: there is no environmental novelty to map")


def novelty_places(measures: Sequence[str], beside: Path) -> dict[str, Path]:
    """Return the paths of the maps of measures, beside a map `<stem>.tif`: `<stem>_mess.tif`, `<stem>_mod.tif`, …"""
    return {name: beside.with_name(f"{beside.stem}_{name}.tif") for one in measures for name in MEASURES[one]}


class Novelty:
    """Measures of novelty at points, for one model.

    Parameters
    ----------
    model : FittedModel
    measures : sequence of str
        Some of `MEASURES`, as `read_measures` returns them.
    scale : str, optional
        Of the predictions that clamping and limiting compare.
    """

    def __init__(self, model: FittedModel, measures: Sequence[str], scale: str | None = None) -> None:
        self.model, self.measures, self.scale = model, tuple(measures), scale
        self._step = max(
            1, NUMBERS // (len(model.bands) + len(model.names) + (len(model.feature_names) if measures else 0))
        )
        self.names = tuple(name for one in measures for name in MEASURES[one])
        self._place = [k for k, name in enumerate(model.names) if is_place(name)]
        self._measured = [k for k in range(len(model.names)) if k not in self._place]  # variables of the environment
        check_measures(model, measures)
        self.band = _one_band(model) if "limiting" in measures else 0
        reference = model.reference
        if reference is None:
            return
        makers: dict[str, Callable[..., Any]] = {"mess": Similarity.of, "exdet": Extrapolation.of, "mop": Parity.of}
        seen = reference if not self._place else reference.pick(self._measured)
        self._made = {name: make(seen) for name, make in makers.items() if name in measures}

    def measure(
        self, columns: Sequence[AnyArray], predicted: Array | None = None, clamped: bool = True
    ) -> dict[str, AnyArray]:
        """Return the maps at points, from one array per variable. Missing values are NaN, or 255 in bytes.

        `predicted` is the prediction of the model, `(bands, n)`, with or without clamping; if it is None, it is
        computed. Points are measured in blocks to limit the memory.
        """
        out: dict[str, AnyArray] = {}
        if "mess" in self.measures:  # needs no memory except for its maps
            out["mess"], variable = self._made["mess"].measure(self._of_environment(columns))
            out["mod"] = _numbered(self._of_model(variable))
        if len(out) == len(self.names):
            return out
        parts = []
        for first in range(0, max(len(columns[0]), 1), self._step):
            block = slice(first, first + self._step)
            prediction = None if predicted is None else predicted[:, block]
            points: Any = np.array([column[block] for column in columns])
            parts.append(self._measure(points, prediction, clamped))
        return out | {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _measure(self, columns: Sequence[AnyArray], predicted: Array | None, clamped: bool) -> dict[str, AnyArray]:
        """Return all measures except MESS."""
        out: dict[str, AnyArray] = {}
        for name in ("exdet", "mop"):
            if name in self.measures:
                out |= zip(MEASURES[name], self._made[name].measure(self._of_environment(columns)))
        if "exdet" in out:
            out["exdet_variable"] = _numbered(self._of_model(out["exdet_variable"]), 0)
            out["exdet_variable"][np.isnan(out["exdet"])] = NONE
        if "mop" in out:
            out["mop_strict"] = np.where(np.isnan(out["mop"]), NONE, out["mop_strict"]).astype(np.uint8)
        if self._place and "clamping" in self.measures:
            columns, predicted = self._held(columns), predicted if clamped else None
        if predicted is None and {"clamping", "limiting"} & set(self.measures):
            predicted = self.model.column_values(columns, self.scale, clamped)
        if "clamping" in self.measures and predicted is not None:
            effect = self.model.clamping_effect(columns, predicted, self.scale, clamped)
            out["clamping"] = effect.astype(np.float32)
        if "limiting" in self.measures and predicted is not None:
            out["limiting"] = self._limiting(columns, predicted[self.band], clamped)
        return out

    def _of_environment(self, columns: Sequence[AnyArray]) -> Sequence[AnyArray]:
        """Return the environmental variables."""
        return columns if not self._place else [columns[k] for k in self._measured]

    def _of_model(self, variables: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return positions in the model for positions among the environmental variables."""
        if not self._place:
            return variables
        position = np.full(NONE + 1, NONE, dtype=np.uint8)
        position[: len(self._measured)] = self._measured
        return position[variables]

    def _held(self, columns: Sequence[AnyArray]) -> Sequence[AnyArray]:
        """Return the variables with coordinates clamped to their training range, so that clamping shows the environment
        alone."""
        reference, held = self.model.reference, list(columns)
        if reference is not None:
            for k in self._place:
                held[k] = np.clip(columns[k], reference.low[k], reference.high[k])
        return held

    def _limiting(self, columns: Sequence[AnyArray], predicted: Array, clamped: bool) -> NDArray[np.uint8]:
        """Return the variable that raises the prediction most when it is replaced by its mean over the presences."""
        typical = self.model.reference.typical[self.band]  # type: ignore[union-attr,index]
        most, which = np.zeros(len(predicted)), np.zeros(len(predicted), dtype=np.uint8)
        for k in self._measured:
            changed = list(columns)
            changed[k] = np.full(len(predicted), typical[k])
            raised = self.model.column_values(changed, self.scale, clamped)[self.band] - predicted
            better = raised > most
            most[better], which[better] = raised[better], k + 1
        which[np.isnan(predicted)] = NONE
        return which


class NoveltyMaps:
    """Maps of novelty and their counts, computed with the maps of a model in the same pass over the layers.

    The writer of the maps calls `start` with the grid, adds the `bands` of every window to its own, and calls `wrote`.
    Then `outside` says how much of the map is outside the training range.
    """

    def __init__(
        self,
        model: FittedModel,
        places: Mapping[str, Path] | None = None,
        measures: Sequence[str] = (),
        scale: str = "",
    ) -> None:
        self.model, self.seen = model, model.training_range
        self.novelty = Novelty(model, measures, scale or None)
        self.places = dict(places or {})
        self.summaries: dict[str, RasterSummary] = {}
        self._tally: OutsideTally | None = None

    def start(self, grid: Grid) -> None:
        """Set the grid."""
        self._tally = None if self.seen is None else OutsideTally(self.seen, grid)

    @property
    def rasters(self) -> list[Raster]:
        """The files to write."""
        return [self._raster(name) for name in self.novelty.names]

    def _raster(self, name: str) -> Raster:
        path, title = self.places[name], (TITLES[name],)
        if name in OF_VARIABLES:
            colours = dict(enumerate([NO_VARIABLE, *palette(len(self.model.names))]))
            return Raster(path, "uint8", BINARY_NODATA, bands=title, colours=colours)
        if name == "mop_strict":
            return Raster(path, "uint8", BINARY_NODATA, bands=title, colours=STRICT_COLOURS)
        return Raster(path, bands=title, repeats=name in REPEATS)

    @property
    def tags(self) -> list[dict[str, str]]:
        """The tags of the files, with the numbers of variables."""
        common = {"model_id": self.model.identity, "software": f"sdm {__version__}"}
        legend = {f"variable_{k}": name for k, name in enumerate(self.model.names, start=1)}
        names = self.novelty.names
        words = dict.fromkeys(OF_VARIABLES, legend) | {"mop_strict": STRICT_WORDS}
        return [{**common, "what": TITLES[name], **words.get(name, {})} for name in names]

    def count(self, window: Window, columns: Sequence[AnyArray], valid: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Count a window, and return the cells outside the training range; None if the range is unknown."""
        return None if self._tally is None else self._tally.add(window, columns, valid)

    def bands(
        self,
        window: Window,
        columns: Sequence[AnyArray],
        valid: NDArray[np.bool_],
        predicted: Array | None = None,
        clamped: bool = True,
    ) -> list[AnyArray]:
        """Count a window, and return a band for every raster. `valid` are the mapped cells; see `Novelty.measure`."""
        self.count(window, columns, valid)
        if not self.novelty.names:
            return []
        measured = self.novelty.measure(columns, predicted, clamped)
        for band in measured.values():
            band[~valid] = BINARY_NODATA if band.dtype == np.uint8 else NODATA
        return [measured[name].reshape(int(window.height), int(window.width)) for name in self.novelty.names]

    def measured_at(self, cells: KnownCells, predicted: Array | None = None, clamped: bool = True) -> list[AnyArray]:
        """Return a band for every raster from the cells of a window with values; `predicted` as in
        `Novelty.measure`."""
        if not self.novelty.names:
            return []
        measured = self.novelty.measure(cells.values, predicted, clamped)
        bands = (measured[name] for name in self.novelty.names)
        return [cells.spread(band, BINARY_NODATA if band.dtype == np.uint8 else NODATA) for band in bands]

    def wrote(self, summaries: Sequence[RasterSummary]) -> None:
        """Store the summaries of these maps."""
        by_path = {one.path: one for one in summaries}
        self.summaries = {name: by_path[self.places[name]] for name in self.novelty.names}

    @property
    def outside(self) -> Numbers | None:
        """The share of the map outside the training range; None if the model lacks the range."""
        return None if self._tally is None else self._tally.numbers()

    @property
    def numbers(self) -> Numbers:
        """The counts as JSON values."""
        outside, maps = self.outside, {a: one.numbers for a, one in self.summaries.items() if a not in OF_VARIABLES}
        return {**({} if outside is None else {"outside": outside}), **({"novelty": maps} if maps else {})}

    @property
    def lines(self) -> list[str]:
        """The counts as text, before other lines about a map."""
        return [] if self.outside is None else [outside_line(self.outside)]

    @property
    def texts(self) -> dict[str, str]:
        """The content of each map."""
        of_names = {name: TITLES[name] for name in OF_VARIABLES}
        return {name: of_names.get(name, one.text) for name, one in self.summaries.items()}


def _numbered(variables: NDArray[np.uint8], none: int = NONE) -> NDArray[np.uint8]:
    """Return numbers of variables from 1."""
    return np.where(variables == NONE, np.uint8(none), variables + np.uint8(1))


def _one_band(model: FittedModel) -> int:
    """Return the band for the limiting variable: the only band, or presence."""
    band = 0 if len(model.bands) == 1 else presence_class(model.bands)
    if band is None or (model.reference is not None and model.reference.typical is None):
        raise InapplicableError(
            f"novelty=limiting needs one output, and this {model.called} has {len(model.bands)}: remove it"
        )
    return band


def _unknown(model: FittedModel) -> str:
    if len(model.names) > NONE - 1:
        return f"novelty supports {NONE - 1} variables, and the model has {len(model.names)}: fit it with fewer"
    if "program" in model.meta:
        return f"a file of {model.meta['program']} lacks the training environment: remove --novelty"
    return "the model file, of an earlier version, lacks the training environment: fit it again to measure novelty"
