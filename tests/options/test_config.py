"""Options: one definition, the same in the terminal, the run file and Python."""

import math
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from sdm.errors import OptionError
from sdm.options.definitions import RunOptions
from sdm.options.reading import (
    PATHS,
    SECTIONS,
    WHERE,
    Leaf,
    dump_yaml,
    leaves,
    make_options,
    read_yaml,
    run_file_schema,
    template,
)
from sdm_cli.app import app
from tools import words

LEAVES = {leaf.dotted: leaf for leaf in leaves()}
# A value of every option that is not its default, as text and as it should be understood.
EXAMPLES: dict[str, tuple[Any, Any]] = {
    "kind": ("community", "community"),
    "seed": ("7", 7),
    "threads": ("3", 3),
    "processes": ("2", 2),
    "retries": ("1", 1),
    "cluster.address": ("tcp://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
    "cluster.workers": ("3", 3),
    "cluster.settings": ("queue=long", {"queue": "long"}),
    "cluster.patience": ("600", 600.0),
    "occurrences.file": ("/data/records.csv", "/data/records.csv"),
    "occurrences.species": ("Ursus, arctos", ["Ursus, arctos"]),
    "occurrences.crs": ("25833", "EPSG:25833"),
    "occurrences.response": ("present", "present"),
    "occurrences.species_column": ("taxon", "taxon"),
    "occurrences.x_column": ("east", "east"),
    "occurrences.y_column": ("north", "north"),
    "occurrences.site_column": ("plot", "plot"),
    "occurrences.layer": ("plots", "plots"),
    "occurrences.drop_suspicious": ("whole, sea", ["whole", "sea"]),
    "occurrences.snap": ("2", 2),
    "occurrences.keep_duplicates": ("true", True),
    "occurrences.partial": ("true", True),
    "occurrences.thin_distance": ("10", 10.0),
    "occurrences.thin_bins": ("8", 8),
    "occurrences.thin_variables": ("bio1, bio12", ["bio1", "bio12"]),
    "occurrences.thin_tries": ("3", 3),
    "occurrences.record_weights": ("uncertainty", "uncertainty"),
    "occurrences.uncertainty_column": ("error_m", "error_m"),
    "occurrences.max_uncertainty": ("5km", "5km"),
    "occurrences.years": ("1970-2010", "1970-2010"),
    "occurrences.basis": ("HUMAN_OBSERVATION, OBSERVATION", ["HUMAN_OBSERVATION", "OBSERVATION"]),
    "occurrences.exclude_issues": ("geospatial", ["geospatial"]),
    "occurrences.where": ("depth > 3 and year < 9", "depth > 3 and year < 9"),
    "occurrences.max_bad_rows": ("20", 20.0),
    "layers.files": ("/data/layers", ["/data/layers"]),
    "layers.bounds": ("0,-1.5,10,8", [0.0, -1.5, 10.0, 8.0]),
    "layers.cells": ("48, 365", [48, 365]),
    "layers.categorical": ("soil, landcover", ["soil", "landcover"]),
    "layers.variables": ("bio1, slope*", ["bio1", "slope*"]),
    "layers.exclude": ("bio2", ["bio2"]),
    "layers.nodata": ("-1e30, landcover=255", ["-1e30", "landcover=255"]),
    "layers.rename": ("wc_{n}=bio{n}", {"wc_{n}": "bio{n}"}),
    "layers.align": ("first", "first"),
    "layers.drop_correlated": ("0.7", 0.7),
    "layers.drop_vif": ("10", 10.0),
    "layers.reduce": ("true", True),
    "layers.reduce_to": ("4", 4),
    "background.kind": ("target-group", "target-group"),
    "background.points": ("all", "all"),
    "background.file": ("/data/bg.csv", "/data/bg.csv"),
    "background.area": ("/data/area.gpkg", "/data/area.gpkg"),
    "background.buffer": ("200", 200.0),
    "background.area_weighted": ("true", True),
    "background.target_group": ("/data/moths.csv", "/data/moths.csv"),
    "background.random_share": ("0.2", 0.2),
    "background.bias": ("/data/effort.tif", "/data/effort.tif"),
    "background.bias_treatment": ("prior", "prior"),
    "background.bandwidth": ("25", 25.0),
    "background.effort_column": ("effort", "effort"),
    "preset": ("best", "best"),
    "fit.model": ("structural", "structural"),
    "fit.features": ("LQH", "LQH"),
    "fit.families": ("l,trees:3", "l,trees:3"),
    "fit.lam": ("0.05", 0.05),
    "fit.complexity": ("sample", "sample"),
    "fit.penalty_folds": ("1", 1),
    "fit.penalty_repeats": ("3", 3),
    "fit.penalty_grid": ("0.01,0.1", [0.01, 0.1]),
    "fit.multiplier": ("2.5", 2.5),
    "fit.regularization": ("mahalanobis", "mahalanobis"),
    "fit.entropy": ("auto", "auto"),
    "fit.knots": ("12", 12),
    "fit.beta": ("0.1", 0.1),
    "fit.beta_lqp": ("0.3", 0.3),
    "fit.beta_hinge": ("0.4", 0.4),
    "fit.beta_threshold": ("1.5", 1.5),
    "fit.beta_categorical": ("0.2", 0.2),
    "fit.quadratic_from": ("20", 20),
    "fit.hinge_from": ("30", 30),
    "fit.product_from": ("100", 100),
    "fit.delta": ("0.1", 0.1),
    "fit.norm": ("20", 20.0),
    "fit.strength": ("1.5", 1.5),
    "fit.own": ("2", 2.0),
    "fit.axes": ("/data/group.npz", "/data/group.npz"),
    "fit.spatial": ("true", True),
    "fit.solver": ("summet", "summet"),
    "fit.tolerance": ("1e-4", 1e-4),
    "fit.max_iterations": ("50", 50),
    "fit.add_presences": ("distinct", "distinct"),
    "fit.smoothing": ("0.2", 0.2),
    "fit.ratio": ("3", 3.0),
    "fit.ridge": ("0.5", 0.5),
    "fit.power": ("1.2", 1.2),
    "fit.uncorrelated": ("0.1", 0.1),
    "test.percent": ("25", 25.0),
    "test.file": ("/data/test.csv", "/data/test.csv"),
    "test.folds": ("5", 5),
    "test.split": ("block", "block"),
    "test.validation_background": ("partition", "partition"),
    "test.block_size": ("50", 50.0),
    "test.radius": ("20", 20.0),
    "test.orientation": ("lon_lat", "lon_lat"),
    "test.aggregation": ("4, 2", [4, 2]),
    "test.fold_column": ("region", "region"),
    "test.replicates": ("10", 10),
    "test.replicate_kind": ("bootstrap", "bootstrap"),
    "test.importance": ("false", False),
    "test.contribution": ("steps", "steps"),
    "test.repeats": ("4", 4),
    "test.jackknife": ("true", True),
    "test.null_models": ("100", 100),
    "predict.scale": ("raw", "raw"),
    "predict.extrapolation": ("free", "free"),
    "predict.clamp": ("false", False),
    "predict.threshold": ("10p", "10p"),
    "predict.temperature": ("0.5", 0.5),
    "predict.range": ("false", False),
    "predict.min_patch": ("25", 25.0),
    "predict.prevalence": ("0.3", 0.3),
    "predict.unseen": ("error", "error"),
    "project.models": ("/data/results/sp.npz", ["/data/results/sp.npz"]),
    "project.scenarios": ("2050=/data/future", {"2050": "/data/future"}),
    "project.reference": ("/data/layers", ["/data/layers"]),
    "project.thresholds": ("10p,maxsss", ["10p", "maxsss"]),
    "project.novelty": ("mess,mop", ["mess", "mop"]),
    "project.dispersal": ("20", 20.0),
    "project.over": ("gcm", ["gcm"]),
    "project.area": ("/data/area.gpkg", "/data/area.gpkg"),
    "output.folder": ("/data/out", "/data/out"),
    "output.overwrite": ("true", True),
    "output.resume": ("true", True),
    "output.curves": ("false", False),
    "output.dpi": ("150", 150),
    "output.figures": ("png, pdf", ["png", "pdf"]),
    "output.figure_width": ("85mm", "85mm"),
    "output.publication": ("true", True),
    "output.map_picture": ("false", False),
    "output.map": ("false", False),
    "output.report": ("false", False),
    "output.metadata": ("true", True),
    "output.page_map": ("full", "full"),
    "output.stack": ("sum, threshold", ["sum", "threshold"]),
    "output.gpkg": ("true", True),
    "output.uncertainty": ("true", True),
    "output.replicate_maps": ("true", True),
    "output.curves_exponent": ("true", True),
    "output.background_predictions": ("true", True),
    "output.append_results": ("/data/all.csv", "/data/all.csv"),
    "output.surfaces": ("rain:heat, soil:rain", ["rain:heat", "soil:rain"]),
    "tune.feature_sets": ("l, LQ", ["l", "LQ"]),
    "tune.multipliers": ("1, 2.5", [1.0, 2.5]),
    "tune.entropies": ("1, 1.5", [1.0, 1.5]),
    "tune.regularizations": ("l1, elastic", ["l1", "elastic"]),
    "tune.lambdas": ("0, 0.1", [0.0, 0.1]),
    "tune.betas": ("0.01", [0.01]),
    "tune.budget": ("20", 20),
    "tune.choose_by": ("or.10p.avg, auc.val.avg", ["or.10p.avg", "auc.val.avg"]),
    "tune.choose_rule": ("one_se", "one_se"),
    "curve.sets": ("lq:0.5, t", ["lq:0.5", "t"]),
    "curve.sizes": ("20, 40", [20, 40]),
    "curve.strengths": ("0.1, 1", [0.1, 1.0]),
    "curve.partitions": ("3", 3),
    "curve.held_out": ("25", 25.0),
    "path.strata": ("grid:50km", "grid:50km"),
    "path.epsilon": ("0.01", 0.01),
    "path.smallest": ("0.5", 0.5),
    "path.choice": ("one_se", "one_se"),
    "classes.column": ("habitat", "habitat"),
    "classes.proportions": ("forest, bog", ["forest", "bog"]),
    "classes.raster": ("/data/habitats.tif", "/data/habitats.tif"),
    "classes.raster_points": ("800", 800),
    "classes.select": ("species=Quercus robur", {"species": "Quercus robur"}),
    "classes.least": ("5", 5),
    "classes.title": ("habitats", "habitats"),
    "joint.learner": ("crf-l1", "crf-l1"),
    "joint.graph": ("chain", "chain"),
    "joint.cost": ("0.5", 0.5),
    "joint.shrinkage": ("25", 25.0),
    "joint.posterior": ("exact", "exact"),
    "joint.rounds": ("8", 8),
    "joint.random_effect": ("reserve", "reserve"),
    "joint.random_spread": ("0.5", 0.5),
    "joint.traits": ("/data/traits.csv", "/data/traits.csv"),
    "joint.presence_above": ("0", 0.0),
    "joint.all_associations": ("true", True),
}
SPELLINGS = [(leaf.dotted, word) for leaf in LEAVES.values() for word in leaf.spellings]


def value_of(options: RunOptions, dotted: str) -> Any:
    section, _, name = dotted.rpartition(".")
    return getattr(getattr(options, section) if section else options, name)


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize("name", ["output.folder", "layers.files", "occurrences.where", "layers.rename"])
def test_text_that_no_file_can_hold_is_refused(name: str, text: str) -> None:
    """A run would stop at it later, when it writes its results."""
    value = {"a{n}": text} if name == "layers.rename" else f"name == '{text}'" if name.endswith("where") else text
    with pytest.raises(OptionError, match=rf"^{name}=.*: expected text in UTF-8, without a zero byte$"):
        make_options({name: value})


def test_every_option_has_an_example_here() -> None:
    assert set(EXAMPLES) == set(LEAVES)
    for dotted, (_, expected) in EXAMPLES.items():
        assert expected != LEAVES[dotted].field.get_default(), dotted


def test_no_spelling_means_two_options() -> None:
    words = [word for _, word in SPELLINGS]
    assert len(set(words)) == len(words) == len(WHERE)


@pytest.mark.parametrize(("dotted", "word"), SPELLINGS)
def test_python_and_run_file_know_every_spelling(dotted: str, word: str, tmp_path: Path) -> None:
    text, expected = EXAMPLES[dotted]
    python = make_options({word: text})
    if dotted == "predict.clamp":  # an earlier name with other values
        assert (python.predict.clamp, python.predict.extrapolation) == (None, "free")
    else:
        assert value_of(python, dotted) == expected
    trees = [f"{word}: '{text}'\n"]
    section = dotted.rpartition(".")[0]
    if section:
        trees.append(f"{section}:\n  {word}: '{text}'\n")
    for tree in trees:
        (tmp_path / "run.yaml").write_text(tree)
        assert make_options(read_yaml(tmp_path / "run.yaml")) == python


@pytest.fixture
def typed(monkeypatch) -> Any:
    """What the terminal makes of words."""
    seen: list[RunOptions] = []

    def run(options: RunOptions, *_: Any, **__: Any) -> Any:
        seen.append(options)
        raise OptionError("enough")

    studies = ("tuning.run_tuning", "curves.run_curve", "paths.run_path")
    works = ("run.run", *(f"studies.{work}" for work in studies))
    for work in works:  # all are loaded before any is replaced: they take functions from each other
        import_module(f"sdm.run.{work.rpartition('.')[0]}")
    for work in works:
        monkeypatch.setattr(f"sdm.run.{work}", run)

    def parse(*words: str, command: str = "fit") -> RunOptions:
        result = CliRunner().invoke(app, [*command.split(), *words])
        assert "enough" in result.stderr, result.output
        return seen.pop()

    return parse


@pytest.mark.parametrize(("dotted", "word"), SPELLINGS)
def test_the_terminal_knows_every_spelling(dotted: str, word: str, typed) -> None:
    text, _ = EXAMPLES[dotted]
    expected = make_options({dotted: text})
    command = {"tune": "tune", "curve": "curve learning", "path": "path"}.get(LEAVES[dotted].section, "fit")
    for name in {word, word.replace("_", "-")}:
        if LEAVES[dotted].flag:
            assert typed(f"--{'' if text == 'true' else 'no-'}{name}", command=command) == expected
        else:
            assert typed(f"--{name}", text, command=command) == expected


def test_the_terminal_overrides_the_run_file(typed, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("fit: {rm: 3, fc: lq}\noutput: {overwrite: true, folder: here}\nseed: 4\n")
    options = typed(str(tmp_path / "run.yaml"), "--fit.multiplier", "2", "--no-overwrite", "-o", "there")
    assert (options.fit.multiplier, options.fit.features, options.seed) == (2.0, "lq", 4)
    assert options.output.overwrite is False
    assert options.output.folder == "there", "what is typed is relative to where it is typed"


def test_the_template_is_the_defaults_with_a_comment_for_each() -> None:
    text = template()
    assert make_options(yaml.safe_load(text)) == make_options()
    lines = text.splitlines()
    assert max(map(len, lines)) <= 110
    flat = re.sub(r"\n *# ", " ", text)
    for leaf in LEAVES.values():
        assert re.search(rf"{re.escape(leaf.text)}\n *{leaf.name}: ", flat), leaf.dotted
        assert all(word in leaf.text for word in leaf.choices)


@pytest.mark.parametrize("leaf", LEAVES.values(), ids=lambda leaf: leaf.dotted)
def test_descriptions_consist_of_short_sentences(leaf: Leaf) -> None:
    """They are the help, the comments of a run file, and the reference."""
    text = leaf.field.description
    sentences = re.split(r"(?<=\.) (?=[A-Z])", text)
    assert text.endswith(".")
    assert all(len(sentence.split()) <= 22 for sentence in sentences)
    assert all(re.match(r"[A-Z]", sentence) for sentence in sentences)
    assert not list(words.problems(text))


def test_what_is_dumped_reads_back_from_anywhere(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = {dotted: text for dotted, (text, _) in EXAMPLES.items()}
    options = make_options(source)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "run.yaml").write_text(dump_yaml(options))
    again = make_options(read_yaml("sub/run.yaml"))
    assert not again.output.overwrite, "a run that is repeated must not replace results unasked"
    assert make_options(read_yaml("sub/run.yaml"), {"overwrite": True, "resume": True}) == options
    relative = make_options({"occurrences": "a.csv", "layers": ["l", "https://x.org/b.tif"], "projections": "p=q"})
    (tmp_path / "sub" / "run.yaml").write_text(dump_yaml(relative))
    again = make_options(read_yaml("sub/run.yaml"))
    assert again.occurrences.file == str(tmp_path / "a.csv")
    assert again.layers.files == [str(tmp_path / "l"), "https://x.org/b.tif"]
    assert again.project.scenarios == {"p": str(tmp_path / "q")}


def test_paths_in_a_run_file_are_relative_to_it_under_every_spelling(tmp_path: Path) -> None:
    for dotted in PATHS:
        for word in LEAVES[dotted].spellings:
            name = "y.json" if dotted == "cluster.address" else "y"  # a scheduler file is a path, an address is none
            (tmp_path / "run.yaml").write_text(f"{word}: ../x/{name}\n")
            value = value_of(make_options(read_yaml(tmp_path / "run.yaml")), dotted)
            expected = str(tmp_path.parent / "x" / name)
            assert value in (expected, [expected], {"y": expected}), word
    (tmp_path / "run.yaml").write_text("layers: ['NETCDF:clim.nc:tas', /vsizip/a.zip/b.tif, ~/c.tif, a=b/d.tif]\n")
    subdataset, zipped, home, odd = make_options(read_yaml(tmp_path / "run.yaml")).layers.files[:4]
    assert (subdataset[:7], zipped) == ("NETCDF:", "/vsizip/a.zip/b.tif")
    assert home == str(Path("~/c.tif").expanduser())
    assert odd == str(tmp_path / "a=b" / "d.tif")


def test_none_stands_for_the_default() -> None:
    assert make_options({"fit": {"multiplier": None}, "layers": None}, {"threshold": None}) == make_options()
    assert make_options({"threshold": 0.5}, {"threshold": None}).predict.threshold is None


def test_later_sources_win_option_by_option() -> None:
    options = make_options({"fit": {"multiplier": 2, "knots": 5}}, {"rm": 3}, {"seed": 9})
    assert (options.fit.multiplier, options.fit.knots, options.seed) == (3.0, 5, 9)


def test_clamping_on_or_off_is_read_as_the_extrapolation_that_it_was(tmp_path: Path) -> None:
    for word in ("true", "yes", "on", "1", 1):
        assert make_options({"clamp": word}).predict.extrapolation == "clamp", word
    for word in ("false", "no", "off", "0", 0):
        assert make_options({"clamp": word}).predict.extrapolation == "free", word
    assert make_options({"clamp": True}).predict.extrapolation == "clamp"
    assert make_options({"doclamp": False}).predict.extrapolation == "free"
    later = make_options({"predict": {"clamp": True}}, {"extrapolation": "none"})
    assert later.predict.extrapolation == "none", "what is typed goes before what a run file has"
    assert make_options({"extrapolation": "none"}, {"clamp": False}).predict.extrapolation == "free"
    assert "clamp:" not in dump_yaml(make_options({"clamp": False})).replace("extrapolation: clamp", "")
    with pytest.raises(OptionError, match=r"predict.clamp=False means free, got predict.extrapolation='none'"):
        make_options({"clamp": False, "extrapolation": "none"})
    with pytest.raises(OptionError, match=r"predict.clamp='maybe': expected true or false"):
        make_options({"clamp": "maybe"})
    with pytest.raises(
        OptionError, match=r"predict.extrapolation='nothing': expected 'clamp', 'free', 'none', 'fade' or 'lower'"
    ):
        make_options({"extrapolation": "nothing"})


def test_an_earlier_run_file_has_defaults_that_were_not_chosen(tmp_path: Path) -> None:
    """It holds one default for every kind of model, which must not be refused, or used, where it does not apply."""
    fit = {"multiplier": 1.0, "regularization": "l1", "knots": "maxent", "lam": "auto", "ratio": 1.0}
    old = {"fit": {"price_folds": 5, "price_repeats": 2, "price_grid": None, **fit}}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(old))
    assert make_options(read_yaml(tmp_path / "run.yaml")) == make_options()
    (tmp_path / "run.yaml").write_text(yaml.safe_dump({"fit": {"price_folds": 4, **fit, "multiplier": 2.0}}))
    chosen = make_options(read_yaml(tmp_path / "run.yaml")).fit
    assert (chosen.penalty_folds, chosen.multiplier, chosen.lam) == (4, 2.0, None)
    (tmp_path / "run.yaml").write_text(yaml.safe_dump({"fit": fit}))
    assert make_options(read_yaml(tmp_path / "run.yaml")).fit.multiplier == 1.0, "somebody wrote it"


def test_points_are_those_of_the_raster_where_classes_are_modelled() -> None:
    """`points` meant both before there was one set of options, and run files of both kinds must still be read."""
    assert make_options({"points": 300}).background.points == 300
    options = make_options({"class_raster": "a.tif"}, {"points": 300})
    assert (options.classes.raster_points, options.background.points) == (300, 10_000)
    written = make_options({"class_column": "habitat", "points": 5000})  # a default that the run file wrote down
    assert (written.classes.raster_points, written.background.points) == (5000, 10_000)
    species = make_options({"background": {"points": 10_000}}, {"class_raster": "a.tif"})  # a species' run file
    assert species.classes.raster_points == 5000
    asked = make_options({"class_column": "habitat", "points": 300})
    assert asked.background.points == 300, "which does not apply to classes, and is refused"


@pytest.mark.parametrize("value", ["lqh", "LQH", "linear,hinge", ["linear", "hinge"], "auto", "l+h"])
def test_feature_classes_as_people_write_them(value) -> None:
    assert make_options({"features": value}).fit.features


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ({"multiplyer": 2}, "did you mean 'fit.multiplier'"),
        ({"fit": {"outputformat": "raw"}}, "did you mean 'predict.scale'"),
        ({1: 2}, "unknown option '1'"),
        ({"fit": {3: 4}}, "unknown option 'fit.3'"),
        ({"threshold": math.nan}, "finite"),
        ({"categorical": {"a": 1}}, "a list"),
        ({"species": [None]}, "text"),
        ({"projections": 3}, "scenarios=3"),
    ],
)
def test_mistakes(source, part) -> None:
    with pytest.raises(OptionError, match=part):
        make_options(source)


def test_the_schema_has_every_option_in_every_spelling() -> None:
    tree = run_file_schema()
    for leaf in LEAVES.values():
        home = tree["$defs"][SECTIONS[leaf.section].__name__] if leaf.section else tree
        assert {leaf.name, *leaf.aliases} <= set(home["properties"])
        assert home["additionalProperties"] is False
        assert home["properties"][leaf.name]["description"] == leaf.field.description


def test_a_leaf_knows_what_it_takes() -> None:
    knots, layers = LEAVES["fit.knots"], LEAVES["layers.files"]
    assert isinstance(knots, Leaf)
    assert knots.choices == ["maxent", "maxnet", "all"]
    assert layers.multiple
    assert not knots.flag
    assert LEAVES["predict.clamp"].flag


def test_tries_of_thinning_are_bounded():
    """A run file from anybody must not stop the program."""
    with pytest.raises(OptionError, match=r"thin_tries.*10,?000"):
        make_options({"occurrences.thin_tries": 999_999_999})
