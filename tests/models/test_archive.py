"""Archives are plain zips, the same bytes for the same content."""

import io
import zipfile

import numpy as np
import pytest

from sdm.storage.archive import LEVEL, Archive

ARCHIVE = Archive("sdm-test", 1, "test.json", "test file")


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_archive_is_what_zipfile_writes() -> None:
    content = ARCHIVE.pack({"a": 1}, {"weights": np.linspace(0, 1, 999), "empty": np.empty(0)})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in unzipped(content).items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, body, compresslevel=LEVEL)
    assert out.getvalue() == content


@pytest.mark.parametrize("shape", [(3, 6000), (3, 5000), (2, 10), (0, 4), (4, 0), (7000,)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_come_back_as_they_were(tmp_path, shape, dtype) -> None:
    rows = np.random.default_rng(1).normal(size=shape).astype(dtype)
    first, again = (ARCHIVE.pack({}, {}, {"rows": rows}) for _ in range(2))
    assert first == again
    path = tmp_path / "rows.npz"
    path.write_bytes(first)
    remaining = ARCHIVE.load(path, ["rows"], lambda _, arrays: arrays["rows"])
    assert remaining.dtype == dtype
    np.testing.assert_array_equal(remaining, rows)
    np.testing.assert_array_equal(np.load(path)["rows"], rows)
