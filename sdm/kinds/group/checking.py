"""What runs over species on shared axes cannot do, said before any work."""

from collections.abc import Collection
from pathlib import Path

from sdm.errors import DataError, OptionError
from sdm.kinds.choosing import chooses
from sdm.options.definitions import RunOptions

SHARED, ENSEMBLE = "shared", "ensemble"
_OF_AXES = ("features", "knots", "strength", "own")  # options that the group of a file has decided


def shares_axes(options: RunOptions) -> bool:
    """Whether the models of a run are on shared axes."""
    return options.fit.model in (SHARED, ENSEMBLE)


def check_axes(options: RunOptions) -> None:
    """Raise for options that models on shared axes cannot have."""
    if not shares_axes(options):
        return
    if options.test.jackknife or options.test.null_models:
        raise OptionError(
            "the jackknife and null models fit one species again and again, and axes are of a whole group: leave them "
            "out, or use --model committee"
        )
    if chooses(options):
        raise OptionError(
            "variables are chosen for each species by itself, and species on shared axes have the same variables: "
            "choose them with 'sdm variables' and name them with --variables, or use --model committee"
        )
    if options.fit.axes is None:
        return
    if not Path(options.fit.axes).is_file():
        raise DataError(f"file '{options.fit.axes}' does not exist: check the path (--axes)")
    for name in _OF_AXES:
        if getattr(options.fit, name) != type(options.fit).model_fields[name].get_default():
            raise OptionError(f"fit.{name} is that of the group whose axes were given (--axes): leave it out")


def refuse_tuning(options: RunOptions) -> None:
    """Raise if the settings of species that are fitted together are to be chosen for each by itself."""
    if shares_axes(options):
        raise OptionError(
            f"a {options.fit.model} model is not tuned species by species, for its axes are of a whole group: "
            "--strength auto, the default of 'sdm fit', chooses the strength; or use --model maxent"
        )


def check_several(species: Collection[str]) -> None:
    """Raise unless there are several species to share axes."""
    if len(species) < 2:
        raise OptionError(
            f"shared axes need several species, and there {'is one' if species else 'is none'} with enough records: "
            "use --model maxent or committee, or place the species on the axes of a group with --axes group.npz"
        )


def random_share(options: RunOptions, place: bool) -> float:
    """Return the part of the base measure that is on random cells; features of place learn where sites are, so that
    they have fewer."""
    given = options.background.random_share
    return given if given is not None else 0.03 if place else 0.1
