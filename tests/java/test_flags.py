"""The command line of maxent.jar: every flag is read as Java Maxent reads it, and means the same."""

import re
from pathlib import Path

import pytest
from conftest import ROOT

from sdm.errors import DataError, OptionError
from sdm.java.flags import ACTS, FLAGS, IGNORED, SHORT, WARNED, read_command
from sdm.java.run import average_row, divide
from sdm.java.translation import feature_letters, projections, run_options, threshold_key
from tools.option_reference import reference

SAMPLE = ROOT / "sample_data"
INPUTS = (
    f"environmentallayers={SAMPLE / 'layers'}",
    f"samplesfile={SAMPLE / 'occurrences.csv'}",
    "outputdirectory=out",
)
OTHER = {bool: lambda value: not value, int: lambda value: value + 3, float: lambda value: value + 1.25}
# What a word changes in the options of a run.
MEANINGS = [
    ("togglelayertype=land", "layers.categorical", ["landcover"]),
    ("togglelayerselected=s", "layers.exclude", ["seasonality", "slope"]),
    ("togglespeciesselected=Virtualis_m", "occurrences.species", ["Virtualis silvestris", "Virtualis aridus"]),
    ("noremoveduplicates", "occurrences.keep_duplicates", True),
    ("nodata=-1", "layers.nodata", ["-1"]),
    ("maximumbackground=500", "background.points", 500),
    ("biasfile=effort.asc", "background.bias", "effort.asc"),
    ("factorbiasout=effort.asc", "background.bias_treatment", "prior"),
    ("betamultiplier=2.5", "fit.multiplier", 2.5),
    ("convergencethreshold=0.001", "fit.tolerance", 0.001),
    ("maximumiterations=50", "fit.max_iterations", 50),
    ("addallsamplestobackground", "fit.add_presences", "all"),
    ("noaddsamplestobackground", "fit.add_presences", "none"),
    ("beta_lqp=0.3", "fit.beta_lqp", 0.3),
    ("beta_hinge=0.4", "fit.beta_hinge", 0.4),
    ("beta_threshold=0", "fit.beta_threshold", 0.0),
    ("beta_categorical=0.2", "fit.beta_categorical", 0.2),
    ("l2lqthreshold=20", "fit.quadratic_from", 20),
    ("hingethreshold=30", "fit.hinge_from", 30),
    ("lq2lqptthreshold=100", "fit.product_from", 100),
    ("allowpartialdata", "occurrences.partial", True),
    ("writebackgroundpredictions", "output.background_predictions", True),
    ("randomtestpoints=25", "test.percent", 25),
    ("testsamplesfile=test.csv", "test.file", "test.csv"),
    ("jackknife", "test.jackknife", True),
    ("outputformat=Logistic", "predict.scale", "logistic"),
    ("nodoclamp", "predict.extrapolation", "free"),
    ("dontextrapolate", "predict.extrapolation", "none"),
    ("fadebyclamping", "predict.extrapolation", "fade"),
    ("defaultprevalence=0.3", "predict.prevalence", 0.3),
    ("responsecurves", "output.curves", True),
    ("nopictures", "output.map_picture", False),
    ("outputgrids=false", "output.map", False),
    ("threads=3", "threads", 3),
]


def option(options, dotted):
    for part in dotted.split("."):
        options = getattr(options, part)
    return options


@pytest.mark.parametrize("name", FLAGS)
def test_every_flag_is_read(name):
    """By its name in any case, and by its short form; a boolean also as a word, with `no` and with `dont`."""
    flag = FLAGS[name]
    kind = type(flag.default)
    value = flag.words[-1] if flag.words else OTHER[kind](flag.default) if kind in OTHER else "place"
    text = str(value).lower() if kind is bool else str(value)
    command = read_command([f"{name.upper()}={text}"])
    assert command.typed == {name: value}
    assert (name in command.ignored) == (flag.does == IGNORED)
    assert bool(command.warnings) == (flag.does == WARNED)
    for letter in flag.short:
        assert read_command([f"-{letter}", *([] if kind is bool else [text])]).typed == {name: value}
    if kind is bool:
        for words, expected in (((name,), True), ((f"no{name}",), False), ((f"dont{name}",), False)):
            assert read_command(words).typed == {name: expected}
        with pytest.raises(OptionError, match=name):
            read_command([f"{name}=perhaps"])
    if kind in (int, float):
        with pytest.raises(OptionError, match=name):
            read_command([f"{name}=many"])
    if kind is int:
        with pytest.raises(OptionError, match=name):  # the fraction would be lost without a word
            read_command([f"{name}=1.5"])


def test_every_flag_that_acts_is_used():
    code = "".join(path.read_text() for path in (ROOT / "sdm/java").glob("*.py") if path.stem != "flags")
    code += (ROOT / "cli/commands/stored.py").read_text()
    assert [name for name, flag in FLAGS.items() if flag.does == ACTS and f'"{name}"' not in code] == []
    assert len(FLAGS) == 82
    assert len(SHORT) == sum(len(flag.short) for flag in FLAGS.values()), "a short form stands for one flag"


def test_the_reference_has_every_flag():
    """With its short forms, its default and its effect."""
    table = reference().partition("## Flags of Java Maxent")[2]
    rows = {line.split("`")[1]: line for line in table.splitlines() if line.startswith("| `")}
    assert list(rows) == list(FLAGS)
    assert rows["maximumbackground"].startswith("| `maximumbackground` | `-M` `-B` | `10000` |")
    assert rows["threshold"].startswith("| `threshold` |  | `false` |")
    assert [name for name, row in rows.items() if "| no effect" in row] == [
        name for name, flag in FLAGS.items() if flag.does != ACTS
    ]


@pytest.mark.parametrize("word, dotted, value", MEANINGS)
def test_what_a_flag_means(word, dotted, value):
    assert option(run_options(read_command(INPUTS)), dotted) != value, "not so without it"
    assert option(run_options(read_command([*INPUTS, word])), dotted) == value


def test_short_forms_of_a_script_as_it_is_published():
    places = ("-e", str(SAMPLE / "layers"), "-s", str(SAMPLE / "occurrences.csv"), "-o", "out")
    command = read_command(
        [*places, *["-t", "landcover", "-N", "slope", "-j", "now,later", "-a", "-z", "-r", "-P", "-J"]]
    )
    options = run_options(command)
    assert (options.layers.categorical, options.layers.exclude) == (["landcover"], ["slope"])
    assert options.output.curves
    assert options.test.jackknife
    assert not command["askoverwrite"]
    assert read_command(["redoifexists"])["askoverwrite"] is False
    assert read_command(["-l"])["linear"] is False, "a short form turns a boolean round"
    assert read_command(["-l", "-l"])["linear"] is True, "and round again"
    assert read_command(["nolinear", "-l"])["linear"] is True
    with pytest.raises(DataError, match="now"):
        projections(command)


def test_toggles_turn_round_and_prefixes_can_be_turned_off():
    twice = run_options(read_command([*INPUTS, "togglelayerselected=s", "togglelayerselected=slope"]))
    assert twice.layers.exclude == ["seasonality"]
    assert run_options(read_command([*INPUTS, "togglelayerselected=s", "noprefixes"])).layers.exclude == []
    with pytest.raises(OptionError, match="excludes all species"):
        run_options(read_command([*INPUTS, "togglespeciesselected=Virt"]))


@pytest.mark.parametrize(
    "words, records, letters",
    [
        ("", 5, "l"), ("", 10, "lq"), ("", 15, "lqh"), ("", 80, "lqph"), ("threshold", 80, "lqpht"),
        ("nohinge", 200, "lqp"), ("noautofeature", 3, "lqph"), ("noautofeature noproduct nohinge", 3, "lq"),
        ("l2lqthreshold=20", 15, "lh"), ("hingethreshold=100", 90, "lqp"), ("lq2lqptthreshold=300", 200, "lqh"),
    ],
)  # fmt: skip
def test_feature_classes_by_the_number_of_records(words, records, letters):
    assert feature_letters(read_command(words.split()), records) == letters


def test_records_of_replicates():
    """Folds hold out every record once; a subsample leaves out a share; a bootstrap draws with replacement."""
    folds = divide(150, read_command(["replicates=4"]), 1)
    assert [(len(train), len(test)) for train, test in folds] == [(112, 38), (112, 38), (113, 37), (113, 37)]
    assert sorted(k for _, test in folds for k in test) == list(range(150))
    assert all(not set(train) & set(test) for train, test in folds)
    assert len(divide(3, read_command(["replicates=10"]), 1)) == 3, "no more folds than records"
    words = ["replicates=5", "subsample", "randomtestpoints=20"]
    assert [(len(train), len(test)) for train, test in divide(50, read_command(words), 1)] == [(40, 10)] * 5
    drawn = divide(50, read_command(["replicates=2", "bootstrap"]), 1)
    assert [(len(train), len(test)) for train, test in drawn] == [(50, 0)] * 2
    assert len(set(drawn[0][0])) < 50
    rows = [{"Species": "a_0", "AUC": "0.5", "x": ""}, {"Species": "a_1", "AUC": "0.75", "x": "1"}]
    assert average_row(rows, "a") == {"Species": "a (average)", "AUC": 0.625, "x": ""}


def test_threshold_rules_have_javas_names():
    assert threshold_key("10 Percentile training presence") == "10p"
    assert threshold_key("Fixed cumulative value 5") == "fixed5"
    assert threshold_key("Maximum test sensitivity plus specificity") == "maxsss_test"
    assert threshold_key("mtp") == "mtp"
    assert threshold_key("") is None
    with pytest.raises(OptionError, match="Minimum training presence"):
        threshold_key("the best")


def test_what_is_not_understood_is_named():
    with pytest.raises(OptionError, match=r"'betamultiplyer=2', '-y', 'raww'"):
        read_command(["betamultiplyer=2", "-y", "raww"])
    with pytest.raises(OptionError, match="'-e'"):
        read_command(["-e"])
    with pytest.raises(OptionError, match="samplesfile"):
        run_options(read_command([]))
    with pytest.raises(OptionError, match="feature class"):
        run_options(read_command([*INPUTS, "nolinear", "noquadratic", "noproduct", "nohinge"]))
    with pytest.raises(DataError, match="neither a folder"):
        run_options(read_command([*INPUTS[1:], "environmentallayers=nowhere"]))
    assert read_command(["beta_hinge=-5"]).warnings == [], "left to the tables, as by default"
    assert not re.search("hinge", " ".join(read_command(["beta_lqp=0.4"]).warnings))
    assert Path(run_options(read_command(INPUTS)).output.folder or "") == Path("out/sdm")
