"""The log of a command: where a job that ran at night says what it did."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from terminal import BARE, PLAIN, fail, files, sdm, start, succeed, write_table

from sdm_cli.log_file import LogFile

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d ")


def lines(path: Path) -> list[str]:
    """The lines of a log without the times, which every line must have."""
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), "nothing that a terminal obeys"
    assert all(STAMP.match(line) for line in text.splitlines()), text
    return [STAMP.sub("", line, count=1) for line in text.splitlines()]


@pytest.mark.parametrize("option", [None, "--quiet", "--json", "-v"])
def test_everything_is_in_the_log_whatever_is_printed(world, tmp_path: Path, option: str | None) -> None:
    words = ("fit", world.records, world.layers, *BARE, "--folds", 3, *([option] if option else []))
    plain = sdm(*words, "-o", tmp_path / "without")
    said = sdm(*words, "-o", tmp_path / "out", "--log-file", tmp_path / "run.log")
    assert said.exit_code == 0
    assert len(said.stderr.splitlines()) == len(plain.stderr.splitlines()), "the log changes nothing that is printed"
    assert len(said.stdout.splitlines()) == len(plain.stdout.splitlines())
    found = lines(tmp_path / "run.log")
    assert found[0].startswith("sdm ")
    for part in ("reading records and layers: begins", "cross-validation: 0 of 3", "categorical layers: landcover (1)"):
        assert part in found
    for pattern in (r"cross-validation: 3 of 3 in [\d.]+ s", r".* fitted and measured in .*", r"  training    AUC .*"):
        assert [line for line in found if re.fullmatch(pattern, line)], pattern
    assert re.fullmatch(r"ended after \d+(\.\d)? (s|min) with exit code 0", found[-1])
    if option == "--json":
        assert json.loads(said.stdout)["command"] == "fit"
    assert files(tmp_path / "out") == files(tmp_path / "without"), "the log is no result"
    (model,) = (tmp_path / "out").glob("*.npz")
    assert model.read_bytes() == (tmp_path / "without" / model.name).read_bytes()


def test_a_log_is_appended_to(world, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    for k in range(2):
        succeed("simulate", tmp_path / f"world{k}", "--size", 40, "--log-file", log)
    first, second = [k for k, line in enumerate(lines(log)) if line.startswith("sdm ")]
    assert first == 0
    assert lines(log)[second - 1].endswith("exit code 0")
    assert [line for line in lines(log) if line.startswith("landscape: ")]


def test_what_went_wrong_is_in_the_log(own, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    said = fail("fit", own.folder / "none.csv", own.layers, "-o", tmp_path / "out", "--log-file", log)
    assert lines(log)[-2] == f"error: {said} [E011]"
    assert lines(log)[-1].endswith("exit code 1")
    assert "no output folder" in fail("fit", own.records, own.layers, "--log-file", log, code=2)
    assert lines(log)[-1].endswith("exit code 2")
    sdm("fit", own.folder / "none.csv", own.layers, "-o", tmp_path / "out", "--log-file", log, "--debug")
    assert "Traceback (most recent call last):" in lines(log)


def test_secrets_and_control_characters_are_not_in_the_log(own, tmp_path: Path, monkeypatch) -> None:
    log, secret = tmp_path / "run.log", "hunter2"
    address = f"http://bob:{secret}@127.0.0.1:9/layer.tif?token={secret}"
    words = ("fit", own.records, address, "-o", tmp_path / "out", "--log-file", log)
    monkeypatch.setattr(sys, "argv", ["sdm", *map(str, words)])
    assert sdm(*words).exit_code == 1
    text = log.read_text()
    assert secret not in text
    assert "http://***@127.0.0.1:9/layer.tif?token=***" in lines(log)[0], "the command as it was typed, but for secrets"
    evil = own.records.read_text().replace("Virtualis montanus", "Virt\x1b[31malis")
    (own.folder / "evil.csv").write_text(evil)
    succeed("fit", own.folder / "evil.csv", own.layers, *BARE, *PLAIN, "-o", tmp_path / "evil", "--log-file", log)
    assert "Virt\\x1b[31malis" in lines(log)


@pytest.mark.thorough
def test_an_interrupted_command_says_so(world, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    words = ("fit", world.records, world.layers, *BARE, "-o", tmp_path / "out", "--log-file", log)
    with start(*words, hold="open *_roc.csv") as child:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=120)
    assert child.returncode == 143
    assert lines(log)[-2] == "interrupted: nothing half-written was kept"
    assert lines(log)[-1].endswith("exit code 143")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (".", "is a folder"),
        ("nowhere/run.log", "does not exist"),
        ("/dev/null", "is a device"),
        ("table.csv", "exists and is not a log of sdm"),
        ("results/run.log", "is in the results"),
        ("link/run.log", "is in the results"),
        ("x" * 300, "cannot be written"),
    ],
)
def test_a_log_that_cannot_be_is_refused_before_work_begins(world, tmp_path: Path, name: str, part: str) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "results")
    table = write_table(tmp_path / "table.csv", ["a"], [["1"]])
    before, content = files(tmp_path), table.read_bytes()
    words = ("fit", world.records, world.layers, *BARE, "-o", tmp_path / "results", "--overwrite")
    result = sdm(*words, "--log-file", tmp_path / name)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("error: --log-file ")
    assert part in result.stderr
    assert files(tmp_path) == before
    assert table.read_bytes() == content, "a table that was named by mistake is as it was"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(world, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    said = fail("simulate", tmp_path / "world", "--log-file", closed / "run.log", code=2)
    assert "cannot be written (Permission denied)" in said


@pytest.mark.parametrize("words", [("simulate", "{out}"), ("predict", "{model}", "{layers}", "-o", "{out}/run.log")])
def test_no_command_takes_its_results_for_a_log(world, fit, tmp_path: Path, words: tuple[str, ...]) -> None:
    places = {"out": tmp_path, "model": fit.model, "layers": world.layers}
    said = fail(*(word.format(**places) for word in words), "--log-file", tmp_path / "run.log", code=2)
    assert "is in the results" in said
    assert files(tmp_path) == []


def test_a_log_that_can_be_written_no_more_does_not_stop_the_work(tmp_path: Path) -> None:
    """As when the disk is full: one warning, and the work goes on."""
    warned: list[str] = []
    log = LogFile(tmp_path / "run.log", warned.append)
    log.line("sdm begins")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log._file)
    os.close(full)
    for _ in range(3):
        log.line("more")
    assert len(warned) == 1
    assert "No space left on device" in warned[0]
    assert lines(tmp_path / "run.log") == ["sdm begins"]


@pytest.mark.parametrize(
    "command",
    ["fit", "classify", "joint", "tune", "path", "project", "predict", "simulate", "variables", "curve learning"],
)
def test_every_long_command_has_a_log(command: str) -> None:
    assert "--log-file" in succeed(*command.split(), "--help").stdout
