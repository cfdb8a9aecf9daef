"""The number of terms K and the error against C0, on Abalone.

    python -m examples.paper.terms [--splits 5] [--chains 1]

The setting of `variants.py`. The paper shows a figure: K falls and RMSE rises with C0.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from examples.paper.command import main
from examples.paper.markdown import grid, summary, values
from examples.paper.runner import Case
from examples.paper.variants import ONE_CHAIN, case_of, run

__all__ = ["cases", "run", "table"]

NAME = "terms"
TITLE = "The number of terms against C0"
DATA = ("abalone",)
SOURCES = (NAME,)
DEFAULTS = ONE_CHAIN
PENALTIES = (0.001, 0.01, 0.1, 1.0, 3.0)
MOVES: dict[str, dict[str, Any]] = {"default": {}, "paper": {"paper": True}}


def cases(options: Any) -> list[Case]:
    """Every C0 with the default and with the paper's moves."""
    return [
        case_of(NAME, f"{kind} moves, C0 = {penalty:g}", number, options, {"C0": penalty}, moves)
        for kind, moves in MOVES.items()
        for penalty in PENALTIES
        for number in range(options.splits)
        if options.data
    ]


def table(frame: pd.DataFrame) -> str:
    """A row a C0."""
    rows = []
    for penalty in PENALTIES:
        cells = []
        for kind in MOVES:
            model = f"{kind} moves, C0 = {penalty:g}"
            terms = frame[(frame["metric"] == "terms") & (frame["model"] == model)]["detail"].astype(float)
            cells += ["-" if not len(terms) else f"{np.mean(terms):.1f}", summary(frame, "rmse", model=model)]
        count = len(values(frame, "rmse", model=f"default moves, C0 = {penalty:g}"))
        rows.append([f"{penalty:g}", str(count), *cells])
    header = ["C0", "splits", "K, default moves", "RMSE", "K, paper's moves", "RMSE"]
    return grid(header, rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
