"""R-hat and effective sample sizes while the chains run: functions of complete rounds, never of timing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from raytpnn.chains.monitoring.watched import Watched
from raytpnn.convergence.advice import LEAST_ESS_A_CHAIN
from raytpnn.convergence.diagnostics import assess, decides
from raytpnn.convergence.effects import effects
from raytpnn.forward.probe import Sizes
from raytpnn.storage.formats.length import GROWTH, Length

__all__ = ["GROWTH", "Convergence", "Monitor"]

# Quantities that fail the targets after which no more are looked at.
FAILURES = 5


@dataclass(frozen=True)
class Convergence:
    """How far the chains agree after a round.

    Attributes
    ----------
    draws : int
        Of each chain.
    rhat, ess_bulk, ess_tail : dict of str to float
        By quantity; NaN where it cannot be estimated. Quantities that never change are left out.
    notes : dict of str to str
        Why a number is missing, by quantity; those that never change are here.
    complete : bool
        Whether all quantities were looked at: where some fail targets by far, not all have to be.
    """

    draws: int
    rhat: dict[str, float]
    ess_bulk: dict[str, float]
    ess_tail: dict[str, float]
    notes: dict[str, str] = field(default_factory=dict)
    complete: bool = True

    @property
    def deciding(self) -> list[str]:
        """Quantities that the chains must agree on."""
        return [name for name in self.rhat if decides(name)]

    def worst(self) -> tuple[str, float]:
        """Of what decides, the quantity with the largest R-hat; one that cannot be estimated is the worst."""
        names = self.deciding
        if not names:
            return "nothing", float("nan")
        name = max(names, key=lambda name: np.nan_to_num(self.rhat[name], nan=np.inf))
        return name, self.rhat[name]

    def least_ess(self) -> float:
        """Smallest effective number of draws of what decides, bulk or tail."""
        sizes = [size[name] for name in self.deciding for size in (self.ess_bulk, self.ess_tail)]
        return float(np.min(np.nan_to_num(sizes))) if sizes else 0.0

    def reached(self, target_rhat: float | None, target_ess: float | None, chains: int) -> bool:
        """Whether every quantity that decides meets the targets that are given."""
        if not self.deciding:
            return False
        if target_rhat is not None:
            rhats = np.nan_to_num([self.rhat[name] for name in self.deciding], nan=np.inf)
            if rhats.max() > target_rhat or self.least_ess() < LEAST_ESS_A_CHAIN * chains:
                return False
        return target_ess is None or self.least_ess() >= target_ess

    def in_order(self, names: Iterable[str]) -> Convergence:
        """The same, quantities in the order of `names`."""

        def ordered(values: dict[str, Any]) -> dict[str, Any]:
            return {name: values[name] for name in names if name in values}

        return replace(
            self,
            rhat=ordered(self.rhat),
            ess_bulk=ordered(self.ess_bulk),
            ess_tail=ordered(self.ess_tail),
            notes=ordered(self.notes),
        )

    @staticmethod
    def of_records(records: list[list[Any]], draws: int) -> Convergence:
        """What `records` gave, of so many draws of each chain."""
        figures = {row[0]: [float(value) for value in row[1:4]] for row in records}
        notes = {row[0]: row[4] for row in records if row[4]}
        rhat, bulk, tail = (
            {name: row[column] for name, row in figures.items() if notes.get(name) != "constant"}
            for column in range(3)
        )
        return Convergence(draws, rhat, bulk, tail, notes)

    def records(self) -> list[list[Any]]:
        """Rows of the table that is kept with a run, see `raytpnn.convergence.diagnostics.COLUMNS`.

        Numbers are text where JSON has none: "nan", "inf".
        """

        def number(value: float) -> float | str:
            return value if np.isfinite(value) else str(value)

        nan = float("nan")
        columns = self.rhat, self.ess_bulk, self.ess_tail
        return [
            [name, *(number(column.get(name, nan)) for column in columns), self.notes.get(name, "")]
            for name in [*self.rhat, *(name for name in self.notes if name not in self.rhat)]
        ]


class Monitor:
    """Collects what is watched of every block, and assesses complete rounds.

    Parameters
    ----------
    chains : int
    names : sequence of str
        Of the features.
    rows : (W,) int
        Watched rows.
    length : Length, optional
        Needed if not all draws of a run count.
    """

    def __init__(
        self, chains: int, names: Sequence[str], rows: np.ndarray, length: Length | None = None
    ) -> None:
        self.chains = chains
        self.names = names
        self.rows = rows
        self.length = length if length is not None and length.until else None
        self.watched: list[dict[int, Watched]] = [{} for _ in range(chains)]
        # Says of R-hat and both ESS whether they fail a target: then the others need not be looked at.
        self.fails: Callable[[float, float, float], bool] | None = None
        self.worst_before: list[str] = []

    def add(self, chain: int, block: int, watched: Watched | None) -> None:
        """Take note of a block."""
        if watched is not None:
            self.watched[chain][block] = watched

    def forget(self, blocks: int) -> None:
        """Forget the blocks before one: their draws do not count any more."""
        for own in self.watched:
            for block in [block for block in own if block < blocks]:
                del own[block]

    def assess(self, last_block: int) -> Convergence:
        """R-hat and ESS of everything over the blocks up to one that every chain has finished."""
        return self.compared(self.quantities(self.blocks_up_to(last_block)), lambda: False, None)

    def blocks_up_to(self, last_block: int) -> list[list[Watched]]:
        """What was watched of the draws that count after a block, by chain."""
        return [
            [
                part
                for block in sorted(watched)
                if block <= last_block
                and (part := self.counted(block, watched[block], last_block)) is not None
            ]
            for watched in self.watched
        ]

    def counted(self, block: int, watched: Watched, last_block: int) -> Watched | None:
        """What was watched of the draws of a block that count after another; None if none does."""
        if self.length is None:
            return watched
        which = self.length.counted(self.length.sweeps_of(last_block + 1))
        kept = which.among(self.length.numbers_of(block))
        if kept.all():
            return watched
        return watched.take(kept) if kept.any() else None

    def compare(
        self, per_chain: list[list[Watched]], stopped: Callable[[], bool] = lambda: False
    ) -> Convergence:
        """R-hat and ESS of blocks of all chains.

        Of some quantities only if it is `stopped` meanwhile, or if enough of them fail the targets: the worst
        of the time before come first. Whether all meet the targets does not depend on it.
        """
        quantities = self.quantities(per_chain)
        first = [name for name in self.worst_before if name in quantities]
        ordered = {name: quantities[name] for name in [*first, *quantities]}
        found = self.compared(ordered, stopped, self.fails)
        self.worst_before = sorted(
            found.deciding, key=lambda name: -np.nan_to_num(found.rhat[name], nan=np.inf)
        )
        # When chains were compared before is a matter of time; the table's rows must not depend on it.
        return found.in_order(quantities)

    def compared(
        self,
        quantities: dict[str, np.ndarray],
        stopped: Callable[[], bool],
        fails: Callable[[float, float, float], bool] | None,
    ) -> Convergence:
        """R-hat and ESS of quantities, of some only if it is `stopped` meanwhile or `FAILURES` fail."""
        rhat, bulk, tail, notes = {}, {}, {}, {}
        failures = 0
        for name, values in quantities.items():
            if stopped() or failures == FAILURES:
                break
            _, *figures, note = assess(name, values, [])
            if note:
                notes[name] = note
            if note != "constant":
                rhat[name], bulk[name], tail[name] = figures
                failures += fails is not None and decides(name) and fails(*figures)
        draws = next((values.shape[1] for values in quantities.values()), 0)
        return Convergence(draws, rhat, bulk, tail, notes, len(rhat.keys() | notes.keys()) == len(quantities))

    def quantities(self, per_chain: list[list[Watched]]) -> dict[str, np.ndarray]:
        """Everything that is compared, (chains, draws) each."""
        if not per_chain[0]:
            return {}

        def joined(get) -> np.ndarray:
            return np.stack([np.concatenate([get(part) for part in parts]) for parts in per_chain])

        result = {name: joined(lambda part: part.scalars[name]) for name in per_chain[0][0].scalars}  # noqa: B023
        f = joined(lambda part: part.f)
        outputs = f.shape[2] // max(len(self.rows), 1)
        for output in range(outputs):
            which = "" if outputs == 1 else f", output {output}"
            first = output * len(self.rows)
            result |= {f"f[{row}{which}]": f[:, :, first + i] for i, row in enumerate(self.rows)}
        return result | effects([joined_sizes(parts) for parts in per_chain], f.shape[1], self.names)


def joined_sizes(parts: list[Watched]) -> Sizes:
    """Sizes in the draws of several blocks, one after the other."""
    sets: dict[tuple[int, ...], int] = {}
    draw, component, first = [], [], 0
    for part in parts:
        own = part.sizes
        place = np.array([sets.setdefault(features, len(sets)) for features in own.sets], np.int32)
        draw.append(own.draw + np.int32(first))
        component.append(place[own.component])
        first += part.n_draws
    size = np.concatenate([part.size for part in parts])
    return Sizes(np.concatenate(draw), np.concatenate(component), size, tuple(sets))
