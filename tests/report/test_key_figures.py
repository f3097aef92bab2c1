"""The figures and tables of pages are the stored numbers, each in its place and in its unit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sdm.kinds.classes.page import ClassResults, class_figures, class_skill, classes, few_sites
from sdm.kinds.community import page as community
from sdm.kinds.group.page import axes_section, group_figures, strength_section
from sdm.kinds.group.page import species_section as group_species
from sdm.kinds.projection.page import projection_figures, projection_subject
from sdm.kinds.species.page import SpeciesResults, species_figures
from sdm.kinds.strata.page import path_section, strata_figures
from sdm.report.pages.frame import KeyFigure
from sdm.report.results import Results


def stored(
    folder: Path, tables: dict[str, list[str]] | None = None, of: type[Results] = Results, **numbers: Any
) -> Any:
    """Return results with some numbers and tables, and with an empty file for every other name."""
    files = {key: f"{key}.csv" for key in tables or {}} | numbers.pop("files", {})
    for name in files.values():
        (folder / name).touch()
    for key, lines in (tables or {}).items():
        (folder / f"{key}.csv").write_text("\n".join(lines) + "\n")
    return of(folder, "one", "", {"files": files} | numbers, numbers.pop("run", {}), "", "")


def texts(figures: Sequence[KeyFigure]) -> list[tuple[str, str, str]]:
    return [(figure.name, figure.value, figure.small) for figure in figures]


def test_strata(tmp_path: Path) -> None:
    strata = {"strata": 12, "strata_with_records": 7, "tolerance": 0.03125, "choice": "one_se", "folds": 4}
    strata |= {"segments": 31, "method": "block", "prior": "area"}
    results = stored(tmp_path, training_presences=1234, strata=strata, status="converged")
    assert texts(strata_figures(results)) == [
        ("Training records", "1,234", "prior: area"),
        ("Strata", "12", "7 with records"),
        ("Tolerance", "0.03125", "selected by: one_se"),
        ("Folds", "4", "block"),
        ("Segments of the path", "31", "converged"),
    ]
    assert path_section(results) is None


def case(
    title: str, net: float | None, share: float | None, suitable: float | None, km2: float = 0.0
) -> dict[str, Any]:
    return {
        "title": title,
        "change": None if net is None else {"net_percent": net},
        "outside": None if share is None else {"share": share},
        "suitable_outside": None if suitable is None else {"share": suitable},
        "rules": {"maxsss": {"cutoff": 0.4375, "km2": km2}},
    }


def test_projections(tmp_path: Path) -> None:
    cases = [case("a", -12.5, 0.25, 0.125), case("b", 4.5, 0.5, None), case("c", None, 0.0, 0.0625)]
    reference = case("today", None, None, None, 24_000.0)
    results = stored(tmp_path, scenarios=cases, reference=reference, rule="maxsss", dispersal="none")
    assert texts(projection_figures(results)) == [
        ("Scenarios", "3", "compared with today"),
        ("Suitable in the reference", "24,000 km²", "threshold 0.438 (maxsss)"),
        ("Change of the suitable area", "−4.0 %", "mean; from −12.5 % to +4.5 %"),
        ("Outside the training range", "50.0 %", "of the cells, at most (b)"),
        ("Suitable area outside it", "12.5 %", "at most"),
        ("Dispersal", "", "none"),
    ]
    assert projection_subject(results) == "projection to 3 scenarios"
    alone = stored(tmp_path, scenarios=cases[:1], reference=None, rule=None, dispersal="none")
    assert texts(projection_figures(alone)) == [
        ("Scenarios", "1", "without a reference"),
        ("Change of the suitable area", "−12.5 %", ""),
        ("Outside the training range", "25.0 %", "of the cells"),
        ("Suitable area outside it", "12.5 %", ""),
        ("Dispersal", "", "none"),
    ]


def test_groups(tmp_path: Path) -> None:
    axes = ["axis,explained,cumulative", "1,0.5,0.5", "2,0.25,0.75", "3,0.125,0.875", "4,0.0625,0.9375"]
    more = [f"{k},0.001,0.95" for k in range(5, 13)]
    species = [
        "species,records,shared share,own share,axis 1,axis 2",
        "oak,30,0.75,0.25,1.5,-0.5",
        "ash,20,0.5,0.5,0,2",
    ]
    relatives = ["species,relative,correlation", "oak,ash,0.75", "ash,oak,0.75"]
    path = ["strength,rank,held_out,chosen", "1,2,0.5,False", "0.5,3,0.4,True"]
    tables = {"axes": axes + more, "species axes": species, "relatives": relatives, "path": path}
    numbers = {"species": ["oak", "ash"], "variables": ["heat", "rain", "soil"], "features": 17, "rank": 4}
    numbers |= {"records_used": 1050, "sites": 2200, "strength": 0.53125, "penalty": 0.014, "gap": 2e-5}
    numbers |= {"status": "converged", "folders": {"oak": "oak", "ash": "../ash"}}
    results = stored(tmp_path, tables, **numbers)
    assert texts(group_figures(results)) == [
        ("Species", "2", "1,050 records"),
        ("Axes", "4", "the first 3 explain 87.5 %"),
        ("Sites", "2,200", "3 variables, 17 features"),
        ("Strength", "0.531", "penalty on axes 0.014"),
        ("Duality gap", "2e−05", "nats per record, converged"),
    ]
    supported = texts(group_figures(stored(tmp_path, tables, **numbers, supported=2)))
    assert supported[1] == ("Axes", "2 of 4", "supported by held-out records; the first 3 explain 87.5 %")
    section = axes_section(results)
    assert (len(section["rows"]), section["left_out"]) == (10, 2)
    assert "50 %" in section["chart"] or ">50<" in section["chart"], "shares are percentages"
    chosen = strength_section(results)
    assert chosen is not None
    assert (chosen["held"], chosen["chosen"]["strength"], len(chosen["rows"])) == (True, "0.5", 2)
    oak, ash = group_species(results)["rows"]
    assert (oak["link"], ash["link"]) == (["..", "oak", "oak.html"], None), "a folder elsewhere is not linked"
    assert (oak["records"], oak["shared"], oak["own"], oak["relatives"]) == (30, 0.75, 0.25, [("ash", 0.75)])


SKILL = {"log_loss": 0.75, "constant_log_loss": 1.0, "accuracy": 0.625, "kappa": 0.375, "mean_auc": 0.875}


def test_classes(tmp_path: Path) -> None:
    table = ["code,class,colour,sites,auc (test)", "1,bog,#111111,40,0.75", "2,fen,#222222,8,0.5"]
    table += ["3,wood,#333333,30,0.625"]
    measures = {"training": SKILL | {"tss": 0.5}, "test": SKILL | {"accuracy": 0.5}, "other": None}
    numbers = {"classes": ["bog", "fen", "wood"], "measures": measures, "map": {"shares": {"bog": 0.5, "wood": 0.25}}}
    numbers |= {"sites": 1078, "training_sites": 1000, "features_with_weight": 5, "features": 9, "gap": 3e-7}
    results = stored(
        tmp_path, {"classes": table}, ClassResults, **numbers, presence_absence={"tss": 0.25, "of": "test"}
    )
    assert texts(class_figures(results)) == [
        ("Sites", "1,078", "1,000 for training"),
        ("Mean AUC", "0.875", "test"),
        ("Log loss", "0.75", "test; null model 1"),
        ("TSS", "0.25", "test"),
        ("Accuracy", "0.5", "kappa 0.375"),
        ("Features with weight", "5", "of 9"),
        ("Duality gap", "3e−07", "nats, status unknown"),
    ]
    section = classes(results)
    assert section is not None
    assert section["titles"] == ["Sites", "AUC", "Share of the map"]
    assert [row["figures"] for row in section["rows"]] == [[40, 0.75, 0.5], [8, 0.5, None], [30, 0.625, 0.25]]
    assert [row["colour"] for row in section["rows"]] == ["#111111", "#222222", "#333333"]
    titles = ["Log loss", "Null model", "Accuracy", "Kappa", "TSS", "Mean AUC"]
    assert section["measure_titles"] == titles, "also what one of the data sets alone has"
    assert dict(section["measures"])["test"] == [0.75, 1.0, 0.5, 0.375, None, 0.875]
    assert (section["sites"], section["found"]) == ("test", None)
    assert [caution.text for caution in few_sites(results)] == ["The class fen has only 8 sites."]
    assert list(class_skill(results)) == []
    worse = {"training": SKILL | {"log_loss": 2.0}, "test": SKILL | {"log_loss": 1.0, "sites_given_no_probability": 3}}
    cautions = [caution.text for caution in class_skill(stored(tmp_path, None, ClassResults, measures=worse))]
    assert [text.partition(",")[0] for text in cautions] == [
        "By test",
        "At 3 sites (test) the observed class has probability 0; the log loss counts it as one in a million.",
    ]


def test_presence_and_absence(tmp_path: Path) -> None:
    confusion = ["data,class on record,predicted absence,predicted presence"]
    confusion += ["training,absence,50,5", "training,presence,6,60", "test,absence,20,2", "test,presence,3,30"]
    numbers = {"classes": ["absence", "presence"], "measures": {"training": SKILL, "test": SKILL}}
    tables = {"classes": ["code,class,colour", "0,absence,#111111"], "confusion": confusion}
    section = classes(stored(tmp_path, tables, ClassResults, **numbers))
    assert section is not None
    assert section["rows"] == []
    assert section["found"] == [("presence", [30, 3]), ("absence", [2, 20])]


def test_communities(tmp_path: Path) -> None:
    means = {
        name: {"auc": auc, "hamming": auc / 2, "log loss": 1 + auc, "species": {"oak": auc, "ash": auc / 4}}
        for name, auc in (("joint", 0.75), ("stacked", 0.5), ("glm", 0.625))
    }
    edges = [("oak", "ash", 0.25, 0.5), ("oak", "elm", -1.5, 0.5), ("ash", "elm", 0.75, 0.5)]
    effects = [("oak", "heat", 0.5, True), ("oak", "rain", -2.0, True), ("oak", "bias", 9.0, False)]
    effects += [("ash", "rain", 0.25, True), ("ash", "heat", 3.0, False)]
    numbers: dict[str, Any] = {
        "species": ["oak", "ash"], "sites": 1500, "missing": 12, "edges": 2, "graph": "tree", "variables": ["heat"],
        "features": "lq", "gap": 4e-6, "status": "converged",
        "test": {"mean": means, "folds": [1, 2, 3], "method": "random"},
        "training": {"joint": {"auc": 1.0}}, "prevalence": {"oak": 0.5, "ash": 0.25},
        "associations": [dict(zip(("first", "second", "weight", "sd"), edge)) for edge in edges],
        "effects": [dict(zip(("species", "feature", "weight", "kept"), effect)) for effect in effects],
        "fourth corner": [{"low": low, "high": low + 1} for low in (-0.5, 0.25, -2.0)] + [{"low": None, "high": None}],
    }  # fmt: skip
    results = stored(tmp_path, None, community.CommunityResults, **numbers)
    figures = texts(community.joint_figures(results))
    assert figures[:-1] == [
        ("Species", "2", "at 1,500 sites"),
        ("Mean AUC", "0.75", "stacked 0.5, GLM 0.625"),
        ("Hamming error", "0.375", "stacked 0.25, GLM 0.312"),
        ("Joint log loss", "1.75", "stacked 1.5, GLM 1.625"),
        ("Sites", "1,500", "12 labels missing"),
        ("Associations", "2", "graph: tree"),
        ("Variables", "1", "features lq"),
    ]
    assert figures[-1][1] == "4e−06"
    measured = community.measures(results)
    assert measured is not None
    assert (measured["folds"], measured["method"]) == (3, "random")
    assert dict(measured["rows"])["Mean AUC"] == {"joint": 0.75, "stacked": 0.5, "glm": 0.625}
    linked = community.network(results)
    assert linked is not None
    assert [(edge["weight"], edge["unsure"]) for edge in linked["edges"]] == [
        (-1.5, False),
        (0.75, False),
        (0.25, True),
    ]
    assert (linked["has_spread"], linked["left_out"]) == (True, 0)
    table = community.each(results)
    assert table is not None
    assert [(row["kept"], row["strongest"]) for row in table["rows"]] == [(2, "rain (-2.00)"), (1, "rain (+0.25)")]
    assert table["rows"][1]["figures"] == [0.25, 0.1875, 0.125, 0.15625]
    corner = community.fourth_corner(results)
    assert corner is not None
    assert (corner["number"], corner["sure"]) == (4, 2)
    assert [row["unsure"] for row in corner["rows"]] == [True, False, False, True]


def test_species(tmp_path: Path) -> None:
    numbers: dict[str, Any] = {
        "training_presences": 1020, "background_points": 9000, "log_loss_train": 8.5, "auc_train": 0.875, "gain": 0.75,
        "regularized_gain": 0.625, "features": 40, "features_with_weight": 12, "gap": 5e-6, "status": "converged",
        "test_presences": 255, "auc_test": 0.8125, "auc_test_deviation": 0.0125, "log_loss_test": 8.75,
        "test_gain": 0.375,
        "cross_validation": {"method": "block", "rows": [{}] * 4, "mean": {"auc.val.avg": 0.75, "cbi.val.avg": 0.5}},
        "range": {"area_km2": 12_345.0, "patches": 7},
        "thresholds": {"maxsss": {"area": 0.25, "cloglog": 0.375, "test_omission": 0.125}},
    }  # fmt: skip
    results = stored(tmp_path, None, SpeciesResults, **numbers)
    assert texts(species_figures(results)) == [
        ("Training records", "1,020", "9,000 background points"),
        ("Test AUC", "0.812", "± 0.013, 255 records"),
        ("Boyce index", "0.5", "held-out folds; 0 is random, 1 is best"),
        ("Range", "12,345 km²", "7 patches"),
        ("Predicted area", "25.0 %", "of the background, threshold 0.375"),
        ("Cross-validated AUC", "0.75", "4 folds"),
        ("Training AUC", "0.875", "log loss 8.5 nats"),
        ("Test omission", "12.5 %", "test records below the threshold"),
        ("Test log loss", "8.75", "nats; gain 0.375"),
        ("Regularised gain", "0.625", "unregularised 0.75"),
        ("Features with weight", "12", "of 40"),
        ("Duality gap", "5e−06", "nats, of the model, converged"),
    ]


@pytest.mark.parametrize(("method", "title"), [("bootstrap", "AUC of replicates"), ("random", "Cross-validated AUC")])
def test_replicates_are_not_called_folds(tmp_path: Path, method: str, title: str) -> None:
    validation = {"method": method, "rows": [{}, {}], "mean": {"auc.val.avg": 0.75}}
    figures = texts(species_figures(stored(tmp_path, None, SpeciesResults, cross_validation=validation)))
    assert figures[1][:2] == (title, "0.75")
