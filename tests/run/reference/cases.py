"""Small runs that use every option of a run at least once, several of them together where they do not interfere."""

from pathlib import Path
from typing import Any

from sdm.simulate.world import simulate

LEAN = {"output.report": False, "output.map_picture": False, "output.curves": False, "test.importance": False}
LEAN |= {"output.dpi": 50, "fit.features": "lq", "background.points": 300, "layers.categorical": ["landcover"]}
SPECIES = "Virtualis montanus"


def make_world(folder: Path) -> None:
    """Write layers, records with many columns, effort, and a survey."""
    simulate(folder / "w", size=32, layers=4, species=3, records=45, sites=90, seed=5, warming=2, bias=True)
    lines = (folder / "w" / "occurrences.csv").read_text().splitlines()
    first = [line for line in lines[1:] if line.startswith(SPECIES)]
    extra = [
        f"{line},{1990 + k},{50 * k},{1 + k % 4},{('PreservedSpecimen', 'HumanObservation')[k % 2]},{k // 15}"
        for k, line in enumerate(first)
    ]
    extra += [f"{SPECIES},0,0,2001,10,1,HumanObservation,0", f"{SPECIES},500,1,2001,10,1,HumanObservation,0"]
    head = f"{lines[0]},year,coordinateUncertaintyInMeters,count,basisOfRecord,part"
    (folder / "one.csv").write_text("\n".join([head, *extra, extra[3]]) + "\n")
    (folder / "test.csv").write_text("\n".join([lines[0], *first[::3]]) + "\n")
    sites = [line.split(",")[1:3] for line in (folder / "w" / "presence_absence.csv").read_text().splitlines()[1:91]]
    belts = (f"{x},{y},{'north' if float(y) > 40 else 'west' if float(x) < -15.3 else 'east'}" for x, y in sites)
    (folder / "plots.csv").write_text("\n".join(["longitude,latitude,habitat", *belts]) + "\n")
    (folder / "group.csv").write_text("\n".join([lines[0], *lines[1::2]]) + "\n")


JOINT = {
    "kind": "community",
    "occurrences.file": "w/presence_absence.csv",
    "background.points": None,
    "test.importance": None,
    "output.curves": None,
    "output.map_picture": None,
    "fit.features": "l",
}

CASES: dict[str, dict[str, Any]] = {
    "plain": {
        "test.percent": 25,
        "predict.threshold": "maxsss",
        "test.importance": True,
        "test.repeats": 2,
        "output.curves": True,
        "output.background_predictions": True,
    },
    "records": {
        "occurrences.drop_suspicious": ["zero", "impossible"],
        "occurrences.years": "1995-2030",
        "occurrences.max_uncertainty": "2km",
        "occurrences.where": "part != 2",
        "occurrences.snap": 1,
        "occurrences.record_weights": "count",
        "occurrences.basis": ["PreservedSpecimen"],
    },
    "thinned": {
        "occurrences.thin_distance": 12.0,
        "occurrences.thin_tries": 3,
        "occurrences.keep_duplicates": True,
        "predict.scale": "logistic",
        "predict.prevalence": 0.3,
        "predict.threshold": "10p",
    },
    "thin_bins": {
        "occurrences.thin_bins": 5,
        "occurrences.thin_variables": ["temperature", "precipitation"],
        "predict.scale": "raw",
        "predict.extrapolation": "none",
        "predict.threshold": "equal",
    },
    "target_group": {
        "background.bias": "target-group",
        "background.target_group": "group.csv",
        "background.bandwidth": 20.0,
        "predict.extrapolation": "free",
    },
    "bias_prior": {
        "background.bias": "w/effort.tif",
        "background.bias_treatment": "prior",
        "background.area_weighted": True,
        "predict.scale": "cumulative",
        "predict.extrapolation": "fade",
    },
    "bias_records": {
        "background.bias": "w/effort.tif",
        "background.bias_treatment": "records",
        "fit.add_presences": "none",
        "predict.extrapolation": "lower",
    },
    "bias_sample": {
        "background.bias": "w/effort.tif",
        "background.area": "hull",
        "background.buffer": 30.0,
        "predict.min_patch": 200.0,
        "predict.threshold": 0.4,
        "output.gpkg": True,
    },
    "blocks": {
        "test.folds": 4,
        "test.split": "block",
        "test.block_size": 40.0,
        "test.orientation": "lon_lat",
        "test.validation_background": "partition",
        "layers.drop_correlated": 0.6,
    },
    "equal_blocks": {"test.split": "equal-blocks", "layers.drop_vif": 3.0},
    "checkerboard": {"test.split": "checkerboard", "test.aggregation": [2, 3], "layers.exclude": ["precipitation"]},
    "buffer": {"test.split": "buffer", "test.radius": 15.0, "background.points": 120},
    "environment": {"test.folds": 3, "test.split": "environment", "fit.entropy": 1.5, "test.jackknife": True},
    "own_folds": {
        "test.split": "own",
        "test.fold_column": "part",
        "fit.regularization": "elastic",
        "fit.ratio": 0.3,
        "fit.ridge": 0.02,
    },
    "bootstrap": {
        "test.replicates": 3,
        "test.replicate_kind": "bootstrap",
        "test.percent": 20,
        "output.uncertainty": True,
        "output.curves": True,
        "output.replicate_maps": True,
    },
    "nulls": {
        "test.folds": 2,
        "test.null_models": 3,
        "test.file": "test.csv",
        "fit.features": "h",
        "fit.knots": 8,
        "test.contribution": "steps",
        "test.importance": True,
        "test.repeats": 1,
    },
    "penalties": {
        "fit.features": "lqpht",
        "fit.beta_lqp": 0.5,
        "fit.beta_hinge": 0.7,
        "fit.beta_threshold": 1.5,
        "fit.beta_categorical": 0.4,
        "fit.multiplier": 0.5,
        "fit.knots": "all",
        "predict.temperature": 1.4,
    },
    "auto": {"fit.features": "auto", "fit.product_from": 30, "fit.hinge_from": 40, "fit.regularization": "l2sq"},
    "mahalanobis": {"fit.regularization": "mahalanobis", "fit.uncorrelated": 0.05, "fit.beta": "maxnet"},
    "lp": {"fit.regularization": "lp", "fit.power": 1.3, "fit.beta": "deviation"},
    "smoothed": {"fit.regularization": "smoothed_l1", "fit.smoothing": 0.3},
    "corollary": {"fit.beta": "corollary5", "fit.norm": 5.0, "fit.delta": 0.2},
    "structural": {
        "fit.model": "structural",
        "fit.families": "l,trees:3,mono:3",
        "fit.lam": 0.05,
        "fit.beta": 0.02,
        "fit.features": "auto",
    },
    "committee": {"fit.model": "committee", "fit.features": "auto"},
    "scenario": {
        "project.scenarios": {"warmer": "w/warmer"},
        "project.novelty": ["mess", "exdet", "clamping"],
        "project.dispersal": 30.0,
        "predict.threshold": "maxsss",
        "project.reference": ["w/layers"],
    },
    "report": {
        "output.report": True,
        "output.curves": True,
        "output.metadata": True,
        "test.folds": 2,
        "test.importance": True,
        "test.repeats": 1,
        "predict.threshold": "mtp",
        "test.jackknife": True,
        "test.percent": 20,
        "project.scenarios": {"warmer": "w/warmer"},
        "output.map_picture": True,
    },
    "shared": {
        "occurrences.file": "w/occurrences.csv",
        "fit.model": "shared",
        "fit.features": "l",
        "fit.strength": 0.5,
        "fit.own": 0.8,
        "output.stack": ["sum", "threshold"],
        "predict.threshold": "maxsss",
        "output.report": True,
    },
    "ensemble": {
        "occurrences.file": "w/occurrences.csv",
        "background.kind": "target-group",
        "background.points": None,
        "fit.model": "ensemble",
        "fit.features": "l",
        "fit.strength": 1.0,
        "fit.spatial": True,
    },
    "several": {
        "occurrences.file": "w/occurrences.csv",
        "occurrences.species": ["Virtualis montanus", "Virtualis aridus"],
        "output.report": True,
        "output.stack": ["sum"],
        "predict.threshold": "10p",
    },
    "strata": {"path.strata": "landcover", "test.folds": 3, "path.choice": "one_se", "output.report": True},
    "grid_strata": {"path.strata": "grid:60km", "test.folds": 2, "path.epsilon": 0.01},
    "response": {
        "occurrences.file": "w/presence_absence.csv",
        "occurrences.response": "presence",
        "occurrences.species": [SPECIES],
        "test.folds": 3,
        "test.split": "block",
        "test.block_size": 40.0,
        "output.report": True,
        "test.importance": True,
        "test.repeats": 1,
        "fit.multiplier": 1.0,
        "background.points": None,
        "predict.threshold": "maxsss",
    },
    "classes": {
        "occurrences.file": "plots.csv",
        "classes.column": "habitat",
        "background.points": None,
        "kind": "classes",
        "fit.multiplier": 1.0,
        "fit.features": "l",
        "test.percent": 30,
        "test.importance": True,
        "test.repeats": 1,
        "project.scenarios": {"warmer": "w/warmer"},
        "output.report": True,
    },
    "community": {**JOINT, "joint.learner": "crf-l2", "joint.cost": 1.0, "test.folds": 2, "output.report": True},
    "community_l1": {**JOINT, "joint.learner": "crf-l1", "joint.cost": 1.0, "joint.graph": "chain", "test.percent": 30},
    "community_m3n": {**JOINT, "joint.learner": "m3n", "joint.cost": 1.0, "joint.graph": "none"},
}

QUIET = "--categorical landcover --no-report --no-map-picture --no-curves --no-importance --dpi 50"
FIT = f"--features lq --background-points 300 {QUIET}"
MODELS = {
    "species": f"fit one.csv w/layers {FIT} --threshold maxsss -o made/species",
    "classes": "classify plots.csv w/layers --class-column habitat --features l --multiplier 1 --regularization l2"
    f" {QUIET} -o made/classes",
    "community": "joint w/presence_absence.csv w/layers --features l --cost 1 --categorical landcover --no-report"
    " --dpi 50 -o made/community",
}
"""Models that the commands use."""
SP, CL, JO = "made/species/Virtualis_montanus.npz", "made/classes/habitat.npz", "made/community/joint.npz"
COMMANDS = {
    "tune": f"tune one.csv w/layers {FIT} --feature-sets l,lq --multipliers 0.5,2 --folds 3 --choose-rule one_se"
    " --entropies 1,1.5 -o out/tune",
    "path": f"path one.csv w/layers {FIT} --folds 3 --smallest 0.5 --epsilon 0.05 -o out/path",
    "learning": "curve learning one.csv w/layers --sets l:0.1,lq:0.2 --sizes 15,30 --partitions 3 --held-out 25"
    " --categorical landcover --background-points 200 --dpi 50 -o out/learning",
    "variables": "variables one.csv w/layers --categorical landcover --drop-correlated 0.6 --background-points 300"
    " -o out/variables",
    "evaluate": f"evaluate {SP} --presences w/presence_absence.csv --species 'Virtualis montanus'"
    " --layers w/layers --json",
    "evaluate_background": f"evaluate {SP} --presences test.csv --background 100 --layers w/layers --seed 3 --json",
    "evaluate_truth": f"evaluate {SP} --presences test.csv --layers w/layers"
    " --truth w/truth/Virtualis_montanus.tif --json",
    "evaluate_classes": f"evaluate {CL} --sites plots.csv --class-column habitat --layers w/layers --json",
    "evaluate_community": f"evaluate {JO} --sites w/presence_absence.csv --layers w/layers --json",
    "predict": f"predict {SP} w/warmer --novelty mess,exdet,mop,clamping --scale logistic --threshold 10p"
    " -o out/predict/map.tif",
    "predict_points": f"predict {SP} one.csv --layers w/warmer --extrapolation free -o out/predict_points/table.csv",
    "predict_classes": f"predict {CL} w/warmer -o out/predict_classes/map.tif",
    "predict_community": f"predict {JO} w/warmer -o out/predict_community",
    "project": f"project {SP} --scenarios w/warmer --reference w/layers --thresholds 10p,mtp --threshold 10p"
    " --novelty mess,mop --dispersal none --dpi 50 -o out/project",
    "convert": f"convert {SP} out/convert/model.lambdas",
    "java": "maxent samplesfile=test.csv environmentallayers=w/layers outputdirectory=out/java togglelayertype=land"
    " autorun nowarnings replicates=2 replicatetype=subsample randomtestpoints=25 linear quadratic nohinge noproduct"
    " nothreshold noautofeature maximumbackground=200 applythresholdrule='Equal training sensitivity and specificity'"
    " pictures=false visible=false randomseed=false outputformat=logistic jackknife betamultiplier=1.5",
    "simulate": "simulate out/simulate --size 32 --layers 5 --species 10 --records 10-30 --sites 40 --noise 1 --bias"
    " --interaction --warming 3 --seed 7",
    "simulate_axes": "simulate out/simulate_axes --size 32 --layers 6 --species 3 --records 20 --sites 20"
    " --shared-axes 2 --seed 8",
}
"""Commands by the name of the folder of their results; those without one are compared by what they print."""

LONG = {"classes", "ensemble", "shared", "java", "community_l1", "community_m3n", "path", "project", "structural"}
LONG |= {"blocks", "equal_blocks", "tune"}
"""Runs of a second or more, which wait for `make test-all`."""
