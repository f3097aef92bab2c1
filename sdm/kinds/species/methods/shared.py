"""`fit.model=shared`: one fit for all species of a run, with responses along shared environmental axes."""

import inspect
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, cast

from sdm.data.place import has_place
from sdm.errors import ConflictError, InapplicableError, MissingFileError, SdmError, VariableError
from sdm.estimators.maxent import Maxent
from sdm.estimators.on_axes import OnAxes
from sdm.estimators.shared import SharedMaxent
from sdm.estimators.species import SpeciesEstimator
from sdm.kinds.inputs import check_region
from sdm.kinds.species.fit import plan_species
from sdm.kinds.species.inputs import SpeciesPrepared, arrange
from sdm.kinds.species.methods.axes import GroupFits, codes_of_group, fit_axes, read_axes, same_codes
from sdm.kinds.species.methods.method import SpeciesMethod, method_of
from sdm.options.definitions import RunOptions
from sdm.options.fitting import FitOptions
from sdm.types import Progress


class SharedMethod(SpeciesMethod):
    """Species on the axes of their group."""

    name: ClassVar[str] = "shared"
    estimator_class: ClassVar[type[SpeciesEstimator]] = Maxent  # features of models of one variable
    strength: ClassVar[str | float] = "auto"  # default penalty on axes
    environment: ClassVar[bool] = False  # whether axes of the environment alone are added to spatial ones

    def takes(self) -> set[str]:
        """Return the names of the options that apply, as in the estimator of a group."""
        return {*inspect.signature(SharedMaxent).parameters, "axes", "spatial", "add_presences"}

    def check(self, fit: FitOptions) -> None:
        """Raise for options of the model that do not apply, and for a missing file of axes."""
        super().check(fit)
        if fit.axes is not None and not Path(fit.axes).is_file():
            raise MissingFileError(f"file '{fit.axes}' (--axes) does not exist: check the path")

    def check_tuning(self) -> None:
        """Refuse to select settings by species for species that are fitted together."""
        raise InapplicableError(
            f"a {self.name} model has the axes of a group, and is not tuned per species: use --strength auto with 'sdm "
            "fit', or --model maxent"
        )

    def check_alone(self, options: RunOptions, species: Collection[str]) -> None:
        """Raise if there are too few species to share axes."""
        if len(species) < 2:
            raise ConflictError(
                f"shared axes need two species with enough records, and there {'is one' if species else 'is none'}: "
                "use --model maxent or committee, or the axes of a group with --axes group.npz"
            )

    def estimator(
        self, options: RunOptions, categorical: Sequence[str], placed: Sequence[OnAxes] = ()
    ) -> SpeciesEstimator:
        """Return the species on its axes; without a group the estimator of one species."""
        return placed[0] if placed else super().estimator(options, categorical)


def gather_axes(prepared: SpeciesPrepared, options: RunOptions, progress: Progress | None) -> SpeciesPrepared:
    """Return the inputs with the axes of all species: fitted to them, or from an earlier run."""
    if options.fit.axes is not None:
        return place_all(prepared, options.fit.axes)
    prepared = replace(prepared, tables=same_codes(prepared.tables))
    plans = {}
    for name in prepared.tables:
        with suppress(SdmError):  # fails separately, with its reason
            plans[name] = plan_species(prepared, name, options)
    check_gathered(prepared, list(plans), options)
    if len(plans) < 2:
        notice = "one species has no group for shared axes: its model is the committee alone"
        return replace(prepared, notices=[*prepared.notices, notice])
    stack, method = prepared.stack, cast(SharedMethod, method_of(options))
    degrees, spatial = stack is None or stack.crs is None or stack.crs.is_geographic, options.fit.spatial
    # An ensemble with spatial features has additional axes of the environment alone.
    places = (True, False) if method.environment and spatial else (spatial,)
    group, *others = (
        fit_axes(plans, options, method.strength, place, prepared.around, degrees, progress) for place in places
    )
    group = replace(group, environment=others[0]) if others else group
    return replace(prepared, group=group)


def check_gathered(prepared: SpeciesPrepared, names: Sequence[str], options: RunOptions) -> None:
    """Raise if the species (`names`) have no axes to share."""
    if options.fit.axes is not None:
        place_all(prepared, options.fit.axes)
    else:
        cast(SharedMethod, method_of(options)).check_alone(options, names)


def place_all(prepared: SpeciesPrepared, axes: str) -> SpeciesPrepared:
    """Return the inputs with the axes of a file, and every species with their variables."""
    prepared = replace(prepared, group=read_axes(axes))
    for name in prepared.tables:
        prepared = _on_axes(prepared, name)
    return prepared


def _on_axes(prepared: SpeciesPrepared, name: str) -> SpeciesPrepared:
    """Return the inputs with the variables of a group, for one species."""
    group = cast(GroupFits, prepared.group).model
    names, needed = prepared.tables[name].names, group.names
    if has_place(names) != has_place(needed):
        hint = "add --spatial" if has_place(needed) else "remove --spatial"
        raise ConflictError(f"the axes of the group have {'' if has_place(needed) else 'no '}spatial features: {hint}")
    if prepared.stack is not None:
        check_region(group, prepared.stack, prepared.area_of(name))
    if missing := [one for one in needed if one not in names]:
        raise VariableError(f"the layers lack variables of the group's axes: {', '.join(missing)}")
    if tuple(names) != tuple(needed):
        prepared = arrange(prepared, name, needed)
    table = codes_of_group(prepared.tables[name], group)
    return replace(prepared, tables={**prepared.tables, name: table})


METHOD = SharedMethod()
