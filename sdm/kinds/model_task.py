"""Interface to a fitted model of one kind for commands: tables, maps, evaluations, and descriptions."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from sdm.errors import InapplicableError
from sdm.models.interface import FittedModel
from sdm.report.tables import table_text
from sdm.types import Array, Index, Numbers, Progress, Row

if TYPE_CHECKING:
    from sdm.data.rasters.area import StudyArea
    from sdm.data.rasters.stack import Stack
    from sdm.data.records.textfile import TextTable
    from sdm.maps.novelty import NoveltyMaps
    from sdm.maps.passes import MapPass
    from sdm.maps.projection.targets import ProjectedModel
    from sdm.options.definitions import RunOptions


Rows = Sequence[Mapping[str, object]]
SourceT = TypeVar("SourceT", contravariant=True)
"""The source of a table, such as a measured model."""


@dataclass(frozen=True)
class Artefact(Generic[SourceT]):
    """A table of the results of a model.

    Attributes
    ----------
    key : str
        Its name among the `files` of the results, in `results.table(key)` and in Python.
    file : str
        Its file, with `{name}` for the name of the model.
    rows : callable
        Returns its rows. A table without rows is not written, unless its columns are always the same.
    columns : sequence of str
        The columns of a table that is written without rows too.
    """

    key: str
    file: str
    rows: Callable[[SourceT], Rows]
    columns: tuple[str, ...] = ()


Catalogue = Sequence[Artefact[Any]]
"""The tables that the results of a kind may have."""


def write_artefacts(
    catalogue: Iterable[Artefact[SourceT]], source: SourceT, folder: Path, name: str = ""
) -> dict[str, str]:
    """Write the tables of a catalogue into a folder; return the names of their files by their keys."""
    files = {}
    for one in catalogue:
        rows = one.rows(source)
        if rows or one.columns:
            files[one.key] = one.file.format(name=name)
            text = table_text(rows) if rows else ",".join(one.columns) + "\n"
            (folder / files[one.key]).write_text(text, encoding="utf-8", newline="")
    return files


ModelT = TypeVar("ModelT", bound=FittedModel)


@dataclass(frozen=True)
class SurveyFile:
    """A table of sites with known labels, and its coordinates."""

    path: str | Path
    x_column: str | None = None
    y_column: str | None = None
    crs: str | None = None


@dataclass(frozen=True)
class MapOptions:
    """Options of the maps of `sdm predict`. The options in `maps_with` apply to some kinds, the others to all."""

    scale: str | None = None
    threshold: str | float | None = None
    extrapolation: str = "clamp"
    novelty: tuple[str, ...] = ()  # measures to map
    known: SurveyFile | None = None  # labels that are fixed
    communities: bool = False  # whether to list possible communities
    study_area: "StudyArea | None" = None
    threads: int = 2
    overwrite: bool = False
    progress: Progress | None = None

    @classmethod
    def of_run(cls, options: "RunOptions", area: "StudyArea | None", progress: Progress | None) -> "MapOptions":
        """Return the map options of a run, for a model without a threshold."""
        o = options.predict
        return cls(o.scale, extrapolation=o.extrapolation, study_area=area, threads=options.threads, progress=progress)

    @property
    def how(self) -> "MapPass":
        """Common arguments of the functions that write maps."""
        from sdm.maps.passes import MapPass

        return MapPass(self.extrapolation, self.study_area, self.threads, self.progress)


@dataclass(frozen=True)
class EvaluationOptions:
    """Options of `sdm evaluate`; the options in `evaluates_with` apply to a kind."""

    absences: str | Path | None = None
    background: str | None = None
    species: str | None = None
    truth: str | Path | None = None
    seed: int = 1
    class_column: str | None = None
    proportions: Sequence[str] = ()
    select: Mapping[str, str] | Sequence[str] = ()
    site_column: str | None = None


@dataclass(frozen=True)
class MapResult:
    """Maps that were written: paths by name, numbers (JSON values), and lines for the terminal."""

    files: dict[str, Path]
    numbers: Numbers
    lines: list[str]

    def with_novelty(self, novelty: "NoveltyMaps", places: Mapping[str, Path]) -> "MapResult":
        """Return the same with the maps of novelty; the share of cells outside the training range is first."""
        written = [f"written: {places[name]} ({text})" for name, text in novelty.texts.items()]
        files, numbers = {**self.files, **places}, {**self.numbers, **novelty.numbers}
        return MapResult(files, numbers, [*novelty.lines, *self.lines, *written])


class RowPredictor(Generic[ModelT]):
    """A predictor for the rows of a table."""

    def __init__(self, model: ModelT) -> None:
        self.model = model

    def values(self, columns: Sequence[Array], scale: str | None, clamp: bool) -> Array:
        """Return the predictions, from one array per variable, as `FittedModel.column_values` does."""
        return self.model.column_values(columns, scale, clamp)

    def communities(self, columns: Sequence[Array], clamp: bool) -> list[Row]:
        """Return the possible communities of the rows; empty for models without communities."""
        return []


class ModelTask(ABC, Generic[ModelT]):
    """Interface to a fitted model of one kind for commands. A method can be a plain function, set as a
    `staticmethod`."""

    kind: ClassVar[str]  # as in the options and in the class of the model
    called: ClassVar[str]  # in messages, such as `a class model`
    command: ClassVar[str]  # the command that fits it, such as `sdm classify`
    artefacts: ClassVar[Catalogue] = ()  # tables of its results
    options_of: ClassVar[str]  # kind whose options apply, by default that of the task
    maps_with: ClassVar[tuple[str, ...]] = ()  # options of `sdm predict` for this kind
    evaluates_with: ClassVar[tuple[str, ...]] = ()  # options of `sdm evaluate` for this kind; others are refused
    extrapolates_with: ClassVar[tuple[str, ...]] = ("clamp", "free", "none")  # values of `predict.extrapolation`

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__ and "options_of" not in cls.__dict__:
            cls.options_of = cls.kind

    def check_extrapolation(self, word: str) -> None:
        """Raise for an extrapolation that does not apply."""
        if word not in self.extrapolates_with:
            expected = ", ".join(self.extrapolates_with)
            raise InapplicableError(
                f"predict.extrapolation={word} does not apply to {self.called}: expected {expected}"
            )

    def map_places(self, output: Path) -> list[Path]:
        """Return the files of the maps of `sdm predict`, by default one; an empty list if they go to a folder."""
        return [output]

    @abstractmethod
    def map(self, model: ModelT, stack: "Stack", output: Path, settings: MapOptions) -> MapResult:
        """Write the maps of a model over layers."""

    def projected(self, model: ModelT, name: str) -> "ProjectedModel":
        """Return the targets of a model in `sdm project`; raise if the model cannot be projected."""
        from sdm.maps.projection.targets import ProjectedModel

        return ProjectedModel(model, name)

    def row_predictor(
        self, model: ModelT, known: SurveyFile | None, text: "TextTable", row: Index, notices: list[str]
    ) -> RowPredictor[ModelT]:
        """Return the predictor for the rows of a table, with known labels of a survey or other columns of the table."""
        return RowPredictor(model)

    def table_columns(self, model: ModelT, values: Array, scale: str | None) -> dict[str, Sequence[object]]:
        """Return the columns of predictions of `sdm predict`, from one row of `values` per band."""
        return {f"probability {band}": row.tolist() for band, row in zip(model.bands, values)}

    @abstractmethod
    def evaluate(self, model: ModelT, options: "RunOptions", evaluation: EvaluationOptions) -> Numbers:
        """Measure a model at independent records or sites; `notices` and `warnings` are among the numbers. `options`
        are the input options of the records and their layers."""

    @abstractmethod
    def evaluation_lines(self, numbers: Numbers) -> list[str]:
        """Return an evaluation as lines of text."""

    @abstractmethod
    def info_lines(self, model: ModelT, features: int) -> list[str]:
        """Describe a model file with its largest weights, as lines of text."""


AnyModelTask = ModelTask[Any]
"""The interface for models of any kind."""
