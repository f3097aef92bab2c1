"""Measures of predictions against labels, with the argument order of scikit-learn: labels, then predictions."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sdm.assess.measures.basic import Aicc, boyce, density_aicc, omission_rate, partial_roc_ratio
from sdm.errors import MismatchError, OptionError
from sdm.estimators.params import read_presences
from sdm.types import Array


def boyce_index(
    y_true: ArrayLike,
    y_score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    width: float | None = None,
    windows: int = 101,
) -> float:
    """Return the continuous Boyce index (Hirzel et al. 2006), the rank correlation of predictions and density of
    presences.

    Parameters
    ----------
    y_true : (n,) array
        1 for presences and 0 for background.
    y_score : (n,) array
        Predictions, on the scale of the map (cloglog): the index depends on it.
    sample_weight : (n,) array, optional
        Weights of the rows; only weights of background rows are used.
    width : float, optional
        Width of the moving window, in units of the predictions; by default a tenth of the background's range.
    windows : int
        Number of windows.

    Returns
    -------
    float
        From −1 (reversed) through 0 (random) to 1; NaN where the ratio is constant.

    Raises
    ------
    DataError
        If there are no presences or no background, or the lengths of the arrays differ.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import boyce_index
    >>> background = np.linspace(0, 1, 200)
    >>> y, p = np.repeat([1, 0], [50, 200]), np.concatenate([np.sqrt(np.linspace(0, 1, 50)), background])
    >>> round(boyce_index(y, p), 2)
    0.97
    """
    presence, background, weight = _divided(y_true, y_score, sample_weight)
    return float(boyce(presence, background, weights=weight, width=width, windows=windows).index)


def partial_roc(y_true: ArrayLike, y_score: ArrayLike, *, omitted: float = 0.05) -> float:
    """Return the partial area under the ROC curve, divided by its value for a random prediction (Peterson et al. 2008).

    Parameters
    ----------
    y_true : (n,) array
        1 for presences and 0 for background.
    y_score : (n,) array
        Predictions, on any scale that keeps their order.
    omitted : float
        Largest share of presences that a threshold may omit to be part of the curve, such as 0.05.

    Returns
    -------
    float
        0 to 2, where 1 is a random prediction; NaN if all background is on one side of the last threshold.

    Raises
    ------
    OptionError
        If `omitted` is not between 0 and 1.
    DataError
        If there are no presences or no background, or the lengths of the arrays differ.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import partial_roc
    >>> y, p = np.repeat([1, 0], [20, 100]), np.concatenate([np.linspace(0.5, 1, 20), np.linspace(0, 1, 100)])
    >>> round(partial_roc(y, p), 2)
    1.36
    """
    if not 0 <= omitted <= 1:
        raise OptionError(f"omitted={omitted!r}: expected a share from 0 to 1, such as 0.05")
    presence, background, _ = _divided(y_true, y_score)
    return partial_roc_ratio(presence, background, omitted)


def omission(y_true: ArrayLike, y_score: ArrayLike, *, cutoff: float) -> float:
    """Return the omission rate: the share of presences below a threshold.

    Parameters
    ----------
    y_true : (n,) array
        1 for presences and 0 for background, which is not used.
    y_score : (n,) array
        Predictions, on the scale of the threshold.
    cutoff : float
        The threshold: presences with a smaller prediction are omitted.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    DataError
        If there are no presences or no background, or the lengths of the arrays differ.

    Examples
    --------
    >>> from sdm import omission
    >>> omission([1, 1, 1, 1, 0], [0.2, 0.5, 0.7, 0.9, 0.1], cutoff=0.5)
    0.25
    """
    presence, _, _ = _divided(y_true, y_score)
    return omission_rate(presence, float(cutoff))


def aicc(y_true: ArrayLike, y_raw: ArrayLike, coefficients: int) -> Aicc:
    """Return Akaike's criterion for small samples (Warren and Seifert 2011); the model with the lowest value is
    preferred.

    It is ``2k − 2 ln L + 2k(k + 1)/(m − k − 1)`` for `m` presences and `k` coefficients. `L` is the product of the raw
    values at the presences, scaled to sum to one over the background. It is undefined from ``k = m − 1`` on.

    Parameters
    ----------
    y_true : (n,) array
        1 for presences and 0 for background.
    y_raw : (n,) array
        Predictions on the raw scale (a density): ``model.predict(X, scale="raw")``.
    coefficients : int
        Number of features with a nonzero weight: ``np.count_nonzero(model.coef_)``.

    Returns
    -------
    Aicc
        `.value` is in nats times two. If it is undefined, `.value` is NaN and `.reason` has the cause.

    Raises
    ------
    DataError
        If there are no presences or no background, or the lengths of the arrays differ.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import aicc
    >>> y, raw = np.repeat([1, 0], [10, 40]), np.full(50, 1 / 40)
    >>> round(aicc(y, raw, 2).value, 1), aicc(y, raw, 9).reason
    (79.5, '9 coefficients for 10 presences: AICc needs at least two presences more than coefficients')
    """
    presence, background, _ = _divided(y_true, y_raw)
    return density_aicc(presence, background, int(coefficients))


def _divided(y_true: Any, y_score: Any, weight: Any = None) -> tuple[Array, Array, Array | None]:
    """Return the predictions at presences and at background, and the weights of the background."""
    score = np.asarray(y_score, dtype=np.float64)
    if score.ndim != 1 or not np.all(np.isfinite(score)):
        raise MismatchError(f"predictions have shape {score.shape}, expected one number per row, none of them missing")
    _, present = read_presences(y_true, score.size)
    if weight is None:
        return score[present], score[~present], None
    weights = np.asarray(weight, dtype=np.float64)
    if weights.shape != score.shape:
        raise MismatchError(f"sample_weight has shape {weights.shape}, expected one for each of {score.size:,} rows")
    return score[present], score[~present], weights[~present]
