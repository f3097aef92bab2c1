"""Options of a run: one definition for the command line, the YAML file and Python.

A run is a tree of sections; `sdm.options.reading` reads, merges, checks and writes it. If a default depends on the
kind of model, it is None here: the default of the estimator is used, and the description states it.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from sdm.options.fitting import FitOptions, TestOptions
from sdm.options.inputs import BackgroundOptions, LayerOptions, OccurrenceOptions
from sdm.options.kinds import Section, option
from sdm.options.several import ClassOptions, CurveOptions, JointOptions, PathOptions, TuneOptions
from sdm.options.writing import ClusterOptions, OutputOptions, PredictOptions, ProjectOptions


class RunOptions(Section):
    """All options of a run."""

    kind: Literal["species", "classes", "community"] | None = option(
        None,
        "Kind of model: species, classes or community. Species have presences and a background. Classes are target "
        "classes, or presence and absence, at sites. A community consists of several species together. Default: by the "
        "other options.",
    )
    preset: Literal["best"] | None = option(
        None,
        "Recommended settings for several species: best. Target-group background and the mean of two models (committee "
        "and shared axes). Chosen on the NCEAS benchmark. The mean has no certificate.",
    )

    occurrences: OccurrenceOptions = Field(default_factory=OccurrenceOptions)
    layers: LayerOptions = Field(default_factory=LayerOptions)
    background: BackgroundOptions = Field(default_factory=BackgroundOptions)
    fit: FitOptions = Field(default_factory=FitOptions)
    test: TestOptions = Field(default_factory=TestOptions)
    predict: PredictOptions = Field(default_factory=PredictOptions)
    project: ProjectOptions = Field(default_factory=ProjectOptions)
    output: OutputOptions = Field(default_factory=OutputOptions)
    tune: TuneOptions = Field(default_factory=TuneOptions)
    curve: CurveOptions = Field(default_factory=CurveOptions)
    path: PathOptions = Field(default_factory=PathOptions)
    classes: ClassOptions = Field(default_factory=ClassOptions)
    joint: JointOptions = Field(default_factory=JointOptions)
    seed: int = option(1, "Seed of all random numbers.", "randomseed", ge=0)
    threads: int = option(
        2, "Threads for rasters, importance, shared axes, and models of 100,000 cells or more.", ge=1, le=1024
    )
    processes: int = option(
        1, "Processes for species, folds, null models, tuning, curves and scenarios.", ge=1, le=1024
    )
    cluster: ClusterOptions = Field(default_factory=ClusterOptions)
    retries: int = option(2, "Number of retries of a species or scenario after its worker has died.", ge=0, le=100)

    def with_values(self, **sections: Mapping[str, object]) -> "RunOptions":
        """Return the options with other values in sections."""
        changed = {name: getattr(self, name).model_copy(update=values) for name, values in sections.items()}
        return self.model_copy(update=changed)

    def alone(self) -> "RunOptions":
        """Return the options that change results: without workers, resuming and overwriting."""
        plain = RunOptions()
        workers = {"processes": 1, "cluster": plain.cluster, "retries": plain.retries}
        return self.with_values(output={"resume": False, "overwrite": False}).model_copy(update=workers)


PRESETS: dict[str, dict[str, Any]] = {"best": {"fit.model": "ensemble", "background.kind": "target-group"}}
"""Options that a preset stands for; options of the user have priority (reasons: docs/explanation/accuracy.md)."""

PATTERN = {"occurrences.keep_duplicates": True, "background.points": "all", "fit.add_presences": "distinct"}
"""Options that a window of a point pattern (`layers.bounds`) stands for: a density over all cells, of all points."""

# Words that some path options accept.
AREA_WORDS = ("buffer", "hull")
GROUP_WORD = "target-group"
GRAPH_WORDS = ("tree", "chain", "none")
