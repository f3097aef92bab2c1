"""Pictures of joint models: every species has a row, every link its weight, and the same model the same picture."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from terminal import picture

from sdm.joint.graph import Forest, chain, edgeless
from sdm.joint.graph import forest_of_edges as edges_given
from sdm.report.figures.associations import (
    _leading,
    draw_matrix,
    draw_network,
    draw_partition,
    hang,
    likeness_order,
    link_style,
)
from sdm.report.figures.maps.drawn import draw_richness


def rows_of(forest: Forest, weights, sd=float("nan")):
    return [{"first": s, "second": t, "weight": w, "sd": sd} for (s, t), w in zip(forest.edges.tolist(), weights)]


@given(st.integers(1, 14), st.randoms(use_true_random=False))
def test_every_species_has_a_row_after_its_parent_and_every_edge_is_drawn_once(size: int, random) -> None:
    pairs = [(random.randrange(t), t) for t in range(1, size) if random.random() < 0.8]
    forest = edges_given(pairs, [f"s{k}" for k in range(size)])
    rows = hang(forest)
    assert sorted(row.species for row in rows) == list(range(size))
    assert sorted(row.edge for row in rows if row.edge >= 0) == list(range(len(pairs)))
    for at, row in enumerate(rows):
        if row.edge < 0:
            assert (row.parent, row.depth) == (-1, 0)
            continue
        assert row.parent < at
        assert row.depth == rows[row.parent].depth + 1
        assert set(forest.edges[row.edge].tolist()) == {row.species, rows[row.parent].species}


def test_a_chain_hangs_from_its_middle() -> None:
    assert hang(chain(7))[0].species == 3
    assert max(row.depth for row in hang(chain(7))) == 3


def test_the_sign_and_size_of_a_weight_are_seen(tmp_path: Path) -> None:
    forest, names = chain(3), ["a$b", "🦥", "c" * 60]
    pictures = {}
    for key, weights in {"plus": (1.0, 0.5), "minus": (1.0, -0.5), "again": (1.0, 0.5)}.items():
        path = draw_network(names, forest, rows_of(forest, weights), [0.1, 0.5, 0.9], tmp_path / f"{key}.png")
        pictures[key] = picture(path)
    np.testing.assert_array_equal(pictures["plus"], pictures["again"])
    assert (tmp_path / "plus.png").read_bytes() == (tmp_path / "again.png").read_bytes()
    # "found apart" has its own colour, and more of it where an edge is negative.
    red = {key: np.count_nonzero((p[..., 0] > 180) & (p[..., 2] < 90)) for key, p in pictures.items()}
    assert red["minus"] > red["plus"] + 50


def test_weak_and_uncertain_links_look_so(tmp_path: Path) -> None:
    """A weight of almost nothing is no thick red bar, though it be the largest of its picture."""
    forest = chain(2)
    red = {}
    for weight, sd in ((-0.00024, 1.0), (-0.00024, float("nan")), (-0.9, 1.0), (-0.9, 0.1), (-0.9, float("nan"))):
        rows = rows_of(forest, [weight], sd)
        p = picture(draw_network(["a", "b"], forest, rows, [0.5, 0.5], tmp_path / "n.png")).astype(int)
        red[weight, sd if sd == sd else None] = np.count_nonzero(
            (p[..., 0] > 180) & (p[..., 1] < 120) & (p[..., 2] < 90)
        )
    legend = red[-0.00024, 1.0]
    assert red[-0.00024, None] == pytest.approx(legend, rel=0.03), "the only red is the legend's"
    assert red[-0.9, 0.1] > 2 * legend
    assert red[-0.9, None] > 2 * legend
    assert red[-0.9, 1.0] < legend + 400, "pale where the deviation is larger"


def test_widths_are_the_same_in_every_picture() -> None:
    nan = float("nan")
    assert link_style(0.5, nan)["lw"] < link_style(1.0, nan)["lw"] == link_style(7.0, nan)["lw"]
    assert link_style(0.019, nan)["color"] == link_style(-0.019, nan)["color"] != link_style(0.021, nan)["color"]
    assert link_style(-0.3, nan)["color"] != link_style(0.3, nan)["color"]
    assert "ls" not in link_style(0.5, nan)
    assert "ls" not in link_style(0.5, 0.5)
    assert "ls" in link_style(0.5, 0.51)


def test_the_posterior_spread_is_drawn(tmp_path: Path) -> None:
    forest = chain(2)
    grey = []
    for sd in (0.5, float("nan")):
        path = draw_network(["a", "b"], forest, rows_of(forest, [0.2], sd), [0.5, 0.5], tmp_path / "n.png")
        whisker = np.all(np.abs(picture(path).astype(int) - 0x99) < 6, axis=2)
        grey.append(int(whisker.sum()))
    assert grey[0] > grey[1]


def test_species_without_any_edge(tmp_path: Path) -> None:
    assert picture(draw_network(["a", "b"], edgeless(2), [], [0.2, 0.3], tmp_path / "n.png")).std() > 0


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:25833", None])
def test_maps_of_richness_side_by_side(tmp_path: Path, crs) -> None:
    maps = {}
    for name, values in {
        "richness": np.linspace(0, 3, 80).reshape(8, 10),
        "stacked richness": np.full((8, 10), 2.0),
        "richness difference": np.linspace(-2, 1, 80).reshape(8, 10),
    }.items():
        values[0, 0] = -9999
        maps[name] = tmp_path / f"{name}.tif"
        profile = {"driver": "GTiff", "width": 10, "height": 8, "count": 1, "dtype": "float32", "nodata": -9999}
        with rasterio.open(
            maps[name], "w", crs=crs, transform=rasterio.Affine(0.1, 0, 10, 0, -0.1, 50), **profile
        ) as out:
            out.write(values.astype("float32"), 1)
    drawn = draw_richness(maps, tmp_path / "r.png", np.array([10.5]), np.array([49.5]))
    alone = draw_richness({"richness": maps["richness"]}, tmp_path / "one.png", np.empty(0), np.empty(0))
    assert picture(drawn).shape[1] > 2 * picture(alone).shape[1]
    band = picture(drawn)[:, -picture(drawn).shape[1] // 3 :]
    assert np.any((band[..., 0] > 140) & (band[..., 2] < 80)), "more species than stacked: red"
    assert np.any((band[..., 2] > 140) & (band[..., 0] < 80)), "fewer: blue"


def test_the_matrix_shows_signs_and_who_is_certain(tmp_path: Path) -> None:
    """Blue is together, red apart; a pair that is not certain is pale, and a species beside those like it."""
    weights = np.array([[np.nan, 1.0, -1.0], [1.0, np.nan, -1.0], [-1.0, -1.0, np.nan]])
    found = {}
    for key, q in (("sure", 0.01), ("unsure", 0.5)):
        path = draw_matrix(["a$b", "🦥", "c" * 60], weights, np.full((3, 3), q), tmp_path / f"{key}.png")
        shown = picture(path).astype(int)
        found[key] = [
            np.count_nonzero((shown[..., a] > shown[..., b] + 60) & (shown[..., b] < 60)) for a, b in ((2, 0), (0, 2))
        ]
    assert min(found["sure"]) > 1000
    assert all(sure > 5 * unsure for sure, unsure in zip(found["sure"], found["unsure"])), "but for the strip beside"
    assert likeness_order(weights)[1:] in ([0, 1], [1, 0])


def test_parts_of_the_variance_are_as_wide_as_their_shares(tmp_path: Path) -> None:
    """Also with more variables than colours, and parts that work against the rest."""
    names = [f"v{k}" for k in range(12)]
    rows = [{"species": "a", **dict.fromkeys(names, 0.05), "associations": 0.4}]
    rows.append({"species": "b$", **dict.fromkeys(names, 0.1), "associations": -0.2})
    path = draw_partition(rows, [*names, "associations"], tmp_path / "parts.png")
    grey = np.abs(picture(path).astype(int) - [138, 143, 148]).max(axis=2) < 3
    widths = [row.sum() for row in grey if row.sum() > 100]
    assert max(widths) / min(widths) == pytest.approx(2, rel=0.05)


def test_leading_vectors_are_the_best_product_of_two() -> None:
    rng = np.random.default_rng(2)
    effect = np.outer([1.0, -2.0, 0.5], [3.0, -1.0, 0.5, 2.0]) + 0.05 * rng.normal(size=(3, 4))
    for sign in (1, -1):
        left, right = _leading(sign * effect)
        product = np.outer(left, right) * (left @ (sign * effect) @ right)
        np.testing.assert_allclose(product, sign * effect, atol=0.2)
        assert left @ (sign * effect) @ right > 0
        assert right[np.argmax(np.abs(right))] > 0, "the same picture for the same model"
