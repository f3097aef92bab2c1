"""Over groups of scenarios: maps, agreement and variance by source, and what `--over` changes."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from projection.futures import GCMS, PERIODS, SSPS, Futures, Models, numbers, project
from terminal import read, rows, succeed

from sdm import load_model
from sdm.models.file import save_model


@pytest.fixture(scope="module")
def whole(world, models: Models, futures: Futures, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of one species in eight scenarios."""
    out = tmp_path_factory.mktemp("over") / "out"
    succeed(*project(models.pattern, "--scenarios", futures.pattern, "--reference", world.layers, "-o", out))
    return out


def stacked(out: Path, names: list[str], end: str = "") -> np.ma.MaskedArray:
    """The maps of some scenarios and models, by their titles: `<scenario> <species>_<multiplier>`."""
    pairs = (name.split() for name in names)
    return np.ma.stack([read(out / scenario / f"{stem}{end}.tif") for scenario, stem in pairs])


@pytest.mark.thorough
def test_climate_models_and_models_are_averaged_over(whole: Path, models: Models) -> None:
    stem = models.species.stem
    found = numbers(whole, stem)
    assert found["fields"] == ["gcm", "ssp", "period", "multiplier"]
    assert len(found["scenarios"]) == 16
    assert [group["title"] for group in found["across"]] == ["_".join(p) for p in itertools.product(SSPS, PERIODS)]
    for group in found["across"]:
        assert (group["over"], group["cases"]) == (["gcm", "multiplier"], 4)
        names = [f"{gcm}_{group['title']} {stem}_{m}" for gcm in GCMS for m in (1, 4)]
        maps = stacked(whole, names).astype(np.float64)
        for key, band in (
            ("mean", maps.mean(0)),
            ("sd", maps.std(0, ddof=1)),
            ("min", maps.min(0)),
            ("max", maps.max(0)),
        ):
            written = read(whole / group["files"][key])
            np.testing.assert_allclose(written.filled(np.nan), band.filled(np.nan), rtol=1e-5, atol=1e-7, err_msg=key)
            assert group["numbers"][key]["mean"] == pytest.approx(band.mean(), rel=1e-5)
        present = stacked(whole, names, "_maxsss").sum(axis=0)
        np.testing.assert_array_equal(read(whole / group["files"]["agreement"]).filled(255), present.filled(255))
        km2 = group["numbers"]["agreement"]
        assert list(km2) == ["0", "1", "2", "3", "4"]
        assert sum(km2.values()) == pytest.approx(found["scenarios"][0]["outside"]["of_km2"], rel=1e-9)


def test_variance_by_source_adds_up(whole: Path, models: Models) -> None:
    stem = models.species.stem
    variance = numbers(whole, stem)["variance"]
    assert variance["balanced"] is True
    sources = {row["source"]: row for row in variance["sources"]}
    assert {name: row["levels"] for name, row in sources.items()} == {
        "gcm": 2, "ssp": 2, "period": 2, "multiplier": 2, "rest": None,
    }  # fmt: skip
    assert sum(row["share"] for row in sources.values()) == pytest.approx(1, rel=1e-6)
    cases = list(itertools.product(GCMS, SSPS, PERIODS, (1, 4)))
    maps = stacked(whole, [f"{g}_{s}_{p} {stem}_{m}" for g, s, p, m in cases]).astype(np.float64)
    for k, name in enumerate(("gcm", "ssp", "period", "multiplier")):
        level = np.array([case[k] == cases[0][k] for case in cases])
        part = np.ma.stack([maps[level].mean(axis=0), maps[~level].mean(axis=0)]).var(axis=0)
        band = read(whole / sources[name]["file"])
        np.testing.assert_allclose(band.filled(np.nan), part.filled(np.nan), rtol=1e-3, atol=1e-8)
        assert sources[name]["share"] == pytest.approx(part.mean() / maps.var(axis=0).mean(), rel=0.01)  # areas differ


def test_over_any_field(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    words = ("--scenarios", futures.some(gcm="MIROC6"), "-o", tmp_path / "out", "--over", "ssp,period")
    succeed(*project(models.species, *words))
    (group,) = numbers(tmp_path / "out", models.species.stem)["across"]
    assert (group["over"], group["fields"], group["cases"]) == (["ssp", "period"], {}, 4)
    assert [Path(name).name for name in group["files"].values()] == [
        f"{models.species.stem}_all_{key}.tif" for key in ("mean", "sd", "min", "max", "agreement")
    ]


def test_models_are_a_source_without_a_reference_too(models: Models, futures: Futures, tmp_path: Path) -> None:
    words = ("--scenarios", futures.some(gcm="MIROC6", ssp="ssp126"), "-o", tmp_path / "out")
    succeed(*project(models.pattern, *words))
    found = numbers(tmp_path / "out", models.species.stem)
    assert [group["over"] for group in found["across"]] == [["multiplier"]] * 2
    assert [group["title"] for group in found["across"]] == ["2050", "2070"]
    assert found["reference"] is None
    assert all(case["change"] is None for case in found["scenarios"])


def test_a_design_with_gaps_is_told(models: Models, futures: Futures, tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    for name in futures.titles[:3]:
        (tmp_path / "some" / name).symlink_to(futures.folder / name)
    words = ("--scenarios", f"{tmp_path}/some/{{gcm}}_{{ssp}}_{{period}}", "-o", tmp_path / "out")
    said = succeed(*project(models.species, *words)).output
    assert "some combinations are missing, so shares may overlap" in said
    assert numbers(tmp_path / "out", models.species.stem)["variance"]["balanced"] is False


def test_folders_without_fields_are_averaged_all(models: Models, futures: Futures, tmp_path: Path) -> None:
    places = [word for name in futures.titles[:3] for word in ("--scenarios", futures.folder / name)]
    succeed(*project(models.species, *places, "-o", tmp_path / "out"))
    found = numbers(tmp_path / "out", models.species.stem)
    assert [(group["title"], group["cases"]) for group in found["across"]] == [("all", 3)]
    assert found["variance"] is None


@pytest.mark.thorough
def test_files_of_different_groups_never_meet(models: Models, futures: Futures, tmp_path: Path) -> None:
    """Of species 'a' in group 'b_c', and of species 'a_b' in group 'c'; of groups called alike."""
    for name in ("a", "a_b"):
        model = load_model(models.species)
        model.meta["species"] = name
        save_model(model, tmp_path / f"{name}.npz")
    (tmp_path / "f").mkdir()
    fields = [
        ("1", "b_c", "d"),
        ("2", "b_c", "d"),
        ("1", "c", "d"),
        ("2", "c", "d"),
        ("1", "b", "c_d"),
        ("2", "b", "c_d"),
    ]
    lines = [f"{futures.folder / futures.titles[k]},{k},{','.join(row)}" for k, row in enumerate(fields)]
    (tmp_path / "s.csv").write_text("layers,scenario,gcm,way,when\n" + "\n".join(lines) + "\n")
    words = ("--scenarios", tmp_path / "s.csv", "-o", tmp_path / "out", "--over", "gcm")
    succeed(*project(tmp_path / "a.npz", tmp_path / "a_b.npz", *words))
    listed = [
        name
        for species in ("a", "a_b")
        for group in numbers(tmp_path / "out", species)["across"]
        for name in group["files"].values()
    ]
    assert len(listed) == len(set(listed)) == 30
    for group in numbers(tmp_path / "out", "a")["across"]:
        chosen = [case for case in numbers(tmp_path / "out", "a")["scenarios"]
                  if {k: v for k, v in case["fields"].items() if k != "gcm"} == group["fields"]]  # fmt: skip
        maps = np.ma.stack([read(tmp_path / "out" / case["files"]["suitability"]) for case in chosen])
        np.testing.assert_array_equal(read(tmp_path / "out" / group["files"]["max"]), maps.max(axis=0))


def test_models_without_the_cutoff_have_no_agreement(models: Models, futures: Futures, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    bare = load_model(models.species)
    (tmp_path / "runs" / "b.npz").write_bytes(models.species.read_bytes())
    del bare.meta["thresholds"]
    save_model(bare, tmp_path / "runs" / "a.npz")
    words = ("--scenarios", futures.folder / futures.titles[0], "-o", tmp_path / "out")
    succeed(*project(tmp_path / "runs" / "{member}.npz", *words))
    (group,) = numbers(tmp_path / "out", models.species.stem)["across"]
    assert set(group["files"]) == {"mean", "sd", "min", "max"}


def test_the_table_is_tidy(whole: Path, models: Models) -> None:
    table = rows(whole / "scenarios.csv")
    assert list(table[0]) == [
        "species",
        "scenario",
        "gcm",
        "ssp",
        "period",
        "multiplier",
        "measure",
        "of",
        "value",
        "unit",
    ]
    found = numbers(whole, models.species.stem)
    key = {(row["scenario"], row["multiplier"], row["measure"], row["of"], row["unit"]): row["value"] for row in table}
    assert len(key) == len(table), "one row per case and measure"
    for case in found["scenarios"]:
        head = case["scenario"], case["fields"]["multiplier"]
        assert float(key[*head, "gain", "maxsss", "km2"]) == pytest.approx(case["change"]["gain"]["km2"])
        assert float(key[*head, "net", "maxsss", "percent"]) == pytest.approx(case["change"]["net_percent"])
        assert float(key[*head, "shift of the centroid", "maxsss", "km"]) == pytest.approx(case["shift"]["km"])
        assert float(key[*head, "mean", "temperature", ""]) == pytest.approx(case["variables"]["temperature"]["mean"])
    assert {row["scenario"] for row in table} == {"reference", *(case["scenario"] for case in found["scenarios"])}
