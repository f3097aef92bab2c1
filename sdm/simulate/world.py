"""Virtual species in a virtual landscape: layers, records and survey sites whose truth is known.

The niche of a virtual species is a formula of the layers, so a model of it can be compared with the truth, not
only with held-out records. Everything follows from one seed, to the byte.
"""

import csv
import json
import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.errors import RasterioError
from rasterio.windows import Window

from sdm.commit import claim, staging
from sdm.data.rasters.grid import Grid
from sdm.errors import DataError, OptionError, OutputError
from sdm.progress.telling import StepCount
from sdm.reading import load_json
from sdm.simulate.landscape import CLASSES, LAYERS, Array, Landscape, place, round_to
from sdm.simulate.niche import NICHES, VirtualSpecies, make_species
from sdm.types import Progress

NODATA = -9999.0
_BLOCK = 256  # side of a tile, and rows in a strip
_CACHE = 64 * 2**20  # bytes of GDAL's block cache; its default, 5 % of the memory, is far more than needed
_WORKERS = min(3, os.cpu_count() or 1)


@dataclass(frozen=True)
class _Plan:
    """Everything that the files follow from."""

    world: Landscape
    grid: Grid
    layers: tuple[str, ...]
    species: tuple[VirtualSpecies, ...]
    towns: list[dict[str, float]]
    records: int
    sites: int
    warming: float = 0.0

    def truth(self, species: VirtualSpecies) -> str:
        """Return the path of a species' truth raster in the result folder."""
        return f"truth/{species.name.replace(' ', '_')}.tif"


def _chosen(rank: Array, n: int, top: int, *columns: NDArray) -> Array:
    """Return rank, row, column and ``columns`` of the ``n`` cells of lowest finite rank in a strip, one cell per line.
    With ranks ``-log(u) / weight`` these are draws without replacement with probability proportional to weight
    (Efraimidis and Spirakis 2006), and strips can be drawn from one by one."""
    flat = rank.ravel()
    best = np.argpartition(flat, n)[:n] if flat.size > n else np.arange(flat.size)
    best = best[np.isfinite(flat[best])]
    rows, cols = np.divmod(best, rank.shape[1])
    return np.column_stack([flat[best], rows + top, cols, *(c.ravel()[best] for c in columns)])


def _strip(plan: _Plan, top: int) -> tuple[dict[str, NDArray], list[Array], Array]:
    """Make the strip that begins at row ``top``: its rasters by path, its draws, its land cells and sums of truth."""
    world, bottom = plan.world, min(top + _BLOCK, plan.world.rows)
    few = max(8, 2**18 // world.cols)  # rows at a time: the intermediate arrays stay in the cache
    parts = [world.strip(row, min(row + few, bottom), plan.layers) for row in range(top, bottom, few)]
    layers = {name: np.concatenate([part[0][name] for part in parts]) for name in plan.layers}
    land = np.concatenate([part[1] for part in parts])
    effort = world.effort(plan.towns, top, bottom) if plan.towns else np.ones(land.shape, np.float32)
    cells = np.arange(top, bottom)[:, None], np.arange(world.cols)
    draws, truths = [], []
    with np.errstate(divide="ignore"):  # a weight of 0 makes an infinite rank, which is never chosen
        for species in plan.species:
            truths.append(round_to(species.suitability(layers), 1e-4) * land)
            rank = -np.log(world.white(species.name, *cells)) / (truths[-1] * effort)
            draws.append(_chosen(rank, plan.records, top))
        draws.append(_chosen(-np.log(world.white("sites", *cells)) / land, plan.sites, top, *truths))
    sums = np.array([land.sum(), *(truth.sum(dtype=np.float64) for truth in truths)])
    rasters = {f"layers/{name}.tif": values for name, values in layers.items()}
    if plan.warming:
        warmer = {name: values.copy() for name, values in layers.items()}
        warmer["temperature"] += np.float32(plan.warming)
        rasters |= {f"warmer/{name}.tif": values for name, values in warmer.items()}
    rasters |= {plan.truth(species): truth for species, truth in zip(plan.species, truths)}
    rasters |= {"effort.tif": effort} if plan.towns else {}
    for values in rasters.values():
        values[~land] = 0 if values.dtype == np.uint8 else NODATA
    return rasters, draws, sums


def _ahead(task: Callable[[int], Any], items: Sequence[int]) -> Generator[Any]:
    """Yield ``task(item)`` in order, with a few of them at work at a time so that memory stays bounded."""
    pool, pending = ThreadPoolExecutor(_WORKERS), deque[Any]()
    try:
        for item in items:
            pending.append(pool.submit(task, item))
            if len(pending) > _WORKERS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _create(path: Path, plan: _Plan) -> Any:
    """Open one raster for writing. Rounded numbers compress best, and read fastest, as differences of integers."""
    path.parent.mkdir(exist_ok=True)
    dtype, nodata = ("uint8", 0.0) if path.stem == "landcover" else ("float32", NODATA)
    target = rasterio.open(
        path, "w", driver="GTiff", width=plan.grid.width, height=plan.grid.height, count=1, crs=plan.grid.crs,
        transform=plan.grid.transform, dtype=dtype, nodata=nodata, tiled=True, blockxsize=_BLOCK, blockysize=_BLOCK,
        compress="deflate", zlevel=4, predictor=2, bigtiff="if_safer",
    )  # fmt: skip
    for layer in LAYERS:
        if layer.name == path.stem:
            target.set_band_description(1, layer.text)
            target.set_band_unit(1, layer.unit)
    if path.stem == "landcover":
        target.update_tags(1, **{f"CLASS_{number}": text for number, text in CLASSES.items()})
    return target


def _rasters(plan: _Plan, stage: Path, progress: Progress | None) -> tuple[list[Array], Array]:
    """Write all rasters strip by strip; return the draws (records, then sites), land cells and truth sums."""
    tops = range(0, plan.grid.height, _BLOCK)
    count = StepCount(progress, "landscape", len(tops))
    sizes = [plan.records] * len(plan.species) + [plan.sites]
    drawn, sums = list[Array](), np.zeros(1 + len(plan.species))
    with rasterio.Env(GDAL_CACHEMAX=_CACHE), ExitStack() as stack:
        files: dict[str, Any] = {}
        strips = stack.enter_context(closing(_ahead(lambda top: _strip(plan, top), tops)))
        for top, (rasters, draws, part) in zip(tops, strips):
            for name, values in rasters.items():
                if name not in files:
                    files[name] = stack.enter_context(_create(stage / name, plan))
                files[name].write(values, 1, window=Window(0, top, plan.grid.width, len(values)))
            both = [np.concatenate(pair) for pair in zip(drawn, draws)] or draws
            drawn = [b[np.lexsort((b[:, 2], b[:, 1], b[:, 0]))[:n]] for b, n in zip(both, sizes)]
            sums += part
            count.step()
    return drawn, sums


def _tables(plan: _Plan, stage: Path, drawn: list[Array]) -> None:
    """Write the records, and the survey sites with presence or absence at each."""
    records, sites, survey = list[list[str]](), list[list[str]](), drawn[-1]
    if len(survey) < plan.sites:
        raise OptionError(f"sites is {plan.sites:,}, the land has {len(survey):,} cells: lower sites or raise size")
    places = _places(plan, "sites", survey)
    for k, (species, draw) in enumerate(zip(plan.species, drawn)):
        if len(draw) < plan.records:
            few = f"{species.name} can live in {len(draw):,} cells"
            raise OptionError(f"records is {plan.records:,}, {few}: lower records or raise size")
        records += [[species.name, *place] for place in _places(plan, species.name, draw)]
        present = plan.world.white(f"{species.name} found", survey[:, 1], survey[:, 2]) < survey[:, 3 + k]
        sites += [[species.name, *place, str(int(yes))] for place, yes in zip(places, present)]
    for name, lines in (("occurrences.csv", records), ("presence_absence.csv", sites)):
        head = ["species", "longitude", "latitude", "presence"][: len(lines[0])]
        with open(stage / name, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *lines])


def _places(plan: _Plan, stream: str, draw: Array) -> list[tuple[str, str]]:
    """Return longitude and latitude somewhere within the drawn cells, a tenth of a cell or more from the edges."""
    rows, cols = draw[:, 1], draw[:, 2]
    down = 0.1 + 0.8 * plan.world.white(f"{stream} down", rows, cols)
    right = 0.1 + 0.8 * plan.world.white(f"{stream} right", rows, cols)
    x, y = plan.grid.lonlat(rows + down, cols + right)
    return [(f"{a:.6f}", f"{b:.6f}") for a, b in zip(x, y)]


def _describe(plan: _Plan, sums: Array) -> dict[str, Any]:
    """Return the content of ``truth.json``."""
    about = {layer.name: {"unit": layer.unit, "text": layer.text} for layer in LAYERS}
    about["landcover"], grid = {"unit": "class", "text": "land cover"}, plan.grid
    return {
        "format": "sdm-virtual/1",
        "seed": plan.world.seed,
        "rows": grid.height,
        "cols": grid.width,
        "crs": None if grid.crs is None else grid.crs.to_string(),
        "transform": list(grid.transform)[:6],
        "sea": round(1.0 - sums[0] / (grid.n_cells), 4),
        "layers": {n: about.get(n, {"unit": "", "text": "noise: no species knows it"}) for n in plan.layers},
        "categorical": {"landcover": CLASSES},
        "records": plan.records,
        "sites": plan.sites,
        "warming": plan.warming,
        "effort": {"file": "effort.tif", "towns": plan.towns} if plan.towns else None,
        "species": [
            {**asdict(s), "truth": plan.truth(s), "prevalence": round(total / sums[0], 4)}
            for s, total in zip(plan.species, sums[1:])
        ],
    }


_OURS = re.compile(
    rf"((layers|warmer)/(landcover|noise\d+|{'|'.join(layer.name for layer in LAYERS)})|truth/Virtualis_[a-z]+|effort)"
    r"\.tif(\.aux\.xml)?|occurrences\.csv|presence_absence\.csv|truth\.json"
)


@contextmanager
def _staged(folder: Path, overwrite: bool) -> Iterator[Path]:
    """Give a temporary folder beside the results; move its files into place only when all went well."""
    old = [p for p in (*folder.glob("*"), *folder.glob("*/*")) if _OURS.fullmatch(p.relative_to(folder).as_posix())]
    if old and not overwrite:
        raise OutputError(f"{old[0]} exists already: choose another folder, or give --overwrite to replace it")
    with claim(folder, overwrite=True), staging(folder, overwrite=True) as stage:
        try:
            yield stage
        except (OSError, RasterioError) as error:
            why = getattr(error, "strerror", None) or error.__cause__ or error
            more = "choose a folder with room and write access"
            raise OutputError(f"{folder} cannot be written ({why}): {more}") from error


@dataclass(frozen=True)
class Simulation:
    """The files that :func:`simulate` wrote, and their species."""

    folder: Path
    layers: tuple[Path, ...]
    occurrences: Path
    presence_absence: Path
    truth: tuple[Path, ...]
    truth_json: Path
    effort: Path | None
    species: tuple[VirtualSpecies, ...]
    warmer: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """All files, layers first."""
        rasters = (*self.layers, *self.warmer, *self.truth, *((self.effort,) if self.effort else ()))
        return (*rasters, self.occurrences, self.presence_absence, self.truth_json)


def read_truth(path: str | Path) -> tuple[VirtualSpecies, ...]:
    """Return the species that a ``truth.json`` describes."""
    try:
        data = load_json(path)
        return tuple(VirtualSpecies.from_dict(species) for species in data["species"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not a truth.json of sdm simulate ({error}): make it anew") from error


def _whole(name: str, value: Any, low: int, high: int) -> int:
    """Check one whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        raise OptionError(f"{name} is {value!r}, expected a whole number from {low:,} to {high:,}: change {name}")
    return int(value)


def simulate(
    folder: str | Path,
    *,
    size: int | tuple[int, int] = 200,
    layers: int = 7,
    species: int = 1,
    records: int = 200,
    sites: int = 500,
    seed: int = 1,
    noise: int = 0,
    bias: bool = False,
    interaction: bool = False,
    warming: float = 0.0,
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
        3 … 14: the first of ``sdm.simulate.landscape.LAYERS``, the last one always the categorical ``landcover``; and
        how many further layers ``noise1``, ``noise2``, … of independent numbers that no species knows.
    species, interaction
        1 … 8, each with a niche of its own, and whether each is also confined to where one layer is above and another
        below a limit.
    records, sites
        Occurrences of each species: cells drawn by suitability (times effort with ``bias``), without replacement; and
        survey sites, drawn uniformly from the land, where a species is found with its suitability as probability.
    bias
        Records come more often from near five towns; the effort is written too.
    warming
        Also write ``warmer/*.tif``: the same layers with the temperature raised by N degrees, to project on.
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
        raise OptionError(f"size is {size!r}, expected one number of cells or rows and columns: change size")
    rows, cols = (_whole("size", n, 32, 100_000) for n in shape)
    names = [layer.name for layer in LAYERS[: _whole("layers", layers, 3, 14) - 1]] + ["landcover"]
    names += [f"noise{k + 1}" for k in range(_whole("noise", noise, 0, 100))]
    _whole("species", species, 1, len(NICHES))
    records, sites = _whole("records", records, 1, 10**7), _whole("sites", sites, 1, 10**7)
    seed = _whole("seed", seed, 0, 2**63 - 1)
    if not -20 <= warming <= 20:
        raise OptionError(f"warming is {warming!r}, expected degrees from -20 to 20: change warming")
    grid = place(rows, cols, crs)
    with _staged(folder, overwrite) as stage:
        world = Landscape(rows, cols, seed)
        niches = make_species(world.sample(names), species, interaction)
        plan = _Plan(world, grid, tuple(names), niches, world.towns() if bias else [], records, sites, float(warming))
        drawn, sums = _rasters(plan, stage, progress)
        _tables(plan, stage, drawn)
        text = json.dumps(_describe(plan, sums), indent=2, ensure_ascii=False)
        (stage / "truth.json").write_text(text + "\n", encoding="utf-8", newline="\n")
    return Simulation(
        folder,
        layers=tuple(folder / f"layers/{name}.tif" for name in names),
        occurrences=folder / "occurrences.csv",
        presence_absence=folder / "presence_absence.csv",
        truth=tuple(folder / plan.truth(s) for s in niches),
        truth_json=folder / "truth.json",
        effort=folder / "effort.tif" if bias else None,
        species=niches,
        warmer=tuple(folder / f"warmer/{name}.tif" for name in names) if warming else (),
    )
