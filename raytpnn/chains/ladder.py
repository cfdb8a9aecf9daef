"""The temperatures of an ensemble: where they start, when and how they are adapted."""

from __future__ import annotations

import numpy as np

__all__ = ["adaptation_sweeps", "adapted_temperatures", "first_temperatures"]

# Rounds of adaptation end at these shares of warm-up. Each is as long as all before it together, so that
# the last one has forgotten the start; the rest of warm-up is left to the step sizes.
ROUNDS = (0.05, 0.1, 0.2, 0.4, 0.8)
# A pair that was never refused still has a distance: no two temperatures may coincide.
SMALLEST_REJECTION = 1e-3


def first_temperatures(levels: int, t_min: float, n_rows: int) -> np.ndarray:
    """Ladder to start from, (levels,), hottest first.

    Where data dominate the prior, the distance of two temperatures is about proportional to that of their
    logarithms: geometric from one row's worth of data to all of it.
    """
    if t_min > 0.0:
        return np.append(np.geomspace(t_min, 1.0, levels)[:-1], 1.0)
    if levels == 2:
        return np.array([0.0, 1.0])
    lowest = min(0.5, 1.0 / max(n_rows, 1))
    return np.concatenate([[0.0], np.geomspace(lowest, 1.0, levels - 1)[:-1], [1.0]])


def adaptation_sweeps(warmup: int) -> list[int]:
    """Numbers of sweeps after which the ladder is adapted, ascending."""
    return sorted({int(share * warmup) for share in ROUNDS} - {0})


def adapted_temperatures(temperature: np.ndarray, rejection: np.ndarray) -> np.ndarray:
    """Ladder on which all neighbours would be refused equally often.

    Parameters
    ----------
    temperature : (levels,)
        The ladder at present, hottest first.
    rejection : (levels - 1,)
        Mean rejection probability of every pair of neighbours.

    Notes
    -----
    The sum of the rejection rates from the hot end to a temperature, the communication barrier, is nearly the
    same function of temperature on any fine ladder. It is interpolated, linearly in log T (in T beside 0,
    where there is no logarithm), and cut into equal parts.
    """
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(rejection, SMALLEST_REJECTION))])
    wanted = np.linspace(0.0, barrier[-1], len(temperature))[1:-1]
    cell = np.clip(np.searchsorted(barrier, wanted, side="right") - 1, 0, len(rejection) - 1)
    share = (wanted - barrier[cell]) / (barrier[cell + 1] - barrier[cell])
    low, high = temperature[cell], temperature[cell + 1]
    straight = low + share * (high - low)
    curved = high * (np.where(low > 0.0, low, high) / high) ** (1.0 - share)
    inner = np.where(low > 0.0, curved, straight)
    return np.concatenate([temperature[:1], inner, temperature[-1:]])
