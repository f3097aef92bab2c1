"""The stored results of a species, as its page, its maps and its metadata show them."""

from collections.abc import Sequence
from typing import ClassVar

from sdm.report.pages.words import (
    certificate_text,
    feature_families,
    figure,
    optimum_text,
    order_text,
    penalty_text,
    sampling,
    status_text,
    suitability_text,
    treated,
    whole,
)
from sdm.report.results import Results, number
from sdm.types import Numbers

KIND = "species"  # in the file of the numbers


class SpeciesResults(Results):
    """The results of one species: presences compared with a background."""

    record: ClassVar[str] = "record"
    presence_only: ClassVar[bool] = True
    data_type: ClassVar[str] = "presence only"
    data_text: ClassVar[str] = "Presence-only occurrence records, with a background sample of the region."

    @property
    def of_species(self) -> bool:
        """The title is the name of the species."""
        return True

    @property
    def survey(self) -> Numbers:
        """Measures at the sites of a survey."""
        return self.tree("presence_absence")

    @property
    def algorithm(self) -> str:
        """The algorithm in a sentence."""
        n, option, shared = self.numbers, self.option, self.tree("shared")
        order = order_text(option("fit.entropy"))
        if shared:
            start = "Maximum"
            if option("fit.model") == "ensemble":
                start = "Mean of a committee of models of this species and of maximum"
            others = shared["species"] - (number(shared.get("records")) is not None)
            strength = figure(shared.get("strength"), 3)
            axes = f"axes shared with {whole(others)} other species (nuclear norm, strength {strength})"
            return f"{start} entropy on {axes}."
        if option("fit.model") == "structural":
            return (
                f"Structural maximum entropy (StructMaxent{order}): families {option('fit.families')}; the penalty of "
                "trees and monomials is λ·B + β for the complexity B of their family "
                f"({self.tree('structure').get('penalties', '')})."
            )
        classes = str(n.get("classes") or "")
        if n.get("software"):
            families = feature_families(classes)
            fitted = f"fitted by {n['software']}; the settings are not in the model file"
            return f"Maximum entropy (MaxEnt) with {families}, {fitted}."
        if set(classes) & set(",:*"):
            features = f"features {classes.replace(',', ', ')}"
        else:
            features = feature_families(classes) or "the features listed under settings"
        multiplier = figure(option("fit.multiplier") or 1)
        penalty = penalty_text(option("fit.regularization"))
        return f"Maximum entropy (MaxEnt{order}) with {features} and {penalty}, regularisation multiplier {multiplier}."

    @property
    def certificate(self) -> str:
        """How near the fit is to the best one, in sentences."""
        n, shared = self.numbers, self.tree("shared")
        gap = figure(n.get("gap"), 2)
        if number(n.get("gap")) is not None and number(n.get("members")) is not None:
            return (
                f"The model is the mean of {whole(n['members'])} models, each proved to be within {gap} nats of the "
                "best value of its own objective, over all of its own features. The mean solves no problem of its own, "
                "so there is no optimum that it could be compared with."
            )
        if number(n.get("gap")) is not None and shared:
            proof = (
                f"All species of the group were fitted in one piece, and the whole is proved to be within {gap} nats "
                "per record of the best value that its objective can have, over all weights of all species, and so "
                "over every possible set of axes."
            )
            if number(shared.get("gap")) is None:
                proof = (
                    f"The axes were given. On them the place of this species is proved to be within {gap} nats of the "
                    "best value that its objective can have, over all places."
                )
            return f"{status_text(self)} {proof}"
        gain = (
            f" The objective is the regularised loss, by which the model gained {figure(n.get('regularized_gain'))} "
            "nats in comparison with the base distribution."
        )
        text = certificate_text(self, optimum_text(self, f"all {whole(n.get('features'))} features"))
        return text if number(n.get("gap")) is None else text + gain

    @property
    def metadata(self) -> Numbers:
        """Entities of rangeModelMetadata that are particular to Maxent."""
        n, option = self.numbers, self.option
        classes = str(n.get("classes") or "")
        settings: Numbers = {"featureSet": classes.upper() if classes.isalpha() else n.get("classes")}
        if not n.get("software"):  # the settings of another program are not known
            by_number = "by the number of presences, as Java Maxent"
            bias = "; ".join(f"{name}: {text}" for name, text in sampling(self))
            gap = f"within {n['gap']:.2g} nats of the optimum, proved" if isinstance(n.get("gap"), float) else None
            settings |= {
                "featureRule": by_number if option("fit.features") == "auto" else None,
                "regularizationMultiplierSet": option("fit.multiplier") or 1,
                "convergenceThresholdSet": option("fit.tolerance"),
                "samplingBiasRule": bias if treated(self) else "none",
                "clamping": option("predict.extrapolation") == "clamp",
                "notes": gap,
            }
        maxent = {f"model$algorithm$maxent${name}": value for name, value in settings.items()}
        return {"model$algorithms": f"maxent ({self.program})", "model$speciesCount": 1, **maxent}

    def presence_rows(self, count: int) -> Sequence[int]:
        """Return the rows of the presences: they are the last of the training environment."""
        presences = int(number(self.numbers.get("training_presences")) or 0)
        return range(count - presences, count)

    def map_text(self, label: str) -> str:
        """Return what a picture of the map shows."""
        return suitability_text(self.title)


RESULTS = SpeciesResults
