"""Sample lines of GEO as a table: a column for each `!Sample_` line and for each key of characteristics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["UNKNOWN", "as_cells", "sample_table"]

# How sheets and GEO say that a value is not known, in lower case.
UNKNOWN = ("", "na", "n/a", "nan", "not available")
# Missing among numbers; among text a level: "treatment: none" are the controls.
UNKNOWN_NUMBER = ("none", "null", "unknown", "--", "-", ".", "?")
JOINT = " | "


def sample_table(lines: Sequence[tuple[str, Sequence[str]]], ids: Sequence[str]) -> pd.DataFrame:
    """Make the table of samples.

    Cells of `characteristics_ch1` such as "Gender:F" or "Gender: F" go to a column "Gender", whatever line of
    the sample they stand in; those without a colon stay in `characteristics_ch1`. Lines that stand there
    several times are joined. A column all of whose known values are numbers holds numbers.

    Parameters
    ----------
    lines : sequence of (name, cells)
        Without "!Sample_"; one cell per sample.
    ids : sequence of str
        Sample ids, which become the index.

    Returns
    -------
    DataFrame
    """
    import pandas as pd

    columns: dict[str, list[list[str]]] = {}
    spelling: dict[str, str] = {}

    def put(column: str, sample: int, text: str) -> None:
        # "gender" and "Gender" are one characteristic.
        name = spelling.setdefault(column.lower(), column)
        texts = columns.setdefault(name, [[] for _ in ids])[sample]
        if text not in texts:
            texts.append(text)

    plain = {name.lower() for name, _ in lines}
    for name, cells in lines:
        columns.setdefault(spelling.setdefault(name.lower(), name), [[] for _ in ids])
        for sample, cell in enumerate(cells):
            key, colon, value = cell.partition(":")
            key = " ".join(key.split())
            if name.startswith("characteristics") and colon and key:
                if name.endswith("_ch2"):
                    key = f"{key} (ch2)"
                put(f"{key} (characteristic)" if key.lower() in plain else key, sample, value.strip())
            elif cell:
                put(name, sample, cell)
    table = {name: as_cells([JOINT.join(texts) for texts in column]) for name, column in columns.items()}
    kept = {
        name: column for name, column in table.items() if any(cell is not None for cell in column.tolist())
    }
    return pd.DataFrame(kept, index=pd.Index(list(ids), name="sample"))


def as_cells(texts: Sequence[Any]) -> np.ndarray:
    """Cells of a column given as text: numbers if all known ones are, else text with None for unknown.

    "none", "null", "unknown" and dashes are missing numbers, and levels among text.

    Returns
    -------
    (n,) float64, or (n,) object
    """
    cells = [None if str(text).strip().lower() in UNKNOWN else " ".join(str(text).split()) for text in texts]
    try:
        numbers = np.array(
            [np.nan if cell is None or cell.lower() in UNKNOWN_NUMBER else float(cell) for cell in cells]
        )
    except ValueError:
        return np.array(cells, dtype=object)
    return numbers if np.isfinite(numbers).any() else np.array(cells, dtype=object)
