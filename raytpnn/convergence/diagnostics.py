"""Have the chains converged: R-hat and effective sample sizes of what a user looks at."""

from __future__ import annotations

import numpy as np
import pandas as pd

from raytpnn.draws.draws import Draws
from raytpnn.families import Family

__all__ = [
    "COLUMNS",
    "assess",
    "by_chain",
    "convergence_table",
    "decides",
    "ess_of",
    "scalar_quantities",
]

# Fewer draws per chain than this, and arviz-stats gives no number.
MIN_DRAWS = 4
TAIL = (0.05, 0.95)
COLUMNS = ["quantity", "rhat", "ess_bulk", "ess_tail", "note"]
# What users read, and so what decides whether chains have converged: the log-likelihood, the noise, f at rows
# and the importance of leading features and components. All else is shown beside.
DECIDING = ("loglik", "nuisance")
DECIDING_KINDS = ("f[", "importance[", "component[")


def decides(name: str) -> bool:
    """Whether chains must agree on a quantity to have converged."""
    return name in DECIDING or name.startswith(DECIDING_KINDS)


def scalar_quantities(draws: Draws, family: Family) -> dict[str, np.ndarray]:
    """Numbers that every draw has, by name, (D,) each."""
    order = np.bincount(draws.draw_of_term, draws.order, minlength=draws.n_draws)
    quantities = {"loglik": draws.loglik, "K": draws.K.astype(np.float64)}
    if family.dispersion:
        quantities["nuisance"] = draws.nuisance
    intercepts = {"intercept": draws.intercept}
    if family.outputs is not None:
        centre = draws.intercepts.mean(axis=1) if family.shift_invariant else 0.0
        intercepts = {
            f"intercept[{name}]": draws.intercepts[:, c] - centre for c, name in enumerate(family.outputs)
        }
    return quantities | {
        **intercepts,
        "mean order": order / np.maximum(draws.K, 1),
        "b_gamma": draws.b_gamma,
        "sigma_beta2": draws.sigma_beta2,
    }


def by_chain(draws: Draws, values: np.ndarray) -> np.ndarray:
    """Values of draws as (chains, draws): of chains that differ in length, the first draws of each.

    Parameters
    ----------
    draws : Draws
    values : (D,)
    """
    lengths = np.unique(draws.chain, return_counts=True)[1]
    first = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return values[first[:, None] + np.arange(lengths.min())]


def convergence_table(draws: Draws, quantities: dict[str, np.ndarray]) -> pd.DataFrame:
    """Rank-normalised split R-hat and bulk and tail ESS, by arviz-stats.

    Parameters
    ----------
    draws : Draws
    quantities : dict of str to (D,) or (chains, draws)

    Returns
    -------
    DataFrame
        quantity, rhat (the larger of the bulk and the folded one), ess_bulk, ess_tail (the smaller of those
        of the 5 % and the 95 % quantile), note. Where a number cannot be estimated it is NaN, and the note
        gives the reason.
    """
    chains, lengths = np.unique(draws.chain, return_counts=True)
    note = []
    if len(set(lengths.tolist())) > 1:
        shortest, longest = lengths.min(), lengths.max()
        note.append(f"chains have {shortest} to {longest} draws: the first {shortest} of each are used")
    if len(chains) < 2:
        note.append("one chain: its halves are compared")
    if lengths.min() < MIN_DRAWS:
        note.append(f"{lengths.min()} draws per chain are too few: at least {MIN_DRAWS} are needed")
    rows = [
        assess(name, values if values.ndim == 2 else by_chain(draws, values), note)
        for name, values in quantities.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def assess(name: str, values: np.ndarray, note: list[str]) -> tuple[str, float, float, float, str]:
    """One row of the table, of values (chains, draws)."""
    from arviz_stats.base import array_stats

    chains, length = values.shape
    reasons = list(note)
    rhat = bulk = tail = np.nan
    if not np.all(np.isfinite(values)):
        reasons.append("not finite in every draw")
    elif np.ptp(values) == 0.0:
        reasons.append("constant")
    elif length >= MIN_DRAWS:
        # A quantity that is constant within chains divides by zero there: infinite R-hat is the right answer.
        with np.errstate(divide="ignore", invalid="ignore"):
            bulk = float(array_stats.ess(values, method="bulk"))
            tail = float(array_stats.ess(values, method="tail", prob=TAIL))
            if chains > 1 or length >= 2 * MIN_DRAWS:
                rhat = float(array_stats.rhat(values if chains > 1 else halves(values[0]), method="rank"))
        if np.isnan([bulk, tail, rhat]).any():
            reasons.append("too few distinct values")
    return name, rhat, bulk, tail, "; ".join(reasons)


def ess_of(values: np.ndarray) -> float:
    """Effective draws of the mean of one chain, (draws,); NaN if it is constant."""
    from arviz_stats.base import array_stats

    if np.ptp(values) == 0.0:
        return float("nan")
    return float(array_stats.ess(values[None, :], method="mean"))


def halves(values: np.ndarray) -> np.ndarray:
    """The two halves of one chain, as chains; of an odd number of draws, without the middle one."""
    half = len(values) // 2
    return np.stack([values[:half], values[len(values) - half :]])
