"""Predicted change of virtual species, whose true change is known, against the guess that nothing changes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from documents.inventory import PAGES, WORDS, pattern_of_text
from projection.futures import numbers, project
from sklearn.metrics import cohen_kappa_score
from terminal import read, succeed

from sdm.simulate.niche import VirtualSpecies
from sdm.simulate.world import read_truth, simulate

SEEDS = (1, 2, 3)
RECORDS = 200


@dataclass(frozen=True)
class Compared:
    """One species: what is true of it, and what was predicted, at the cells on land."""

    name: str
    codes: np.ndarray  # predicted
    true_codes: np.ndarray
    differences: np.ndarray  # of predicted suitability, then and now
    true_differences: np.ndarray
    net: float  # per cent
    true_net: float

    @property
    def constant(self) -> np.ndarray:
        """The guess that all stays as predicted today."""
        return np.where(np.isin(self.codes, (1, 3)), 1, 0)

    @property
    def kappa(self) -> float:
        return float(cohen_kappa_score(self.true_codes, self.codes))

    @property
    def constant_kappa(self) -> float:
        return float(cohen_kappa_score(self.true_codes, self.constant))


def compare(folder: Path, species: VirtualSpecies) -> Compared:
    """The suitable area has the same size today in truth and prediction, so that only the change is compared."""
    stem = species.name.replace(" ", "_")
    out, world = folder / "out", folder / "world"
    land = ~np.ma.getmaskarray(read(world / "layers" / "temperature.tif"))
    truth = []
    for layers in ("layers", "warmer"):
        bands = {path.stem: read(path).astype(float).filled(np.nan) for path in (world / layers).glob("*.tif")}
        truth.append(species.suitability(bands)[land])
    codes = read(out / "warmer" / f"{stem}_change.tif")
    assert not np.ma.getmaskarray(codes)[land].any()
    today = np.isin(codes.data[land], (1, 3))
    cutoff = np.quantile(truth[0], 1 - today.mean())
    now, then = (values >= cutoff for values in truth)
    shown = [read(out / title / f"{stem}.tif").data[land].astype(float) for title in ("reference", "warmer")]
    return Compared(
        species.name,
        codes.data[land],
        np.select([~now & ~then, now & then, ~now & then], [0, 1, 2], 3),
        shown[1] - shown[0],
        truth[1] - truth[0],
        numbers(out, stem)["scenarios"][0]["change"]["net_percent"],
        100 * (then.sum() / now.sum() - 1),
    )


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[Compared]:
    """Nine species in three worlds that become 2 degrees warmer; models of 200 records each."""
    out = []
    for seed in SEEDS:
        folder = tmp_path_factory.mktemp(f"truth {seed}")
        simulate(folder / "world", size=72, layers=5, species=3, records=RECORDS, sites=10, seed=seed, warming=2)
        layers = folder / "world" / "layers"
        words = ("--categorical", "landcover", "--fc", "lqh", "--no-curves", "--no-map", "--no-report")
        succeed("fit", folder / "world" / "occurrences.csv", layers, *words, "-o", folder / "fit")
        there = ("--scenarios", folder / "world" / "warmer", "--reference", layers, "-o", folder / "out")
        succeed(*project(folder / "fit", *there))
        out += [compare(folder, species) for species in read_truth(folder / "world" / "truth.json")]
    return out


@pytest.mark.thorough
def test_codes_of_cells_agree_better_than_no_change(compared: list[Compared]) -> None:
    """Measured: kappa 0.80 to 0.92, mean 0.89; no change 0.63 to 0.87, mean 0.73. Better for each of the nine."""
    assert len(compared) == 9
    for one in compared:
        assert one.kappa > one.constant_kappa + 0.02, one.name
    gain = np.mean([one.kappa - one.constant_kappa for one in compared])
    assert np.mean([one.kappa for one in compared]) > 0.83
    assert gain > 0.1
    right = np.mean([(one.codes == one.true_codes).mean() for one in compared])
    assert right > 0.92, "measured: 95 % of the cells, of which 4 to 13 % change"


@pytest.mark.thorough
def test_cells_that_change_are_found(compared: list[Compared]) -> None:
    """Measured: 57 to 87 % of the cells that truly become suitable or cease to be; no change finds none."""
    found = [(one.codes == one.true_codes)[np.isin(one.true_codes, (2, 3))].mean() for one in compared]
    said = [(one.codes == one.true_codes)[np.isin(one.codes, (2, 3))].mean() for one in compared]
    assert min(found) > 0.45
    assert np.mean(found) > 0.65
    assert np.mean(said) > 0.65, "and most of what is said to change does: measured 76 %"


@pytest.mark.thorough
def test_the_change_of_suitability_is_closer_than_none(compared: list[Compared]) -> None:
    """Measured: the error is 0.40 to 0.85 of that of no change; correlation 0.70 to 0.93."""
    for one in compared:
        error = np.sqrt(np.mean((one.differences - one.true_differences) ** 2))
        assert error < 0.95 * np.sqrt(np.mean(one.true_differences**2)), one.name
        assert np.corrcoef(one.differences, one.true_differences)[0, 1] > 0.6, one.name


@pytest.mark.thorough
def test_the_net_change_has_the_true_size(compared: list[Compared]) -> None:
    """Measured: the mean error is 5 % of the area of today, where the true change has a mean size of 27 %."""
    errors = [abs(one.net - one.true_net) for one in compared]
    assert np.mean(errors) < 0.5 * np.mean([abs(one.true_net) for one in compared])
    assert sum(np.sign(one.net) == np.sign(one.true_net) for one in compared) >= 8


@pytest.mark.thorough
def test_the_page_has_these_measures(compared: list[Compared]) -> None:
    """The table of how-to/scenarios.md, with a unit of the last digit for other processors."""
    kappas, none = [one.kappa for one in compared], [one.constant_kappa for one in compared]
    found = [100 * (one.codes == one.true_codes)[np.isin(one.true_codes, (2, 3))].mean() for one in compared]
    net = [np.mean([abs(one.net - one.true_net) for one in compared]), np.mean([abs(one.true_net) for one in compared])]
    rows = {
        "| # (#–#) | # (#–#) |": [f(each) for each in (kappas, none) for f in (np.mean, min, max)],
        "| #–# % | 0 |": [min(found), max(found)],
        "mean | # | # |": net,
    }
    page = PAGES["scenarios"].read_text(encoding="utf-8")
    for text, values in rows.items():
        for shown, value in zip(pattern_of_text(text).search(page).groups(), values, strict=True):
            assert abs(float(shown) - value) <= 1.5 * 10.0 ** -len(shown.partition(".")[2]), (text, shown, value)
    sizes = f"{WORDS[len(compared)].title()} virtual species in {WORDS[len(SEEDS)]} simulated regions"
    assert pattern_of_text(f"{sizes}, with {RECORDS} records").search(page)
