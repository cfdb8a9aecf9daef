"""The sample sheet: what is known about samples, brought into the order of the matrix by sample id."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.data.tables.tables import quoted
from raytpnn.expression.sample_lines import as_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SampleSheet"]


class SampleSheet:
    """A table with one row per sample, one of whose columns holds the sample ids.

    Parameters
    ----------
    path : Path
        CSV, TSV (also compressed), Parquet or Feather, with a header.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frame = read_as_text(path)
        if self.frame.empty:
            raise ValueError(f"sample sheet {str(path)!r} has no rows")

    def overlap(self, ids: list[str]) -> tuple[int, str]:
        """How many of some ids the best of its columns holds, and which column that is."""
        wanted = set(ids)
        counts = {str(name): len(wanted & set(self.frame[name])) for name in self.frame.columns}
        best = max(counts, key=lambda name: counts[name])
        return counts[best], best

    def align(
        self, ids: list[str], columns: list[str] | None = None
    ) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
        """Bring rows into the order of the matrix.

        Parameters
        ----------
        ids : list of n str
            Samples of the matrix.
        columns : list of str, optional
            Columns of a matrix whose rows are taken for samples, for the error if none of them is one.

        Returns
        -------
        samples : DataFrame
            A row for every sample that the sheet has, in the order of `ids`, which are the index.
        known : (n,) bool
            Samples that the sheet has.
        notes : list of str
            What a user should know.

        Raises
        ------
        ValueError
            If an id stands in two rows, or no sample is found: the message names file and lines.
        """
        import pandas as pd

        count, column = self.overlap(ids)
        if not count:
            where = f"which are {quoted(ids)}"
            if columns is not None:
                where = f"be they the rows of the matrix, {quoted(ids)}, or its columns, {quoted(columns)}"
            raise ValueError(
                f"sample sheet {str(self.path)!r} has no column with the ids of the samples, {where}"
            )
        own = [str(cell) for cell in self.frame[column]]
        place: dict[str, int] = {}
        for row, name in enumerate(own):
            if name in place and name in set(ids):
                raise ValueError(
                    f"sample sheet {str(self.path)!r}, lines {place[name] + 2} and {row + 2}: sample "
                    f"{name!r} stands there twice ({column})"
                )
            place.setdefault(name, row)
        known = np.array([name in place for name in ids])
        kept = [name for name in ids if name in place]
        rows = [place[name] for name in kept]
        table = self.frame.iloc[rows]
        samples = pd.DataFrame(
            {str(name): as_cells(table[name].tolist()) for name in table.columns if str(name) != column},
            index=pd.Index(kept, name="sample"),
        )
        return samples, known, self.notes(ids, kept, rows, own)

    def notes(self, ids: list[str], kept: list[str], rows: list[int], own: list[str]) -> list[str]:
        """Say what was done to bring sheet and matrix together."""
        notes = []
        if rows != sorted(rows):
            notes.append(f"the sample sheet {self.path.name} is in another order: aligned by sample id")
        if len(kept) < len(ids):
            without = sorted(set(ids) - set(kept), key=ids.index)
            notes.append(
                f"left out {len(without)} sample(s) that the sample sheet {self.path.name} lacks: "
                f"{quoted(without)}"
            )
        extra = [name for name in own if name not in set(ids)]
        if extra:
            notes.append(
                f"the sample sheet {self.path.name} has {len(extra)} sample(s) that are not in the matrix: "
                f"{quoted(extra)}"
            )
        return notes


def read_as_text(path: Path) -> pd.DataFrame:
    """Read a sheet, all cells as text."""
    import pandas as pd

    from raytpnn.data.tables.files import ending_of

    if not path.is_file():
        raise FileNotFoundError(f"no sample sheet {str(path)!r}")
    ending = ending_of(path)
    try:
        if ending in (".parquet", ".pq"):
            frame = pd.read_parquet(path)
        elif ending in (".feather", ".arrow"):
            frame = pd.read_feather(path)
        else:
            separator = "," if ending == ".csv" else "\t"
            return pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, index_col=False)
    except (OSError, EOFError, ValueError) as problem:
        raise ValueError(f"cannot read sample sheet {str(path)!r}: {problem}") from None
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    return frame.map(
        lambda cell: "" if pd.isna(cell) else f"{cell:g}" if isinstance(cell, float) else str(cell)
    )
