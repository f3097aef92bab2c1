"""The environment that a model was fitted to: every kind keeps it, and files keep it exactly."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sdm import Committee, ConditionalMaxent, JointModel, Maxent, StructMaxent, load_model
from sdm.errors import ModelFileError
from sdm.models.file import save_model
from sdm.models.species import Model
from sdm.novelty.reference import ROWS, reference_rows

EARLIER = Path(__file__).parent / "earlier"


def table(n: int = 300, seed: int = 1):
    """Three variables, the last one of categories, and labels."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=n), rng.gamma(2.0, size=n), rng.choice([2.0, 5.0, 7.0], n)])
    return x, (rng.random(n) < 0.3).astype(int)


def species(kind: type = Maxent, **settings):
    x, y = table()
    return kind(categorical=["x2"], **settings).fit(x, y).model_, x, [y == 1]


def classes():
    x, y = table()
    words = np.where(y == 1, "bog", "forest")
    return ConditionalMaxent("l", categorical=["x2"]).fit(x, words).model_, x, [words == "bog", words == "forest"]


def community():
    x, y = table()
    labels = np.column_stack([y, 1 - y, np.random.default_rng(2).integers(0, 2, len(y))])
    return JointModel("crf-l2", features="l", c=1.0, categorical=["x2"]).fit(x, labels).model_, x, list(labels.T == 1)


KINDS = {
    "species": lambda: species(features="lq"),
    "temperature": lambda: species(features="lq", temperature=0.5),
    "committee": lambda: species(Committee),
    "structural": lambda: species(StructMaxent, families="l,trees:2", lam=0.1, beta=0.1),
    "classes": classes,
    "community": community,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_knows_its_training_environment_and_so_does_its_file(kind: str, tmp_path: Path) -> None:
    model, x, groups = KINDS[kind]()
    again = load_model(save_model(model, tmp_path / "m.npz"))
    for reference in (model.reference, again.reference):
        expected = x if kind in ("classes", "community") else np.vstack([x[~groups[0]], x[groups[0]]])
        assert reference.categorical == (False, False, True)
        np.testing.assert_array_equal(reference.values, expected)
        for typical, group in zip(reference.typical, groups, strict=True):
            np.testing.assert_allclose(typical[:2], x[group, :2].mean(axis=0))
            kinds, counts = np.unique(x[group, 2], return_counts=True)
            assert typical[2] == kinds[counts.argmax()]
    assert again.to_bytes() == model.to_bytes() == (tmp_path / "m.npz").read_bytes()


def test_values_that_single_precision_holds_take_half_the_room() -> None:
    x, y = table()
    exact, rounded = Maxent("l").fit(x, y).model_, Maxent("l").fit(x.astype(np.float32).astype(np.float64), y).model_
    assert exact.reference.to_arrays()["reference"].dtype == np.float64
    assert rounded.reference.to_arrays()["reference"].dtype == np.float32


def test_of_many_places_some_are_kept_with_the_exact_ranges_and_all_categories() -> None:
    rng = np.random.default_rng(3)
    n = 3 * ROWS
    x = np.column_stack([rng.normal(size=n), rng.normal(size=n), np.where(np.arange(n) < 4, np.arange(n), 9.0)])
    y = np.zeros(n, dtype=int)
    y[-50:] = 1
    model = Maxent("l", categorical=["x2"]).fit(x, y).model_
    reference = model.reference
    assert ROWS <= len(reference.values) <= ROWS + 10
    np.testing.assert_array_equal(reference.low, x.min(axis=0))
    np.testing.assert_array_equal(reference.high, x.max(axis=0))
    assert reference.classes(2).tolist() == [0, 1, 2, 3, 9]
    assert abs(reference.values[:, 0].mean()) < 0.05, "the others are a sample of all"
    assert Maxent("l", categorical=["x2"]).fit(x, y).model_.to_bytes() == model.to_bytes()


def test_many_variables_are_kept_at_fewer_places() -> None:
    ranks = np.random.default_rng(4).normal(size=(200, 20_000))
    rows = reference_rows(ranks, [False] * 200)
    assert len(rows) * 200 * 8 < 10 << 20
    np.testing.assert_array_equal(ranks[:, rows].min(axis=1), ranks.min(axis=1))


@pytest.mark.parametrize("name", ["species", "structural", "classify", "response", "joint"])
def test_earlier_files_have_none_and_stay_files_that_earlier_programs_open(name: str, tmp_path: Path) -> None:
    model = load_model(EARLIER / f"{name}.npz")
    again = load_model(save_model(model, tmp_path / "m.npz"))
    assert model.reference is again.reference is None
    with zipfile.ZipFile(tmp_path / "m.npz") as archive:
        assert json.loads(archive.read(model.archive.header))["version"] == model.archive.version


def test_the_name_of_a_model_does_not_depend_on_it(tmp_path: Path) -> None:
    """Maps say by which model they were made; one that predicts the same is the same."""
    model, x, _ = species()
    bare = Model.from_file(*model.to_file())
    assert bare.reference is None
    assert bare.identity == model.identity
    np.testing.assert_array_equal(bare.predict(x), model.predict(x))


def test_the_name_of_a_model_does_not_depend_on_how_it_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other versions of zlib, and of this program, deflate otherwise."""
    model, _, _ = species()
    name, content = model.identity, model.to_bytes()
    monkeypatch.setattr("sdm.storage.archive.LEVEL", 0)
    assert model.identity == name
    assert len(model.to_bytes()) > len(content)
    other = replace(model, terms=replace(model.terms, weight=model.terms.weight * 2))
    assert other.identity != name


@pytest.mark.parametrize(
    "broken",
    [
        {"reference": np.zeros((2, 5))},
        {"reference": np.zeros((3, 0))},
        {"reference": np.full((3, 5), np.nan)},
        {"reference": np.zeros((3, 5), dtype=np.int64)},
        {"reference": np.zeros((3, 5)), "reference_typical": np.zeros((2, 3))},
    ],
)
def test_a_reference_that_no_fit_writes_is_refused(broken: dict, tmp_path: Path) -> None:
    model, _, _ = species(features="l")
    (tmp_path / "m.npz").write_bytes(model.archive.pack(*model.to_file(), broken))
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "m.npz")
