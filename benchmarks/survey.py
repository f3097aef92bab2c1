"""Presence and absence: held-out log loss of the default beside prevalence alone, a plain GLM, and l1 at multiplier 1.

Five folds, visits to one place together; the default's penalty is chosen anew within every training part. The GLM is
logistic regression without a penalty on the raw variables and their squares. `python -m benchmarks survey`.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import rasterio

from benchmarks.nceas import CATEGORICAL, VARIABLES
from benchmarks.tools.harness import ROOT, once, save, shared, table
from sdm import ConditionalMaxent
from sdm.data.site_folds import fold_numbers, site_groups

MODELS = {
    "GLM": {"features": "lq", "regularization": "none"},
    "l1, multiplier 1": {"multiplier": 1.0},
    "default": {},
}
LEAST = 1e-6  # what a probability counts as at least, as everywhere
NCEAS = {"AWT": ("plant", "bird"), "NSW": ("ba", "sr")}
JOINT = {"frogs_jsdm": 4, "mosquitos_jsdm": 7, "eucalypts_sjsdm": 5}

Survey = tuple[str, pd.DataFrame, np.ndarray, np.ndarray]


def at(folder: Path, x: np.ndarray, y: np.ndarray) -> dict[str, list[float]]:
    """Return the layers' values at places."""
    out = {}
    for path in sorted(folder.glob("*.tif")):
        with rasterio.open(path) as source:
            out[path.stem] = [float(value[0]) for value in source.sample(zip(x, y))]
    return out


def surveys() -> Iterator[Survey]:
    """Yield a name, the environment, presence and coordinates."""
    grassland = shared() / "grassland"
    plots = pd.read_csv(grassland / "occurrence_PA.csv")
    places = plots[["POINT_X", "POINT_Y"]].to_numpy()
    found = {name: at(grassland / name, *places.T) for name in ("categorical", "continuous")}
    for name, values in (*found.items(), ("all 13 layers", found["categorical"] | found["continuous"])):
        yield f"grassland, {name}", pd.DataFrame(values), plots["Presence-Absence"].to_numpy(), places
    for region, groups in NCEAS.items():
        for group in groups:
            values, observed = (
                pd.read_csv(shared() / "nceas" / f"{region}test_{what}_{group}.csv") for what in ("env", "pa")
            )
            for species in list(observed.columns[4:])[1:3]:
                yield species, values[VARIABLES[region]], observed[species].to_numpy(), values[["x", "y"]].to_numpy()  # type: ignore[attr-defined]
    for folder, step in JOINT.items():
        values, observed = (
            pd.read_csv(shared() / "joint" / folder / f"{name}.csv") for name in ("env", "presence_absence")
        )
        place = [name for name in ("x", "y", "longitude", "latitude") if name in values]
        for species in list(observed.columns[1:])[1::step]:
            yield (
                f"{folder.partition('_')[0]}, {species}",
                values.drop(columns=["site", *place]),  # type: ignore[attr-defined]
                observed[species].to_numpy(),
                values[place].to_numpy(),  # type: ignore[attr-defined]
            )
    survey = pd.read_csv(ROOT / "sample_data" / "presence_absence.csv")
    for species, own in survey.groupby("species", sort=False):
        places = own[["longitude", "latitude"]].to_numpy()
        values = pd.DataFrame(at(ROOT / "sample_data" / "layers", *places.T))
        yield f"sample, {species}", values, own["presence"].to_numpy(), places


def losses(x: pd.DataFrame, y: np.ndarray, places: np.ndarray) -> dict[str, float]:
    """Return the log loss of every model over sites that were held out."""
    group = site_groups(places)
    fold = fold_numbers(y, 5, np.random.default_rng(1), group)
    categorical = [name for name in x if name in CATEGORICAL or name in GRASSLAND or name == "landcover"]
    p = {name: np.empty(len(y)) for name in ("constant", *MODELS)}
    for k in range(5):
        held = fold == k
        share = np.bincount(y[~held], minlength=2) / np.count_nonzero(~held)
        p["constant"][held] = share[y[held]]
        for name, options in MODELS.items():
            model = ConditionalMaxent(**options, categorical=categorical).fit(x[~held], y[~held], groups=group[~held])
            p[name][held] = model.predict_proba(x[held])[np.arange(held.sum()), y[held]]
    return {name: float(-np.mean(np.log(np.maximum(own, LEAST)))) for name, own in p.items()}


GRASSLAND = ("geoberg", "geolmja1", "lcucor1", "lcutilt4", "terslpps15")


def main() -> None:
    """Measure, print and save."""
    logging.getLogger("sdm").setLevel(logging.ERROR)  # a GLM without a penalty often has no finite optimum
    rows = []
    for name, x, y, places in surveys():
        whole = np.isfinite(x.to_numpy()).all(axis=1) & (np.abs(x.to_numpy()) < 1e30).all(axis=1)
        if min(np.bincount(y[whole], minlength=2)) < 10:
            continue
        seconds, found = once(lambda x=x[whole], y=y[whole], at=places[whole]: losses(x, y, at))  # type: ignore[misc]
        rows.append({"data": name, "sites": int(whole.sum()), "presences": int(y[whole].sum()), **found})
        print(f"  {name}: {seconds:.0f} s", flush=True)
    names = ("constant", *MODELS)
    rows.append(
        {"data": "mean", "sites": "", "presences": "", **{n: float(np.mean([r[n] for r in rows])) for n in names}}
    )
    table("Log loss at held-out sites, nats per site", rows)
    save("survey", {"rows": rows})


if __name__ == "__main__":
    main()
