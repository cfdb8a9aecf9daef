"""Feature weights and a table of sets learned in warm-up by screens of what all chains leave unexplained.

After certain complete rounds of warm-up the coordinator takes the states of all chains, computes the mean
score of every row at their fits, screens features, pairs and triples for what it holds
(`raytpnn.model.screens`), and stores weights and a table. Every worker reads them from there: products of
matrices have other last bits on other machines, draws do not. What was stored is never computed again. After
the last of these rounds weights and table stay as they are: the chains are ordinary ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.chains.plan import Length, Plan
from raytpnn.data.encoding.bins import Bins
from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.problem import Problem, check_set_table, with_feature_weights, with_set_table
from raytpnn.engine.record_check import check_feature_weights
from raytpnn.engine.records import INTERCEPT, NUISANCE, STATE, TEMPERATURE
from raytpnn.model.screens.set_table import Proposals, learn_proposals
from raytpnn.model.screens.shapes import Shapes
from raytpnn.storage.checks import named
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.checkpoint import sets_name

if TYPE_CHECKING:
    from raytpnn.chains.run.ledger import Ledger
    from raytpnn.chains.run.store import BlockStore

__all__ = ["TABLE_SHARE", "SetLearner", "round_of_sets", "screens_after", "with_proposals"]

# Rounds after which chains are screened.
ROUNDS = (1, 2, 4, 6, 9)
# Of the births, those that draw their set from the table.
TABLE_SHARE = 0.4
# Rows that are screened at most: more tell no more of what is worth a proposal.
MOST_ROWS = 20_000


def screens_after(length: Length) -> list[int]:
    """Rounds from which on new proposals hold, as far as warm-up goes."""
    whole = length.warmup // length.block_sweeps
    return [at for at in ROUNDS if at < whole]


def round_of_sets(length: Length, block: int) -> int | None:
    """Screen whose proposals hold in a block; None before the first."""
    before = [at for at in screens_after(length) if at <= block]
    return before[-1] if before else None


def pack(found: Proposals) -> bytes:
    """Content of a file: numbers of features and sets, feature weights, sets, their weights."""
    sizes = np.array([len(found.feature_weight), len(found.weight)], "<i8")
    parts = sizes, found.feature_weight.astype("<f8"), found.sets.astype("<i8"), found.weight.astype("<f8")
    return b"".join(part.tobytes() for part in parts)


def unpack(content: bytes, p: int, max_order: int) -> Proposals:
    """Proposals of a file's content; ValueError if they are none: compiled code draws sets by them."""
    sizes = np.frombuffer(content[:16], "<i8")
    if (
        len(sizes) != 2
        or sizes[0] != p
        or not 0 < sizes[1] < len(content)
        or len(content) != 16 + 8 * p + 32 * sizes[1]
    ):
        raise ValueError(f"it holds no feature weights of {p} features and table of sets")
    numbers = np.frombuffer(content, "<f8", p, 16)
    sets = np.frombuffer(content, "<i8", 3 * int(sizes[1]), 16 + 8 * p).reshape(-1, 3)
    weight = np.frombuffer(content, "<f8", int(sizes[1]), 16 + 8 * p + 24 * int(sizes[1]))
    check_feature_weights(numbers, p)
    check_set_table(sets, weight, p)
    if np.any(np.sum(sets >= 0, axis=1) > max_order):
        raise ValueError(f"a set of the table has more than {max_order} features")
    return Proposals(numbers, sets, weight)


def with_proposals(problem: Problem, store: BlockStore, at: int, max_order: int) -> Problem:
    """Make a problem with the proposals that hold from a round on."""
    content = store.proposals(at)
    if content is None:
        raise RunError(f"{sets_name(at)} is missing or damaged; resume the run, which learns it again")
    with named(sets_name(at)):
        found = unpack(content, len(problem.codes), max_order)
    weighted = with_feature_weights(problem, found.feature_weight)
    return with_set_table(weighted, found.sets, found.weight, TABLE_SHARE)


def bins_of(problem: Problem) -> Bins:
    """Encoded features of a problem, without names."""
    host = {array.ctypes.data: array for array in problem.others}
    first, n_bins, value, weight = (
        host[int(problem.record[name])] for name in ("first_bin", "n_bins", "bin_value", "bin_weight")
    )
    starts, at, marginal = np.unique(first, return_index=True, return_inverse=True)
    bounds = np.append(starts, starts[-1] + n_bins[at[-1]])
    return Bins(problem.codes, ("",) * len(first), marginal.astype(np.int32), bounds, value, weight)


def state_of(checkpoint: bytes) -> np.record:
    """State of a chain, or of the cold replica of an ensemble."""
    if len(checkpoint) == STATE.itemsize:
        return np.frombuffer(checkpoint, STATE).view(np.recarray)[0]
    states = np.frombuffer(checkpoint, STATE, offset=LADDER.itemsize).view(np.recarray)
    return states[int(np.argmax(states.scalar[:, TEMPERATURE]))]


def sets_of(state: np.record) -> list[tuple[int, ...]]:
    """Sets of the terms of a state, features ascending."""
    return [tuple(sorted(state.features[k, : state.order[k]].tolist())) for k in range(state.K)]


def fit_of(state: np.record, bins: Bins, rows: np.ndarray, offset: np.ndarray, bounded: bool) -> np.ndarray:
    """Offset, intercept and terms of a state at some rows, (m,): its factors as tables over bins."""
    fit = offset + state.scalar[INTERCEPT]
    for k in range(state.K):
        phi = np.full(len(rows), state.beta[k])
        for i in range(state.order[k]):
            feature = int(state.features[k, i])
            value, weight = bins.values_of(feature), bins.weights_of(feature)
            slope = np.clip((state.b[k, i] - value) / state.gamma[k, i], -700.0, 700.0)
            s = 1.0 / (1.0 + np.exp(slope))
            factor = 1.0 - s / (weight @ s)
            if bounded:
                factor = factor / np.abs(factor).max()
            # Missing cells, and codes that no bin has, stand for 0.
            table = np.append(factor, 0.0)
            phi *= table[np.minimum(bins.codes[feature, rows], len(factor))]
        fit = fit + phi
    return fit


def module_of_arrays(backend: str) -> Any:
    """CuPy where chains run on this machine's GPU, else NumPy; what is found is stored, so both will do."""
    if backend == "cuda":
        try:
            import cupy

            if cupy.cuda.runtime.getDeviceCount() > 0:
                return cupy
        except Exception:
            # Chains run on the GPUs of other machines: the coordinator has none.
            return np
    return np


class SetLearner:
    """Learns proposals from complete rounds, and keeps them where workers find them.

    Parameters
    ----------
    plan : Plan
    store : BlockStore
    say : callable
        Told of screens that take a while.
    """

    def __init__(self, plan: Plan, store: BlockStore, say: Callable[[str], None] | None = None) -> None:
        self.plan = plan
        self.store = store
        self.say = say
        self.to_learn = screens_after(plan.length)

    def ready_for(self, block: int) -> bool:
        """Whether the proposals of a block are known."""
        return not self.to_learn or block < self.to_learn[0]

    def learn(self, ledger: Ledger, rounds: int) -> None:
        """Learn the proposals of all screens that complete rounds allow, unless they are there already."""
        while self.to_learn and self.to_learn[0] <= rounds:
            at = self.to_learn.pop(0)
            if self.store.proposals(at) is None:
                self.store.put_proposals(at, pack(self.screened(at)))

    def screened(self, at: int) -> Proposals:
        """Proposals from the states of all chains after so many rounds."""
        plan, problem = self.plan, self.plan.problem
        chains = range(plan.length.chains)
        states = [state_of(self.store.state_after(chain, at - 1)) for chain in chains]
        bins = bins_of(problem)
        step = -(-bins.n_rows // MOST_ROWS)
        rows = np.arange(0, bins.n_rows, step)
        y, w = problem.y[rows], problem.w[rows] * step
        score, curvature = np.zeros(len(rows)), np.zeros(len(rows))
        for state in states:
            fit = fit_of(state, bins, rows, problem.offset[rows], bool(plan.settings.bounded))
            eta = float(state.scalar[NUISANCE])
            first, second, _ = plan.family.reference_rows(y, fit, w, eta)
            divided = plan.family.dispersion and not plan.family.dispersion_in_rows
            score += first / (eta if divided else 1.0) / len(states)
            curvature += second / (eta if divided else 1.0) / len(states)
        used = Counter(S for state in states for S in sets_of(state))
        shapes = Shapes.of(bins, None if step == 1 else rows)
        max_order, earlier = int(plan.settings.max_order), self.earlier(at)
        arrays = module_of_arrays(plan.backend)
        return learn_proposals(shapes, score, curvature, used, max_order, earlier, self.progress(), arrays)

    def earlier(self, at: int) -> np.ndarray | None:
        """Sets of the screen before this one; None for the first."""
        before = round_of_sets(self.plan.length, at - 1)
        content = None if before is None else self.store.proposals(before)
        if content is None:
            return None
        return unpack(content, len(self.plan.problem.codes), int(self.plan.settings.max_order)).sets

    def progress(self) -> Callable[[float], None] | None:
        """What is told of a screen of all pairs: every quarter, where there are very many."""
        say, told = self.say, [0.0]
        if say is None or len(self.plan.problem.codes) < 10_000:
            return None

        def tell(share: float) -> None:
            if share >= told[0] + 0.25:
                told[0] = share
                say(f"screened {share:.0%} of all pairs of features")

        return tell
