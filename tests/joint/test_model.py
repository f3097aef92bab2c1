"""`JointModel`: fits, predicts, says what is wrong with the data, and comes back from its file as it was."""

import doctest
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import sdm.estimators.community
from sdm.assess.measures.community import measure_community, richness_error, species_auc
from sdm.errors import DataError, ModelFileError, OptionError, OutputError
from sdm.estimators.community import JointModel
from sdm.estimators.glm import fit_glm
from sdm.joint.discriminant import LabelledSites
from sdm.joint.learners import tuning
from sdm.joint.learners.registry import C_FIRST, C_PATH, LAMBDA_RANGE, Learner
from sdm.joint.likelihood import LogLoss
from sdm.models.community import FittedJoint

VARIABLES = ["warmth", "rain"]


def community(n=150, seed=0, missing=0.0):
    """Two species that follow warmth and each other, and one that follows rain."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    a = 1.5 * x[:, 0] + rng.logistic(size=n) > 0
    b = np.where(rng.random(n) < 0.8, a, rng.random(n) < 0.5)
    c = -1.5 * x[:, 1] + rng.logistic(size=n) > 0.5
    labels = pd.DataFrame({"a": a, "b": b, "c": c}).astype(float)
    labels = labels.mask(rng.random(labels.shape) < missing)
    return pd.DataFrame(x, columns=VARIABLES), labels


@pytest.fixture(scope="module")
def fitted():
    return JointModel("laplace", features="lq", c=0.1).fit(*community())


@pytest.mark.parametrize("learner", ["laplace", "m3n", "crf-l2", "crf-l1"])
def test_every_learner_finds_the_associated_pair(learner):
    """a and b are found together: the tree must link them, with a positive weight, and the largest of all.

    A max-margin model spends weight on an edge only where that saves wrong labels, so its weight may be small.
    """
    x, y = community()
    model = JointModel(learner, c=1.0).fit(x, y)
    edges = {frozenset((row["first"], row["second"])): row["weight"] for row in model.model_.associations()}
    assert model.solution_.status == "converged"
    assert edges[frozenset("ab")] > (0.2 if learner.startswith("crf") else 0.0)
    assert edges[frozenset("ab")] == max(edges.values(), key=abs)
    assert model.score(x, y) > 0.7


def test_the_edge_helps_where_a_neighbour_is_known(fitted):
    """A survey that has seen a makes b likelier than the environment alone says."""
    x, _ = community()
    nan = np.nan
    alone = fitted.predict_proba(x)[:, 1]
    seen = fitted.predict_proba(x, known=np.tile([1.0, nan, nan], (len(x), 1)))
    unseen = fitted.predict_proba(x, known=np.tile([0.0, nan, nan], (len(x), 1)))
    assert np.all(seen[:, 0] == 1)
    assert np.all(seen[:, 1] > alone)
    assert np.all(unseen[:, 1] < alone)


def test_known_labels_are_matched_by_the_species_names(fitted):
    """A survey's columns may come in any order, and not all species may have been looked for."""
    x, _ = community()
    known = pd.DataFrame({"c": 1.0, "a": np.where(np.arange(len(x)) % 2, 0.0, np.nan)}, index=x.index)
    by_position = np.column_stack([known["a"], np.full(len(x), np.nan), known["c"]])
    np.testing.assert_array_equal(fitted.predict_proba(x, known=known), fitted.predict_proba(x, known=by_position))
    np.testing.assert_array_equal(fitted.predict(x, known=known), fitted.predict(x, known=by_position))
    np.testing.assert_allclose(fitted.predict_proba(x, known=known)[:, 2], 1)
    _, y = community()
    assert fitted.score(x, y[["c", "b", "a"]]) == fitted.score(x, y)
    assert fitted.log_loss(x, y[["c", "b", "a"]]) == fitted.log_loss(x, y)
    with pytest.raises(DataError, match="'wolf' is not a species of the model: a, b, c"):
        fitted.predict_proba(x, known=known.rename(columns={"c": "wolf"}))
    with pytest.raises(DataError, match="got a more than once"):
        fitted.predict_proba(x, known=known.rename(columns={"c": "a"}))


def test_a_model_from_a_file_takes_data_frames_by_name(tmp_path):
    """Columns in any order, and more of them; classes by their labels."""
    x, y = community()
    x["soil"] = np.resize(["clay", "sand", "peat"], len(x))
    model = JointModel("crf-l2", categorical=["soil"]).fit(x, y)
    model.save(tmp_path / "m.npz")
    loaded = FittedJoint.load(tmp_path / "m.npz")
    other = x.assign(more=1.0)[["soil", "more", "rain", "warmth"]]
    np.testing.assert_array_equal(loaded.predict_proba(other), model.predict_proba(x))
    np.testing.assert_array_equal(loaded.predict(other, known=y[["b"]]), model.predict(x, known=y[["b"]]))
    assert loaded.log_loss(other, y[["b", "a", "c"]]) == model.log_loss(x, y)
    with pytest.raises(DataError, match="the table has no column 'rain'; it has soil, warmth"):
        loaded.predict_proba(x[["soil", "warmth"]])


def test_predictions_have_the_form_that_users_expect(fitted):
    x, y = community()
    probability, labels = fitted.predict_proba(x), fitted.predict(x)
    assert probability.shape == labels.shape == y.shape
    assert np.all((probability >= 0) & (probability <= 1))
    assert set(np.unique(labels)) <= {0, 1}
    np.testing.assert_allclose(fitted.richness(x), probability.sum(axis=1))
    assert fitted.log_loss(x, y) > 0
    far = x * 100
    np.testing.assert_allclose(fitted.predict_proba(far), fitted.predict_proba(far.clip(x.min(), x.max(), axis=1)))
    gap = x.copy()
    gap.iloc[3, 0] = np.nan
    assert np.isnan(fitted.predict_proba(gap)[3]).all()
    assert (fitted.predict(gap)[3] == -1).all()
    assert np.isfinite(np.delete(fitted.predict_proba(gap), 3, axis=0)).all()


def test_columns_may_come_in_another_order(fitted):
    x, _ = community()
    np.testing.assert_array_equal(fitted.predict_proba(x[VARIABLES[::-1]]), fitted.predict_proba(x))


def test_the_same_fit_gives_the_same_bytes():
    first, second = (JointModel("m3n").fit(*community()).model_.to_bytes() for _ in range(2))
    assert first == second


def test_without_edges_each_species_is_alone():
    x, y = community()
    together = JointModel("crf-l2", "none", c=1.0, tolerance=1e-9).fit(x, y).predict_proba(x)
    alone = JointModel("crf-l2", "none", c=1.0, tolerance=1e-9).fit(x, y[["c"]]).predict_proba(x)
    np.testing.assert_allclose(together[:, [2]], alone, atol=1e-4)


def test_graphs_as_they_are_asked_for():
    x, y = community()
    fit = JointModel("crf-l2", "chain").fit(x, y)
    assert fit.forest_.edges.tolist() == [[0, 1], [1, 2]]
    assert JointModel("crf-l2", [("c", "a")]).fit(x, y).forest_.edges.tolist() == [[2, 0]]


def test_missing_labels_are_said_and_the_rest_is_used():
    """Sites with a gap must still count: the fit differs from one that drops them."""
    x, y = community(missing=0.15)
    model = JointModel("crf-l2").fit(x, y)
    count, sites = int(y.isna().sum().sum()), int(y.isna().any(axis=1).sum())
    assert model.notes_ == [
        f"{count} of 450 labels are missing, at {sites} of 150 sites: there the other species are used, and the edges "
        "between them"
    ]
    full = y.notna().all(axis=1)
    dropped = JointModel("crf-l2").fit(x[full], y[full])
    assert np.abs(model.predict_proba(x) - dropped.predict_proba(x)).max() > 1e-3
    assert 0 < model.score(x, y) <= 1


def test_cross_validation_tries_the_range_and_takes_the_best():
    x, y = community(80)
    model = JointModel(graph="chain").fit(x, y)
    losses = [row["loss"] for row in model.tuning_]
    best = int(np.argmin(losses))
    assert model.model_.meta["learner"] == "crf-l2"
    tried = list(C_PATH[C_FIRST : C_FIRST + best + 3])
    assert [row["C"] for row in model.tuning_] == tried, "from 0.1 on, two more than the best, then it stops"
    assert {row["measure"] for row in model.tuning_} == {"log loss per site"}
    assert model.model_.meta["C"] == model.tuning_[best]["C"]
    both = JointModel("laplace", "none", features="l", c="cv", lam="cv", folds=2, max_iterations=5).fit(x, y)
    assert {row["measure"] for row in both.tuning_} == {"wrong labels"}
    assert [row["lambda"] for row in both.tuning_[-8:]] == list(reversed(LAMBDA_RANGE))
    assert {row["C"] for row in both.tuning_[-8:]} == {both.model_.meta["C"]}
    assert both.model_.meta["lambda"] in LAMBDA_RANGE


def test_cross_validation_compares_fits_that_converged(caplog):
    """Not even the largest C of the range stops early; where fits do, they are named."""
    x, y = community(60)
    with caplog.at_level("WARNING", logger="sdm"):
        JointModel("m3n", graph="chain", c="cv").fit(x, y)
    assert caplog.messages == []
    with caplog.at_level("WARNING", logger="sdm"):
        JointModel("m3n", graph="chain", c="cv", max_iterations=1, tolerance=1e-5).fit(x, y, title="pond")
    assert caplog.messages[0].startswith(
        "pond: 18 of 18 fits of its cross-validation did not converge: C 0.01 in part 1"
    )
    assert caplog.messages[1].startswith("pond: iteration limit at a gap of")
    assert all("per site" in message for message in caplog.messages)


def test_classes_work_and_are_named():
    x, y = community()
    x["soil"] = np.where(np.arange(len(x)) % 3 == 0, "chalk", "clay")
    model = JointModel("crf-l2", categorical=["soil"]).fit(x, y)
    assert model.model_.feature_names == [
        "warmth",
        "rain",
        "warmth^2",
        "rain^2",
        "(soil=chalk)",
        "(soil=clay)",
        "bias",
    ]
    rows = model.model_.effects()
    assert len(rows) == 3 * 7
    assert all(row["sd"] > 0 for row in rows)


def test_a_spread_that_only_repeats_the_prior_is_not_shown(fitted):
    """M³N's posterior has the prior's variance, and so have weights of zero of Laplace MEDN: that is no uncertainty."""
    x, y = community()
    m3n = JointModel("m3n", c=0.1).fit(x, y).model_
    assert all(np.isnan(row["sd"]) for row in m3n.effects() + m3n.associations())
    rows = fitted.model_.effects() + fitted.model_.associations()
    small = [row for row in rows if abs(row["weight"]) < 0.05 and row.get("feature") != "bias"]
    assert small
    assert all(np.isnan(row["sd"]) for row in small)
    assert any(row["sd"] > 1 for row in rows if abs(row["weight"]) > 0.5)


def test_standard_errors_are_the_inverse_curvature_of_the_objective():
    """By second differences of the penalised log loss, and of no use where two species were never seen at one site."""
    x, y = community(120)
    y = y.assign(c=y["c"].where(np.arange(len(y)) % 2 == 0), b=y["b"].where(np.arange(len(y)) % 2 == 1))
    model = JointModel("crf-l2", [("a", "b"), ("b", "c")], features="l", c=2.0, tolerance=1e-9).fit(x, y)
    fitted = model.model_
    sites = LabelledSites(fitted.features.evaluate(x.to_numpy()), y.fillna(-1).to_numpy().astype(np.int8))
    penalty = np.full(fitted.weights.size, 0.5)
    fitted.discriminant.split(penalty)[0][:, -1] = 1e-4

    def value(w):
        return LogLoss(fitted.discriminant, sites)(w)[0] + 0.5 * penalty @ w**2

    step = 1e-3 * np.eye(fitted.weights.size)
    second = [
        [sum(s * t * value(fitted.weights + s * a + t * b) for s in (-1, 1) for t in (-1, 1)) / 4e-6 for a in step]
        for b in step
    ]
    expected = np.sqrt(np.diag(np.linalg.inv(second)))
    result = np.array([row["sd"] for row in fitted.effects() + fitted.associations()])
    np.testing.assert_allclose(result[:-1], expected[:-1], rtol=1e-4)
    assert expected[-1] == pytest.approx(np.sqrt(2.0), rel=1e-6), "the penalty's own"
    assert np.isnan(result[-1])


def test_weights_that_l1_holds_at_zero_have_no_standard_error():
    x, y = community()
    rows = JointModel("crf-l1", c=0.05).fit(x, y).model_.effects()
    zero = [row for row in rows if row["weight"] == 0]
    assert zero
    assert all(np.isnan(row["sd"]) for row in zero)
    assert all(row["sd"] > 0 for row in rows if row["weight"] != 0)


@pytest.mark.parametrize("noise", [0.0, 1e-8, 1e-5])
@pytest.mark.parametrize("learner, c", [("crf-l1", 1.0), ("crf-l2", 1e14)])
def test_copies_of_a_column_have_no_standard_errors(noise, learner, c):
    """A singular curvature ended the fit, and a nearly singular one gave errors of millions."""
    x, y = community()
    x["again"] = x["warmth"] + noise * np.random.default_rng(1).normal(size=len(x))
    rows = JointModel(learner, "none", "l", c=c).fit(x, y).model_.effects()
    copies = [row["sd"] for row in rows if row["feature"] in ("warmth", "again") and row["weight"] != 0]
    others = [row["sd"] for row in rows if row["feature"] == "rain" and row["weight"] != 0]
    assert len(copies) > 3
    assert np.isnan(copies).all()
    alone = JointModel(learner, "none", "l", c=c).fit(x.drop(columns="again"), y).model_.effects()
    expected = [row["sd"] for row in alone if row["feature"] == "rain" and row["weight"] != 0]
    np.testing.assert_allclose(others, expected, rtol=0.02)


def test_the_gap_is_per_site():
    """In the model, and as its bound: the objective per site is no further above its minimum."""
    x, y = community(missing=0.2)
    rough = JointModel("crf-l1", "chain", c=1.0, tolerance=0.05).fit(x, y)
    exact = JointModel("crf-l1", "chain", c=1.0, tolerance=1e-7, max_iterations=5000).fit(x, y)
    missing = (rough.solution_.objective - exact.solution_.objective) / len(x)
    assert 0 < missing <= rough.model_.meta["gap"] <= 0.05
    assert rough.model_.meta["gap"] == rough.solution_.gap


def test_stronger_regularisation_is_tried_where_the_first_is_best():
    """Labels that nothing explains: the best C is below the one that is tried first."""
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(60, 6)), rng.integers(0, 2, (60, 3))
    model = JointModel(graph="none").fit(x, y)
    assert [row["C"] for row in model.tuning_] == [0.01, 0.03, 0.1, 0.3, 1.0]
    assert model.model_.meta["C"] == 0.01 == min(model.tuning_, key=lambda row: row["loss"])["C"]


def test_the_choice_of_c_is_the_slow_one():
    """Every fold and C on its own, from nothing: the same held-out losses, and the same choice."""
    x, y = community(90, missing=0.1)
    model = JointModel(features="l", graph="chain", seed=4, tolerance=1e-7).fit(x, y)
    part = np.random.default_rng(4).permutation(90) % 3
    labels = y.fillna(-1).to_numpy().astype(np.int8)
    f = model.model_.features.evaluate(x.to_numpy())
    d = model.model_.discriminant
    bias = np.zeros(d.size, dtype=bool)
    d.split(bias)[0][:, -1] = True
    for row in model.tuning_:
        total = 0.0
        for k in range(3):
            learner = Learner("crf-l2", row["C"], tolerance=1e-8)
            weights = learner.fit(d, LabelledSites(f[part != k], labels[part != k]), bias).weights
            total += LogLoss(d, LabelledSites(f[part == k], labels[part == k]))(weights)[0]
        assert row["loss"] == pytest.approx(total / 90, abs=1e-5)


def test_a_bias_is_not_penalised():
    """However strong the regularisation, a species' mean probability is its prevalence."""
    x, y = community()
    model = JointModel("crf-l2", "none", c=1e-4, tolerance=1e-8).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x).mean(axis=0), y.mean(), atol=1e-4)


def test_features_do_not_depend_on_where_zero_is():
    """In kelvin as in degrees: a square of values far from zero would be a copy of them, and a curve could not bend."""
    x, y = community()
    y["b"] = (np.abs(x["warmth"]) < 0.7).astype(float)
    near, far = (JointModel(c=1.0).fit(x + shift, y) for shift in (0.0, 1e6))
    np.testing.assert_allclose(far.predict_proba(x + 1e6), near.predict_proba(x), atol=1e-4)
    assert near.predict_proba(x)[np.abs(x["warmth"]) < 0.3, 1].mean() > 0.8


def test_squares_of_two_values_are_left_out_and_knots_are_in_own_units():
    x, y = community()
    x["pond"] = np.arange(len(x)) % 2
    assert JointModel(c=1.0).fit(x, y).model_.feature_names == [*x.columns, "warmth^2", "rain^2", "bias"]
    named = JointModel(c=1.0, features="t", knots=3).fit(x * 10 + 500, y).model_.feature_names
    knots = [float(name.split(", ")[1].rstrip(")")) for name in named if name.startswith("threshold(warmth")]
    assert knots
    assert all(480 < knot < 530 for knot in knots)


def test_the_example_in_the_documentation():
    result = doctest.testmod(sdm.estimators.community)
    assert result.attempted >= 7
    assert result.failed == 0


def bad(change):
    x, y = community(30)
    return change(x, y)


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda x, y: (x, y.assign(b=0)), "species 'b' occurs in no site, expected presences and absences"),
        (lambda x, y: (x, y.assign(a=1, c=1)), r"species 'a' occurs in every site \(as 'c'\)"),
        (lambda x, y: (x, y.assign(b=np.nan)), "species 'b' has no known label"),
        (lambda x, y: (x, y.rename(columns={"a": "rain"})), "'rain' is both a species and a variable: rename"),
        (lambda x, y: (x, y.rename(columns={"a": "b"})), "species must have different names, got b more than once"),
        (lambda x, y: (x, y.assign(a=y["a"] * 3)), r"species 'a' has 3 in row \d+, expected 1 \(present\), 0"),
        (lambda x, y: (x, y.assign(a=np.inf)), "species 'a' has inf in row 1"),
        (lambda x, y: (x, y.assign(a="yes")), "Y contains a value that is not a number"),
        (lambda x, y: (x, y[:-1]), r"Y has shape \(29, 3\), expected 30 sites"),
        (lambda x, y: (x, y["a"].to_numpy()), "Y has 1 dimensions, expected a table of two"),
        (lambda x, y: (x, y[[]]), "Y has no species"),
        (lambda x, y: (0 * x, y), r"every variable is constant over the sites: warmth, rain"),
        (lambda x, y: (x.assign(rain=np.nan), y), "missing or infinite values: 'rain' has 30 of 30 rows"),
    ],
)
def test_bad_data_is_refused_with_one_message(change, said):
    with pytest.raises(DataError, match=said):
        JointModel().fit(*bad(change))


@pytest.mark.parametrize(
    "options, said",
    [
        ({"learner": "svm"}, "learner='svm': expected one of crf-l2, crf-l1, m3n, l1-m3n, laplace"),
        ({"graph": "star"}, "graph='star': expected one of tree, chain, none"),
        ({"graph": [("a", "b"), ("b", "c"), ("a", "c")]}, "'a' – 'c' closes a cycle"),
        ({"c": 0}, "c=0: expected a positive number, or 'cv'"),
        ({"lam": "best"}, "lam='best': expected a positive number, or 'cv'"),
        ({"tolerance": -1}, "tolerance=-1"),
        ({"rounds": 0}, "rounds=0: expected 1 or more"),
        ({"folds": 1}, "folds=1: expected 2 or more"),
        ({"max_iterations": True}, "max_iterations=True"),
        ({"method": "gibbs"}, "method='gibbs': expected one of variational, exact"),
        ({"features": "xyz"}, "is not a feature class"),
    ],
)
def test_bad_options_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        JointModel(**options).fit(*community(30))


def test_parameters_can_be_read_and_changed():
    model = JointModel("m3n").set_params(c=2.0)
    assert model.get_params()["c"] == 2.0
    with pytest.raises(OptionError, match="no parameter 'depth'"):
        model.set_params(depth=3)


def test_predicting_needs_a_fit():
    with pytest.raises(DataError, match="not fitted yet"):
        JointModel().predict([[0.0, 0.0]])


def test_a_model_comes_back_from_its_file(fitted, tmp_path):
    x, _ = community()
    fitted.save(tmp_path / "joint.npz")
    again = FittedJoint.load(tmp_path / "joint.npz")
    np.testing.assert_array_equal(again.predict_proba(again.encode(x)), fitted.predict_proba(x))
    np.testing.assert_equal(again.associations(), fitted.model_.associations())
    assert again.meta == fitted.model_.meta
    with pytest.raises(OutputError, match="exists already"):
        fitted.save(tmp_path / "joint.npz")
    fitted.save(tmp_path / "joint.npz", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["joint.npz"]


def rewritten(content, **changes):
    """The same file with entries of the header or arrays changed, the digest as it was unless given."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            body = old.read(name)
            if name == "joint.json":
                body = json.dumps({**json.loads(body), **changes}).encode()
            new.writestr(name, body)
    return out.getvalue()


def test_files_that_are_not_ours_are_refused(fitted, tmp_path):
    content = fitted.model_.to_bytes()
    path = tmp_path / "joint.npz"
    for damaged, text in (
        (content[:-30], "damaged"),
        (b"hello", "not a readable joint model"),
        (rewritten(content, format="sdm-model"), "its format is 'sdm-model'"),
        (rewritten(content, version=99), "has joint format 99, and this version reads up to 4"),
        (rewritten(content, scale=2.0), "was modified after it was written"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=text):
            FittedJoint.load(path)
    with pytest.raises(ModelFileError, match="does not exist"):
        FittedJoint.load(tmp_path / "nothing.npz")


def test_measures_of_a_joint_model(fitted):
    x, y = community(100, seed=5)
    labels = y.to_numpy().astype(np.int8)
    result = measure_community(fitted.model_, x.to_numpy(), labels)
    probability = fitted.predict_proba(x)
    assert result["hamming"] == pytest.approx(np.mean(fitted.predict(x) != labels))
    pairs = [(p, q) for p in probability[labels[:, 0] == 1, 0] for q in probability[labels[:, 0] == 0, 0]]
    assert species_auc(labels, probability)[0] == pytest.approx(np.mean([(p > q) + 0.5 * (p == q) for p, q in pairs]))
    assert result["auc"] == pytest.approx(species_auc(labels, probability).mean())
    error = fitted.richness(x) - labels.sum(axis=1)
    assert richness_error(labels, probability) == pytest.approx(np.sqrt(np.mean(error**2)))
    assert result["log loss"] == pytest.approx(fitted.log_loss(x, y))
    right = np.where(labels == 1, probability, 1 - probability)
    assert result["marginal log loss"] == pytest.approx(-np.log(right).sum(axis=1).mean())
    assert result["marginal log loss"] != pytest.approx(result["log loss"], abs=1e-3)
    one = labels.copy()
    one[:, 0] = 1
    assert np.isnan(species_auc(one, probability)[0])


def test_probabilities_of_a_margin_model_are_calibrated(fitted):
    """Another factor on the scores would give its own sites a lower likelihood."""
    from dataclasses import replace

    x, y = community()
    labels = y.to_numpy().astype(np.int8)
    own = fitted.model_.log_loss(x.to_numpy(), labels)
    for factor in (0.8, 1.25):
        other = replace(fitted.model_, scale=factor * fitted.model_.scale)
        assert other.log_loss(x.to_numpy(), labels) > own


def test_a_real_community(shared):
    """Frogs: 104 sites, nine species; the joint model must at least beat saying 'absent' everywhere."""
    folder = shared / "data" / "joint" / "frogs_jsdm"
    x = pd.read_csv(folder / "env.csv")[["Covariate_1", "Covariate_2", "Covariate_3"]]
    y = pd.read_csv(folder / "presence_absence.csv").drop(columns="site")
    model = JointModel("laplace", c=0.1).fit(x, y)
    assert model.solution_.status == "converged"
    assert model.score(x, y) > 1 - y.to_numpy().mean()


@pytest.mark.parametrize("name, places", [("frogs_jsdm", ["x", "y"]), ("mosquitos_jsdm", ["x", "y"])])
def test_by_default_a_joint_model_beats_a_glm_at_held_out_sites(shared, name, places):
    """Knowing which species go together must help, and a penalty that fits the data must not hurt any of them."""
    folder = shared / "data" / "joint" / name
    x = pd.read_csv(folder / "env.csv").drop(columns=["site", *places])
    y = pd.read_csv(folder / "presence_absence.csv").drop(columns="site")
    part = np.random.default_rng(1).permutation(len(x)) % 3
    result = {"joint": [], "weak ridge": [], "ridge": []}
    for k in range(3):
        train, test = part != k, part == k
        seen = y.columns[y[train].nunique() > 1]
        labels = {here: y.loc[rows, seen].to_numpy(np.int8) for here, rows in (("train", train), ("test", test))}
        joint = JointModel().fit(x[train], y.loc[train, seen]).model_
        values = joint.encode(x)
        glm = [
            fit_glm(values[train], labels["train"], joint.encoder, tuple(seen), ridge=ridge) for ridge in (1e-3, 1.0)
        ]
        for key, model in zip(result, (joint, *glm)):
            result[key].append(measure_community(model, values[test], labels["test"]))
    mean = {key: pd.DataFrame(rows).mean() for key, rows in result.items()}
    for other in ("weak ridge", "ridge"):
        assert mean["joint"]["log loss"] < mean[other]["log loss"]
        assert mean["joint"]["auc"] > mean[other]["auc"] - 0.003


def test_visits_to_one_site_are_held_out_together_where_c_is_chosen(monkeypatch) -> None:
    """Noise that is the same at every visit: with visits on both sides, any C would seem to predict it."""
    seen = []
    before = tuning.Trials.draw_folds
    monkeypatch.setattr(tuning.Trials, "draw_folds", lambda trials: seen.append(before(trials)) or seen[-1])
    rng = np.random.default_rng(3)
    site = np.repeat(np.arange(20), 4)
    x, y = rng.normal(size=(20, 2))[site], (rng.random((20, 3)) < 0.5).astype(int)[site]
    JointModel("crf-l2", "none", "l", c="cv").fit(x, y, groups=[f"site {k}" for k in site])
    (folds,) = seen
    assert all(np.unique(folds[site == k]).size == 1 for k in range(20))
    assert np.unique(folds).size > 1
