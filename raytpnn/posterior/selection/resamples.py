"""Would another sample say the same: selections of halves of the rows.

A half is the same run with the weights of the other rows set to 0: encoding and prior stay, and the chains
are as short as the run's own. Fits are done one after the other, their chains on threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from raytpnn.chains.plan import Length, make_plan
from raytpnn.chains.run.ledger import new_ledger
from raytpnn.chains.run.store import MemoryRun
from raytpnn.chains.run_chains import RunSetup, run_chains
from raytpnn.data.rows.rows_io import TrainingRows
from raytpnn.engine.moves.options import Moves
from raytpnn.posterior.selection.select import prior_of, select_effects

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["fits_of_halves", "selection_stability"]

# Chains and sweeps of a fit: warm-up and as many draws.
CHAINS, SWEEPS = 2, 300
# Marks the stream of random numbers that chooses halves.
HALF_STREAM = 104_729


def fits_of_halves(post: Posterior, number: int, seed: int = 0) -> Iterator[Posterior]:
    """Posteriors of random halves of the training rows; two classes are halved each.

    Parameters
    ----------
    post : Posterior
    number : int
    seed : int
    """
    rng = np.random.default_rng([seed, HALF_STREAM])
    length = Length(CHAINS, SWEEPS, SWEEPS, 1)
    prior = prior_of(post)
    for i in range(number):
        weight = post.weight * half_of(post.y if post.family.binary else np.zeros(len(post.y)), rng)
        rows = TrainingRows(post.bins, post.y, weight, post.offset, np.ones(post.bins.n_features))
        plan = make_plan(rows, post.family, prior, Moves(), seed + i + 1, length, "numba")
        run = MemoryRun(length)
        run_chains(plan, run, new_ledger(length), post.names, RunSetup())
        draws = run.draws(post.bins.n_features)
        assert draws is not None
        parts = post.encoder, post.bins, post.family, post.y, weight, post.offset, post.classes
        yield type(post)(draws, *parts, post.config)


def half_of(group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """1 for a random half of the rows of every group, 0 for the others, (n,)."""
    chosen = np.zeros(len(group))
    for value in np.unique(group):
        members = rng.permutation(np.flatnonzero(group == value))
        chosen[members[: -(-len(members) // 2)]] = 1.0
    return chosen


def selection_stability(
    post: Posterior, table: pd.DataFrame, fdr: float, number: int, seed: int = 0, **options: Any
) -> np.ndarray:
    """Share of the halves in which an effect, or another of its group, is selected, (effects,)."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise ValueError(f"stability is over a number of halves, 1 or more, not {number!r}")
    count = np.zeros(len(table))
    for half in fits_of_halves(post, number, seed):
        found = select_effects(half, fdr, **options)
        sets = list(zip(found["order"], (frozenset(g) for g in found["group"]), strict=True))
        for i, (order, group) in enumerate(zip(table["order"], table["group"], strict=True)):
            own = frozenset(group)
            count[i] += any(order == other and len(own & members) >= order for other, members in sets)
    return count / number
