"""Results of a projection by species: numbers, warnings, terminal lines, and the rows of `scenarios.csv`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sdm._version import __version__
from sdm.kinds.writing import versions
from sdm.maps.outside import outside_line
from sdm.options.writing import ProjectOptions
from sdm.report.projection import StoredCase, most_outside
from sdm.types import Numbers, Row

CLIMATE_MODELS = ("gcm", "climate_model", "model")  # default fields for averages over scenarios


def case_numbers(scenario: Numbers, title: str, folder: str, reference: Numbers | None) -> Numbers:
    """Return all measures of a target in a scenario for the JSON file; file names are relative to the folder of the
    projection."""
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
    """The results of one species, or of a class model."""

    name: str
    page: str  # prefix of its files
    kind: str
    scale: str
    rule: str | None
    options: ProjectOptions
    cases: list[StoredCase]
    model_fields: list[str]  # the fields of models
    across: list[Numbers] = field(default_factory=list)
    variance: Numbers | None = None
    files: Numbers = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # warnings about interpretation
    notices: list[str] = field(default_factory=list)  # notes on the layers

    @property
    def reference(self) -> StoredCase | None:
        """The case of the reference; of the first model if there are several."""
        return next((case for case in self.cases if case.is_reference), None)

    @property
    def scenarios(self) -> list[StoredCase]:
        """The cases of scenarios."""
        return [case for case in self.cases if not case.is_reference]

    @property
    def fields(self) -> list[str]:
        """The fields of scenarios, then the fields of models."""
        return list(dict.fromkeys(name for case in self.scenarios for name in case.fields))

    @property
    def dispersal(self) -> str:
        """The dispersal limit as text."""
        km = self.options.dispersal
        return f"at most {km:g} km per period" if isinstance(km, float) else str(km)

    @property
    def over(self) -> list[str]:
        """The fields of averages."""
        if self.options.over:
            return list(self.options.over)
        usual = [name for name in self.fields if name.casefold() in CLIMATE_MODELS or name in self.model_fields]
        return [name for name in usual if len({case.fields.get(name) for case in self.scenarios}) > 1]

    def groups(self) -> list[tuple[dict[str, str], list[StoredCase]]]:
        """Return the groups of at least two cases for averages, with their common fields."""
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


NOTABLE = 0.01  # share outside the training range that causes a warning
MOST_LINES = 30  # largest number of scenarios in the terminal
MOST_WARNED = 5  # largest number of species with printed warnings
COLUMNS = ("species", "scenario", "measure", "of", "value", "unit")  # columns of `scenarios.csv` other than fields
OF_VARIABLES = {
    "mean": "mean",
    "shift": "shift of the mean",
    "where_suitable": "mean where suitable",
    "where_suitable_shift": "shift of the mean where suitable",
}


def field_column(name: str) -> str:
    """Return the column of a field in `scenarios.csv`: its name, unless another column has it."""
    return f"field_{name}" if name in COLUMNS else name


def projection_warnings(one: SpeciesProjection) -> list[str]:
    """Return the warnings about the maps of a species."""
    out = []
    shares = [(case.outside, case) for case in one.scenarios if case.outside is not None]
    notable = [pair for pair in shares if pair[0] >= NOTABLE]
    if notable:
        share, worst = max(notable, key=lambda pair: pair[0])
        by_variable = worst.outside_by_variable()
        first = max(by_variable, key=by_variable.__getitem__)
        maps = "the map" if len(shares) == 1 else f"{len(notable)} of {len(shares)} maps"
        out.append(
            f"{one.name}: up to {share:.0%} of the cells of {maps} are outside the training range ({worst.title}; "
            f"most by {first}, {by_variable[first]:.0%}): the predictions there are extrapolations without data"
        )
    if empty := [case.title for case in one.scenarios if not case.numbers["suitability"]["cells"]]:
        out.append(
            f"{one.name}: {len(empty)} of {len(one.scenarios)} scenarios ({empty[0]}) have an empty map, because "
            "every cell is outside the training range: use another --extrapolation"
        )
    suitable = [(case.tree("suitable_outside").get("share", 0.0), case) for case in one.scenarios]
    share, worst = max(suitable, key=lambda pair: pair[0])
    if share >= NOTABLE:
        hatched = bool(worst.numbers.get("novelty"))
        how = "see the hatched parts of the maps" if hatched else "use --novelty mess to map it"
        out.append(f"{one.name}: up to {share:.0%} of the suitable area ({worst.title}) is extrapolated: {how}")
    if not shares:
        out.append(f"{one.name}: the model file has no training range, so extrapolation is unknown")
    for shared, cases in one.groups():
        nets = _net_changes(cases)
        if nets and min(nets) < 0 < max(nets):
            group = "_".join(shared.values()) or "all scenarios"
            grow = sum(net > 0 for net in nets)
            out.append(
                f"{one.name}, {group}: the suitable area increases in {grow} scenarios and decreases in "
                f"{len(nets) - grow}"
            )
    return out


def _net_changes(cases: Sequence[StoredCase]) -> list[float]:
    return [case.net_percent for case in cases if case.net_percent is not None]


def common_warnings(species: Sequence[SpeciesProjection]) -> list[str]:
    """Return the warnings of all species; for many species, their number and the warnings of the worst one."""
    warned = [one for one in species if one.warnings]
    if len(warned) <= MOST_WARNED:
        return [text for one in warned for text in one.warnings]
    worst = max(warned, key=lambda one: most_outside(one.scenarios) or 0.0)
    return [
        f"{len(warned)} of {len(species)} species have warnings, which are on their pages; the worst is {worst.name}",
        *worst.warnings,
    ]


def projection_lines(projection: SpeciesProjection, brief: bool = False) -> list[str]:
    """Return the results of a species as lines of text: extrapolation first."""
    shares = [case.outside for case in projection.scenarios if case.outside is not None]
    n, scenarios = len(projection.scenarios), len({case.numbers["scenario"] for case in projection.scenarios})
    head = f"{projection.name}: {scenarios} {'scenario' if scenarios == 1 else 'scenarios'}"
    head += f" by {n // max(scenarios, 1)} models" if n > scenarios else ""
    if shares:
        head += f"; outside the training range {_span(shares)} of the cells"
    if brief:
        if nets := _net_changes(projection.scenarios):
            head += f"; suitable area {' to '.join(dict.fromkeys(f'{net:+.0f} %' for net in (min(nets), max(nets))))}"
        return [head]
    shown = projection.scenarios[:MOST_LINES]
    outside = [(case.title, outside_line(case.tree("outside"))) for case in shown if case.tree("outside")]
    lines = [head, *(f"  {title}: {line}" for title, line in outside), *(f"  {_line(case)}" for case in shown)]
    if n > MOST_LINES:
        lines.append(f"  {n - MOST_LINES} more: see scenarios.csv")
    for group in projection.across:
        lines.append(f"  over {', '.join(group['over']) or 'all scenarios'}: {group['title']}, {group['cases']} maps")
    if projection.variance is not None:
        sources = [one for one in projection.variance["sources"] if one["share"] is not None]
        parts = ", ".join(f"{one['source']} {one['share']:.0%}" for one in sources)
        gaps = "" if projection.variance["balanced"] else " (some combinations are missing, so shares may overlap)"
        lines.append(f"  variance by source: {parts}{gaps}")
    return lines


def _line(case: StoredCase) -> str:
    parts = [] if case.km2 is None else [f"suitable {case.km2:,.0f} km²"]
    if change := case.tree("change"):
        net = "" if case.net_percent is None else f" ({case.net_percent:+.1f} %)"
        parts.append(f"gain {change['gain']['km2']:,.0f}, loss {change['loss']['km2']:,.0f} km²{net}")
    if (moved := case.tree("shift")) and moved["direction"]:
        parts.append(f"centroid shifts {moved['km']:,.0f} km {moved['direction']}")
    parts = parts or [f"mean suitability {case.numbers['suitability']['mean'] or 0:.3f}"]
    return f"{case.title}: {'; '.join(parts)}"


def projection_rows(projection: SpeciesProjection) -> list[Row]:
    """Return one row per scenario and measure."""
    out: list[Row] = []
    for case in projection.cases:
        head = {"species": projection.name, "scenario": case.numbers["scenario"]}
        head |= {field_column(name): case.fields.get(name, "") for name in projection.fields}
        for measure, of, value, unit in _measures(projection, dict(case.numbers)):
            if value is not None:
                out.append({**head, "measure": measure, "of": of, "value": value, "unit": unit})
    return out


def _measures(projection: SpeciesProjection, numbers: Numbers) -> Iterator[tuple[str, str, object, str]]:
    """Yield all measures of a case: name, subject, value, and unit."""
    rule, outside = projection.rule or "", "outside the training range"
    for name in ("mean", "min", "max"):
        yield f"{name} suitability", projection.scale, numbers["suitability"][name], ""
    for name, size in numbers["rules"].items():
        yield "cutoff", name, size["cutoff"], ""
        yield "suitable area", name, size["km2"], "km2"
        yield "suitable cells", name, size["cells"], "cells"
    if shares := numbers["outside"]:
        for name, part in {"": shares, **shares["variables"], **shares["unseen_categories"]}.items():
            yield outside, name, part["share"], "share"
            yield outside, name, part["km2"], "km2"
    if extrapolated := numbers["suitable_outside"]:
        yield f"suitable area {outside}", rule, extrapolated["km2"], "km2"
        yield f"suitable area {outside}", rule, extrapolated["share"], "share"
    for name, part in (numbers["change"] or {}).items():
        if isinstance(part, dict):
            yield name.replace("_", " "), rule, part["km2"], "km2"
            yield name.replace("_", " "), rule, part["cells"], "cells"
        else:
            yield name.removesuffix("_percent"), rule, part, "percent"
    for name, value in (numbers["centroid"] or {}).items():
        yield f"centroid {name}", rule, value, "degrees" if name in ("lon", "lat") else ""
    if moved := numbers["shift"]:
        yield "shift of the centroid", rule, moved["km"], "km"
        yield "bearing of the shift", rule, moved["bearing"], "degrees"
    for name, row in numbers["variables"].items():
        yield from ((OF_VARIABLES[key], name, value, "") for key, value in row.items())
    for name, summary in numbers["novelty"].items():
        if name in ("mess", "exdet", "mop", "clamping"):
            yield f"mean {name}", "", summary["mean"], ""


def _span(shares: Sequence[float]) -> str:
    low, high = min(shares), max(shares)
    return f"{high:.1%}" if f"{low:.1%}" == f"{high:.1%}" else f"{low:.1%} to {high:.1%}"
