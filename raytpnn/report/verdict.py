"""Did the chains converge: a plain answer from the table of diagnostics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.report.names import number

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.posterior.posterior import Posterior

__all__ = ["Verdict", "judge"]

# Vehtari et al. (2021): R-hat below 1.01, and 400 effective draws in all.
GOOD_RHAT, FAIR_RHAT = 1.01, 1.05
GOOD_ESS, FAIR_ESS = 400.0, 100.0
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
        What to do; empty for "yes".
    """

    state: str
    headline: str
    reasons: list[str]
    advice: list[str]


def judge(post: Posterior, table: pd.DataFrame) -> Verdict:
    """Judge a posterior by its `diagnostics()` table.

    What predictions and effects rest on decides: f at rows, the log-likelihood, the intercept, the noise and
    the importance of features. K, the order of terms and the learned scales are told, but do not decide.
    """
    chains, lengths = np.unique(post.draws.chain, return_counts=True)
    inner = table["quantity"].isin(INNER)
    worst, least = worst_of(table[~inner])
    config = post.config
    reasons = []
    if len(chains) < 2:
        headline = "It cannot be told: there is one chain only."
        reasons.append("R-hat compares chains with each other, so it needs at least two.")
        return Verdict("unknown", headline, reasons, [f"Fit again with chains=4{seed_hint(config)}."])
    if math.isnan(worst) or math.isnan(least):
        headline = "It cannot be told: there are too few draws, or nothing varies."
        notes = [note for note in table.loc[~inner, "note"].unique() if note]
        reasons.append("The diagnostics say: " + ("; ".join(notes) or "no number could be estimated") + ".")
        return Verdict("unknown", headline, reasons, ["Fit again with draws=1000 or more."])
    reasons.append(
        "Of f at training rows, the log-likelihood, the "
        f"intercept{', the noise' * post.family.has_nuisance} and the leading features' importance, the "
        f"worst R-hat is {number(worst, 4)} and the smallest effective number of draws is {number(least)}, "
        f"of {post.draws.n_draws:,} draws."
    )
    inner_rhat, inner_ess = worst_of(table[inner])
    if not math.isnan(inner_rhat):
        agree = "agree" if inner_rhat <= GOOD_RHAT and inner_ess >= GOOD_ESS else "do not fully agree"
        reasons.append(
            f"On inner quantities (number of terms, their order, learned scales) chains {agree}: R-hat "
            f"{number(inner_rhat, 4)}, {number(inner_ess)} effective draws. These matter less: many models "
            "with different terms predict the same."
        )
    if worst <= GOOD_RHAT and least >= GOOD_ESS:
        return Verdict("yes", "Yes: the chains agree on everything that predictions rest on.", reasons, [])
    if worst <= FAIR_RHAT and least >= FAIR_ESS:
        headline = "Nearly: means can be used, ends of bands and intervals are still rough."
        return Verdict("nearly", headline, reasons, advice_for(worst, least, lengths, config))
    if worst <= FAIR_RHAT:
        headline = "Not yet: the chains agree, but too few effective draws make the figures below rough."
    else:
        headline = "No: do not rely on the figures below. The chains have not found the same posterior."
    return Verdict("no", headline, reasons, advice_for(worst, least, lengths, config))


def worst_of(table: pd.DataFrame) -> tuple[float, float]:
    """Largest R-hat and smallest ESS, bulk or tail; NaN where there is none."""
    rhat = table["rhat"].dropna()
    ess = table[["ess_bulk", "ess_tail"]].min(axis=1).dropna()
    return (float(rhat.max()) if len(rhat) else math.nan), (float(ess.min()) if len(ess) else math.nan)


def advice_for(worst: float, least: float, lengths: np.ndarray, config: dict) -> list[str]:
    """Say what to do next, with numbers to put in."""
    draws = int(lengths.min())
    thin = int(config.get("thin", 1))
    # At least twice as long, at most 20 times: beyond that, longer chains are not the cure.
    factor = min(max(2, math.ceil(GOOD_ESS / max(least, 1.0))), 20)
    warmup = max(int(config.get("warmup", draws)), draws) * 2
    advice = [
        f"Run longer: warmup={warmup}, draws={draws}, thin={thin * factor} gives as many draws to keep, "
        "further apart."
    ]
    if len(lengths) < 4:
        advice.append("Run more chains: chains=4 or more tell better whether chains agree.")
    if worst > FAIR_RHAT:
        advice.append(
            "Look at the traces below: a chain apart from the others was still on its way or stuck."
        )
    if config.get("stopped"):
        advice.append(f"The run was stopped early ({config['stopped']}); let it finish.")
    return advice


def seed_hint(config: dict) -> str:
    """Name the seed, so that the first chain comes out the same."""
    return f", seed={config['seed']}" if "seed" in config else ""
