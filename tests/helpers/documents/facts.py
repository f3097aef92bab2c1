"""Texts of README, tutorials and how-to pages with numbers, made from results, constants and commands."""

import inspect
import re
import tomllib
from collections import Counter

import numpy as np
import pandas as pd
from documents.commands import ROOT
from documents.inventory import PAGES, WORDS, value_of
from documents.stored import auc_per_species, line_of, nceas, stored

from benchmarks import bias as bias_benchmark
from benchmarks.scale import worlds
from sdm import Maxent, SharedMaxent
from sdm.assess import axes, uncertainty
from sdm.assess.steps import ROUNDS as ROUNDS_OF_JAVA
from sdm.assess.variables import variogram
from sdm.data import untagged, variables, window
from sdm.data.rasters import effort
from sdm.data.records import suspicious
from sdm.estimators.glm import RIDGE
from sdm.executors import cluster
from sdm.java.flags import ACTS, FLAGS
from sdm.joint import levels, pairs
from sdm.joint.sparsemap import possible_communities
from sdm.kinds.classes.page import FEW_SITES
from sdm.kinds.community.fit import KEPT
from sdm.kinds.group.outputs import FEW_SPECIES
from sdm.kinds.species.inputs import RANDOM_CELLS
from sdm.kinds.species.methods.axes import FOLDS as BLOCKS_OF_AXES
from sdm.kinds.species.methods.ensemble import METHOD as ENSEMBLE
from sdm.kinds.species.page import FEW_RECORDS
from sdm.kinds.species.sampling import random_share
from sdm.kinds.splitting import ENOUGH, FOLDS
from sdm.kinds.task import FEW
from sdm.maps.projection.change import CODES
from sdm.maps.rasters import BINARY_NODATA
from sdm.maps.several import MOST_AXES
from sdm.maps.single import MOST
from sdm.maxent.penalty_weights import table_numbers
from sdm.novelty.mop import SHARE
from sdm.options.reading import leaves, make_options
from sdm.report.pages.cautions import COLLINEAR, NOTABLE
from sdm.report.pages.frame import TEMPLATES
from sdm.shared.choice import STRENGTHS
from sdm.simulate import axis_lottery, landscape, random_niche, world
from sdm.simulate.niche import NICHES

Facts = list[tuple[str, str]]
"""Pages, and texts that they must have."""


def default(option: str) -> int:
    """The default of an option of a run, a number."""
    (value,) = (leaf.field.default for leaf in leaves() if leaf.dotted == option)
    return int(value)


def argument(function: object, name: str) -> float:
    """The default of a parameter of a function."""
    return float(inspect.signature(function).parameters[name].default)  # type: ignore[arg-type]


def typed(page: str, before: str) -> str:
    """What the first command or code of a page has after some words."""
    found = re.search(rf"{before}[ =]?([\w.,-]*\w)", PAGES[page].read_text(encoding="utf-8"))
    assert found, f"{page} has no {before}"
    return found[1]


def power(value: float) -> str:
    """A power of ten as pages show it."""
    return "10" + str(round(np.log10(value))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def of_results() -> Facts:
    """Texts with stored results of benchmarks, or with numbers of their notes."""
    peers = stored("peers")
    bradypus = {(row["program"], row["job"]): row for row in peers["bradypus"]}
    shown = [row["seconds"] for row in peers["bradypus"] if row["shown"]]
    whole, java = bradypus["sdm", "map, curves, importance, report"], bradypus["Java Maxent", "map, importance, report"]
    first = bradypus["sdm", "the same, first run (compiles once)"]
    large, (one, two) = peers["large map"][0], peers["fifty species"][:2]
    limited, converged = (row["regularised_gain"] for row in peers["fit"])
    auc = nceas()["auc"]
    share = (auc["target"] - auc["default"]) / (auc["best_shared"] - auc["default"])
    gained = auc_per_species("best_shared") - auc_per_species("default")
    longer = 5 * round((first["seconds"] - whole["seconds"]) / 5)
    others = ("maxnet", "map only, lqph"), ("elapid", "map only, defaults (10 hinge knots)")
    times = [f"{row['seconds']:.1f}" for row in (java, *(bradypus[other] for other in others), whole)]
    measured = peers["measured"]["bradypus"]
    return [
        ("README", f"Measured on {measured['date']} with {WORDS[measured['cores']]} cores"),
        ("README", f"from {min(shown):.1f} seconds"), ("README", f"to {max(shown):.1f} seconds for elapid with 50"),
        ("README", f"take {whole['seconds']:.1f} s"), ("README", f"Java Maxent takes {java['seconds']:.1f} s"),
        ("README", f"first run takes {first['seconds']:.0f} s"),
        ("README", "Bradypus, seconds|{}|{} (map only)|{} (map only)|–|–|{}|".format(*times)),
        ("README", f"{java['megabytes']} MB, sdm {whole['megabytes']} MB"),
        ("README", f"stopped {converged - limited:.3f} nats below"),
        *((page, f"about {WORDS[longer]} seconds longer") for page in ("install", "first_model")),
        ("README", f"AUC over {nceas()['species']['default']} species"), ("README", f"{auc['default']:.3f} by default"),
        ("README", f"{auc['best_shared']:.3f} with `--preset best`"),
        ("README", f"difference {gained.mean():.3f} ± {gained.std() / len(gained) ** 0.5:.3f}"),
        ("README", f"{WORDS[round(6 * share)].title()} sixths of"),
        ("README", f"16 million cells × 14 layers: {large['seconds']:.1f} s"),
        ("README", f"{large['times the floor']} times the time to read and write"),
        ("README", f"Fifty species with reports: {one['seconds']:.0f} s and {one['megabytes']} MB with one process"),
        ("README", f"{two['seconds']:.0f} s with two"),
        ("is_it_for_me", f"0.65 million cells takes {whole['seconds']:.0f} seconds and "
                         f"{whole['megabytes'] / 1000:.1f} GB"),
        *of_studies(),
        *of_batches(),
    ]  # fmt: skip


def of_studies() -> Facts:
    """Texts of how-to pages about accuracy and time."""
    bias, survey = stored("bias")["virtual species"], stored("survey")["rows"]
    patterns = stored("patterns")
    cities, roads = patterns["city"], patterns["road"]
    *_, l1, chosen = stored("proportions")["time"]
    records = next(row for row in stored("records")["records"] if (row["rows"], row["filters"]) == (2_000_000, "none"))
    scenarios = stored("projection")["rows"][-1]
    rows = {(row["species"], row["sites"], row["features"], row["strength"]): row for row in stored("axes")["rows"]}
    small, auto, large = rows[50, 5000, 399, 1.4], rows[50, 5000, 399, "auto"], rows[1000, 20_000, 399, 1.4]
    random, blocks = (
        pd.DataFrame(stored("communities")[kind]).pivot_table(
            index="data", columns="model", values="log loss", aggfunc="min"
        )
        for kind in ("communities", "blocks")
    )
    assert set(random.idxmin(axis=1)) == {"joint"}
    means = survey[-1]
    return [
        ("bias", f"{bias[0]['of']} virtual species with {bias_benchmark.RECORDS} records each in "
                 f"{WORDS[len(bias_benchmark.SEEDS)]} simulated regions"),
        ("classify", f"On {len(survey) - 1} data sets the mean held-out log loss was {means['default']:.3f} nats per "
                     f"site, with {means['constant']:.3f} for the null model and {means['GLM']:.3f} for a GLM"),
        ("classify", f"{l1['sites']:,} sites, {l1['classes']} classes and {l1['weights'] // l1['classes']} features "
                     f"took {l1['seconds']:.1f} s, and {chosen['seconds']:.0f} s by default"),
        ("joint", f"On {WORDS[len(random)]} real communities the joint model has the lowest joint log loss"),
        ("joint", f"worse than stacked models on {WORDS[sum(blocks['joint'] > blocks['stacked'])]} of "
                  f"{WORDS[len(blocks)]}"),
        ("patterns", f"{WORDS[cities['patterns']].title()} simulated cities"),
        ("patterns", f"with {patterns['points']:,} points each, and {WORDS[roads['patterns']]} simulated days"),
        ("patterns", f"Log loss at {patterns['held out']:,} held-out points"),
        ("patterns", "--lambda {lam} --beta {beta}` for cities".format(**cities["chosen"]["structural"])),
        *(("patterns", row) for row in densities()),
        ("preparing", f"are read and cleaned in {records['read and cleaned, s']:.0f} seconds"),
        ("scenarios", f"{scenarios['scenarios']} scenarios of 2 million cells with all maps take "
                      f"{scenarios['all, seconds']:.0f} seconds"),
        ("shared", f"{small['species']} species at {small['sites']:,} sites take {small['seconds']:.0f} seconds with a "
                   f"given strength and {auto['seconds']:.0f} seconds with its choice"),
        ("shared", f"{large['species']:,} species at {large['sites']:,} sites take {large['seconds']:.0f} seconds and "
                   f"{large['GB']:.1f} GB"),
    ]  # fmt: skip


def densities() -> list[str]:
    """The rows of the table of estimates of densities: means over patterns, and their standard errors."""
    methods = ("uniform", "kernel density", "structural, trees and monomials", "structural, default",
               "L1, feature classes and relu:500", "L1, feature classes")  # fmt: skip
    kinds = [{row["method"]: row for row in stored("patterns")[kind]["rows"]} for kind in ("city", "road")]
    lines = []
    for method in methods:
        values = [np.array(rows[method][key]) for rows in kinds for key in ("log loss", "KL to the truth")]
        errors = [each.std(ddof=1) / np.sqrt(each.size) for each in values]
        cells = [
            f"{each.mean():.3f}" + (f" ± {error:.3f}" if error > 1e-9 else "") for each, error in zip(values, errors)
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def of_batches() -> Facts:
    """The figures of the page about many species, measured and extrapolated."""
    parts, rows = stored("scale"), []
    for name, title, files in (("plain", "without maps", 12), ("maps", "with maps", 15)):
        runs = {(row["species"], row["on"]): row for row in parts[name]["rows"]}
        one, two = runs[1000, "1 process"], runs[1000, "2 processes"]
        memory, size = max(one["peak GB"], two["peak GB"]), two["results (GB)"]
        hours = parts[name]["seconds per further species"] * 100_000 / 3600
        unit = "s per species" if name == "plain" else "s"
        rows += [
            f"| {title} | {one['seconds per species']:.2f} {unit} | {two['seconds per species']:.2f} s | "
            f"{memory:.1f} GB | {size:.1f} MB |",
            f"| {title} | {hours:.1f} hours | {hours * 60 / 8:.0f} minutes | {hours * 60 / 32:.0f} minutes | "
            f"{float(f'{100 * size:.2g}'):.0f} GB, {files / 10} million files |",
        ]
    journal, (_, _, index) = parts["journal"], stored("index_page")["pages"]
    cells = worlds.SIDE**2 / 1e6
    return [
        *(("scale", row) for row in rows),
        ("scale", f"1,000 virtual species with {worlds.RECORDS.replace('-', ' to ')} records, {worlds.LAYERS} layers "
                  f"of {cells:.2f} million cells and {default('background.points'):,} background points"),
        ("scale", "| 100,000 species | 2 cores | 16 cores | 64 cores |"),
        ("scale", f"Maps of 10 million cells take some {10 / cells:.0f} times as long"),
        ("scale", f"{journal['species']:,} tiny species used {journal['rows'][0]['peak GB']:.1f} GB"),
        ("scale", f"`index.html` of {index['species']:,} species has {index['MB']:.1f} MB, and `journal.jsonl` about "
                  f"{1000 * journal['left']['journal (MB)'] / journal['species']:.1f} kB per species"),
        ("scale", f"a finished run of {journal['species']:,} species takes "
                  f"{journal['resumed']['seconds']:.0f} seconds"),
        ("virtual", f"A thousand species in {cells:.2f} million cells take {parts['plain']['made in']:.0f} seconds"),
    ]  # fmt: skip


def of_program() -> Facts:
    """Texts with limits and defaults of the program."""
    points, unused = default("background.points"), [flag for flag in FLAGS.values() if flag.does != ACTS]
    latitude, longitude = re.findall(r"±\d+°", suspicious.FLAGS["impossible"])
    codes = [f"{k} {name.replace('_', ' ')}" for k, name in enumerate(CODES)]
    gap = power(Maxent.tolerance)
    lower, upper = (round(100 * level) for level in uncertainty.LEVELS)
    strengths = [f"{strength:g}" for strength in STRENGTHS]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python = project["requires-python"].strip(">=")
    range_of_curve = 100 * (1 - np.exp(-variogram.MODELS["exponential"]))
    (shift,) = re.findall(r"shiftKey [?] ([0-9]+)", (TEMPLATES / "map_layers.js").read_text(encoding="utf-8"))
    bits = [n for n in (8, 16, 32) if untagged.is_sure_code(-(2.0 ** (n - 1)))]
    size, layers = (round(argument(world.simulate, name)) for name in ("size", "layers"))
    return [
        ("README", f"Python {python} or later"), ("install", f"Python {python} or later"),
        ("README", f"duality gap is below {gap} nats"),
        ("README", f"all {len(FLAGS)} flags of maxent.jar ({len(unused)} have no effect)"),
        ("r_users", f"stops at a duality gap below {gap} nats"),
        ("is_it_for_me", f"{WORDS[FEW]} records or more"), ("is_it_for_me", f"Below {FEW_RECORDS}, uncertainty"),
        ("many_species", f"below {WORDS[FEW_RECORDS]} or so"),
        ("notebook", f"at {points:,} places of the study area"),
        ("bias", f"none: {points:,} random cells"), ("bias", f"{points:,} points describe"),
        ("patterns", f"{points:,} random cells"),
        ("bias", f"beyond {WORDS[int(effort.REACH)]} bandwidths"),
        ("classify", f"whole numbers from 0 to {MOST} keep them"),
        ("classify", f"or {BINARY_NODATA} where a class is 0"),
        ("joint", f"({BINARY_NODATA}: no data)"),
        ("coming_from", f"or after {ROUNDS_OF_JAVA} iterations"),
        ("coming_from", f"it replaces Maxent's value {table_numbers('h', 100)['h']}"),
        ("joint", f"({100 * KEPT:.0f} % of the largest or more)"), ("joint", f"a ridge of {RIDGE}"),
        ("joint", f"to a gap of {argument(possible_communities, 'tolerance'):.0e})".replace("e-0", "e-")),
        ("joint", f"weight ± {pairs.HALF_WIDTH:.2f} `sd`"), ("joint", "95 % interval"),
        ("joint", f"About {100 * pairs.SURE:.0f} % of the pairs with `q` below {pairs.SURE}"),
        ("joint", f"from {min(levels.SPREADS)} to {max(levels.SPREADS)}, by held-out log loss"),
        ("pages", f"fewer than {FEW_RECORDS} training records; a class at fewer than {FEW_SITES} sites"),
        ("pages", f"Shift: {WORDS[int(shift)]} cells"),
        ("pages", f"{100 * NOTABLE:.0f} % or more of the cells"),
        ("pages", f"absolute correlation of {COLLINEAR} or more"),
        ("patterns", f"{leaf_cells()} along its longer side"), ("patterns", f"a {ORDINALS[window.MARGIN]} wider"),
        ("preparing", f"more than {default('occurrences.max_bad_rows')} % of the rows are bad"),
        ("preparing", f"latitude beyond {latitude}, or longitude beyond {longitude}"),
        ("preparing", f"no cell with data within {suspicious.SEA_CELLS} cells"),
        ("preparing", f"at least {WORDS[suspicious._MANY_SPECIES]} species, a "
                      f"{ORDINALS[suspicious._SHARE_OF_SPECIES]} of all species of the file, and "
                      f"{WORDS[suspicious._TIMES_USUAL]} times as many"),
        ("preparing", f"({', '.join(CERTAIN)})"),
        ("preparing", f"*Possible codes* are {', '.join(POSSIBLE)} and so on"),
        ("preparing", "limits of {} and {} bits".format(*bits)),
        ("preparing", f"values beyond ±{power(untagged.HUGE)}"),
        ("preparing", f"if {100 * untagged.PLENTY:.0f} % of all cells have it"),
        ("preparing", f"3 to {variables.CLASSES} whole numbers"),
        ("preparing", f"with fewer than {ENOUGH} records also at background points"),
        ("preparing", f"where it has {range_of_curve:.0f} % of its height"),
        ("preparing", f"Fewer than {WORDS[variogram.LEAST]} places are too few"),
        ("scale", f"waits {WORDS[int(cluster.PATIENCE / 60)]} minutes"),
        ("scale", f"at most {('', 'once', 'twice')[default('retries')]} more"),
        *((page, ", ".join(codes[:4])) for page in ("future", "scenarios")),
        ("scenarios", f"{CODES.index('out_of_reach')} suitable but out of reach"),
        *((page, f"have code {CODES.index('out_of_reach')}") for page in ("future", "scenarios")),
        ("scenarios", f"the nearest {100 * SHARE:.0f} % of the training environment"),
        ("shared", f"Below {WORDS[FEW_SPECIES]} species the report warns"),
        ("shared", f"the {WORDS[axes.RELATIVES]} species with the most similar response"),
        ("shared", f"a map per axis ({WORDS[MOST_AXES]} at most)"),
        ("shared", f"the strengths {', '.join(strengths[:-1])} and {strengths[-1]} is fitted without each of "
                   f"{WORDS[BLOCKS_OF_AXES]} spatial blocks"),
        ("shared", f"Below {FEW_RECORDS} records the report warns"),
        ("shared", f"adds {SharedMaxent.waves} smooth random functions"), ("shared", f"`auto`; {ENSEMBLE.strength} in"),
        ("shared", f"{random_share(make_options({}), False)}; {random_share(make_options({}), True)} with `--spatial`"),
        ("shared", f"the total weight of {RANDOM_CELLS:,} random cells"),
        ("shared", f"`lqph`, {SharedMaxent.knots} |"),
        ("shared", f"| `--tolerance` | {SharedMaxent.tolerance:.0e} |".replace("e-0", "e-")),
        ("validation", f"{FEW_RECORDS} to 50 records"), ("validation", f"from {WORDS[FOLDS]} random folds"),
        ("validation", f"({lower} and {upper} %)"),
        ("virtual", f"one species on {size} × {size} cells with {WORDS[layers]} layers"),
        ("virtual", f"a square of {landscape.SIDE / 1000:.0f} km"),
        ("virtual", f"2 to {len(landscape.LAYERS)} continuous layers"),
        ("virtual", f"The first {WORDS[len(NICHES)]} species"),
        ("virtual", f"up to {WORDS[world.TRUTH_UP_TO]} species"),
        ("virtual", f"{WORDS[round(10 * random_niche.CHOOSY)]} species in ten also prefer"),
        ("virtual", f"between {random_niche.RAREST} and {random_niche.COMMONEST}, evenly"),
        ("virtual", f"between {axis_lottery.WEAKEST} (widespread) and {axis_lottery.STRONGEST} (specialised)"),
    ]  # fmt: skip


CERTAIN = [text for text in ("−99", "−999", "−99.9", "−9999") if untagged.is_sure_code(value_of(text))]
POSSIBLE = [
    text for text in ("255", "65535", "32767", "−128", "−99", "999", "9999", "998")
    if untagged.may_be_code(value_of(text)) and not untagged.is_sure_code(value_of(text))
]  # fmt: skip
ORDINALS = {0.05: "twentieth", 0.2: "fifth"}


def leaf_cells() -> int:
    """Cells along the longer side of a window."""
    (cells,) = next(leaf.field.default for leaf in leaves() if leaf.dotted == "layers.cells")
    return int(cells)


def of_notes() -> Facts:
    """Texts with numbers of notes and of pages about methods."""
    shared = line_of("benchmarks/notes/shared.md")
    titles = ("one by one", "`--model shared`")
    cells = [re.search(rf"\| {title} (\|(?: [\d.]+ \|){{4}})", shared)[1] for title in titles]
    group, placed = re.search(r"\| placed on the axes of (\d+) others \| ([\d.]+)", shared).groups()
    count, alone = re.search(r"alone \((\d+) species.*\| alone \| ([\d.]+)", shared).groups()
    species, few = re.search(r"\((\d+) species; \d+ of them with fewer than (\d+) records", shared).groups()
    worlds_right, worlds_made = re.search(r"right in (\d+) of (\d+) worlds", shared).groups()
    assert worlds_right == worlds_made
    (gain,) = re.findall(r"are reached to (10[⁻⁰-⁹]+) for every feature set", line_of("docs/methods/engine.md"))
    return [
        *(("shared", row) for row in cells),
        ("shared", f"for the {species} species that occur there"), ("shared", f"AUC, fewer than {few} records"),
        ("shared", f"{WORDS[int(count)]} species with three records each have a mean AUC of {placed} on the axes of "
                   f"{group} others, and {alone} alone"),
        ("shared", f"In {WORDS[int(worlds_made)]} such simulated worlds this number was right each time"),
        ("coming_from", f"the gain agrees to {gain} once"),
    ]  # fmt: skip


def of_commands() -> Facts:
    """Texts that repeat the commands, the code and the data of their page."""
    sample, run = ROOT / "sample_data", (ROOT / "sample_data" / "run.yaml").read_text(encoding="utf-8")
    records = Counter(pd.read_csv(sample / "occurrences.csv")["species"])["Virtualis montanus"]
    sites = len(pd.read_csv(sample / "presence_absence.csv").drop_duplicates(["longitude", "latitude"]))
    points, folds = (int(re.search(rf"{word}: (\d+)", run)[1]) for word in ("points", "folds"))
    block, replicates = typed("bradypus", "--block-size"), int(typed("bradypus", "--replicates"))
    species, workers, cores = (
        int(typed(*where)) for where in (("study", "--species"), ("scale", "  workers:"), ("scale", "  cores:"))
    )
    sets = [typed("validation", f"--{word}").split(",") for word in ("feature-sets", "multipliers")]
    flora = typed("shared", "flora --layers 9 --species")
    return [
        ("bradypus", f"blocks of {block} km"), ("bradypus", f"The choice of {block} km"),
        ("bradypus", f"over {WORDS[replicates]} bootstrap models"),
        *((page, f"{text} {sites} sites") for page, text in (("first_model", "a survey:"), ("first_model", "At the"),
                                                            ("notebook", "A survey of"))),
        ("first_model", f"the {records} records with the environment at {points:,} random places"),
        ("first_model", f"into {WORDS[folds]} groups"),
        ("future", f"to {typed('future', '--dispersal')} km per period"),
        ("study", f"{typed('study', '--records')} records of each of {WORDS[species]} species"),
        ("study", f"the other {WORDS[species - 1]} species"),
        ("study", f"{typed('study', '--sites')} random sites"),
        ("study", f"fits {WORDS[int(typed('study', '--replicates'))]} more models"),
        ("notebook_figure", f"records {typed('notebook_figure', 'thin_distance')} km apart"),
        ("notebook_scikit_learn", f"at {int(typed('notebook_scikit_learn', r'cells.sample[(]')):,} cells"),
        ("notebook_scikit_learn", f"here of {typed('notebook_scikit_learn', r'SpatialBlocks[(]')} km"),
        ("bias", f"no two records nearer than {typed('bias', '--thin-distance')} km"),
        ("preparing", f"|r| above {typed('preparing', '--drop-correlated')}"),
        ("scale", f"{workers} workers are {WORDS[workers // cores]} jobs of {cores} cores"),
        ("scale", f"here {int(typed('scale', 'memory:').strip('GB')) // cores} GB per worker"),
        ("shared", f"simulates {flora} [virtual species]"), ("shared", f"Biplot of {flora} virtual species"),
        ("shared", f"at the {round(argument(world.simulate, 'sites'))} test sites"),
        ("validation", f"fits {typed('validation', '--null-models')} models"),
        ("validation", f"tries {WORDS[len(sets[0]) * len(sets[1])]} settings"),
        ("virtual", f"`--records 200` gives every species {typed('virtual', '`--records')} records"),
    ]  # fmt: skip


def facts() -> Facts:
    """All texts with numbers of results and of the program."""
    return [*of_results(), *of_notes(), *of_commands(), *of_program()]
