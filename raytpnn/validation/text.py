"""A cross-validation in words and tables: Markdown, and files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.storage.places.place import Place
from raytpnn.validation.results import FOLDER

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.validation.summary import CrossValidation

__all__ = ["SCORES", "SCORE_COLUMNS", "number", "score_rows", "sentences", "to_markdown", "write_tables"]

SCORES = {
    "auroc": "AUROC",
    "nll": "negative log-likelihood per row",
    "ece": "calibration error (ECE)",
    "error": "wrong classes",
    "rmse": "RMSE",
    "crps": "CRPS",
    "deviance": "deviance per row",
}
SCORE_COLUMNS = ("score", "pooled", "mean over splits", "sd", "5% to 95% of splits", "by chance")
SHOWN_FEATURES = 20


def number(value: float) -> str:
    """Number with three decimals; a dash if it is unknown."""
    return "-" if np.isnan(value) else f"{value:.3f}"


def score_rows(result: CrossValidation) -> list[list[str]]:
    """Rows of the table of scores."""
    rows = []
    for name, row in result.scores().iterrows():
        spread = f"{number(row['low'])} to {number(row['high'])}"
        figures = [number(row[key]) for key in ("pooled", "mean", "sd")]
        rows.append([SCORES[str(name)], *figures, spread, number(row["by_chance"])])
    return rows


def sentences(result: CrossValidation) -> list[str]:
    """Sentences that explain the scores."""
    fits = result.fits
    lines = [
        f"{len(fits)} fits ({result.scheme}); "
        f"{np.mean([fit.terms for fit in fits]):.1f} terms on average. All was fitted to training rows.",
        f"The 20 leading features of two fits have {result.overlap():.0%} in common; "
        f"{np.mean([fit.confident for fit in fits]):.1f} components a fit are in most of the draws.",
    ]
    if result.control:
        count = len(result.permutations())
        lines.append(
            f"Control: with the response permuted {count} times ({len(result.control)} fits), "
            f"{result.false_discovery_rate():.1%} of the fits hold some component in more than half of "
            f"the draws, all of which are false; the score is as good as the true one in "
            f"{round(result.p_value() * (count + 1)) - 1} of {count} (p = {result.p_value():.3f})."
        )
    if result.binary:
        lines.append(
            'Of the calibration error, "by chance" is what rows so few would show if every probability were '
            "right; of the others, it is the mean of the control."
        )
    return lines


def to_markdown(result: CrossValidation) -> str:
    """Scores, sentences and leading features as Markdown."""
    lines = ["# Cross-validation", "", *table(SCORE_COLUMNS, score_rows(result)), ""]
    for sentence in sentences(result):
        lines += [sentence, ""]
    features = result.features().head(SHOWN_FEATURES).to_dict("records")
    headings = ["feature", "in draws", "least", "most", "fits above 0.5", "fits among the 20 first"]
    rows = [
        [
            str(row["feature"]),
            *(number(row[name]) for name in ("share_of_draws", "share_of_draws_low", "share_of_draws_high")),
            *(f"{row[name]:.0%}" for name in ("confident", "leading")),
        ]
        for row in features
    ]
    return "\n".join([*lines, *table(headings, rows), ""])


def table(headings: tuple[str, ...] | list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a Markdown table."""
    cells = [list(headings), ["---"] * len(headings), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]


def write_tables(result: CrossValidation, place: Place) -> None:
    """Write summary.md and the tables scores, splits, features, predictions (and control) as CSV files."""
    place.write(f"{FOLDER}/summary.md", to_markdown(result).encode())
    tables = {
        "scores": result.scores().rename_axis("score").reset_index(),
        "splits": result.splits(),
        "features": result.features(),
        "predictions": result.predictions(),
    }
    if result.control:
        tables["control"] = result.permutations().reset_index()
    for name, frame in tables.items():
        place.write(f"{FOLDER}/{name}.csv", as_csv(frame))


def as_csv(frame: pd.DataFrame) -> bytes:
    """Table as CSV text."""
    text = io.StringIO()
    frame.to_csv(text, index=False)
    return text.getvalue().encode()
