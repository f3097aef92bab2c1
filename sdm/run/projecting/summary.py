"""What a projection found of every species, in every scenario."""

from dataclasses import dataclass, field

from sdm._version import __version__
from sdm.kinds.writing import versions
from sdm.options.writing import ProjectOptions
from sdm.report.projection import StoredCase
from sdm.types import Numbers

CLIMATE_MODELS = ("gcm", "climate_model", "model")  # fields that scenarios are averaged over unless the user says


def case_numbers(scenario: Numbers, title: str, folder: str, reference: Numbers | None) -> Numbers:
    """Return everything that was measured of a target in a scenario, as in the JSON file; names of files are relative
    to the folder of the projection."""
    target = scenario["targets"][title]
    model = scenario["models"][target["model"]]
    before = None if reference is None or reference is scenario else reference
    suitable = target.get("where_suitable", {})
    variables = {
        name: {"mean": mean, "where_suitable": suitable.get(name)} for name, mean in model["variables"].items()
    }
    if before is not None:
        overall = before["models"][target["model"]]["variables"]
        suitable_before = before["targets"][title].get("where_suitable", {})
        for name, row in variables.items():
            row["shift"] = _less(row["mean"], overall.get(name))
            row["where_suitable_shift"] = _less(row["where_suitable"], suitable_before.get(name))
    files = {key: _within(folder, value) for key, value in (target["files"] | model["files"]).items()}
    return {
        "title": "_".join([scenario["title"], *target["fields"].values()]),
        "scenario": scenario["title"], "fields": scenario["fields"] | target["fields"],
        "suitability": target["suitability"], "rules": target["rules"], "change": target.get("change"),
        "centroid": target.get("centroid"), "shift": target.get("shift"), "outside": model["outside"],
        "suitable_outside": target.get("suitable_outside"), "novelty": model["novelty"], "variables": variables,
        "files": files,
    }  # fmt: skip


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _within(folder: str, value: str | dict[str, str]) -> str | dict[str, str]:
    return {key: f"{folder}/{name}" for key, name in value.items()} if isinstance(value, dict) else f"{folder}/{value}"


@dataclass
class SpeciesProjection:
    """What was found of one species (or class, of a class model)."""

    name: str
    page: str  # what its files begin with
    kind: str
    scale: str
    rule: str | None
    options: ProjectOptions
    cases: list[StoredCase]
    model_fields: list[str]  # the fields that tell models apart
    across: list[Numbers] = field(default_factory=list)
    variance: Numbers | None = None
    files: Numbers = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # what could mislead
    notices: list[str] = field(default_factory=list)  # what is to be known of the layers

    @property
    def reference(self) -> StoredCase | None:
        """The case of the present; of several models the first."""
        return next((case for case in self.cases if case.is_reference), None)

    @property
    def scenarios(self) -> list[StoredCase]:
        """The cases of scenarios."""
        return [case for case in self.cases if not case.is_reference]

    @property
    def fields(self) -> list[str]:
        """The fields of scenarios, then those of models."""
        return list(dict.fromkeys(name for case in self.scenarios for name in case.fields))

    @property
    def dispersal(self) -> str:
        """How far the species gets, in words."""
        km = self.options.dispersal
        return f"at most {km:g} km per period" if isinstance(km, float) else str(km)

    @property
    def over(self) -> list[str]:
        """The fields to average over."""
        if self.options.over:
            return list(self.options.over)
        usual = [name for name in self.fields if name.casefold() in CLIMATE_MODELS or name in self.model_fields]
        return [name for name in usual if len({case.fields.get(name) for case in self.scenarios}) > 1]

    def groups(self) -> list[tuple[dict[str, str], list[StoredCase]]]:
        """Return the cases that are averaged together, with the fields that they share: at least two."""
        if not self.over and self.fields:
            return []
        groups: dict[tuple[tuple[str, str], ...], list[StoredCase]] = {}
        for case in self.scenarios:
            rest = tuple((k, v) for k, v in case.fields.items() if k not in self.over and self.over)
            groups.setdefault(rest, []).append(case)
        return [(dict(shared), cases) for shared, cases in groups.items() if len(cases) > 1]

    @property
    def numbers(self) -> Numbers:
        """Everything as JSON values."""
        reference = self.reference
        return {
            "kind": "projection", "version": __version__, "species": self.name,
            "of": self.kind, "scale": self.scale, "rule": self.rule,
            "dispersal": self.dispersal, "fields": self.fields,
            "reference": None if reference is None else reference.numbers,
            "scenarios": [case.numbers for case in self.scenarios], "across": self.across, "variance": self.variance,
            "warnings": self.warnings, "notices": self.notices, "versions": versions(), "files": self.files,
        }  # fmt: skip
