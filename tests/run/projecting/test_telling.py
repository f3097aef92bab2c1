"""Numbers of a scenario beside those of the present."""

from pathlib import Path

from sdm.options.definitions import ProjectOptions
from sdm.report.projection import StoredCase
from sdm.run.projecting.telling import SpeciesProjection, case_numbers, projection_warnings

MEANS = {"today": (10.0, 12.0), "warm": (13.0, 12.5)}


def scenario(title: str, variable: str = "t") -> dict:
    mean, suitable = MEANS[title]
    return {
        "title": title,
        "fields": {"year": title},
        "models": {"m": {"variables": {variable: mean}, "files": {}, "outside": None, "novelty": {}}},
        "targets": {
            "Zea mays": {
                "model": "m",
                "fields": {},
                "files": {"map": "Zea_mays.tif"},
                "suitability": {"cells": 4},
                "rules": {},
                "where_suitable": {variable: suitable},
            }
        },
    }


def test_shifts_are_the_scenario_less_the_present() -> None:
    present, warm = scenario("today"), scenario("warm")
    numbers = case_numbers(warm, "Zea mays", "warm", present)
    assert numbers["variables"]["t"] == {
        "mean": 13.0,
        "where_suitable": 12.5,
        "shift": 3.0,
        "where_suitable_shift": 0.5,
    }
    assert numbers["files"] == {"map": "warm/Zea_mays.tif"}
    assert "shift" not in case_numbers(present, "Zea mays", "today", present)["variables"]["t"]
    other = case_numbers(warm, "Zea mays", "warm", scenario("today", "precipitation"))
    assert other["variables"]["t"]["shift"] is None, "the present has no such variable"


def stored(title: str, net: float, outside: float = 0.0, suitable: float = 0.0, cells: int = 9) -> StoredCase:
    shares = {"heat": {"share": outside / 2}, "rain": {"share": outside}}
    numbers = {"title": title, "change": {"net_percent": net}, "outside": {"share": outside, "variables": shares}}
    numbers |= {"suitable_outside": {"share": suitable}, "suitability": {"cells": cells}, "fields": {"gcm": title}}
    return StoredCase(Path(), numbers)


def test_warnings_of_a_projection() -> None:
    cases = [stored("a", -10.0, 0.25, 0.125), stored("b", -5.0, 0.5), stored("c", 4.0, cells=0)]
    one = SpeciesProjection("oak", "oak", "species", "cloglog", None, ProjectOptions(over=["gcm"]), cases, [])
    far, empty, suitable, change = projection_warnings(one)
    assert "oak: up to 50% of the cells of 2 of 3 maps" in far
    assert "(b; most by rain, 50%)" in far
    assert "oak: 1 of 3 scenarios (c)" in empty
    assert "up to 12% of the suitable area (a)" in suitable
    assert change.endswith("increases in 1 scenarios and decreases in 2")
    calm = SpeciesProjection("oak", "oak", "species", "cloglog", None, ProjectOptions(over=["gcm"]), cases[:0], [])
    calm.cases.append(stored("d", 1.0))
    assert projection_warnings(calm) == []
