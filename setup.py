"""The packages: every folder of `sdm`, every folder of `cli` as `sdm_cli`. Everything else is in pyproject.toml."""

from setuptools import find_packages, setup

commands = ["sdm_cli" + name.removeprefix("cli") for name in find_packages(include=["cli", "cli.*"])]
setup(packages=[*find_packages(include=["sdm", "sdm.*"]), *commands, "sdm_cli.guide", "sdm_cli.sample"])
