"""What can be seen of the results of a model: numbers, tables, maps, polygons and pictures, read when asked for."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdm.api.tables import stored_table, threshold_table
from sdm.errors import DataError
from sdm.report.results import Results
from sdm.types import Numbers

if TYPE_CHECKING:
    import pandas as pd

    from sdm.api.plots import Plots


class ResultTables(ABC):
    """The tables of one model; of a run with several models each table has a column `species`.

    A table that the run did not make is empty.
    """

    @abstractmethod
    def _gather(self, read: "Callable[[Results], pd.DataFrame]") -> "pd.DataFrame":
        """Return a table of one model, or of all models."""

    @property
    @abstractmethod
    def _results(self) -> Results:
        """The stored results of the one model."""

    def table(self, name: str) -> "pd.DataFrame":
        """Return a table by its name, one of `tables`; empty where the run did not make it."""
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
        """Cutoffs of the map by rule (`mtp`, `10p`, `maxsss`, …): value on every scale, predicted area, omission."""
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
        """The settings that `sdm.tune` tried, and which was chosen."""
        return self.table("tune")

    @property
    def records(self) -> "pd.DataFrame":
        """Every record with its fate: kept, or why it was left out."""
        return self.table("fate of records")

    @property
    def record_counts(self) -> "pd.DataFrame":
        """The record cleaning summary: how many were read, left out for which reason, and kept."""
        return self.table("records")

    @property
    def predictions(self) -> "pd.DataFrame":
        """The predictions at the records of training and test."""
        return self.table("sample predictions")


class ModelView(ResultTables):
    """What can be seen of one model; of a run with several, one must be chosen for what is not a table."""

    @property
    def numbers(self) -> Numbers:
        """Everything that was measured, as in the JSON file of the results."""
        return self._results.numbers

    @property
    def kind(self) -> str:
        """The kind of model: species, classes or community."""
        return self._results.kind

    @property
    def tables(self) -> list[str]:
        """The names of the tables that there are."""
        from sdm.api.tables import stored_tables

        return stored_tables(self._results)

    @property
    def files(self) -> dict[str, Path]:
        """The files of the results, by what they are; they go with the run unless it was saved."""
        return {key: self._results.folder / name for key, name in self._results.files.items()}

    @property
    def options(self) -> Numbers:
        """Every option of the run, as in its run file."""
        return self._results.run

    @property
    def model(self) -> Any:
        """The fitted model: `sdm.Model` for a species. It predicts from tables, and `sdm.save_model` writes it."""
        found = self._results.model
        if found is None:
            raise DataError(f"{self._results.folder} has no model file in it: make the results again")
        return found

    @property
    def page(self) -> Path | None:
        """The page with all results (HTML, opens offline); None where the run did not make it."""
        return self._results.path("page")

    @property
    def plot(self) -> "Plots":
        """Plots of the results: `plot.map()`, `plot.curves()`, `plot.importance()`, `plot.roc()` and others."""
        from sdm.api.plots import Plots

        return Plots(self._results)
