"""Classes that came as text: one code for each in all tables of a group, and in a group of a file."""

from collections.abc import Mapping

from sdm.data.table import SampleTable
from sdm.errors import DataError
from sdm.models.group import GroupModel


def same_codes(tables: Mapping[str, SampleTable]) -> dict[str, SampleTable]:
    """Return tables whose classes that came as text have the same codes in all of them."""
    words: dict[str, set[str]] = {}
    for one in tables.values():
        for name, levels in one.levels.items():
            words.setdefault(name, set()).update(levels)
    common = {name: sorted(some) for name, some in words.items()}
    return {species: one.recode(common) for species, one in tables.items()}


def codes_of_group(table: SampleTable, group: GroupModel) -> SampleTable:
    """Return a table whose classes that came as text have the codes of a group; new classes come after its own."""
    labels = group.encoder.labels
    for name in group.categorical:
        if (name in labels) != (name in table.levels):
            here, there = ("text", "numbers") if name in table.levels else ("numbers", "text")
            raise DataError(
                f"the classes of '{name}' are {here} here and {there} in the group: give them as it has them"
            )
    new = {name: [word for word in table.levels[name] if word not in known] for name, known in labels.items()}
    return table.recode({name: [*known, *new[name]] for name, known in labels.items()})
