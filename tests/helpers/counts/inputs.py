"""Counts at sites, with the values of the layers there."""

import pandas as pd

from sdm.data.records.occurrences import read_occurrences
from sdm.kinds.inputs import open_layers, values_at
from sdm.kinds.task import Prepared
from sdm.options.definitions import RunOptions


def read_counts(options: RunOptions) -> Prepared:
    stack = open_layers(options)
    records = read_occurrences(str(options.occurrences.file), columns=["count"])
    notices: list[str] = []
    values, index = values_at(stack, records, "sites", notices)
    table = pd.DataFrame(values, columns=list(stack.names)).assign(count=records.numbers("count")[index])
    return Prepared(dict(tuple(table.groupby(records.species[index]))), stack=stack, notices=notices)
