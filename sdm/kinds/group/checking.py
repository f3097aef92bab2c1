"""What runs over species on shared axes cannot do, said before any work."""

from collections.abc import Collection

from sdm.errors import OptionError
from sdm.options.definitions import RunOptions

SHARED, ENSEMBLE = "shared", "ensemble"


def refuse_tuning(options: RunOptions) -> None:
    """Raise if the settings of species that are fitted together are to be chosen for each by itself."""
    if options.fit.shares_axes:
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
