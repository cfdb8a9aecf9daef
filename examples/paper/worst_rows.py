"""Which test rows make the difference between ours and XGBoost: the worst of ours, beside it.

    python -m examples.paper.worst_rows --data boston_housing --split 1 [--count 5]
    python -m examples.paper.worst_rows --data boston_housing --without 371  # all splits, with it and without

XGBoost has the setting of depth 5 of its candidates. Rows are numbered as in the file, from 0. The last lines
of the first give the RMSE of both over all test rows and without the three rows that are worst for ours.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.paper.data import NAMES, DataSet, folder_of, read
from examples.paper.markdown import grid
from examples.paper.models import MODELS
from examples.paper.models.base import Size, Task
from examples.paper.splits import SPLITS, split
from raytpnn.posterior.evaluate.scores import rmse

LEFT_OUT = 3


@dataclass(frozen=True)
class Found:
    """Test rows of a split, their response, both means, and ours by chain (chains, rows)."""

    rows: np.ndarray
    y: np.ndarray
    ours: np.ndarray
    peer: np.ndarray
    chains: np.ndarray

    def errors(self, kept: Any = slice(None)) -> tuple[float, float]:
        """RMSE of ours and of the peer over some of the rows."""
        y = self.y[kept]
        return rmse(y, self.ours[kept]), rmse(y, self.peer[kept])


def fit_both(data: DataSet, number: int, size: Size) -> Found:
    """Both models on a split."""
    train, test = split(len(data.y), number)
    task = Task(data.X.iloc[train], data.y[train], data.X.iloc[test], False, 0, size)
    ours = MODELS["default"].forecast(task, {})
    peer = MODELS["xgboost"].forecast(task, MODELS["xgboost"].candidates()[2])
    assert ours.draws is not None
    chains = ours.draws.reshape(size.chains, -1, len(test)).mean(axis=1)
    return Found(test, data.y[test], ours.mean, peer.mean, chains)


def worst(found: Found, count: int) -> str:
    """Worst rows of ours in a split."""
    order = np.argsort(-np.abs(found.ours - found.y))
    rows = [
        [
            str(found.rows[i]),
            f"{found.y[i]:.1f}",
            f"{found.ours[i]:.1f}",
            ", ".join(f"{value:.1f}" for value in found.chains[:, i]),
            f"{found.peer[i]:.1f}",
        ]
        for i in order[:count]
    ]
    every, fewer = found.errors(), found.errors(order[LEFT_OUT:])
    lines = [
        grid(["row", "y", "ours", "by chain", "xgboost"], rows),
        f"RMSE: ours {every[0]:.3f}, xgboost {every[1]:.3f}",
        f"without the {LEFT_OUT} worst of ours: {fewer[0]:.3f}, {fewer[1]:.3f}",
    ]
    return "\n".join(lines)


def without(data: DataSet, row: int, size: Size, splits: int = SPLITS) -> str:
    """RMSE of both in every split, with and without a row."""
    table, every, fewer = [], [], []
    for number in range(splits):
        found = fit_both(data, number, size)
        every.append(found.errors())
        fewer.append(found.errors(found.rows != row))
        holds = "yes" if row in found.rows else "no"
        table.append([str(number), holds, *(f"{value:.3f}" for value in (*every[-1], *fewer[-1]))])
    means = np.concatenate([np.mean(every, axis=0), np.mean(fewer, axis=0)])
    table.append(["mean", "", *(f"{value:.3f}" for value in means)])
    head = ["split", f"tests row {row}", "ours", "xgboost", "ours without it", "xgboost without it"]
    return grid(head, table)


def main(arguments: list[str] | None = None) -> str:
    """Fit both and print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="folder of the data sets (default: RAYTPNN_DATA)")
    parser.add_argument("--data", choices=NAMES, default="boston_housing")
    parser.add_argument("--split", type=int, default=1)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--without", type=int, metavar="ROW", help="all splits, with and without a row")
    for name, value in (("chains", 4), ("warmup", 1000), ("draws", 1000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args(arguments)
    data = read(folder_of(options.data_dir), options.data)
    if data.binary:
        parser.error(f"{options.data} has classes; worst rows are of numbers")
    size = Size(options.chains, options.warmup, options.draws)
    if options.without is not None:
        text = without(data, options.without, size)
    else:
        text = worst(fit_both(data, options.split, size), options.count)
    print(text)
    return text


if __name__ == "__main__":
    main()
