"""What a projection found of every species, in every scenario."""

from dataclasses import dataclass, field

from sdm._version import __version__
from sdm.kinds.writing import versions
from sdm.options.writing import ProjectOptions
from sdm.run.projecting.opening import REFERENCE
from sdm.types import Numbers

CLIMATE_MODELS = ("gcm", "climate_model", "model")  # fields that scenarios are averaged over unless the user says


@dataclass(frozen=True)
class Case:
    """One species in one scenario, by one model: everything that was measured, as in the JSON file."""

    numbers: Numbers
    model_fields: tuple[str, ...] = ()  # those of its fields that tell models apart

    @classmethod
    def of(cls, scenario: Numbers, title: str, folder: str, reference: Numbers | None) -> "Case":
        """Return the case of a target in a scenario; files are told from the folder of the projection."""
        found = dict(scenario["targets"][title])
        model = scenario["models"][found["model"]]
        was = None if reference is None or reference is scenario else reference
        before = {} if was is None else was["targets"][title].get("where_suitable", {})
        overall = {} if was is None else was["models"][found["model"]]["variables"]
        here = found.get("where_suitable", {})
        variables = {}
        for name, mean in model["variables"].items():
            row = {"mean": mean, "where_suitable": here.get(name)}
            if was is not None:
                row |= {
                    "shift": _less(mean, overall.get(name)),
                    "where_suitable_shift": _less(row["where_suitable"], before.get(name)),
                }
            variables[name] = row
        files = {key: _within(folder, value) for key, value in found["files"].items()}
        files |= {name: f"{folder}/{file}" for name, file in model["files"].items()}
        fields = {**scenario["fields"], **found["fields"]}
        names = [scenario["title"], *found["fields"].values()]
        return cls(
            {
                "title": "_".join(names), "scenario": scenario["title"], "fields": fields,
                "suitability": found["suitability"], "rules": found["rules"], "change": found.get("change"),
                "centroid": found.get("centroid"), "shift": found.get("shift"), "outside": model["outside"],
                "suitable_outside": found.get("suitable_outside"), "novelty": model["novelty"], "variables": variables,
                "files": files,
            },
            tuple(found["fields"]),
        )  # fmt: skip

    @property
    def is_reference(self) -> bool:
        """Whether it is of the layers of the present."""
        return bool(self.numbers["scenario"] == REFERENCE)


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
    cases: list[Case]
    across: list[Numbers] = field(default_factory=list)
    variance: Numbers | None = None
    files: Numbers = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # what could mislead
    notices: list[str] = field(default_factory=list)  # what is to be known of the layers

    @property
    def reference(self) -> Case | None:
        """The case of the present; of several models the first."""
        return next((case for case in self.cases if case.is_reference), None)

    @property
    def scenarios(self) -> list[Case]:
        """The cases of scenarios."""
        return [case for case in self.cases if not case.is_reference]

    @property
    def fields(self) -> list[str]:
        """The fields of scenarios, then those of models."""
        return list(dict.fromkeys(name for case in self.scenarios for name in case.numbers["fields"]))

    @property
    def dispersal(self) -> str:
        """How far the species gets, in words."""
        km = self.options.dispersal
        return f"at most {km:g} km per period" if isinstance(km, float) else str(km)

    @property
    def model_fields(self) -> list[str]:
        """The fields that tell models apart."""
        return list(dict.fromkeys(name for case in self.cases for name in case.model_fields))

    @property
    def over(self) -> list[str]:
        """The fields to average over."""
        if self.options.over:
            return list(self.options.over)
        usual = [name for name in self.fields if name.casefold() in CLIMATE_MODELS or name in self.model_fields]
        return [name for name in usual if len({case.numbers["fields"].get(name) for case in self.scenarios}) > 1]

    def groups(self) -> list[tuple[dict[str, str], list[Case]]]:
        """Return the cases that are averaged together, with the fields that they share: at least two."""
        if not self.over and self.fields:
            return []
        groups: dict[tuple[tuple[str, str], ...], list[Case]] = {}
        for case in self.scenarios:
            rest = tuple((k, v) for k, v in case.numbers["fields"].items() if k not in self.over and self.over)
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
