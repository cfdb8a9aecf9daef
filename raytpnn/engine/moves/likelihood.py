"""What a change of one term does to the log-likelihood."""

from __future__ import annotations

from raytpnn.engine.layout import FIT_LOGLIK
from raytpnn.engine.moves.coefficient import GAUSSIAN
from raytpnn.engine.rows import likelihood_of_change
from raytpnn.numerics.jit import internal

__all__ = ["log_likelihood_change"]


@internal
def log_likelihood_change(
    problem, settings, state, work, old_row, old_beta, old_dot, old_norm, new_row, new_beta, new_dot, new_norm
):
    """Unscaled change of the log-likelihood when new_beta * phi[new_row] replaces old_beta * phi[old_row].

    The moments are with the derivatives at the fit without the term. A Gaussian log-likelihood is
    quadratic, so they say it all and no pass over the rows is needed.
    """
    if settings.family == GAUSSIAN:
        gain = new_beta * new_dot - (0.5 * new_norm) * (new_beta * new_beta)
        loss = old_beta * old_dot - (0.5 * old_norm) * (old_beta * old_beta)
        return gain - loss
    trial = likelihood_of_change(problem, settings, work, old_row, old_beta, new_row, new_beta)
    return trial - state.scalar[FIT_LOGLIK]
