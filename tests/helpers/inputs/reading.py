"""What a command reads, without the run: its options, and the tables that `prepare` makes of its files."""

from typing import Any

import numpy as np
import pytest

from sdm.errors import DataError, SdmError
from sdm.kinds.registry import task_of
from sdm.options.definitions import RunOptions
from sdm.options.reading import WHERE, leaves
from sdm.run.projecting.projection import open_for_run
from sdm_cli.options import from_words


def options_of(*words: Any, **chosen: Any) -> RunOptions:
    """Return the options of the words that stand after `sdm fit`, and of some that a command has `chosen`."""
    known = {leaf.dotted: leaf for leaf in leaves()}
    rest, places, typed = [str(word) for word in words], [], dict[str, Any]()
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            places.append(word)
            continue
        name = "output" if word == "-o" else word.removeprefix("--").replace("-", "_")
        off = name.startswith("no_") and name not in WHERE
        leaf = known[WHERE[name.removeprefix("no_") if off else name]]
        if leaf.flag:
            typed[leaf.dotted] = not off
        elif leaf.multiple:
            typed[leaf.dotted] = [*typed.get(leaf.dotted, []), rest.pop(0)]
        else:
            typed[leaf.dotted] = rest.pop(0)
    return from_words(places, {**typed, **chosen})


def inputs_of(*words: Any, **chosen: Any) -> Any:
    """Return the inputs of a run, as its task prepares them: tables, layers, notices, warnings, the fate of rows."""
    options = options_of(*words, **chosen)
    task = task_of(options)
    task.check_options(options)
    return task.prepare(options)


def table_of(*words: Any, **chosen: Any) -> Any:
    """Return the only table of a run."""
    (table,) = inputs_of(*words, **chosen).tables.values()
    return table


def scenarios_of(*words: Any) -> dict[str, Any]:
    """Return the layers of every scenario of a run by its title, with the variables of its models."""
    options = options_of(*words)
    prepared = task_of(options).prepare(options)
    opened = open_for_run(options, *task_of(options).variables(prepared), prepared.notices)
    assert opened is not None
    return {scenario.title: scenario.stack for scenario in opened.scenarios}


def plans_of(*words: Any, **chosen: Any) -> list[Any]:
    """Return the plan of every model of a run: what trains, what tests, and the folds."""
    options, prepared = options_of(*words, **chosen), inputs_of(*words, **chosen)
    for reason in prepared.failures.values():
        raise DataError(reason)
    return [task_of(options).plan(prepared, name, options) for name in prepared.tables]


def refusal(error: type[SdmError], *words: Any, **chosen: Any) -> str:
    """Return the sentence of the error with which a run is refused before anything is fitted."""
    with pytest.raises(error) as refused:
        plans_of(*words, **chosen)
    said = str(refused.value)
    assert "\n" not in said
    return said


def same_tables(one: Any, two: Any, tolerance: float = 0.0) -> None:
    """Compare two tables of presences and background, which then have the same model; coordinates may differ."""
    assert (one.species, one.names, one.categorical) == (two.species, two.names, two.categorical)
    assert (one.levels, one.titles, one.sampling) == (two.levels, two.titles, two.sampling)
    for name in ("presence", "background", "weights", "presence_weights", "presence_base", "folds"):
        a, b = getattr(one, name), getattr(two, name)
        assert (a is None) == (b is None), name
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=name)
