"""`sdm fit --response`: presence and absence in a column, as two classes."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import yaml
from terminal import BARE, as_json, fail, files, model_answer, picture, read, rows, sdm, succeed, write_table

from sdm.assess.class_assessor import Classes
from sdm.models.classes import ClassModel
from sdm.report.pictures import small_picture

COARSE = ("--no-importance", "--dpi", "50")
LIGHT = ("--categorical", "landcover", "--fc", "l", "--rm", "1", "--no-curves", *COARSE)
PAGES = (*LIGHT, "--no-map")
QUIET = (*PAGES, "--no-report")


@pytest.fixture(scope="module")
def two(world) -> tuple[Path, Path]:
    """Two of the layers, where a test is about sites, species and options."""
    return world.layers / "landcover.tif", world.layers / "temperature.tif"


@pytest.fixture(scope="module")
def species(world) -> str:
    return rows(world.survey)[0]["species"]


@pytest.fixture(scope="module")
def mapped(world, species: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one species with its maps, their pictures and its page; tests look at it, and change nothing."""
    folder = tmp_path_factory.mktemp("mapped") / "out"
    words = ("fit", world.survey, world.layers, "--response", "presence", "--species", species, *LIGHT)
    succeed(*words, "-o", folder)
    return folder


@pytest.mark.thorough
def test_it_is_classify_with_two_classes(world, two, species: str, tmp_path: Path) -> None:
    common = ("--categorical", "landcover", "--features", "l", "--folds", 2, "--no-curves")
    common = (*common, "--no-map", "--no-importance", "--no-report", "--penalty-folds", 2)
    fitted = model_answer(
        *("fit", world.survey, *two, "--response", "presence", "--species", species, *common),
        *("-o", tmp_path / "fit"),
    )
    classified = model_answer(
        *("classify", world.survey, *two, "--class-column", "presence", "--select", f"species={species}"),
        *(*common, "--title", species, "-o", tmp_path / "classes"),
    )
    assert fitted["status"] == "converged"
    assert len(fitted["classes"]) == 2
    assert fitted["measures"] == classified["measures"]
    assert fitted["measures"]["cross-validation"]["mean_auc"] > 0.6
    models = [next((tmp_path / name).glob("*.npz")) for name in ("fit", "classes")]
    assert models[0].read_bytes() == models[1].read_bytes()
    assert "classes" in succeed("info", models[0]).output


def test_a_run_file_says_it_too(world, species: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        f"occurrences: {{file: {world.survey}, response: presence, species: {species}}}\n"
        f"layers: {{files: {world.layers}, categorical: landcover}}\n"
        "fit: {model: structural, families: 'l,trees:2', lam: 0.05, beta: 0.02}\ntest: {importance: false}\n"
        "output: {curves: false, map: false, report: false, dpi: 50}\n"
    )
    result = model_answer("fit", tmp_path / "run.yaml", "-o", tmp_path / "out")
    assert result["status"] == "converged"
    assert result["feature_classes"] == "l,trees:2"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--background-points", 500), "does not apply to a class model"),
        (("--preset", "best"), "does not apply to a class model"),
        (("--model", "committee"), "needs a background, and classes have none"),
        (("--species", "Nemo"), "species 'Nemo' is not in presence_absence.csv, which has Virtualis"),
        (("--no-overwrite", "--folds", 1), "folds"),
    ],
)
def test_what_it_does_not_take(world, tmp_path: Path, words, says: str) -> None:
    message = fail("fit", world.survey, world.layers, "--response", "presence", *words, "-o", tmp_path / "x", code=2)
    assert says in message
    assert not (tmp_path / "x").exists()


def test_other_commands_refuse_it(world, tmp_path: Path) -> None:
    words = (world.survey, world.layers, "--response", "presence", "-o", tmp_path / "x")
    for command in (("curve", "learning"), ("path",)):
        assert "--response presence does not apply to a model of one species" in fail(*command, *words, code=2)
    assert not (tmp_path / "x").exists()


def survey(world, path: Path, head: list[str], change) -> Path:
    """The survey with other columns: `change` makes a row of one."""
    return write_table(path, head, [change(k, row) for k, row in enumerate(rows(world.survey))])


def test_every_species_has_a_model_of_its_own(world, two, tmp_path: Path) -> None:
    """Pooled species would be one model of nothing: each must be what it is alone."""
    names = list(dict.fromkeys(row["species"] for row in rows(world.survey)))
    assert len(names) == 2
    words = ("fit", world.survey, *two, "--response", "presence", *QUIET)
    found = as_json(*words, "-o", tmp_path / "all")
    assert [(one["name"], one["kind"]) for one in found["models"]] == [(name, "classes") for name in names]
    assert any("2 species, from column 'species': one model each" in note for note in found["notices"])
    for name, one in zip(names, found["models"]):
        stem = name.replace(" ", "_")
        assert one["numbers"]["sites"] == sum(row["species"] == name for row in rows(world.survey))
        model_answer(*words, "--species", name, "-o", tmp_path / stem)
        both = [tmp_path / "all" / stem / f"{stem}.npz", tmp_path / stem / f"{stem}.npz"]
        assert both[0].read_bytes() == both[1].read_bytes()
    summary = rows(tmp_path / "all" / "summary.csv")
    assert [(row["species"], row["status"]) for row in summary] == [(name, "converged") for name in names]
    pages = succeed("report", tmp_path / "all").stdout.split()
    assert len(pages) == 3
    index = (tmp_path / "all" / "index.html").read_text(encoding="utf-8")
    assert "AUC is computed against absences" in index
    assert shown(index)["page"] == [1, 1], "called after the folders of the species"


def shown(index: str) -> dict[str, Any]:
    """What an index has of every species."""
    data = index.partition('<script type="application/json" id="rows">')[2].partition("</script>")[0]
    return dict(json.loads(data))


def test_an_index_shows_every_species_and_its_map(world, two, tmp_path: Path) -> None:
    words = ("fit", world.survey, *two, "--response", "presence", "--features", "l", "--no-curves")
    result = succeed(*words, "--rm", 1, "--no-map-picture", *COARSE, "-o", tmp_path / "all")
    assert f"index: {tmp_path / 'all' / 'index.html'}" in result.stdout
    before = (tmp_path / "all" / "index.html").read_bytes()
    assert shown(before.decode())["preview"] == [1, 1]
    succeed("report", tmp_path / "all")
    assert (tmp_path / "all" / "index.html").read_bytes() == before


def test_one_that_fails_does_not_stop_the_others(world, two, tmp_path: Path) -> None:
    first = rows(world.survey)[0]["species"]
    table = survey(
        world,
        tmp_path / "s.csv",
        ["taxon", "lon", "lat", "found"],
        lambda k, row: [
            row["species"],
            row["longitude"],
            row["latitude"],
            1 if row["species"] == first else row["presence"],
        ],
    )
    words = ("fit", table, *two, "--response", "found", *QUIET)
    result = sdm(*words, "-o", tmp_path / "all")
    assert result.exit_code == 1
    assert "150 records are presences: expected both" in result.output
    assert "1 of 2 species fitted" in result.output
    assert [row["status"] for row in rows(tmp_path / "all" / "summary.csv")] == ["converged", "failed"]
    assert "expected both" in fail(*words, "--species", first, "-o", tmp_path / "one")
    assert not (tmp_path / "one").exists()


def test_the_species_are_found_as_in_a_fit(world, two, species: str, tmp_path: Path) -> None:
    """The column may have any of the known names, or be named; rows without a species are said."""
    table = survey(
        world,
        tmp_path / "s.csv",
        ["scientificName", "lon", "lat", "pa", "visit"],
        lambda k, row: ["" if k < 7 else row["species"], row["longitude"], row["latitude"], row["presence"], k],
    )
    words = ("fit", table, *two, "--response", "pa", *QUIET)
    found = model_answer(*words, "--species", species, "-o", tmp_path / "one")
    assert found["title"] == species
    assert any("7 rows without a species in column 'scientificName'" in note for note in found["notices"])
    message = fail(*words, "--species", "Nemo", "-o", tmp_path / "x", code=2)
    assert "Nemo" in message
    assert "--select" not in message
    assert "no column 'nothing'" in fail(*words, "--species-column", "nothing", "-o", tmp_path / "x", code=2)


def test_without_a_species_column_it_is_the_file(world, two, tmp_path: Path) -> None:
    """Words about the sites are no species, unless the user says so."""
    body = [
        ["Wald" if k % 2 else "Moor", r["longitude"], r["latitude"], r["presence"]]
        for k, r in enumerate(rows(world.survey))
    ]
    table = write_table(tmp_path / "owls.csv", ["habitat", "lon", "lat", "pa"], body)
    words = ("fit", table, *two, "--response", "pa", *QUIET)
    found = model_answer(*words, "-o", tmp_path / "o")
    assert (found["title"], found["sites"]) == ("owls", 300)
    assert any("all rows are assumed to be one species" in note for note in found["notices"])
    found = as_json(*words, "--species-column", "habitat", "-o", tmp_path / "each")
    assert [one["name"] for one in found["models"]] == ["Moor", "Wald"]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (
            "species",
            "contains 'Virtualis montanus' and 'Virtualis silvestris': --response expects two values, presence",
        ),
        ("longitude", "--response expects two values, presence and absence"),
        ("count", "has counts up to 3: --response expects two values, presence and absence, such as 1 and 0"),
        ("kind", "contains 3 values ('bog', 'fen', 'mire'): --response expects two"),
        ("one", "contains '1' only: --response expects two"),
    ],
)
def test_what_is_no_presence_and_absence(world, tmp_path: Path, column: str, says: str) -> None:
    kinds = ("bog", "fen", "mire")
    table = survey(
        world,
        tmp_path / "s.csv",
        ["species", "longitude", "latitude", "count", "kind", "one"],
        lambda k, row: [row["species"], row["longitude"], row["latitude"], k % 4, kinds[k % 3], 1],
    )
    message = fail("fit", table, world.layers, "--response", column, *QUIET, "-o", tmp_path / "x", code=2)
    assert says in message
    assert f"'sdm classify --class-column {column}'" in message
    assert "--least" not in message


def test_words_for_presence_and_absence(world, species: str, mapped: Path, tmp_path: Path) -> None:
    """Words give the model of numbers, and maps where 1 is presence, whatever the order of the words."""
    words = {"1": "here", "0": "no"}
    table = survey(
        world,
        tmp_path / "s.csv",
        ["species", "longitude", "latitude", "seen"],
        lambda k, row: [row["species"], row["longitude"], row["latitude"], words[row["presence"]]],
    )
    folders = [tmp_path / "words", mapped]
    stem = species.replace(" ", "_")
    succeed("fit", table, world.layers, "--response", "seen", "--species", species, *LIGHT, "-o", folders[0])
    named, plain = (read(folder / f"{stem}.tif") for folder in folders)
    np.testing.assert_array_equal(named.filled(255), plain.filled(255))
    assert ClassModel.load(folders[0] / f"{stem}.npz").labels == ("here", "no")
    pictures = [picture(folder / f"{stem}_probability.png") for folder in folders]
    assert np.abs(pictures[0].astype(int) - pictures[1]).max() <= 2
    assert '<option value="0">probability of presence</option>' in (folders[0] / f"{stem}.html").read_text()


def test_the_map_says_1_where_presence_is_likelier(species: str, mapped: Path) -> None:
    folder, stem = mapped, species.replace(" ", "_")
    with rasterio.open(folder / f"{stem}.tif") as source:
        assert source.nodata == 255
        assert source.descriptions == (species,)
        best = source.read(1, masked=True)
    with rasterio.open(folder / f"{stem}_entropy.tif") as source:
        assert source.descriptions == ("entropy (nats)",)
    with rasterio.open(folder / f"{stem}_probability.tif") as source:
        likely = source.read(2, masked=True) > 0.5
    assert set(best.compressed().tolist()) == {0, 1}
    np.testing.assert_array_equal(best.compressed(), likely.compressed())
    assert [row["code"] for row in rows(folder / f"{stem}_classes.csv")] == ["0", "1"]
    page = (folder / f"{stem}.html").read_text()
    assert "checked> Probability of presence</label>" in page, "the map begins with it"
    assert f"Map of {species}: probability of presence" in page


def test_every_option_that_is_given_counts(world, two, species: str, tmp_path: Path) -> None:
    """Also one that is given as the default of a fit, where that of classes is another."""
    words = ("fit", world.survey, *two, "--response", "presence", "--species", species, "--fc", "h")
    words = (*words, "--categorical", "landcover", "--no-map", "--no-curves", "--no-report", "--rm", 1, *COARSE)
    said = {}
    for knots in ((), ("--knots", "maxent"), ("--knots", 5), ("--knots", 30)):
        folder = tmp_path / "_".join(map(str, ("k", *knots)))
        count = model_answer(*words, *knots, "-o", folder)["features"]
        said[knots] = yaml.safe_load((folder / "run.yaml").read_text())["fit"]["knots"], count
        assert not list(folder.glob("*.html"))
    chosen, counts = zip(*said.values())
    assert chosen == (None, "maxent", 5, 30)
    assert counts[0] == counts[3], "that of classes"
    assert len(set(counts)) == 3


def test_all_visits_to_a_cell_count(world, two, tmp_path: Path) -> None:
    """Twenty visits to a place are twenty: the mapped probability is the share of visits with a find."""
    rng = np.random.default_rng(2)
    places = rows(world.survey)[:60]
    body = [["owl", row["longitude"], row["latitude"], int(rng.random() < 0.14)] for row in places for _ in range(20)]
    table = write_table(tmp_path / "visits.csv", ["species", "lon", "lat", "seen"], body)
    share = np.mean([row[3] for row in body])
    words = ("fit", table, *two, "--response", "seen", "--categorical", "landcover", "--fc", "l", "--no-curves")
    words = (*words, "--no-map-picture", "--no-report", *COARSE)
    found = model_answer(*words, "-o", tmp_path / "all")
    assert found["sites"] == 1200
    assert any("1,200 points, 1,200 used in 60 cells: every visit counts" in note for note in found["notices"])
    with rasterio.open(tmp_path / "all" / "owl_probability.tif") as source:
        assert source.read(2, masked=True).mean() == pytest.approx(share, abs=0.03)
    removed = model_answer(*words, "--rm", 1, "--no-keep-duplicates", "--no-map", "-o", tmp_path / "one")
    assert removed["sites"] < 130
    assert any("in a cell that had one of their class already" in note for note in removed["notices"])


def test_check_finds_nothing_wrong_with_it(world, own, species: str, tmp_path: Path) -> None:
    words = (world.survey, world.layers, "--response", "presence", "--categorical", "landcover")
    found = as_json("check", *words, "-o", tmp_path / "x")
    assert found["problems"] == []
    own_rows = [row["presence"] for row in rows(world.survey) if row["species"] == species]
    counts = f"{own_rows.count('0')} 0, {own_rows.count('1')} 1"
    assert f"{species}: {len(own_rows)} usable sites ({counts})" in found["notices"]
    assert "--response expects two" in fail_check(world.survey, world.layers, "--response", "species")
    assert "does not apply to a class model" in fail_check(*words, "--background-points", 500)
    (own.layers / "temperature.tif").write_bytes(b"no raster")
    assert "temperature" in fail_check(world.survey, own.layers, "--response", "presence")


def fail_check(*words) -> str:
    result = sdm("check", *words)
    assert result.exit_code == 1, result.output
    return result.output


def test_replacing_is_not_repeated(world, species: str, mapped: Path, tmp_path: Path) -> None:
    """A run file must not replace results unasked, whatever the run that wrote it did."""
    words = ("fit", world.survey, world.layers, "--response", "presence", "--species", species, *QUIET)
    shutil.copytree(mapped, tmp_path / "out")
    succeed(*words, "--overwrite", "-o", tmp_path / "out")
    assert "overwrite" not in (tmp_path / "out" / "run.yaml").read_text()
    assert "--overwrite" in fail("classify", tmp_path / "out" / "run.yaml")
    assert files(tmp_path / "out")


def test_over_an_earlier_fit_nothing_of_it_is_left(world, two, tmp_path: Path) -> None:
    out = tmp_path / "out"
    names = list(dict.fromkeys(row["species"] for row in rows(world.survey)))
    records = tmp_path / "found.csv"
    found = [row for row in rows(world.survey) if row["presence"] == "1"]
    body = "".join(f"{row['species']},{row['longitude']},{row['latitude']}\n" for row in found)
    records.write_text(f"species,longitude,latitude\n{body}")
    succeed("fit", records, *two, *QUIET, "-o", out)
    stem = names[0].replace(" ", "_")
    assert (out / stem / "maxentResults.csv").is_file()
    words = ("fit", world.survey, *two, "--response", "presence", *PAGES, "-o", out, "--overwrite")
    succeed(*words)
    left = {path.name for path in (out / stem).iterdir()}
    assert not left & {"maxentResults.csv", f"{stem}_omission.csv", f"{stem}_samplePredictions.csv"}
    assert "AUC is computed against absences" in (out / "index.html").read_text(encoding="utf-8")
    (out / "notes.json").write_text("{}")  # of the user's own
    succeed(*words)
    succeed("report", out)


@pytest.mark.thorough
def test_the_index_is_of_the_species_of_the_run(world, two, tmp_path: Path) -> None:
    """In the summary's order, and with the map of presence whatever it is called; species that are made again stand
    where they were, and the others stay."""
    names = list(dict.fromkeys(row["species"] for row in rows(world.survey)))
    table = tmp_path / "words.csv"
    word = {"1": "P", "0": "absent"}
    body = [f"{r['species']},{r['longitude']},{r['latitude']},{word[r['presence']]}" for r in rows(world.survey)]
    three = [line.replace(names[0], "Third") for line in body if line.startswith(names[0])]
    table.write_text("\n".join(["species,longitude,latitude,presence", *body, *three]) + "\n")
    out = tmp_path / "out"
    words = ("fit", table, *two, "--response", "presence", "--fc", "l", "--no-curves", "-o", out, "--overwrite")
    words = (*words, "--rm", 1, "--no-map-picture", *COARSE)
    succeed(*words)
    assert '"Third"' in (out / "index.html").read_text(encoding="utf-8")
    succeed(*words, "--species", names[1], "--species", names[0])
    text = (out / "index.html").read_text(encoding="utf-8")
    assert "Third" in text
    stems = [name.replace(" ", "_") for name in names]
    with rasterio.open(out / stems[0] / f"{stems[0]}_probability.tif") as source:
        assert source.descriptions == ("P", "absent")
    for stem in stems:
        preview = (out / stem / f"{stem}_preview.png").read_bytes()
        assert preview == small_picture(out / stem / f"{stem}_probability.tif", 1.0, band=1)
    data = shown(text)
    assert data["species"] == [row["species"] for row in rows(out / "summary.csv")] == [*names, "Third"]
    assert data["preview"] == [1, 1, 1], "called after the folders of the species"


def visits(world, path: Path, count: int = 40, times: int = 6) -> Path:
    """Visits to sites that are told apart by name: their coordinates lie in neighbouring cells."""
    rng = np.random.default_rng(6)
    body = []
    for k, row in enumerate(rows(world.survey)[:count]):
        for _ in range(times):
            x, y = float(row["longitude"]), float(row["latitude"])
            body.append(["owl", len(body), f"pond {k}", x + rng.normal(0, 0.02), y + rng.normal(0, 0.02), k % 2])
    return write_table(path, ["species", "visit", "site", "X_WGS84", "Y_WGS84", "seen"], body)


@pytest.mark.parametrize("test", [("--folds", 4), ("--test-percent", 30)])
def test_visits_to_one_site_are_tested_together(world, two, tmp_path: Path, test) -> None:
    """A site whose other visits trained the model is no test of it."""
    table = visits(world, tmp_path / "visits.csv")
    words = ("fit", table, *two, "--response", "seen", *BARE, *COARSE, "--no-report", *test)
    found = model_answer(*words, "--rm", 1, "-o", tmp_path / "out")
    assert any("sites (column 'site'): a site stays in one fold" in note for note in found["notices"])
    named = sides(table, tmp_path / "out", "site")
    assert len(named) == 40
    assert all(len(side) == 1 for side in named.values())
    assert len({side for one in named.values() for side in one}) > 1
    each = model_answer(*words, "--rm", 1, "--site-column", "visit", "-o", tmp_path / "each")
    assert not any("by column 'site'" in note for note in each["notices"])
    assert any(len(side) > 1 for side in sides(table, tmp_path / "each", "site").values())


def sides(table: Path, folder: Path, column: str) -> dict[str, set[str]]:
    """The folds, or the parts (test or train), that the visits to every site are in."""
    place = {f"{float(row['X_WGS84']):.4f} {float(row['Y_WGS84']):.4f}": row[column] for row in rows(table)}
    if (folder / "owl_folds.csv").exists():
        found = [(row["X"], row["Y"], row["fold"]) for row in rows(folder / "owl_folds.csv")]
    else:
        found = [(row["x"], row["y"], row["test or train"]) for row in rows(folder / "owl_sites.csv")]
    assert len(found) >= len(place) - 5, "a few lie in the sea"
    out: dict[str, set[str]] = {}
    for x, y, side in found:
        out.setdefault(place[f"{float(x):.4f} {float(y):.4f}"], set()).add(side)
    return out


@pytest.mark.parametrize(
    ("count", "words", "said"),
    [
        (6, ("--folds", 7), "use --folds 6 at most, or use another --site-column"),
        (
            2,
            ("--folds", 2),
            "records of class '0' remain for training, expected at least 2: remove --folds",
        ),
        (4, ("--test-percent", 10), "use a larger --test-percent, or --folds"),
        (6, ("--folds", 2, "--site-column", "nest"), "no column 'nest'"),
    ],
)
def test_what_cannot_be_tested_is_refused_before_a_fit(world, tmp_path: Path, monkeypatch, count, words, said) -> None:
    monkeypatch.setattr(Classes, "fit", lambda *_: pytest.fail("a model was fitted"))
    table = visits(world, tmp_path / "visits.csv", count)
    told = ("fit", table, world.layers, "--response", "seen", *BARE, *words, "-o", tmp_path / "out")
    assert said in fail(*told, code=2 if "nest" in words else 1)
    assert said in sdm("check", *told[1:]).output.replace("\n", " ")


def noise(world, path: Path) -> Path:
    """Presence by chance, and a little more of it in the east than a model can know."""
    rng = np.random.default_rng(8)
    return survey(world, path, ["species", "lon", "lat", "seen"], lambda k, row: _noise(row, rng))


def _noise(row, rng):
    return [row["species"], row["longitude"], row["latitude"], int(rng.random() < 0.4)]


def test_the_constant_model_is_beside_ours_in_every_report(world, tmp_path: Path) -> None:
    """Figures of a model mean little without those of knowing nothing but how frequent the species is."""
    table = noise(world, tmp_path / "noise.csv")
    words = ("fit", table, world.layers, "--response", "seen", *BARE, *COARSE, "--folds", 2)
    species = list(dict.fromkeys(row["species"] for row in rows(table)))
    found = sdm(*words, "--rm", 0.01, "--species", species[0], "-o", tmp_path / "worse")
    assert found.exit_code == 0, found.output
    warning = "warning: cross-validation: the model predicts worse than the null model of class frequencies"
    assert warning in found.stderr
    stem = next((tmp_path / "worse").glob("*.npz")).stem
    numbers = json.loads((tmp_path / "worse" / f"{stem}.json").read_text(encoding="utf-8"))
    tested = numbers["measures"]["cross-validation"]
    assert tested["log_loss"] > tested["constant_log_loss"]
    assert f"log loss {tested['log_loss']:.4f} (null model {tested['constant_log_loss']:.4f})" in found.output
    seen = np.array([row["seen"] == "1" for row in rows(table) if row["species"] == species[0]])
    own = numbers["measures"]["training"]["constant_log_loss"]
    assert own == pytest.approx(-np.mean(np.log(np.where(seen, seen.mean(), 1 - seen.mean()))))
    page = (tmp_path / "worse" / f"{stem}.html").read_text(encoding="utf-8")
    assert f"null model {tested['constant_log_loss']:.4f}" in page
    assert "predicts worse than" in page
    model = tmp_path / "worse" / f"{stem}.npz"
    measured = succeed("evaluate", model, "--sites", table, "--layers", world.layers)
    assert f"(null model {own:.4f})" in measured.output
    assert len(species) > 1
    several = as_json(*words, "-o", tmp_path / "all")
    summary = rows(tmp_path / "all" / "summary.csv")
    for row, one in zip(summary, several["models"], strict=True):
        best = one["numbers"]["measures"]["cross-validation"]
        assert float(row["constant_log_loss"]) == pytest.approx(best["constant_log_loss"])
        assert best["log_loss"] < best["constant_log_loss"] + 0.02, "by default noise is left alone"
    assert "Log loss of the null model" in (tmp_path / "all" / "index.html").read_text(encoding="utf-8")


def test_the_multiplier_is_chosen_and_the_search_is_kept(world, two, species: str, tmp_path: Path) -> None:
    words = (
        "fit",
        world.survey,
        *two,
        "--response",
        "presence",
        "--species",
        species,
        *BARE,
        *COARSE,
        "--no-report",
    )
    found = model_answer(*words, "-o", tmp_path / "auto")
    name = next((tmp_path / "auto").glob("*_multipliers.csv"))
    table = rows(name)
    (chosen,) = [row for row in table if row["chosen"] == "True"]
    assert float(chosen["multiplier"]) == found["multiplier"]
    assert table[0]["multiplier"] == "inf"
    given = model_answer(*words, "--rm", 2, "-o", tmp_path / "given")
    assert (given["multiplier"], given["regularization"], given["multiplier_search"]) == (2.0, "l1", [])
    assert not list((tmp_path / "given").glob("*_multipliers.csv"))


def test_the_page_compares_with_absences(world, two, species: str, tmp_path: Path) -> None:
    """ROC, cutoffs and folds of a survey are about sites without the species, not about a background."""
    words = ("fit", world.survey, *two, "--response", "presence", "--species", species, "--rm", 1)
    words = (*words, "--categorical", "landcover", "--fc", "l", "--no-curves", "--test-percent", 30, "--folds", 2)
    words = (*words, "--no-map-picture", *COARSE)
    found = model_answer(*words, "-o", tmp_path / "out")
    stem = species.replace(" ", "_")
    sites = rows(tmp_path / "out" / f"{stem}_sites.csv")
    p, here, train = (
        np.array([value(row) for row in sites])
        for value in (lambda r: float(r["p 1"]), lambda r: r["class"] == "1", lambda r: r["test or train"] == "train")
    )
    for row in rows(tmp_path / "out" / f"{stem}_roc.csv")[10::40]:
        for part, chosen in (("Training", train), ("Test", ~train)):
            level = float(row["Threshold"])
            assert float(row[f"{part} false presences"]) == pytest.approx(np.mean(p[chosen & ~here] >= level), abs=0.02)
            assert float(row[f"{part} omission"]) == pytest.approx(np.mean(p[chosen & here] < level), abs=0.1)
    page = (tmp_path / "out" / f"{stem}.html").read_text(encoding="utf-8")
    assert "Receiver operating characteristic (ROC) of presences against absences" in page
    for part in ("training", "test"):
        assert f"{part} sites (AUC {found['measures'][part]['mean_auc']:.3f})" in page
    cutoff = found["thresholds"]["maxsss"]
    assert cutoff["false_presences"] == pytest.approx(np.mean(p[train & ~here] >= cutoff["probability"]), abs=0.02)
    shown = page[page.index('id="thresholds"') :]
    shown = shown[: shown.index("</table>")]
    for word in ("False presences", "Test omission", f"{100 * cutoff['false_presences']:.1f} %"):
        assert word in shown
    assert "background point" not in page
    assert "measured on the" not in page
