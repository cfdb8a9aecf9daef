"""Did the chains converge: the answer of `raytpnn.convergence.advice`, with its reasons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raytpnn.convergence.advice import GOOD_ESS, GOOD_RHAT, Comparison, judge, worst_among
from raytpnn.report.names import number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Verdict", "verdict_of"]

# What a sampler moves through on the way; chains may differ here and still predict the same.
INNER = ("K", "mean order", "b_gamma", "sigma_beta2")


@dataclass(frozen=True)
class Verdict:
    """An answer.

    Attributes
    ----------
    state : {"yes", "nearly", "no", "unknown"}
    headline : str
    reasons : list of str
    advice : list of str
        What to do.
    """

    state: str
    headline: str
    reasons: list[str]
    advice: list[str]


def verdict_of(comparison: Comparison, table: pd.DataFrame) -> Verdict:
    """Judge a posterior by what its chains have shown and its `diagnostics()` table.

    What users read decides: f at rows, the log-likelihood, the noise and the importance of features and
    components that lead. K, the intercept, the order of terms and the learned scales are listed, but do not
    decide.
    """
    answer = judge(comparison, table)
    reasons = [f"Chain {odd.chain} is {odd.kind}: {odd.reason}." for odd in answer.odd]
    if answer.state == "unknown":
        notes = [note for note in table["note"].unique() if note]
        reasons += [f"The diagnostics say: {'; '.join(notes)}."] * bool(notes)
        return Verdict(answer.state, answer.headline, reasons, answer.advice)
    if answer.state == "no":
        reasons.insert(0, "Do not rely on the figures below.")
    _, rhat, ess = worst_among(table[table["quantity"].isin(INNER)])
    if not math.isnan(rhat):
        agree = "agree" if rhat <= GOOD_RHAT and ess >= GOOD_ESS else "do not fully agree"
        reasons.append(
            f"On inner quantities (number of terms, their order, learned scales) chains {agree}: R-hat "
            f"{number(rhat, 4)}, {number(ess)} effective draws. These matter less: many models with "
            "different terms predict the same."
        )
    return Verdict(answer.state, answer.headline, reasons, answer.advice)
