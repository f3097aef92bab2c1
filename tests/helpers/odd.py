"""Odd inputs: bytes that were damaged, and files that are well-formed but hold what nobody would write."""

import csv
import io
import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import rasterio
import yaml
from rasterio.crs import CRS

from sdm.storage.archive import digest

WORDS = (
    *("", " ", "nan", "NaN", "inf", "-inf", "1e308", "-1e308", "1e300", "1e-300", "-1", "0", "-0", "0.5", "x", "é漢"),
    *("=1+1", "+1", "@SUM(A1)", "-2+3", "\x1b[31mred\x1b[0m", "a\nb", "a\tb", "a;b", '"', "'", "../../x", "/dev/null"),
    *("9" * 5000, "x" * 3000, "true", "null", "[]", "{}", "1,2", "1e5", "0x10", "1_000", "2001-02-30", "%s", "{0}"),
    *("EPSG:4326", "EPSG:999999", "LOCAL_CS[]", "l", "lqpht", "trees:2", "trees:0", "mono:9", "all", "auto", "cv"),
    *("🦥", "~", "a:b:c"),
)
_NUMBERS = (0, -1, 1, 0.5, 10**30, -(10**30), 1e308, float("nan"), float("inf"))
VALUES: tuple[Any, ...] = (None, True, False, *_NUMBERS, [], {}, [[]], [None], {"a": 1}, *WORDS)
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi")
)
YAMLS = (
    *(BOMB, "&a [*a]", "fit: &a {b: *a}", "[" * 5000, "{a: " * 3000, "seed: " + "7" * 5000, "- 1\n- 2"),
    "!!python/object:os.system x",
)


def damage(content: bytes, rng: Random) -> bytes:
    """Return bytes that were cut off, flipped, filled, repeated, replaced or taken away."""
    body, size = bytearray(content), max(1, len(content))
    at, length = rng.randrange(size), rng.randint(1, max(1, size // 4))
    way = rng.randrange(8)
    if way == 0:
        return bytes(body[:at])
    if way == 1:
        for _ in range(rng.choice((1, 1, 3, 30))):
            if body:
                body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
    elif way == 2:
        body[at : at + length] = bytes(len(body[at : at + length]))
    elif way == 3:
        body[at : at + length] = rng.randbytes(len(body[at : at + length]))
    elif way == 4:
        body[at:at] = body[at : at + length] * rng.randint(1, 3)
    elif way == 5:
        del body[at : at + length]
    elif way == 6:
        return rng.choice((b"", b"\0" * 5000, rng.randbytes(3000), b"PK\x03\x04" + bytes(60), b"\xff\xfe" + content))
    else:
        body[at:at] = rng.choice((b"\0", b"\r\n", b'"', b"\xff", b"\x1b[2J", b",,,,"))
    return bytes(body)


def odd_table(content: bytes, rng: Random) -> bytes:
    """Change cells, rows or columns of a CSV table."""
    rows = list(csv.reader(io.StringIO(content.decode())))
    for _ in range(rng.choice((1, 1, 2, 8))):
        row, column = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
        way = rng.randrange(7)
        if way < 3:
            rows[row % len(rows)][column % len(rows[row])] = rng.choice(WORDS)
        elif way == 3:  # a whole column
            word = rng.choice(WORDS)
            rows = [rows[0], *([*r[:column], word, *r[column + 1 :]] for r in rows[1:])]
        elif way == 4:
            rows = [r[:column] + r[column + 1 :] for r in rows] if len(rows[0]) > 1 else rows
        elif way == 5:
            rows = rows[: rng.choice((1, 2, 3, 6))]
        else:
            rows[0][column] = rng.choice(rows[0])
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue().encode()


def odd_tree(tree: Any, rng: Random) -> Any:
    """Put something odd at a random place of a tree of dictionaries and lists."""
    if rng.random() < 0.25 or not isinstance(tree, dict | list) or not tree:
        return rng.choice(VALUES)
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = rng.choice(keys)
    tree[key] = odd_tree(tree[key], rng)
    if isinstance(tree, dict) and rng.random() < 0.1:
        del tree[key]
    return tree


def odd_yaml(content: bytes, rng: Random) -> bytes:
    """Change a run file."""
    if rng.random() < 0.3:
        return rng.choice(YAMLS).encode()
    return yaml.safe_dump(odd_tree(yaml.safe_load(content), rng), allow_unicode=True).encode()


def odd_json(content: bytes, rng: Random) -> bytes:
    """Change stored numbers."""
    if rng.random() < 0.1:
        return rng.choice((b"[" * 100_000, b'{"species": ' + b"9" * 6000 + b"}", b"NaN", b"[]", b"null"))
    return json.dumps(odd_tree(json.loads(content), rng)).encode()


def odd_model(content: bytes, rng: Random) -> bytes:
    """Change the header or an array of a model file, and make its digest right again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (title,) = (name for name in parts if name.endswith(".json"))
    header = json.loads(parts.pop(title))
    arrays = {name: np.load(io.BytesIO(body)) for name, body in parts.items()}
    if rng.random() < 0.5:
        header = odd_tree(header, rng)
    else:
        name = rng.choice(list(arrays))
        arrays[name] = _odd_array(arrays[name], rng)
    if isinstance(header, dict):
        header["digest"] = digest(header, {name.removesuffix(".npy"): array for name, array in arrays.items()})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(title, json.dumps(header))
        for name, array in arrays.items():
            body = io.BytesIO()
            np.save(body, array)
            archive.writestr(name, body.getvalue())
    return out.getvalue()


def _odd_array(array: np.ndarray, rng: Random) -> np.ndarray:
    way = rng.randrange(6)
    if way == 0:
        return np.zeros((3_000_000, *array.shape[1:]), array.dtype)
    if way == 1:
        return array[:-1] if array.ndim else array
    if way == 2:
        return array.astype(rng.choice(["float32", "int64", "complex128", "U5", "float64"]))
    if way == 3:
        return array.reshape(-1, 1) if rng.random() < 0.5 else np.array(7)
    array = array.copy()
    if array.size:
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = rng.choice(
                (-1, 0, 120) if array.dtype.kind in "iu" else (np.nan, np.inf, 1e308, -1e300, 1e-308)
            )
    return array


def odd_raster(path: Path, rng: Random) -> None:
    """Write a layer anew with an odd type, grid, reference system or values."""
    with rasterio.open(path) as source:
        profile, band = dict(source.profile), source.read(1)
    shift = rng.choice((0.0, 1e-9, 1e6))
    t, cells = profile["transform"], rasterio.Affine
    grids = (
        *(cells(0, 0, t.c, 0, 0, t.f), cells(t.a, 0, t.c, 0, -t.e, t.f), cells(-t.a, 0, t.c, 0, t.e, t.f)),
        *(cells(t.a, 1, t.c, 1, t.e, t.f), cells(1e-300, 0, t.c, 0, -1e-300, t.f), cells(1e300, 0, 0, 0, -1e300, 0)),
        cells(t.a, 0, t.c + shift, 0, t.e, t.f),
    )
    tiles = {"width": 3_000, "height": 3_000, "tiled": True, "blockxsize": 512, "blockysize": 512, "sparse_ok": "TRUE"}
    ways: list[dict[str, Any]] = [
        *({"dtype": kind} for kind in ("complex64", "complex128", "float64")),
        *({"dtype": kind, "nodata": None} for kind in ("int8", "uint32", "int64")),
        *({"transform": grid} for grid in grids),
        *({"crs": crs} for crs in (None, "EPSG:3035", "EPSG:4978", CRS.from_wkt('LOCAL_CS["mine",UNIT["metre",1]]'))),
        *({"values": value} for value in (np.inf, 1e38, 7.0, -9999.0, np.nan)),
        *({"dtype": "float32", "nodata": float("nan")}, {"count": 3}, tiles),
    ]
    change = rng.choice(ways)
    value = change.pop("values", None)
    profile.update(change)
    if "width" in change:
        profile |= {"compress": "deflate", "bigtiff": "YES"}
    with np.errstate(all="ignore"), rasterio.open(path, "w", **profile) as out:
        if "width" not in change:
            band = band if value is None else np.full(band.shape, value)
            for k in range(profile["count"]):
                out.write(band.astype(profile["dtype"]), k + 1)


def odd_zip(path: Path, rng: Random) -> Path:
    """Pack a table, in a way that a reader does not expect."""
    packed, content = path.with_suffix(".zip"), path.read_bytes()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        way = rng.randrange(5)
        if way == 0:
            with archive.open(path.name, "w", force_zip64=True) as out:
                for _ in range(300):
                    out.write(b"0" * (1 << 20))
        else:
            archive.writestr(path.name, content)
            if way == 1:
                archive.writestr("other.csv", content)
    body = bytearray(packed.read_bytes())
    if way == 2:  # says that it is encrypted
        body[6] |= 1
        body[body.rindex(b"PK\x01\x02") + 8] |= 1
    if way == 3:  # packed by a method that nobody knows
        body[8] = 77
        body[body.rindex(b"PK\x01\x02") + 10] = 77
    packed.write_bytes(bytes(body) if way < 4 else damage(bytes(body), rng))
    return packed
