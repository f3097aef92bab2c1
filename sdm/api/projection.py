"""A projection as an object: models on scenarios, change and extrapolation."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sdm.api.rasters import Map, RasterMap, as_map, choose_raster, named_rasters, read_raster, stacked
from sdm.api.saving import SavedParts, save_results
from sdm.api.tables import read_table
from sdm.errors import OptionError, ResultsError, UnknownNameError, name_list
from sdm.kinds.registry import read_results
from sdm.report.charts import SCALES, TOP
from sdm.report.projection import StoredCase, StoredProjection, find_projections
from sdm.report.results import Results
from sdm.types import Numbers, Row

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class ProjectedSpecies:
    """The projection of one species: its scenarios, their numbers and maps.

    Parameters
    ----------
    results : Results
        The stored results of the species.

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> run = sdm.fit(folder / "occurrences.csv", folder / "layers", categorical="landcover", features="lq")
    >>> future = sdm.project(run, {"warmer": folder / "warmer"}, folder / "layers", report=False)
    >>> one = future["Virtualis montanus"]
    >>> one.scenarios
    ['warmer']
    >>> one.maps_of("warmer")
    ['suitability', 'presence maxsss', 'change', 'mess', 'mod']
    >>> one.get_map("warmer").shape
    (32, 32)
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._stored = StoredProjection(results.folder, results.numbers)
        self.name = self._stored.species

    @property
    def numbers(self) -> Numbers:
        """All measures, as in the JSON file of the results."""
        return self._results.numbers

    @property
    def scenarios(self) -> list[str]:
        """The titles of the scenarios, without the reference."""
        return [case.title for case in self._stored.scenarios]

    @property
    def page(self) -> Path | None:
        """The HTML report, which opens offline; None without one."""
        return self._results.page if self._results.page.is_file() else None

    def maps_of(self, scenario: str = "reference") -> list[str]:
        """Return the names of the maps of a scenario: `map`, `change`, `mess` and others."""
        return list(self._rasters(scenario))

    def raster(self, scenario: str, name: str | None = None) -> RasterMap:
        """Return a map of a scenario as an array with its profile, by default suitability."""
        return read_raster(self._place(scenario, name), f"{self.name}, {scenario}")

    def get_map(self, scenario: str, name: str | None = None) -> Map:
        """Return a map of a scenario: an `xarray.DataArray` if xarray is installed, otherwise a `RasterMap`."""
        return as_map(self.raster(scenario, name))

    @property
    def maps(self) -> Map:
        """Suitability in the reference, if there is one, and in all scenarios, as bands."""
        titles = [case.title for case in self._stored.cases]
        return as_map(stacked([self.raster(title) for title in titles], titles, self.name))

    def plot_map(self, scenario: str, name: str | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw a map of a scenario; return the matplotlib axes."""
        from sdm.api.plots import draw_raster

        scale = self._stored.scale
        shades = (SCALES.get(scale, scale), 1.0 if TOP.get(scale) == 1.0 else None) if name is None else ("", None)
        return draw_raster(self._place(scenario, name), f"{self.name}, {scenario}", shades, ax)

    def _row(self, case: StoredCase) -> Row:
        """Return the main numbers of a scenario."""
        areas = {"stable": "stable_present", "gain": "gain", "loss": "loss"}
        changed = {f"{name}_km2": case.changed(key) for name, key in areas.items()}
        area = {"suitable_km2": case.km2, "net_percent": case.net_percent, **changed}
        return {"species": self.name, "scenario": case.title, **case.fields, **area, "outside": case.outside}

    def _place(self, scenario: str, name: str | None) -> Path:
        """Return the path of a map of a scenario, by default suitability."""
        none = f"there is no map of scenario '{scenario}': run the projection again"
        return choose_raster(self._rasters(scenario), name, f"'{scenario}'", none)

    def _rasters(self, scenario: str) -> dict[str, Path]:
        """Return the rasters of a scenario, suitability first."""
        for case in self._stored.cases:
            if case.title == scenario:
                return named_rasters(self._results.folder, case.tree("files"))
        titles = ", ".join(case.title for case in self._stored.cases)
        raise UnknownNameError(f"there is no scenario '{scenario}': expected one of {titles}")

    def __repr__(self) -> str:
        return f"<sdm.ProjectedSpecies {self.name!r} in {len(self.scenarios)} scenarios>"


class ProjectionRun(SavedParts[ProjectedSpecies]):
    """The results of a projection: a mapping from names of species to their scenarios.

    Parameters
    ----------
    folder : Path
        Folder of the files; without an `output`, it is removed with the object: see `to_folder`.
    private : PrivateFolder, optional
        The temporary folder of a projection in Python. `sdm.project` and `sdm.load_projection` make projections.

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> run = sdm.fit(folder / "occurrences.csv", folder / "layers", categorical="landcover", features="lq")
    >>> future = sdm.project(run, {"warmer": folder / "warmer"}, folder / "layers", report=False)
    >>> future
    <sdm.ProjectionRun of 1 species: Virtualis montanus>
    >>> future.summary[["scenario", "suitable_km2", "net_percent"]].shape
    (2, 3)
    """

    @cached_property
    def _parts(self) -> dict[str, ProjectedSpecies]:
        parts = [ProjectedSpecies(read_results(path)) for path in find_projections(self.folder)]
        if not parts:
            raise ResultsError(f"{self.folder} contains no projection: expected an output folder of 'sdm project'")
        return {one.name: one for one in parts}

    def __getitem__(self, name: str) -> ProjectedSpecies:
        if name not in self._parts:
            raise UnknownNameError(f"there is no species {name!r} in the projection: it has {', '.join(self._parts)}")
        return self._parts[name]

    @property
    def only(self) -> ProjectedSpecies:
        """The only species."""
        if len(self._parts) != 1:
            raise OptionError(f"the projection has {len(self._parts)} species: choose one, as in projection[name]")
        return next(iter(self._parts.values()))

    @property
    def summary(self) -> "pd.DataFrame":
        """One row per species and scenario: suitable area in km², its change in percent of the reference, stable area,
        gain and loss in km², and the share of cells outside the training range."""
        import pandas as pd

        rows = [one._row(case) for one in self._parts.values() for case in one._stored.cases]
        return pd.DataFrame(rows)

    @property
    def table(self) -> "pd.DataFrame":
        """All measures, in long form: species, scenario, measure, of, value, unit."""
        return read_table(self.folder / "scenarios.csv")

    def to_folder(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Save the results as `sdm project` writes them, with their HTML reports; return the folder."""
        return save_results(self.folder, Path(path), self._private, overwrite=overwrite)

    def __repr__(self) -> str:
        return f"<sdm.ProjectionRun of {len(self._parts)} species: {name_list(self._parts, 5)}>"

    def _repr_html_(self) -> str:
        from sdm.api.html import projection_html

        return projection_html(self.summary, self.warnings)


def load_projection(folder: str | Path) -> ProjectionRun:
    """Open the results of `sdm project`, or of `sdm.project`, as an object.

    Parameters
    ----------
    folder : path
        The output folder of a projection.

    Returns
    -------
    ProjectionRun

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> run = sdm.fit(folder / "occurrences.csv", folder / "layers", categorical="landcover", features="lq")
    >>> scenarios, output = {"warmer": folder / "warmer"}, folder / "projected"
    >>> future = sdm.project(run, scenarios, folder / "layers", output=output, report=False)
    >>> sdm.load_projection(output).summary.equals(future.summary)
    True
    """
    run = ProjectionRun(Path(folder))
    len(run)  # raises without a projection
    return run
