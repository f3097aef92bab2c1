"""Which visits are of one site."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.data.records.columns import coordinate_pair
from sdm.data.site_folds import site_groups


def naive(names, places):
    """Join sites that agree in a name or a place until nothing changes."""
    out = list(range(len(names)))
    for _ in names:
        for i in range(len(names)):
            for j in range(i):
                name = names[i] != "" and names[i] == names[j]
                place = np.isfinite(places[i]).all() and np.isfinite(places[j]).all() and (places[i] == places[j]).all()
                if name or place:
                    out[i] = out[j] = min(out[i], out[j])
    return [sorted(set(out)).index(k) for k in out]


@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "b", "c", "d"]), st.sampled_from([0, 1, 2, 3, np.nan])), max_size=12)
)
def test_a_name_or_a_place_makes_a_site(visits):
    names = np.array([name for name, _ in visits], dtype=str)
    places = np.array([[x, 1.0] for _, x in visits], dtype=float).reshape(-1, 2)
    assert site_groups(names, places).tolist() == naive(names.tolist(), places)


def test_without_names_places_alone_count():
    assert site_groups(np.array([[1, 2], [1, 3], [1, 2]])).tolist() == [0, 1, 0]


@pytest.mark.parametrize("header", [["X_WGS84", "Y_WGS84"], ["x_wgs84", "y_wgs84"], ["WGS84_X", "WGS84_Y"]])
def test_coordinates_called_by_their_datum(header):
    assert coordinate_pair(["id", *header]) == tuple(header)
