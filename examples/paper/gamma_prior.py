"""The gamma prior of factors' scales: RMSE on Abalone by a_gamma and b_gamma.

    python -m examples.paper.gamma_prior [--splits 5] [--chains 1]

The setting of `variants.py`, with the paper's moves.
"""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.markdown import grid, summary
from examples.paper.runner import Case
from examples.paper.variants import ONE_CHAIN, case_of, run

__all__ = ["cases", "run", "table"]

NAME = "gamma_prior"
TITLE = "The gamma prior of scales"
DATA = ("abalone",)
SOURCES = (NAME,)
DEFAULTS = ONE_CHAIN
SHAPES = (0.5, 1.0, 2.0, 3.0)
SCALES = (1e-5, 1e-4, 1e-2, 1e-1)


def label(scale: float, shape: float) -> str:
    """Name of a setting."""
    return f"b_gamma = {scale:g}, a_gamma = {shape:g}"


def cases(options: Any) -> list[Case]:
    """Every pair."""
    return [
        case_of(NAME, label(b, a), number, options, {"a_gamma": a, "b_gamma": b}, {"paper": True})
        for b in SCALES
        for a in SHAPES
        for number in range(options.splits)
        if options.data
    ]


def table(frame: pd.DataFrame) -> str:
    """b_gamma by a_gamma, the paper's figure after each of ours."""
    rows = [
        [
            f"{b:g}",
            *(
                f"{summary(frame, 'rmse', model=label(b, a))}; {published.GAMMA_PRIOR[b][a]:.3f}"
                for a in SHAPES
            ),
        ]
        for b in SCALES
    ]
    header = ["b_gamma", *(f"a_gamma = {a:g}: ours; paper" for a in SHAPES)]
    return grid(header, rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
