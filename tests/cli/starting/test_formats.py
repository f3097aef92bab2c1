"""The pages about formats: whoever follows them reads what the program wrote."""

import json
import re
import zipfile
from importlib import import_module

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from documents.commands import ROOT, page_of
from terminal import succeed

import sdm
from sdm.models.file import KINDS
from sdm.run.outcome import ModelOutcome, Outcome

FORMAT = (ROOT / "docs" / "development" / "model_file.md").read_text(encoding="utf-8")
SCHEMA = page_of("schema").read_text(encoding="utf-8")


def block(text: str, language: str) -> str:
    """The first block of a page in a language."""
    return re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]


@pytest.mark.parametrize("features", ["lqp", "lqht"])
def test_a_reader_of_one_page_predicts_what_the_program_predicts(tmp_path, features) -> None:
    """Beyond the training range too, where values are held."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {"heat": rng.normal(10, 5, 400), "rain": rng.gamma(2, 300, 400), "soil": rng.integers(1, 5, 400)}
    )
    odds = np.exp(-((table["heat"] - 12) ** 2) / 20 + (table["soil"] == 2))
    y = (rng.random(400) < odds / odds.max()).astype(int)
    model = sdm.Maxent(features, categorical=["soil"]).fit(table, y)
    model.save(tmp_path / "oak.npz")
    names: dict = {}
    exec(compile(block(FORMAT, "python"), "model_file.md", "exec"), names)  # noqa: S102
    far = table.assign(heat=table["heat"] * 3 - 15)
    for asked in (table, far):
        assert names["predict"](tmp_path / "oak.npz", asked) == pytest.approx(model.predict(asked), abs=1e-9)


def test_every_part_of_a_model_file_is_described(tmp_path) -> None:
    for format_name, (module, name) in KINDS.items():
        kind = getattr(import_module(module), name)
        assert f"`{format_name}`" in FORMAT
        assert not [word for word in (*kind.array_names(), *kind.optional_names()) if f"`{word}`" not in FORMAT]
    X, y = np.arange(40.0).reshape(20, 2), np.repeat([1, 0], [8, 12])
    sdm.Maxent("l").fit(X, y).save(tmp_path / "oak.npz")
    with zipfile.ZipFile(tmp_path / "oak.npz") as archive:
        header = json.loads(archive.read("model.json"))
    assert not [key for key in (*header, *header["variables"][0]) if f"`{key}`" not in FORMAT]


def test_the_page_of_the_schema_names_everything_at_the_top() -> None:
    made = json.loads(succeed("schema").stdout)
    assert not [key for key in made["properties"] if f"`{key}`" not in SCHEMA]
    assert not [key for key in (*Outcome.model_fields, *ModelOutcome.model_fields) if f"`{key}`" not in SCHEMA]


def test_an_editor_would_accept_the_run_files_and_mark_a_mistake() -> None:
    made = json.loads(succeed("schema").stdout)
    good = [block(SCHEMA, "yaml"), (ROOT / "sample_data" / "run.yaml").read_text(encoding="utf-8")]
    for text in good:
        jsonschema.validate(yaml.safe_load(text), made)
    wrong = yaml.safe_load(good[0]) | {"fit": {"multipler": 2}}
    with pytest.raises(jsonschema.ValidationError, match="multipler"):
        jsonschema.validate(wrong, made)
