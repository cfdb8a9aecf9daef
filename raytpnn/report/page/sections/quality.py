"""How good is it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.numerics.level import PERCENT
from raytpnn.posterior.evaluate import scores
from raytpnn.report import html
from raytpnn.report.names import number, percent
from raytpnn.report.quality import Assessment
from raytpnn.report.svg.calibration import calibration_drawings

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["quality_section"]


def quality_section(post: Posterior, result: Assessment) -> str:
    """Scores beside those of a model without features, and calibration."""
    table = class_scores(result) if post.family.binary else number_scores(post, result)
    parts = [
        html.paragraph(where_from(result)),
        html.table(
            ["Score", "This model", "No features"], table, "Scores, beside a model that always says the same"
        ),
        html.heading("Calibration"),
        html.drawings(calibration_drawings(post, result)),
    ]
    return html.section("quality", "How good is it?", parts)


def where_from(result: Assessment) -> str:
    """Say which rows the scores come from, and what that means."""
    n = len(result.y)
    some = f"{n:,} rows" if n == result.n_all else f"{n:,} evenly spaced ones of {result.n_all:,} rows"
    if result.how == "new":
        return f"On {some} given to this report. If the model was not fitted to them, scores are honest."
    if result.how == "fit":
        return f"On {some} that the model was fitted to: scores are better than they will be on new rows."
    text = (
        f"On {some} of the training data, each predicted as if it had been left out (PSIS-LOO): draws that "
        "owe their place to the row count for less."
    )
    if result.unreliable > 0:
        text += (
            f" For {percent(result.unreliable)} of the rows this is not reliable (Pareto k too large), and "
            "scores may be too good there; rows that were held out say more."
        )
    return text


def number_scores(post: Posterior, result: Assessment) -> list[tuple[str, str, str]]:
    """Scores of numbers and counts."""
    error, base = scores.rmse(result.y, result.mean), float(np.std(result.y))
    explained = 1.0 - (error / base) ** 2 if base > 0 else float("nan")
    rows = [
        ("Error (RMSE), in units of the response", number(error), number(base)),
        ("Variance explained (R²)", percent(explained) if explained > 0 else "none", "0%"),
        (
            "Negative log density per row (NLL), lower is better",
            number(scores.nll(result.log_density)),
            base_nll(post, result),
        ),
        (
            "Ranked probability score (CRPS), in units of the response, lower is better",
            number(result.crps),
            base_crps(post, result),
        ),
    ]
    for level in (0.5, 0.8, 0.9, 0.95):
        rows.append((f"Responses within the {percent(level)} interval", percent(result.coverage(level)), "–"))
    rows.append((f"Mean width of the {PERCENT} interval", number(result.width), "–"))
    return rows


def base_nll(post: Posterior, result: Assessment) -> str:
    """NLL of one distribution for all rows, with the mean (and variance) of the responses."""
    y, family = result.y, post.family
    mean = float(np.mean(y))
    if (np.var(y) if family.dispersion else mean) <= 0:
        return "–"
    level = np.full(len(y), family.link(mean))
    dispersion = family.dispersion_start(float(np.var(family.pilot(y, np.zeros(len(y))))))
    return number(scores.nll(family.log_density(y, level, dispersion)))


def base_crps(post: Posterior, result: Assessment) -> str:
    """CRPS of one distribution for all rows, with the mean (and variance) of the responses."""
    y, family = result.y, post.family
    mean, variance = float(np.mean(y)), float(np.var(family.pilot(y, np.zeros(len(y)))))
    if (variance if family.dispersion else mean) <= 0:
        return "–"
    some = y[result.crps_rows]
    level = np.full((1, len(some)), family.link(mean))
    dispersion = np.array([family.dispersion_start(variance)])
    return number(float(np.mean(scores.mixture_crps(family, some, level, dispersion))))


def class_scores(result: Assessment) -> list[tuple[str, str, str]]:
    """Scores of two classes."""
    y, share = result.y, float(np.mean(result.y))
    wrong = float(np.mean((result.mean > 0.5) != (y == 1.0)))
    entropy = 0.0 if share in (0.0, 1.0) else -(share * np.log(share) + (1 - share) * np.log(1 - share))
    return [
        ("Wrong classes (cut at 0.5)", percent(wrong), percent(min(share, 1 - share))),
        ("Area under the ROC curve (AUROC)", number(scores.auroc(y, result.mean)), "0.5"),
        (
            "Negative log probability per row (NLL), lower is better",
            number(scores.nll(result.log_density)),
            number(entropy),
        ),
        ("Calibration error (ECE, 15 bins)", number(scores.ece(y, result.mean)), "–"),
    ]
