"""The task of species: presences compared with a background, one model per species."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from sdm.assess.assessor import PRESENCE_ONLY, Assessor
from sdm.data.rasters.stack import Stack
from sdm.errors import expect_one_of
from sdm.estimators.species import SpeciesEstimator
from sdm.kinds.assessment_tables import ASSESSMENT
from sdm.kinds.mapping import publish_value_map
from sdm.kinds.model_task import Catalogue, MapOptions, MapResult
from sdm.kinds.species.checking import check_species_run
from sdm.kinds.species.evaluating import evaluate_species
from sdm.kinds.species.fit import SpeciesFit, fit_species, measure_species, plan_species
from sdm.kinds.species.inputs import SpeciesPrepared, arrange, prepare_species
from sdm.kinds.species.methods.method import method_of, species_estimator
from sdm.kinds.species.outputs import (
    SPECIES_TABLES,
    draw_species_maps,
    map_species,
    map_species_together,
    write_shared,
    write_species,
)
from sdm.kinds.species.words import species_evaluation_lines, species_info_lines, species_result_lines
from sdm.kinds.splitting import RecordPlan
from sdm.kinds.task import Fit, Measured, Prepared, Task
from sdm.models.extrapolation import EXTRAPOLATIONS
from sdm.models.species import SCALES, Model
from sdm.options.definitions import RunOptions
from sdm.options.fitting import FitOptions
from sdm.types import Array, Numbers, Progress, Row

MAP_SCALES = tuple(scale for scale in SCALES if scale != "link")
IN_SUMMARY = (
    "training_presences", "features_with_weight", "regularized_gain", "gain", "auc_train", "log_loss_train",
    "auc_test", "log_loss_test", "entropy", "gap",
)  # fmt: skip
SINGLE_KNOTS = 50  # of models of one variable: four times as fast as all, and gains differ by less than 0.01 nats
IN_SUMMARY_OF_FOLDS = ("auc.val.avg", "cbi.val.avg", "or.10p.avg", "loss.val.avg")


class SpeciesTask(Task[Model, SpeciesPrepared, RecordPlan, Any, Any]):
    """Presences compared with a background, one model per species."""

    kind: ClassVar[str] = "species"
    called: ClassVar[str] = "a model of one species"
    command: ClassVar[str] = "sdm fit"
    artefacts: ClassVar[Catalogue] = (*SPECIES_TABLES, *ASSESSMENT)
    assessor: ClassVar[Assessor] = PRESENCE_ONLY
    maps_with: ClassVar[tuple[str, ...]] = ("scale", "threshold", "extrapolation", "novelty")
    extrapolates_with: ClassVar[tuple[str, ...]] = EXTRAPOLATIONS
    evaluates_with: ClassVar[tuple[str, ...]] = ("absences", "background", "species", "truth", "seed")
    lines = staticmethod(species_result_lines)
    evaluation_lines = staticmethod(species_evaluation_lines)
    info_lines = staticmethod(species_info_lines)
    prepare = staticmethod(prepare_species)
    plan = staticmethod(plan_species)
    check = staticmethod(check_species_run)
    estimator = staticmethod(species_estimator)
    write = staticmethod(write_species)
    write_shared = staticmethod(write_shared)
    make_maps = staticmethod(map_species)
    map_together = staticmethod(map_species_together)
    draw_maps = staticmethod(draw_species_maps)
    evaluate = staticmethod(evaluate_species)

    def check_model(self, options: RunOptions) -> None:
        """Raise for invalid options of the method or its estimator."""
        method = method_of(options)
        method.check(options.fit)
        method.estimator(options, []).check_options()

    def gather(self, prepared: SpeciesPrepared, options: RunOptions, progress: Progress | None) -> SpeciesPrepared:
        """Fit the axes of all species, or read the axes of an earlier run."""
        if not options.fit.shares_axes:
            return prepared
        from sdm.kinds.species.methods.shared import gather_axes

        return gather_axes(prepared, options, progress)

    def fits_together(self, options: RunOptions) -> bool:
        """Whether this run fits axes that species share."""
        return options.fit.shares_axes and options.fit.axes is None

    def check_tuning(self, options: RunOptions) -> None:
        """Raise for species on shared axes, which are fitted together."""
        method_of(options).check_tuning()

    def check_gathered(self, prepared: SpeciesPrepared, names: Sequence[str], options: RunOptions) -> None:
        """Raise if the species have no axes to share."""
        if options.fit.shares_axes:
            from sdm.kinds.species.methods.shared import check_gathered

            check_gathered(prepared, names, options)

    def fit(self, prepared: SpeciesPrepared, name: str, options: RunOptions, progress: Progress | None) -> Fit:
        """Fit the model of one species."""
        return fit_species(prepared, name, options, progress)

    def measure(
        self, fit: SpeciesFit, prepared: SpeciesPrepared, options: RunOptions, progress: Progress | None
    ) -> Measured:
        """Measure the model of one species."""
        return measure_species(fit, prepared, options, progress)

    def narrow(self, prepared: SpeciesPrepared, name: str, variables: Sequence[str]) -> SpeciesPrepared:
        """Return the inputs with some of the variables of one species."""
        return arrange(prepared, name, [one for one in prepared.tables[name].names if one in variables])

    def single_estimator(self, options: RunOptions, categorical: Sequence[str]) -> SpeciesEstimator:
        """Return a maxent model of the options with few knots; for other models, one with default features."""
        fit = options.fit
        if not method_of(options).single_problem:
            fit = FitOptions(multiplier=fit.multiplier, entropy=fit.entropy)
        fit = fit if fit.knots is not None else fit.model_copy(update={"knots": SINGLE_KNOTS})
        return species_estimator(options.model_copy(update={"fit": fit}), categorical)

    def repeat(self, options: RunOptions, name: str) -> RunOptions:
        """Return the options with one species; shared axes need all of them."""
        if self.fits_together(options):
            return options
        return options.with_values(occurrences={"species": [name]})

    def records(self, prepared: Prepared, name: str) -> tuple[list[Row], dict[str, int]] | None:
        """Return the record cleaning summary of one species."""
        if prepared.ledger is None:
            return None
        part = prepared.ledger.only(name)
        return part.rows(), part.counts[name]

    def summary_row(self, numbers: Numbers) -> Numbers:
        """Return the main numbers of a species."""
        mean = numbers.get("cross_validation", {}).get("mean", {})
        return {key: numbers.get(key) for key in IN_SUMMARY} | {key: mean.get(key) for key in IN_SUMMARY_OF_FOLDS}

    def table_columns(self, model: Model, values: Array, scale: str | None) -> dict[str, Sequence[object]]:
        """Return the only column, named after its scale."""
        return {scale or model.scale: values[0].tolist()}

    def map(self, model: Model, stack: Stack, output: Path, settings: MapOptions) -> MapResult:
        """Write one map: suitability, or presence and absence by a threshold."""
        scale = settings.scale or "cloglog"
        expect_one_of("scale", scale, MAP_SCALES)
        tags = {"species": str(model.meta.get("species", ""))}
        return publish_value_map(model, model, stack, output, replace(settings, scale=scale), tags)


TASK = SpeciesTask
