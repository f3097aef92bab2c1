"""Tree and monomial oracles against brute force: a wrong split would cost accuracy that nobody would miss."""

import itertools

import numpy as np
import pytest

from benchmarks.tools.exhaustive_trees import best_violation, small_case
from sdm.errors import OptionError
from sdm.features.domain import Domain
from sdm.features.growing.monomial import MonomialOracle
from sdm.features.growing.oracles import ExactTreeOracle
from sdm.features.growing.search_error import search_shares
from sdm.features.growing.tree import Tree, TreeOracle, systematic


def random_problem(rng, n=None, categorical=True):
    """A small domain with ties, some variables categorical, and a signed measure that sums to zero."""
    n = n or int(rng.integers(6, 40))
    x = np.column_stack(
        [rng.integers(0, 6, n), np.round(rng.normal(size=n), 1), rng.integers(0, 4, n), rng.random(n)]
    ).astype(float)
    domain = Domain(x, ["a", "b", "c", "d"], ["c"] if categorical else [])
    sample = rng.multinomial(5, np.full(n, 1 / n)) / 5
    p = rng.dirichlet(np.ones(n))
    return x, domain, p - sample


def evaluate(tree, x):
    """The tree at raw values `(n, V)`, by walking its splits."""
    leaf = np.zeros(x.shape[0], dtype=np.int32)
    for s in range(tree.size):
        u = x[:, tree.var[s]]
        right = np.isin(u, tree.classes[s]) if tree.classes[s] else u >= tree.threshold[s]
        leaf[(leaf == tree.leaf[s]) & right] = s + 1
    return tree.label[leaf].astype(np.float64)


def splits(x, v, categorical):
    """Every way to divide cells by one variable: the cells that go right, and how."""
    values = np.unique(x[:, v])
    if categorical:
        for k in range(1, len(values)):
            for chosen in itertools.combinations(values, k):
                yield np.isin(x[:, v], chosen), chosen
    else:
        for low, high in itertools.pairwise(values):
            yield x[:, v] >= 0.5 * (low + high), None


def worth(parts, g):
    """Half the sum of |g| over the parts: the violation of the best labelling."""
    return 0.5 * sum(abs(g[part].sum()) for part in parts)


def naive_greedy(x, g, categorical, largest, first):
    """Grow by trying every split of every leaf; the first split is on variable `first`."""
    leaves, values = [np.ones(len(g), dtype=bool)], []
    for turn in range(largest):
        best = (worth(leaves, g) + 1e-14, None)
        for k, leaf in enumerate(leaves):
            for v in [first] if turn == 0 else range(x.shape[1]):
                for right, _ in splits(x, v, v in categorical):
                    parts = [*leaves[:k], *leaves[k + 1 :], leaf & right, leaf & ~right]
                    value = worth(parts, g)
                    if value > best[0] + 1e-13:
                        best = (value, parts)
        if best[1] is None:
            break
        leaves = best[1]
        values.append(best[0])
    return values


@pytest.mark.parametrize("seed", range(60))
def test_one_split_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    x, domain, g = random_problem(rng)
    result = TreeOracle(domain, 1, roots=4).propose(g)
    best = max(worth([right, ~right], g) for v in range(4) for right, _ in splits(x, v, v == 2))
    assert result[0].violation == pytest.approx(best, abs=1e-12)
    assert abs(g @ evaluate(result[0].shape, x)) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_growth_is_the_greedy_one(seed):
    rng = np.random.default_rng(1000 + seed)
    x, domain, g = random_problem(rng)
    oracle = TreeOracle(domain, 4, roots=4)
    result = {proposal.shape.size: proposal.violation for proposal in oracle.propose_quickly(g)}
    paths = [naive_greedy(x, g, {2}, 4, first) for first in range(4)]
    for size, violation in result.items():
        best = max(path[size - 1] for path in paths if len(path) >= size)
        # Ties between equally good splits may lead greedy growth elsewhere, never to less than any one of the paths.
        assert violation >= min(path[size - 1] for path in paths if len(path) >= size) - 1e-12
        assert violation <= best + 1e-12 or size > 1


@pytest.mark.parametrize("seed", range(40))
def test_columns_rules_and_labels_agree(seed):
    rng = np.random.default_rng(2000 + seed)
    x, domain, g = random_problem(rng)
    oracle = TreeOracle(domain, 5)
    for proposal in oracle.propose(g):
        tree = proposal.shape
        assert isinstance(tree, Tree)
        column = oracle.column(tree)
        np.testing.assert_array_equal(column, evaluate(tree, x))
        assert abs(g @ column) == pytest.approx(proposal.violation, abs=1e-12)
        assert len(tree.rules(["a", "b", "c", "d"])) == tree.label.sum()


def test_two_hundred_bins_find_the_split_of_a_continuous_variable():
    rng = np.random.default_rng(3)
    x = rng.random((20_000, 2))
    domain = Domain(x, ["a", "b"])
    mass = np.where(x[:, 0] > 0.37, 2.0, 1.0)
    g = mass / mass.sum() - 1 / len(x)
    (proposal,) = TreeOracle(domain, 1).propose(g)
    assert proposal.shape.var[0] == 0
    assert proposal.shape.threshold[0] == pytest.approx(0.37, abs=1 / 200)


def test_rules_read_well():
    tree = Tree(
        np.array([0, 1], np.int32),
        np.array([0, 1], np.int32),
        np.array([12.5, np.nan]),
        ((), (2.0, 3.0)),
        np.array([0, 0, 1], np.int8),
    )
    assert tree.rules(["bio1", "soil"], {1: dict(enumerate(["clay", "loam", "peat", "sand"]))}) == [
        "bio1 ≥ 12.5 and soil in {peat, sand}"
    ]
    assert evaluate(tree, np.array([[13.0, 2.0], [13.0, 1.0], [12.0, 2.0]])).tolist() == [1, 0, 0]


@pytest.mark.parametrize("seed", range(40))
def test_monomials_against_brute_force(seed):
    rng = np.random.default_rng(3000 + seed)
    x, domain, g = random_problem(rng, categorical=seed % 2 == 0)
    oracle = MonomialOracle(domain, 3)
    scaled = (x - x.min(axis=0)) / np.ptp(x, axis=0)
    usable = [0, 1, 3] if seed % 2 == 0 else [0, 1, 2, 3]
    chosen = []
    for degree, proposal in enumerate(oracle.propose(g), start=1):
        values = {v: abs(g @ np.prod(scaled[:, [*chosen, v]], axis=1)) for v in usable}
        best = max(values, key=lambda v: values[v])
        assert proposal.shape.size == degree
        assert proposal.violation == pytest.approx(values[best], abs=1e-12)
        chosen = list(proposal.shape.var)
        np.testing.assert_allclose(oracle.column(proposal.shape), np.prod(scaled[:, chosen], axis=1), atol=1e-12)
    assert abs(g @ oracle.column(oracle.propose(g)[0].shape)) == pytest.approx(
        max(abs(g @ scaled[:, v]) for v in usable), abs=1e-12
    )


@pytest.mark.parametrize("seed", range(30))
def test_exact_pairs_are_the_best_of_all(seed):
    rng = np.random.default_rng(4000 + seed)
    x, domain, g = random_problem(rng, n=int(rng.integers(6, 25)))
    best = 0.0
    for v in range(4):
        for root, _ in splits(x, v, v == 2):
            for u in range(4):
                for second, _ in splits(x, u, u == 2):
                    for child, other in ((root, ~root), (~root, root)):
                        best = max(best, worth([other, child & second, child & ~second], g))
    oracle = ExactTreeOracle(domain)
    pair = oracle.propose(g)[-1]
    assert pair.violation == pytest.approx(best, abs=1e-12)
    assert abs(g @ oracle.column(pair.shape)) == pytest.approx(best, abs=1e-12)
    greedy = [p.violation for p in TreeOracle(domain, 2).propose(g) if p.shape.size == 2]
    assert not greedy or pair.violation >= greedy[0] - 1e-12


def test_three_splits_are_the_best_of_all():
    """Growth one split at a time finds the best tree of three nodes in half of these cases."""
    shares, greedy = [], []
    for seed in range(60):
        x, g = small_case(np.random.default_rng(7000 + seed))
        oracle = TreeOracle(Domain(x, ["a", "b", "c", "d"], ["c"]), 3)
        best = best_violation(x, g, {2})
        shares.append(max(p.violation for p in oracle.propose(g)) / best)
        greedy.append(max(p.violation for p in oracle.propose_quickly(g)) / best)
    shares, greedy = np.array(shares), np.array(greedy)
    assert shares.max() <= 1 + 1e-9
    assert np.mean(shares > 1 - 1e-9) >= 0.98
    assert shares.min() > 0.9
    assert np.mean(greedy > 1 - 1e-9) < 0.7


def test_no_more_columns_of_trees_and_monomials_than_counted():
    """The count stands for a family in the bound on the true log loss: one that is too small makes it false."""
    x = np.column_stack([[0.1, 0.4, 0.6, 0.9, 0.2], [3.0, 1.0, 2.0, 5.0, 4.0], [0, 1, 2, 0, 1], [7.0] * 5])
    domain = Domain(x, ["a", "b", "soil", "constant"], ["soil"])
    cuts = {tuple(cut) for v, soil in enumerate((False, False, True)) for cut, _ in splits(x, v, soil)}
    leaves = {cut: (np.array(cut), ~np.array(cut)) for cut in cuts}
    columns = {1: set(), 2: set()}
    for first, second, side in itertools.product(cuts, cuts, (0, 1)):
        inner, outer = leaves[first][side], leaves[first][1 - side]
        for label in itertools.product((0, 1), repeat=3):
            columns[1].add(tuple(label[0] * inner + label[1] * outer))
            columns[2].add(tuple(label[0] * outer + np.where(second, label[1], label[2]) * inner))
    for size, different in columns.items():
        assert np.log(len(different)) <= TreeOracle(domain, 2).log_count(size, 5) <= np.log(len(different)) + 5
    products = {tuple(sorted(factors)) for factors in itertools.product((0, 1), repeat=3)}
    assert np.log(len(products)) <= MonomialOracle(domain, 3).log_count(3, 5) == pytest.approx(3 * np.log(2))


def test_what_the_search_misses_is_measured_where_it_is_blind():
    """Where one variable turns the effect of another, no single split gains, and growth from one finds chance alone."""
    rng = np.random.default_rng(8)
    x = rng.random((4000, 3))
    domain = Domain(x, ["a", "b", "c"])
    g = np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5), 1.0, -1.0) / 4000
    g -= g.mean()
    oracle = TreeOracle(domain, 4)
    assert search_shares(oracle, g, nodes=1)[0] > 0.95  # the root has starts from pairs
    shares = search_shares(oracle, g, nodes=8)
    assert np.all((shares > 0) & (shares <= 1))
    (all_of_it,) = (p for p in oracle.propose(g) if p.shape.size == 3)
    assert all_of_it.violation > 0.48  # half of the mass, but for rounding to bins
    quick = max(p.violation for p in oracle.propose_quickly(g) if p.shape.size == 3)
    assert quick < 0.8 * all_of_it.violation
    assert search_shares(TreeOracle(domain, 1), g).size == 0


def test_a_part_of_the_cells_stands_for_all():
    rng = np.random.default_rng(9)
    g = rng.dirichlet(np.ones(5000))
    g[rng.choice(5000, 20, replace=False)] -= 1 / 20
    cells, mass = systematic(g, 500)
    assert cells.size <= 500
    assert set(np.flatnonzero(g < 0)) <= set(cells)
    assert np.abs(mass).sum() == pytest.approx(np.abs(g).sum(), rel=0.01)
    box = np.arange(5000) < 2000
    assert mass[box[cells]].sum() == pytest.approx(g[box].sum(), abs=0.02)


def test_small_violations_of_both_signs_keep_theirs():
    g = np.where(np.arange(6000) % 3 == 0, -1.0, 0.5) / 6000 * (1 + np.arange(6000) / 6000)
    cells, mass = systematic(g, 600)
    assert cells.size <= 600
    assert np.array_equal(np.sign(mass), np.sign(g[cells]))
    for sign in (1, -1):
        assert mass[sign * mass > 0].sum() == pytest.approx(g[sign * g > 0].sum(), rel=0.1)


def test_exact_trees_refuse_what_they_cannot_enumerate():
    x = np.arange(60.0).reshape(20, 3) % 17
    with pytest.raises(OptionError, match=r"exact trees allow"):
        ExactTreeOracle(Domain(x, ["a", "b", "c"], ["a"]))
    with pytest.raises(OptionError, match="1 or 2"):
        ExactTreeOracle(Domain(x, ["a", "b", "c"]), 3)
