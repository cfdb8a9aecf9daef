"""Do events come when the model expects them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from raytpnn.posterior.effects.components import check_level

if TYPE_CHECKING:
    from raytpnn.posterior.survival.posterior import SurvivalPosterior

__all__ = ["PARTS", "event_check"]

# Shares of the events at which time is cut.
PARTS = (0.25, 0.5, 0.75, 1.0)


def event_check(posterior: SurvivalPosterior, draws: int, level: float, seed: int) -> pd.DataFrame:
    """Count events in four parts of time, and draw how many there would be.

    In a part of time, the number of events less the hazard that all persons had gone through while they were
    watched has mean 0, whatever cut their times short. Every draw gives the hazard, and a Poisson number.

    Returns
    -------
    DataFrame
        statistic ("events until 12", "events from 12 to 40", ...), observed, replicated (mean over draws),
        low, high (`level`), p_value: the share of draws with more events than observed, ties counting half.
    """
    check_level(level)
    thin = posterior.thin(draws)
    times, weight = thin.times, thin.unit_weight
    cuts = np.quantile(times[times > 0.0], PARTS)
    expected = np.zeros((len(PARTS), thin.draws.n_draws))
    observed = np.zeros(len(PARTS))
    first = thin.persons
    codes, offset = thin.training_codes()[:, first], thin.offset[first]
    starts = np.append(0.0, cuts[:-1])
    for rows, curves in thin.curve_blocks_of(codes, offset):
        time = np.abs(times[rows])
        for part, (start, stop) in enumerate(zip(starts, cuts, strict=True)):
            inside = np.minimum(time, stop)
            through = curves.cumulative(inside) - curves.cumulative(np.minimum(time, start))
            expected[part] += through @ weight[rows]
            seen = (times[rows] > start) & (times[rows] <= stop)
            observed[part] += float(weight[rows] @ seen)
    replicated = np.random.default_rng(seed).poisson(expected).astype(np.float64)
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    records = []
    for part, (start, stop) in enumerate(zip(starts, cuts, strict=True)):
        name = f"events until {stop:.4g}" if part == 0 else f"events from {start:.4g} to {stop:.4g}"
        other, mine = replicated[part], observed[part]
        p_value = np.mean((other > mine) + 0.5 * (other == mine))
        records.append((name, mine, other.mean(), *np.quantile(other, tails), p_value))
    return pd.DataFrame(records, columns=["statistic", "observed", "replicated", "low", "high", "p_value"])
