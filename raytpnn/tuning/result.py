"""What a search found: a table of the settings, the best of them, and a config file for `raytpnn fit`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.engine.moves.options import Moves
from raytpnn.model.prior import Prior
from raytpnn.tuning.config_text import config_text
from raytpnn.tuning.outcome import EVIDENCE, ORIENTATION, Outcome
from raytpnn.tuning.race import Race
from raytpnn.tuning.settings import Setting, varied

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Tuning"]

# A lead counts if it is more than so many of its standard errors.
ERRORS = 2.0


@dataclass(frozen=True, eq=False)
class Tuning:
    """Result of `raytpnn.tune`.

    Attributes
    ----------
    settings : list of Setting
        Number 0 is the base: the prior and moves that the search started from.
    race : Race
    outcomes : dict of (int, int) to Outcome
        By setting and step.
    criterion : {"cv", "evidence"}
    metric : str
    stopped : str
        "complete"; or "interrupt" or "time limit", after which the best is that of the complete steps.
    """

    settings: list[Setting]
    race: Race
    outcomes: dict[tuple[int, int], Outcome]
    criterion: str
    metric: str
    stopped: str

    @property
    def best_number(self) -> int:
        """Number of the best setting; ValueError if not even the first step of all is done."""
        if not self.race.complete:
            raise ValueError(
                "the search ended before all settings had taken their first step: nothing is known"
            )
        return self.race.ranked()[0]

    @property
    def best(self) -> Setting:
        """The best setting."""
        return self.settings[self.best_number]

    @property
    def prior(self) -> Prior:
        """Prior of the best setting."""
        return self.best.prior

    @property
    def moves(self) -> Moves:
        """Moves of the best setting."""
        return self.best.moves

    def values(self, setting: int, steps: int) -> np.ndarray:
        """Criterion of a setting, step by step, (steps,)."""
        return np.array([self.outcomes[setting, step].scores[self.metric] for step in range(steps)])

    def error(self, setting: int, steps: int) -> float:
        """Standard error of the mean of a setting; NaN if one step cannot tell."""
        values = self.values(setting, steps)
        spread = float(values.std(ddof=1) / np.sqrt(steps)) if steps > 1 else np.nan
        if self.criterion != EVIDENCE:
            return spread
        own = [self.outcomes[setting, step].error for step in range(steps)]
        return float(np.fmax(np.sqrt(np.sum(np.square(own))) / steps, spread))

    def lead(self, setting: int, other: int) -> tuple[float, float]:
        """How much better a setting is than another, and the standard error of that.

        Folds are the same for both: their differences count. Ensembles are not: errors add up.
        """
        steps = min(self.race.taken(setting), self.race.taken(other))
        if not steps:
            return np.nan, np.nan
        sign = -ORIENTATION.get(self.metric, 1.0)
        gap = sign * (self.values(setting, steps) - self.values(other, steps))
        if self.criterion == EVIDENCE:
            error = float(np.hypot(self.error(setting, steps), self.error(other, steps)))
        else:
            error = float(gap.std(ddof=1) / np.sqrt(steps)) if steps > 1 else np.nan
        return float(gap.mean()), error

    def ties(self) -> list[int]:
        """Settings, of those still in the race, that the best does not lead by more than twice the error."""
        best = self.best_number
        found = []
        for other in self.race.ranked()[1:]:
            gap, error = self.lead(best, other)
            if not gap > ERRORS * error:
                found.append(other)
        return found

    @property
    def table(self) -> pd.DataFrame:
        """Setting by setting, the best first.

        Returns
        -------
        DataFrame
            setting (number); the fields that were varied; the criterion's mean over the steps done, and its
            standard error (se); gain over the base, on the same steps, and its standard error (gain_se);
            steps (folds or ensembles) done; seconds; status: best, complete, base, stopped early or
            unfinished; note.
        """
        import pandas as pd

        names = varied(self.settings)
        best = self.race.ranked()[0] if self.race.complete else None
        rows = []
        for i, setting in enumerate(self.settings):
            steps = self.race.taken(i)
            values = setting.values()
            gain, gain_se = self.lead(i, 0) if i else (0.0, 0.0)
            done = [self.outcomes[i, step] for step in range(steps)]
            rows.append(
                {
                    "setting": i,
                    **{name: values[name] for name in names},
                    self.metric: float(self.values(i, steps).mean()) if steps else np.nan,
                    "se": self.error(i, steps) if steps else np.nan,
                    "gain": gain,
                    "gain_se": gain_se,
                    "steps": steps,
                    "seconds": sum(outcome.seconds for outcome in done),
                    "status": self.status(i, best),
                    "note": self.notes(i),
                }
            )
        order = {i: place for place, i in enumerate(self.race.ranked())}
        rows.sort(key=lambda row: (-row["steps"], order.get(row["setting"], len(order)), self.sort_key(row)))
        return pd.DataFrame(rows)

    def notes(self, setting: int) -> str:
        """What is wrong with the steps of a setting; empty if nothing is."""
        steps = range(self.race.taken(setting))
        return "; ".join(
            dict.fromkeys(self.outcomes[setting, i].note for i in steps if self.outcomes[setting, i].note)
        )

    def sort_key(self, row: dict[str, Any]) -> float:
        """Less is better; NaN last."""
        value = ORIENTATION.get(self.metric, 1.0) * row[self.metric]
        return float("inf") if np.isnan(value) else value

    def status(self, setting: int, best: int | None) -> str:
        """Where a setting got to."""
        if setting == best:
            return "best"
        if setting in self.race.dropped:
            return "stopped early"
        if self.race.taken(setting) < self.race.steps:
            return "unfinished"
        return "base" if setting == 0 else "complete"

    def sentences(self) -> list[str]:
        """What a reader should know."""
        if not self.race.complete:
            return ["No step was done for all settings: nothing is known yet."]
        kind = "ensembles" if self.criterion == EVIDENCE else "folds"
        best, ties = self.best_number, self.ties()
        lines = [f"{len(self.settings)} settings, {self.race.complete} of {self.race.steps} {kind} complete."]
        if not ties:
            lines.append(
                f"Setting {best} is the best, by more than twice the error of the difference to any other."
            )
        else:
            listed = ", ".join(str(i) for i in sorted(ties)[:10])
            more = f" and {len(ties) - 10} more" if len(ties) > 10 else ""
            lines.append(
                f"A tie: setting {best} leads, but not by more than twice the error of the difference to "
                f"{listed}{more}."
            )
        noted = [i for i in self.race.alive if self.notes(i)]
        if noted:
            lines.append(
                f"Of {len(noted)} settings the evidence is uncertain beyond its error (see `note`): give "
                "more draws, or replicas."
            )
        gain, error = self.lead(best, 0)
        if best == 0:
            lines.append("Setting 0, the base, is the best of them: nothing to change.")
        else:
            lines.append(
                f"Over setting 0, the base, it gains {gain:.4g} (standard error {error:.2g}) in {self.metric}"
                ". The best of many looks better than it is."
            )
        return lines

    def config(self, **options: Any) -> str:
        """Text of a config file for `raytpnn fit`, with other options of it at the head."""
        return config_text(self.best, self.sentences(), options)

    def save(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write a config file for `raytpnn fit --config`.

        Parameters
        ----------
        path : path
        **options
            Of `raytpnn fit`, such as target="price".
        """
        target = Path(path)
        target.write_text(self.config(**options))
        return target
