"""The packages: every folder of `sdm`, every folder of `cli` as `sdm_cli`; and the page of `sdm help` that is made
from the code. Everything else is in pyproject.toml."""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py


class BuildWithPages(build_py):
    """Copies the packages, and writes the reference of options among the pages of documentation."""

    def run(self) -> None:
        """Build; of an editable installation, make writes them."""
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib).resolve()
        paths = os.pathsep.join(filter(None, [str(built), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}  # the wheel has sources alone
        command = [sys.executable, "-m", "tools.option_reference", str(built / "sdm_cli" / "guide" / "reference")]
        subprocess.run(command, check=True, env=environment)  # noqa: S603


commands = ["sdm_cli" + name.removeprefix("cli") for name in find_packages(include=["cli", "cli.*"])]
setup(
    packages=[*find_packages(include=["sdm", "sdm.*"]), *commands, "sdm_cli.guide", "sdm_cli.sample"],
    cmdclass={"build_py": BuildWithPages},
)
