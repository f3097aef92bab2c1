"""Tables of a group: every number against a slow, plain computation from the features of the sites."""

from dataclasses import replace

import numpy as np
import pytest
from shared_axes.groups import NAMES, drawn_sites, group

from sdm.assess.axes import axis_profiles, reference_sites, shared_numbers, specific_shares
from sdm.features.growing.monomial import Monomial
from sdm.features.shapes import Shapes
from sdm.features.terms import PRODUCT, Terms
from sdm.kinds.group.tables import (
    axis_curve_rows,
    axis_rows,
    biplot,
    relative_rows,
    site_rows,
    species_axis_rows,
    strength_rows,
)
from sdm.models.group import GroupModel
from sdm.report.charts import Biplot


@pytest.fixture(scope="module")
def sites() -> np.ndarray:
    return drawn_sites()


def features(model: GroupModel, sites: np.ndarray) -> np.ndarray:
    """The features of the sites, centred and scaled, term by term."""
    return (model.terms.evaluate(sites) - model.centre) / model.spread


def test_axes_add_up_and_hold_the_range_of_the_sites(sites: np.ndarray) -> None:
    model = group(sites, rank=3)
    rows = axis_rows(model)
    z = features(model, sites) @ model.axes
    assert [row["axis"] for row in rows] == [1, 2, 3]
    assert rows[1]["cumulative"] == pytest.approx(model.explained[0] + model.explained[1])
    assert rows[-1]["cumulative"] == pytest.approx(1)
    np.testing.assert_allclose([row["lowest"] for row in rows], z.min(axis=0))
    np.testing.assert_allclose([row["highest"] for row in rows], z.max(axis=0))


def test_shares_are_variances_of_the_two_parts_over_the_sites(sites: np.ndarray) -> None:
    model = group(sites, 7, own=True)
    phi, own = features(model, sites), specific_shares(model)
    for s in range(7):
        together = np.var(phi @ (model.axes @ model.places[:, s]))
        apart = np.var(phi @ model.own[:, s])
        assert own[s] == pytest.approx(apart / (together + apart))
    assert 0 < own[0] < 1
    rows = species_axis_rows(model)
    for s, row in enumerate(rows):
        assert row["shared share"] == pytest.approx(1 - own[s])
    assert rows[1]["own share"] == 0.0
    assert rows[1]["shared share"] == 1.0, "no part of its own: all is shared"
    assert list(rows[0]) == ["species", "records", "shared share", "own share", "axis 1", "axis 2"]
    assert rows[3]["axis 2"] == model.places[1, 3]
    assert rows[3]["own share"] == own[3]


def test_without_its_sites_a_model_does_not_know_how_much_is_a_species_own(sites: np.ndarray) -> None:
    model = group(sites, 4, own=True, known=False)
    own = specific_shares(model)
    np.testing.assert_array_equal(np.isnan(own), [True, False, False, True])
    assert own[1] == 0.0
    assert species_axis_rows(model)[1]["shared share"] == 1.0
    assert site_rows(model, 6) == []


def test_relatives_have_the_correlation_of_shared_log_densities_over_the_sites(sites: np.ndarray) -> None:
    model = group(sites, 9, rank=3, own=True)
    log_density = features(model, sites) @ model.axes @ model.places
    alike = np.corrcoef(log_density.T)
    rows = relative_rows(model)
    assert len(rows) == 9 * 5
    for s, name in enumerate(model.species):
        own = [row for row in rows if row["species"] == name]
        others = sorted((t for t in range(9) if t != s), key=lambda t: -alike[s, t])[:5]
        assert [row["relative"] for row in own] == [model.species[t] for t in others]
        np.testing.assert_allclose([row["correlation"] for row in own], alike[s, others], atol=1e-9)


def test_what_a_species_page_is_told(sites: np.ndarray) -> None:
    model = group(sites, 7, own=True, gap=3e-5, spatial=True)
    found = shared_numbers(model, "Species 3")
    assert found["species"] == 7
    assert found["rank"] == 2
    assert found["records"] == model.records[3]
    assert found["shared"] + found["own"] == pytest.approx(1)
    assert found["places"] == model.places[:, 3].tolist()
    assert found["relatives"] == [[name, alike] for name, alike in model.relatives("Species 3", 5)]
    assert (found["gap"], found["spatial"], found["strength"]) == (3e-5, True, 1.0)


def test_curves_are_the_parts_of_one_variable_and_flat_beyond_the_training_range() -> None:
    sites = drawn_sites(category=True)
    model = group(sites, rank=2, category=2)
    rows = axis_curve_rows(axis_profiles(model, range(2)))
    for k in range(2):
        for v, name in enumerate(NAMES):
            own = [row for row in rows if row["axis"] == k + 1 and row["variable"] == name]
            x = np.array([row["value"] for row in own])
            held = x if v == 2 else np.clip(x, sites[:, v].min(), sites[:, v].max())
            table = np.zeros((x.size, 3))
            table[:, v] = held
            mine = model.terms.var == v
            wanted = (model.terms.evaluate(table)[:, mine] / model.spread[mine]) @ model.axes[mine, k]
            np.testing.assert_allclose([row["effect"] for row in own], wanted - wanted.mean(), atol=1e-9)
            inside = [row["in training range"] for row in own]
            assert all(inside) if v == 2 else inside == ((x >= sites[:, v].min()) & (x <= sites[:, v].max())).tolist()
    assert [row["class"] for row in rows if row["variable"] == "slope" and row["axis"] == 1] == ["1", "2", "3"]


def joined(model: GroupModel, weights: list[float], how: str) -> GroupModel:
    """The model with the product of heat and rain among its features, as a term or as a monomial."""
    if how == "term":
        both = np.prod(model.reference.values[:, :2], axis=1)
        term = Terms.build(PRODUCT, np.array([0]), other=np.array([1]), lo=both.min()[None], hi=both.max()[None])
        parts = {"terms": Terms.concatenate([model.terms, term])}
    else:
        monomial = Monomial(np.array([0, 1], dtype=np.int32))
        parts = {"shapes": Shapes(monomials=(monomial,), monomial_weight=np.zeros(1))}
    return replace(
        model,
        **parts,
        centre=np.append(model.centre, 0.3),
        spread=np.append(model.spread, 0.2),
        axes=np.vstack([model.axes, weights]),
        own=np.vstack([model.own, np.zeros(len(model.species))]),
    )


@pytest.mark.parametrize("how", ["term", "monomial"])
def test_where_features_join_variables_a_curve_is_the_mean_over_the_sites(sites: np.ndarray, how: str) -> None:
    model = joined(group(sites, rank=2), [0.7, -0.4], how)
    some = reference_sites(model, 100)
    assert some is not None
    for k, own in axis_profiles(model, [0, 1]).items():
        heat = own[0]
        assert heat.kind == "partial"
        wanted = []
        for value in heat.x:
            table = some.copy()
            table[:, 0] = value
            wanted.append(model.axis_scores(list(table.T))[k].mean())
        np.testing.assert_allclose(heat.y, np.array(wanted) - np.mean(wanted), atol=1e-9)
    additive = replace(model, reference=None)
    assert axis_profiles(additive, [0])[0][0].kind == "additive"


def test_place_has_no_curve(sites: np.ndarray) -> None:
    model = group(sites, names=("heat", "place_x", "place_y"))
    assert [one.variable for one in axis_profiles(model, [0])[0]] == ["heat"]


def test_sites_are_where_the_model_puts_them() -> None:
    model = group(drawn_sites(900), rank=3)
    rows = site_rows(model, 2)
    assert len(rows) == 400
    assert list(rows[0]) == [*NAMES, "axis 1", "axis 2"]
    table = np.array([[row[name] for name in NAMES] for row in rows])
    np.testing.assert_allclose(
        [[row["axis 1"], row["axis 2"]] for row in rows], (features(model, table) @ model.axes)[:, :2], atol=1e-9
    )


def test_the_path_is_in_the_order_of_strengths_and_gaps_in_it_are_empty(sites: np.ndarray) -> None:
    rows = strength_rows(group(sites).meta)
    assert [row["strength"] for row in rows] == [0.5, 1.0, 2.0, 4.0]
    assert [row["chosen"] for row in rows] == [False, True, False, False]
    assert strength_rows({"path": [{"strength": 1.0, "rank": 2, "held_out": None}]})[0]["held_out"] == ""
    assert strength_rows({}) == []


def boxes(chart: Biplot) -> list[tuple[float, float, float, float]]:
    """The room that names take, in shares of the way to the edge, as wide as a text of the pictures."""
    out = []
    for tip in chart.named:
        wide, x, y = 0.0262 * len(tip.name), tip.x / chart.reach, tip.y / chart.reach
        out.append((x, x + wide, y, y + 0.042) if tip.begins else (x - wide, x, y, y + 0.042))
    return out


@pytest.mark.parametrize("count", [1, 5, 60, 400])
def test_names_in_a_biplot_do_not_lie_on_each_other_and_the_longest_arrow_has_one(count: int) -> None:
    rng = np.random.default_rng(count)
    places, sites = rng.normal(size=(2, count)), rng.normal(size=(2, 300))
    names = [f"Genusname speciesepithet {s}" for s in range(count)]
    chart = biplot(names, places, sites, [0.6, 0.3])
    longest = int(np.argmax(np.hypot(*places)))
    assert chart.named[0].arrow == longest
    assert chart.longest == pytest.approx(np.hypot(*places).max())
    found = boxes(chart)
    assert len(found) >= min(count, 5)
    for k, (a, b, c, d) in enumerate(found):
        assert -1 <= a < b <= 1
        assert -1 <= c < d <= 1
        for e, f, g, h in found[:k]:
            assert b <= e or f <= a or d <= g or h <= c, "two names overlap"
    tips = np.array(chart.tips)
    angles = np.arctan2(tips[:, 1], tips[:, 0])
    np.testing.assert_allclose(angles, np.arctan2(places[1], places[0]))


def test_a_biplot_without_sites_or_without_responses_can_be_drawn() -> None:
    chart = biplot(["a", "b"], np.zeros((2, 2)), np.empty((2, 0)), [0.0, 0.0])
    assert chart.points == []
    assert chart.named == []
    assert chart.reach > 0
