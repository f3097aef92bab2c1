"""What would go wrong in a run: problems, warnings and facts, without a fit."""

from pathlib import Path

import geopandas
import pytest
from shapely.geometry import box
from terminal import change_raster

from sdm.options.reading import make_options
from sdm.run.checking import Findings, check_run
from sdm.simulate.world import Simulation, simulate


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    return simulate(tmp_path_factory.mktemp("world"), size=40, layers=3, records=40, sites=60, seed=6)


def check(made: Simulation, **more) -> Findings:
    return check_run(make_options({"occurrences": str(made.occurrences), "layers": str(made.folder / "layers")}, more))


def test_a_good_run_with_everything(made: Simulation, tmp_path: Path) -> None:
    left, bottom, right, top = -17, 38, -13, 42
    area = tmp_path / "area.gpkg"
    geopandas.GeoDataFrame(geometry=[box(left, bottom, right, top)], crs="EPSG:4326").to_file(area)
    found = check(
        made,
        categorical="landcover",
        study_area=str(area),
        background_file=str(made.presence_absence),
        test_samples=str(made.presence_absence),
        projections={"same": str(made.folder / "layers")},
        output=str(tmp_path / "out"),
    )
    assert found.problems == []
    assert found.warnings == []
    for part in ("3 layers of 40 × 40 cells", "usable background points", "usable test records", "scenario same"):
        assert any(part in fact for fact in found.facts), part


def test_all_rules_between_options_that_are_broken_are_listed(made: Simulation, tmp_path: Path) -> None:
    found = check(made, radius=5, percent=20, test_samples="x.csv", buffer=3, stack="sum", map=False, site_column="a")
    for part in (
        "occurrences.site_column='a' does not apply to a model of one species",
        "test.percent and test.file exclude each other",
        "test.radius needs test.split=buffer: add it [E003]",
        "background.buffer needs background.area=buffer",
        "output.stack=sum needs the maps of species",
    ):
        assert any(part in problem for problem in found.problems), part


def test_files_are_missed_even_if_the_layers_cannot_be_opened(made: Simulation, tmp_path: Path) -> None:
    found = check(
        made, **{"layers.files": str(tmp_path / "gone"), "background_file": "no.csv", "study_area": "no.gpkg"}
    )
    assert len(found.problems) == 3
    for part in ("gone' does not exist", "'no.csv' does not exist", "'no.gpkg' does not exist"):
        assert any(part in problem for problem in found.problems)


def test_few_records_are_a_warning_and_one_is_a_problem(made: Simulation, tmp_path: Path) -> None:
    lines = made.occurrences.read_text().splitlines()
    for count, kind in ((2, "problems"), (6, "warnings")):
        (tmp_path / "few.csv").write_text("\n".join(lines[:count]) + "\n")
        found = check(made, **{"occurrences.file": str(tmp_path / "few.csv")})
        assert any(f"{count - 1} usable presences" in text for text in getattr(found, kind))


def test_records_left_out_are_a_warning(made: Simulation, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text(made.occurrences.read_text() + "Virtualis montanus,0,0\n")
    found = check(made, **{"occurrences.file": str(tmp_path / "more.csv")})
    assert any("1 at (0, 0)" in warning for warning in found.warnings)


def test_contradictions_are_problems(made: Simulation) -> None:
    found = check(made, test_percent=20, test_samples=str(made.presence_absence))
    assert any("exclude each other" in problem for problem in found.problems)


def test_the_same_problem_is_said_once() -> None:
    found = check_run(make_options({"test_percent": 20, "test_samples": "x.csv"}))
    assert len(found.problems) == len(set(found.problems))


def test_effort_target_group_and_areas_are_looked_at(made: Simulation, tmp_path: Path) -> None:
    group = {"bias": "target-group", "target_group": str(made.presence_absence)}
    found = check(made, **group, study_area="buffer", buffer=30, thin_distance=20, categorical="landcover")
    assert found.problems == []
    assert any("sampling effort in" in fact for fact in found.facts)
    assert any("dropped by thinning" in warning for warning in found.warnings)
    grouped = check(made, background="target-group", target_group=str(made.presence_absence))
    assert any("sites of the target group" in fact for fact in grouped.facts)
    assert grouped.problems == []
    alone = check(made, bias="target-group")
    assert len(alone.problems) == 1
    assert "a target group needs several species" in alone.problems[0]


def test_what_is_wrong_with_effort_is_a_problem(made: Simulation, tmp_path: Path) -> None:
    layer = made.folder / "layers" / "temperature.tif"
    for change, expected in (
        (lambda band: band * 0 - 1, "negative effort"),
        (lambda band: band * 0, "zero or missing everywhere"),
    ):
        bad = change_raster(layer, tmp_path / "effort.tif", change, nodata=-9999.0)
        problems = check(made, bias=str(bad)).problems
        assert any(expected in problem for problem in problems), problems
    assert any("'no.tif' does not exist" in problem for problem in check(made, bias="no.tif").problems)
    weights = check(made, record_weights="effort").problems
    assert any("has no column 'effort'" in problem for problem in weights)
    missed = check(made, **{"layers.files": "gone", "target_group": "no.csv", "bias": "target-group"}).problems
    assert any("'no.csv' does not exist" in problem for problem in missed)
    assert not any("'target-group' does not exist" in problem for problem in missed)


def test_survey_sites_and_folds_are_looked_at(made: Simulation) -> None:
    found = check(made, categorical="landcover", test=str(made.presence_absence))
    assert found.problems == []
    assert any("usable test records" in fact and "absences" in fact for fact in found.facts)
    labelled = check(made, categorical="landcover", split="own", fold_column="region")
    assert any("has no column 'region'" in problem for problem in labelled.problems)
    assert any("needs test.split=own: add it" in problem for problem in check(made, fold_column="species").problems)


def test_a_species_of_a_table_that_cannot_be_fitted_is_a_problem(tmp_path: Path) -> None:
    rows = ["species,x,y,heat"]
    rows += [f"{name},{k},{k},{k}" for name in ("background", "Abies alba") for k in range(20)]
    table = tmp_path / "samples.csv"
    table.write_text("\n".join([*rows, "Zea mays,1,1,"]) + "\n")
    found = check_run(make_options({"occurrences": str(table)}))
    assert len(found.problems) == 1
    assert "Zea mays" in found.problems[0]
