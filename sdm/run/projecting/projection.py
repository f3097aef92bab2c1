"""A projection: models on the layers of a reference and of scenarios, what changes, and how far scenarios agree.

Every scenario is a folder that appears as a whole, with the digest of everything it depends on in `scenario.json`;
`--resume` keeps those whose digest is still the same. Tables, pages and maps over scenarios are made at the end.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sdm._version import __version__
from sdm.errors import HIDDEN, DataError, OptionError, OutputError, hide_secrets
from sdm.executors.opening import check_workers
from sdm.maps.gis.package import PACKAGE
from sdm.maps.gis.styles import style_folder
from sdm.maps.novelty import check_measures, read_measures
from sdm.maps.projection.across import REST
from sdm.maps.projection.change import Change, Ground, shift
from sdm.maps.projection.dispersal import Reach, limit_change
from sdm.maps.projection.scenario import PRESENT, ScenarioFiles, ScenarioPass
from sdm.maps.projection.targets import ProjectedModel
from sdm.models.extrapolation import known_range
from sdm.options.applies import PROJECTING
from sdm.options.definitions import RunOptions
from sdm.options.reading import dump_yaml, make_options, plain_values
from sdm.progress.telling import step_by_step
from sdm.run.projecting.handing_out import NUMBERS, file_checksum, map_scenarios
from sdm.run.projecting.joining import write_pages, write_projections
from sdm.run.projecting.models import find_models, with_options
from sdm.run.projecting.opening import REFERENCE, Opened, OpenScenario, open_scenarios, variables_of
from sdm.run.projecting.scenarios import Scenario, field_names, find_scenarios, period_order
from sdm.run.projecting.summary import Case, SpeciesProjection
from sdm.run.projecting.telling import common_warnings, projection_lines
from sdm.storage.commit import claim, staging, staging_species
from sdm.storage.files import output_folder, safe_names, to_json
from sdm.storage.reading import load_json
from sdm.storage.written_files import refuse_obstacle, sdm_files
from sdm.types import Progress

log = logging.getLogger("sdm")

TABLES = ("scenarios.csv", "mapping.csv", PACKAGE, "run.yaml", "command.txt", "index.html", "across")


@dataclass
class ProjectionResult:
    """What a projection did: its folder, what it found of every species, and what the user should be told."""

    folder: Path
    species: list[SpeciesProjection]
    notices: list[str]
    warnings: list[str]
    lines: list[str] = field(default_factory=list)
    kept: int = 0  # scenarios that were there already
    index: Path | None = None


def project_models(
    models: str | Path | Sequence[str | Path],
    scenarios: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
    output: str | Path,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> ProjectionResult:
    """Map models on scenarios: suitability, presence, novelty, change against a reference, and what scenarios agree on.

    Parameters
    ----------
    models : path or sequence of paths
        Model files, results of a run or of a batch, or a pattern with fields (``"runs/{multiplier}/sp.npz"``).
    scenarios : path, sequence of paths, or mapping
        Patterns with fields in braces (``"future/{gcm}_{ssp}_{period}/"``), tables (.csv), folders or files; or places
        by title.
    output : path
        The folder for the results.
    progress : callable, optional
        Called with steps done, steps in all and a text.
    options
        Any option of ``sdm project`` under any of its spellings: `reference`, `thresholds`, `novelty`, `dispersal`,
        `over`, `extrapolation`, `scale`, `align`, `resume`, `overwrite` …

    Returns
    -------
    ProjectionResult
        `.species`, each with its `.scenarios`, whose `.numbers` are areas (km²), changes (per cent) and novelty.

    Examples
    --------
    >>> import numpy as np, pathlib, rasterio, tempfile
    >>> from sdm import Maxent, project_models
    >>> folder, heat = pathlib.Path(tempfile.mkdtemp()), np.linspace(0, 10, 100, dtype=np.float32)
    >>> grid = {"driver": "GTiff", "width": 10, "height": 10, "count": 1, "dtype": "float32", "crs": "EPSG:32633"}
    >>> for name, warmer in (("now", 0), ("later", 2)):
    ...     (folder / name).mkdir()
    ...     cells = rasterio.Affine(1000, 0, 0, 0, -1000, 0)
    ...     with rasterio.open(folder / name / "heat.tif", "w", transform=cells, **grid) as file:
    ...         file.write(heat.reshape(10, 10) + warmer, 1)
    >>> Maxent("lq").fit({"heat": heat}, heat < 4).save(folder / "oak.npz")
    >>> places = {"reference": folder / "now", "thresholds": [0.5]}
    >>> found = project_models(folder / "oak.npz", folder / "later", folder / "out", **places)
    >>> change = found.species[0].scenarios[0].numbers["change"]
    >>> change["loss"]["km2"], change["gain"]["km2"]
    (20.0, 0.0)
    """
    known = {"project.models": models, "project.scenarios": scenarios, "output.folder": output}
    sources = ({name: plain_values(value) for name, value in part.items()} for part in (options, known))
    return run_projection(make_options(*sources), progress=progress)


def run_projection(
    options: RunOptions,
    *,
    models: Sequence[ProjectedModel] | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> ProjectionResult:
    """Map models on scenarios, and measure novelty and change, as `options.project` says.

    Parameters
    ----------
    models : sequence of ProjectedModel, optional
        By default those of `options.project.models`.
    command : str
        The command that was typed, to be kept with the results.
    progress : callable, optional
        Called with windows done, windows in all, and what is going on.

    Raises
    ------
    SdmError
        If a model, a scenario or an option cannot be used; nothing is computed before all of them are known.
    """
    check_workers(options)
    target, own = output_folder(options.output.folder), options.project
    if options.output.resume and options.output.overwrite:
        raise OptionError("--resume keeps what is finished, --overwrite does not: give one of them")
    if not own.scenarios:
        raise OptionError("no scenarios: give them as in --scenarios 'future/{gcm}_{ssp}/'")
    chosen = with_options(find_models(own.models) if models is None else models, options)
    scenarios = find_scenarios(own.scenarios)
    opened = open_scenarios(*variables_of(chosen), scenarios, options)
    for notice in opened.notices:
        log.info(notice)
    job = Projection.of(chosen, opened, options, command, progress)
    resume = options.output.resume and target.is_dir()
    if not (resume or options.output.overwrite) and any(target.glob(f"*/{NUMBERS}")):
        raise OutputError(f"{target} has scenarios in it already: use --resume to go on with them, or --overwrite")
    with claim(target, overwrite=options.output.overwrite or resume), ExitStack() as held:
        place = target
        if not resume:
            new = staging_species(target, overwrite=options.output.overwrite, planned=job.planned)
            place = held.enter_context(new)
        else:
            ours = sdm_files(target)
            for name in job.planned:  # said before the work, not after it
                refuse_obstacle(target / name.rstrip("/"), name.endswith("/"), name in ours)
        return job.run(place, target, resume)


def _check_fields(models: Sequence[ProjectedModel], scenarios: Sequence[Scenario], over: Sequence[str]) -> None:
    """Raise for fields that models and scenarios share, that are unknown, or for a scenario called as the reference."""
    of_models = list(dict.fromkeys(name for one in models for name in one.fields))
    known = [*field_names(scenarios), *of_models]
    if both := [name for name in of_models if name in field_names(scenarios)]:
        raise OptionError(f"models and scenarios both have a field '{both[0]}': call one of them otherwise")
    for name in over:
        if name not in known:
            listed = f"there are {', '.join(known)}" if known else "there are none: put them in braces in the pattern"
            raise OptionError(f"over={name}: expected a field of the scenarios or models; {listed}")
    if REST in known:
        raise OptionError(
            f"a field is called '{REST}', the word for what no source of variance accounts for: rename it"
        )
    if any(one.title.casefold() == REFERENCE for one in scenarios):
        raise OptionError(f"a scenario is called '{REFERENCE}': give it another name, as in name=folder")


def _check_models(models: Sequence[ProjectedModel], measures: Sequence[str], options: RunOptions) -> None:
    """Raise if a model does not know what its maps need."""
    for one in models:
        try:
            check_measures(one.model, measures)
            if options.predict.extrapolation == "none":
                known_range(one.model)
        except (DataError, OptionError) as error:
            raise type(error)(f"{one.title}: {error}") from error


def _check_dispersal(opened: Opened, dispersal: str | float) -> None:
    """Raise if dispersal has nothing to begin from, or no distances."""
    if dispersal == "unlimited":
        return
    if opened.reference is None:
        raise OptionError(f"dispersal={dispersal} begins where the species is today: give the layers with --reference")
    if isinstance(dispersal, float):
        Reach(Ground(opened.grid).grid, dispersal)


def mapping_lines(opened: Opened) -> list[str]:
    """Say which file and band each variable is read from: in the first of all, for the table has the rest."""
    first = opened.reference or opened.scenarios[0]
    parts = []
    for row in first.mapping:
        name = hide_secrets(Path(row["file"]).name)
        parts.append(f"{row['variable']} = {name}" + (f" band {row['band']}" if row["band"] > 1 else ""))
    lines = [f"{first.title}: {', '.join(parts)}"]
    if more := len(opened.scenarios) - (opened.reference is None):
        lines.append(f"{more:,} {'scenario' if more == 1 else 'scenarios'} more: every variable found; see mapping.csv")
    return lines


@dataclass(frozen=True)
class Projection:
    """A projection whose inputs are known."""

    options: RunOptions
    models: Sequence[ProjectedModel]
    opened: Opened
    passes: ScenarioPass
    measures: Sequence[str]
    command: str
    progress: Progress | None

    @classmethod
    def of(
        cls,
        models: Sequence[ProjectedModel],
        opened: Opened,
        options: RunOptions,
        command: str = "",
        progress: Progress | None = None,
    ) -> "Projection":
        """Return the projection of models to scenarios; raise for what does not go together."""
        own = options.project
        _check_fields(models, [one.scenario for one in opened.scenarios], own.over)
        measures = read_measures([word for word in own.novelty if word != "none"])
        if "mess" in measures and any("program" in one.model.meta and one.model.reference is None for one in models):
            log.info("novelty (mess) is not mapped: a model file of Java Maxent does not hold the training environment")
            measures = tuple(word for word in measures if word != "mess")
        _check_models(models, measures, options)
        _check_dispersal(opened, own.dispersal)
        files = ScenarioFiles.of(models, measures)
        passes = ScenarioPass(models, files, measures, own.dispersal != "none", opened.area, options.threads)
        for line in mapping_lines(opened):
            log.info(line)
        if opened.reference is None and not own.reference:
            log.info("change is not measured: give the layers of the present with --reference")
        return cls(options, models, opened, passes, measures, command, progress)

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
        """What the files of species begin with."""
        return list(safe_names(self.species, taken=["scenarios", "mapping", "run", "command", "index"]).values())

    @property
    def planned(self) -> list[str]:
        """Names of files and folders (with a `/`) that may be written."""
        files = [name for name in TABLES if name != "across"]
        return [*files, *self._of_pages, "across/", *(f"{name}/" for name in self.folders.values())]

    @property
    def _of_pages(self) -> list[str]:
        """The files of species that are beside the folders of scenarios."""
        figures = ("_scenarios", "_change", "_change_maps", "_novelty")
        ends = (".json", ".html", *(f"{end}.{kind}" for end in figures for kind in ("png", "pdf", "svg")))
        return [f"{page}{end}" for page in self.pages for end in ends]

    def run(self, place: Path, target: Path, resume: bool) -> ProjectionResult:
        """Map every scenario, then what concerns all of them."""
        todo = self._order()
        digests: dict[str, str] = {}
        for one, earlier in todo:
            digests[one.title] = self._digest(one, earlier, digests)
        found, kept = map_scenarios(self, self._waves(todo), digests, place, resume)
        earlier_maps = {name for name in sdm_files(place) if name.startswith("across/")} if resume else set()
        with staging(place, overwrite=True, keep=True) as stage:
            species = self._together(found, place, stage)
            earlier_maps -= {path.relative_to(stage).as_posix() for path in stage.glob("across/*")}
        for name in earlier_maps:  # of other groups of scenarios
            (place / name).unlink(missing_ok=True)
        index = write_pages(species, place, self.progress) if self.options.output.report else None
        result = ProjectionResult(target, species, self.opened.notices, [], kept=kept)
        result.index = None if index is None else target / index
        result.warnings = common_warnings(species)
        result.lines = [line for one in species for line in projection_lines(one, len(species) > 1)]
        return result

    def quiet(self) -> "Projection":
        """Return the projection as it is sent to other processes, which tell nobody how far they are."""
        return replace(self, progress=None)

    def _waves(self, todo: Sequence[tuple[OpenScenario, OpenScenario | None]]) -> list[list[str]]:
        """Return the scenarios that need no others, then those that need these alone, and so on: all need the
        reference, and with limited dispersal that of the period before."""
        depth: dict[str, int] = {}
        for one, earlier in todo:
            if earlier is not None and self.reach_km is not None:
                depth[one.title] = depth[earlier.title] + 1
            else:
                depth[one.title] = 0 if one.title == REFERENCE else 1
        return [[title for title in depth if depth[title] == k] for k in sorted(set(depth.values()))]

    def make_scenario(
        self, title: str, digest: str, place: Path, before_commit: Callable[[], None] | None = None
    ) -> dict[str, Any]:
        """Map one scenario into its folder in one step, and return its numbers; those that it needs are there."""
        one, earlier = next(pair for pair in self._order() if pair[0].title == title)
        beside = self.opened.reference is not None and title != REFERENCE
        reference = load_json(place / REFERENCE / NUMBERS) if beside else None
        with staging(place / self.folders[title], overwrite=True) as stage:
            known = self._scenario(one, earlier, stage, place, reference)
            known |= {"title": title, "fields": dict(one.scenario.fields), "digest": digest}
            known["checksums"] = {name: file_checksum(stage / name) for name in _map_names(known)}
            (stage / NUMBERS).write_text(to_json(known) + "\n", encoding="utf-8")
            found: dict[str, Any] = load_json(stage / NUMBERS)  # the same whether it was computed now or kept
            if before_commit is not None:
                before_commit()
        return found

    def _order(self) -> list[tuple[OpenScenario, OpenScenario | None]]:
        """Return every scenario, the reference first, with the one that dispersal begins from: that of the period
        before, or the reference."""
        first = self.opened.reference
        out: list[tuple[OpenScenario, OpenScenario | None]] = [] if first is None else [(first, None)]
        by_title = {one.title: one for one in self.opened.scenarios}
        before = period_order([one.scenario for one in self.opened.scenarios])
        for title, earlier in before:
            out.append((by_title[title], first if earlier is None else by_title[earlier]))
        return out

    @property
    def reach_km(self) -> float | None:
        """How far the species gets in a period; None without a limit."""
        dispersal = self.options.project.dispersal
        return {"unlimited": None, "none": 0.0}[dispersal] if isinstance(dispersal, str) else dispersal

    def _digest(self, one: OpenScenario, earlier: OpenScenario | None, known: Mapping[str, str]) -> str:
        """Return what is the same as long as a scenario's results are; `known` are those of the ones before."""
        area, predict = self.options.project.area, self.options.predict
        models = [[a.title, a.identity, a.environment, a.cutoffs, a.shown_scale] for a in self.models]
        after = [known[REFERENCE]] if REFERENCE in known and one.title != REFERENCE else []
        if self.reach_km is not None and earlier is not None and earlier.title in known:
            after.append(known[earlier.title])
        grid = self.opened.grid
        # The reference has no novelty and no change.
        beside = [] if one.title == REFERENCE else [list(self.measures), self.options.project.dispersal]
        everything = [
            __version__, models, predict.extrapolation, beside,
            None if area is None else [area, Path(area).stat().st_mtime_ns if Path(area).exists() else 0],
            one.files, after, [grid.width, grid.height, list(grid.transform)[:6], str(grid.crs)],
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(everything, default=str).encode()).hexdigest()

    def _scenario(
        self,
        one: OpenScenario,
        earlier: OpenScenario | None,
        stage: Path,
        place: Path,
        reference: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Write the maps of one scenario; return its numbers. `reference` are those of the reference."""
        before: dict[str, Path] = {}
        for target in self.passes.files.targets if reference is not None else ():
            if target.presence:
                before[target.title] = place / REFERENCE / next(iter(target.presence.values()))

        tags = {"scenario": one.title, **{f"field_{name}": value for name, value in one.scenario.fields.items()}}
        numbers = self.passes.write(
            one.stack,
            stage,
            before=before,
            tags=tags,
            novelty=one.title != REFERENCE,
            progress=self.progress,
            doing=f"scenario {one.title}",
        )
        numbers["layers"] = [[row["variable"], row["file"], row["band"]] for row in one.mapping]
        km = self.reach_km
        if km is not None and reference is not None and earlier is not None and (km or earlier.title != REFERENCE):
            self._limit(numbers, stage, place, earlier, km)
        style_folder(stage)
        for title, target in numbers["targets"].items():
            was = None if reference is None else reference["targets"][title]
            target["shift"] = None if was is None else shift(was.get("centroid"), target.get("centroid"))
        return numbers

    def _limit(self, numbers: dict[str, Any], stage: Path, place: Path, earlier: OpenScenario, km: float) -> None:
        """Leave out of the gain what lies too far from where the species was in the period before."""
        folder = place / self.folders[earlier.title]
        grid = self.opened.grid
        reached = [target for target in self.passes.files.targets if target.presence]
        for target in step_by_step(reached, self.progress, "dispersal"):
            at_first = earlier.title == REFERENCE
            past = folder / (next(iter(target.presence.values())) if at_first else target.change)
            codes = (1,) if at_first else PRESENT
            total = limit_change(stage / target.change, past, codes, km, grid, self.options.threads)
            known = numbers["targets"][target.title]
            known["change"], known["centroid"] = Change.of(total).numbers, Ground(grid).centroid(total)

    def _together(self, found: Mapping[str, Any], place: Path, stage: Path) -> list[SpeciesProjection]:
        """Write what concerns all scenarios into a stage; maps of single scenarios are in `place`."""
        species = [self._species(name, page, found) for name, page in zip(self.species, self.pages)]
        head = "# Repeat with: sdm project run.yaml -o FOLDER\n"
        text = dump_yaml(self.options.alone(), PROJECTING)
        if HIDDEN in text:
            head += f"# Secrets of addresses are not stored: write them in place of {HIDDEN}.\n"
        (stage / "run.yaml").write_text(head + text, encoding="utf-8")
        (stage / "command.txt").write_text(hide_secrets(self.command) + "\n", encoding="utf-8")
        rows = [row for one in ([self.opened.reference] if self.opened.reference else []) + self.opened.scenarios
                for row in one.mapping]  # fmt: skip
        write_projections(species, rows, self.options, self.opened, place, stage, self.progress)
        return species

    def _species(self, name: str, page: str, found: Mapping[str, Any]) -> SpeciesProjection:
        """Return what was found of one species, in every scenario and by every model of it."""
        mine = [target for target in self.passes.files.targets if target.name == name]
        one = self.models[mine[0].model]
        cases = [
            Case.of(scenario, target.title, self.folders[scenario["title"]], found.get(REFERENCE))
            for title, scenario in found.items()
            for target in mine
        ]
        rule = next(iter(one.cutoffs), None)
        return SpeciesProjection(name, page, one.model.kind, one.shown_scale, rule, self.options.project, cases)


def _map_names(known: Mapping[str, Any]) -> list[str]:
    """Return the maps of a scenario, each once."""
    parts = (one for part in ("models", "targets") for one in known[part].values())
    return list(dict.fromkeys(name for one in parts for name in _leaves(one["files"])))


def _leaves(files: Any) -> list[str]:
    return [name for part in files.values() for name in (_leaves(part) if isinstance(part, dict) else [part])]
