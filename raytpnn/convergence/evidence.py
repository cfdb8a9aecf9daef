"""Log evidence from tempered replicas, by stepping stones.

The evidence is the product of ratios of normalising constants of neighbouring temperatures. Draws of the
hotter neighbour give a ratio as mean of exp(gap * loglik), those of the colder one its inverse; the bridge
between them uses both, and has the smallest error of all ways to do so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Evidence", "log_evidence"]

# Halvings of an interval that holds a bridge: enough for the last digit of any number.
HALVINGS = 100
# Fewer draws an ensemble than this say nothing on the error.
MIN_DRAWS = 20


@dataclass(frozen=True)
class Evidence:
    """Log of the probability of the response given the features, prior and family.

    Attributes
    ----------
    log_evidence : float
        NaN if it cannot be estimated; `note` says why.
    error : float
        Its standard error, autocorrelation and disagreement of ensembles included.
    forward, backward : float
        The same from the hotter and from the colder neighbour alone. Far apart, compared to the error, they
        say that neighbours hardly overlap: more replicas are needed.
    by_ensemble : (ensembles,) float64
        Estimates of the ensembles, each from its own ladder.
    note : str
    """

    log_evidence: float
    error: float
    forward: float
    backward: float
    by_ensemble: np.ndarray
    note: str = ""


def log_evidence(level_loglik: Sequence[np.ndarray], temperature: Sequence[np.ndarray]) -> Evidence:
    """Estimate the log evidence from independent ensembles.

    Parameters
    ----------
    level_loglik : sequence of (draws, levels)
        Log-likelihoods at every level's draws, one array an ensemble, hottest level first. They are the full
        ones: what depends on the noise variance or the response alone counts.
    temperature : sequence of (levels,)
        Inverse temperatures of an ensemble, ascending from 0 to 1.
    """
    if len(level_loglik) != len(temperature) or not len(level_loglik):
        raise ValueError(
            f"one ladder an ensemble, at least one: got {len(level_loglik)} arrays of log-likelihoods "
            f"and {len(temperature)} ladders"
        )
    reason = _obstacle(level_loglik, temperature)
    if reason:
        return Evidence(np.nan, np.nan, np.nan, np.nan, np.full(len(temperature), np.nan), reason)
    series, forward, backward = [], [], []
    for loglik, ladder in zip(level_loglik, temperature, strict=True):
        gap = np.diff(ladder)
        up, down = gap * loglik[:, :-1], gap * loglik[:, 1:]
        series.append(_bridged(up, down))
        forward.append(_log_mean_exp(up).sum())
        backward.append(-_log_mean_exp(-down).sum())
    by_ensemble = np.array([part.mean() for part in series])
    shortest = min(len(part) for part in series)
    error = _error(np.array([part[:shortest] for part in series]))
    return Evidence(
        float(by_ensemble.mean()),
        error,
        float(np.mean(forward)),
        float(np.mean(backward)),
        by_ensemble,
    )


def _obstacle(level_loglik: Sequence[np.ndarray], temperature: Sequence[np.ndarray]) -> str:
    """What stands against an estimate; empty if nothing does."""
    hottest = max(float(ladder[0]) for ladder in temperature)
    if hottest > 0.0:
        return (
            f"the ladder starts at inverse temperature {hottest:.3g}, the evidence needs the prior: "
            "use Tempering(t_min=0) and enough replicas"
        )
    shortest = min(len(loglik) for loglik in level_loglik)
    if shortest < MIN_DRAWS:
        return f"{shortest} draws an ensemble are too few: at least {MIN_DRAWS} are needed"
    if not all(np.isfinite(loglik).all() for loglik in level_loglik):
        return "the log-likelihood is not finite in every draw"
    return ""


def _log_mean_exp(x: np.ndarray) -> np.ndarray:
    """Log of the mean of exp(x) over draws, (pairs,)."""
    largest = x.max(axis=0)
    return largest + np.log(np.mean(np.exp(x - largest), axis=0))


def _logistic(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.where(x > 0.0, 1.0, small) / (1.0 + small)


def _bridged(up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Contribution of every draw to the log evidence, (draws,): their mean is the estimate.

    Parameters
    ----------
    up, down : (draws, pairs)
        Gap of temperatures times log-likelihood, at draws of the hotter and of the colder neighbour.

    Notes
    -----
    With r the log ratio of the constants, mean(logistic(up - r)) = mean(logistic(r - down)): the left side
    falls with r and the right side rises, so that halving finds it. The draws contribute r plus their share
    of the first-order error of r, whose mean is zero.
    """
    low = np.minimum(up.min(axis=0), down.min(axis=0))
    high = np.maximum(up.max(axis=0), down.max(axis=0))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        too_low = _logistic(up - middle).mean(axis=0) > _logistic(middle - down).mean(axis=0)
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    ratio = 0.5 * (low + high)
    rising, falling = _logistic(up - ratio), _logistic(ratio - down)
    slope = np.mean(rising * (1.0 - rising) + falling * (1.0 - falling), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(rising == falling, 0.0, (rising - falling) / slope)
    return ratio.sum() + share.sum(axis=1)


def _error(series: np.ndarray) -> float:
    """Standard error of the mean of correlated series, (ensembles, draws)."""
    from arviz_stats.base import array_stats

    if np.ptp(series) == 0.0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        error = float(array_stats.mcse(series, method="mean"))
    if len(series) > 1:
        # Ensembles that disagree more than their series tell have not converged.
        error = max(error, float(series.mean(axis=1).std(ddof=1)) / float(np.sqrt(len(series))))
    return error
