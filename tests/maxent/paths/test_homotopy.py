"""The entire relaxation path: optimal at every ν, the same as a direct solve and as a general-purpose optimiser."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from hypothesis import example, given
from relaxation import solve_relaxation
from scipy.optimize import minimize
from strategies import seeds

from sdm.errors import DataError, OptionError
from sdm.maxent.paths.homotopy import RelaxationPath, make_atoms, track_path


def random_problem(seed: int, uniform: bool = False, largest: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Priors equal, tied, smooth or wild; shares with ties and zeros, or all but equal to the prior; multiplicities."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, largest))
    priors = [
        np.ones(n),
        rng.random(n) + 0.01,
        rng.integers(1, 4, n).astype(float),
        1 / (np.arange(n) + 3.0),
        np.exp(3 * rng.normal(size=n)),
    ]
    u = priors[0 if uniform else rng.integers(len(priors))]
    shares = [
        rng.random(n),
        rng.integers(0, 3, n).astype(float),
        rng.multinomial(2 * n, np.ones(n) / n).astype(float),
        (rng.random(n) < 0.3).astype(float),
        u * np.exp(1e-3 * rng.normal(size=n)),
        u * rng.integers(1, 4, n),
    ]
    q = shares[rng.integers(len(shares))]
    q[rng.integers(n)] += not q.any()
    m = [np.ones(n), rng.integers(1, 6, n).astype(float), rng.random(n) + 0.05][rng.integers(3)]
    return u, q, m


def violation(u, q, m, nu, p) -> float:
    """How far p is from optimal, from the optimality conditions alone: one Z explains every atom.

    An atom within its tolerance has p = u/Z; one at its upper (lower) end would have u/Z above (below) it.
    """
    u, q = u / (m @ u), q / (m @ q)
    low, high = q - 1 / nu, q + 1 / nu
    at_low, at_high = np.abs(p - low) <= 1e-13, np.abs(p - high) <= 1e-13
    inside = ~(at_low | at_high)
    # 1/Z from every atom inside; without any, it need only be between the bounds that the others put on it
    above = np.max((p / u)[inside | at_high], initial=0.0)  # 1/Z is at least this
    below = np.min((p / u)[inside | at_low], initial=np.inf)  # and at most this
    z = min(above, below) if not inside.any() else np.average((p / u)[inside], weights=u[inside])
    slack = np.where(inside, np.abs(p - u * z), 0.0)
    slack = np.where(at_low & ~at_high, np.maximum(u * z - p, 0.0), slack)
    slack = np.where(at_high & ~at_low, np.maximum(p - u * z, 0.0), slack)
    return max(abs(m @ p - 1), np.max(np.abs(p - q) - 1 / nu), -p.min(), slack.max())


def some_nu(path: RelaxationPath, seed: int, count: int = 3) -> np.ndarray:
    """Random ν before, between, at and beyond the breakpoints."""
    rng = np.random.default_rng(seed)
    knots = path.knots[0]
    top = max(float(knots[-1]), 1e-3)
    near = np.interp(rng.random(count) * knots.size, np.arange(knots.size), knots)
    return np.concatenate([1.3 * top * rng.random(count), near[near > 0], knots[knots > 0][-2:]])


@given(seeds)
@example(111184)
def test_every_point_of_the_path_is_optimal_and_the_direct_solution(seed):
    """Hundreds of problems: to 1e-12 in every condition, and the tracked μ is right without mending."""
    u, q, m = random_problem(seed)
    path = track_path(u, q, m)
    for nu in some_nu(path, seed):
        p = path.p(nu)
        assert violation(u, q, m, nu, p) <= 1e-12
        direct = solve_relaxation(u, q, nu, m)
        np.testing.assert_allclose(p, direct.p, rtol=0, atol=1e-12)
        atoms = path.atoms
        tracked = np.clip(path.mu_at(nu) * atoms.u / nu, atoms.q - 1 / nu, atoms.q + 1 / nu)
        np.testing.assert_allclose(tracked, direct.p, rtol=0, atol=1e-11)


@given(seeds)
def test_the_moves_lead_to_the_sets(seed):
    """What moved up to ν says on which side of its tolerance each atom is: z = μu − νq beyond ±1, or between."""
    u, q, m = random_problem(seed)
    path = track_path(u, q, m)
    for nu in some_nu(path, seed):
        sign = path.signs(nu)
        z = float(path.mu_at(nu)) * path.atoms.u - nu * path.atoms.q
        slack = 1e-9 * (1 + nu * path.atoms.q)
        assert set(np.unique(sign)) <= {-1, 0, 1}
        assert np.all((z >= 1 - slack)[sign == 1])
        assert np.all((z <= -1 + slack)[sign == -1])
        assert np.all((np.abs(z) <= 1 + slack)[sign == 0])


def check_optimiser(seed):
    u, q, m = random_problem(seed + 500, largest=8)
    u, q = u / (m @ u), q / (m @ q)
    path = track_path(u, q, m)
    nu = float(np.median(path.knots[0])) * 1.1 + 0.5
    mine = path.p(nu)

    def divergence(p):
        return float(m @ (p * np.log(np.maximum(p, 1e-300) / u)))

    result = minimize(
        divergence,
        q,
        jac=lambda p: m * (np.log(np.maximum(p, 1e-300) / u) + 1),
        method="SLSQP",
        bounds=list(zip(np.maximum(q - 1 / nu, 0), q + 1 / nu)),
        constraints={"type": "eq", "fun": lambda p: m @ p - 1, "jac": lambda p: m},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert divergence(mine) == pytest.approx(divergence(result.x), abs=1e-8)
    np.testing.assert_allclose(mine, result.x, atol=1e-4)


def test_a_general_purpose_optimiser_finds_no_better():
    for seed in range(12):
        check_optimiser(seed)


@given(seeds)
def test_uniform_prior_has_few_segments_and_monotone_sets(seed):
    """Theorem 7.1: at most n + 1 segments, I₋ and I₊ only grow, I₀ only shrinks."""
    _, q, m = random_problem(seed, uniform=True)
    path = track_path(np.ones_like(q), q, m)
    assert path.n_segments <= q.size + 1
    assert np.unique(path.atom).size == path.atom.size  # nothing moves twice, so nothing comes back
    assert np.all(np.diff(path.nu) >= 0)
    before = np.zeros(q.size, dtype=int)
    for nu in np.append(path.knots[0], np.inf):
        now = path.signs(nu)
        assert np.all(now[before != 0] == before[before != 0])
        before = now


@given(seeds)
def test_the_uniform_algorithm_and_the_general_one_agree(seed):
    """A prior that is uniform but for the last digit takes the general road to the same path."""
    _, q, m = random_problem(seed, uniform=True)
    u = np.ones_like(q)
    u[0] = np.nextafter(1.0, 2.0)
    special, general = track_path(np.ones_like(q), q, m), track_path(u, q, m)
    for nu in some_nu(special, seed):
        np.testing.assert_allclose(special.p(nu), general.p(nu), rtol=0, atol=1e-12)


@given(seeds)
def test_prior_and_observed_are_interchangeable(seed):
    """§3: swapping (u, ν) with (q, μ) gives the same curve, its mirror image."""
    u, q, m = random_problem(seed)
    q = q + 0.01
    path, mirror = track_path(u, q, m), track_path(q, u, m)
    nu, mu = path.knots
    np.testing.assert_allclose(mirror.mu_at(mu), nu, rtol=1e-6, atol=1e-9)


def test_a_million_copies_are_one_atom_with_multiplicity():
    u, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7])
    copies = np.array([2, 3, 4])
    once = track_path(u, q, copies)
    spelled = track_path(np.repeat(u, copies), np.repeat(q, copies))
    for nu in (0.5, 3.0, 12.0, 80.0):
        np.testing.assert_allclose(np.repeat(once.p(nu), copies), spelled.p(nu), atol=1e-14)


def test_a_worked_example():
    """Three atoms: the tolerance bites the first and the last at ν = 10/3, and they go to their ends at once."""
    path = track_path([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    nu, mu = path.knots
    np.testing.assert_allclose(nu, [0, 10 / 3])
    np.testing.assert_allclose(mu, [0, 10 / 3])
    assert path.signs(3.0).tolist() == [0, 0, 0]
    assert path.signs(4.0).tolist() == [1, 0, -1]
    assert not path.complete
    np.testing.assert_allclose(path.p(2.0), [0.5, 0.3, 0.2])
    np.testing.assert_allclose(path.p(20.0), [0.25, 0.3, 0.45])


def test_the_ends_of_the_path():
    """Without any constraint the prior; without any tolerance what was observed."""
    path = track_path([1.0, 2.0, 5.0], [3.0, 1.0, 0.0], [1.0, 2.0, 1.0])
    np.testing.assert_allclose(path.p(0.0), [0.1, 0.2, 0.5])
    np.testing.assert_allclose(path.p(np.inf), [0.6, 0.2, 0.0])
    np.testing.assert_allclose(path.p(1e12), [0.6, 0.2, 0.0], atol=1e-11)


def test_a_prior_that_is_what_was_observed_never_moves():
    path = track_path([0.2, 0.3, 0.5], [0.2, 0.3, 0.5])
    assert path.n_segments == 1
    assert path.nu.size == 0
    assert float(path.mu_at(7.0)) == pytest.approx(7.0)
    np.testing.assert_allclose(path.p(7.0), [0.2, 0.3, 0.5])


def test_two_atoms_that_leave_together_empty_the_middle():
    """The last of them runs along its border; it is on it all the same, and the path ends there."""
    path = track_path([1.0, 1.0], [0.75, 0.25])
    assert path.complete
    assert path.nu.tolist() == pytest.approx([4.0, 4.0])
    assert path.signs(5.0).tolist() == [-1, 1]


def integer_problem(seed: int) -> tuple[list[int], list[int], list[Fraction]]:
    """Return a small problem of whole numbers: equal priors, zeros, ties, equal ratios, and multiplicities."""
    rng = np.random.default_rng(seed)
    n, top = int(rng.integers(1, 10)), int(rng.choice([2, 4, 10, 60]))
    u = np.ones(n, dtype=np.int64) if rng.random() < 0.2 else rng.integers(1, top + 1, n)
    shares = [
        rng.integers(0, top + 1, n),
        u * rng.integers(0, 4, n),
        rng.integers(0, 2, n),
        rng.permutation(u),
        u + rng.integers(0, 2, n),
    ]
    q = shares[rng.integers(len(shares))]
    q[0] += not q.any()
    copies = rng.integers(1, 5, n) if rng.random() < 0.5 else np.ones(n)
    tenth = Fraction(1, int(rng.choice([1, 10])))
    return u.tolist(), q.tolist(), [int(m) * tenth for m in copies]


def compare_with_fractions(u: list[int], q: list[int], m: list[Fraction]) -> None:
    """Check the breakpoints, the end and the sets after each breakpoint."""
    knots, complete, sets = naive.exact_path(u, q, m)
    path = track_path(u, q, [float(copies) for copies in m])
    np.testing.assert_allclose(np.transpose(path.knots), np.array(knots, dtype=float), rtol=1e-9)
    assert path.complete == complete
    for (nu, _), sign in zip(knots[1:-1], sets[1:-1]):
        between = np.array(sign) == 0  # others can run along their border before they are moved
        assert not path.signs(float(nu) * (1 + 1e-9))[between].any()
    assert path.signs(np.inf).tolist() == sets[-1]


@pytest.mark.parametrize(
    "u, q",
    [
        ([31, 3, 55, 56, 31, 20, 11, 43], [4, 0, 58, 26, 22, 40, 2, 37]),  # the last atom ends on its border
        ([4, 1, 1, 4, 1, 2], [4, 1, 2, 5, 2, 3]),  # two different atoms reach it together
        ([1, 1, 1, 1], [0, 1, 1, 0]),  # atoms without a record
    ],
)
def test_the_path_ends_where_all_atoms_are_on_a_border(u, q):
    """A last atom that runs along its border leaves I₀ empty: no moves are listed beyond ν∞."""
    compare_with_fractions(u, q, [Fraction(1)] * len(u))


def test_paths_of_whole_numbers_are_those_in_fractions():
    for number in range(80):
        compare_with_fractions(*integer_problem(number))


@pytest.mark.thorough
def test_many_paths_of_whole_numbers_are_those_in_fractions():
    for number in range(100, 6000):
        compare_with_fractions(*integer_problem(number))


@pytest.mark.thorough
@pytest.mark.parametrize("n", [3000, 20_000])
def test_a_large_zipf_alphabet(n):
    """The paper's own experiment, §8: sums of many small terms must not wear out along tens of thousands of moves."""
    rng = np.random.default_rng(3)
    rank = np.arange(1, n + 1)
    u, mother = 1 / (rank + 2.0), 1.0 / rank
    q = rng.multinomial(4 * n, mother / mother.sum()).astype(float)
    path = track_path(u, q)
    assert 0.3 * n < path.n_segments < 4 * n
    for nu in rng.choice(path.nu, 15) * (1 + 1e-4 * rng.random(15)):
        p = path.p(nu)
        assert violation(u, q, np.ones(n), nu, p) <= 1e-12
        np.testing.assert_allclose(p, solve_relaxation(u, q, nu).p, rtol=0, atol=1e-13)
    nu, mu = path.knots
    at = rng.integers(1, nu.size, 10)
    np.testing.assert_allclose(mu[at], [solve_relaxation(u, q, nu[k]).mu for k in at], rtol=1e-9)


@pytest.mark.parametrize(
    "u, q, m, word",
    [
        ([1, 2], [1, 2, 3], None, "shapes"),
        ([], [], None, "shapes"),
        ([1, 0], [1, 1], None, "prior"),
        ([1, np.nan], [1, 1], None, "prior"),
        ([1, 1], [1, -1], None, "negative"),
        ([1, 1], [0, 0], None, "zero"),
        ([1, 1], [1, 1], [1, 0], "multiplicity"),
        ([1, 1], [1, 1], [1, 1, 1], "shapes"),
    ],
)
def test_what_cannot_be_a_problem_is_refused(u, q, m, word):
    with pytest.raises(DataError, match=word) as caught:
        make_atoms(u, q, m)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("nu", [-1.0, np.nan])
def test_a_tolerance_that_is_none_is_refused(nu):
    with pytest.raises(OptionError, match="nu="):
        track_path([1, 1], [1, 2]).p(nu)
    with pytest.raises(OptionError, match="nu="):
        solve_relaxation([1, 1], [1, 2], nu)
