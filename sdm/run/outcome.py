"""The answer of every command with --json, with its JSON Schema."""

from pydantic import BaseModel, ConfigDict, Field

from sdm._version import __version__
from sdm.types import Numbers


class ModelOutcome(BaseModel):
    """One model: results of a fit, prediction, evaluation or description."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field("", description="The species, the title of the classes, or the community.")
    kind: str = Field("", description="The kind of model: species, classes, community, group or strata; or of a curve.")
    folder: str | None = Field(None, description="The folder with its results.")
    error: str | None = Field(None, description="The reason of its failure; null if it did not fail.")
    code: str | None = Field(None, description="The code of the error, such as E017; null if it did not fail.")
    numbers: Numbers = Field({}, description="All measures, by name.")
    files: Numbers = Field({}, description="Its files by content, relative to the folder.")
    notes: list[str] = Field([], description="Notes on this model.")
    records: dict[str, int] | None = Field(None, description="The record cleaning summary.")


class Outcome(BaseModel):
    """The answer of a command."""

    model_config = ConfigDict(extra="forbid", title="The answer of an sdm command with --json")

    command: str = Field(description="The command, such as fit or evaluate.")
    version: str = Field(__version__, description="The version of sdm.")
    error: str | None = Field(None, description="The reason of the failure; null if the command did not fail.")
    code: str | None = Field(None, description="The code of the error, which 'sdm help' explains; null without one.")
    folder: str | None = Field(None, description="The output folder.")
    models: list[ModelOutcome] = Field([], description="One entry per model.")
    files: list[str] = Field([], description="Files that were written and belong to no single model.")
    notices: list[str] = Field([], description="Notes on the inputs.")
    warnings: list[str] = Field([], description="Warnings about the interpretation.")
    problems: list[str] = Field([], description="Problems that would stop a run (sdm check).")


def outcome_schema() -> Numbers:
    """Return the JSON Schema of the answers of all commands."""
    return Outcome.model_json_schema(mode="serialization")
