"""The room of assessment: numbers in, numbers out. Nothing in it reads or writes files, or draws."""

import ast
from pathlib import Path

import pytest

import sdm.assess

MODULES = sorted(Path(sdm.assess.__file__).parent.glob("*.py"))
FORBIDDEN = {
    "csv", "io", "json", "matplotlib", "os", "pathlib", "PIL", "pickle", "rasterio", "geopandas", "pyogrio", "shutil",
    "tempfile", "yaml", "sdm.maps.rasters", "sdm.report", "sdm.run", "sdm.storage.files", "sdm.models.file", "sdm_cli",
}  # fmt: skip
READERS = {
    "open", "save", "load", "savez", "savetxt", "loadtxt", "genfromtxt", "fromfile", "tofile", "read_csv", "to_csv",
}  # fmt: skip


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_files_and_no_pictures(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            parts = name.split(".")
            roots = {".".join(parts[: k + 1]) for k in range(len(parts))}
            assert not roots & FORBIDDEN, f"{path.name} imports {name}"
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            assert called not in READERS, f"{path.name}:{node.lineno} calls {called}"
