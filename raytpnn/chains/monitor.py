"""R-hat and effective sample sizes while the chains run: functions of complete rounds, never of timing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from raytpnn.chains.watch import Watched
from raytpnn.posterior.diagnostics import assess

__all__ = ["Convergence", "Monitor"]

LEADING_FEATURES = 10
# Below this many effective draws a chain, R-hat itself is too uncertain to stop by.
LEAST_ESS_A_CHAIN = 50
# A round is looked at when the draws have grown by this factor since the last look.
GROWTH = 1.25


@dataclass(frozen=True)
class Convergence:
    """How far the chains agree after a round.

    Attributes
    ----------
    draws : int
        Of each chain.
    rhat, ess_bulk, ess_tail : dict of str to float
        By quantity; NaN where it cannot be estimated. Quantities that never change are left out.
    """

    draws: int
    rhat: dict[str, float]
    ess_bulk: dict[str, float]
    ess_tail: dict[str, float]

    def worst(self) -> tuple[str, float]:
        """Quantity with the largest R-hat; one that cannot be estimated is the worst."""
        if not self.rhat:
            return "nothing", float("nan")
        name = max(self.rhat, key=lambda name: np.nan_to_num(self.rhat[name], nan=np.inf))
        return name, self.rhat[name]

    def least_ess(self) -> float:
        """Smallest effective number of draws, bulk or tail."""
        sizes = [*self.ess_bulk.values(), *self.ess_tail.values()]
        return float(np.min(np.nan_to_num(sizes))) if sizes else 0.0

    def reached(self, target_rhat: float | None, target_ess: float | None, chains: int) -> bool:
        """Whether every quantity meets the targets that are given."""
        if not self.rhat:
            return False
        if target_rhat is not None:
            rhats = np.nan_to_num(list(self.rhat.values()), nan=np.inf)
            if rhats.max() > target_rhat or self.least_ess() < LEAST_ESS_A_CHAIN * chains:
                return False
        return target_ess is None or self.least_ess() >= target_ess


class Monitor:
    """Collects what is watched of every block, and assesses complete rounds.

    Parameters
    ----------
    chains : int
    names : sequence of str
        Of the features.
    rows : (W,) int
        Watched rows.
    """

    def __init__(self, chains: int, names: Sequence[str], rows: np.ndarray) -> None:
        self.chains = chains
        self.names = names
        self.rows = rows
        self.watched: list[dict[int, Watched]] = [{} for _ in range(chains)]

    def add(self, chain: int, block: int, watched: Watched | None) -> None:
        """Take note of a block."""
        if watched is not None:
            self.watched[chain][block] = watched

    def assess(self, last_block: int) -> Convergence:
        """R-hat and ESS over the blocks up to one that every chain has finished."""
        return self.compare(self.blocks_up_to(last_block))

    def blocks_up_to(self, last_block: int) -> list[list[Watched]]:
        """What was watched of the blocks up to one, by chain."""
        return [
            [watched[block] for block in sorted(watched) if block <= last_block] for watched in self.watched
        ]

    def compare(
        self, per_chain: list[list[Watched]], stopped: Callable[[], bool] = lambda: False
    ) -> Convergence:
        """R-hat and ESS of blocks of all chains; of some quantities only if it is `stopped` meanwhile."""
        draws = sum(part.n_draws for part in per_chain[0])
        rhat, bulk, tail = {}, {}, {}
        for name, values in self.quantities(per_chain).items():
            if stopped():
                break
            if np.ptp(values) == 0.0:
                continue
            _, rhat[name], bulk[name], tail[name], _ = assess(name, values, [])
        return Convergence(draws, rhat, bulk, tail)

    def quantities(self, per_chain: list[list[Watched]]) -> dict[str, np.ndarray]:
        """Everything watched, (chains, draws) each."""
        if not per_chain[0]:
            return {}

        def joined(get) -> np.ndarray:
            return np.stack([np.concatenate([get(part) for part in parts]) for parts in per_chain])

        result = {name: joined(lambda part: part.scalars[name]) for name in per_chain[0][0].scalars}  # noqa: B023
        f = joined(lambda part: part.f)
        result |= {f"f[{row}]": f[:, :, i] for i, row in enumerate(self.rows)}
        for feature in self.leading(per_chain):
            importance = joined(lambda part: size_of(part, feature))  # noqa: B023
            result[f"importance[{self.names[feature]}]"] = np.sqrt(importance)
        return result

    def leading(self, per_chain: list[list[Watched]]) -> np.ndarray:
        """Features with the largest size in all draws."""
        parts = [part for chain in per_chain for part in chain]
        feature, place = np.unique(np.concatenate([part.feature for part in parts]), return_inverse=True)
        total = np.bincount(place, np.concatenate([part.size for part in parts]), minlength=len(feature))
        return feature[np.argsort(-total, kind="stable")[:LEADING_FEATURES]]


def size_of(part: Watched, feature: int) -> np.ndarray:
    """Size of one feature in every draw, (D,)."""
    mine = part.feature == feature
    return np.bincount(part.draw[mine], part.size[mine], minlength=part.n_draws)
