"""Visits grouped by site: those with its name, or with its coordinates."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Names of columns, without case, spaces and punctuation; the first that a file has wins.
SITE = (
    *("site", "siteid", "sitename", "plot", "plotid", "plotname", "station", "stationid", "sample", "sampleid", "id"),
    *("transect", "transectid", "quadrat", "locality", "row", "rowid", "rowname", "column1"),
)


def site_groups(*keys: ArrayLike) -> NDArray[np.int64]:
    """Number the sites of visits, in their order: visits that agree in any key, directly or through others, are of one.
    A key is names (n,) or coordinates (n, k); a visit without a name, or without coordinates, agrees with none in them.
    """
    columns = [_codes(np.asarray(key)) for key in keys]
    group = np.arange(columns[0].size)
    while True:
        before = group
        for code in columns:
            least = np.full(code.max(initial=0) + 1, group.size)
            np.minimum.at(least, code, group)
            group = np.minimum(group, least[code])
        if np.array_equal(group, before):
            return np.unique(group, return_inverse=True)[1].ravel()


def _codes(key: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return equal numbers for equal rows; those without a value get numbers of their own."""
    known = key != "" if key.dtype.kind in "OUS" else np.isfinite(key.astype(np.float64))
    known = known if known.ndim == 1 else known.all(axis=1)
    out = np.arange(known.size)
    if known.any():
        out[known] = np.unique(key[known], axis=0 if key.ndim > 1 else None, return_inverse=True)[1].ravel()
        out[~known] += int(out[known].max()) + 1
    return out
