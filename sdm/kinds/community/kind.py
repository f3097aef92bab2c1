"""The task of communities: several species at the same sites, in one joint model."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, cast

import numpy as np

from sdm.data.rasters.stack import Stack
from sdm.data.site_sample import CommunitySample, SiteSample
from sdm.data.table import SampleTable
from sdm.features.classes import refuse_rectified
from sdm.kinds.community.fit import (
    CommunityPlan,
    JointFit,
    MeasuredCommunity,
    fit_community,
    glm_gains,
    measure_joint,
    plan_community,
)
from sdm.kinds.community.inputs import NAME, check_community, read_community
from sdm.kinds.community.outputs import JOINT_TABLES, ProjectedCommunity, draw_joint_maps, map_joint, write_joint
from sdm.kinds.community.surveys import SurveyedRows, evaluate_joint, known_cells
from sdm.kinds.community.words import joint_evaluation_lines, joint_info_lines, joint_result_lines
from sdm.kinds.inputs import narrowed
from sdm.kinds.mapping import Tags, publish_maps, refuse_one_map
from sdm.kinds.model_task import Catalogue, MapOptions, MapResult
from sdm.kinds.task import Prepared, Task
from sdm.maps.gis.tags import RasterSummary
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.several import MAPS, OF_ONE_MODEL, PRESENT, JointPlaces, write_maps
from sdm.models.community import FittedJoint
from sdm.options.definitions import RunOptions
from sdm.types import Numbers, Progress


class CommunityTask(Task[FittedJoint, Prepared, CommunityPlan, JointFit, MeasuredCommunity]):
    """Several species at the same sites, in one joint model."""

    kind: ClassVar[str] = "community"
    called: ClassVar[str] = "a joint model"
    command: ClassVar[str] = "sdm joint"
    artefacts: ClassVar[Catalogue] = JOINT_TABLES
    maps_with: ClassVar[tuple[str, ...]] = ("extrapolation", "novelty", "known", "communities")
    evaluates_with: ClassVar[tuple[str, ...]] = ("site_column",)
    lines = staticmethod(joint_result_lines)
    evaluation_lines = staticmethod(joint_evaluation_lines)
    info_lines = staticmethod(joint_info_lines)
    check = staticmethod(check_community)
    prepare = staticmethod(read_community)
    plan = staticmethod(plan_community)
    fit = staticmethod(fit_community)
    measure = staticmethod(measure_joint)
    make_maps = staticmethod(map_joint)
    draw_maps = staticmethod(draw_joint_maps)
    write = staticmethod(write_joint)
    evaluate = staticmethod(evaluate_joint)
    row_predictor = staticmethod(SurveyedRows)

    def check_model(self, options: RunOptions) -> None:
        """Raise for features that a joint model does not support."""
        refuse_rectified(options.fit.features)

    def variables(self, prepared: Prepared) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of the variables of the environment, and of those that are categories."""
        community = prepared.tables[NAME]
        return list(community.environment.columns), community.categorical

    def narrow(self, prepared: Prepared, name: str, variables: Sequence[str]) -> Prepared:
        """Return the inputs with some of the variables of the environment."""
        community = prepared.tables[name]
        names = [column for column in community.environment.columns if column in variables]
        table = replace(community, environment=community.environment[names])
        return replace(prepared, tables={name: table}, stack=narrowed(prepared.stack, variables))

    def single_gains(
        self,
        table: SampleTable | SiteSample,
        options: RunOptions,
        names: Sequence[str],
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> dict[str, float]:
        """Return the gain of a GLM with one variable over the null model, summed over species."""
        return glm_gains(cast(CommunitySample, table), names, progress)

    def summary_row(self, numbers: Numbers) -> Numbers:
        """Return the main numbers; a run has one joint model, so there is no summary."""
        return {"sites": numbers.get("sites"), "gap": numbers.get("gap")}

    def map_places(self, output: Path) -> list[Path]:
        """Return an empty list: maps go to a folder."""
        refuse_one_map(output, "a joint model makes two per species and two of the richness")
        return []

    def map(self, model: FittedJoint, stack: Stack, output: Path, settings: MapOptions) -> MapResult:
        """Write two maps per species, probability and best joint labelling, and their sums, into a folder."""
        held, lines = (None, []) if settings.known is None else known_cells(model, settings.known, stack)

        def write(stage: Path, novelty: NoveltyMaps) -> Iterator[tuple[Tags, RasterSummary]]:
            (stage / MAPS).mkdir()
            places = JointPlaces.within(stage, model.species, OF_ONE_MODEL)
            maps = write_maps(model, None, stack, places, settings.how, novelty=novelty, known=held)
            for kind, group in (("probability", maps["species"]), (PRESENT, maps[PRESENT])):
                yield from (({"what": kind, "species": name}, one) for name, one in group.items())
            yield from (({"what": name}, one) for name, one in maps["richness"].items())

        result = publish_maps(model, output, settings, write, first=lines)
        if held is not None:
            result.numbers["known"] = {"cells": len(held.rows), "labels": int(np.isfinite(held.labels).sum())}
        return result

    def projected(self, model: FittedJoint, name: str) -> ProjectedCommunity:
        """Return every species."""
        return ProjectedCommunity(model, name)


TASK = CommunityTask
