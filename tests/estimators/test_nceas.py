"""The accuracy benchmark: what it reads, the backgrounds it makes, and how it compares settings."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import nceas
from sdm import Maxent

SPECIES = {"AWT": 40, "NSW": 53, "CAN": 20}


@pytest.fixture
def region(shared: Path, request: pytest.FixtureRequest) -> nceas.Region:
    if not (shared / "data" / "nceas").is_dir():
        pytest.skip("the NCEAS tables are not there")
    return nceas.read_region(request.param)


@pytest.mark.parametrize("region", SPECIES, indirect=True)
def test_species_are_read_by_the_protocol(region: nceas.Region) -> None:
    """113 species with at least 5 records, each tested at sites where both outcomes were observed."""
    assert len(region.species) == SPECIES[region.name]
    for species in region.species.values():
        assert species.n >= nceas.LEAST
        assert set(np.unique(species.observed)) == {0, 1}
        assert len(species.observed) == len(species.sites)
        assert set(species.sites["group"]) == {species.group}
        assert set(species.records["spid"]) == {species.name}
        for rows in (species.records, species.sites, region.background):
            assert rows[nceas.VARIABLES[region.name]].notna().all(axis=None)


@pytest.mark.parametrize("region", ["NSW"], indirect=True)
def test_target_groups_join_surveys_of_one_kind(region: nceas.Region) -> None:
    """Owls are compared with sites of all birds, and with each site once; bats with those of bats alone."""
    groups = {species.group: species for species in region.species.values()}
    for group, members in {"nb": {"nb", "db"}, "ru": {"ot", "ou", "rt", "ru"}, "ba": {"ba"}}.items():
        sites, shares = nceas.make_background("target", region, groups[group])
        records = [row for row in region.records.itertuples() if row.group in members]
        assert shares is None
        assert set(sites["group"]) <= members
        assert len(sites) == len({(row.x, row.y) for row in records})


@pytest.mark.parametrize("region", ["CAN"], indirect=True)
@pytest.mark.parametrize("kind", ["kernel", "mixed"])
def test_shares_of_the_base_measure_sum_to_one(region: nceas.Region, kind: str) -> None:
    rows, shares = nceas.make_background(kind, region, next(iter(region.species.values())))
    assert shares is not None
    assert len(shares) == len(rows)
    assert np.all(shares > 0)
    assert shares.sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("n", "multiplier"), [(5, 1.5), (20, 1.5), (30, 1.0), (40, 0.75), (60, 0.6), (700, 0.6)])
def test_multiplier_by_sample_size(n: int, multiplier: float) -> None:
    assert nceas.BySize()(n) == pytest.approx(multiplier)


def test_cloglog_of_one_member_is_the_models_own() -> None:
    """A committee of one predicts what its member predicts."""
    rng = np.random.default_rng(3)
    rows = np.vstack([rng.normal(0.7, 0.6, size=(40, 3)), rng.normal(size=(400, 3))])
    sites = rng.normal(size=(50, 3))
    model = Maxent("lq").fit(rows, np.repeat([1, 0], [40, 400]))
    # The domain is the background and the presences, which the model appended to it.
    links = model.predict(np.vstack([rows, sites]), "link") + 7.0
    np.testing.assert_allclose(nceas._cloglog(links, 50), model.predict(sites), atol=1e-9)


def test_settings_are_compared_species_by_species() -> None:
    names = ["a", "b", "c", "d"]
    base = pd.DataFrame({"region": ["AWT", "AWT", "CAN", "CAN"], "species": names, "auc": [0.5, 0.6, 0.7, 0.8]})
    other = pd.DataFrame({"region": base["region"], "species": names, "auc": [0.6, 0.7, 0.7, 0.7]}).iloc[::-1]
    row = nceas.paired(other, base)
    assert (row["difference"], row["wins"], row["losses"]) == ("+0.0250", 2, 1)
    assert (row["AWT"], row["CAN"]) == ("+0.1000", "-0.0500")
    assert row["± s.e."] == f"{np.std([0.1, 0.1, 0.0, -0.1], ddof=1) / 2:.4f}"


def test_unknown_settings_are_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["nceas", "--setting", "bets"])
    with pytest.raises(SystemExit):
        nceas.main()
    assert "no setting called bets" in capsys.readouterr().err
