"""`sdm predict MODEL points.csv`: the table again, with predictions and novelty beside its own columns."""

import csv
from pathlib import Path

import numpy as np
import pytest
import rasterio
from terminal import fail, files, model_answer, read, rows, succeed, write_table

from sdm import Maxent, load_model
from sdm.models.file import save_model


@pytest.fixture(scope="module")
def places(world, tmp_path_factory) -> tuple[Path, np.ndarray, np.ndarray]:
    """A table of cells with their coordinates, and where they are on the layers; one more is off the layers."""
    with rasterio.open(world.folder / "warmer" / "elevation.tif") as data:
        known = np.argwhere(~data.read(1, masked=True).mask)[::97]
        x, y = data.xy(known[:, 0], known[:, 1])
    body = [(f"plot {k}, north", "NA", a, b) for k, (a, b) in enumerate(zip(x, y))]
    table = write_table(tmp_path_factory.mktemp("t") / "p.csv", ("plot", "note", "longitude", "latitude"), body)
    with table.open("a") as out:
        out.write("\nfar,,0.0,89.0\n")
    return table, known[:, 0], known[:, 1]


def cells_of(path: Path, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(path.read_text().splitlines(), delimiter=delimiter))


def with_variables(world, names, places, path: Path, change=str) -> Path:
    table, row, col = places
    own = cells_of(table)[1:-2]
    bands = [
        read(world.folder / "warmer" / f"{name}.tif")[row, col].astype(float).filled(-1).tolist() for name in names
    ]
    body = [[*cells, *map(change, values)] for cells, values in zip(own, zip(*bands))]
    return write_table(path, ("plot", "note", "longitude", "latitude", *names), body)


def test_values_of_layers_and_of_columns_give_the_values_of_the_map(fit, world, places, tmp_path: Path) -> None:
    table, row, col = places
    warmer = world.folder / "warmer"
    succeed("predict", fit.model, warmer, "--novelty", "mess,exdet,mop,limiting", "-o", tmp_path / "map.tif")
    words = ("--novelty", "mess,exdet,mop,limiting")
    found = model_answer("predict", fit.model, table, "--layers", warmer, *words, "-o", tmp_path / "a.csv")
    names = load_model(fit.model).names
    own = with_variables(world, names, places, tmp_path / "own.csv")
    succeed("predict", fit.model, own, *words, "-o", tmp_path / "b.csv")
    mine = cells_of(table)
    first = cells_of(tmp_path / "a.csv")
    assert [line[:4] for line in first] == [line for line in mine if line], "the user's columns are as they were"
    assert first[-1][4:] == [""] * 8
    for out in (rows(tmp_path / "a.csv")[:-1], rows(tmp_path / "b.csv")):
        for name, end in {"cloglog": "", "mess": "_mess", "exdet": "_exdet", "mop": "_mop"}.items():
            band = read(tmp_path / f"map{end}.tif")[row, col]
            np.testing.assert_allclose([float(line[name]) for line in out], band, rtol=1e-5, err_msg=name)
        for name in ("mod", "limiting"):
            numbers = read(tmp_path / f"map_{name}.tif")[row, col]
            assert [line[name] for line in out] == ["" if k == 0 else names[k - 1] for k in numbers]
    outside = sum(read(tmp_path / "map_mess.tif")[row, col] < 0)
    assert (found["rows"], found["predicted"]) == (len(row) + 1, len(row))
    assert found["outside"]["rows"] == outside > 0
    assert any("1 of" in text and "no prediction" in text for text in found["notices"])


def test_decimal_commas_and_semicolons_stay(fit, world, places, tmp_path: Path) -> None:
    names = load_model(fit.model).names
    plain = with_variables(world, names, places, tmp_path / "plain.csv")
    lines = [
        ";".join(cell.replace(".", ",") if k > 1 else cell for k, cell in enumerate(line)) for line in cells_of(plain)
    ]
    (tmp_path / "comma.csv").write_text("\n".join(lines) + "\n")
    for name in ("plain", "comma"):
        succeed("predict", fit.model, tmp_path / f"{name}.csv", "--scale", "raw", "-o", tmp_path / f"{name}_out.csv")
    written = cells_of(tmp_path / "comma_out.csv", ";")
    assert [";".join(line[:-1]) for line in written] == lines
    expected = [line["raw"] for line in rows(tmp_path / "plain_out.csv")]
    assert [line[-1].replace(",", ".") for line in written[1:]] == expected


def test_extrapolation_of_rows(fit, world, places, tmp_path: Path) -> None:
    table = places[0]
    values = {}
    for word in ("clamp", "free", "none", "fade", "lower"):
        words = ("--layers", world.folder / "warmer", "--extrapolation", word, "--novelty", "mess,clamping")
        succeed("predict", fit.model, table, *words, "-o", tmp_path / f"{word}.csv")
        values[word] = [line["cloglog"] for line in rows(tmp_path / f"{word}.csv")]
    mess = [line["mess"] for line in rows(tmp_path / "clamp.csv")]
    outside = [bool(text) and float(text) < 0 for text in mess]
    expected = ["" if out else text for out, text in zip(outside, values["clamp"])]
    assert values["none"] == expected != values["clamp"]
    for clamped, free, faded, lower, line in zip(
        *(values[w][:-1] for w in ("clamp", "free", "fade", "lower")), rows(tmp_path / "free.csv")
    ):
        effect = abs(float(clamped) - float(free))
        assert float(faded) == pytest.approx(max(float(clamped) - effect, 0), abs=1e-7)
        assert float(lower) == min(float(clamped), float(free))
        assert float(line["clamping"]) == pytest.approx(effect, abs=1e-6)


def test_text_categories_and_missing_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    columns = {"heat": rng.normal(size=90), "soil": rng.choice(["clay", "sand"], 90)}
    model = Maxent("l", categorical=["soil"]).fit(columns, np.repeat([1, 0], [30, 60])).model_
    save_model(model, tmp_path / "m.npz")
    body = [(0.5, "clay"), ("", "sand"), (0.1, "peat"), (9.0, "sand"), (0.1, "")]
    table = write_table(tmp_path / "t.csv", ("heat", "soil"), body)
    found = model_answer("predict", tmp_path / "m.npz", table, "--novelty", "mess", "-o", tmp_path / "out.csv")
    out = rows(tmp_path / "out.csv")
    assert [line["cloglog"] == "" for line in out] == [False, True, False, False, True]
    assert [line["mod"] for line in out[2:4]] == ["soil", "heat"]
    assert float(out[2]["mess"]) == -100
    assert float(out[0]["cloglog"]) == pytest.approx(model.predict({"heat": [0.5], "soil": ["clay"]})[0])
    assert found["outside"]["unseen_categories"]["soil"]["rows"] == 1
    assert found["outside"]["variables"]["heat"]["rows"] == 1


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("-o", "out.tif"), 2, "is a table, and so are its predictions: expected -o FILE.csv"),
        (("-o", "out.csv", "--threshold", "10p"), 2, "--threshold does not apply to predictions for a table"),
        (("-o", "out.csv"), 1, "has no column 'elevation'"),
        (("-o", "points.csv", "--overwrite"), 2, "is the table itself"),
        (("-o", "out.csv", "--scale", "percent"), 2, "--scale percent: expected one of"),
    ],
)
def test_mistakes_with_tables(fit, places, tmp_path: Path, monkeypatch, words, code: int, part: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "points.csv").write_bytes(places[0].read_bytes())
    assert part in fail("predict", fit.model, "points.csv", *words, code=code)
    assert files(tmp_path) == ["points.csv"]


def test_nothing_is_overwritten_unasked_and_layers_are_no_points(fit, world, places, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("mine")
    words = ("predict", fit.model, places[0], "--layers", world.layers, "-o", tmp_path / "out.csv")
    assert "--overwrite" in fail(*words)
    assert (tmp_path / "out.csv").read_text() == "mine"
    succeed(*words, "--overwrite")
    assert len(rows(tmp_path / "out.csv")) == len(rows(places[0]))
    assert "apply to a table of points" in fail(
        "predict", fit.model, world.layers, "--layers", world.layers, "-o", tmp_path / "m.tif", code=2
    )
