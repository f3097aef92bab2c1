"""A model of one variable, from its distinct values: the same model as from every single background point."""

import numpy as np
import pytest

from sdm import Maxent, StructMaxent
from sdm.assess.fits import fit_table
from sdm.data.table import SampleTable
from sdm.errors import DataError

SETTINGS = [
    {"features": "lqht", "knots": "all"},
    {"features": "lqh"},
    {"features": "lqh", "knots": "maxnet"},
    {"features": "lqht", "knots": 7},
    {"features": "lq", "add_presences": "none"},
    {"features": "lq", "add_presences": "distinct"},
    {"features": "lqh", "entropy": 1.5},
    {"features": "lq", "entropy": "auto"},
    {"features": "lq,relu:20"},
    {"categorical": [0]},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=[" ".join(map(str, one.values())) for one in SETTINGS])
@pytest.mark.parametrize("weighted", ["alike", "by weight", "by base measure"])
def test_distinct_values_give_the_same_model(settings: dict, weighted: str) -> None:
    rng = np.random.default_rng(len(weighted))
    background, presences = np.round(rng.normal(size=1000) * 12), np.round(rng.normal(3, 1, size=60) * 7)
    if "categorical" in settings:
        background, presences = abs(background) % 9, abs(presences) % 9
    x, y = np.concatenate([presences, background])[:, None], np.repeat([1, 0], [60, 1000])
    weight = None if weighted == "alike" else rng.uniform(0.5, 2.0, len(x))
    base = rng.uniform(0.5, 2.0, len(x)) if weighted == "by base measure" else None
    every = Maxent(tolerance=1e-8, **settings).fit(x, y, weight, base_weight=base)
    alone = Maxent(tolerance=1e-8, **settings).fit_alone(x, y, weight, base_weight=base)
    assert alone.domain_.n < 200 < every.domain_.n == alone.domain_.n_base + every.domain_.n - every.domain_.n_base
    assert alone.feature_names_ == every.feature_names_
    assert alone.entropy_ == every.entropy_
    assert alone.solution_.gain == pytest.approx(every.solution_.gain, abs=2e-8)
    assert alone.model_.n_domain == every.model_.n_domain
    values = np.unique(x)[:, None]
    for scale, tolerance in (("cloglog", 1e-3), ("logistic", 1e-3), ("cumulative", 0.1), ("raw", 1e-6)):
        assert alone.predict(values, scale) == pytest.approx(every.predict(values, scale), abs=tolerance), scale


def test_a_column_of_a_table_is_fitted_alone() -> None:
    rng = np.random.default_rng(3)
    background = np.column_stack([np.round(rng.normal(size=800), 1), rng.integers(1, 5, 800)])
    presence = background[rng.choice(800, 50, p=np.exp(background[:, 0]) / np.exp(background[:, 0]).sum())]
    table = SampleTable("sp", ("warmth", "soil"), ("soil",), presence, background, *np.zeros((4, 0)))
    for v in range(2):
        fitted = fit_table(table, Maxent("lqh", tolerance=1e-8), [v])
        rows = np.concatenate([presence[:, v], background[:, v]])
        assert fitted.domain_.n == len(presence) + np.unique(background[:, v]).size
        assert fitted.domain_.n_base == rows.size
        every = Maxent("lqh", tolerance=1e-8, categorical=[0] if v else [])
        every.fit(rows[:, None], np.repeat([1, 0], [len(presence), len(background)]))
        assert fitted.solution_.gain == pytest.approx(every.solution_.gain, abs=2e-8)


def test_other_kinds_are_fitted_to_every_point() -> None:
    rng = np.random.default_rng(4)
    x, y = np.round(rng.normal(size=(300, 1)), 1), np.repeat([1, 0], [40, 260])
    alone, every = (StructMaxent("l,trees:1", lam=0.1, beta=0.1) for _ in range(2))
    alone.fit_alone(x, y)
    every.fit(x, y)
    assert alone.domain_.n == every.domain_.n == 300
    assert np.array_equal(alone.predict(x), every.predict(x))


def test_several_variables_are_refused() -> None:
    with pytest.raises(DataError, match="expected the values of one variable"):
        Maxent().fit_alone(np.random.default_rng(1).normal(size=(20, 2)), np.repeat([1, 0], 10))
