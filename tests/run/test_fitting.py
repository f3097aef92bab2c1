"""One species: the numbers of a fit are those of their definitions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sdm.assess.measures.basic import auc
from sdm.data.table import SampleTable
from sdm.errors import DataError
from sdm.kinds.species.fit import MeasuredSpecies, fit_species, measure_species
from sdm.kinds.species.inputs import SpeciesPrepared, prepare_species
from sdm.kinds.species.words import species_info_lines
from sdm.maps.single import threshold_on_scale
from sdm.options.definitions import RunOptions
from sdm.options.reading import make_options
from sdm.simulate.world import simulate


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> SampleTable:
    folder: Path = tmp_path_factory.mktemp("world")
    made = simulate(folder, size=40, layers=4, records=50, seed=6)
    source = {"occurrences": str(made.occurrences), "layers": str(folder / "layers"), "categorical": "landcover"}
    return next(iter(prepare_species(make_options(source)).tables.values()))


def quick(**more):
    return make_options({"features": "lq", "curves": False}, more)


def fitted_to(table: SampleTable, options: RunOptions) -> MeasuredSpecies:
    prepared = SpeciesPrepared({table.species: table})
    return measure_species(fit_species(prepared, table.species, options), prepared, options)


def test_numbers_by_their_definitions(table: SampleTable) -> None:
    fitted = fitted_to(table, quick())
    n, model = fitted.numbers, fitted.fit.model
    domain = np.vstack([table.background, table.presence])
    raw, raw_domain = model.predict(table.presence, "raw"), model.predict(domain, "raw")
    assert raw_domain.sum() == pytest.approx(1, abs=1e-6)
    assert n["background_points"] == len(domain)
    assert n["log_loss_train"] == pytest.approx(-np.log(raw).mean())
    assert n["entropy"] == pytest.approx(-np.sum(raw_domain * np.log(raw_domain)), abs=1e-6)
    assert n["auc_train"] == pytest.approx(auc(raw, raw_domain))
    assert n["mean_cloglog"] == pytest.approx(model.predict(domain, "cloglog").mean(), abs=1e-6)
    # at an exact optimum the regularised loss equals the entropy
    assert n["regularized_gain"] == pytest.approx(np.log(len(domain)) - n["entropy"], abs=2e-6)
    assert model.meta["species"] == table.species
    assert model.meta["thresholds"]["mtp"] == pytest.approx(raw.min())


def test_a_temperature_is_noted_where_numbers_of_the_fit_are(table: SampleTable) -> None:
    """The regularised gain is of the model before its scores are divided; the gain beside it is of the map."""
    plain, scaled = fitted_to(table, quick()), fitted_to(table, quick(temperature=0.5))
    assert scaled.numbers["regularized_gain"] == plain.numbers["regularized_gain"]
    assert scaled.numbers["gain"] != pytest.approx(plain.numbers["gain"], abs=0.01)
    (note,) = set(scaled.notes) - set(plain.notes)
    assert note.startswith("scores are divided by the temperature 0.5")
    assert any(note in line for line in species_info_lines(scaled.fit.model, 5))
    assert not any("temperature" in line for line in species_info_lines(plain.fit.model, 0)[:8])


def test_records_set_aside_are_neither_lost_nor_used_twice(table: SampleTable) -> None:
    fitted = fitted_to(table, quick(test_percent=30))
    assert fitted.fit.test is not None
    assert len(fitted.fit.test) == 15
    both = np.vstack([fitted.fit.table.presence, fitted.fit.test])
    np.testing.assert_array_equal(both[np.lexsort(both.T)], table.presence[np.lexsort(table.presence.T)])
    raw = fitted.fit.model.predict(fitted.fit.test, "raw")
    assert fitted.numbers["log_loss_test"] == pytest.approx(-np.log(raw).mean())
    assert fitted.numbers["test_gain"] == pytest.approx(
        np.log(fitted.numbers["background_points"]) - fitted.numbers["log_loss_test"]
    )


def test_seeds_decide_which_records_are_set_aside(table: SampleTable) -> None:
    one, same, other = (fitted_to(table, quick(test_percent=30, seed=seed)).fit.test for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_folds_test_every_record_once(table: SampleTable) -> None:
    found = fitted_to(table, quick(folds=7)).numbers["cross_validation"]["rows"]
    assert sum(row["test_presences"] for row in found) == table.n_presences
    assert {row["training_presences"] + row["test_presences"] for row in found} == {table.n_presences}
    few = replace(table, **{name: getattr(table, name)[:5] for name in ("presence", "presence_x", "presence_y")})
    assert len(fitted_to(few, quick(folds=20)).numbers["cross_validation"]["rows"]) == 5, "leave one out at most"


@pytest.mark.parametrize("key", ["mtp", "10p", "maxsss", "equal"])
def test_a_threshold_is_on_the_scale_of_the_map(table: SampleTable, key: str) -> None:
    for scale in ("raw", "cloglog", "logistic", "cumulative"):
        options = quick(threshold=key, scale=scale)
        fitted = fitted_to(table, options)
        level = threshold_on_scale(fitted.fit.model, key, scale)
        predicted = fitted.fit.model.predict(table.presence, scale)
        expected = fitted.numbers["thresholds"][key]["training_omission"]
        assert np.mean(predicted < level) == pytest.approx(expected)


def test_one_presence_is_not_enough(table: SampleTable) -> None:
    one = replace(table, **{name: getattr(table, name)[:1] for name in ("presence", "presence_x", "presence_y")})
    with pytest.raises(DataError, match="expected at least 2"):
        fitted_to(one, quick())


def test_weights_of_the_background_are_used(table: SampleTable) -> None:
    weights = np.where(table.background[:, 0] > np.median(table.background[:, 0]), 3.0, 1.0)
    plain, weighted = fitted_to(table, quick()), fitted_to(replace(table, weights=weights), quick())
    assert plain.numbers["entropy"] != weighted.numbers["entropy"]
    assert weighted.numbers["status"] == "converged"
