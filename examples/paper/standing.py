"""The defaults against the paper's Bayesian-TPNN and against the best peer, a row a data set and score."""

from __future__ import annotations

import pandas as pd

from examples.paper import published
from examples.paper.data import NAMES, SETS
from examples.paper.markdown import figure, grid, mean_se, values
from examples.paper.prediction import metric_of, verdict
from examples.paper.uncertainty import metrics_of

__all__ = ["against_paper", "table"]


def against_paper(metric: str, ours: tuple[float, float], paper: tuple[float, float]) -> str:
    """Whether a mean reaches the paper's: better, within one standard error (ours or the paper's), or not."""
    gap = (ours[0] - paper[0]) * (-1.0 if metric == "auroc" else 1.0)
    if gap <= 0:
        return "better"
    if gap <= ours[1]:
        return "within one SE"
    return "within one SE of the paper's" if gap <= paper[1] else f"behind by {gap:.3f}"


def table(frame: pd.DataFrame) -> str:
    """Every score of the tables of prediction and uncertainty."""
    rows = []
    for name in (name for name in NAMES if name in set(frame["data"])):
        printed = published.UNCERTAINTY[name]["Bayesian-TPNN"]
        figures = {metric_of(name): published.PREDICTION[name]["Bayesian-TPNN"]}
        figures |= dict(zip(metrics_of(name), printed, strict=True))
        for metric, paper in figures.items():
            found = values(frame, metric, data=name, model="default")
            if not len(found):
                continue
            ours = mean_se(found)
            cells = [figure(*ours), figure(*paper), against_paper(metric, ours, paper)]
            rows.append(
                [SETS[name].title, metric.upper(), str(len(found)), *cells, verdict(frame, name, metric)]
            )
    header = ["data", "score", "splits", "default", "the paper's Bayesian-TPNN", "against the paper"]
    return grid([*header, "against the best peer, same splits"], rows)
