"""Tables with several labels per row, as proportions, and linear models of them by L-BFGS (Blondel et al. 2020, §9.1).

The loss and its gradient are those of `sdm.maxent.entropy`; the optimiser and the objective, a sum of losses plus
λ/2 ‖W‖², are those of the paper, so that λ means what it means there.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from sdm.maxent.entropy import ClassEntropy
from sdm.types import Array

Table = tuple[Array, Array]  # values, and proportions of labels


def community_table(folder: Path) -> Table:
    """Return environment and species of survey sites."""
    x, y = (pd.read_csv(folder / f"{name}.csv").drop(columns="site") for name in ("env", "presence_absence"))
    return prepared(x.to_numpy(dtype=float), y.to_numpy(dtype=float))


def digits_table() -> Table:
    """Return the handwritten digits that come with scikit-learn: one label each, as in the data set Scene."""
    from sklearn.datasets import load_digits

    found = load_digits()
    return prepared(found.data, np.eye(10)[found.target])


def document_table(classes: int, words: int, n: int, seed: int) -> Table:
    """Return generated documents with about two labels and so many words each, by scikit-learn's generator."""
    from sklearn.datasets import make_multilabel_classification

    x, y = make_multilabel_classification(
        n, n_features=100, n_classes=classes, n_labels=2, length=words, allow_unlabeled=False, random_state=seed
    )
    return prepared(x, y.astype(float))


def prepared(x: Array, y: Array) -> Table:
    """Return values with mean 0 and variance 1, and labels with the sum 1; rows without a label are left out."""
    x, y = x[y.sum(axis=1) > 0], y[y.sum(axis=1) > 0]
    x = x[:, x.std(axis=0) > 0]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.hstack([x, np.ones((len(x), 1))]), y / y.sum(axis=1, keepdims=True)


def fit_linear(x: Array, y: Array, alpha: float, penalty: float, start: Array | None = None) -> Array:
    """Return the weights (classes, features) of least total loss and penalty."""
    entropy, target, shape = ClassEntropy(alpha), np.ascontiguousarray(y.T), (y.shape[1], x.shape[1])

    def value(flat: Array) -> tuple[float, Array]:
        w = flat.reshape(shape)
        theta = w @ x.T
        p, conjugate = entropy.distributions(theta)
        loss = float(conjugate.sum() - np.sum(theta * target) + 0.5 * penalty * np.sum(w**2))
        return loss, ((p - target) @ x + penalty * w).ravel()

    first = np.zeros(shape) if start is None else start
    found = minimize(value, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 100, "gtol": 1e-4})
    return np.asarray(found.x).reshape(shape)


def tuned(
    parts: tuple[Table, Table, Table],
    alphas: tuple[float, ...],
    penalties: tuple[float, ...],
    loss: Callable[..., float],
) -> dict[float, tuple[float, float, Array]]:
    """For each α choose the penalty by the loss on the second part; return it, that loss, and the prediction for the
    third part."""
    (x, y), (x_dev, y_dev), (x_test, _) = parts
    out = {}
    for alpha in alphas:
        entropy, start, best = ClassEntropy(alpha), None, (np.inf, 0.0, np.empty(0))
        for penalty in sorted(penalties, reverse=True):
            start = fit_linear(x, y, alpha, penalty, start)
            found = loss(entropy.distributions(start @ x_dev.T)[0].T, y_dev)
            if found < best[0]:
                best = found, penalty, entropy.distributions(start @ x_test.T)[0].T
        out[alpha] = best[1], best[0], best[2]
    return out
