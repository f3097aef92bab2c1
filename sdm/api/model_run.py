"""One model of a run as an object: numbers, tables, maps, polygons and plots, read from its folder when used."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdm.api.mapping import fitted_model, predict_model, range_of, raster_places, stored_map
from sdm.api.rasters import Map, RasterMap, as_map
from sdm.api.saving import PrivateFolder
from sdm.api.tables import stored_table, threshold_table
from sdm.report.results import Results
from sdm.types import Numbers

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

    from sdm.api.plots import Plots
    from sdm.models.interface import FittedModel


class ModelRun:
    """One model of a run: its numbers, tables, maps, plots and the model itself; see `Run`.

    A table that the run did not write is empty.

    Parameters
    ----------
    name : str
        The name of the model: the species.
    results : Results
        The stored results of the model.
    private : PrivateFolder
        The temporary folder of the run, which exists as long as this object.

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> run = sdm.fit(folder / "occurrences.csv", folder / "layers", categorical="landcover", features="lq")
    >>> one = run["Virtualis montanus"]
    >>> one.numbers["status"], one.kind, one.model.names
    ('converged', 'species', ('landcover', 'precipitation', 'temperature'))
    >>> one.thresholds.loc["mtp", "training_omission"].item()
    0.0
    """

    def __init__(self, name: str, results: Results, private: PrivateFolder) -> None:
        self.name, self._model_results, self._private = name, results, private

    @property
    def _results(self) -> Results:
        """The stored results of the one model."""
        return self._model_results

    def _gather(self, read: "Callable[[Results], pd.DataFrame]") -> "pd.DataFrame":
        """Return a table of the model; of a run with several models, with a column `species`."""
        return read(self._results)

    def table(self, name: str) -> "pd.DataFrame":
        """Return a table by its name, one of `tables`; empty if the run did not write it."""
        return self._gather(lambda results: stored_table(results, name))

    @property
    def curves(self) -> "pd.DataFrame":
        """Response curves in long form: variable, kind, value, class, response, in training range."""
        return self.table("curves")

    @property
    def importance(self) -> "pd.DataFrame":
        """Importance of the variables: percent contribution and permutation importance (percent)."""
        return self.table("importance")

    @property
    def jackknife(self) -> "pd.DataFrame":
        """Gain and AUC without each variable, and with each variable alone."""
        return self.table("jackknife")

    @property
    def thresholds(self) -> "pd.DataFrame":
        """Thresholds of the map by rule (`mtp`, `10p`, `maxsss`, …): value on every scale, predicted area, omission."""
        return self._gather(threshold_table)

    @property
    def omission(self) -> "pd.DataFrame":
        """Omission and predicted area by cumulative threshold."""
        return self.table("omission")

    @property
    def roc(self) -> "pd.DataFrame":
        """The points of the ROC curve."""
        return self.table("roc")

    @property
    def cross_validation(self) -> "pd.DataFrame":
        """The measures of every fold, under the names of ENMeval."""
        return self.table("cross-validation")

    @property
    def folds(self) -> "pd.DataFrame":
        """The fold of every record: X, Y, kind, fold."""
        return self.table("folds")

    @property
    def null_models(self) -> "pd.DataFrame":
        """The tests against null models."""
        return self.table("null models")

    @property
    def tuning(self) -> "pd.DataFrame":
        """The settings that `sdm.tune` tried, with the chosen one marked."""
        return self.table("tune")

    @property
    def records(self) -> "pd.DataFrame":
        """The record log: every record, kept or dropped, with the reason."""
        return self.table("fate of records")

    @property
    def record_counts(self) -> "pd.DataFrame":
        """The record cleaning summary: numbers of records that were read, dropped by reason, and kept."""
        return self.table("records")

    @property
    def predictions(self) -> "pd.DataFrame":
        """The predictions at the training and test records."""
        return self.table("sample predictions")

    @property
    def numbers(self) -> Numbers:
        """All measures, by name, as in the JSON file of the results.

        For one species (a key whose analysis was not requested is absent):

        - `training_presences`, `background_points`: numbers of records, and of cells of the domain.
        - `features`, `features_with_weight`, `classes`: numbers of features, and their classes.
        - `status`: `converged`, `max_iterations`, `stalled` or `separable`.
        - `gap` (nats), `iterations`, `certificate`: bound on the distance to the optimum, rounds, scope of the bound.
        - `gain`, `regularized_gain`, `log_loss_train`, `entropy`: in nats.
        - `auc_train`, `mean_cloglog`: training AUC; mean cloglog value over the domain.
        - `test_presences`, `auc_test`, `auc_test_deviation`, `test_gain`, `log_loss_test`: with test records.
        - `cross_validation`: with folds: `method`, `rows` (one per fold) and `mean` (`auc.val.avg`, `auc.val.sd`, …).
        - `importance`: lists `permutation`, `contribution` and `jackknife`, with a row per variable.
        - `thresholds`: by rule: `raw`, `cumulative`, `cloglog`, and the shares `area`, `training_omission` and
          `test_omission`. `map_threshold` is the chosen threshold on the scale of the map.
        - `map`: `cells`, `min`, `max` and `mean`. `outside`: `cells`, `share` and `km2` outside the training range.
        - `null_models`: `iterations`, and `tests` with a row per measure. `tuning`: the chosen setting.
        - `versions`, `files`, `notes`, `notices`, `warnings`, `records`: the origin of the results.
        """
        return self._results.numbers

    @property
    def kind(self) -> str:
        """The kind of model: species, classes or community."""
        return self._results.kind

    @property
    def tables(self) -> list[str]:
        """The names of the available tables."""
        return [key for key, name in self._results.files.items() if name.endswith(".csv")]

    @property
    def files(self) -> dict[str, Path]:
        """The files of the results by name; unless the run was saved, they are removed with the object."""
        return {key: self._results.folder / name for key, name in self._results.files.items()}

    @property
    def options(self) -> Numbers:
        """Every option of the run, as in its run file."""
        return self._results.run

    @property
    def model(self) -> "FittedModel":
        """The fitted model: `sdm.Model` for a species. It predicts from tables, and `sdm.save_model` writes it."""
        return fitted_model(self._results)

    @property
    def page(self) -> Path | None:
        """The HTML report, which opens offline; None if the run did not write it."""
        return self._results.path("page")

    @property
    def plot(self) -> "Plots":
        """Plots of the results: `plot.map()`, `plot.curves()`, `plot.importance()`, `plot.roc()` and others."""
        from sdm.api.plots import Plots

        return Plots(self._results)

    @property
    def map(self) -> Map:
        """The map: an `xarray.DataArray` if xarray is installed, otherwise a `RasterMap` (array and profile).

        For a run with several models, it has a band per model.
        """
        return as_map(self.raster(), self._private.axes)

    @property
    def maps(self) -> list[str]:
        """The names of the available maps, the main one first."""
        return list(raster_places(self._results))

    def raster(self, name: str | None = None) -> RasterMap:
        """Return a map as an array with its profile, whether or not xarray is installed; one of `maps`."""
        return stored_map(self._results, name)

    def get_map(self, name: str) -> Map:
        """Return another map by its name, one of `maps`: an `xarray.DataArray` if xarray is installed."""
        return as_map(self.raster(name), self._private.axes)

    def range(self, threshold: str | float | None = None) -> "geopandas.GeoDataFrame":
        """Return the range as polygons, one per patch, with its area in km².

        Parameters
        ----------
        threshold : str or float, optional
            A rule (``"mtp"``, ``"10p"``, ``"maxsss"``, ``"equal"``) or a value on the scale of the map. Default: cells
            above zero for a model with exact zeros (entropy above 1); otherwise the rule of the run, or maxsss.
        """
        return range_of(self._results, threshold)

    def predict(self, data: Any, scale: str | None = None, *, layers_crs: object = None, **options: object) -> Any:
        """Predict for the rows of a table, or map other layers.

        Parameters
        ----------
        data : DataFrame, or layers
            A table with one column per variable; or layers, as for `sdm.fit`, with the variables of the model.
        scale : str, optional
            For species models: ``"cloglog"`` (the default), ``"raw"``, ``"cumulative"`` or ``"logistic"``.
        layers_crs : optional
            Coordinate system of xarray layers without one.
        options
            For layers, as for `sdm predict`: `extrapolation`, `threshold`, `area`, `nodata`, `align`, `rename`.

        Returns
        -------
        Series, DataFrame, DataArray or RasterMap
            For a table, a Series with its index (a DataFrame for several classes or species); for layers, a map.
        """
        return predict_model(self._results, data, scale, layers_crs, options)

    def __repr__(self) -> str:
        return f"<sdm.ModelRun of {self.name!r}, a model of {self.kind}>"

    def _repr_html_(self) -> str:
        from sdm.api.html import model_html

        return model_html(self.name, self._results)
