"""Leave-one-out cross-validation from one fit: Pareto-smoothed importance sampling, by arviz-stats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.convergence.diagnostics import MIN_DRAWS, by_chain
from raytpnn.forward.norms import evenly_spaced

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["Loo", "good_k", "psis_loo", "relative_efficiency", "smoothed_weights"]

# Rows whose likelihoods stand for all when the relative efficiency of the draws is estimated.
EFFICIENCY_ROWS = 64
# A tail of importance weights is a fifth of the draws, and needs five of them.
LEAST_DRAWS = 25
# Log-likelihoods no further apart than this are the same.
SAME = 1e-12


@dataclass(frozen=True)
class Loo:
    """Expected log predictive density of rows left out, one at a time.

    Attributes
    ----------
    elpd, se : float
        Sum over rows of the log density of y given all other rows, and its standard error.
    p_loo : float
        Effective number of parameters: how much better rows are predicted when they are not left out.
    rows : (m,) int64
        Training rows looked at.
    elpd_rows, pareto_k : (m,) float64
        Part of every row, and the shape of its importance weights' tail.
    good_k : float
        Rows with a larger pareto_k have no reliable estimate.
    """

    elpd: float
    se: float
    p_loo: float
    rows: np.ndarray
    elpd_rows: np.ndarray
    pareto_k: np.ndarray
    good_k: float

    def _repr_html_(self) -> str:
        bad = int(np.sum(self.pareto_k > self.good_k))
        trust = (
            f"{bad} of {len(self.rows)} rows have no reliable estimate" if bad else "all rows are reliable"
        )
        return (
            f"<p><b>Leave-one-out</b>: expected log predictive density {self.elpd:.1f} (standard error "
            f"{self.se:.1f}), effective parameters {self.p_loo:.1f}; {trust}.</p>"
        )
        return (
            "<p><b>Leave-one-out</b>: expected log predictive density "
            f"{self.elpd:.1f} (standard error {self.se:.1f}), effective parameters {self.p_loo:.1f}; "
            f"{trust}.</p>"
        )

    @property
    def n_unreliable(self) -> int:
        """Rows whose estimate is not reliable."""
        return int(np.sum(~(self.pareto_k <= self.good_k)))

    @property
    def note(self) -> str:
        """What to mind, empty if nothing."""
        if not self.n_unreliable:
            return ""
        return (
            f"pareto_k is above {self.good_k:.2f} in {self.n_unreliable} of {len(self.rows)} rows: the "
            "result is not reliable for these; draw more, or cross-validate"
        )

    def __str__(self) -> str:
        text = f"elpd_loo {self.elpd:.1f} (SE {self.se:.1f}), p_loo {self.p_loo:.1f}, {len(self.rows)} rows"
        return f"{text}\n{self.note}" if self.note else text


def psis_loo(posterior: Posterior, max_rows: int | None = None) -> Loo:
    """Leave-one-out predictive density of the training rows.

    Leaving a row out divides a draw's weight by the row's likelihood, to the power of its sample weight. Of
    times until an event a row is a person, with all intervals of time that the person was watched in. Rows
    of sample weight 0, which took no part in the fit, are passed over.

    Parameters
    ----------
    posterior : Posterior
    max_rows : int, optional
        Look at this many rows only, evenly spaced; sums are then over these.

    Returns
    -------
    Loo
    """
    from scipy.special import logsumexp

    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows must be a number of rows, 1 or more, not {max_rows!r}")
    if posterior.draws.n_draws < LEAST_DRAWS:
        raise ValueError(
            f"{posterior.draws.n_draws} draws are too few for leave-one-out; draw at least {LEAST_DRAWS}"
        )
    weight = posterior.unit_weight
    rows = np.flatnonzero(weight > 0.0)
    if not len(rows):
        raise ValueError("all sample weights are 0: there is no row to leave out")
    rows = rows[evenly_spaced(len(rows), len(rows) if max_rows is None else max_rows)]
    n_draws = posterior.draws.n_draws
    efficiency = relative_efficiency(posterior, rows)
    left_out, kept_in, shape = [], [], []
    for chosen, density in posterior.training_densities(rows):
        log_weight, k = smoothed_weights(weight[chosen] * density, efficiency)
        left_out.append(logsumexp(log_weight + density, axis=0))
        kept_in.append(logsumexp(density, axis=0) - np.log(n_draws))
        shape.append(k)
    elpd_rows = np.concatenate(left_out)
    return Loo(
        elpd=float(elpd_rows.sum()),
        se=float(np.sqrt(len(rows) * np.var(elpd_rows))),
        p_loo=float((np.concatenate(kept_in) - elpd_rows).sum()),
        rows=rows,
        elpd_rows=elpd_rows,
        pareto_k=np.concatenate(shape),
        good_k=good_k(n_draws),
    )


def good_k(n_draws: int) -> float:
    """Shape of a tail of importance weights up to which so many draws give a reliable estimate."""
    return float(min(1.0 - 1.0 / np.log10(n_draws), 0.7))


def smoothed_weights(log_likelihood: np.ndarray, efficiency: float) -> tuple[np.ndarray, np.ndarray]:
    """Log weights of draws without a row, by arviz-stats.

    Parameters
    ----------
    log_likelihood : (D, n)
        Of every row.
    efficiency : float

    Returns
    -------
    log_weight : (D, n)
        Smoothed, and normalised. Raw where the tail allows no fit.
    k : (n,)
        Shape of the tail, infinite where it allows no fit; 0 where the likelihood is the same in all draws,
        so that leaving the row out changes nothing.
    """
    from arviz_stats.base import array_stats
    from scipy.special import logsumexp

    n_draws, n_rows = log_likelihood.shape
    log_weight, k = np.full((n_draws, n_rows), -np.log(n_draws)), np.zeros(n_rows)
    varying = np.flatnonzero(np.ptp(log_likelihood, axis=0) > SAME)
    if not len(varying):
        return log_weight, k
    # Ties and extreme ratios make the fit of the tail divide by 0 or overflow; what is lost is caught below.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found, shape = array_stats.psislw(
            np.ascontiguousarray(log_likelihood[:, varying].T), r_eff=efficiency
        )
    log_weight[:, varying], k[varying] = np.array(found).T, shape
    lost = ~np.all(np.isfinite(log_weight), axis=0) | ~np.isfinite(k)
    raw = -log_likelihood[:, lost]
    log_weight[:, lost] = raw - logsumexp(raw, axis=0)
    k[lost] = np.inf
    return log_weight, k


def relative_efficiency(posterior: Posterior, rows: np.ndarray) -> float:
    """Effective number of independent draws of the likelihood of a row, divided by the number of draws."""
    from arviz_stats.base import array_stats

    draws = posterior.draws
    if np.unique(draws.chain, return_counts=True)[1].min() < MIN_DRAWS:
        return 1.0
    some = rows[evenly_spaced(len(rows), EFFICIENCY_ROWS)]
    efficiency = []
    for _, density in posterior.training_densities(some):
        for column in np.exp(density - density.max(axis=0)).T:
            values = by_chain(draws, column)
            if np.ptp(values) > 0.0:
                with np.errstate(divide="ignore", invalid="ignore"):
                    efficiency.append(float(array_stats.ess(values, method="mean")) / values.size)
    known = np.array(efficiency)[np.isfinite(efficiency)]
    return float(np.clip(known.mean(), 1e-3, 1.0)) if len(known) else 1.0
