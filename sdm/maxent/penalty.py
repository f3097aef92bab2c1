"""Penalties `U*` on the weights and their potentials `U` (Dudík, Phillips & Schapire 2007, Table 1 and §5).

All are relative to the sample: `value` is `U*_π̃(λ)`, `potential` is `U_π̃(u)` at `u = π̃[f] − p[f]`. Every penalty has
one weight `β_j > 0` per feature.

=============  ===============================  ========================================= name           value(λ)
potential(u) =============  ===============================  ========================================= none           0
0 if u = 0 else ∞ l1             Σ β|λ|                           0 if |u| ≤ β else ∞ smoothed_l1    Σ aβ ln cosh(λ/a)
Σ aβ D((1 + u/β)/2 ‖ 1/2) l2             √Σ β²λ²                          0 if Σ (u/β)² ≤ 1 else ∞ l2sq           Σ
βλ²/2                          Σ u²/(2β) elastic        Σ β|λ| + cλ²/2                   Σ (|u| − β)₊²/(2c) mahalanobis
λᵀAλ/2, A_jk = ρ_jk √(β_j β_k)   uᵀA⁻¹u/2 lp             (Σ (β|λ|)^p)^(1/p), 1 < p < 2    0 if Σ (|u|/β)^q ≤ 1 else ∞, q
= p/(p − 1) =============  ===============================  =========================================

`ρ` is a correlation matrix of the features (`correlation.py`); for the identity matrix, mahalanobis is l2sq. The norm
lp is between l1 (p = 1) and l2 (p = 2).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from sdm.errors import OptionError
from sdm.types import Array

Product = Callable[[Array], Array]

(CODE_NONE, CODE_L1, CODE_SMOOTHED_L1, CODE_L2, CODE_L2SQ, CODE_ELASTIC, CODE_MAHALANOBIS, CODE_LP) = range(8)


class Penalty(ABC):
    """The penalty on the weights of a model.

    Each feature has a `beta`, a `ridge` (coefficient of `λ²/2`), and a `smoothing` (the `a` of `smoothed_l1`, else
    zero).
    """

    code: int  # code in kernels
    sparse = False  # True if single optimal weights can be exactly zero
    free = False  # True without a penalty: expectations must match exactly
    by_weight = True  # True for a sum over single weights
    inverse: Array | None = None  # inverse of its curvature, if that is a constant matrix

    def __init__(self, beta: Array) -> None:
        self.beta = np.asarray(beta, dtype=np.float64)
        if not np.all(np.isfinite(self.beta)) or np.any(self.beta <= 0):
            raise OptionError("every penalty β must be a positive number; for none use regularization='none'")
        self.ridge, self.smoothing = np.zeros_like(self.beta), np.zeros_like(self.beta)

    @abstractmethod
    def value(self, lam: Array) -> float:
        """Return `U*_π̃(λ)`."""

    @abstractmethod
    def potential(self, u: Array) -> float:
        """Return `U_π̃(u)`, infinite outside its domain."""

    @abstractmethod
    def gradient(self, lam: Array) -> Array:
        """Return a gradient of the value (zero at its kink at zero)."""

    def mixing(self, u: Array) -> float:
        """Return the smallest share `t` of the sample for which `(1 − t) u` is in the potential's domain."""
        return 0.0

    def curvature(self, lam: Array) -> tuple[Product, Array]:
        """Return the Hessian as a product (with a vector, or with the rows of a symmetric matrix), and its diagonal."""
        return (lambda v: self.ridge * v), self.ridge

    def step_off_zero(self, eps: Array) -> Array | None:
        """Return a step from zero weights for a penalty without a gradient there; else None."""
        return None

    def separable_above(self, lam: Array) -> "Penalty | None":
        """Return a sum over single weights that is an upper bound up to a constant, and is tangent at `lam`."""
        return self if self.by_weight else None


class Ball(Penalty):
    """A penalty with a finite potential where a norm of `u`, in units of `β`, is at most one."""

    @abstractmethod
    def dual(self, u: Array) -> float:
        """Return the norm, which is at most one inside the ball."""

    def potential(self, u: Array) -> float:
        """Return zero inside the ball."""
        return 0.0 if self.dual(u) <= 1 + 1e-12 else np.inf

    def mixing(self, u: Array) -> float:
        """Return the share of the sample for which `u` is in the ball."""
        return 1.0 - 1.0 / max(1.0, self.dual(u))


class NoPenalty(Penalty):
    """No penalty: the expectations must match the sample exactly."""

    code = CODE_NONE
    free = True

    def value(self, lam: Array) -> float:
        """Return zero."""
        return 0.0

    def potential(self, u: Array) -> float:
        """Return zero if every expectation matches."""
        return 0.0 if not np.any(u) else np.inf

    def gradient(self, lam: Array) -> Array:
        """Return zero."""
        return np.zeros_like(lam)

    def mixing(self, u: Array) -> float:
        """Return one unless every expectation matches, because only the sample is certain to be feasible."""
        return 1.0 if np.any(u) else 0.0


class L1(Ball):
    """Box constraints `|π̃[f_j] − p[f_j]| ≤ β_j`."""

    code = CODE_L1
    sparse = True

    def value(self, lam: Array) -> float:
        """Return `Σ β|λ|`."""
        return float(self.beta @ np.abs(lam))

    def dual(self, u: Array) -> float:
        """Return `max |u|/β`."""
        return float(np.max(np.abs(u) / self.beta, initial=0.0))

    def gradient(self, lam: Array) -> Array:
        """Return `β sign(λ)`."""
        return self.beta * np.sign(lam)


class SmoothedL1(L1):
    """`aβ ln cosh(λ/a)`: nearly l1, with a gradient everywhere (§5.2)."""

    code = CODE_SMOOTHED_L1
    sparse = False

    def __init__(self, beta: Array, smoothing: float | Array = 0.1) -> None:
        super().__init__(beta)
        self.smoothing = _one_each("smoothing", smoothing, self.beta)

    def value(self, lam: Array) -> float:
        """Return `Σ aβ ln cosh(λ/a)`, without overflow."""
        z = np.abs(lam) / self.smoothing
        return float((self.smoothing * self.beta) @ (z + np.log1p(np.exp(-2 * z)) - np.log(2.0)))

    def potential(self, u: Array) -> float:
        """Return `Σ aβ D((1 + u/β)/2 ‖ 1/2)`."""
        if (outside := super().potential(u)) > 0.0:
            return outside
        s = np.clip(u / self.beta, -1.0, 1.0)
        entropy = np.log(2.0) + _xlogx((1 + s) / 2) + _xlogx((1 - s) / 2)
        return float((self.smoothing * self.beta) @ entropy)

    def gradient(self, lam: Array) -> Array:
        """Return `β tanh(λ/a)`."""
        return self.beta * np.tanh(lam / self.smoothing)

    def curvature(self, lam: Array) -> tuple[Product, Array]:
        """Return `β/a (1 − tanh²(λ/a))`."""
        d = self.beta / self.smoothing * (1.0 - np.tanh(lam / self.smoothing) ** 2)
        return (lambda v: d * v), d


class L2(Ball):
    """A ball (with unequal β: an ellipsoid) around the sample's expectations (§5.3)."""

    code = CODE_L2
    by_weight = False

    def value(self, lam: Array) -> float:
        """Return `√Σ β²λ²`."""
        return float(np.linalg.norm(self.beta * lam))

    def dual(self, u: Array) -> float:
        """Return `√Σ (u/β)²`."""
        return float(np.linalg.norm(u / self.beta))

    def gradient(self, lam: Array) -> Array:
        """Return `β²λ / √Σ β²λ²` (zero at zero)."""
        size = self.value(lam)
        return self.beta**2 * lam / size if size > 0 else np.zeros_like(lam)

    def curvature(self, lam: Array) -> tuple[Product, Array]:
        """Return `(β² − g gᵀ)/U*` with the gradient `g`, for weights that are not all zero."""
        size, weight = self.value(lam), self.beta**2
        pull = weight * lam / size
        return (lambda v: (weight * v - np.multiply.outer(v @ pull, pull)) / size), (weight - pull**2) / size

    def step_off_zero(self, eps: Array) -> Array | None:
        """Return a short step along the steepest descent."""
        size = self.dual(eps)
        return -1e-3 * eps / self.beta**2 / size if size > 0 else np.zeros_like(eps)

    def separable_above(self, lam: Array) -> Penalty:
        """Return the quadratic of `√Σβ²λ² ≤ (Σβ²λ²/s + s)/2` for any `s > 0`, with equality at `s = √Σβ²λ²`."""
        return L2Squared(self.beta**2 / (self.value(lam) or 1.0))


class L2Squared(Penalty):
    """A quadratic penalty, a Gaussian prior (§5.4)."""

    code = CODE_L2SQ

    def __init__(self, beta: Array) -> None:
        super().__init__(beta)
        self.ridge = self.beta

    def value(self, lam: Array) -> float:
        """Return `Σ βλ²/2`."""
        return float(0.5 * (self.beta @ lam**2))

    def potential(self, u: Array) -> float:
        """Return `Σ u²/(2β)`."""
        return float(0.5 * np.sum(u * u / self.beta))

    def gradient(self, lam: Array) -> Array:
        """Return `βλ`."""
        return self.beta * lam


class Elastic(Penalty):
    """The l1 penalty plus a quadratic one, of `ratio` times its size or of an independent strength `ridge` (§5.6)."""

    code = CODE_ELASTIC
    sparse = True

    def __init__(self, beta: Array, ratio: float = 1.0, ridge: float | Array | None = None) -> None:
        super().__init__(beta)
        if not ratio > 0:
            raise OptionError(f"ratio={ratio!r}: expected a positive number, the l2² penalty over the l1 penalty")
        self.ridge = float(ratio) * self.beta if ridge is None else _one_each("ridge", ridge, self.beta)

    def value(self, lam: Array) -> float:
        """Return `Σ β|λ| + cλ²/2`."""
        return float(self.beta @ np.abs(lam) + 0.5 * (self.ridge @ lam**2))

    def potential(self, u: Array) -> float:
        """Return `Σ (|u| − β)₊²/(2c)`."""
        return float(0.5 * np.sum(np.maximum(np.abs(u) - self.beta, 0.0) ** 2 / self.ridge))

    def gradient(self, lam: Array) -> Array:
        """Return `β sign(λ) + cλ`."""
        return self.beta * np.sign(lam) + self.ridge * lam


class Mahalanobis(Penalty):
    """A quadratic penalty for correlated features: `λᵀAλ/2` with `A = diag(√β) ρ diag(√β)` (§5.4).

    The correlation matrix `ρ` is positive definite.
    """

    code = CODE_MAHALANOBIS
    by_weight = False
    inverse: Array

    def __init__(self, beta: Array, correlation: Array) -> None:
        super().__init__(beta)
        if correlation.shape != (self.beta.size, self.beta.size):
            raise ValueError(f"correlation has shape {correlation.shape}, expected one row for each of {beta.size} β")
        root = np.sqrt(self.beta)
        self.matrix = correlation * np.outer(root, root)
        # Invert the correlations, which are of unit size for any β.
        self.inverse = np.linalg.inv(correlation) / np.outer(root, root)

    def value(self, lam: Array) -> float:
        """Return `λᵀAλ/2`."""
        return float(0.5 * (lam @ self.matrix @ lam))

    def potential(self, u: Array) -> float:
        """Return `uᵀA⁻¹u/2`, with a correction for rounding in the inverse."""
        x = self.inverse @ u
        x += self.inverse @ (u - self.matrix @ x)
        return float(0.5 * (u @ x))

    def gradient(self, lam: Array) -> Array:
        """Return `Aλ`."""
        return np.asarray(self.matrix @ lam)

    def curvature(self, lam: Array) -> tuple[Product, Array]:
        """Return `A`."""
        return (lambda v: self.matrix @ v), np.diagonal(self.matrix)


class LpNorm(Ball):
    """The l_p norm of `β|λ|` with `1 < p < 2`: its dual is the l_q norm, `1/p + 1/q = 1` (§5.7)."""

    code = CODE_LP
    by_weight = False

    def __init__(self, beta: Array, power: float = 1.5) -> None:
        super().__init__(beta)
        if not 1.0 < power < 2.0:
            raise OptionError(f"power={power!r}: expected a number between 1 and 2; 1 is l1 and 2 is l2")
        self.power = float(power)
        self.dual_power = self.power / (self.power - 1.0)

    def value(self, lam: Array) -> float:
        """Return `(Σ (β|λ|)^p)^(1/p)`."""
        return norm(self.beta * lam, self.power)

    def dual(self, u: Array) -> float:
        """Return `(Σ (|u|/β)^q)^(1/q)`."""
        return norm(u / self.beta, self.dual_power)

    def gradient(self, lam: Array) -> Array:
        """Return `β sign(λ) (β|λ|/U*(λ))^(p−1)` (zero at zero)."""
        size = self.value(lam)
        if size == 0.0:
            return np.zeros_like(lam)
        return self.beta * np.sign(lam) * (self.beta * np.abs(lam) / size) ** (self.power - 1.0)


def norm(x: Array, power: float) -> float:
    """Return the l_p norm, without overflow."""
    most = float(np.max(np.abs(x), initial=0.0))
    return most * float(np.sum((np.abs(x) / most) ** power)) ** (1.0 / power) if most > 0 else 0.0


def _one_each(name: str, value: float | Array, beta: Array) -> Array:
    """Return a positive number for each feature, from one for all or one for each."""
    out = np.broadcast_to(np.asarray(value, dtype=np.float64), beta.shape).copy()
    if not (np.all(np.isfinite(out)) and np.all(out > 0)):
        raise OptionError(f"{name}={value!r}: expected a positive number, such as 0.1")
    return out


def _xlogx(x: Array) -> Array:
    """Return `x ln x` with zero at zero."""
    return x * np.log(np.where(x > 0, x, 1.0))


_PLAIN: dict[str, type[Penalty]] = {"none": NoPenalty, "l1": L1, "l2": L2, "l2sq": L2Squared}
BY_WEIGHT = ("none", "l1", "smoothed_l1", "l2", "l2sq", "elastic")
"""Penalties that class models, SUMMET and PLUMMET support."""
PENALTIES = (*BY_WEIGHT, "mahalanobis", "lp")


def make_penalty(
    name: str,
    beta: Array,
    *,
    smoothing: float | Array = 0.1,
    ratio: float = 1.0,
    ridge: float | Array | None = None,
    power: float = 1.5,
    correlation: Array | None = None,
) -> Penalty:
    """Return the penalty with a name in `PENALTIES` and the weights `beta`; mahalanobis needs `correlation`."""
    if name in _PLAIN:
        return _PLAIN[name](beta)
    if name == "smoothed_l1":
        return SmoothedL1(beta, smoothing)
    if name == "elastic":
        return Elastic(beta, ratio, ridge)
    if name == "lp":
        return LpNorm(beta, power)
    if name == "mahalanobis":
        if correlation is None:
            raise ValueError("mahalanobis needs the correlation of the features")
        return Mahalanobis(beta, correlation)
    raise OptionError(f"regularization={name!r}: expected one of {', '.join(PENALTIES)}")
