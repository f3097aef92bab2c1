"""The table that is fitted: the right rows, the right columns, nothing missing."""

import numpy as np
import pytest

from sdm.data.background import Weighting, sample_background
from sdm.data.records.clean import clean
from sdm.data.records.occurrences import Occurrences
from sdm.data.records.samples import ColumnRoles, read_swd
from sdm.data.table import SampleTable
from sdm.errors import DataError


def write(path, text):
    path.write_text(text)
    return path


def test_from_stack(stack):
    x, y = np.array([20.0, 30.0]), np.array([30.0, 40.0])
    points, _ = clean(Occurrences(np.array(["oak", "oak"], dtype=object), x, y), stack)
    background = sample_background(stack, n=50, seed=1)
    table = SampleTable.from_stack(stack, points["oak"], background)
    assert table.species == "oak"
    assert table.names == stack.names
    assert table.categorical == ("cover",)
    assert (table.n_presences, table.n_background) == (2, 50)
    assert table.presence.dtype == table.background.dtype == np.float64
    assert table.presence.flags.c_contiguous
    assert table.weights is None
    np.testing.assert_array_equal(table.presence_x, x)


def test_unequal_weights_are_kept(stack):
    points, _ = clean(Occurrences(np.array(["oak"], dtype=object), np.array([20.0]), np.array([30.0])), stack)
    background = sample_background(stack, n="all", weighting=Weighting(True))
    table = SampleTable.from_stack(stack, points["oak"], background, presence_weights=np.array([2.0]))
    np.testing.assert_array_equal(table.weights, background.weight)
    assert table.presence_weights.tolist() == [2]


SWD = """species,x,y,heat,cover
oak,1,2,20,wet
elm,3,4,21,dry
oak,5,6,,wet
background,7,8,10,dry
background,9,10,11,
background,11,12,12,moor
"""


def test_from_swd_codes_classes_and_drops_gaps(tmp_path):
    swd = read_swd(write(tmp_path / "a.csv", SWD), categorical=["cover"])
    table = SampleTable.from_swd(swd, "oak")
    assert table.levels == {"cover": ("dry", "moor", "wet")}
    np.testing.assert_array_equal(table.presence, [[20, 2]])
    np.testing.assert_array_equal(table.background, [[10, 0], [12, 1]])
    assert table.presence_x.tolist() == [1]
    assert table.background_y.tolist() == [8, 12]
    assert table.notes == ("2 rows without a value for every variable dropped",)


def test_from_swd_with_a_file_of_background(tmp_path):
    presences = read_swd(write(tmp_path / "a.csv", "species,x,y,heat,wet\noak,1,2,20,5\n"))
    background = read_swd(write(tmp_path / "b.csv", "name,x,y,wet,heat\nother,1,2,6,30\nother,1,2,7,31\n"))
    table = SampleTable.from_swd(presences, "oak", background)
    np.testing.assert_array_equal(table.background, [[30, 6], [31, 7]])
    short = read_swd(write(tmp_path / "c.csv", "name,x,y,wet\nother,1,2,6\n"))
    with pytest.raises(DataError, match=r"background 'c.csv' lacks the column 'heat'"):
        SampleTable.from_swd(presences, "oak", short)


def test_from_swd_errors(tmp_path):
    lonely = read_swd(write(tmp_path / "b.csv", "species,heat\noak,1\n"))
    with pytest.raises(DataError, match="oak: no background point"):
        SampleTable.from_swd(lonely, "oak")


def test_bradypus_swd(shared):
    swd = read_swd(shared / "bradypus_swd" / "bradypus.csv", categorical=["ecoreg"])
    table = SampleTable.from_swd(swd, *swd.species_names)
    assert (table.n_presences, table.n_background, len(table.names)) == (116, 1000, 14)
    assert table.categorical == ("ecoreg",)
    assert not table.levels


def test_labels_of_folds_stay_with_their_rows(tmp_path):
    text = "species,heat,part\noak,1,a\noak,,b\noak,3,b\nbackground,4,a\nbackground,5,b\nbackground,,c\n"
    swd = read_swd(write(tmp_path / "a.csv", text), roles=ColumnRoles(fold="part"))
    assert list(swd.table.columns) == ["heat"], "labels are no variable"
    table = SampleTable.from_swd(swd, "oak")
    assert table.folds.tolist() == ["a", "b"], "the row without heat is gone, and its label with it"
    assert table.background_folds.tolist() == ["a", "b"]
    part = table.take(np.array([1]), np.array([0]))
    assert (part.folds.tolist(), part.background_folds.tolist()) == (["b"], ["a"])
    assert SampleTable.from_swd(read_swd(tmp_path / "a.csv", variables=["heat"]), "oak").folds is None


def test_labels_are_text_and_may_be_missing_for_background_only(tmp_path):
    text = "species,heat,part\noak,1,10\noak,3,2\nbackground,4,\nbackground,5,2\n"
    table = SampleTable.from_swd(read_swd(write(tmp_path / "a.csv", text), roles=ColumnRoles(fold="part")), "oak")
    assert table.folds.tolist() == ["10", "2"]
    assert table.background_folds is None
    swd = read_swd(write(tmp_path / "b.csv", text.replace("oak,1,10", "oak,1,")), roles=ColumnRoles(fold="part"))
    with pytest.raises(DataError, match="1 of 2 records"):
        SampleTable.from_swd(swd, "oak")
