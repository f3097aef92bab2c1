"""Virtual species in a virtual landscape: layers, records and survey sites with known truth.

The niche of a virtual species is a formula of the layers, so that a model can be compared with the truth, not only with
held-out records. All bytes follow from one seed.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from rasterio.errors import RasterioError

from sdm.errors import ConflictError, FileFormatError, OptionError, OutputError, OutputExistsError
from sdm.simulate.axes import AnySpecies, AxisSpecies, HiddenAxes
from sdm.simulate.axis_lottery import draw_axis_species
from sdm.simulate.landscape import CLASSES, LAYERS, Landscape, place
from sdm.simulate.names import FILE_NAME, MOST_SPECIES
from sdm.simulate.niche import NICHES, VirtualSpecies, make_species
from sdm.simulate.random_niche import NicheLottery
from sdm.simulate.strips import WorldPass, WorldPlan
from sdm.storage.commit import claim, staging
from sdm.storage.reading import load_json
from sdm.types import AnyArray, Numbers, Progress

#: With more species, rasters of truth are written only on request.
TRUTH_UP_TO = 8


def _tables(plan: WorldPlan, stage: Path, drawn: WorldPass, fewest: int) -> list[int]:
    """Write the records, and the survey sites with presence or absence at each; return the records per species."""
    survey, counts = drawn.sites.cells, list[int]()
    if len(survey) < plan.sites:
        raise OptionError(f"sites={plan.sites:,}: the land has {len(survey):,} cells; use fewer sites or a larger size")
    for species, draws in zip(plan.species, drawn.draws):
        if len(draws.cells) < fewest:
            few = f"{species.name} can live in {len(draws.cells):,} cells"
            raise OptionError(f"records={fewest:,}: {few}; use fewer records or a larger size")
    with _csv(stage / "occurrences.csv", "species", "longitude", "latitude") as out:
        for species, draws in zip(plan.species, drawn.draws):
            counts.append(len(draws.cells))
            out.writerows((species.name, *place) for place in _places(plan, species.name, *draws.cells[:, 1:].T))
    if not plan.sites:
        return counts
    rows, cols = survey[:, 1], survey[:, 2]
    places, columns = _places(plan, "sites", rows, cols), np.ascontiguousarray(survey[:, 3:].T, np.float32)
    with _csv(stage / "presence_absence.csv", "species", "longitude", "latitude", "presence") as out:
        for number, species in enumerate(plan.species):
            present = plan.world.white(f"{species.name} found", rows, cols) < plan.suitability(number, columns)
            out.writerows((species.name, *place, int(yes)) for place, yes in zip(places, present))
    return counts


def _axis_tables(axes: HiddenAxes, species: Sequence[AnySpecies], folder: Path) -> None:
    """Write the loadings of the shared axes, and the slopes of every species along them."""
    folder.mkdir(exist_ok=True)
    with _csv(folder / "axes.csv", "layer", "mean", "deviation", *axes.names) as out:
        out.writerows(zip(axes.layers, axes.mean, axes.deviation, *axes.loadings))
    with _csv(folder / "species_axes.csv", "species", "intercept", *axes.names) as out:
        out.writerows((s.name, s.intercept, *s.slopes) for s in species if isinstance(s, AxisSpecies))


@contextmanager
def _csv(path: Path, *head: str) -> Iterator[Any]:
    """Yield the writer of a table with a head."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(head)
        yield out


def _places(plan: WorldPlan, stream: str, rows: AnyArray, cols: AnyArray) -> list[tuple[str, str]]:
    """Return longitude and latitude of random points within the drawn cells, a tenth of a cell or more from the
    edges."""
    down = 0.1 + 0.8 * plan.world.white(f"{stream} down", rows, cols)
    right = 0.1 + 0.8 * plan.world.white(f"{stream} right", rows, cols)
    x, y = plan.grid.lonlat(rows + down, cols + right)
    return [(f"{a:.6f}", f"{b:.6f}") for a, b in zip(x, y)]


def _describe(plan: WorldPlan, drawn: WorldPass, records: tuple[int, int], counts: Sequence[int]) -> Numbers:
    """Return the content of ``truth.json``."""
    about = {layer.name: {"unit": layer.unit, "text": layer.text} for layer in LAYERS}
    about["landcover"], grid = {"unit": "class", "text": "land cover"}, plan.grid
    fixed = records[0] == records[1]
    return {
        "format": "sdm-virtual/1",
        "seed": plan.world.seed,
        "rows": grid.height,
        "cols": grid.width,
        "crs": None if grid.crs is None else grid.crs.to_string(),
        "transform": list(grid.transform)[:6],
        "sea": round(1.0 - drawn.land / (grid.n_cells), 4),
        "layers": {n: about.get(n, {"unit": "", "text": "noise: no species responds to it"}) for n in plan.layers},
        "categorical": {"landcover": CLASSES},
        "records": records[0] if fixed else list(records),
        "sites": plan.sites,
        "warming": plan.warming,
        "effort": {"file": "effort.tif", "towns": plan.towns} if plan.towns else None,
        **({"shared_axes": asdict(plan.axes)} if plan.axes else {}),
        "species": [
            {
                **{name: value for name, value in asdict(species).items() if name != "axes"},
                "truth": plan.truth_path(species) if plan.truth else None,
                "prevalence": round(total / drawn.land, 4),
                **({} if fixed else {"records": count}),
            }
            for species, total, count in zip(plan.species, drawn.sums, counts)
        ],
    }


_OURS = re.compile(
    rf"((layers|warmer)/(landcover|noise\d+|{'|'.join(layer.name for layer in LAYERS)})"
    rf"|truth/(Virtualis_[a-z]+|{FILE_NAME}|axis_\d+)|effort)"
    r"\.tif(\.aux\.xml)?|truth/(species_)?axes\.csv|occurrences\.csv|presence_absence\.csv|truth\.json"
)


@contextmanager
def _staged(folder: Path, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary folder; move its files into the results only if no error occurred."""
    old = [p for p in (*folder.glob("*"), *folder.glob("*/*")) if _OURS.fullmatch(p.relative_to(folder).as_posix())]
    if old and not overwrite:
        raise OutputExistsError(f"{old[0]} exists already: choose another folder, or use --overwrite")
    with claim(folder, overwrite=True), staging(folder, overwrite=True) as stage:
        try:
            yield stage
        except (OSError, RasterioError) as error:
            why = getattr(error, "strerror", None) or error.__cause__ or error
            more = "choose a folder with room and write access"
            raise OutputError(f"{folder} cannot be written ({why}): {more}") from error


@dataclass(frozen=True)
class Simulation:
    """The files of :func:`simulate`, and their species."""

    folder: Path
    layers: tuple[Path, ...]
    occurrences: Path
    presence_absence: Path | None
    truth: tuple[Path, ...]
    truth_json: Path
    effort: Path | None
    species: tuple[AnySpecies, ...]
    warmer: tuple[Path, ...] = ()
    axes: tuple[Path, ...] = ()  # rasters of the shared axes
    axis_tables: tuple[Path, ...] = ()  # their loadings, and the slopes of the species

    @property
    def files(self) -> tuple[Path, ...]:
        """All files, layers first."""
        rasters = (*self.layers, *self.warmer, *self.truth, *self.axes, *((self.effort,) if self.effort else ()))
        survey = (self.presence_absence,) if self.presence_absence else ()
        return (*rasters, self.occurrences, *survey, *self.axis_tables, self.truth_json)


def read_truth(path: str | Path) -> tuple[AnySpecies, ...]:
    """Return the species that a ``truth.json`` describes."""
    try:
        data = load_json(path)
        if "shared_axes" not in data:
            return TypeAdapter(tuple[VirtualSpecies, ...]).validate_python(data["species"])
        axes = TypeAdapter(HiddenAxes).validate_python(data["shared_axes"])
        species = [{**one, "axes": axes} for one in data["species"]]
        return TypeAdapter(tuple[AxisSpecies, ...]).validate_python(species)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path} is not a truth.json of sdm simulate ({error}): run it again") from error


def _integer(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number between limits, or raise OptionError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        raise OptionError(f"{name}={value!r}: expected a whole number from {low:,} to {high:,}")
    return int(value)


def _range(value: Any) -> tuple[int, int]:
    """Return the smallest and largest number of records, from one or two numbers or a text."""
    parts = value
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9}))?\s*", value)
        if match is None:
            want = "expected a whole number, or two such as 20-200"
            raise OptionError(f"records={value[:40]!r}: {want}")
        parts = [int(part) for part in match.groups() if part is not None]
    elif not isinstance(value, Sequence):
        parts = [value]
    if not 1 <= len(parts) <= 2:
        raise OptionError(f"records={value!r}: expected one number, or the fewest and the most")
    low, high = (_integer("records", part, 1, 10**7) for part in (parts[0], parts[-1]))
    if low > high:
        raise OptionError(f"records={value!r}: expected the fewest before the most")
    return low, high


def _counts(world: Landscape, species: Sequence[AnySpecies], low: int, high: int) -> tuple[int, ...]:
    """Draw the number of records of each species from a log-uniform distribution."""
    if low == high:
        return (low,) * len(species)
    chance = (float(world.white(f"{one.name} records", 0, 0)) for one in species)
    return tuple(min(high, round(low * (high / low) ** u)) for u in chance)


def simulate(
    folder: str | Path,
    *,
    size: int | tuple[int, int] = 200,
    layers: int = 7,
    species: int = 1,
    records: int | str | tuple[int, int] = 200,
    sites: int = 500,
    seed: int = 1,
    noise: int = 0,
    bias: bool = False,
    interaction: bool = False,
    shared_axes: int = 0,
    warming: float = 0.0,
    truth: bool | None = None,
    crs: str = "EPSG:4326",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Simulation:
    """Make a virtual landscape and virtual species in it, and write the files of a study, and the truth.

    Parameters
    ----------
    folder
        Gets ``layers/*.tif``, ``occurrences.csv``, ``presence_absence.csv``, ``truth/*.tif``, ``truth.json``, and
        ``effort.tif`` with ``bias``. Files appear there all at the end, or not at all.
    size, seed
        Cells per side, or rows and columns; everything follows from the seed: the same options and seed give the same
        bytes, and the same seed with more cells is the same world in more detail.
    layers, noise
        3 … 20: the first of ``sdm.simulate.landscape.LAYERS``, the last one always the categorical ``landcover``; and
        how many further layers ``noise1``, ``noise2``, … of independent numbers that no species knows.
    species, interaction
        1 … 100,000, each with a niche of its own, and whether each is also confined to where one layer is above and
        another below a limit. The niches of the first eight are always the same; those of others are random, from
        rare species (mean suitability 0.005) to common ones (0.4).
    shared_axes
        All species respond to the same number of hidden axes, and to nothing else. An axis is a random combination of
        the continuous layers; no two are correlated over the land. The logarithm of suitability is a straight line
        along each: its matrix of cells × species, every species less its mean, has that rank. Also written:
        ``truth/axes.csv`` (loadings), ``truth/species_axes.csv`` (slopes) and ``truth/axis_1.tif``, … None by default.
    records, sites
        Occurrences of each species: cells drawn by suitability (times effort with ``bias``), without replacement; and
        survey sites (0 for none), drawn uniformly from the land, where a species is found with its suitability as
        probability. Records are one number for all species, or the fewest and the most, ``(20, 200)`` or ``"20-200"``:
        then each species has its own number, drawn evenly in its logarithm, or as many as there are cells for it.
    bias
        Records come more often from near five towns; the effort is written too.
    warming
        Also write ``warmer/*.tif``: the same layers with the temperature raised by N degrees, to project on.
    truth
        Whether to write ``truth/*.tif``, the suitability for each species; by default with up to eight species.
        ``truth.json`` has all niches in any case.
    crs
        WGS 84 cells of 4°/size by default; 400 km/size in a projected CRS. Tables are always in WGS 84.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = simulate(folder, size=64, layers=3, records=20)
    >>> [path.name for path in made.layers]
    ['temperature.tif', 'precipitation.tif', 'landcover.tif']
    """
    folder = Path(folder)
    shape = tuple(size) if isinstance(size, Sequence) else (size, size)
    if len(shape) != 2:
        raise OptionError(f"size={size!r}: expected one number of cells, or rows and columns")
    rows, cols = (_integer("size", n, 32, 100_000) for n in shape)
    names = [layer.name for layer in LAYERS[: _integer("layers", layers, 3, len(LAYERS) + 1) - 1]] + ["landcover"]
    names += [f"noise{k + 1}" for k in range(_integer("noise", noise, 0, 100))]
    _integer("species", species, 1, MOST_SPECIES)
    (low, high), sites = _range(records), _integer("sites", sites, 0, 10**7)
    seed = _integer("seed", seed, 0, 2**63 - 1)
    if not -20 <= warming <= 20:
        raise OptionError(f"warming={warming!r}: expected degrees from -20 to 20")
    _check_axes(shared_axes, layers - 1, species, interaction)
    truth = species <= TRUTH_UP_TO if truth is None else bool(truth)
    grid = place(rows, cols, crs)
    with _staged(folder, overwrite) as stage:
        world = Landscape(rows, cols, seed)
        niches: tuple[AnySpecies, ...]
        if shared_axes:
            niches = draw_axis_species(world, names[: layers - 1], shared_axes, species, progress)
        else:
            niches = _niches(world, world.sample(names), species, interaction)
        plan = WorldPlan(
            world, grid, tuple(names), niches, world.towns() if bias else [], _counts(world, niches, low, high), sites,
            float(warming), truth,
        )  # fmt: skip
        drawn = WorldPass(plan)
        drawn.write(stage, progress)
        counts = _tables(plan, stage, drawn, low)
        if plan.axes:
            _axis_tables(plan.axes, plan.species, stage / "truth")
        text = json.dumps(_describe(plan, drawn, (low, high), counts), indent=2, ensure_ascii=False)
        (stage / "truth.json").write_text(text + "\n", encoding="utf-8", newline="\n")
    return _simulation(folder, plan)


def _simulation(folder: Path, plan: WorldPlan) -> Simulation:
    """Return the files of a study as planned."""
    return Simulation(
        folder,
        layers=tuple(folder / f"layers/{name}.tif" for name in plan.layers),
        occurrences=folder / "occurrences.csv",
        presence_absence=folder / "presence_absence.csv" if plan.sites else None,
        truth=tuple(folder / plan.truth_path(s) for s in plan.species) if plan.truth else (),
        truth_json=folder / "truth.json",
        effort=folder / "effort.tif" if plan.towns else None,
        species=plan.species,
        warmer=tuple(folder / f"warmer/{name}.tif" for name in plan.layers) if plan.warming else (),
        axes=tuple(folder / f"truth/{name}.tif" for name in plan.axes.names) if plan.axes else (),
        axis_tables=(folder / "truth/axes.csv", folder / "truth/species_axes.csv") if plan.axes else (),
    )


def _check_axes(axes: Any, layers: int, species: int, interaction: bool) -> None:
    """Raise if shared axes are not possible with the layers, the species or other options."""
    if not _integer("shared_axes", axes, 0, len(LAYERS)):
        return
    if axes > layers:
        raise ConflictError(
            f"shared_axes={axes}: expected at most the {layers} continuous layers; use {layers} axes, or at least "
            f"{axes + 1} layers (one is land cover)"
        )
    if axes > species:
        count = "there is 1 species" if species == 1 else f"there are {species} species"
        raise ConflictError(f"shared_axes={axes}: {count}; use at least {axes} species")
    if interaction:
        raise ConflictError(f"interaction=True and shared_axes={axes} exclude each other: remove one of them")


def _niches(
    world: Landscape, look: Mapping[str, AnyArray], count: int, interaction: bool
) -> tuple[VirtualSpecies, ...]:
    """Return the species: first the fixed niches, then random ones."""
    lottery = NicheLottery(world, look)
    further = (lottery.niche(number, interaction) for number in range(count - len(NICHES)))
    return (*make_species(look, count, interaction), *further)
