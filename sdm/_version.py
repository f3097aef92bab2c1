"""The version, in one place; `pyproject.toml` holds the same (a test compares them)."""

__version__ = "0.1.0"
