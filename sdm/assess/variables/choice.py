"""The variables of a model: selected ones, dropped ones, and the reasons."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdm.assess.variables.correlation import Collinearity, inflation_factors
from sdm.assess.variables.reduction import ReductionStep
from sdm.assess.variables.selection import Dropped
from sdm.types import Numbers, Row

LISTED = 12  # variables that a note lists


@dataclass(frozen=True)
class VariableChoice:
    """The selected variables of one model, and the reasons for dropping the others."""

    names: tuple[str, ...]  # all, in the order of the layers
    dropped: tuple[Dropped, ...]
    collinearity: Collinearity
    noun: str  # observations of the correlations: background points, or sites
    gains: dict[str, float] = field(default_factory=dict)  # gains of single variables, where they were computed
    steps: tuple[ReductionStep, ...] = ()
    table: Any = None  # the data of the choice: the training part, with all variables

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the variables of the model."""
        gone = {one.variable for one in self.dropped}
        return tuple(name for name in self.names if name not in gone)

    def dropped_by(self, by: str) -> list[Dropped]:
        """Return the variables dropped for one reason."""
        return [one for one in self.dropped if one.by == by]

    def numbers(self) -> Numbers:
        """Return the choice for the results; infinite and missing numbers become null in the file."""
        rows = [
            {
                "variable": one.variable,
                "by": one.by,
                "value": one.value,
                "reason": one.reason,
                **({"kept_instead": one.other} if one.other else {}),
            }
            for one in self.dropped
        ]
        return {
            "candidates": len(self.names),
            "kept": list(self.kept),
            "dropped": rows,
            "constant": list(self.collinearity.constant),
            "points": self.collinearity.n,
            "over": self.noun,
            "gains": self.gains,
            **({"steps": self.step_rows()} if self.steps else {}),
        }

    def step_rows(self) -> list[Row]:
        """Return one row per step of the reduction."""
        return [step.row() for step in self.steps]

    @property
    def selected_factors(self) -> dict[str, float]:
        """Return the variance inflation factors among the selected variables."""
        selected = [k for k, name in enumerate(self.collinearity.names) if name in self.kept]
        factors = inflation_factors(self.collinearity.pearson[np.ix_(selected, selected)])
        return dict(zip((self.collinearity.names[k] for k in selected), factors.tolist()))

    def rows(self) -> list[Row]:
        """Return one row per variable."""
        gone = {one.variable: one for one in self.dropped}
        factors = dict(zip(self.collinearity.names, self.collinearity.vif.tolist()))
        among = self.selected_factors
        rows = []
        for name in self.names:
            other, r = self.closest(name)
            rows.append(
                {
                    "variable": name,
                    "kept": name not in gone,
                    "dropped by": gone[name].by if name in gone else "",
                    "reason": gone[name].reason if name in gone else self.remark(name),
                    "VIF among all": factors.get(name, ""),
                    "VIF among kept": among.get(name, ""),
                    "single gain": self.gains.get(name, ""),
                    "most correlated with": other,
                    "r": r,
                }
            )
        return rows

    def closest(self, name: str) -> tuple[str, float | str]:
        """Return the variable with the largest |r| and its correlation; empty if the variable is not in the
        correlations."""
        if name not in self.collinearity.names or len(self.collinearity.names) < 2:
            return "", ""
        k = self.collinearity.names.index(name)
        others = np.abs(self.collinearity.pearson[k])
        others[k] = -1.0
        best = int(np.argmax(others))
        return self.collinearity.names[best], float(self.collinearity.pearson[k, best])

    def remark(self, name: str) -> str:
        """Return the reason why a variable is not part of the correlations."""
        if name in self.collinearity.categorical:
            return "categories take no part"
        return "one value" if name in self.collinearity.constant else ""


def listed_drops(dropped: list[Dropped]) -> str:
    """Return the dropped variables and reasons as text, at most `LISTED` of them."""
    text = ", ".join(f"{one.variable} ({one.reason})" for one in dropped[:LISTED])
    return text + (f" and {len(dropped) - LISTED} more" if len(dropped) > LISTED else "")
