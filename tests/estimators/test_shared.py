"""`SharedMaxent`: axes of a group, own parts, the choice of the strength, and predictions from the file."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sdm import Committee, Maxent, SharedMaxent, load_model
from sdm.errors import DataError, OptionError
from sdm.estimators.ensemble import Ensemble
from sdm.estimators.on_axes import OnAxes, place_species
from sdm.models.group import GroupModel


def make_world(seed: int = 1, sites: int = 800, species: int = 12, records: int = 60):
    """Sites with four variables, of which species respond to two combinations: exactly two axes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(sites, 4))
    axes = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    slopes = rng.normal(size=(2, species)) * 1.2
    rows, names = [x], [None] * sites
    for s in range(species):
        chance = np.exp(x @ axes @ slopes[:, s])
        rows.append(x[rng.choice(sites, records if s else 6, p=chance / chance.sum())])
        names += [f"species {s}"] * len(rows[-1])
    return pd.DataFrame(np.vstack(rows), columns=list("abcd")), np.array(names, dtype=object), axes, slopes


def test_two_true_axes_are_found() -> None:
    X, names, axes, _ = make_world(records=400)
    result = SharedMaxent("l").fit(X, names).model_
    assert result.rank >= 2
    assert result.explained[:2].sum() > 0.97
    loadings = result.axes[:, :2] / np.linalg.norm(result.axes[:, :2], axis=0)
    angles = np.linalg.svd(np.linalg.qr(loadings)[0].T @ axes)[1]
    assert angles.min() > 0.97, "the same plane, up to a rotation"


@pytest.mark.thorough
def test_held_out_records_support_as_many_axes_as_there_are() -> None:
    """The penalty lets weak axes in besides those that matter; a user is told how many to read."""
    X, names, *_ = make_world(2, records=400)
    fit = SharedMaxent("lqp").fit(X, names)
    assert fit.model_.rank > 2
    assert fit.model_.meta["supported"] == 2
    assert [row.supported for row in fit.path_ if row.chosen] == [2]
    assert SharedMaxent("lqp", strength=1.0).fit(X, names).model_.meta["supported"] is None, "nothing was left out"


def test_an_ensemble_with_place_is_the_mean_of_three_and_its_committee_knows_no_place() -> None:
    X, names, *_ = make_world(records=30, sites=400, species=4)
    rng = np.random.default_rng(5)
    X = X.assign(place_x=rng.uniform(0, 10, len(X)), place_y=rng.uniform(0, 10, len(X)))
    there = SharedMaxent("lq", 1.0).fit(X, names).model_
    anywhere = SharedMaxent("lq", 1.0).fit(X[list("abcd")], names).model_
    own = np.flatnonzero(np.equal(names, None) | (names == "species 2"))
    present = np.equal(names[own], "species 2").astype(int)
    members = OnAxes(there, "species 2"), OnAxes(anywhere, "species 2")
    mean = Ensemble(members[0], environment=members[1]).fit(X.iloc[own], present)
    assert tuple(mean.committee_.model_.names) == tuple("abcd")
    links = [one.fit(X.iloc[own], present).predict(X, "link") for one in members]
    links.append(Committee().fit(X.iloc[own][list("abcd")], present).predict(X[list("abcd")], "link"))
    apart = mean.predict(X, "link") - np.mean(links, axis=0)
    assert np.ptp(apart) < 1e-9, "the same up to a constant"


def test_axes_have_deviation_one_and_no_correlation() -> None:
    X, names, *_ = make_world()
    fit = SharedMaxent("lqp", strength=0.5).fit(X, names)
    z = fit.model_.axis_scores(list(fit.group_.domain.centred.T))
    q = fit.group_.domain.q0
    assert z @ q == pytest.approx(np.zeros(fit.model_.rank), abs=1e-9)
    assert (z * q) @ z.T == pytest.approx(np.eye(fit.model_.rank), abs=1e-8)
    theta = fit.model_.places.T @ z
    share = fit.group_.records.weight
    variance = [share @ (fit.model_.places[k] ** 2) for k in range(fit.model_.rank)]
    assert fit.model_.explained == pytest.approx(np.array(variance) / np.sum(variance))
    assert theta == pytest.approx((fit.features_.phi @ fit.solution_.weights).T, abs=1e-8)


def test_predictions_are_densities_and_the_file_keeps_them(tmp_path) -> None:
    X, names, *_ = make_world()
    fit = SharedMaxent("lqh", strength=1.0).fit(X, names)
    raw = fit.predict(X.iloc[:800], "raw")
    assert raw.shape == (800, 12)
    domain = pd.DataFrame(fit.group_.domain.centred + fit.group_.domain.centre, columns=list("abcd"))
    ratio = fit.predict(domain, "raw") * fit.model_.n_domain
    assert fit.group_.domain.q0 @ ratio == pytest.approx(np.ones(12), rel=1e-6)
    fit.save(tmp_path / "group.npz")
    again = load_model(tmp_path / "group.npz")
    assert isinstance(again, GroupModel)
    assert again.values(X, "cloglog").tobytes() == fit.predict(X, "cloglog").tobytes()
    assert (again.species, again.rank) == (fit.species_, fit.model_.rank)
    cloglog, link = again.values(X, "cloglog"), again.values(X, "link")
    assert np.all((cloglog >= 0) & (cloglog <= 1))
    assert np.exp(link) == pytest.approx(again.values(X, "raw"))
    with pytest.raises(OptionError, match="cumulative"):
        again.values(X, "cumulative")


def test_cloglog_comes_from_the_entropy_of_each_species() -> None:
    """1 − exp(−exp(H) p), where H is the entropy of the species' distribution over the sites."""
    X, names, *_ = make_world(sites=300, species=4)
    fit = SharedMaxent("lq", strength=0.5).fit(X, names)
    domain = pd.DataFrame(fit.group_.domain.centred + fit.group_.domain.centre, columns=list("abcd"))
    ratio = fit.predict(domain, "raw") * fit.model_.n_domain
    p = fit.group_.domain.q0[:, None] * ratio
    assert p.sum(axis=0) == pytest.approx(np.ones(4))
    entropy = np.log(fit.model_.n_domain) - np.sum(p * np.log(ratio), axis=0)
    expected = -np.expm1(-np.exp(entropy) * ratio / fit.model_.n_domain)
    assert fit.predict(domain, "cloglog") == pytest.approx(expected, rel=1e-6)


def test_own_parts_without_an_axis_are_separate_fits() -> None:
    X, names, *_ = make_world(species=3)
    fit = SharedMaxent("lq", strength=1e4, own=1.0, tolerance=1e-7).fit(X, names)
    assert fit.model_.rank == 0
    records = [X[names == name] for name in fit.species_]
    assert fit.solution_.gap <= 1e-7
    for s, own in enumerate(records):
        # The same base measure: the sites, among which all records are.
        y = np.repeat([1, 0], [len(own), 800])
        base = np.concatenate([np.full(len(own), 1e-12), np.ones(800)])
        alone = Maxent("lq", tolerance=1e-8).fit(pd.concat([own, X.iloc[:800]]), y, base_weight=base)
        ours = fit.predict(X, "link")[:, s]
        theirs = alone.predict(X, "link")
        assert ours - ours[0] == pytest.approx(theirs - theirs[0], abs=2e-3)


def test_axes_and_own_parts_together_close_the_gap() -> None:
    X, names, *_ = make_world(species=5)
    both = SharedMaxent("lq", strength=1.0, own=2.0, tolerance=1e-5).fit(X, names)
    assert both.solution_.gap <= 1e-5
    assert both.model_.rank > 0
    assert np.any(both.model_.own != 0)
    alone = SharedMaxent("lq", strength=1.0, tolerance=1e-5).fit(X, names)
    assert both.solution_.objective <= alone.solution_.objective + 1e-5, "more freedom"


def test_the_strength_is_the_weakest_of_those_with_the_least_held_out_loss() -> None:
    X, names, *_ = make_world()
    fit = SharedMaxent("lq").fit(X, names)
    losses = [row.held_out for row in fit.path_]
    assert sum(row.chosen for row in fit.path_) == 1
    best = fit.path_[int(np.argmin(losses))]
    alike = [row for row in fit.path_ if row.held_out <= best.held_out + 0.5 * best.held_out_se]
    assert alike[-1].chosen
    assert fit.model_.strength == alike[-1].strength == min(row.strength for row in alike)
    ranks = [row.rank for row in fit.path_]
    assert ranks == sorted(ranks), "weaker penalties have more axes"
    assert all(row["held_out"] is not None for row in fit.model_.meta["path"])


def test_a_rare_species_gains_from_the_others() -> None:
    """Six records: on the axes of the group its density is nearer to the truth than alone."""
    gains = []
    for seed in range(6):
        X, names, axes, slopes = make_world(seed, records=80)
        sites, rare = X.iloc[:800], X[names == "species 0"]
        truth = np.exp(sites.to_numpy() @ axes @ slopes[:, 0])
        truth /= truth.sum()
        shared = SharedMaxent("lq", strength=1.0).fit(X, names).predict(sites, "raw")[:, 0]
        y = np.repeat([1, 0], [len(rare), len(sites)])
        alone = Maxent("lq").fit(pd.concat([rare, sites]), y).predict(sites, "raw")
        loss = [-truth @ np.log(part / part.sum()) for part in (shared, alone)]
        gains.append(loss[1] - loss[0])
    assert np.mean(gains) > 0.05


def test_weights_of_records_count_as_records() -> None:
    X, names, *_ = make_world(species=3, records=20)
    twice = np.ones(len(X))
    twice[names == "species 1"] = 2.0
    doubled = pd.concat([X, X[names == "species 1"]]), np.concatenate([names, names[names == "species 1"]])
    base = np.ones(len(X))
    base_doubled = np.concatenate([base, np.full((names == "species 1").sum(), 0.0)])
    one = SharedMaxent("l", strength=0.5, tolerance=1e-9).fit(X, names, twice, base_weight=base)
    two = SharedMaxent("l", strength=0.5, tolerance=1e-9).fit(*doubled, base_weight=base_doubled)
    assert one.predict(X, "raw") == pytest.approx(two.predict(X, "raw"), rel=1e-4)


def test_what_is_wrong_is_said() -> None:
    X, names, *_ = make_world(species=2)
    with pytest.raises(DataError, match="no name"):
        SharedMaxent().fit(X, [None] * len(X))
    with pytest.raises(DataError, match="one label for each"):
        SharedMaxent().fit(X, names[:-1])
    with pytest.raises(OptionError, match="strength"):
        SharedMaxent(strength=-1.0).fit(X, names)
    with pytest.raises(DataError, match="every variable is constant"):
        SharedMaxent("l", strength=1.0).fit(X * 0.0, names)


def table_of(X: pd.DataFrame, names: np.ndarray, species: str):
    """The rows of one species and the sites, and which are presences."""
    own, sites = X[names == species], X[[name is None for name in names]]
    return pd.concat([own, sites]), np.repeat([1, 0], [len(own), len(sites)])


def test_a_species_of_the_group_is_where_the_group_has_it() -> None:
    X, names, *_ = make_world()
    group = SharedMaxent("lqh", strength=1.0, tolerance=1e-9).fit(X, names).model_
    rows, y = table_of(X, names, "species 3")
    member = OnAxes(group, "species 3").fit(rows, y)
    link, wanted = member.predict(X, "link"), group.values(X, "link")[:, 3]
    assert link - link.mean() == pytest.approx(wanted - wanted.mean(), abs=1e-9)
    assert member.solution_.gap == group.meta["gap"]


def test_a_species_that_is_placed_by_its_records_comes_to_the_same_place() -> None:
    """The base measure of the group, and its own share of the records: the optimum of the group is its optimum."""
    X, names, *_ = make_world(species=6)
    fit = SharedMaxent("lq", strength=1.0, tolerance=1e-10).fit(X, names)
    group, data = fit.model_, fit.group_
    axes = group.axis_scores(list((data.domain.centred + data.domain.centre).T))
    for s in (0, 4):
        others = replace(group, records=np.delete(group.records, s))  # π counts its own records once
        placed = place_species(others, axes, data.domain.q0, data.samples[s], float(data.counts[s]))
        assert placed.gap <= 1e-12
        assert placed.place == pytest.approx(group.places[:, s], abs=1e-4)


def test_three_records_make_a_cautious_model() -> None:
    X, names, axes, slopes = make_world(5, records=100)
    group = SharedMaxent("l").fit(X, names).model_
    rng = np.random.default_rng(1)
    sites = X.iloc[:800]
    own = rng.normal(size=2)
    chance = np.exp(sites.to_numpy() @ axes @ (1.5 * own / np.linalg.norm(own)))
    few = sites.iloc[rng.choice(800, 3, p=chance / chance.sum())]
    rows, y = pd.concat([few, sites]), np.repeat([1, 0], [3, 800])
    placed = OnAxes(group).fit(rows, y)
    assert placed.solution_.status == "converged"
    assert 0 < np.linalg.norm(placed.place_) < np.linalg.norm(slopes, axis=0).max()
    density = placed.predict(sites, "raw")
    assert np.corrcoef(np.log(density), np.log(chance))[0, 1] > 0.5
    with pytest.raises(DataError, match="axes are missing: d"):
        OnAxes(group).fit(rows[["a", "b", "c"]], y)
