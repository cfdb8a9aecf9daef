"""Preparation of expression data: the scale of values, features that say nothing, duplicates.

Everything is learned from the samples given, which must be those of training; an encoder that was fitted to
prepared data does the same to new samples. Features become ranks later, so that taking logarithms does not
change what is fitted: it matters for axes, for where a new value between two training values goes, for
`min_sd` and for the choice among probes of one gene.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from raytpnn.data.gene_symbols import Annotation
from raytpnn.data.tables.tables import ArrayTable, FrameTable, Selection, SparseTable, Table, as_table

__all__ = ["COLLAPSE", "LOG2", "Preparation", "Prepared", "prepare"]

LOG2 = ("auto", "yes", "no")
COLLAPSE = ("identical", "gene")
# Cells looked at together.
BLOCK_CELLS = 1 << 15
# Cells from which the scale is judged.
SCALE_CELLS = 1 << 17
# A feature is near-constant if at most so many samples differ from all others: below 100 samples, and from
# there on. Not a share: a gene of a rare kind of cell is just what one looks for.
ODD_SAMPLES, MANY_SAMPLES = (1, 2), 100
# Values of a logarithmic scale do not reach this.
LINEAR_ABOVE = 100.0
TINY = float(np.finfo(np.float32).tiny)
FORMULAS = {
    "as it is": "x",
    "log2": "log2(x)",
    "log2p1": "log2(x + 1)",
    "glog2": "asinh(x / 2) / log(2), which is log2 for large x and defined below 0",
}


@dataclass(frozen=True)
class Preparation:
    """What was done to the features, as learned from training samples.

    Attributes
    ----------
    scale : {"as it is", "log2", "log2p1", "glog2"}
        Of values: x, log2(x), log2(x + 1), or asinh(x / 2) / log(2).
    reason : str
        Why this scale.
    high : float
        99% quantile of the training values as given.
    near_constant, low_sd, empty, collapsed : int
        Features left out: all samples but one (but two, of 100 or more) are equal; standard deviation below
        `min_sd`; no value; another feature stands for them.
    """

    scale: str
    reason: str
    high: float
    near_constant: int = 0
    low_sd: int = 0
    empty: int = 0
    collapsed: int = 0

    def values(self, x: np.ndarray) -> np.ndarray:
        """Values on the scale of the preparation, float32; ascending ones stay so."""
        if self.scale == "as it is":
            return x
        wide = x.astype(np.float64)
        if self.scale == "glog2":
            changed = np.arcsinh(wide / 2.0) / np.log(2.0)
        else:
            # What lies below the range of the logarithm is below every training value.
            changed = np.log2(np.maximum(wide + (self.scale == "log2p1"), TINY))
        return changed.astype(np.float32)

    def apply(self, table: Table) -> Table:
        """New rows, given on the scale of the training data, as the encoder takes them.

        Warns
        -----
        UserWarning
            If they seem to be on another scale.
        """
        if table.preparation is not None:
            return table
        if isinstance(table, ArrayTable | SparseTable | FrameTable):
            self.compare_scales(table)
        return Prepared(table, np.arange(len(table.names)), self, table.annotation)

    def compare_scales(self, table: Table) -> None:
        """Warn if new values seem to be on another scale than those of training."""
        high = high_value(table)
        evidence = f"(99% of values are below {high:.3g}; in training below {self.high:.3g})"
        if self.high > LINEAR_ABOVE and high < LINEAR_ABOVE / 3:
            warnings.warn(
                f"these values are far smaller than those of training {evidence}: they may be logarithms. "
                "Give them on the scale of the training data",
                stacklevel=5,
            )
        elif self.high < LINEAR_ABOVE / 3 and high > LINEAR_ABOVE:
            warnings.warn(
                f"these values are far larger than those of training {evidence}: they may not be "
                "logarithms. Give them on the scale of the training data",
                stacklevel=5,
            )

    def sentences(self) -> list[str]:
        """What was done, one line for each step."""
        lines = [f"scale: {FORMULAS[self.scale]}, {self.reason}"]
        for count, why in (
            (self.empty, "without any value"),
            (self.near_constant, "constant or near-constant (one sample differs; of 100 or more, two)"),
            (self.low_sd, "of too small a standard deviation"),
            (self.collapsed, "for which another one stands"),
        ):
            if count:
                lines.append(f"left out {count:,} feature(s) {why}")
        return lines


class Prepared(Selection):
    """Some columns of a table, on the scale of a preparation.

    Parameters
    ----------
    parent : Table
    columns : (p,) int
    preparation : Preparation
    annotation : Annotation, optional
    """

    preparation: Preparation

    def __init__(
        self, parent: Table, columns: np.ndarray, preparation: Preparation, annotation: Annotation | None
    ) -> None:
        super().__init__(parent, columns)
        self.preparation = preparation
        self.annotation = annotation

    def column(self, i: int) -> np.ndarray:
        """Values of a feature; text stays as it is."""
        cells = super().column(i)
        return self.preparation.values(cells) if cells.dtype.kind in "fiub" else cells

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Values of some features."""
        return self.preparation.values(super().block(columns))

    def select(self, columns: Sequence[int] | np.ndarray) -> Table:
        """View only some features; of a file, only these are read."""
        chosen = self.columns[np.asarray(columns, dtype=np.intp)]
        inner = self.parent.select(chosen)
        return Prepared(inner, np.arange(len(chosen)), self.preparation, self.annotation)


def prepare(
    X: Any,
    *,
    log2: str = "auto",
    min_sd: float = 0.0,
    collapse: str | None = None,
    annotation: Annotation | None = None,
) -> Prepared:
    """Prepare expression data for `raytpnn.sample`.

    Parameters
    ----------
    X : Expression or table of numbers
        Training samples, and only these.
    log2 : {"auto", "yes", "no"}
        Whether to take logarithms. "auto": if the 99% quantile of all values is above 100, or they span more
        than 50 and their lower quartile is positive. Zeros make it log2(x + 1), negative values
        asinh(x / 2) / log(2), both increasing everywhere.
    min_sd : float
        Leave out features whose standard deviation over the samples, on that scale, is below this.
    collapse : {"identical", "gene"}, optional
        Of features that rank all samples alike keep the first, or of the probes of one gene the one with the
        largest mean.
    annotation : Annotation, optional
        Genes of the probes; that of the data if not given.

    Returns
    -------
    Prepared
        A table; its `preparation` says what was done. Constant and near-constant features are left out: those
        in which at most one sample (two, of 100 or more) differs from all others.

    Raises
    ------
    ValueError
        If an option is unknown, or no feature is left.
    """
    if log2 not in LOG2:
        raise ValueError(f"log2 must be one of {', '.join(LOG2)}, not {log2!r}")
    if collapse is not None and collapse not in COLLAPSE:
        raise ValueError(f"collapse must be one of {', '.join(COLLAPSE)}, not {collapse!r}")
    if not min_sd >= 0.0:
        raise ValueError(f"min_sd must be 0 or more, not {min_sd!r}")
    table = as_table(X)
    if not table.plain.all():
        name = table.names[int(np.argmin(table.plain))]
        raise ValueError(f"feature {name!r} is not made of numbers: expression data are")
    annotation = table.annotation if annotation is None else annotation
    scale, reason, high = choose_scale(table, log2)
    preparation = Preparation(scale, reason, high)
    survey = Survey(table, preparation, min_sd, collapse)
    kept = survey.kept
    collapsed = 0
    if collapse is not None:
        chosen = survey.first_of_identical() if collapse == "identical" else survey.one_a_gene(annotation)
        collapsed = int(kept.sum() - chosen.sum())
        kept = chosen
    if not kept.any():
        raise ValueError("no feature is left: all are empty, near-constant or below min_sd")
    counts = {name: int(mask.sum()) for name, mask in survey.left_out.items()}
    done = Preparation(scale, reason, high, **counts, collapsed=collapsed)
    return Prepared(table, np.flatnonzero(kept), done, annotation)


def blocks(table: Table, columns: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of columns and their values, (k, n)."""
    step = max(1, BLOCK_CELLS // max(table.n_rows, 1))
    for start in range(0, len(columns), step):
        part = columns[start : start + step]
        yield part, table.block(part)


def scale_sample(table: Table) -> np.ndarray:
    """Values from evenly spaced features, ascending, without missing ones; at least one feature's."""
    p, n = len(table.names), table.n_rows
    some = np.unique(np.linspace(0, p - 1, min(p, max(1, SCALE_CELLS // max(n, 1)))).astype(np.intp))
    values = np.concatenate([x.ravel() for _, x in blocks(table, some[table.plain[some]])] or [np.zeros(0)])
    return np.sort(values[np.isfinite(values)])


def high_value(table: Table) -> float:
    """99% quantile of a table's values."""
    values = scale_sample(table)
    return float(values[int(0.99 * (len(values) - 1))]) if len(values) else 0.0


def choose_scale(table: Table, log2: str) -> tuple[str, str, float]:
    """Scale of the values, why, and their 99% quantile."""
    values = scale_sample(table)
    if not len(values):
        raise ValueError("there is no value in the data: every cell is missing")
    quartile, high = (float(values[int(q * (len(values) - 1))]) for q in (0.25, 0.99))
    span = float(values[-1] - values[0])
    linear = high > LINEAR_ABOVE or (span > 50.0 and quartile > 0.0)
    seen = f"99% of values are at most {high:.4g}"
    if log2 == "no" or (log2 == "auto" and not linear):
        return "as it is", "as asked" if log2 == "no" else f"since {seen}{small_values(values)}", high
    low = min(
        float(np.nanmin(x)) for _, x in blocks(table, np.arange(len(table.names))) if not np.isnan(x).all()
    )
    scale = "log2" if low > 0.0 else "log2p1" if low == 0.0 else "glog2"
    reason = "as asked" if log2 == "yes" else f"since {seen}"
    return scale, reason if low > 0.0 else f"{reason} and the smallest is {low:.4g}", high


def small_values(values: np.ndarray) -> str:
    """What values that are not counts or intensities look like; `values` ascend."""
    below = float(np.mean(values < 0.0))
    if 0.2 < below < 0.8:
        return f" and {below:.0%} are below 0: they look like z-scores or log ratios"
    return ": they look like logarithms"


class Survey:
    """One pass over all features: which are left out, and what decides between duplicates.

    Parameters
    ----------
    table : Table
    preparation : Preparation
        Its scale.
    min_sd : float
    collapse : str or None

    Attributes
    ----------
    left_out : dict of str to (p,) bool
        By reason: empty, near_constant, low_sd.
    """

    def __init__(self, table: Table, preparation: Preparation, min_sd: float, collapse: str | None) -> None:
        p = len(table.names)
        self.names = table.names
        self.left_out = {name: np.zeros(p, bool) for name in ("empty", "near_constant", "low_sd")}
        self.mean = np.zeros(p if collapse == "gene" else 0)
        self.digest: list[bytes] = []
        for columns, raw in blocks(table, np.arange(p)):
            x = preparation.values(raw)
            known = np.sum(~np.isnan(x), axis=1)
            self.left_out["empty"][columns] = known == 0
            self.left_out["near_constant"][columns] = near_constant(x, known)
            some = np.maximum(known, 1)
            mean = np.nansum(x, axis=1, dtype=np.float64) / some
            if min_sd > 0.0:
                square = np.nansum((x - mean[:, None]) ** 2, axis=1, dtype=np.float64) / np.maximum(
                    known - 1, 1
                )
                self.left_out["low_sd"][columns] = (np.sqrt(square) < min_sd) & (known > 0)
            if collapse == "gene":
                self.mean[columns] = mean
            if collapse == "identical":
                self.digest += [row.tobytes() for row in dense_ranks(x)]
        self.left_out["low_sd"] &= ~self.left_out["near_constant"]

    @property
    def kept(self) -> np.ndarray:
        """Features that are not left out, (p,) bool."""
        return ~(self.left_out["empty"] | self.left_out["near_constant"] | self.left_out["low_sd"])

    def first_of_identical(self) -> np.ndarray:
        """Of features that rank all samples alike, the first, (p,) bool."""
        kept, seen = self.kept, set[bytes]()
        for i in np.flatnonzero(kept):
            kept[i] = self.digest[i] not in seen
            seen.add(self.digest[i])
        return kept

    def one_a_gene(self, annotation: Annotation | None) -> np.ndarray:
        """Of the features of one gene, that with the largest mean, (p,) bool."""
        kept, best = self.kept, dict[str, int]()
        if annotation is None:
            annotation = Annotation()
        for i in np.flatnonzero(kept):
            gene = annotation.gene(self.names[i])
            other = best.setdefault(gene, int(i))
            if other != i:
                loser = int(i) if self.mean[i] <= self.mean[other] else other
                kept[loser] = False
                best[gene] = other if loser == i else int(i)
        return kept


def near_constant(x: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Whether one known value of a row at most (two, of 100 or more) differs from all others, (k,) bool.

    Parameters
    ----------
    x : (k, n) float
        NaN is missing.
    known : (k,) int
        Values a row that are not.
    """
    # A value that more than half of them have is the median.
    middle = np.sort(x, axis=1)[np.arange(len(x)), np.maximum(known - 1, 0) // 2]
    odd = known - np.sum(x == middle[:, None], axis=1)
    allowed = np.minimum(np.where(known < MANY_SAMPLES, *ODD_SAMPLES), np.maximum(known - 1, 0) // 2)
    return (known > 0) & (odd <= allowed)


def dense_ranks(x: np.ndarray) -> np.ndarray:
    """Rank of every value among the distinct ones of its row, missing as -1, (k, n) int32."""
    order = np.argsort(x, axis=1, kind="stable")
    ordered = np.take_along_axis(x, order, axis=1)
    steps = np.cumsum(np.diff(ordered, axis=1, prepend=ordered[:, :1]) > 0, axis=1)
    ranks = np.empty(x.shape, np.int32)
    np.put_along_axis(ranks, order, steps.astype(np.int32), axis=1)
    ranks[np.isnan(x)] = -1
    return ranks
