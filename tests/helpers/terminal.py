"""What tests of the command line share: run a command as a user does, and look at what it left behind."""

import csv
import json
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import rasterio
from faults import Commands
from jsonschema import Draft202012Validator
from PIL import Image
from typer.testing import CliRunner, Result

from sdm.run.outcome import outcome_schema
from sdm.storage.written_files import LISTED
from sdm_cli.app import app

# Enough for a real model, and fast: no hinges, no curves; where the map does not matter, no map.
QUICK = ("--fc", "lq", "--no-curves", "--categorical", "landcover")
BARE = (*QUICK, "--no-map")
# Where nobody looks at pages, pictures and the importance of variables.
PLAIN = ("--no-report", "--no-importance", "--dpi", "50")


def sdm(*words: Any) -> Result:
    """Run a command in this process."""
    logger = logging.getLogger("sdm")
    before = list(logger.handlers)
    try:
        return CliRunner().invoke(app, [str(word) for word in words])
    finally:
        logger.handlers = before  # the command's own writes to a stream that is closed by now


def scenario_file(folder: Path, title: str) -> Path:
    """The map of the only species of a run in one of its scenarios."""
    (model,) = folder.glob("*.npz")
    return folder / "scenarios" / title / f"{model.stem}.tif"


def succeed(*words: Any) -> Result:
    """Run a command that must not fail."""
    result = sdm(*words)
    assert result.exit_code == 0, result.output
    return result


def as_json(*words: Any) -> Any:
    """Run a command with --json: the standard output must be exactly one JSON document of the schema, without NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    answer = json.loads(succeed(*words, "--json").stdout, parse_constant=refuse)
    _outcomes().validate(answer)
    return answer


@cache
def _outcomes() -> Draft202012Validator:
    """The schema of what commands print, itself looked at once: that takes longer than looking at an answer."""
    schema = outcome_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def model_answer(*words: Any) -> Any:
    """The answer about one model: its numbers, and beside them files, notes, records, notices, warnings and folder."""
    answer = as_json(*words)
    (model,) = answer["models"]
    return {**{key: value for key, value in answer.items() if key != "models"}, **model, **model["numbers"]}


def fail(*words: Any, code: int = 1) -> str:
    """Run a command that must fail with one clear sentence; return it."""
    result = sdm(*words)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, result.stderr
    assert result.stderr.splitlines()[-1] == errors[0], "the error is the last word"
    assert "unexpected" not in errors[0], errors[0]
    coded = re.fullmatch(r"error: (.*) \[E\d{3}\]", errors[0])
    assert coded is not None, f"no code: {errors[0]}"
    return coded[1]


@contextmanager
def hearing_ctrl_c() -> Iterator[None]:
    """What is started here hears Ctrl-C: a test run in the background ignores it, and so would its children.

    A `preexec_fn` would do the same, and copy the tables of all memory of this process for every child.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def start(*words: Any, hold: str = "", **options: Any) -> "subprocess.Popen[str]":
    """Start a command in a process of its own; wait until it has come to the moment where to `hold` it, and stays."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **options.pop("env", {})}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    command = [sys.executable, "-m", "sdm_cli.main", *(str(word) for word in words)]
    if not hold:
        with hearing_ctrl_c():
            return subprocess.Popen(command, env=environment, **{**pipes, **options})
    with tempfile.TemporaryDirectory() as folder:
        held = Path(folder) / "held"
        places = [str(Path(__file__).parent / "hold"), environment.get("PYTHONPATH", "")]
        environment |= {"PYTHONPATH": os.pathsep.join(places), "SDM_TEST_HOLD": hold, "SDM_TEST_HELD": str(held)}
        with hearing_ctrl_c():
            child = subprocess.Popen(command, env=environment, **{**pipes, **options})
        while not held.exists() and child.poll() is None:
            time.sleep(0.01)
        assert held.exists(), (hold, child.communicate())
    return child


def process(*words: Any, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process of its own, to its end."""
    with start(*words, **options) as child:
        out, err = child.communicate(timeout=120)
    return subprocess.CompletedProcess([*map(str, words)], child.returncode, out, err)


def watched(commands: Commands, *words: Any) -> "tuple[subprocess.CompletedProcess[str], list[str]]":
    """Run a command with a terminal on standard error; return it, and every line that the terminal showed, in order:
    rows of bars are shown again and again."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    shown = bytearray()

    def watch() -> None:
        with suppress(OSError):  # the end of a terminal
            while part := os.read(ours, 65536):
                shown.extend(part)

    reader = threading.Thread(target=watch)
    reader.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            out, env = Path(folder) / "out", {"TERM": "xterm", "COLUMNS": "130", "NO_COLOR": "1"}
            code = commands.tell(words, out, os.ttyname(theirs), env)
            done = subprocess.CompletedProcess([*map(str, words)], code, out.read_text(encoding="utf-8"), "")
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    return done, [line.rstrip() for line in re.split(r"[\r\n]+", text) if line.strip()]


def files(folder: Path) -> list[str]:
    """Every file and folder in a folder, hidden ones too, but for the lists of what sdm wrote."""
    found = (path for path in folder.rglob("*") if path.name != LISTED)
    return sorted(path.relative_to(folder).as_posix() for path in found) if folder.exists() else []


def styled(maps: Iterable[str]) -> list[str]:
    """Maps with the styles that lie beside them."""
    return [f"{name.removesuffix('.tif')}.{end}" for name in maps for end in ("qml", "sld", "tif")]


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as source:
        return list(csv.DictReader(source))


def write_table(path: Path, head: Sequence[str], body: Sequence[Sequence[Any]]) -> Path:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([head, *body])
    return path


def read(path: Path, band: int = 1) -> np.ma.MaskedArray:
    """A band of a raster."""
    with rasterio.open(path) as source:
        return source.read(band, masked=True)


def chart_parts(path: Path) -> int:
    """Return how many lines, bars, dots and texts an SVG file of a chart has, which opens by itself."""
    root = ElementTree.parse(path).getroot()  # noqa: S314 - a file of ours
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {"width", "height", "font-family", "fill"} <= set(root.attrib)
    return sum(part.tag.endswith(("path", "rect", "circle", "polygon", "text")) for part in root.iter())


def picture(path: Path) -> np.ndarray:
    """The pixels of a picture, (h, w, 3)."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def change_raster(source: Path, target: Path, change: Any = None, **profile: Any) -> Path:
    """Write a raster with other values, or another profile."""
    with rasterio.open(source) as data:
        band, settings = data.read(1), {**data.profile, **profile}
    with rasterio.open(target, "w", **settings) as out:
        out.write((band if change is None else change(band)).astype(settings["dtype"]), 1)
    return target
