"""The task of communities: several species at the same sites, in one joint model."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sdm.data.rasters.stack import Stack
from sdm.data.records.textfile import TextTable
from sdm.features.classes import refuse_rectified
from sdm.kinds.artefacts import Catalogue
from sdm.kinds.community.checking import check_community
from sdm.kinds.community.evaluating import evaluate_joint
from sdm.kinds.community.fit import (
    CommunityPlan,
    JointFit,
    MeasuredCommunity,
    fit_community,
    glm_gains,
    measure_joint,
    plan_community,
)
from sdm.kinds.community.inputs import read_community
from sdm.kinds.community.known import held_rows, known_cells
from sdm.kinds.community.outputs import JOINT_TABLES, draw_joint_maps, map_joint, write_joint
from sdm.kinds.community.projected import ProjectedCommunity
from sdm.kinds.community.words import joint_evaluation_lines, joint_info_lines, joint_result_lines
from sdm.kinds.inputs import narrowed
from sdm.kinds.mapping import refuse_one_map
from sdm.kinds.model_inputs import SurveyFile
from sdm.kinds.model_task import MapOptions, MapResult, RowValues
from sdm.kinds.task import Prepared, Task
from sdm.maps.community import MAPS, OF_ONE_MODEL, PRESENT, JointPlaces, write_maps
from sdm.maps.gis.styles import style_folder
from sdm.maps.novelty import NoveltyMaps, novelty_places
from sdm.models.community import FittedJoint
from sdm.options.definitions import RunOptions
from sdm.storage.commit import staging
from sdm.types import Array, Index, Numbers, Progress, Row

NAME = "joint"  # what the one model of a run, and its files, are called


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
    make_maps = staticmethod(map_joint)
    draw_maps = staticmethod(draw_joint_maps)
    write = staticmethod(write_joint)
    evaluate = staticmethod(evaluate_joint)

    def check_model(self, options: RunOptions) -> None:
        """Raise for features that a joint model cannot have."""
        refuse_rectified(options.fit.features)

    def prepare(self, options: RunOptions) -> Prepared:
        """Read the sites, their environment, and the graph."""
        community = read_community(options)
        return Prepared(
            {NAME: community},
            stack=community.stack,
            notices=community.notes,
            warnings=community.warnings,
            fate=community.fate,
        )

    def plan(self, prepared: Prepared, name: str, options: RunOptions) -> CommunityPlan:
        """Divide the sites."""
        whole = prepared.chosen[name].table if name in prepared.chosen else None
        return plan_community(prepared.tables[name], options, prepared.stack, whole)

    def fit(self, prepared: Prepared, name: str, options: RunOptions, progress: Progress | None) -> JointFit:
        """Fit the joint model, the same without edges, and a GLM."""
        return fit_community(prepared.tables[name], self.plan(prepared, name, options), options, progress)

    def measure(
        self, fit: JointFit, prepared: Prepared, options: RunOptions, progress: Progress | None
    ) -> MeasuredCommunity:
        """Measure the three models, also on held-out sites."""
        return measure_joint(fit, options, progress)

    def variables(self, prepared: Prepared) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of the variables of the environment, and of those that are categories."""
        community = prepared.tables[NAME]
        return list(community.environment.columns), community.categorical

    def narrow(self, prepared: Prepared, name: str, variables: Sequence[str]) -> Prepared:
        """Return the inputs with some of the variables of the environment."""
        community, stack = prepared.tables[name], narrowed(prepared.stack, variables)
        names = [column for column in community.environment.columns if column in variables]
        table = replace(community, environment=community.environment[names], stack=stack)
        return replace(prepared, tables={name: table}, stack=stack)

    def single_gains(
        self,
        table: Any,
        options: RunOptions,
        names: Sequence[str],
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> dict[str, float]:
        """Return by how much a GLM with one variable alone, of all species, is better than the constant model."""
        return glm_gains(table, names, progress)

    def summary_row(self, numbers: Numbers) -> Numbers:
        """Return the main numbers; a run has one community, and no table of several."""
        return {"sites": numbers.get("sites"), "gap": numbers.get("gap")}

    def map_places(self, output: Path) -> list[Path]:
        """Return none: maps go to a folder."""
        refuse_one_map(output, "a joint model makes two per species and two of the richness")
        return []

    def map(self, model: FittedJoint, stack: Stack, output: Path, given: MapOptions) -> MapResult:
        """Write two maps per species, probability and best joint labeling, and their sums, into a folder."""
        with staging(output, overwrite=given.overwrite, keep=True) as stage:
            (stage / MAPS).mkdir()
            held, lines = (None, []) if given.known is None else known_cells(model, given.known, stack)
            beside = {name: stage / f"{name}.tif" for name in novelty_places(given.novelty, stage)}
            novelty = NoveltyMaps(model, beside, given.novelty)
            targets = JointPlaces.within(stage, model.species, OF_ONE_MODEL)
            maps = write_maps(model, None, stack, targets, given.how, novelty=novelty, known=held)
            style_folder(stage)
        files: dict[str, Path] = {}
        numbers: Numbers = {}
        for kind, group in (("probability", maps.species), (PRESENT, maps.present), ("richness", maps.richness)):
            for name, one in group.items():
                key = one.path.relative_to(stage).as_posix()  # a species may have the name of another map
                files[key] = output / key
                subject = {"what": name} if kind == "richness" else {"what": kind, "species": name}
                numbers[key] = {**subject, **one.numbers}
                lines.append(f"written: {files[key]} ({one.text})")
        counted: Numbers = {"maps": numbers}
        if held is not None:
            counted["known"] = {"cells": len(held.rows), "labels": int(np.isfinite(held.labels).sum())}
        places = {name: output / path.name for name, path in beside.items()}
        return MapResult(files, counted, lines).with_novelty(novelty, places)

    def projected(self, model: FittedJoint, name: str) -> ProjectedCommunity:
        """Return every species."""
        return ProjectedCommunity(model, name)

    def row_values(
        self, model: FittedJoint, known: SurveyFile | None, text: TextTable, row: Index, notices: list[str]
    ) -> RowValues:
        """Return a function that predicts with the labels that a survey knows held, and the levels of the rows."""
        labels, levels = held_rows(model, known, text, row, notices)

        def values(columns: Sequence[Array], scale: str | None = None, clamp: bool = True) -> Array:
            return model.predict_proba(np.column_stack(columns).astype(np.float64), labels, clamp, levels).T

        return values

    def row_communities(
        self,
        model: FittedJoint,
        columns: Sequence[Array],
        known: SurveyFile | None,
        text: TextTable,
        row: Index,
        clamp: bool,
    ) -> list[Row]:
        """Return one row per possible community of every row of a table: its probability, and its species."""
        labels, levels = held_rows(model, known, text, row, [])
        found = model.communities(np.column_stack(columns).astype(np.float64), labels, clamp, levels)
        return [
            {
                "row": int(number),
                "community": k + 1,
                "probability": float(p),
                "richness": int(there.sum()),
                "species": "; ".join(name for name, label in zip(model.species, there) if label),
            }
            for number, own in zip(row, found)
            if own is not None
            for k, (there, p) in enumerate(zip(own.labels, own.probability))
        ]


TASK = CommunityTask
