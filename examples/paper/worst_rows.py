"""Which test rows make the difference between ours and XGBoost: the worst of ours, beside it.

    python -m examples.paper.worst_rows --data boston_housing --split 1 [--count 5]

XGBoost has the setting of depth 5 of its candidates. Rows are numbered as in the file, from 0. The last lines
give the RMSE of both over all test rows and without the three rows that are worst for ours.
"""

from __future__ import annotations

import argparse

import numpy as np

from examples.paper.data import NAMES, folder_of, read
from examples.paper.markdown import grid
from examples.paper.models import MODELS
from examples.paper.models.base import Size, Task
from examples.paper.splits import split
from raytpnn.posterior.scores import rmse

LEFT_OUT = 3


def main(arguments: list[str] | None = None) -> str:
    """Fit both and print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="folder of the data sets (default: RAYTPNN_DATA)")
    parser.add_argument("--data", choices=NAMES, default="boston_housing")
    parser.add_argument("--split", type=int, default=1)
    parser.add_argument("--count", type=int, default=5)
    for name, value in (("chains", 4), ("warmup", 1000), ("draws", 1000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args(arguments)
    data = read(folder_of(options.data_dir), options.data)
    if data.binary:
        parser.error(f"{options.data} has classes; worst rows are of numbers")
    train, test = split(len(data.y), options.split)
    size = Size(options.chains, options.warmup, options.draws)
    task = Task(data.X.iloc[train], data.y[train], data.X.iloc[test], False, 0, size)
    ours = MODELS["default"].forecast(task, {})
    peer = MODELS["xgboost"].forecast(task, MODELS["xgboost"].candidates()[2])
    assert ours.draws is not None
    chains = ours.draws.reshape(options.chains, -1, len(test)).mean(axis=1)
    y = data.y[test]
    worst = np.argsort(-np.abs(ours.mean - y))
    rows = [
        [
            str(test[i]),
            f"{y[i]:.1f}",
            f"{ours.mean[i]:.1f}",
            ", ".join(f"{value:.1f}" for value in chains[:, i]),
            f"{peer.mean[i]:.1f}",
        ]
        for i in worst[: options.count]
    ]
    kept = worst[LEFT_OUT:]
    lines = [
        grid(["row", "y", "ours", "by chain", "xgboost"], rows),
        f"RMSE: ours {rmse(y, ours.mean):.3f}, xgboost {rmse(y, peer.mean):.3f}",
        f"without the {LEFT_OUT} worst of ours: {rmse(y[kept], ours.mean[kept]):.3f}, "
        f"{rmse(y[kept], peer.mean[kept]):.3f}",
    ]
    print("\n".join(lines))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
