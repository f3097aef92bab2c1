"""What the terminal shows of models of one species: results of a run, evaluations, and model files."""

from typing import Any

from sdm.data.place import Region
from sdm.kinds.task import ModelResult
from sdm.models.species import Model
from sdm.report.results import REPLICATED

_SUPPORT = {"training": "outside_support_train", "test": "outside_support_test"}
OPENED_FIRST = ("page", "map", "picture", "plots", "path", "model", "numbers")


def species_result_lines(result: ModelResult) -> list[str]:
    """Say what was fitted, in the order in which a person asks."""
    n, line = result.numbers, result.line
    out = record_lines(result)
    out.append(
        line(
            "model",
            f"{n['training_presences']:,} presences, {n['background_points']:,} background points; "
            f"{n['features_with_weight']:,} of {n['features']:,} features ({n['classes']}) have a weight",
        )
    )
    each = f"each of {n['members']} models " if "members" in n else ""
    near = f"{each}within {n['gap']:.1e} nats of {'its' if each else 'the'} optimum, proved"
    out.append(line("certificate", f"{n['status']}: {near}, after {n['iterations']} rounds"))
    if "structure" in n:
        s = n["structure"]
        shares = ", ".join(f"{row['features']} {row['family']}" for row in s["families"])
        out.append(line("structure", f"{shares or 'no feature'}; {s['penalties']}"))
        out.append(line("", f"the certificate covers {s['certified_over']}"))
    out += tuning_lines(result)
    if "path" in n:
        out += _path_lines(result, n["path"])
    training = f"AUC {n['auc_train']:.4f}, gain {n['gain']:.4f} (regularised {n['regularized_gain']:.4f})"
    out.append(line("training", f"{training}, log loss {n['log_loss_train']:.4f}{_mixed(n, 'train')}"))
    if n.get("auc_test") is not None:
        tested = f"AUC {n['auc_test']:.4f}, gain {n['test_gain']:.4f}, log loss {n['log_loss_test']:.4f}"
        out.append(line("test", f"{tested} ({n['test_presences']:,} records){_mixed(n, 'test')}"))
    return [*out, *_assessment_lines(result), *result.outside_lines(), *result.file_lines(OPENED_FIRST)]


def record_lines(result: ModelResult) -> list[str]:
    """Name the model, and give its record cleaning summary."""
    if not result.records:
        return ["", result.name]
    drops = {key: count for key, count in result.records.items() if count and key not in ("read", "kept")}
    dropped = ", ".join(f"{count:,} {key.replace('_', ' ')}" for key, count in drops.items())
    counts = f"{result.records['read']:,} read, {result.records['kept']:,} kept{f' ({dropped})' if dropped else ''}"
    return ["", result.name, result.line("records", counts)]


def tuning_lines(result: ModelResult) -> list[str]:
    """Say which setting was chosen."""
    if "tuning" not in result.numbers:
        return []
    t = result.numbers["tuning"]
    return [result.line("tuned", f"{t['chosen']}: {t['rule']} by {', '.join(t['by'])} of {t['settings']} settings")]


def _path_lines(result: ModelResult, path: dict[str, Any]) -> list[str]:
    """Say what the path over the multiplier is like, and where its choices are."""
    proof = f"the gap is at most {path['gap']:.1e} nats everywhere" if path["certified"] else "the gap is not proved"
    out = [result.line("path", f"{path['fits']} fits from {path['from']:.4g} to {path['to']:g}; {proof}")]
    for key, what in (("best", "least loss"), ("one_se", "simplest")):
        loss = f"held-out loss {path[key]['held_out_loss']:.4f} ± {path[key]['standard_error']:.4f}"
        fitted = " (fitted)" if key == path["choice"] else ""
        out.append(
            result.line(
                what, f"multiplier {path[key]['multiplier']:.4g}, {path[key]['features']} features, {loss}{fitted}"
            )
        )
    return out


def _assessment_lines(result: ModelResult) -> list[str]:
    """Say how good the model is on records that it has not seen, and which variables it needs."""
    n, line = result.numbers, result.line
    out = []
    if "range" in n:
        inside = [f"{1 - n[key]:.1%} of the {what} records inside" for what, key in _SUPPORT.items() if key in n]
        size = f"{n['range']['area_km2']:,.0f} km² in {n['range']['patches']:,} patches"
        out.append(line("range", f"{size}, {', '.join(inside)}"))
    if "cross_validation" in n:
        found = n["cross_validation"]
        mean = found["mean"]
        scores = (
            f"AUC {mean['auc.val.avg']:.4f}, Boyce {mean['cbi.val.avg']:.4f}, 10p omission {mean['or.10p.avg']:.4f}"
        )
        how = f"({found['method']}, {found['background']} background)"
        parts = f"{len(found['rows'])} {'replicates' if found['method'] in REPLICATED else 'folds'}"
        out.append(line(parts, f"{scores}, gain {mean['gain.val.avg']:.4f} {how}"))
        out += block_lines(result, found)
    out += null_lines(result)
    if "presence_absence" in n:
        found = n["presence_absence"]
        scores = (
            f"AUC {found['auc']:.4f}, COR {found['cor']:.4f}, Brier {found['brier']:.4f}, PR gain {found['prg']:.4f}"
        )
        out.append(line("survey", f"{scores} ({found['presences']:,} presences, {found['absences']:,} absences)"))
    return [*out, *importance_lines(result)]


def block_lines(result: ModelResult, found: dict[str, Any]) -> list[str]:
    """Say how large blocks are, where that was measured."""
    return [result.line("blocks of", found["blocks"]["text"])] if "blocks" in found else []


def null_lines(result: ModelResult) -> list[str]:
    """Say how much better the model is than null models."""
    if "null_models" not in result.numbers:
        return []
    nulls = result.numbers["null_models"]
    first = next(test for test in nulls["tests"] if test["measure"] == "auc.val")
    effect = f"AUC {first['real']:.4f} against {first['null_mean']:.4f}: effect {first['effect']:.2f}"
    return [result.line("null models", f"{effect}, p = {first['p']:.3g} of {nulls['iterations']}")]


def importance_lines(result: ModelResult) -> list[str]:
    """Say which variables matter most."""
    rows = result.numbers.get("importance", {}).get("permutation")
    if not rows:
        return []
    ranked = sorted(rows, key=lambda row: -row["percent"])
    text = ", ".join(f"{row['variable']} {row['percent']:.0f} %" for row in ranked[:4] if row["percent"] >= 0.5)
    return [result.line("importance", f"{text or 'no variable matters'} (permutation)")]


def _mixed(n: dict[str, Any], part: str = "") -> str:
    """Say what the log loss is when a little of the background is mixed in, where exact zeros can make it infinite."""
    key = f"log_loss_mixed_{part}" if part else "log_loss_mixed"
    return f"; {n[key]:.4f} with 0.1 % of the background mixed in" if key in n else ""


def species_evaluation_lines(numbers: dict[str, Any]) -> list[str]:
    """Say how good a model is on other records."""
    out = [
        f"presences    {numbers['presences']:,}",
        f"against      {numbers['others']:,} {numbers['against']} points",
        f"AUC          {numbers['auc']:.4f} (standard deviation {numbers['auc_deviation']:.4f})",
        f"log loss     {numbers['log_loss']:.4f} nats (gain {numbers['gain']:.4f}){_mixed(numbers)}",
    ]
    if "outside_support" in numbers:
        out.append(f"range        {1 - numbers['outside_support']:.1%} of the presences inside")
    if "correlation" in numbers:
        found = numbers["presence_absence"]
        best = f"at most {found['tss.max']:.4f}, at {found['tss.max.threshold']:.4f}"
        out += [
            f"correlation  {found['cor']:.4f}",
            f"Brier score  {found['brier']:.4f}",
            f"PR gain      {found['prg']:.4f} (area below precision-recall-gain)",
            f"TSS          {found['tss']:.4f} at the training threshold maxsss ({best})",
            "calibration  predicted  observed  sites",
        ]
        out += [
            f"             {row['predicted']:9.3f}  {row['observed']:8.3f}  {row['count']:5,}"
            for row in found["calibration"]
        ]
    boyce = numbers["presence_absence"]["cbi"] if "presence_absence" in numbers else numbers["cbi"]
    out.append(f"Boyce index  {boyce:.4f}")
    if "truth_correlation" in numbers:
        out.append(f"truth        correlation {numbers['truth_correlation']:.4f} of the map with the true suitability")
    return [*out, *(f"omission     {omission:.4f} at {key}" for key, omission in numbers["omission"].items())]


def species_info_lines(model: Model, features: int) -> list[str]:
    """Say what is in a model file."""
    meta = model.meta
    if "program" in meta:
        return _foreign_lines(model, features)
    each = f"each of {meta['members']} models " if "members" in meta else ""
    near = f"{each}within {meta.get('gap', float('nan')):.1e} nats of {'its' if each else 'the'} optimum"
    out = [
        f"species      {meta.get('species', '?')}",
        f"fitted by    sdm {meta.get('version', '?')}, seed {meta.get('seed', '?')}",
        f"data         {meta.get('presences', '?')} presences, {model.n_domain:,} points in the domain",
        f"certificate  {meta.get('status')}: {near}",
        f"gain         {meta.get('gain', float('nan')):.4f} (regularised), entropy {model.entropy:.4f} nats",
        *([f"temperature  {meta['temperature_note']}"] if "temperature_note" in meta else []),
        f"order        {model.alpha:g} ({'Shannon' if model.alpha == 1 else 'Tsallis: can be exactly zero'})",
        *_structure_lines(meta.get("structure")),
        *_bound_lines(meta.get("performance_bound")),
        setting_line(meta),
    ]
    if (region := Region.of_model(model)) is not None:
        out.append(f"region       {region.text}: it has features of place, and is not for other places or times")
    if meta.get("sampling"):
        out.append(f"sampling     {', '.join(f'{key}={value}' for key, value in meta['sampling'].items())}")
    return [*out, *variable_lines(model), *weight_lines(_listed(model), features, meta.get("n_features", "?"))]


def _foreign_lines(model: Model, features: int) -> list[str]:
    """Say what is in a model file of another program, which tells less."""
    listed = _listed(model)
    return [
        f"species      {model.meta.get('species', '?')}",
        f"fitted by    {model.meta['program']}",
        f"data         {model.n_domain:,} points in the domain",
        f"entropy      {model.entropy:.4f} nats",
        f"scales       {', '.join(scale for scale in model.scales if scale != 'cumulative' or len(model.cumulative))}",
        *variable_lines(model),
        *weight_lines(listed, features, len(listed)),
    ]


def _listed(model: Model) -> list[str]:
    """List all features, those with the largest weights first."""
    names, weights = model.feature_names, model.weights
    return [f"  {weights[j]:>10.4f}  {names[j]}" for j in sorted(range(len(names)), key=lambda j: -abs(weights[j]))]


def setting_line(meta: dict[str, Any]) -> str:
    """Say which settings a model was fitted with."""
    settings = [f"{key}={value}" for key, value in meta.get("settings", {}).items() if value not in (None, [])]
    return f"settings     {', '.join(settings)}"


def variable_lines(model: Any) -> list[str]:
    """List the variables with their training ranges."""
    ranges = [
        f"{len(variable.classes)} categories" if variable.categorical else f"{variable.lo:g} to {variable.hi:g}"
        for variable in model.variables
    ]
    return ["", "variables", *(f"  {name:<24} {text}" for name, text in zip(model.names, ranges))]


def weight_lines(listed: list[str], features: int, total: Any) -> list[str]:
    """List the features with the largest weights."""
    more = [f"  … and {len(listed) - features} more (--weights {len(listed)} shows all)"]
    head = f"features with a weight: {len(listed)} of {total}"
    return ["", head, *listed[:features], *(more if len(listed) > features else [])]


def _bound_lines(bound: dict[str, Any] | None) -> list[str]:
    """Say how far the model can be from the best on new records, and when that tells nothing."""
    if not bound:
        return []
    best, sure = "the best model of its features with weights of this size", f"{1 - bound['delta']:g}"
    out = [f"bound        true log loss at most {bound['excess']:.3f} nats above {best}, with probability {sure}"]
    if not bound["informs"]:
        out.append("             (more than the gain of the model, so the bound tells nothing: it needs more records)")
    return out


def _structure_lines(structure: dict[str, Any] | None) -> list[str]:
    """Say what a structural model is made of, and what its certificate covers."""
    if not structure:
        return []
    out = [
        f"covers       {structure['certified_over']}",
        f"penalties    {structure['penalties']}, complexity by {structure['complexity']}",
        "families     features  weight penalty  gain lost without",
    ]
    for row in structure["families"]:
        figures = f"{row['features']:>8}  {row['weight']:6.2f}  {row['price']:6.3f}  {row['gain']:6.3f}"
        out.append(f"  {row['family']:<11}{figures}")
    return out
