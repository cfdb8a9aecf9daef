"""The temperatures of an ensemble: where they start, when and how they are adapted."""

from __future__ import annotations

import numpy as np

from raytpnn.numerics.elementary_numpy import exp, log, normal_quantile

__all__ = ["adaptation_sweeps", "adapted_temperatures", "first_temperatures", "pair_barriers"]

# Rounds of adaptation end at these shares of warm-up. Each is as long as all before it together, so that
# the last one has forgotten the start; the rest of warm-up is left to the step sizes.
ROUNDS = (0.05, 0.1, 0.2, 0.4, 0.8)
# A pair that was never refused still has a distance: no two temperatures may coincide. And what a few
# sweeps never accepted has one beyond what they can tell.
SMALLEST_REJECTION, SMALLEST_ACCEPTANCE = 1e-3, 1e-9
# If log-likelihoods were normal, a pair would be accepted with probability 2 Phi(-z); the barrier of a short
# step is its rejection probability, this times z.
BARRIER_OF_Z = float(np.sqrt(2.0 / np.pi))
# A ladder whose neighbours are refused more often than this on average is too long to travel ...
LONGEST = 0.75
# ... and is shortened, or lengthened if it was shortened too much, to this; 1/2 is best in theory.
WANTED = 0.6


def first_temperatures(levels: int, t_min: float, n_rows: int) -> np.ndarray:
    """Ladder to start from, (levels,), hottest first.

    Where data dominate the prior, the distance of two temperatures is about proportional to that of their
    logarithms: geometric from one row's worth of data to all of it.
    """
    hot_end = [] if t_min > 0.0 else [0.0]
    lowest = t_min if t_min > 0.0 else min(0.5, 1.0 / max(n_rows, 1))
    rest = np.linspace(log(lowest), 0.0, levels - len(hot_end))
    return np.concatenate([hot_end, exp(rest[:-1]), [1.0]]) if levels > 2 else np.array([t_min, 1.0])


def adaptation_sweeps(warmup: int, swap_every: int = 1) -> list[int]:
    """Numbers of sweeps after which the ladder is adapted, ascending: always after swaps."""
    after_swaps = {-(-int(share * warmup) // swap_every) * swap_every for share in ROUNDS}
    return sorted(sweeps for sweeps in after_swaps if 0 < sweeps < warmup)


def pair_barriers(rejection: np.ndarray) -> np.ndarray:
    """Communication barrier between neighbours, from their mean rejection probability, (levels - 1,).

    For a small rejection probability it is the same. It goes on growing where that comes close to 1, so that
    the sum over a ladder, the global barrier, does not depend on how fine the ladder is.
    """
    accepted = np.clip(1.0 - rejection, SMALLEST_ACCEPTANCE, 1.0 - SMALLEST_REJECTION)
    return np.array([-BARRIER_OF_Z * normal_quantile(0.5 * value) for value in accepted.tolist()])


def _temperature_at(temperature: np.ndarray, barrier: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Temperatures at which the barrier takes the wanted values: linear in log T, steepest at the prior."""
    cell = np.clip(np.searchsorted(barrier, wanted, side="right") - 1, 0, len(barrier) - 2)
    share = (wanted - barrier[cell]) / (barrier[cell + 1] - barrier[cell])
    low, high = temperature[cell], temperature[cell + 1]
    ratio = np.where(low > 0.0, low, high) / high
    between = high * exp((1.0 - share) * log(ratio))
    beside_prior = high * ((share * share) * (share * share))
    return np.where(low > 0.0, between, beside_prior)


def adapted_temperatures(
    temperature: np.ndarray, rejection: np.ndarray, n_rows: int, fixed_end: bool = True
) -> np.ndarray:
    """Ladder on which all neighbours would be refused equally often.

    Parameters
    ----------
    temperature : (levels,)
        The ladder at present, hottest first.
    rejection : (levels - 1,)
        Mean rejection probability of every pair of neighbours.
    n_rows : int
        A ladder that grows beyond one row's worth of data goes on to the prior.
    fixed_end : bool
        Leave the hottest temperature. If not, it is the prior (0) as long as neighbours are not refused too
        often on average; otherwise the barrier to the cold end is cut to what so many replicas can overcome.

    Notes
    -----
    The communication barrier from the hot end to a temperature is nearly the same function of temperature on
    any ladder. It is interpolated and cut into equal parts.
    """
    levels, pairs = len(temperature), len(rejection)
    barrier = np.concatenate([[0.0], np.cumsum(pair_barriers(rejection))])
    longest, wanted_pair = pair_barriers(np.array([LONGEST, WANTED]))
    # From where on the barrier is cut into parts.
    start = 0.0
    if not fixed_end and (temperature[0] > 0.0 or barrier[-1] > longest * pairs):
        start = barrier[-1] - wanted_pair * pairs
    if start < 0.0:
        # Beyond its end the ladder is a guess: it goes on as it ended, at most to the square of its end.
        slope = barrier[1] / float(log(temperature[1] / temperature[0]))
        lower = temperature[0] * float(exp(max(start / slope, float(log(temperature[0])))))
        lower = lower if lower > 1.0 / n_rows else 0.0
        temperature = np.concatenate([[lower], temperature])
        barrier = np.concatenate([[start], barrier])
    wanted = np.linspace(start, barrier[-1], levels)
    adapted = np.append(_temperature_at(temperature, barrier, wanted[:-1]), 1.0)
    if start <= 0.0:
        adapted[0] = temperature[0]
    return adapted
