"""What surrounds the code: files that strangers, and the machines of a host, read before they read any code.

The workflows cannot be run here. What is compared is what would make them fail at once: names of make targets, of
extras and of paths.
"""

import re
import tomllib

import pytest
import yaml
from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_whoever_cites_the_program_cites_this_version():
    cited = read(ROOT / "CITATION.cff")
    assert (cited["version"], cited["license"]) == (PROJECT["version"], PROJECT["license"])
    assert {"cff-version", "message", "title", "authors"} <= set(cited)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_use_targets_and_extras_that_exist(path):
    workflow = read(path)
    assert {"name", "jobs", True} <= set(workflow)  # YAML reads `on` as true
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for job in workflow["jobs"].values():
        assert {"runs-on", "steps"} <= set(job)
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            run = step.get("run", "")
            assert set(re.findall(r"\bmake ([a-z]+)", run)) <= targets
            for extras in re.findall(r'"\.\[([a-z,]+)\]"', run):
                assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
            for named in re.findall(r"-c (\S+)", run):
                assert (ROOT / named).is_file()


def test_every_python_that_the_project_names_is_tested():
    (tests,) = (path for path in WORKFLOWS if path.stem == "tests")
    versions = set(read(tests)["jobs"]["pinned"]["strategy"]["matrix"]["python"])
    named = {word.rpartition(" ")[2] for word in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", word)}
    assert named <= versions
    assert PROJECT["requires-python"].removeprefix(">=") in versions


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_of_issues_have_what_a_host_needs(path):
    form = read(path)
    assert {"name", "description", "body"} <= set(form)
    names = [part["id"] for part in form["body"]]
    assert len(names) == len(set(names))
    assert all(part["attributes"]["label"] for part in form["body"])


def test_checks_before_a_commit_have_the_version_of_make_check():
    pinned = re.search(r"^ruff==(.+)$", (ROOT / ".ci" / "constraints.txt").read_text(), re.MULTILINE)
    revisions = {repo["repo"]: repo["rev"] for repo in read(ROOT / ".pre-commit-config.yaml")["repos"]}
    assert revisions["https://github.com/astral-sh/ruff-pre-commit"] == f"v{pinned[1]}"
