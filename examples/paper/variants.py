"""Settings that vary one at a time on Abalone: shared by the tables of C0, the gamma prior and step sizes.

The paper's setting of these tables: K_max 200, a_gamma = b_gamma = 0.5, 1,000 + 1,000 sweeps. What it does
not give is taken from the middle of its grid (sigma_beta2 = 0.01, q_lambda = 0.95), C0 = 0.005 where it
does not vary, and one chain.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import raytpnn
from examples.paper.data import read
from examples.paper.models import evaluate
from examples.paper.models.base import Size
from examples.paper.models.ours import Ours
from examples.paper.runner import Case, size_of
from examples.paper.splits import split

__all__ = ["ONE_CHAIN", "SETTING", "case_of", "run"]

# As the paper.
ONE_CHAIN = {"chains": 1}
SETTING = {"K_max": 200, "a_gamma": 0.5, "b_gamma": 0.5, "sigma_beta2": 0.01, "C0": 0.005}


def case_of(
    table: str, label: str, number: int, options: Any, prior: dict[str, Any], moves: dict[str, Any]
) -> Case:
    """A case whose prior and moves are part of its key; moves are changes to `Moves()`, or with "paper" true
    to `Moves.paper()`.
    """
    size = size_of(options)
    return Case(table, options.data[0], label, number, size | {"prior": SETTING | prior, "moves": moves})


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit and score."""
    data, settings = read(folder, case.data), dict(case.settings)
    moves, prior = settings.pop("moves"), settings.pop("prior")
    told = {key: value for key, value in moves.items() if key != "paper"}
    base = raytpnn.Moves.paper() if moves.get("paper") else raytpnn.Moves()
    model = Ours(prior=replace(raytpnn.Prior.paper(), **prior), moves=replace(base, **told))
    rows = split(len(data.y), case.split)
    return evaluate(model, data.X, data.y, rows, data.binary, Size(**settings)).records()
