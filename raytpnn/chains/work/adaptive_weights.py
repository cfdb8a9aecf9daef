"""Feature weights learned in warm-up: what any chain has found useful, all chains propose more often.

Weights change only after certain complete rounds of warm-up, from the features that chains hold at the ends
of blocks, and stay as they are from then on. They are weights of proposals: the posterior does not depend on
them, and a chain after warm-up is an ordinary one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.chains.plan import Length

if TYPE_CHECKING:
    from raytpnn.chains.run.ledger import Ledger
    from raytpnn.chains.run.store import BlockStore

__all__ = ["UNIFORM_SHARE", "WeightLearner", "changes", "learned_weights", "round_of_weights"]

# What all features share alike, so that none is out of reach.
UNIFORM_SHARE = 0.25


def changes(length: Length) -> list[int]:
    """Rounds from which on new weights hold: 1, 2, 3, 4, 6, 8, 12, ... as far as warm-up goes."""
    whole = length.warmup // length.block_sweeps
    rounds, step = [1], 1
    while rounds[-1] + step < whole:
        rounds.append(rounds[-1] + step)
        # Later weights are changed less often: each change makes the chains wait for each other.
        step = max(step, rounds[-1] // 2)
    return [at for at in rounds if at < whole]


def round_of_weights(length: Length, block: int) -> int | None:
    """Change whose weights hold in a block; None before the first."""
    before = [at for at in changes(length) if at <= block]
    return before[-1] if before else None


def learned_weights(usage: list[dict[int, int]], p: int) -> np.ndarray:
    """Weights from how many terms hold each feature, (p,), summing to 1.

    Parameters
    ----------
    usage : list of dict of int to int
        Terms by feature, one dict per chain and block. Features in few terms count for more than their share:
        the square root keeps a feature in many terms from taking all.
    p : int
    """
    counts = np.zeros(p)
    for part in usage:
        for feature, terms in part.items():
            counts[feature] += terms
    score = np.sqrt(counts)
    total = score.sum()
    if total == 0.0:
        return np.full(p, 1.0 / p)
    return (1.0 - UNIFORM_SHARE) * score / total + UNIFORM_SHARE / p


class WeightLearner:
    """Learns feature weights from complete rounds, and keeps them where workers find them.

    Parameters
    ----------
    length : Length
    store : BlockStore
    p : int
    """

    def __init__(self, length: Length, store: BlockStore, p: int) -> None:
        self.store = store
        self.p = p
        self.to_learn = changes(length)

    def ready_for(self, block: int) -> bool:
        """Whether the weights of a block are known."""
        return not self.to_learn or block < self.to_learn[0]

    def learn(self, ledger: Ledger, rounds: int) -> None:
        """Learn the weights of all changes that complete rounds allow."""
        while self.to_learn and self.to_learn[0] <= rounds:
            at = self.to_learn.pop(0)
            # The first half of what came before is forgotten: chains still looked around.
            recent = range(at // 2, at)
            usage = [reports[block].usage for reports in ledger.reports for block in recent]
            self.store.put_weights(at, learned_weights(usage, self.p))
