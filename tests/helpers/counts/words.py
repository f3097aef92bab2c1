"""The terminal lines, and what could mislead."""

from collections.abc import Iterator
from typing import Any

from counts.model import CountModel
from sdm.kinds.task import ModelResult
from sdm.report.pages.cautions import Caution
from sdm.report.results import Results

FEW = 1000  # sites


def count_lines(result: ModelResult) -> list[str]:
    return [result.name, result.line("counts", f"{result.numbers['sites']} sites"), *result.file_lines(["map"])]


def count_evaluation_lines(numbers: dict[str, Any]) -> list[str]:
    return [f"error {numbers['error']:.4f}"]


def count_info_lines(model: CountModel, features: int) -> list[str]:
    return [f"{name} {weight:.3g}" for name, weight in list(model.description()["weights"].items())[:features]]


def few_counts(results: Results) -> Iterator[Caution]:
    if results.numbers["sites"] < FEW:
        yield Caution(f"Animals were counted at {results.numbers['sites']} sites only.", "deviance")
