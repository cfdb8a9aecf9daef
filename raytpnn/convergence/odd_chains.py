"""Chains that are stuck, or apart from all others: named, never thrown away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raytpnn.convergence.diagnostics import MIN_DRAWS, assess

__all__ = ["OddChain", "odd_chains", "worst_rhat"]

# Below this R-hat chains differ by chance, and none of them is called odd.
LEAST_RHAT = 1.05
# A chain is apart if the others alone have less than this part of the excess of R-hat over 1.
EXCESS_LEFT = 0.5
FEWEST_CHAINS = 3
# Moves that can fail; the others are drawn from their conditional and always succeed.
UNCERTAIN_MOVES = ("birth", "death", "adding", "deleting", "changing", "langevin", "factor")
FEWEST_PROPOSALS = 100


@dataclass(frozen=True)
class OddChain:
    """A chain unlike the others.

    Attributes
    ----------
    chain : int
        Its number.
    kind : {"stuck", "apart"}
    reason : str
    """

    chain: int
    kind: str
    reason: str


def odd_chains(
    quantities: dict[str, np.ndarray],
    chains: Sequence[int],
    acceptance: Sequence[dict[str, tuple[int, int]]],
) -> list[OddChain]:
    """Name chains that did not move, and chains that disagree with all others.

    A chain is stuck if it accepted none of at least 100 proposals that can be rejected, or if no quantity
    changed in it while others' did. It is apart if there are at least three chains, the worst R-hat is above
    1.05, and the worst R-hat of the others alone is nearer to 1 by more than half.

    Parameters
    ----------
    quantities : dict of str to (chains, draws)
    chains : sequence of int
        Numbers of the chains, in the order of the rows.
    acceptance : sequence of dict
        Proposals and acceptances by move, one dict per chain; empty where unknown.
    """
    stuck = [
        OddChain(chain, "stuck", reason)
        for i, chain in enumerate(chains)
        if (reason := why_stuck(quantities, i, acceptance[i] if i < len(acceptance) else {}))
    ]
    named = {odd.chain for odd in stuck}
    return stuck + [odd for odd in chains_apart(quantities, chains) if odd.chain not in named]


def why_stuck(quantities: dict[str, np.ndarray], row: int, accepted: dict[str, tuple[int, int]]) -> str:
    """Reason to call a chain stuck; empty if there is none."""
    tried = sum(accepted[move][0] for move in UNCERTAIN_MOVES if move in accepted)
    taken = sum(accepted[move][1] for move in UNCERTAIN_MOVES if move in accepted)
    if tried >= FEWEST_PROPOSALS and taken == 0:
        return f"it accepted none of {tried:,} proposals"
    varying = [values for values in quantities.values() if np.ptp(values) > 0.0]
    if varying and varying[0].shape[1] >= MIN_DRAWS and all(np.ptp(values[row]) == 0.0 for values in varying):
        return "nothing changed from its first draw to its last"
    return ""


def chains_apart(quantities: dict[str, np.ndarray], chains: Sequence[int]) -> list[OddChain]:
    """Find chains without which the others agree far better."""
    if len(chains) < FEWEST_CHAINS:
        return []
    rhat = {name: rhat_of(values) for name, values in quantities.items() if np.ptp(values) > 0.0}
    worst = max(rhat.values(), default=1.0)
    if not LEAST_RHAT < worst < np.inf:
        return []
    limit = 1.0 + EXCESS_LEFT * (worst - 1.0)
    # The worst first: they settle most cases without a look at the others.
    order = sorted(rhat, key=lambda name: -rhat[name])
    found = []
    for i, chain in enumerate(chains):
        others = [np.delete(quantities[name], i, axis=0) for name in order]
        if all(rhat_of(values) < limit for values in others):
            without = max(rhat_of(values) for values in others)
            reason = f"without it the worst R-hat falls from {worst:.3f} to {without:.3f}"
            found.append(OddChain(chain, "apart", reason))
    return found


def worst_rhat(quantities: dict[str, np.ndarray]) -> float:
    """Largest R-hat; 1 if nothing varies."""
    return max((rhat_of(values) for values in quantities.values()), default=1.0)


def rhat_of(values: np.ndarray) -> float:
    """R-hat of one quantity, (chains, draws); 1 if it is constant or cannot be estimated."""
    if np.ptp(values) == 0.0:
        return 1.0
    rhat = assess("", values, [])[1]
    return 1.0 if np.isnan(rhat) else rhat
