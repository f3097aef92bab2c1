"""A fitted group of species on shared axes: axes, places of the species, predictions and a file format."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdm.errors import DataError, expect_one_of
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms, bounded
from sdm.models.compiled import Compiled
from sdm.models.interface import Arrays, FeatureModel, Header, ModelVariable, texts, with_weights
from sdm.novelty.reference import Reference
from sdm.storage.archive import Archive
from sdm.types import Array


@dataclass(frozen=True)
class GroupModel(FeatureModel):
    """Axes that a group of species shares, and the place of each species on them.

    The score of species `s` is `places[:, s] · z + own[:, s] · φ`, with the standardised features `φ` and the axes `z =
    axesᵀ φ`. Over the sites of the fit every axis has mean 0 and standard deviation 1, and the axes are uncorrelated.
    They are sorted by the share of the species' responses that they explain.

    Attributes
    ----------
    variables, terms, shapes
        As in a model of one species; the features have no weights.
    centre, spread : (F,) arrays
        Mean and standard deviation of the features over the sites.
    axes : (F, r) array
        Weights of the standardised features in each axis.
    places : (r, S) array
        Slopes of log density along the axes, in nats per standard deviation.
    own : (F, S) array
        Species-specific parts; zero where the fit has none.
    species : tuple of str
        Names of the S species.
    records : (S,) array
        Effective number of records of each species.
    normaliser, entropy : (S,) arrays
        Constants of the output scales.
    explained : (r,) array
        Share of the variance of the species' log densities over the sites that each axis explains.
    ranges : (r, 2) array
        Lowest and highest place of a site on each axis.
    n_domain : int
        Number of sites that `raw` sums to one over.
    strength : float
        The `c` of the penalty on axes.
    penalty : float
        The resulting `μ`.
    """

    kind: ClassVar[str] = "group"
    called: ClassVar[str] = "model of a group of species"
    archive: ClassVar[Archive] = Archive("sdm-group", 1, "group.json", "group model")
    kind_arrays: ClassVar[tuple[str, ...]] = (
        *("centre", "spread", "axes", "places", "own", "records", "normaliser", "entropy", "explained", "ranges"),
    )
    kind_values: ClassVar = {
        "species": texts,
        "n_domain": int,
        "strength": float,
        "penalty": float,
        "prevalence": float,
    }
    scales: ClassVar[tuple[str, ...]] = ("cloglog", "raw", "logistic", "link")

    variables: tuple[ModelVariable, ...]
    terms: Terms
    species: tuple[str, ...]
    centre: Array
    spread: Array
    axes: Array
    places: Array
    own: Array
    records: Array
    normaliser: Array
    entropy: Array
    explained: Array
    ranges: Array
    n_domain: int
    strength: float
    penalty: float
    prevalence: float = 0.5
    meta: dict[str, Any] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=Shapes)
    reference: Reference | None = field(default=None, repr=False)

    @property
    def rank(self) -> int:
        """Return the number of axes."""
        return int(self.axes.shape[1])

    @property
    def bands(self) -> tuple[str, ...]:
        """Return the species."""
        return self.species

    def position(self, species: str) -> int:
        """Return the position of a species in the group."""
        if species not in self.species:
            raise DataError(f"the group has no species '{species}'")
        return self.species.index(species)

    def weights_of(self, place: Array, own: Array | None = None) -> tuple[Terms, Shapes]:
        """Return the features with the weights of a species at a place on the axes, with its specific part `own`."""
        weights = self.axes @ place + (0.0 if own is None else own)
        return with_weights(self.terms, self.shapes, weights / self.spread)

    @cached_property
    def _compiled(self) -> list[tuple[Compiled, float]]:
        """Return the score function of every axis, and its mean over the sites."""
        return [self._compile(self.axes[:, k]) for k in range(self.rank)]

    def _compile(self, weights: Array) -> tuple[Compiled, float]:
        scaled = weights / self.spread
        terms, shapes = with_weights(self.terms, self.shapes, scaled)
        return Compiled(terms, *self.limits, shapes), float(scaled @ self.centre)

    def axis_scores(self, columns: Sequence[NDArray[np.floating]], clamp: bool = True) -> Array:
        """Return the places of points on the axes, (r, n), from one array of numbers per variable."""
        self.check_columns(columns)
        out = np.empty((self.rank, len(columns[0])))
        for row, (compiled, mean) in zip(out, self._compiled):
            np.subtract(compiled.scores(columns, clamp), mean, out=row)
        return out

    def scores_of(
        self, columns: Sequence[NDArray[np.floating]], place: Array, own: Array | None = None, clamp: bool = True
    ) -> Array:
        """Return the scores of a species at a place on the axes, with its specific part `own`, as in its model."""
        terms, shapes = self.weights_of(place, own)
        return Compiled(terms, *self.limits, shapes).scores(columns, clamp)

    def axis_effect(self, k: int, v: int, values: Array, clamp: bool = True) -> Array:
        """Return the additive effect of variable `v` on axis `k` at `values`, without products."""
        return self._compiled[k][0].contribution(v, values, clamp)

    def column_values(
        self, columns: Sequence[NDArray[np.floating]], scale: str | None = None, clamp: bool = True
    ) -> Array:
        """Predict every species, one row each; the axes are computed once for all."""
        scale = scale or self.scales[0]
        expect_one_of("scale", scale, self.scales)
        theta = self.places.T @ self.axis_scores(columns, clamp)
        theta[:, ~np.isfinite(np.asarray(columns, dtype=np.float64)).all(axis=0)] = np.nan
        for s in np.flatnonzero(np.any(self.own != 0, axis=0)):
            compiled, mean = self._compile(self.own[:, s])
            theta[s] += compiled.scores(columns, clamp) - mean
        theta -= self.normaliser[:, None] + np.log(self.n_domain)
        if scale == "link":
            return theta
        raw: Array = np.exp(theta, out=theta)
        if scale == "raw":
            return raw
        raw *= np.exp(self.entropy)[:, None]
        if scale == "cloglog":
            return -np.expm1(-raw)
        return self.prevalence * raw / (1.0 - self.prevalence + self.prevalence * raw)

    def relatives(self, species: str, most: int = 10) -> list[tuple[str, float]]:
        """Return the species with the most similar responses along the axes, and the correlations of their log
        densities.

        The correlations are over the sites, where the axes are uncorrelated.
        """
        length = np.linalg.norm(self.places, axis=0)
        alike = (self.places.T @ self.places[:, self.position(species)]) / np.maximum(
            length * length[self.position(species)], np.finfo(float).tiny
        )
        order = [int(s) for s in np.argsort(-alike, kind="stable") if self.species[s] != species]
        return [(self.species[s], float(alike[s])) for s in order[:most]]

    def description(self) -> dict[str, Any]:
        """Return the content of `sdm info`."""
        placed = [
            {"species": name, "records": float(n), "places": place}
            for name, n, place in zip(self.species, self.records, self.places.T.tolist())
        ]
        return {
            "variables": [asdict(variable) for variable in self.variables],
            "features": len(self.feature_names),
            "axes": [{"axis": k + 1, "explained": float(share)} for k, share in enumerate(self.explained)],
            "species": placed,
        }

    def to_file(self) -> tuple[Header, Arrays]:
        """Return the header and the arrays of a file."""
        header, arrays = super().to_file()
        if not self.own.any():  # saves features × species values in most groups
            arrays["own"] = self.own[:, :0]
        return header, arrays

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays) -> "GroupModel":
        """Return the model of a file."""
        if arrays["own"].shape[1:] == (0,):
            arrays = {**arrays, "own": np.zeros((len(arrays["own"]), len(header["species"])))}
        return super().from_file(header, arrays)

    def _sound(self) -> bool:
        """Return whether a fit could have written the values."""
        features, species, rank = len(self.terms) + len(self.shapes), len(self.species), self.rank
        shapes = {
            **dict.fromkeys(("centre", "spread"), (features,)),
            **dict.fromkeys(("records", "normaliser", "entropy"), (species,)),
            **{"axes": (features, rank), "places": (rank, species), "own": (features, species)},
            **{"explained": (rank,), "ranges": (rank, 2)},
        }
        arrays = [getattr(self, name) for name in self.kind_arrays]
        return bool(
            all(getattr(self, name).shape == shape for name, shape in shapes.items())
            and all(array.dtype == np.float64 for array in arrays)
            and bounded(*arrays)
            and np.all(self.spread > 0)
            and self.n_domain > 0
            and 0.0 < self.prevalence < 1.0
            and len(set(self.species)) == species > 0
        )
