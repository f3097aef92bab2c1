"""Maps of replicates and of novelty as Java Maxent writes them."""

import numpy as np

from sdm.java.outputs import limiting_numbers, summaries


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
