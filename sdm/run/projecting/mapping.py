"""Maps of the scenarios of a projection, one by one, in this process or by the workers of a run.

Every scenario is a folder that is committed atomically, with the digest of its inputs in `scenario.json`; `--resume`
keeps scenarios with unchanged digests. Tables, pages and maps over scenarios are made at the end.
"""

import hashlib
import json
import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from sdm._version import __version__
from sdm.errors import HIDDEN, hide_secrets
from sdm.executors.opening import SerialExecutor, as_done, workers
from sdm.maps.gis.package import PACKAGE
from sdm.maps.gis.styles import style_folder
from sdm.maps.projection.change import PRESENT, Ground, change_numbers, limit_change, shift
from sdm.maps.projection.scenario import ScenarioPass
from sdm.maps.projection.targets import ProjectedModel
from sdm.options.applies import PROJECTING
from sdm.options.definitions import RunOptions
from sdm.options.reading import dump_yaml
from sdm.progress.telling import StepCount, step_by_step
from sdm.report.projection import StoredCase
from sdm.run.projecting.joining import write_projections
from sdm.run.projecting.opening import REFERENCE, Opened, OpenScenario
from sdm.run.projecting.scenarios import period_order
from sdm.run.projecting.telling import SpeciesProjection, case_numbers, common_warnings, projection_lines
from sdm.run.run_folder import RunFolder, load_job
from sdm.storage.commit import staging
from sdm.storage.files import safe_names, to_json
from sdm.storage.reading import load_json
from sdm.storage.written_files import sdm_files
from sdm.types import Numbers, Progress, Row

log = logging.getLogger("sdm")

NUMBERS = "scenario.json"
TABLES = ("scenarios.csv", "mapping.csv", PACKAGE, "run.yaml", "command.txt", "index.html", "across")


@dataclass
class ProjectionResult:
    """Results of a projection: its folder, the results of every species, and messages for the user."""

    folder: Path
    species: list[SpeciesProjection]
    notices: list[str]
    warnings: list[str]
    lines: list[str] = field(default_factory=list)
    index: Path | None = None


@dataclass(frozen=True)
class ScenarioStep:
    """One scenario to map. The scenarios of a wave need only results of earlier waves."""

    scenario: OpenScenario
    before: OpenScenario | None  # origin of dispersal: the period before, or the reference
    wave: int
    digest: str


@dataclass(frozen=True)
class Projection:
    """A projection with checked inputs."""

    options: RunOptions
    models: Sequence[ProjectedModel]
    opened: Opened
    passes: ScenarioPass
    measures: Sequence[str]
    command: str
    progress: Progress | None

    @property
    def folders(self) -> dict[str, str]:
        """The folder of every scenario, by title."""
        names = safe_names([one.title for one in self.opened.scenarios], taken=[*TABLES, REFERENCE, *self._of_pages])
        return {REFERENCE: REFERENCE, **names}

    @property
    def species(self) -> list[str]:
        """The names of all targets."""
        return list(dict.fromkeys(target.name for target in self.passes.files.targets))

    @property
    def pages(self) -> list[str]:
        """The prefixes of the files of species."""
        return list(safe_names(self.species, taken=["scenarios", "mapping", "run", "command", "index"]).values())

    @property
    def planned(self) -> list[str]:
        """Names of files and folders (with a `/`) that may be written."""
        files = [name for name in TABLES if name != "across"]
        return [*files, *self._of_pages, "across/", *(f"{name}/" for name in self.folders.values())]

    @property
    def _of_pages(self) -> list[str]:
        """The files of species next to the folders of scenarios."""
        figures = ("_scenarios", "_change", "_change_maps", "_novelty")
        ends = (".json", ".html", *(f"{end}.{kind}" for end in figures for kind in ("png", "pdf", "svg")))
        return [f"{page}{end}" for page in self.pages for end in ends]

    @property
    def reach_km(self) -> float | None:
        """The dispersal distance per period; None without a limit."""
        dispersal = self.options.project.dispersal
        return {"unlimited": None, "none": 0.0}[dispersal] if isinstance(dispersal, str) else dispersal

    def run(self, place: Path, target: Path, resume: bool) -> ProjectionResult:
        """Map every scenario, then write the results over scenarios."""
        cases = self._map_all(place, resume)
        earlier_maps = {name for name in sdm_files(place) if name.startswith("across/")} if resume else set()
        with staging(place, overwrite=True, keep=True) as stage:
            species = self._together(cases, place, stage)
            earlier_maps -= {path.relative_to(stage).as_posix() for path in stage.glob("across/*")}
        for name in earlier_maps:  # of other groups of scenarios
            (place / name).unlink(missing_ok=True)
        result = ProjectionResult(target, species, self.opened.notices, [])
        if self.options.output.report:
            from sdm.kinds.pages import projection_pages

            pages = projection_pages(place, self.progress)
            result.index = target / pages[-1].name if len(species) > 1 else None
        result.warnings = common_warnings(species)
        result.lines = [line for one in species for line in projection_lines(one, len(species) > 1)]
        return result

    def steps(self) -> list[ScenarioStep]:
        """Return all scenarios, the reference first. All need the reference, and with limited dispersal the period
        before."""
        first = self.opened.reference
        by_title = {one.title: one for one in self.opened.scenarios}
        pairs: list[tuple[OpenScenario, OpenScenario | None]] = [] if first is None else [(first, None)]
        for title, earlier in period_order(self.opened.scenarios):
            pairs.append((by_title[title], first if earlier is None else by_title[earlier]))
        done: dict[str, ScenarioStep] = {}
        for one, before in pairs:
            needed = [REFERENCE] if one is not first and first is not None else []
            needed += [before.title] if before is not None and self.reach_km is not None else []
            wave = 1 + max((done[title].wave for title in needed), default=-1)
            digest = self._digest(one, [done[title].digest for title in needed])
            done[one.title] = ScenarioStep(one, before, wave, digest)
        return list(done.values())

    def _digest(self, one: OpenScenario, needed: Sequence[str]) -> str:
        """Return the digest of the results of a scenario, from the digests of the scenarios it needs."""
        area, predict = self.options.project.area, self.options.predict
        models = [[a.title, a.identity, a.environment, a.cutoffs, a.shown_scale] for a in self.models]
        grid = self.opened.grid
        # the reference has no novelty and no change
        measured = [] if one.title == REFERENCE else [list(self.measures), self.options.project.dispersal]
        everything = [
            __version__, models, predict.extrapolation, measured,
            None if area is None else [area, Path(area).stat().st_mtime_ns if Path(area).exists() else 0],
            one.stack.files_state, needed, [grid.width, grid.height, list(grid.transform)[:6], str(grid.crs)],
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(everything, default=str).encode()).hexdigest()

    def _map_all(self, place: Path, resume: bool) -> dict[str, Numbers]:
        """Map every unfinished scenario, several at a time with workers; return the numbers of all of them in order."""
        steps = self.steps()
        count = StepCount(self.progress, "scenarios", len(steps))
        numbers_of: dict[str, Numbers] = {}
        with workers(self.options) as executor, self._calls(place, executor) as call:
            for wave in sorted({step.wave for step in steps}):
                missing: dict[str, ScenarioStep] = {}
                for number, step in enumerate(steps, start=1):
                    if step.wave != wave:
                        continue
                    text = f"{step.scenario.title} ({number} of {len(steps)})"
                    stored = finished(place / self.folders[step.scenario.title], step.digest) if resume else None
                    if stored is None:
                        log.info(text)
                        missing[text] = step
                    else:
                        log.info("%s: kept, because nothing has changed", text)
                        numbers_of[step.scenario.title] = stored
                        count.step()
                for title, numbers in self._retried(executor, call, missing):
                    numbers_of[title] = numbers
                    count.step()
        return {step.scenario.title: numbers_of[step.scenario.title] for step in steps}

    def _retried(
        self, executor: Executor, call: Callable[[ScenarioStep], Numbers], missing: Mapping[str, ScenarioStep]
    ) -> Iterator[tuple[str, Numbers]]:
        """Yield the title and the numbers of each finished step; a worker that dies costs one attempt."""
        pending, tries = list(missing), Counter[str]()
        while pending:
            again = []
            for k, future in as_done(executor, call, [(missing[text],) for text in pending]):
                text = pending[k]
                try:
                    yield missing[text].scenario.title, future.result()
                except BrokenExecutor:
                    tries[text] += 1
                    if tries[text] > self.options.retries:
                        raise
                    log.warning("%s: its worker died; it is started again", text)
                    again.append(text)
            pending = again

    @contextmanager
    def _calls(self, place: Path, executor: Executor) -> Iterator[Callable[[ScenarioStep], Numbers]]:
        """Return the function that an executor calls with a step."""
        if isinstance(executor, SerialExecutor):
            yield partial(self.make_scenario, place=place)
            return
        folder = RunFolder(place)
        token = folder.begin(replace(self, progress=None), sent=True)  # other processes show no progress
        try:
            if (check := getattr(executor, "check", None)) is not None:
                check(folder.path)
            yield partial(make_sent_scenario, str(place.absolute()), token)
        finally:
            folder.remove()

    def make_scenario(
        self, step: ScenarioStep, place: Path, before_commit: Callable[[], None] | None = None
    ) -> Numbers:
        """Map one scenario into its folder atomically, and return its numbers; its required scenarios exist."""
        needs_reference = self.opened.reference is not None and step.scenario.title != REFERENCE
        reference = load_json(place / REFERENCE / NUMBERS) if needs_reference else None
        with staging(place / self.folders[step.scenario.title], overwrite=True) as stage:
            numbers = self._scenario(step, stage, place, reference)
            scenario = step.scenario
            numbers |= {"title": scenario.title, "fields": dict(scenario.fields), "digest": step.digest}
            maps = {path.relative_to(stage).as_posix(): path for path in sorted(stage.rglob("*.tif"))}
            numbers["checksums"] = {name: file_checksum(path) for name, path in maps.items()}
            (stage / NUMBERS).write_text(to_json(numbers) + "\n", encoding="utf-8")
            stored: Numbers = load_json(stage / NUMBERS)  # the same for new and kept scenarios
            if before_commit is not None:
                before_commit()
        return stored

    def _scenario(self, step: ScenarioStep, stage: Path, place: Path, reference: Numbers | None) -> Numbers:
        """Write the maps of one scenario; return its numbers. `reference` are the numbers of the reference."""
        before: dict[str, Path] = {}
        for target in self.passes.files.targets if reference is not None else ():
            if target.presence:
                before[target.title] = place / REFERENCE / next(iter(target.presence.values()))
        fields = {f"field_{name}": value for name, value in step.scenario.fields.items()}
        numbers = self.passes.write(
            step.scenario.stack,
            stage,
            before=before,
            tags={"scenario": step.scenario.title, **fields},
            novelty=step.scenario.title != REFERENCE,
            progress=self.progress,
            doing=f"scenario {step.scenario.title}",
        )
        numbers["layers"] = [[row["variable"], row["file"], row["band"]] for row in step.scenario.mapping]
        km, earlier = self.reach_km, step.before
        if km is not None and reference is not None and earlier is not None and (km or earlier.title != REFERENCE):
            self._limit(numbers, stage, place, earlier, km)
        style_folder(stage)
        for title, target in numbers["targets"].items():
            was = None if reference is None else reference["targets"][title]
            target["shift"] = None if was is None else shift(was.get("centroid"), target.get("centroid"))
        return numbers

    def _limit(self, numbers: Numbers, stage: Path, place: Path, earlier: OpenScenario, km: float) -> None:
        """Exclude from the gain the area beyond the dispersal distance from the range in the period before."""
        folder = place / self.folders[earlier.title]
        grid = self.opened.grid
        reached = [target for target in self.passes.files.targets if target.presence]
        for target in step_by_step(reached, self.progress, "dispersal"):
            at_first = earlier.title == REFERENCE
            past = folder / (next(iter(target.presence.values())) if at_first else target.change)
            codes = (1,) if at_first else PRESENT
            total = limit_change(stage / target.change, past, codes, km, grid, self.options.threads)
            target_numbers = numbers["targets"][target.title]
            target_numbers["change"], target_numbers["centroid"] = change_numbers(total), Ground(grid).centroid(total)

    def _together(self, numbers: Mapping[str, Numbers], place: Path, stage: Path) -> list[SpeciesProjection]:
        """Write the results over scenarios into a stage; maps of single scenarios are in `place`."""
        species = [self._species(name, page, numbers, place) for name, page in zip(self.species, self.pages)]
        head = "# Repeat with: sdm project run.yaml -o FOLDER\n"
        text = dump_yaml(self.options.alone(), PROJECTING)
        if HIDDEN in text:
            head += f"# Secrets of addresses are not stored: write them in place of {HIDDEN}.\n"
        (stage / "run.yaml").write_text(head + text, encoding="utf-8")
        (stage / "command.txt").write_text(hide_secrets(self.command) + "\n", encoding="utf-8")
        first = [] if self.opened.reference is None else [self.opened.reference]
        rows: list[Row] = [row for one in (*first, *self.opened.scenarios) for row in one.mapping]
        write_projections(species, rows, self.options, self.opened, place, stage, self.progress)
        return species

    def _species(self, name: str, page: str, numbers: Mapping[str, Numbers], place: Path) -> SpeciesProjection:
        """Return the results of one species, in every scenario and by each of its models."""
        mine = [target for target in self.passes.files.targets if target.name == name]
        one = self.models[mine[0].model]
        rule, reference = next(iter(one.cutoffs), None), numbers.get(REFERENCE)
        cases = [
            StoredCase(
                place,
                case_numbers(scenario, target.title, self.folders[title], reference),
                rule,
                is_reference=title == REFERENCE,
            )
            for title, scenario in numbers.items()
            for target in mine
        ]
        fields = list(dict.fromkeys(name for scenario in numbers.values() for target in mine
                                    for name in scenario["targets"][target.title]["fields"]))  # fmt: skip
        project = self.options.project
        return SpeciesProjection(name, page, one.model.kind, one.shown_scale, rule, project, cases, fields)


def make_sent_scenario(place: str, token: str, step: ScenarioStep) -> Numbers:
    """Map a scenario in a separate process."""
    job: Projection = load_job(place, token)
    return job.make_scenario(step, Path(place), partial(RunFolder(Path(place)).check, token))


def finished(folder: Path, digest: str) -> Numbers | None:
    """Return the numbers of a finished and unchanged scenario, else None."""
    with suppress(OSError, ValueError):  # a file is missing
        stored = load_json(folder / NUMBERS)
        if isinstance(stored, dict) and stored.get("digest") == digest:
            same = all(file_checksum(folder / name) == value for name, value in stored["checksums"].items())
            return stored if same else None
    return None


def file_checksum(path: Path) -> int:
    """Return the identity of the content of a file."""
    checksum = 0
    with path.open("rb") as source:
        while part := source.read(1 << 20):
            checksum = zlib.crc32(part, checksum)
    return checksum
