"""What row sums of the log-likelihood are worth, and what a change of one term does to them."""

from __future__ import annotations

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import CHAIN, DOUBLE, INTEGER, PAIR
from raytpnn.engine.records import FIT_LOGLIK, NUISANCE, TEMPERATURE
from raytpnn.engine.rows.row_passes import evaluate
from raytpnn.families.base import LIKELIHOOD
from raytpnn.numerics.jit import internal

__all__ = ["likelihood_scale", "log_likelihood_change"]

TERM = (INTEGER, DOUBLE, PAIR)


@internal
def likelihood_scale(settings, state):
    """What row sums of log-likelihood, score and curvature are multiplied with."""
    if settings.dispersion_in_rows:
        return state.scalar[TEMPERATURE]
    return state.scalar[TEMPERATURE] / state.scalar[NUISANCE]


@unit(DOUBLE(*CHAIN, *TERM, *TERM))
def log_likelihood_change(
    problem, settings, state, work, old_row, old_beta, old_moments, new_row, new_beta, new_moments
):
    """Unscaled change of the log-likelihood when new_beta * phi[new_row] replaces old_beta * phi[old_row].

    The moments are with the derivatives at the fit without the term. If the log-likelihood
    is quadratic, they say it all and no pass over the rows is needed.
    """
    if work.quadratic != 0:
        gain = new_beta * new_moments[0] - (0.5 * new_moments[1]) * (new_beta * new_beta)
        loss = old_beta * old_moments[0] - (0.5 * old_moments[1]) * (old_beta * old_beta)
        return gain - loss
    features = work.trial_features[0]
    evaluate(
        problem,
        settings,
        state,
        work,
        work.fit,
        old_row,
        old_beta,
        new_row,
        new_beta,
        LIKELIHOOD,
        0,
        features,
        0,
    )
    return work.sums[0] - state.scalar[FIT_LOGLIK]
