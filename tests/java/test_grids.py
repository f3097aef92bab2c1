"""Maps of replicates and of novelty as Java Maxent writes them."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.crs import CRS
from rasterio.transform import from_origin

from sdm.java.outputs import GridValues, GridWriter, limiting_numbers, summaries
from sdm.run.projecting.tables import PredictionSettings


def test_replicates_are_summarised_as_java_does(shared):
    """Java writes six digits."""
    grids = np.load(shared / "reference" / "sample" / "replicates4_logistic_rm2" / "grids.npz")
    for ending in ("", "_warmer"):
        maps = np.stack([grids[f"Virtualis_montanus_{k}{ending}"] for k in range(4)])
        known = maps[0] != -9999
        for word, values in summaries(maps).items():
            java = grids[f"Virtualis_montanus{ending}_{word}"]
            np.testing.assert_allclose(values[known], java[known], atol=2e-6, err_msg=word)


def test_the_most_dissimilar_variable_has_javas_number():
    names = ("slope", "heat", "rain")  # in alphabetical order heat 0, rain 1, slope 2
    mess = np.array([[-5.0, -0.1, 3.0, np.nan, -2.0]])
    which = np.array([[1.0, 2.0, 2.0, np.nan, 3.0]])
    np.testing.assert_array_equal(limiting_numbers(mess, which, names), [[2.0, 0.0, 3.0, np.nan, 1.0]])


@pytest.mark.parametrize("ending", [".asc", ".tif"])
def test_cells_without_data_have_no_value_in_any_map(ending, tmp_path: Path):
    """Averages of replicates and thresholded maps have nodata where the layers have nodata, not zero."""
    place = CRS.from_epsg(4326), from_origin(10, 50, 0.5, 0.5)
    one, two = (GridValues(np.array([[0.0, low, np.nan], [np.nan, 0.5, 1.0]]), *place) for low in (0.2, 0.4))
    writer = GridWriter(tmp_path, ending, PredictionSettings())
    writer.summarise([one, two], "sp")
    writer.cut(one, "sp", 0.5)
    for name, values in (("avg", [0.0, 0.3, 0.5, 1.0]), ("max", [0.0, 0.4, 0.5, 1.0]), ("thresholded", [0, 0, 1, 1])):
        with rasterio.open(tmp_path / f"sp_{name}{ending}") as source:
            found = source.read(1, masked=True)
        np.testing.assert_array_equal(np.ma.getmaskarray(found), np.isnan(one.values))
        np.testing.assert_allclose(found.compressed(), values, rtol=1e-5)
