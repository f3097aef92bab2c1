"""Numbers of a scenario beside those of the present."""

from sdm.run.projecting.telling import case_numbers

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
