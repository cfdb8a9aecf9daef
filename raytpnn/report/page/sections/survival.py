"""How good are times until an event: ranks, calibration in time, curves of risk groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from raytpnn.numerics.level import PERCENT
from raytpnn.report import html
from raytpnn.report.names import number, percent
from raytpnn.report.page.sections.answer import Answer, found
from raytpnn.report.svg.axes import Drawing, frame_scales

if TYPE_CHECKING:
    from raytpnn.posterior.survival.posterior import SurvivalPosterior
    from raytpnn.report.verdict import Verdict

__all__ = ["SurvivalResult", "assess_survival", "survival_answers", "survival_section"]

# Most persons, and times, of curves.
MOST_PERSONS, MOST_TIMES = 600, 40
GROUPS = ("lowest third of risk", "middle third", "highest third")


@dataclass(frozen=True)
class SurvivalResult:
    """Predictions beside what was seen.

    Attributes
    ----------
    times : (n,) float64
        Negative where they were cut short.
    risk : (n,) float64
    new : bool
        Whether the rows are not those of the fit.
    concordance : float or None
        Harrell's; None without scikit-survival.
    at : (m,) float64
        Times of the curves.
    predicted, seen : (3, m) float64
        Survival of three groups by risk: mean of the model's curves, and Kaplan and Meier's estimate.
    check : DataFrame
        See `raytpnn.posterior.survival.check`.
    """

    times: np.ndarray
    risk: np.ndarray
    new: bool
    concordance: float | None
    at: np.ndarray
    predicted: np.ndarray
    seen: np.ndarray
    check: pd.DataFrame


def assess_survival(post: SurvivalPosterior, X: Any, y: Any, offset: Any) -> SurvivalResult:
    """Predict rows of X, or the persons of the training data, and compare."""
    from raytpnn.forward.norms import evenly_spaced
    from raytpnn.posterior.evaluate.survival_scores import harrell

    new = X is not None and y is not None
    if new:
        codes, shift = post.encode_rows(X, offset)
        times = post.encode_response(y)
    else:
        codes, shift, times = post.training_codes()[:, post.persons], post.offset[post.persons], post.times
    some = evenly_spaced(len(times), min(len(times), MOST_PERSONS))
    times = times[some]
    events = post.event_times
    at = np.unique(np.quantile(events, np.linspace(0.02, 0.98, MOST_TIMES)))
    parts = [
        np.column_stack([curves.survival(float(time)).mean(axis=0) for time in at])
        for _, curves in post.curve_blocks_of(codes[:, some], shift[some])
    ]
    curves = np.concatenate(parts)
    risk = -np.log(np.maximum(curves, 1e-300)).mean(axis=1)
    try:
        concordance = harrell(times, risk)
    except ImportError:
        concordance = None
    thirds = np.array_split(np.argsort(risk, kind="stable"), len(GROUPS))
    predicted = np.array([curves[group].mean(axis=0) if len(group) else np.ones(len(at)) for group in thirds])
    seen = np.array([kaplan_meier(times[group], at) for group in thirds])
    return SurvivalResult(times, risk, new, concordance, at, predicted, seen, post.predictive_check())


def kaplan_meier(times: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Share without the event at some times, by Kaplan and Meier."""
    time = np.abs(times)
    events, counts = np.unique(time[times > 0.0], return_counts=True)
    watched = np.array([np.sum(time >= event) for event in events])
    left = np.append(1.0, np.cumprod(1.0 - counts / np.maximum(watched, 1)))
    return left[np.searchsorted(events, at, side="right")]


def survival_answers(
    post: SurvivalPosterior, result: SurvivalResult, verdict: Verdict, target: str
) -> list[Answer]:
    """Answer the questions that a reader has first."""
    whose = "On the rows given to this report" if result.new else "On the rows it was fitted to"
    good, state = [f"{percent(float(np.mean(result.times > 0.0)))} of the rows had the event."], ""
    if result.concordance is not None:
        good.insert(
            0,
            f"{whose}, of two persons it ranks the one with the earlier event first in "
            f"{percent(result.concordance)} of cases (Harrell's concordance; one half is chance).",
        )
        state = "yes" if result.concordance >= 0.65 else "nearly" if result.concordance >= 0.57 else "no"
    inside = (result.check["observed"] >= result.check["low"]) & (
        result.check["observed"] <= result.check["high"]
    )
    trust = [
        verdict.headline,
        f"In {int(inside.sum())} of {len(inside)} parts of time there were as many events as it expects.",
    ]
    steps = list(verdict.advice[:2]) if verdict.state != "yes" else []
    if not result.new:
        steps.append("Check it on rows held out: `raytpnn fit ... --cv 5x2`, or `raytpnn.cross_validate`.")
    steps.append("Curves of new rows: `post.survival(X_new, times)`; medians: `raytpnn predict`.")
    return [
        Answer("What was found?", found(post, target, None)),
        Answer("How good is it?", good, state),
        Answer("Can I trust it?", trust, verdict.state),
        Answer("What to do next?", steps[:3]),
    ]


def survival_section(result: SurvivalResult) -> str:
    """Concordance, curves of groups by risk, and events in parts of time."""
    where = "rows given to this report" if result.new else "training rows, as they were fitted"
    parts = [
        html.paragraph(
            f"On {len(result.times):,} {where}. Persons are ranked by risk and cut into three groups: solid "
            "lines are the model's mean curves, dashed ones what was seen (Kaplan and Meier)."
        )
    ]
    if result.concordance is not None:
        parts.append(html.paragraph(f"Harrell's concordance: {number(result.concordance)}."))
    parts.append(
        html.drawings([(curves_drawing(result), f"Survival of the {', the '.join(GROUPS)}, from above.")])
    )
    rows = [
        (str(row["statistic"]), number(row["observed"]), f"{number(row['low'])} to {number(row['high'])}")
        for row in result.check.to_dict("records")
    ]
    parts.append(html.table(["Part of time", "Events", f"{PERCENT} of the model's"], rows, "Events in time"))
    return html.section("quality", "How good is it?", parts)


def curves_drawing(result: SurvivalResult) -> str:
    """Draw predicted and seen survival of the groups."""
    drawing = Drawing("Survival of three groups by risk, predicted and seen")
    across, up = frame_scales((0.0, float(result.at[-1])), (0.0, 1.0))
    drawing.y_axis(up, "share without the event")
    drawing.x_axis(across, "time")
    x = [across(0.0), *(across(time) for time in result.at)]
    for kind, curves in (("line", result.predicted), ("wanted", result.seen)):
        for curve in curves:
            drawing.path(kind, x, [up(1.0), *(up(value) for value in curve)])
    return drawing.finish()
