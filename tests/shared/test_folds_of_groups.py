"""Axes of a group for a fold: fitted to the records that every species has for training in it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sdm.assess.splits.methods import random_folds
from sdm.kinds.species.methods import axes
from sdm.options.reading import make_options


class Rows:
    """A table of records that are numbers."""

    def __init__(self, rows: Any) -> None:
        self.rows = list(rows)

    def take(self, rows: Any) -> "Rows":
        return Rows(self.rows[k] for k in rows)


def test_axes_for_a_fold_never_see_the_records_that_it_holds_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    def fit(estimator: Any, rows: dict[str, list[int]], *_: Any) -> Any:
        fits.append((estimator, rows))
        return SimpleNamespace(strength=0.25, rows=rows)

    monkeypatch.setattr(axes, "_fit", fit)
    monkeypatch.setattr(axes, "_estimator", lambda options, strength: strength)
    read = staticmethod(lambda tables, *_: {name: table.rows for name, table in tables.items()})
    monkeypatch.setattr(axes._Rows, "of", read)
    splits = {"oak": random_folds(12, 3), "ash": random_folds(8, 2), "elm": None}
    plans: Any = {
        name: SimpleNamespace(table=Rows(range(n)), split=splits[name])
        for name, n in (("oak", 12), ("ash", 8), ("elm", 5))
    }
    options = make_options({"occurrences": "a.csv", "layers": "b", "model": "shared"})
    result: Any = axes.fit_axes(plans, options, "auto", False, None, True, None)
    assert result.model.rows == {"oak": list(range(12)), "ash": list(range(8)), "elm": list(range(5))}
    assert [strength for strength, _ in fits] == ["auto", 0.25, 0.25, 0.25], "chosen once, with all records"
    for name, group in result.without.items():
        for species, n in (("oak", 12), ("ash", 8)):
            fold = next((fold for fold in splits[species].folds if fold.name == name), None)
            expected = range(n) if fold is None else np.setdiff1d(range(n), fold.test)
            assert group.rows[species] == list(expected)
        assert group.rows["elm"] == list(range(5))
    assert len(result.without) == 3
