"""From files to tables: what is read, what is left out, and what contradicts itself."""

from pathlib import Path

import numpy as np
import pytest

from sdm.errors import DataError, OptionError
from sdm.kinds.registry import task_for
from sdm.kinds.species.inputs import prepare_species
from sdm.options.reading import make_options
from sdm.run.projecting.projection import open_for_run
from sdm.simulate.world import Simulation, simulate


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    return simulate(tmp_path_factory.mktemp("world"), size=40, layers=4, species=2, records=40, sites=60, seed=6)


def options(made: Simulation, **more):
    return make_options({"occurrences": str(made.occurrences), "layers": str(made.folder / "layers")}, more)


def test_one_table_per_species_in_the_order_of_the_file(made: Simulation) -> None:
    prepared = prepare_species(options(made, categorical="landcover"))
    assert list(prepared.tables) == [species.name for species in made.species]
    assert not prepared.failures
    assert prepared.stack is not None
    for table in prepared.tables.values():
        assert table.n_presences == 40
        assert table.categorical == ("landcover",)
        assert np.isfinite(table.presence).all()
        assert np.isfinite(table.background).all()
    one, two = prepared.tables.values()
    np.testing.assert_array_equal(one.background, two.background)


def test_the_background_does_not_depend_on_which_species_are_chosen(made: Simulation) -> None:
    whole = prepare_species(options(made, points=200))
    part = prepare_species(options(made, points=200, species=made.species[1].name))
    assert list(part.tables) == [made.species[1].name]
    np.testing.assert_array_equal(
        whole.tables[made.species[1].name].background, part.tables[made.species[1].name].background
    )


def test_a_species_without_a_usable_record_fails_alone(made: Simulation, tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text(made.occurrences.read_text() + "Far away,100,0\n")
    prepared = prepare_species(options(made, **{"occurrences.file": str(path)}))
    assert list(prepared.failures) == ["Far away"]
    assert "none of 1 records can be used (1 outside the extent" in str(prepared.failures["Far away"])
    assert len(prepared.tables) == 2


def test_test_records_find_their_species(made: Simulation, tmp_path: Path) -> None:
    prepared = prepare_species(options(made, test_samples=str(made.presence_absence)))
    assert set(prepared.tests) == set(prepared.tables)
    # a file without names tests the only species of the run
    lines = made.presence_absence.read_text().splitlines()
    (tmp_path / "sites.csv").write_text(
        "\n".join(["lon,lat", *(",".join(line.split(",")[1:3]) for line in lines[1:9])])
    )
    alone = prepare_species(options(made, test_samples=str(tmp_path / "sites.csv"), species=made.species[0].name))
    assert list(alone.tests) == [made.species[0].name]
    (tmp_path / "far.csv").write_text("lon,lat\n100,0\n")
    with pytest.raises(DataError, match="test records: far: none of 1 records"):
        prepare_species(options(made, test_samples=str(tmp_path / "far.csv")))


def test_what_contradicts_itself(made: Simulation) -> None:
    with pytest.raises(OptionError, match="exclude"):
        task_for("species").check_options(options(made, test_percent=20, test_samples=str(made.presence_absence)))
    with pytest.raises(OptionError, match="no occurrence file"):
        prepare_species(make_options({"layers": str(made.folder / "layers")}))


def test_scenarios_are_opened_at_once(made: Simulation, tmp_path: Path) -> None:
    names, categorical = task_for("species").variables(prepare_species(options(made)))
    opened = open_for_run(options(made, scenarios={"same": str(made.folder / "layers")}), names, categorical)
    assert opened is not None
    assert opened.scenarios[0].stack.names == names
    assert opened.reference is not None
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="scenario gone: no raster layer found"):
        open_for_run(options(made, scenarios={"gone": str(tmp_path / "empty")}), names, categorical)
