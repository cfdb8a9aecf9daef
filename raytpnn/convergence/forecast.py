"""How much longer chains must be, and whether longer chains are a cure at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from raytpnn.convergence.diagnostics import MIN_DRAWS, assess, decides, ess_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Apart", "Outlook", "outlook", "stays_apart"]

# Chains are apart if the variance of their means is more than so many times what their own autocorrelation
# explains (with four chains that happens to one quantity in ten thousand), and half of it lasts from the
# first half of the draws to the second. Of chains with fewer effective draws, each on its own, none is said.
BEYOND_CHANCE = 8.0
LASTING = 0.5
LEAST_WITHIN = 20.0
# Effective draws, of all chains, from which a number of draws can be foreseen.
FORESEEN_A_CHAIN = 4.0
# Quantities with an R-hat up to this are not looked at for chains that stay apart.
LEAST_RHAT = 1.05


@dataclass(frozen=True)
class Apart:
    """A quantity on which chains stay apart: its name, and R-hat over both halves of the draws."""

    name: str
    first: float
    second: float


@dataclass(frozen=True)
class Outlook:
    """What more draws would do.

    Attributes
    ----------
    factor : float
        How many times as many draws would be enough; NaN if that cannot be foreseen.
    apart : Apart or None
        The worst quantity on which chains stay apart: more draws are no cure then.
    """

    factor: float
    apart: Apart | None = None


def outlook(
    quantities: dict[str, np.ndarray], table: pd.DataFrame, target_rhat: float, target_ess: float
) -> Outlook:
    """Foresee how many draws would be enough.

    Where draws of a chain resemble their neighbours, R-hat - 1 falls and the effective number grows in
    proportion to the draws. Where each chain keeps to its own part of the posterior, neither does.

    Parameters
    ----------
    quantities : dict of str to (chains, draws)
    table : DataFrame
        `convergence_of` these.
    target_rhat, target_ess : float
        What is wanted.
    """
    known = table.dropna(subset=["rhat", "ess_bulk", "ess_tail"])
    known = known[known["quantity"].map(decides).astype(bool)]
    for name in known.sort_values("rhat", ascending=False, kind="stable")["quantity"]:
        if known.loc[known["quantity"] == name, "rhat"].iloc[0] <= LEAST_RHAT:
            break
        if stays_apart(quantities[name]):
            half = quantities[name].shape[1] // 2
            first, second = quantities[name][:, :half], quantities[name][:, half:]
            return Outlook(np.nan, Apart(name, assess("", first, [])[1], assess("", second, [])[1]))
    chains = len(next(iter(quantities.values()), []))
    ess = known[["ess_bulk", "ess_tail"]].to_numpy().min(initial=np.inf)
    if known.empty or ess < FORESEEN_A_CHAIN * chains:
        return Outlook(np.nan)
    excess = float(known["rhat"].max()) - 1.0
    return Outlook(max(target_ess / ess, excess / (target_rhat - 1.0), 1.0))


def stays_apart(values: np.ndarray) -> bool:
    """Whether chains settle at different values of a quantity, (chains, draws).

    Each moves about freely, as far as it goes; but their means differ by far more than that explains, and
    they differ in the same way in both halves of the draws.
    """
    chains, draws = values.shape
    half = draws // 2
    if chains < 2 or half < 2 * MIN_DRAWS:
        return False
    z = ndtri((rankdata(values).reshape(values.shape) - 0.375) / (values.size + 0.25))
    within = np.array([ess_of(own) for own in z])
    still = np.ptp(z, axis=1) == 0.0
    if np.any(within[~still] < LEAST_WITHIN):
        return False
    own = np.where(still, 0.0, z.var(axis=1, ddof=1) / np.where(still, 1.0, within))
    mean = z.mean(axis=1)
    between = mean.var(ddof=1)
    first, second = (part.mean(axis=1) for part in (z[:, :half], z[:, half:]))
    lasting = float(np.cov(first, second)[0, 1])
    return bool(between > BEYOND_CHANCE * own.mean() and lasting > LASTING * between)
