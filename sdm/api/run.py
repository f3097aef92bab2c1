"""A run as an object: a view of the folder of its results, made in the terminal or in Python."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sdm.api.mapping import stored_map
from sdm.api.model_run import ModelRun
from sdm.api.rasters import RasterMap, stacked
from sdm.api.saving import PrivateFolder, SavedParts, save_results
from sdm.api.tables import read_table, together
from sdm.errors import OptionError, ResultsError, UnknownNameError, name_list
from sdm.kinds.registry import read_results, results_class
from sdm.models.file import ENDINGS, load_model
from sdm.report.results import Results, find_results
from sdm.types import Numbers

if TYPE_CHECKING:
    import pandas as pd

    from sdm.api.projection import ProjectionRun


class Run(ModelRun, SavedParts[ModelRun]):
    """The results of a run: a mapping from names (species) to models, with common tables.

    A run with one model has all attributes of the model: `run.map` is `run["Virtualis montanus"].map`.

    Parameters
    ----------
    folder : Path
        Folder of the files. Without an `output`, it is removed with the object: see `to_folder`.
    private : PrivateFolder, optional
        The temporary folder of a run in Python. `sdm.fit`, `sdm.tune` and `sdm.load` make runs.

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> run = sdm.fit(folder / "occurrences.csv", folder / "layers", categorical="landcover", features="lq")
    >>> run
    <sdm.Run of 1 model: Virtualis montanus>
    >>> run.curves.columns.tolist()
    ['variable', 'kind', 'value', 'class', 'response', 'in training range']
    >>> run.predict({"landcover": [1], "precipitation": [900.0], "temperature": [9.0]}).shape
    (1,)
    >>> run.range("maxsss").crs.name
    'WGS 84'
    >>> run.plot.importance().get_xlabel()
    'Importance (%)'
    """

    def __init__(self, folder: Path, private: PrivateFolder | None = None) -> None:
        SavedParts.__init__(self, folder, private)

    @cached_property
    def _parts(self) -> dict[str, Results]:
        parts = [read_results(path) for path in find_results(self.folder)]
        return {results.title: results for results in parts}

    @property
    def _results(self) -> Results:
        if len(self._parts) != 1:
            example = next(iter(self._parts))
            raise OptionError(f"the run has {len(self._parts)} models: choose one, as in run[{example!r}]")
        return next(iter(self._parts.values()))

    def _gather(self, read: "Callable[[Results], pd.DataFrame]") -> "pd.DataFrame":
        tables = {name: read(results) for name, results in self._parts.items()}
        return next(iter(tables.values())) if len(tables) == 1 else together(tables)

    def __getitem__(self, name: str) -> ModelRun:
        if name not in self._parts:
            reason = self.failed.get(name)
            names = name_list(map(repr, self._parts))
            raise UnknownNameError(
                f"{name!r} could not be fitted: {reason}"
                if reason
                else f"the run has no model {name!r}: it has {names}"
            )
        return ModelRun(name, self._parts[name], self._private)

    def raster(self, name: str | None = None) -> RasterMap:
        """Return a map as an array with its profile; for a run with several models, with a band per model."""
        if len(self._parts) == 1:
            return stored_map(self._results, name)
        maps = [stored_map(results, name) for results in self._parts.values()]
        return stacked(maps, list(self._parts), name or "map")

    @property
    def summary(self) -> "pd.DataFrame":
        """One row per species with its main numbers, also for a run with one model."""
        stored = self.folder / "summary.csv"
        if stored.is_file():
            return read_table(stored)
        import pandas as pd

        from sdm.kinds.registry import task_for

        rows = []
        for name, results in self._parts.items():
            task = task_for(results.kind)
            rows.append({"species": name, "status": results.numbers.get("status"), **task.summary_row(results.numbers)})
        return pd.DataFrame(rows)

    @cached_property
    def failed(self) -> dict[str, str]:
        """The species that could not be fitted in a run over several, with the reasons."""
        if not (self.folder / "summary.csv").is_file():
            return {}
        failed = self.summary.loc[lambda rows: rows["status"] == "failed"]
        return {str(row["species"]): str(row["error"]) for _, row in failed.iterrows()}

    @property
    def notices(self) -> list[str]:
        """Notices about records and layers."""
        return self._texts("notices")

    @property
    def projection(self) -> "ProjectionRun":
        """The maps of the scenarios of the run (`scenarios=`)."""
        from sdm.api.projection import ProjectionRun

        place = self.folder / "scenarios"
        if not place.is_dir():
            raise ResultsError("the run had no scenarios: add some with scenarios=, or use sdm.project(run, …)")
        return ProjectionRun(place, self._private)

    def to_folder(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Save the results as `sdm fit` writes them, with the HTML report of every model; return the folder.

        Tables, points and rasters that were Python objects are saved in `inputs/`, to repeat the run with
        `sdm fit run.yaml`.
        """
        return save_results(self.folder, Path(path), self._private, overwrite=overwrite)

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        names = name_list(self._parts, 5)
        return f"<sdm.Run of {len(self._parts)} {'model' if len(self._parts) == 1 else 'models'}{failed}: {names}>"

    def _repr_html_(self) -> str:
        from sdm.api.html import model_html, run_html

        if len(self) == 1 and not self.failed:
            return model_html(*next(iter(self._parts.items())))
        return run_html(self._parts, self.failed, self.warnings)


def load(place: str | Path) -> Run:
    """Open the results of a run as an object, from `sdm fit` in a terminal or `sdm.fit`.

    Parameters
    ----------
    place : path
        The output folder of a run, for one species or many; or a model file (.npz, .lambdas) or numbers (.json) in it.
        A model file without results, as written by `save`, has no tables and no map, and can predict.

    Raises
    ------
    SdmError
        If there are no results.

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> options = {"categorical": "landcover", "features": "lq", "output": folder / "results"}
    >>> run = sdm.fit(folder / "occurrences.csv", folder / "layers", **options)
    >>> again = sdm.load(folder / "results")
    >>> again.numbers == run.numbers
    True
    >>> sdm.load(folder / "results" / "Virtualis_montanus.npz").map.shape
    (32, 32)
    """
    from sdm.report.projection import find_projections

    place = Path(place)
    if find_projections(place):
        raise ResultsError(f"{place} contains projections: use sdm.load_projection")
    run = Run(place)
    if not place.is_dir():
        bare = place.suffix in ENDINGS and place.is_file() and not place.with_suffix(".json").is_file()
        results = _of_model(place) if bare else read_results(place)
        run.folder = results.folder
        run.__dict__["_parts"] = {results.title: results}
    len(run)  # raises without results
    return run


def _of_model(path: Path) -> Results:
    """Return the results of a model file without results, such as a file written by `save` of an estimator."""
    model = load_model(path)
    tags: Numbers = {key: model.meta[key] for key in ("species", "title", "status", "gap") if key in model.meta}
    numbers: Numbers = {"kind": model.kind, "species": path.stem, **tags, "files": {"model": path.name}}
    return results_class(model.kind)(path.parent, path.stem, model.kind, numbers, {}, "", "")
