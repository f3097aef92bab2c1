"""The field's benchmark (Elith et al., NCEAS): accuracy at independent presence/absence sites, species by species.

Protocol of Valavi et al. (2022) for the regions AWT, NSW and CAN: fit to presence-only records, predict at the
presence/absence sites of the species' own survey group, average over species. `python -m benchmarks.nceas` runs the
settings of the first table below; `--setting NAME` others; `--summary` prints what was written earlier, in pairs.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.tools.group import GroupFit
from benchmarks.tools.harness import RESULTS, measured, shared, table
from sdm import Committee, Maxent, SharedMaxent
from sdm.assess.measures.basic import auc, log_loss
from sdm.estimators.structural import StructMaxent
from sdm.features.classes import auto_classes

Array = NDArray[np.float64]

VARIABLES = {
    "AWT": ["bc04", "bc05", "bc06", "bc12", "bc15", "slope", "topo", "tri"],
    "NSW": [
        *("cti", "disturb", "mi", "rainann", "raindq", "rugged", "soildepth", "soilfert", "solrad", "tempann"),
        *("topo", "vegsys"),
    ],
    "CAN": ["alt", "asp2", "ontprec", "ontslp", "onttemp", "ontveg", "watdist"],
}
CATEGORICAL = {"ontveg", "vegsys"}
LEAST = 5  # presences a species needs
# Survey groups of one kind of organism are one target group: diurnal and nocturnal birds; trees and understorey of
# open forest and of rainforest. Bats and small reptiles stay alone.
TARGET_GROUP = {"db": "bird", "nb": "bird", "ot": "plant", "ou": "plant", "rt": "plant", "ru": "plant"}
PUBLISHED = [
    {"setting": "maxnet (Valavi et al. 2022)", "AUC": "-", "AWT": 0.674, "NSW": 0.710, "CAN": 0.592},
    {"setting": "plain prototype, given background", "AUC": 0.684, "AWT": 0.693, "NSW": 0.713, "CAN": 0.595},
    {"setting": "plain prototype, target group", "AUC": 0.733, "AWT": 0.724, "NSW": 0.742, "CAN": 0.727},
]
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Species:
    """One species: its records, and the environment and observations at the test sites of its group."""

    region: str
    name: str
    group: str
    records: pd.DataFrame
    sites: pd.DataFrame
    observed: NDArray[np.int64]

    @property
    def n(self) -> int:
        return len(self.records)


@dataclass(frozen=True)
class Region:
    """A region's tables: records of all species, given background, and its species with enough records."""

    name: str
    records: pd.DataFrame
    background: pd.DataFrame
    species: dict[str, Species]

    @property
    def categorical(self) -> list[str]:
        return [name for name in VARIABLES[self.name] if name in CATEGORICAL]


@lru_cache
def read_region(name: str) -> Region:
    """Read a region; species with fewer than `LEAST` records are left out."""
    folder = shared() / "nceas"
    records = pd.read_csv(folder / f"{name}train_po.csv")
    tests = {}
    for path in sorted(folder.glob(f"{name}test_env*.csv")):
        group = path.stem.removeprefix(f"{name}test_env").lstrip("_")
        tests[group] = pd.read_csv(path), pd.read_csv(path.with_name(path.name.replace("test_env", "test_pa")))
    species = {}
    for spid, own in records.groupby("spid"):
        if len(own) >= LEAST:
            group = str(own["group"].iloc[0])
            sites, observed = tests[group if group in tests else ""]
            if not sites["siteid"].equals(observed["siteid"]):
                sys.exit(f"{name}, group '{group}': the sites of test_env and test_pa differ")
            species[str(spid)] = Species(name, str(spid), group, own, sites, observed[str(spid)].to_numpy())
    return Region(name, records, pd.read_csv(folder / f"{name}train_bg.csv"), species)


# Backgrounds: each returns rows and their shares of the base measure (None for equal ones).
Background = tuple[pd.DataFrame, Array | None]


def one_per_site(records: pd.DataFrame) -> pd.DataFrame:
    """Return the first record at every pair of coordinates."""
    return records.drop_duplicates(["x", "y"])


def same_group(region: Region, species: Species) -> pd.DataFrame:
    """Return the records of all species of the same kind of organism."""
    return region.records[region.records["group"].replace(TARGET_GROUP) == kind_of(species)]


def make_background(kind: str, region: Region, species: Species) -> Background:
    """Return a species' background by the name of its kind."""
    target = same_group(region, species)
    if kind == "given":
        return region.background, None
    if kind == "target":
        return one_per_site(target), None
    if kind == "records":
        return target, None
    if kind == "region":
        return one_per_site(region.records), None
    if kind == "survey":
        return one_per_site(region.records[region.records["group"] == species.group]), None
    if kind == "kernel":
        return _by_effort(region, one_per_site(target))
    if kind == "mixed":  # a tenth of the base measure on given points
        sites, given = one_per_site(target), region.background[:2000]
        shares = np.repeat([0.9 / len(sites), 0.1 / len(given)], [len(sites), len(given)])
        return pd.concat([sites, given]), shares
    raise KeyError(kind)


def _by_effort(region: Region, sites: pd.DataFrame) -> Background:
    """Weight the given background by a Gaussian kernel density of the target group's sites (Scott's bandwidth)."""
    degrees = region.records["x"].abs().max() <= 180
    scale = np.array([np.cos(np.deg2rad(sites["y"].mean())) if degrees else 1.0, 1.0])
    at, to = sites[["x", "y"]].to_numpy() * scale, region.background[["x", "y"]].to_numpy() * scale
    width = np.sqrt(at.var(axis=0).mean()) * len(at) ** (-1 / 6)
    effort = np.zeros(len(to))
    for part in np.array_split(at, max(1, len(at) // 200)):
        effort += np.exp(-((to[:, None] - part) ** 2).sum(axis=2) / (2 * width**2)).sum(axis=1)
    keep = effort > 1e-9 * effort.max()
    return region.background[keep], effort[keep] / effort.sum()


def classes_without(n: int, without: str) -> str:
    """Return Java Maxent's classes for `n` presences, less some."""
    return "".join(letter for letter in auto_classes(n) if letter not in without)


@dataclass(frozen=True)
class BySize:
    """A multiplier by sample size: `unit / n`, held between two limits."""

    unit: float = 30.0
    low: float = 0.6
    high: float = 1.5

    def __call__(self, n: int) -> float:
        return float(np.clip(self.unit / n, self.low, self.high))


@dataclass(frozen=True)
class Setting:
    """What is fitted: a background, and members whose log densities are averaged (often one). A member is one species
    at a time, or its whole group at once (`group`); `share` is its part of the mean."""

    background: str = "target"
    members: Sequence[dict[str, Any]] = field(default_factory=lambda: [{}])
    sized: BySize | None = None  # multiplies every member's multiplier
    bags: int = 0  # bootstrap samples of the presences for each member

    def fits(self, species: Species) -> list[tuple[float, Maxent | GroupFit]]:
        """Return the members as unfitted estimators, each with its part of the mean."""
        equal, made = 1.0 / len(self.members), []
        for member in map(dict, self.members):
            share = member.pop("share", equal)
            made.append((share, member["group"] if "group" in member else self._make(member, species)))
        return made

    def _make(self, options: dict[str, Any], species: Species) -> Maxent:
        n, categorical = species.n, read_region(species.region).categorical
        if options.pop("committee", False):
            return Committee(categorical=categorical, tolerance=TOLERANCE)
        if "without" in options:
            options["features"] = classes_without(n, options.pop("without"))
        if "families" in options:
            if "beta" in options:
                options["beta"] /= np.sqrt(n)
            return StructMaxent(categorical=categorical, tolerance=1e-3, **options)
        if self.sized is not None:
            options["multiplier"] = options.get("multiplier", 1.0) * self.sized(n)
        return Maxent(categorical=categorical, tolerance=TOLERANCE, **options)


RULES = (
    *(BySize(20, 0.5, 1.0), BySize(30, 0.5, 1.5), BySize(30, 0.6, 2.0), BySize(30, 0.7, 1.5), BySize(30, 1.0, 1.5)),
    *(BySize(40, 0.7, 2.0), BySize(40, 1.0, 2.0), BySize(60, 0.7, 3.0)),
)
BEST: list[dict[str, Any]] = [{}, {"knots": "maxnet", "beta": "maxent"}, {"without": "h"}, {"features": "t"}]
SMOOTH: dict[str, Any] = {"regularization": "l2sq", "multiplier": 10.0, "knots": 10}
CHOSEN = GroupFit()  # what `--model shared` is: the strength by held-out loss
AXES, RECTIFIED = GroupFit(strength=1.4), GroupFit("lqh,relu:600", strength=1.4)
AXES_OF_PLACE, RECTIFIED_OF_PLACE = (replace(how, given=0.03, place=True) for how in (AXES, RECTIFIED))


def mean_of(*parts: tuple[float, dict[str, Any] | GroupFit]) -> Setting:
    """Return a mean of members, each with its part of it: options of one species at a time, or a group at once."""
    members = [{"group": what} if isinstance(what, GroupFit) else what for _, what in parts]
    return Setting(members=[{"share": share, **member} for (share, _), member in zip(parts, members)])


COMMITTEE: dict[str, Any] = {"committee": True}
SETTINGS: dict[str, Setting] = {
    "default": Setting("given"),
    "target": Setting(),
    "structural": Setting(members=[{"families": "auto,trees:8,mono:4"}]),  # what `--model structural` is
    "best": Setting(members=[{"committee": True}]),  # what `--preset best` is without a group
    "best_members": Setting(members=BEST),  # without its smooth member
    "best_sized": Setting(members=BEST, sized=BySize()),
    # other backgrounds
    "default_empty": Setting("given", [{"beta": "maxnet"}]),  # categories without presences stay
    "default_no_products": Setting("given", [{"without": "p"}]),
    "default_empty_no_products": Setting("given", [{"beta": "maxnet", "without": "p"}]),
    "default_sized": Setting("given", sized=BySize()),
    "default_maxnet": Setting("given", [{"knots": "maxnet"}]),
    "default_maxnet_no_products": Setting("given", [{"knots": "maxnet", "without": "p"}]),
    "default_best": Setting("given", BEST),
    "target_records": Setting("records"),
    "target_survey": Setting("survey"),
    "target_region": Setting("region"),
    "target_kernel": Setting("kernel"),
    "target_mixed": Setting("mixed"),
    # features and penalties
    **{f"target_{letters}": Setting(members=[{"features": letters}]) for letters in ("l", "lq", "h", "t", "lqph")},
    **{f"target_x{m:g}": Setting(members=[{"multiplier": m}]) for m in (0.25, 0.5, 0.7, 1.4, 2.0, 3.0)},
    "target_empty": Setting(members=[{"beta": "maxnet"}]),
    "target_maxnet": Setting(members=[{"knots": "maxnet"}]),
    "target_knots10": Setting(members=[{"knots": 10}]),
    "target_l2sq": Setting(members=[SMOOTH]),
    "target_sized": Setting(sized=BySize()),
    **{f"target_sized_{r.unit:g}_{r.low:g}_{r.high:g}": Setting(sized=r) for r in RULES},
    # trees and monomials; several models averaged
    "structural_fixed": Setting(members=[{"families": "auto,trees:4", "lam": 0.1, "beta": 0.1}]),
    "structural_trees": Setting(members=[{"families": "trees:4", "lam": 0.03, "beta": 0.3}]),
    "structural_trees_mono": Setting(members=[{"families": "trees:4,mono:3", "lam": 0.03, "beta": 0.3}]),
    "target_bagged": Setting(members=[{"without": ""}], bags=10),
    "target_multipliers": Setting(members=[{"multiplier": m} for m in (0.5, 1.0, 2.0)]),
    "best_empty": Setting(members=[BEST[0], {"knots": "maxnet"}, *BEST[2:]]),
    "best_without_maxnet": Setting(members=[BEST[0], BEST[2], BEST[3]]),
    "best_without_thresholds": Setting(members=BEST[:3]),
    **{f"best_sized_{r.unit:g}_{r.low:g}_{r.high:g}": Setting(members=BEST, sized=r) for r in RULES},
    "best_survey": Setting("survey", BEST),
    # the whole group at once, on shared axes
    "shared": mean_of((1, CHOSEN)),
    "shared_counts": mean_of((1, replace(CHOSEN, power=1.0))),  # species weigh as their records
    "shared_sites": mean_of((1, replace(AXES, given=0.0))),  # no given points
    **{f"shared_c{c:g}": mean_of((1, replace(AXES, strength=c))) for c in (0.7, 1.0, 1.4, 2.0)},
    **{f"shared_given{g:g}": mean_of((1, replace(AXES, given=g))) for g in (0.03, 0.05, 0.2)},
    **{f"shared_relu{n}": mean_of((1, replace(RECTIFIED, seed=n))) for n in (1, 2)},  # two seeds
    "shared_place": mean_of((1, AXES_OF_PLACE)),
    # and averaged with models of one species
    # what `--preset best` is with a group, and with `--spatial`
    "best_shared": mean_of((1 / 2, COMMITTEE), (1 / 2, AXES)),
    "best_shared_relu": mean_of((1 / 2, COMMITTEE), (1 / 2, RECTIFIED)),
    "best_place": mean_of((1 / 3, COMMITTEE), (1 / 3, AXES), (1 / 3, AXES_OF_PLACE)),
    "best_place_two": mean_of((1 / 2, COMMITTEE), (1 / 2, AXES_OF_PLACE)),
    "best_place_relu": mean_of((1 / 2, COMMITTEE), (1 / 2, RECTIFIED_OF_PLACE)),
}
FIRST = ("default", "target", "structural", "best")


def evaluate(setting: str, region: str, name: str) -> dict[str, Any]:
    """Fit one species by a setting, predict at its test sites, and return its row of the results."""
    where = read_region(region)
    species = where.species[name]
    began, cpu = time.perf_counter(), time.process_time()
    links, gap = _links(SETTINGS[setting], where, species)
    scores, cloglog = links[-len(species.sites) :], _cloglog(links, len(species.sites))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    present = species.observed == 1
    density = np.exp(scores - scores.max())
    uniform = float(np.log(len(scores)))
    return {
        "region": region,
        "species": name,
        "group": species.group,
        "presences": species.n,
        "auc": auc(scores[present], scores[~present]),
        "cor": float(np.corrcoef(cloglog, species.observed)[0, 1]) if np.ptp(cloglog) > 0 else 0.0,
        "log_loss": log_loss(density[present] / density.sum()) - uniform,
        "gap": gap,
        "seconds": seconds,
        "cpu_seconds": cpu,
    }


def _links(setting: Setting, region: Region, species: Species) -> tuple[Array, float]:
    """Return the members' mean log density (up to a constant) at the training rows and the test sites, and the gap."""
    columns = VARIABLES[region.name]
    background, shares = make_background(setting.background, region, species)
    wanted = [*columns, "x", "y"]
    rows = pd.concat([species.records[wanted], background[wanted]], ignore_index=True)
    everywhere = pd.concat([rows, species.sites[wanted]], ignore_index=True)
    weight = None if shares is None else np.concatenate([np.ones(species.n), shares])
    rng = np.random.default_rng(1)
    total, gap = np.zeros(len(everywhere)), 0.0
    for share, member in setting.fits(species):
        if isinstance(member, GroupFit):
            fitted = fitted_group(member, region.name, kind_of(species))
            total += share * member.links(fitted, species.name, everywhere, columns)
            gap = max(gap, fitted.solution_.gap)
            continue
        for _ in range(max(1, setting.bags)):
            order = np.arange(len(rows))
            if setting.bags:
                order[: species.n] = rng.integers(0, species.n, species.n)
            member.fit(rows[columns].iloc[order], (np.arange(len(rows)) < species.n).astype(int), weight)
            total += share / max(1, setting.bags) * member.predict(everywhere[columns], "link")
            gap = max(gap, member.solution_.gap)
    return total, gap


def kind_of(species: Species) -> str:
    """Return the kind of organism of a species: the name of its target group."""
    return TARGET_GROUP.get(species.group, species.group)


@lru_cache(maxsize=4)
def fitted_group(how: GroupFit, region: str, kind: str) -> SharedMaxent:
    """Fit all species of a kind in a region; each process does it once."""
    where = read_region(region)
    records = {name: species.records for name, species in where.species.items() if kind_of(species) == kind}
    one = where.species[next(iter(records))]
    sites = one_per_site(same_group(where, one))
    return how.fit(records, sites, where.background, VARIABLES[region], where.categorical)


def _cloglog(links: Array, sites: int) -> Array:
    """Return cloglog at the test sites, the density taken over the training rows."""
    train, test = links[:-sites], links[-sites:]
    top = train.max()
    p = np.exp(train - top)
    tau = top + np.log(p.mean())
    p /= p.sum()
    divergence = float(np.sum(p * (train - tau)))
    return -np.expm1(-np.exp(np.minimum(test - tau - divergence, 50.0)))  # type: ignore[no-any-return]


def run(setting: str, pool: ProcessPoolExecutor, regions: Iterable[str]) -> tuple[list[dict[str, Any]], float]:
    """Evaluate all species by a setting in a pool; return their rows in order, and the seconds in all."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    jobs = [(region, name) for region in regions for name in read_region(region).species]
    began = time.perf_counter()
    columns = (TextColumn(setting), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True) as progress:
        bar = progress.add_task(setting, total=len(jobs))
        # The longest fits first, so that no process waits for the other at the end.
        order = sorted(jobs, key=lambda job: -read_region(job[0]).species[job[1]].n)
        waiting = {pool.submit(evaluate, setting, *job): job for job in order}
        rows = {}
        for done in as_completed(waiting):
            rows[waiting[done]] = done.result()
            progress.advance(bar)
    return [rows[job] for job in jobs], time.perf_counter() - began


PLACE = RESULTS / "nceas.csv"


def read() -> dict[str, pd.DataFrame]:
    """Return one table per setting with results, one line per species, in the order of `SETTINGS`."""
    if not PLACE.exists():
        return {}
    by_setting = dict(iter(pd.read_csv(PLACE).groupby("setting")))
    return {name: by_setting[name].reset_index(drop=True) for name in SETTINGS if name in by_setting}


def write(setting: str, rows: Sequence[dict[str, Any]]) -> None:
    """Replace the lines of a setting."""
    origin = {"setting": setting, **{key: measured()[key] for key in ("sdm", "commit", "date")}}
    new = pd.DataFrame([{**origin, **row} for row in rows])
    tables = read() | {setting: new}
    RESULTS.mkdir(parents=True, exist_ok=True)
    every = pd.concat([tables[name] for name in SETTINGS if name in tables])
    every.to_csv(PLACE, index=False, float_format="%.6g", lineterminator="\n")


def summarize(setting: str, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the means by region and over all species."""
    parts = [(name, rows[rows["region"] == name]) for name in dict.fromkeys(rows["region"])]
    return [
        {
            "setting": setting,
            "region": name,
            "species": len(part),
            "AUC": f"{part['auc'].mean():.4f}",
            "COR": f"{part['cor'].mean():.4f}",
            "log loss": f"{part['log_loss'].mean():.3f}",
            "s/species": float(part["seconds"].mean()),
            "CPU s": float(part["cpu_seconds"].sum()),
            "largest gap": float(part["gap"].max()),
        }
        for name, part in [*parts, ("all", rows)]
    ]


def paired(rows: pd.DataFrame, base: pd.DataFrame) -> dict[str, Any]:
    """Return the mean paired difference in AUC from a base, its standard error, wins and losses, and it by region."""
    both = rows.merge(base, on=["region", "species"], suffixes=("", "_base"))
    change = both["auc"] - both["auc_base"]
    error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else float("nan")
    by = change.groupby(both["region"]).mean()
    return {
        "difference": f"{change.mean():+.4f}",
        "± s.e.": f"{error:.4f}",
        "wins": int((change > 0).sum()),
        "losses": int((change < 0).sum()),
        **{region: f"{by[region]:+.4f}" for region in VARIABLES if region in by},
    }


def compare(settings: Sequence[str], base: str) -> None:
    """Print every setting's means, and its paired difference from the base, from the files written."""
    results = read()
    tables = {name: results[name] for name in settings if name in results}
    missing = [name for name in (*settings, base) if name not in results]
    if missing:
        print(f"not run yet: {', '.join(dict.fromkeys(missing))}")
    means = []
    for name, rows in tables.items():
        by = rows.groupby("region")["auc"].mean()
        means.append(
            {
                "setting": name,
                "AUC": f"{rows['auc'].mean():.4f}",
                **{region: f"{by[region]:.4f}" if region in by else "-" for region in ("AWT", "NSW", "CAN")},
                "COR": f"{rows['cor'].mean():.4f}",
                "log loss": f"{rows['log_loss'].mean():.3f}",
                "CPU s": float(rows["cpu_seconds"].sum()),
            }
        )
    blank = {"COR": "-", "log loss": "-", "CPU s": "-"}
    table("Mean AUC over species; published figures below", means + [{**row, **blank} for row in PUBLISHED])
    if base in results:
        rows = [{"setting": name, **paired(t, results[base])} for name, t in tables.items() if name != base]
        if rows:
            table(f"AUC less that of '{base}', species by species", rows)


def leave_one_out(settings: Sequence[str], base: str) -> list[dict[str, Any]]:
    """Choose the setting with the highest mean AUC in two regions; return what the choice gains in the third."""
    results = {name: rows.set_index("species") for name, rows in read().items()}
    values = pd.DataFrame({name: results[name]["auc"] for name in settings})
    regions, against = results[base]["region"], results[base]["auc"]
    rows = []
    for region in VARIABLES:
        out = regions == region
        chosen = values[~out].mean().idxmax()
        change = (values[chosen] - against)[out]
        error = change.std(ddof=1) / np.sqrt(len(change))
        rows.append(
            {"left out": region, "chosen": chosen, "gain there": f"{change.mean():+.4f}", "± s.e.": f"{error:.4f}"}
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nceas", description=__doc__)
    parser.add_argument("--setting", nargs="+", default=list(FIRST), metavar="NAME", help=", ".join(SETTINGS))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--regions", nargs="+", default=list(VARIABLES), choices=list(VARIABLES))
    parser.add_argument("--base", default="target", help="compare with this setting, species by species")
    parser.add_argument("--summary", action="store_true", help="fit nothing: print all results written earlier")
    options = parser.parse_args()
    unknown = [name for name in [*options.setting, options.base] if name not in SETTINGS]
    if unknown:
        parser.error(f"no setting called {', '.join(unknown)}; there are {', '.join(SETTINGS)}")
    if options.summary:
        done = list(read())
        compare(done, options.base)
        for title, prefixes in (("all settings", ("",)), ("single models", ("target",)), ("committees", ("best",))):
            some = [name for name in done if name.startswith(prefixes)]
            table(f"Chosen among {title} by the other two regions", leave_one_out(some, options.base))
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # each process of the pool uses one core
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        for setting in options.setting:
            rows, seconds = run(setting, pool, options.regions)
            title = f"{setting}: {seconds:.1f} s in all, {options.processes} processes"
            table(title, summarize(setting, pd.DataFrame(rows)))
            if set(options.regions) == set(VARIABLES):
                write(setting, rows)
    compare(options.setting, options.base)


if __name__ == "__main__":
    main()
