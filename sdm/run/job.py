"""One model of a run, whatever its kind: variables and settings are chosen, it is fitted, its results are written."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sdm.errors import DataError
from sdm.executors.painter import Painter, painting
from sdm.kinds.choosing import choice_notes, choose_variables, nests, write_choice
from sdm.kinds.task import Ahead, Fitted, ModelResult, Prepared, Task
from sdm.kinds.writing import write_model
from sdm.options.definitions import RunOptions
from sdm.report.paper import paper_of
from sdm.report.results import SCENARIOS
from sdm.report.titled import Titled, draw_titled
from sdm.storage.commit import staging
from sdm.types import Progress
from sdm.values import dataclass

if TYPE_CHECKING:
    from sdm.assess.validation import CrossValidation
    from sdm.run.projecting.opening import Opened
    from sdm.run.projecting.projection import ProjectionResult

log = logging.getLogger("sdm")


@dataclass
class Chosen:
    """Options that were chosen for a model, what its results say of the choice, what writes down the rest, and pictures
    of it."""

    options: RunOptions
    numbers: dict[str, Any]
    write: Callable[[Path, dict[str, Any]], None]
    what: str = "tuning"
    pictures: Sequence[Titled] = ()
    validation: "CrossValidation | None" = None  # of the model with these options, where they were chosen by it
    notes: Sequence[str] = ()  # what to say of the model, before anything else

    def draw(self, painter: Painter, folder: Path) -> None:
        """Have the pictures drawn, once."""
        if self.pictures:
            painter.draw(draw_titled, self.pictures, folder, paper_of(self.options.output))
        self.pictures = ()


Chooser = Callable[[Task, Prepared, str, RunOptions, Progress | None], Chosen]


@dataclass(frozen=True)
class Ready:
    """A model that is fitted and measured, with everything that its results are written from."""

    name: str
    fitted: Fitted
    prepared: Prepared  # with the variables that were kept
    options: RunOptions  # with the settings that were chosen
    chosen: Chosen | None
    began: float


@dataclass(frozen=True)
class Job:
    """How the models of a run are made."""

    task: Task
    options: RunOptions
    command: str = ""
    choose: Chooser | None = None
    opened: "Opened | None" = None  # the layers of scenarios, for a single model
    projections: "list[ProjectionResult]" = field(default_factory=list)  # of a single model
    told_in: Path | None = None  # the folder of several models that are few enough to be told one by one

    def make(
        self, prepared: Prepared, name: str, folder: Path, progress: Progress | None = None, *, overwrite: bool = False
    ) -> ModelResult:
        """Fit and measure one model, and write its results in one step. Its map may be made, and pictures drawn,
        while it is measured."""
        with staging(folder, overwrite=overwrite) as stage, painting() as painter:
            try:
                ready = self.fit(prepared, name, progress, Ahead(stage, painter))
            except OSError as error:  # nothing was written yet
                raise DataError(f"{name} cannot be fitted ({error})") from error
            result = self._write_into(stage, ready, folder, painter, progress)
        return self._done(ready, result, folder)

    def fit(self, prepared: Prepared, name: str, progress: Progress | None = None, ahead: Ahead | None = None) -> Ready:
        """Fit one model, and measure it; `ahead` as for `Task.fit`."""
        began = perf_counter()
        chosen, options = None, self.options
        if options.layers.chooses:
            prepared = choose_variables(self.task, prepared, name, options, progress)
        if self.choose is not None:
            chosen = self.choose(self.task, prepared, name, options, progress)
            options = chosen.options
            if chosen.validation is not None:
                prepared = replace(prepared, validated={name: chosen.validation})
            if ahead is not None:
                chosen.draw(ahead.painter, ahead.place)
        fitted = self.task.fit(prepared, name, options, progress, ahead)
        if chosen is not None:
            fitted.numbers[chosen.what] = chosen.numbers
            fitted.notes[:0] = chosen.notes
        variables = prepared.chosen.get(name)
        if variables is not None:
            fitted.numbers["variable_selection"] = variables.numbers()
            fitted.notes[:0] = choice_notes(variables, options, self.task.chooses_in_folds and nests(options))
        log.debug("%s fitted and measured in %.1f s", name, perf_counter() - began)
        return Ready(name, fitted, prepared, options, chosen, began)

    def write(
        self,
        ready: Ready,
        folder: Path,
        progress: Progress | None = None,
        *,
        overwrite: bool = False,
        before_commit: Callable[[], None] | None = None,
    ) -> ModelResult:
        """Write the results of one model in one step; `before_commit` may raise, and then nothing has changed."""
        with staging(folder, overwrite=overwrite) as stage:
            with painting() as painter:
                result = self._write_into(stage, ready, folder, painter, progress)
            if before_commit is not None:
                before_commit()
        return self._done(ready, result, folder)

    def _write_into(
        self, stage: Path, ready: Ready, folder: Path, painter: Painter, progress: Progress | None
    ) -> ModelResult:
        """Write the results of one model to a stage, which will be the folder."""
        prepared, options, variables = ready.prepared, ready.options, ready.prepared.chosen.get(ready.name)

        def also(place: Path, files: dict[str, Any]) -> None:
            if variables is not None:
                write_choice(variables, options, place, files)
            if ready.chosen is not None:
                ready.chosen.write(place, files)
            if self.opened is not None and prepared.single:
                from sdm.run.projecting.after_fit import project_fitted

                made = project_fitted([place], place, folder, self.opened, options, self.command, progress)
                self.projections.append(made)
                files["scenarios"] = SCENARIOS
                ready.fitted.numbers.setdefault("warnings", []).extend(made.warnings)

        if ready.chosen is not None:
            ready.chosen.draw(painter, stage)
        return write_model(self.task, ready.fitted, prepared, options, stage, self.command, painter, progress, also)

    def _done(self, ready: Ready, result: ModelResult, folder: Path) -> ModelResult:
        log.debug("%s done in %.1f s", ready.name, perf_counter() - ready.began)
        return replace(result, folder=folder)
