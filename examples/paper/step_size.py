"""The step size of the Langevin proposal: RMSE on Abalone.

    python -m examples.paper.step_size [--splits 5] [--chains 1]

The setting of `variants.py`, with the paper's moves (a fixed step on raw parameters); last, the default
moves, which adapt their steps in warm-up.
"""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.markdown import grid, summary, values
from examples.paper.runner import Case
from examples.paper.variants import ONE_CHAIN, case_of, run

__all__ = ["cases", "run", "table"]

NAME = "step_size"
TITLE = "The step size of the Langevin proposal"
DATA = ("abalone",)
SOURCES = (NAME,)
DEFAULTS = ONE_CHAIN
ADAPTED = "adapted (default moves)"


def cases(options: Any) -> list[Case]:
    """Every step size, and adapted ones."""
    moves: dict[str, dict[str, Any]] = {
        f"{step:g}": {"paper": True, "step_size": step} for step in published.STEP_SIZES
    }
    return [
        case_of(NAME, label, number, options, {}, change)
        for label, change in (moves | {ADAPTED: {}}).items()
        for number in range(options.splits)
        if options.data
    ]


def table(frame: pd.DataFrame) -> str:
    """A row a step size."""
    rows = []
    for step, paper in [*published.STEP_SIZES.items(), (ADAPTED, None)]:
        label = step if isinstance(step, str) else f"{step:g}"
        count = str(len(values(frame, "rmse", model=label)))
        rows.append(
            [label, count, summary(frame, "rmse", model=label), "-" if paper is None else f"{paper:.3f}"]
        )
    return grid(["step size", "splits", "RMSE", "RMSE in the paper"], rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
