"""One model of a run of any kind: selection of variables and settings, fit, and results."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from sdm.errors import DataError
from sdm.kinds.choosing import choice_notes, choose_variables, nests, write_choice
from sdm.kinds.task import AnyTask, Destination, Fit, Measured, ModelMaps, ModelResult, Prepared
from sdm.kinds.writing import write_model
from sdm.options.definitions import RunOptions
from sdm.report.results import SCENARIOS
from sdm.storage.commit import staging
from sdm.types import Numbers, Progress

if TYPE_CHECKING:
    from sdm.assess.validation import CrossValidation
    from sdm.run.projecting.mapping import ProjectionResult
    from sdm.run.projecting.opening import Opened


T = TypeVar("T")
U = TypeVar("U")


class _Ended(BaseException):
    """The other task failed."""


def side_by_side(
    in_thread: Callable[[Progress], T], in_caller: Callable[[Progress], U], progress: Progress | None
) -> tuple[T, U]:
    """Call two functions at the same time, one of them in a thread, each with its progress; return both results.

    The progress of the thread is shown only while the caller waits for it. An error in one function ends the other at
    its next report of progress, and is raised.
    """
    waited_for, failed, begun = Event(), Event(), set[str]()

    def quiet(done: int, total: int, text: str) -> None:
        if failed.is_set():
            raise _Ended
        if progress is None or not waited_for.is_set():
            return
        if done and text not in begun:  # the stage began before the wait
            progress(0, total, text)
        begun.add(text)
        progress(done, total, text)

    def shown(done: int, total: int, text: str) -> None:
        if future.done() and future.exception() is not None:
            raise _Ended
        if progress is not None:
            progress(done, total, text)

    with ThreadPoolExecutor(1) as pool:
        future: Future[T] = pool.submit(copy_context().run, in_thread, quiet)
        try:
            result = in_caller(shown)
            waited_for.set()
            return future.result(), result
        except _Ended:
            raise (future.exception() or _Ended()) from None
        except BaseException:
            failed.set()
            raise


log = logging.getLogger("sdm")


@dataclass
class Chosen:
    """Selected options of a model, notes on the selection, and a function that writes its details."""

    options: RunOptions
    numbers: Numbers
    write: Callable[[Path, Numbers], None]
    key: str = "tuning"
    validation: "CrossValidation | None" = None  # of the model with these options, if they were selected by it
    notes: Sequence[str] = ()  # first notes on the model


Chooser = Callable[[AnyTask, Prepared, str, RunOptions, Progress | None], Chosen]


@dataclass(frozen=True)
class Begun:
    """A fitted model, with the inputs of its measures and maps."""

    name: str
    fit: Fit
    prepared: Prepared  # with the selected variables
    options: RunOptions  # with the selected settings
    chosen: Chosen | None
    began: float


@dataclass(frozen=True)
class Ready(Begun):
    """A measured model, with everything that its results contain."""

    measured: Measured


@dataclass(frozen=True)
class Job:
    """Fits the models of a run."""

    task: AnyTask
    options: RunOptions
    command: str = ""
    choose: Chooser | None = None
    opened: "Opened | None" = None  # layers of scenarios, for a single model
    projections: "list[ProjectionResult]" = field(default_factory=list)  # of a single model
    told_in: Path | None = None  # folder of several models whose results are printed

    def make(
        self, prepared: Prepared, name: str, folder: Path, progress: Progress | None = None, *, overwrite: bool = False
    ) -> ModelResult:
        """Fit one model, make its maps while it is measured, and write its results atomically."""
        with staging(folder, overwrite=overwrite) as stage:
            begun = self._begin(prepared, name, progress)
            maps, ready = side_by_side(
                lambda quiet: self._map(begun, stage, quiet), lambda shown: self._measure(begun, shown), progress
            )
            return self._write_into(ready, maps, folder, progress)

    def fit(self, prepared: Prepared, name: str, progress: Progress | None = None) -> Ready:
        """Fit one model, and measure it."""
        return self._measure(self._begin(prepared, name, progress), progress)

    def _begin(self, prepared: Prepared, name: str, progress: Progress | None) -> Begun:
        """Select the variables and settings of one model, and fit it."""
        began = perf_counter()
        chosen, options = None, self.options
        with _explained(name):
            if options.layers.chooses:
                prepared = choose_variables(self.task, prepared, name, options, progress)
            if self.choose is not None:
                chosen = self.choose(self.task, prepared, name, options, progress)
                options = chosen.options
                if chosen.validation is not None:
                    prepared = replace(prepared, validated={name: chosen.validation})
            return Begun(name, self.task.fit(prepared, name, options, progress), prepared, options, chosen, began)

    def _map(self, begun: Begun, folder: Path, progress: Progress | None) -> ModelMaps:
        """Make the maps of one model, and their figures."""
        if begun.prepared.stack is None or not begun.options.output.map:
            return ModelMaps(folder, {}, {})
        return self._drawn(begun, self.task.make_maps(begun.fit, begun.prepared, begun.options, folder, progress))

    def _drawn(self, begun: Begun, maps: ModelMaps) -> ModelMaps:
        """Return maps with their figures."""
        if not maps.files or not begun.options.output.map_picture:
            return maps
        return replace(maps, files=maps.files | self.task.draw_maps(begun.fit, maps, begun.prepared, begun.options))

    def _measure(self, begun: Begun, progress: Progress | None) -> Ready:
        """Measure one model, and add notes on its selections."""
        name, prepared, options, chosen = begun.name, begun.prepared, begun.options, begun.chosen
        with _explained(name):
            measured = self.task.measure(begun.fit, prepared, options, progress)
        if chosen is not None:
            measured.numbers[chosen.key] = chosen.numbers
            measured.notes[:0] = chosen.notes
        variables = prepared.chosen.get(name)
        if variables is not None:
            measured.numbers["variable_selection"] = variables.numbers()
            measured.notes[:0] = choice_notes(variables, options, self.task.assessor is not None and nests(options))
        log.debug("%s fitted and measured in %.1f s", name, perf_counter() - begun.began)
        return Ready(**vars(begun), measured=measured)

    def write(
        self,
        ready: Ready,
        folder: Path,
        progress: Progress | None = None,
        *,
        maps: ModelMaps | None = None,
        overwrite: bool = False,
        before_commit: Callable[[], None] | None = None,
    ) -> ModelResult:
        """Write the results of one model atomically, with maps that were made together with other models; if
        `before_commit` raises, nothing changes."""
        with staging(folder, overwrite=overwrite) as stage:
            maps_made = self._map(ready, stage, progress) if maps is None else self._drawn(ready, maps.move(stage))
            result = self._write_into(ready, maps_made, folder, progress)
            if before_commit is not None:
                before_commit()
        return result

    def _write_into(self, ready: Ready, maps: ModelMaps, folder: Path, progress: Progress | None) -> ModelResult:
        """Write the results of one model to a stage, which becomes the folder."""
        prepared, options, chosen = ready.prepared, ready.options, ready.chosen
        variables = prepared.chosen.get(ready.name)

        def also(to: Destination) -> None:
            if variables is not None:
                write_choice(variables, to)
            if chosen is not None:
                chosen.write(to.folder, to.files)
            if self.opened is not None and prepared.single:
                from sdm.run.projecting.projection import project_fitted

                one = project_fitted([to.folder], to.folder, folder, self.opened, options, self.command, progress)
                self.projections.append(one)
                to.files["scenarios"] = SCENARIOS
                ready.measured.numbers.setdefault("warnings", []).extend(one.warnings)

        result = write_model(self.task, ready.measured, maps, prepared, options, self.command, also, progress)
        log.debug("%s done in %.1f s", ready.name, perf_counter() - ready.began)
        return replace(result, folder=folder)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Raise a system error during a fit as an error of the model: nothing was written yet."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{name} cannot be fitted ({error})") from error
