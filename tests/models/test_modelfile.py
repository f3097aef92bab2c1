"""Model files: a model comes back as it was, the same fit gives the same bytes, and no file can do harm."""

import contextlib
import io
import json
import os
import stat
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from sdm import Committee, ConditionalMaxent, JointModel, Maxent, StructMaxent, load_model, save_model
from sdm.errors import DataError, ModelFileError, OutputError
from sdm.models.species import SCALES, Model
from sdm.storage.archive import Archive, digest, format_of

FIT = """
import sys
import numpy as np
import pandas as pd
from sdm import Maxent
rng = np.random.default_rng(5)
soil = rng.choice(["clay", "peat", "sand"], 150)
x = pd.DataFrame({"heat": rng.normal(size=150), "rain": rng.random(150), "soil": soil})
y = np.repeat([1, 0], [40, 110])
model = Maxent("lqpht", knots=6, categorical=["soil"]).fit(x, y)
"""


def fit():
    scope: dict = {}
    exec(FIT, scope)  # noqa: S102 - the text above, which another process runs too
    return scope["model"], scope["x"]


@pytest.fixture(scope="module")
def fitted():
    return fit()


@pytest.fixture(scope="module")
def content(fitted):
    return fitted[0].model_.to_bytes()


def refused(path, match="."):
    """Loading fails in one line that names the file."""
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)


def test_a_model_comes_back_as_it_was(fitted, tmp_path):
    model, x = fitted
    model.save(tmp_path / "a.npz")
    again = load_model(tmp_path / "a.npz")
    encoded = model._data.encoder.encode(x)
    for scale in SCALES:
        np.testing.assert_array_equal(again.predict(encoded, scale), model.predict(x, scale))
    assert again.meta == model.model_.meta
    assert again.variables == model.model_.variables
    assert again.feature_names == model.model_.feature_names


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("multiplier", [1.0, 1e6])
def test_every_kind_of_model_can_be_saved(alpha, multiplier, tmp_path):
    """Also one without any weight left."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 2)), np.repeat([1, 0], [20, 60])
    model = Maxent("lq", entropy=alpha, multiplier=multiplier, beta=[0.1, 0.2, 0.1, 0.3]).fit(x, y)
    save_model(model.model_, tmp_path / "b.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "b.npz").predict(x), model.predict(x))


def test_the_same_fit_gives_the_same_bytes(content):
    assert fit()[0].model_.to_bytes() == content


@pytest.mark.thorough
def test_the_same_fit_in_another_process_gives_the_same_bytes(content, tmp_path):
    """Results can be checked by a digest, on another day."""
    path = tmp_path / "c.npz"
    code = FIT + f"model.save({str(path)!r})"
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert path.read_bytes() == content


def test_numpy_can_open_it_without_pickle(content):
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        assert arrays["terms_weight"].size > 0


def test_nothing_is_overwritten_unless_asked(fitted, tmp_path):
    path = tmp_path / "model.npz"
    path.write_text("precious")
    with pytest.raises(OutputError, match="exists already"):
        fitted[0].save(path)
    assert path.read_text() == "precious"
    fitted[0].save(path, overwrite=True)
    load_model(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.npz"]


def test_others_may_read_what_was_saved(fitted, tmp_path):
    fitted[0].save(tmp_path / "model.npz")
    assert stat.S_IMODE((tmp_path / "model.npz").stat().st_mode) & 0o444 == 0o444


def test_nothing_is_left_behind_when_writing_fails(fitted, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        fitted[0].save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def interrupted_at(moment, action):
    """Run an action with Ctrl-C at the `moment`-th line of the archive's or zipfile's code; tell whether it came."""
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if Path(frame.f_code.co_filename).name not in ("archive.py", "zipfile.py") or frame.f_code.co_name == "__del__":
            return None
        if event == "line":
            lines += 1
            if lines == moment:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # within the constructor of ZipFile
def test_an_interrupt_while_a_file_is_packed_is_an_interrupt():
    """Zipfile refuses to be closed in the middle of an entry: its refusal may not take the interrupt's place."""
    archive, moment = Archive("sdm-test", 1, "test.json", "test file"), 1
    while interrupted_at(moment, lambda: archive.pack({"name": "x"}, {"a": np.arange(3.0)})):
        moment += 1
    assert moment > 100


def test_a_folder_that_is_not_there(fitted, tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        fitted[0].save(tmp_path / "nowhere" / "model.npz")


def test_a_file_that_is_not_there(tmp_path):
    refused(tmp_path / "gone.npz", "does not exist")


def test_a_folder_in_place_of_a_file(tmp_path):
    refused(tmp_path)


@pytest.mark.parametrize("text", [b"", b"hello", b"PK\x03\x04", b"\x80\x04\x95", b"\x00" * 5000])
def test_what_is_no_zip(text, tmp_path):
    path = tmp_path / "d.npz"
    path.write_bytes(text)
    refused(path, "not a readable model file")


def test_cut_off_anywhere(content, tmp_path):
    path = tmp_path / "e.npz"
    for size in sorted({*range(0, len(content), 97), *range(len(content) - 60, len(content))}):
        path.write_bytes(content[:size])
        refused(path)


@given(st.data())
def test_any_byte_changed(content, tmp_path_factory, data):
    """Either it is refused, or the byte did not matter (a date, an attribute) and the model is the same."""
    at = data.draw(st.integers(0, len(content) - 1))
    bits = data.draw(st.integers(1, 255))
    changed = bytearray(content)
    changed[at] ^= bits
    path = tmp_path_factory.getbasetemp() / "f.npz"
    path.write_bytes(changed)
    with contextlib.suppress(ModelFileError):
        assert load_model(path).to_bytes() == content


def rewrite(content, path, changes=None, header=(), sign=False):
    """Write a model file with entries replaced, or its header edited (and, if asked, signed again)."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries.update(changes or {})
    record = json.loads(entries["model.json"]) | dict(header) if header or sign else {}
    if sign:
        arrays = {n.removesuffix(".npy"): np.load(io.BytesIO(b)) for n, b in entries.items() if n.endswith(".npy")}
        record["digest"] = digest(record, arrays)
    if header or sign:
        entries["model.json"] = json.dumps(record).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in entries.items():
            archive.writestr(name, body)
    return path


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


def test_an_edited_header_is_noticed(content, tmp_path):
    refused(rewrite(content, tmp_path / "g.npz", header={"prevalence": 0.9}), "modified after it was written")


def test_edited_weights_are_noticed(content, tmp_path):
    with np.load(io.BytesIO(content)) as arrays:
        weight = arrays["terms_weight"] * 2
    refused(rewrite(content, tmp_path / "h.npz", {"terms_weight.npy": npy(weight)}), "modified after it was written")


def test_a_newer_version_says_to_update(content, tmp_path):
    path = rewrite(content, tmp_path / "i.npz", header={"version": Model.archive.newest + 1}, sign=True)
    refused(path, f"format {Model.archive.newest + 1}, and this version reads up to {Model.archive.newest}: update sdm")


@pytest.mark.parametrize(
    "header",
    [b"[]", b"null", b'"x"', b"{", b"\xff\xfe", b"[" * 100_000, b'{"format": "sdm-model"}', b'{"format": "other"}'],
)
def test_a_header_that_is_none(header, content, tmp_path):
    refused(rewrite(content, tmp_path / "j.npz", {"model.json": header}))


def test_entries_that_are_missing(content, tmp_path):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        for left_out in names:
            path = tmp_path / "k.npz"
            with zipfile.ZipFile(path, "w") as out:
                for name in names:
                    if name != left_out:
                        out.writestr(name, archive.read(name))
            refused(path)


def test_pickled_objects_are_never_opened(content, tmp_path):
    """A model file comes by e-mail from a stranger."""

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    body = npy(np.array([Trap()], dtype=object), allow_pickle=True)
    refused(rewrite(content, tmp_path / "l.npz", {"terms_weight.npy": body}))
    assert not (tmp_path / "sprung").exists()


def bomb(path, name, said):
    """A zip whose one entry unpacks to twenty million bytes, and says that it is `said` bytes long."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(20_000_000))
    path.write_bytes(path.read_bytes().replace((20_000_000).to_bytes(4, "little"), said.to_bytes(4, "little")))
    return path


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    refused(bomb(tmp_path / "m.npz", "terms_weight.npy", 2_000_000_000), "more than 64 MB")


def test_a_zip_bomb_that_lies_about_its_size_is_unpacked_no_further(tmp_path):
    """Its entry says 100 bytes, and holds twenty million: python's own reader would unpack them all."""
    path = bomb(tmp_path / "n.npz", "model.json", 100)
    tracemalloc.start()
    refused(path)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_an_array_that_claims_to_be_huge(content, tmp_path):
    body = npy(np.zeros(1)).replace(b"(1,)", b"(99999999999999,)".ljust(4))
    refused(rewrite(content, tmp_path / "o.npz", {"terms_weight.npy": body}))


@pytest.mark.parametrize(
    "name, change",
    [
        ("terms_kind", lambda a: a + 50),
        ("terms_var", lambda a: a + 50),
        ("terms_var", lambda a: a.astype(np.float64) + 0.5),
        ("terms_other", lambda a: np.full_like(a, -1)),
        ("terms_other", lambda a: a - 70),
        ("terms_weight", lambda a: a * np.nan),
        ("terms_weight", lambda a: a[:-1]),
        ("terms_weight", lambda a: a.astype("U20")),
        ("terms_weight", lambda a: a.reshape(1, -1)),
        ("terms_hi", lambda a: np.zeros_like(a)),
        ("terms_lo", lambda a: a * np.inf),
        ("cumulative", lambda a: a[:, :1]),
        ("cumulative", lambda a: a[::-1]),
    ],
)
def test_values_that_no_fit_writes_even_if_signed(name, change, content, tmp_path):
    """The digest is no secret: what would make a kernel read beyond an array has to be checked by itself."""
    with np.load(io.BytesIO(content)) as arrays, np.errstate(all="ignore"):
        body = npy(np.ascontiguousarray(change(arrays[name])))
    refused(rewrite(content, tmp_path / "p.npz", {f"{name}.npy": body}, sign=True), "damaged")


@pytest.mark.parametrize(
    "header",
    [
        {"alpha": 3.0}, {"alpha": "1"}, {"tau": None}, {"tau": np.nan}, {"n_domain": 0}, {"entropy": np.inf},
        {"prevalence": 1.5}, {"unseen": "maybe"}, {"meta": []}, {"variables": []}, {"variables": [{"name": "x"}]},
        {"meta": {"thresholds": {"mtp": "low"}}}, {"meta": {"thresholds": {"mtp": None}}}, {"meta": {"thresholds": []}},
        {"meta": {"gap": "small"}}, {"meta": {"presences": [3]}},
    ],
)  # fmt: skip
def test_headers_that_no_fit_writes_even_if_signed(header, content, tmp_path):
    refused(rewrite(content, tmp_path / "q.npz", header=header, sign=True), "damaged")


@given(seeds)
def test_random_fits_round_trip(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=60), rng.integers(0, 4, 60)])
    model = Maxent("lqpht", knots=4, categorical=[1], entropy=float(rng.choice([1.0, 1.5, 2.0])))
    model.fit(x, np.repeat([1, 0], [20, 40]))
    path = Path(tmp_path_factory.getbasetemp() / "r.npz")
    model.save(path, overwrite=True)
    elsewhere = np.column_stack([3 * rng.normal(size=50), rng.integers(-1, 6, 50)])
    for clamp in (True, False):
        np.testing.assert_array_equal(
            load_model(path).predict(elsewhere, clamp=clamp), model.predict(elsewhere, clamp=clamp)
        )


def test_what_a_file_is_can_be_told_without_loading_it(content, tmp_path):
    path = tmp_path / "s.npz"
    path.write_bytes(content)
    assert format_of(path) == "sdm-model"
    for header in (b"[]", b"{", b'{"format": 3}'):
        assert format_of(rewrite(content, path, {"model.json": header})) is None
    assert format_of(bomb(path, "model.json", 2_000_000_000)) is None
    assert format_of(tmp_path / "gone.npz") is None


@pytest.mark.parametrize("kind", ["species", "committee", "structural", "classes", "joint"])
def test_every_kind_of_file_is_read_and_predicts_from_tables(kind, tmp_path):
    """`load_model(file).predict(data frame)`: columns by name, classes of text by label; else rows."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"heat": rng.normal(size=90), "soil": rng.choice(["clay", "peat", "sand"], 90)})
    y = (rng.random(90) < np.where(frame.heat > 0, 0.8, 0.2)).astype(int)
    estimator = {
        "species": Maxent("lq", categorical=["soil"]),
        "committee": Committee(categorical=["soil"]),
        "structural": StructMaxent("trees:2", 0.1, 0.05, categorical=["soil"]),
        "classes": ConditionalMaxent("lq", categorical=["soil"]),
        "joint": JointModel("crf-l2", categorical=["soil"]),
    }[kind]
    fitted = estimator.fit(frame, np.column_stack([y, 1 - y, y]) if kind == "joint" else y)
    fitted.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    expected = fitted.predict(frame)
    assert np.unique(expected).size > 1
    np.testing.assert_array_equal(loaded.predict(frame), expected)
    np.testing.assert_array_equal(loaded.predict(frame.assign(more=1)[["more", "soil", "heat"]]), expected)
    np.testing.assert_array_equal(loaded.predict({"soil": list(frame.soil), "heat": frame.heat}), expected)
    two = frame.iloc[:2]  # as many rows as variables
    np.testing.assert_array_equal(loaded.predict(two.to_numpy().tolist()), expected[:2])
    codes = loaded.encoder.encode(two)
    np.testing.assert_array_equal(loaded.predict(codes), expected[:2])
    np.testing.assert_array_equal(loaded.predict(codes.tolist()), expected[:2])
    with pytest.raises(DataError, match=r"the table has 3 columns, expected 2 \(heat, soil\): give one row per point"):
        loaded.predict(np.zeros((2, 3)))
    with pytest.raises(DataError, match="no column 'heat'; it has soil"):
        loaded.predict(frame[["soil"]])


def test_a_file_that_could_not_be_read_again_is_not_written():
    with pytest.raises(OutputError, match="has 40 MB of weights, expected at most 32"):
        Model.archive.pack({}, {"weights": np.zeros(5 << 20)})
