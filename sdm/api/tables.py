"""Tables of results as data frames."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdm.report.results import Results
from sdm.report.tables import unquoted

if TYPE_CHECKING:
    import pandas as pd


def read_table(path: Path) -> "pd.DataFrame":
    """Read a table of a run: numbers as numbers, text without the apostrophes that protect spreadsheets."""
    import pandas as pd

    table = pd.read_csv(path, keep_default_na=False, na_values=[""], encoding="utf-8", low_memory=False)
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name]) and not pd.api.types.is_bool_dtype(table[name]):
            table[name] = [unquoted(value) if isinstance(value, str) else value for value in table[name]]
    return table.rename(columns=unquoted)


def stored_table(results: Results, key: str) -> "pd.DataFrame":
    """Return a table of one model by its name; empty without one."""
    import pandas as pd

    path = results.path(key)
    return pd.DataFrame() if path is None else read_table(path)


def threshold_table(results: Results) -> "pd.DataFrame":
    """Return one row per threshold rule: its value on every scale, the predicted area, and the omission."""
    import pandas as pd

    rows = {key: row for key, row in results.tree("thresholds").items() if isinstance(row, dict)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("rule") if rows else pd.DataFrame()


def together(tables: "dict[str, pd.DataFrame]") -> "pd.DataFrame":
    """Return the tables of several models as one, with the name of the model in the first column."""
    import pandas as pd

    parts: list[Any] = []
    for name, table in tables.items():
        if not table.empty:
            flat = table.reset_index() if any(table.index.names) else table
            parts.append(flat.drop(columns="species", errors="ignore"))
            parts[-1].insert(0, "species", name)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
