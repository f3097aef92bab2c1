"""A fitted joint model, with predictions and a file format."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdm.data.encode import Encoder
from sdm.features.terms import bounded
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.features import SiteFeatures
from sdm.joint.graph import Forest, forest_of_edges
from sdm.joint.inference import States, marginals, maximise, scores
from sdm.joint.labels import as_states, read_labels
from sdm.joint.levels import RandomEffect
from sdm.joint.sparsemap import PossibleCommunities, possible_communities
from sdm.models.interface import Arrays, FittedModel, Header, read_terms, term_arrays, term_names, texts, usable_meta
from sdm.novelty.reference import Reference, TrainingRange
from sdm.storage.archive import Archive
from sdm.types import Array

_RANDOM = ("random_effect", "random_variance")
_FEATURES = ("lo", "hi", "centre", "width", "mean", "spread")


@dataclass(frozen=True)
class FittedJoint(FittedModel):
    """Features, species and edges, with their weights.

    The variance of a weight is the squared standard error for a CRF, and the posterior variance for Laplace MEDN. It is
    zero where it would only repeat the prior, and empty if no weight has one.
    """

    kind: ClassVar[str] = "community"
    called: ClassVar[str] = "joint model"
    scales: ClassVar[tuple[str, ...]] = ("probability",)
    archive: ClassVar[Archive] = Archive("sdm-joint", 2, "joint.json", "joint model")

    encoder: Encoder
    features: SiteFeatures
    species: tuple[str, ...]
    forest: Forest
    weights: Array  # (size,), like the variance
    variance: Array
    scale: float  # factor of a max-margin model's scores before they become probabilities; one for a CRF
    meta: dict[str, Any] = field(default_factory=dict)  # origin of the model; JSON values only
    reference: Reference | None = field(default=None, repr=False)  # training environment
    random: RandomEffect | None = None

    @cached_property
    def discriminant(self) -> Discriminant:
        """Return the layout of the weights."""
        return Discriminant(self.forest, self.features.size)

    def encode(self, X: Any) -> Array:
        """Convert a table to raw values."""
        return self.encoder.encode(X)

    def predict(self, x: Any, known: Any = None, clamp: bool = True, levels: Any = None) -> NDArray[np.int8]:
        """Return the best joint labelling, −1 where a variable is missing; `x` is as for a model of one species.

        `known` are observed labels to condition on, NaN where unknown; a data frame may have a subset of the species.
        `levels` are the levels of the random effect, one per site, by default from a column of `x`. Without a level, or
        for a new one, the mean of the levels is used.
        """
        unary, table, states, complete = self._scores(x, known, clamp, levels)
        out = np.full(states.shape, -1, dtype=np.int8)
        out[complete] = maximise(self.forest, unary, table, states[complete])[0]
        return out

    def predict_proba(self, x: Any, known: Any = None, clamp: bool = True, levels: Any = None) -> Array:
        """Return every species' marginal, NaN where a variable is missing; parameters as for `predict`."""
        unary, table, states, complete = self._scores(x, known, clamp, levels)
        out = np.full(states.shape, np.nan)
        out[complete] = marginals(self.forest, self.scale * unary, self.scale * table, states[complete]).nodes
        return out

    def predict_both(self, x: Any, known: Any = None, clamp: bool = True) -> tuple[NDArray[np.int8], Array]:
        """Return the results of `predict` and `predict_proba` from one evaluation of the features."""
        unary, table, states, valid = self._scores(x, known, clamp, None)
        labels, probability = np.full(states.shape, -1, dtype=np.int8), np.full(states.shape, np.nan)
        labels[valid] = maximise(self.forest, unary, table, states[valid])[0]
        probability[valid] = marginals(self.forest, self.scale * unary, self.scale * table, states[valid]).nodes
        return labels, probability

    def communities(
        self, x: Any, known: Any = None, clamp: bool = True, levels: Any = None
    ) -> list[PossibleCommunities | None]:
        """Return possible communities of every site with their probabilities (SparseMAP), the most probable first.

        The result is None where a variable is missing. Parameters are as for `predict`.
        """
        unary, table, states, valid = self._scores(x, known, clamp, levels)
        results = iter(possible_communities(self.forest, self.scale * unary, self.scale * table, states[valid]))
        return [next(results) if is_valid else None for is_valid in valid]

    def log_odds(self, x: Any, levels: Any = None) -> Array:
        """Return every species' log-odds without the other species; for a model without edges these are its
        log-odds."""
        unary = self.discriminant.unary(self.weights, self.features.evaluate(self.encode(x)))
        return self.scale * (unary + self.level_offsets(x, len(unary), levels))

    def log_loss(self, x: Any, labels: Any, levels: Any = None) -> float:
        """Return the mean of `−ln p(y | x)` over sites; unknown labels are negative or NaN."""
        values = self.encode(x)
        if not isinstance(labels, np.ndarray) or labels.dtype != np.int8:
            labels = read_labels(labels, self.species, values.shape[0])
        sites = LabelledSites(self.features.evaluate(values), labels)
        scaled = self.discriminant.unary(self.weights, sites.x) + self.level_offsets(x, sites.n, levels)
        unary, table = self.scale * scaled, self.scale * self.discriminant.table(self.weights)
        log_partition = marginals(self.forest, unary, table, sites.states).log_partition
        return float(np.mean(log_partition - scores(self.forest, unary, table, labels)))

    def level_offsets(self, x: Any, sites: int, levels: Any = None) -> Array:
        """Return the effect of each site's level on the species' scores, `(n, S)`, or zeros `(1, S)` for the mean.

        `levels` are as for `predict`.
        """
        if self.random is not None and levels is None and hasattr(x, "columns") and self.random.column in x.columns:
            levels = x[self.random.column]
        if self.random is None or levels is None:
            return np.zeros((1, len(self.species)))
        return self.random.offsets(levels, sites)

    def _scores(self, x: Any, known: Any, clamp: bool, levels: Any) -> tuple[Array, Array, States, NDArray[np.bool_]]:
        values = self.encode(x)
        states = as_states(known, (values.shape[0], len(self.species)), self.species)
        complete: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1))
        unary = self.discriminant.unary(self.weights, self.features.evaluate(values[complete], clamp))
        offsets = self.level_offsets(x, len(values), levels)
        unary += offsets[complete] if len(offsets) == len(complete) else offsets
        return unary, self.discriminant.table(self.weights), states, complete

    @property
    def feature_names(self) -> list[str]:
        """Return readable names of the site features; the last one is the bias."""
        by_name = self._titles() | {name: dict(enumerate(words)) for name, words in self.encoder.labels.items()}
        labels = {self.encoder.names.index(name): codes for name, codes in by_name.items()}
        return [*self.features.raw_terms().names(self.encoder.names, labels), "bias"]

    def _titles(self) -> dict[str, dict[int, str]]:
        """Return the names of categories in the layers' files, by variable and code; invalid codes are ignored."""
        stored = self.meta.get("category_names")
        pairs = stored.items() if isinstance(stored, dict) else ()
        named = {name: codes for name, codes in pairs if name in self.encoder.categorical and isinstance(codes, dict)}
        return {
            name: {int(code): str(text) for code, text in codes.items() if re.fullmatch(r"-?[0-9]{1,9}", str(code))}
            for name, codes in named.items()
        }

    def effects(self) -> list[dict[str, Any]]:
        """Return one row per species and feature: `weight` and its `sd` (NaN where the sites are uninformative)."""
        weights, spread = self.discriminant.split(self.weights)[0], self.discriminant.split(self._deviation)[0]
        return [
            {"species": name, "feature": feature, "weight": float(weights[s, k]), "sd": float(spread[s, k])}
            for s, name in enumerate(self.species)
            for k, feature in enumerate(self.feature_names)
        ]

    def associations(self) -> list[dict[str, Any]]:
        """Return one row per edge: two species, `weight` (positive: co-occurrence) and its `sd` as for `effects`."""
        weights, spread = self.discriminant.split(self.weights)[1], self.discriminant.split(self._deviation)[1]
        return [
            {"first": self.species[s], "second": self.species[t], "weight": float(weight), "sd": float(sd)}
            for (s, t), weight, sd in zip(self.forest.edges, weights, spread)
        ]

    @property
    def _deviation(self) -> Array:
        variance = self.variance if self.variance.size else np.zeros(self.weights.size)
        return np.sqrt(np.where(variance > 0, variance, np.nan))

    @property
    def bands(self) -> tuple[str, ...]:
        """Return the species."""
        return self.species

    @cached_property
    def training_range(self) -> TrainingRange:
        """Return the range over the sites; categories are listed if the file has the training environment."""
        if self.reference is not None:
            return TrainingRange.of(self.reference, self.names)
        return TrainingRange(self.names, self.features.lo, self.features.hi, (None,) * len(self.names))

    def column_values(
        self, columns: Sequence[NDArray[np.floating]], scale: str | None = None, clamp: bool = True
    ) -> Array:
        """Predict the probability of every species from one array of numbers per variable."""
        return self.predict_proba(np.column_stack(columns).astype(np.float64), clamp=clamp).T

    def description(self) -> dict[str, Any]:
        """Return the content of `sdm info`."""
        return {
            "species": list(self.species),
            "variables": list(self.encoder.names),
            "categorical": list(self.encoder.categorical),
            "associations": self.associations(),
            "effects": self.effects(),
            **({} if self.random is None else {"random effect": self.random.by_species(self.species)}),
        }

    @classmethod
    def optional_names(cls) -> list[str]:
        """Return the names of arrays that only some files have."""
        return [*super().optional_names(), *_RANDOM]

    @classmethod
    def array_names(cls) -> list[str]:
        """Return the names of the arrays in a file."""
        return [*_FEATURES, "edges", "weights", "variance", *term_names()]

    def to_file(self) -> tuple[Header, Arrays]:
        """Return the header and the arrays of a file."""
        header: Header = {
            "variables": list(self.encoder.names),
            "categorical": list(self.encoder.categorical),
            "labels": {name: list(labels) for name, labels in self.encoder.labels.items()},
            "species": list(self.species),
            "scale": self.scale,
            "meta": self.meta,
        }
        arrays = {name: getattr(self.features, name) for name in _FEATURES}
        arrays |= {"edges": self.forest.edges, "weights": self.weights, "variance": self.variance}
        if self.random is not None:
            effect = {"column": self.random.column, "levels": list(self.random.levels), "spread": self.random.spread}
            header |= {"random": effect, "version": self.archive.newest}
            arrays |= dict(zip(_RANDOM, (self.random.effect, self.random.variance)))
        return header, {**arrays, **term_arrays(self.features.terms)}

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays) -> "FittedJoint":
        """Return the model of a file."""
        labels = {str(name): texts(words) for name, words in header["labels"].items()}
        encoder, species = (
            Encoder(texts(header["variables"]), texts(header["categorical"]), labels),
            texts(header["species"]),
        )
        features = SiteFeatures(read_terms(arrays), **{name: arrays[name] for name in _FEATURES})
        forest = Forest(len(species), forest_of_edges(arrays["edges"].tolist(), species).edges)
        weights, variance, random = arrays["weights"], arrays["variance"], None
        if entry := header.get("random"):
            effect, squares = (arrays[name] for name in _RANDOM)
            random = RandomEffect(str(entry["column"]), texts(entry["levels"]), effect, squares, float(entry["spread"]))
        shape = (encoder, features, species, forest)
        model = cls(*shape, weights, variance, float(header["scale"]), header["meta"], random=random)
        model._check()
        return model

    def _check(self) -> None:
        """Refuse values that no fit writes."""
        features, terms, n = self.features, self.features.terms, len(self.encoder.names)
        good = (
            terms.sound(n)
            and terms.kind.shape == features.mean.shape == features.spread.shape
            and features.lo.shape == features.hi.shape == features.centre.shape == features.width.shape == (n,)
            and np.all(features.lo <= features.hi)
            and np.all(features.spread > 0)
            and np.all(features.width > 0)
            and bounded(features.centre, features.width)
            and self.weights.shape == (self.discriminant.size,)
            and self.variance.shape in ((0,), self.weights.shape)
            and np.all(self.variance >= 0)
            and bounded(features.mean, features.spread, self.weights, self.variance, np.array([self.scale]))
            and self.scale > 0.0
            and usable_meta(self.meta)
            and (self.random is None or self.random.sound(len(self.species)))
        )
        if not good:
            raise ValueError("values that no joint model has")
