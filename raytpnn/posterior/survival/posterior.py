"""What `raytpnn.sample` gives back for times until an event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.survival import Intervals, WithTime
from raytpnn.data.tables.tables import as_table
from raytpnn.forward.prediction import LATENT_ENTRIES, row_blocks
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.effects.components import check_level
from raytpnn.posterior.fitted import STANDARD_ERRORS
from raytpnn.posterior.posterior import Posterior
from raytpnn.posterior.survival.curves import Curves, PiecewiseCurves, WeibullCurves, quantile_times

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SurvivalPosterior"]

# Times of events over which a risk is averaged.
RISK_TIMES = 20


class SurvivalPosterior(Posterior):
    """Draws of a model of times until an event.

    A row of X is a person. Times are numbers that are negative where they were cut short; where y is asked
    for, whatever `raytpnn.sample` takes will do. For family "survival" the model has a feature of time beside
    the columns of X (`intervals.name`): effects that hold it change with time. Where X has no such column,
    effects are averaged over time, as they are over any missing feature.

    Parameters are those of `Fitted`.
    """

    # Persons

    @cached_property
    def intervals(self) -> Intervals | None:
        """Intervals of time, for family "survival"."""
        kept = self.config.get("intervals")
        return None if kept is None else Intervals.of_json(kept)

    @cached_property
    def persons(self) -> np.ndarray:
        """First training row of every person, (persons,)."""
        n = self.bins.n_rows
        feature = self.time_feature
        if self.intervals is None or feature is None:
            return np.arange(n)
        return np.flatnonzero(np.asarray(self.bins.codes[feature]) == 0)

    @cached_property
    def times(self) -> np.ndarray:
        """Time of every person of the training data, negative where it was cut short, (persons,)."""
        if self.intervals is None:
            return self.y
        last = np.append(self.persons[1:], len(self.y)) - 1
        total = np.add.reduceat(np.abs(self.y), self.persons) * self.intervals.unit
        return np.where(self.y[last] > 0.0, total, -total)

    @property
    def event_times(self) -> np.ndarray:
        """Distinct times of events in the training data, ascending."""
        return np.unique(self.times[self.times > 0.0])

    @property
    def time_feature(self) -> int | None:
        """Number of the feature of time, if there is one."""
        if self.intervals is None or self.intervals.name not in self.encoder.names:
            return None
        return self.encoder.names.index(self.intervals.name)

    @cached_property
    def negligible(self) -> float:
        """Size of an effect that noise alone makes: four standard errors, as many as the events allow."""
        events = float(self.weight[self.y > 0.0].sum())
        spread = 1.0 if self.intervals is not None else float(np.mean(self.draws.nuisance))
        return STANDARD_ERRORS * spread / np.sqrt(events) if events > 0.0 else np.inf

    def encode_rows(self, X: Any, offset: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Rows as the predictor takes them; effects are averaged over time if X has no column of it."""
        if self.intervals is not None:
            table = as_table(X)
            known = len(self.encoder.input_names)
            there = self.intervals.name in table.names if self.encoder.named else len(table.names) == known
            X = table if there else WithTime(table, self.intervals.name, np.full(table.n_rows, np.nan))
        return super().encode_rows(X, offset)

    def curve_blocks(self, X: Any, offset: Any = None) -> Iterator[tuple[slice, Curves]]:
        """Pairs of rows of X and their survival curves, in blocks of bounded size."""
        yield from self.curve_blocks_of(*self.encode_rows(X, offset))

    def curve_blocks_of(self, codes: np.ndarray, shift: np.ndarray) -> Iterator[tuple[slice, Curves]]:
        """`curve_blocks` of encoded rows."""
        pieces = 1 if self.intervals is None else len(self.intervals.starts)
        size = max(LATENT_ENTRIES // (self.draws.n_draws * pieces), 1)
        for rows in row_blocks(codes.shape[1], size):
            yield rows, self.curves_of(codes[:, rows], shift[rows])

    def curves_of(self, codes: np.ndarray, offset: np.ndarray) -> Curves:
        """Survival curves of encoded rows."""
        if self.intervals is None:
            return WeibullCurves(self.predictor.latent(codes, offset), self.draws.nuisance[:, None])
        used = self.ensemble.used
        feature = self.time_feature
        place = np.flatnonzero(used == (-1 if feature is None else feature))
        latent: list[np.ndarray] = []
        for interval in range(len(self.intervals.starts)):
            if len(place) or not latent:
                at = np.array(codes)
                at[place] = interval
                latent.append(self.predictor.latent(at, offset))
            else:
                latent.append(latent[0])
        starts = np.array(self.intervals.starts)
        return PiecewiseCurves(starts, np.stack(latent).astype(np.float64) - np.log(self.intervals.unit))

    # Prediction

    def survival(
        self, X: Any, times: Sequence[float] | np.ndarray, level: float = CREDIBLE_LEVEL, offset: Any = None
    ) -> pd.DataFrame:
        """Survival curves with credible bands.

        Parameters
        ----------
        X : table
            A row a person.
        times : (m,)
            0 or more.
        level : float
            Posterior probability of the interval at every time, with equal tails.
        offset : (n,), optional

        Returns
        -------
        DataFrame
            row (place in X), time, survival (posterior mean of P(T > time)), low, high.
        """
        import pandas as pd

        check_level(level)
        wanted = checked_times(times)
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        parts = []
        for rows, curves in self.curve_blocks(X, offset):
            numbers = np.arange(rows.start, rows.stop)
            for time in wanted:
                survival = curves.survival(float(time))
                low, high = np.quantile(survival, tails, axis=0)
                values = {"survival": survival.mean(axis=0), "low": low, "high": high}
                parts.append(pd.DataFrame({"row": numbers, "time": time, **values}))
        return pd.concat(parts).sort_values(["row", "time"], kind="stable", ignore_index=True)

    def survival_curves(self, X: Any, times: Sequence[float] | np.ndarray, offset: Any = None) -> np.ndarray:
        """Posterior mean of P(T > time), (n, times)."""
        wanted = checked_times(times)
        parts = [
            np.column_stack([curves.survival(float(time)).mean(axis=0) for time in wanted])
            for _, curves in self.curve_blocks(X, offset)
        ]
        return np.concatenate(parts)

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Median time until the event, (n,).

        Beyond the last event of the training data, a curve goes on as its law says: for family "survival"
        with the hazard of the last interval.
        """
        return self.quantile(X, 0.5, offset)

    def predict_draws(self, X: Any, offset: Any = None) -> np.ndarray:
        """Median time of every draw, (draws of all chains, n)."""
        parts = [curves.time_of(np.log(2.0)) for _, curves in self.curve_blocks(X, offset)]
        return np.concatenate(parts, axis=1)

    def quantile(self, X: Any, q: float | Sequence[float], offset: Any = None) -> np.ndarray:
        """Quantiles of the predictive distribution of the time, (n,) for one q, (n, k) for several."""
        wanted = np.asarray(q, np.float64)
        if wanted.ndim > 1 or not np.all((wanted > 0.0) & (wanted < 1.0)):
            raise ValueError(f"q must be one or more numbers between 0 and 1, both excluded, not {q!r}")
        parts = [
            np.column_stack([quantile_times(curves, float(one)) for one in np.atleast_1d(wanted)])
            for _, curves in self.curve_blocks(X, offset)
        ]
        quantiles = np.concatenate(parts)
        return quantiles[:, 0] if wanted.ndim == 0 else quantiles

    def predictive_sd(self, X: Any, offset: Any = None) -> np.ndarray:
        """There is none: a time that may never come has no standard deviation."""
        raise ValueError("times until an event have no standard deviation here; ask for interval or quantile")

    def log_density_of(self, X: Any, y: np.ndarray, offset: Any = None) -> np.ndarray:
        """Log density of times of events, log P(T > time) of those cut short: of the mixture over draws."""
        from scipy.special import logsumexp

        parts = []
        for rows, curves in self.curve_blocks(X, offset):
            density = curves.log_density(y[rows])
            parts.append(logsumexp(density, axis=0) - np.log(len(density)))
        found = np.concatenate(parts)
        if len(y) != len(found):
            raise ValueError(f"y has {len(y)} values but X has {len(found)} rows")
        return found

    def risk(self, X: Any, offset: Any = None) -> np.ndarray:
        """Risk by which persons are ranked, (n,): larger means earlier.

        The cumulative hazard of the mean curve, averaged over times at which equal shares of the training
        data's events have come.
        """
        events = self.times[self.times > 0.0]
        shares = (np.arange(RISK_TIMES) + 0.5) / RISK_TIMES
        curves = self.survival_curves(X, np.quantile(events, shares), offset)
        return -np.log(np.maximum(curves, 1e-300)).mean(axis=1)

    def thin(self, most: int) -> SurvivalPosterior:
        """Posterior of at most `most` draws (at least one per chain), evenly spaced in every chain."""
        few = super().thin(most)
        assert isinstance(few, SurvivalPosterior)
        return few

    # How good it is

    def training_densities(self, units: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of persons and their log density in every draw, (draws, persons)."""
        if self.intervals is None:
            yield from super().training_densities(units)
            return
        wanted = np.arange(len(self.persons)) if units is None else units
        ends = np.append(self.persons[1:], self.bins.n_rows)
        lengths = ends[wanted] - self.persons[wanted]
        size = max(LATENT_ENTRIES // (self.draws.n_draws * int(lengths.max(initial=1))), 1)
        for block in row_blocks(len(wanted), size):
            chosen, counts = wanted[block], lengths[block]
            first = np.cumsum(counts) - counts
            rows = np.repeat(self.persons[chosen] - first, counts) + np.arange(counts.sum())
            density = np.concatenate([one for _, one in super().training_densities(rows)], axis=1)
            log_unit = np.log(self.intervals.unit) * (self.times[chosen] > 0.0)
            yield chosen, np.add.reduceat(density, first, axis=1) - log_unit

    @property
    def unit_weight(self) -> np.ndarray:
        """Sample weights of persons, (persons,)."""
        return self.weight[self.persons]

    def predictive_check(
        self, draws: int = 1000, level: float = CREDIBLE_LEVEL, seed: int = 0
    ) -> pd.DataFrame:
        """Compare when events came with when the model expects them.

        See `raytpnn.posterior.survival.check.event_check`.
        """
        from raytpnn.posterior.survival.check import event_check

        return event_check(self, draws, level, seed)


def checked_times(times: Any) -> np.ndarray:
    """Times to look at, (m,)."""
    wanted = np.atleast_1d(np.asarray(times, np.float64))
    if wanted.ndim != 1 or not len(wanted) or not np.all(np.isfinite(wanted) & (wanted >= 0.0)):
        raise ValueError(f"times must be one or more finite numbers, 0 or more, not {times!r}")
    return wanted
