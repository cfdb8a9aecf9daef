"""Tables in Markdown from tidy results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["figure", "grid", "mean_se", "paired", "summary", "values"]


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def values(frame: pd.DataFrame, metric: str, **where: Any) -> np.ndarray:
    """Values of a metric, a value a split, in the order of splits."""
    kept = frame["metric"] == metric
    for column, value in where.items():
        kept &= frame[column] == value
    return frame[kept].sort_values("split")["value"].to_numpy(np.float64)


def paired(frame: pd.DataFrame, metric: str, data: str, first: str, second: str) -> np.ndarray:
    """Differences, first less second, of two models on the splits that both were run on."""
    kept = frame[(frame["metric"] == metric) & (frame["data"] == data)]
    one, other = (kept[kept["model"] == model].set_index("split")["value"] for model in (first, second))
    return (one - other).dropna().to_numpy(np.float64)


def mean_se(found: np.ndarray) -> tuple[float, float]:
    """Mean and standard error of the mean; NaN of nothing, and of the error of one value."""
    if len(found) == 0:
        return float("nan"), float("nan")
    error = float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else float("nan")
    return float(np.mean(found)), error


def figure(mean: float, error: float = float("nan"), digits: int = 3) -> str:
    """Mean with its standard error in brackets; a dash for nothing."""
    if np.isnan(mean):
        return "-"
    return f"{mean:.{digits}f}" if np.isnan(error) else f"{mean:.{digits}f} ({error:.{digits}f})"


def summary(frame: pd.DataFrame, metric: str, digits: int = 3, of: int | None = None, **where: Any) -> str:
    """Mean and standard error of a metric over splits; their number in square brackets if it is not `of`."""
    found = values(frame, metric, **where)
    text = figure(*mean_se(found), digits)
    return text if of is None or len(found) in (0, of) else f"{text} [{len(found)}]"
