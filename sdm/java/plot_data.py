"""The numbers behind response curves as Java Maxent writes them: `plots/<species>_<variable>.dat` and `_only.dat`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sdm.kinds.task import ModelResult
from sdm.report.results import column, read_rows, rows_by
from sdm.report.tables import table_text
from sdm.storage.files import safe_name, write_text
from sdm.types import Array

_ENDINGS = {"marginal": "", "only": "_only"}
_POINTS = 1001  # of curves over replicates, as in Java Maxent
Curve = tuple[Array, Array, bool]  # values, responses, and whether the values are categories


def read_curves(result: ModelResult) -> dict[tuple[str, str], Curve]:
    """Return the response curves of a model by variable and the ending of their file; none if they were not drawn."""
    if result.folder is None or "curves" not in result.files:
        return {}
    found: dict[tuple[str, str], Curve] = {}
    for variable, rows in rows_by(read_rows(result.folder / str(result.files["curves"])), "variable").items():
        for kind, own in rows_by(rows, "kind").items():
            if kind in _ENDINGS:
                x, y = (np.array(column(own, name)) for name in ("value", "response"))
                found[variable, _ENDINGS[kind]] = (x, y, any(row.get("class") for row in own))
    return found


def write_plot_data(curves: dict[tuple[str, str], Curve], folder: Path, base: str) -> None:
    """Write every curve as a table of variable, x and y."""
    for (variable, ending), (x, y, _) in curves.items():
        rows = [{"variable": variable, "x": one, "y": other} for one, other in zip(x.tolist(), y.tolist())]
        (folder / "plots").mkdir(exist_ok=True)
        place = folder / "plots" / f"{base}_{safe_name(variable)}{ending}.dat"
        write_text(place, table_text(rows), overwrite=True)


def average_curves(replicates: Sequence[dict[tuple[str, str], Curve]]) -> dict[tuple[str, str], Curve]:
    """Return the mean of the curves of replicates: over all their values; a category over those that know it."""
    out: dict[tuple[str, str], Curve] = {}
    for key in dict.fromkeys(key for one in replicates for key in one):
        own = [one[key] for one in replicates if key in one]
        if own[0][2]:
            codes = np.unique(np.concatenate([x for x, _, _ in own]))
            mean = np.array([np.mean([y[x == code][0] for x, y, _ in own if (x == code).any()]) for code in codes])
            out[key] = (codes, mean, True)
        else:
            places = np.linspace(min(x[0] for x, _, _ in own), max(x[-1] for x, _, _ in own), _POINTS)
            out[key] = (places, np.mean([np.interp(places, x, y) for x, y, _ in own], axis=0), False)
    return out
