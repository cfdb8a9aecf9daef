"""Have the chains converged: R-hat and effective sample sizes of what a user looks at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from raytpnn.model.families import Family
from raytpnn.posterior.draws import Draws
from raytpnn.posterior.ensemble import Ensemble
from raytpnn.posterior.norms import Norms

__all__ = [
    "by_chain",
    "component_quantities",
    "convergence_table",
    "feature_importance",
    "scalar_quantities",
]

# Fewer draws a chain than this, and arviz-stats gives no number.
MIN_DRAWS = 4
TAIL = (0.05, 0.95)


def scalar_quantities(draws: Draws, family: Family) -> dict[str, np.ndarray]:
    """Numbers that every draw has, by name, (D,) each."""
    order = np.bincount(draws.draw_of_term, draws.order, minlength=draws.n_draws)
    quantities = {"loglik": draws.loglik, "K": draws.K.astype(np.float64)}
    if family.has_nuisance:
        quantities["nuisance"] = draws.nuisance
    return quantities | {
        "intercept": draws.intercept,
        "mean order": order / np.maximum(draws.K, 1),
        "b_gamma": draws.b_gamma,
        "sigma_beta2": draws.sigma_beta2,
    }


def feature_importance(
    ensemble: Ensemble, norms: Norms, names: Sequence[str], most: int
) -> dict[str, np.ndarray]:
    """Give the importance of the leading features in every draw, by "importance[name]", (D,) each.

    A feature's importance is the root of the sum of the squared norms of the components that hold it.
    """
    order = ensemble.order[norms.component]
    holder = np.repeat(np.arange(len(norms.norm)), order)
    feature = np.array([f for c in norms.component.tolist() for f in ensemble.components[c]], np.int64)
    place = np.searchsorted(ensemble.used, feature)
    k = len(ensemble.used)
    square = np.bincount(place, norms.norm[holder] ** 2, minlength=k)
    quantities = {}
    for i in np.argsort(-square, kind="stable")[:most]:
        held = holder[place == i]
        total = np.bincount(norms.draw[held], norms.norm[held] ** 2, minlength=norms.n_draws)
        quantities[f"importance[{names[ensemble.used[i]]}]"] = np.sqrt(total)
    return quantities


def component_quantities(
    ensemble: Ensemble, norms: Norms, names: Sequence[str], most: int
) -> dict[str, np.ndarray]:
    """Give the leading components' importance and presence in every draw, (D,) each.

    "component[a x b]" is the norm of the component of a and b, 0 where it is absent; "inclusion[a x b]" is 1
    where it is there, and left out if it is there in all draws.
    """
    quantities: dict[str, np.ndarray] = {}
    for component in np.argsort(-norms.mean, kind="stable")[:most]:
        label = " x ".join(names[feature] for feature in ensemble.components[component])
        mine = norms.component == component
        held = np.zeros(norms.n_draws)
        held[norms.draw[mine]] = 1.0
        quantities[f"component[{label}]"] = np.bincount(
            norms.draw[mine], norms.norm[mine], minlength=norms.n_draws
        )
        if not held.all():
            quantities[f"inclusion[{label}]"] = held
    return quantities


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
    quantities : dict of str to (D,)

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
        note.append("R-hat needs at least 2 chains")
    if lengths.min() < MIN_DRAWS:
        note.append(f"{lengths.min()} draws a chain are too few: at least {MIN_DRAWS} are needed")
    rows = [assess(name, by_chain(draws, values), note) for name, values in quantities.items()]
    return pd.DataFrame(rows, columns=["quantity", "rhat", "ess_bulk", "ess_tail", "note"])


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
            if chains > 1:
                rhat = float(array_stats.rhat(values, method="rank"))
        if np.isnan([bulk, tail, rhat if chains > 1 else 0.0]).any():
            reasons.append("too few distinct values")
    return name, rhat, bulk, tail, "; ".join(reasons)
