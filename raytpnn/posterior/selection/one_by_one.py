"""Wide data: effects one by one, each beyond those selected before it.

Where features outnumber rows, many say the same: none of them is needed beyond all others, and yet one of
them is. And a fit takes up so much noise that tests beyond it do not hold their rate. So there another
question is asked: does an effect explain what those selected before it leave. The best of all features is
compared with the best of all for permuted rows (Westfall and Young; after the first step residuals are
permuted, as by Freedman and Lane); where no feature is left, the best of all pairs with theirs. Each order
has its prior share of the rate. An effect is taken if its q-value, p-value over share, is at most the rate,
and so on until none is: where nothing is left, the probability of one step more is at most the rate. No law
of the response is assumed: with 22 rows of two classes among 54,675 features the tail of an F law is far off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from raytpnn.model.prior import Prior
from raytpnn.posterior.selection.basis import Basis
from raytpnn.posterior.selection.left_out import FitWithout
from raytpnn.posterior.selection.score_tests import Effect, Tested, orthonormal
from raytpnn.posterior.selection.wide_pairs import best_pair

__all__ = ["Step", "one_by_one"]

# Effects selected so are at most this share of the rows.
MOST_SHARE = 0.1
# Permutations of the rows for features, and cells of features x permutations held at a time.
PERMUTATIONS, MOST_CELLS = 999, 10_000_000
# Marks the stream of random numbers that permutes rows.
PERMUTATION_STREAM = 15_485_863
# Of a feature that others explain to so much nothing is left to test.
EXPLAINED = 0.99


class Step(NamedTuple):
    """An effect that was taken, the smallest rate at which it is, and those taken before."""

    effect: Tested
    q_value: float
    before: tuple[Effect, ...]


class OneByOne:
    """What is left of the response of wide data, and who explains most of it.

    Parameters
    ----------
    fit : FitWithout
    basis : Basis
    seed : int
        Of the permutations.
    """

    def __init__(self, fit: FitWithout, basis: Basis, seed: int = 0) -> None:
        self.basis, self.rows = basis, np.flatnonzero(fit.weight > 0.0)
        self.root = np.sqrt(fit.weight[self.rows])
        self.rng = np.random.default_rng([seed, PERMUTATION_STREAM])
        f = fit.family.start(fit.y, fit.offset) + fit.offset
        dispersion = float(np.mean([model.dispersion for model in fit.models]))
        score = fit.family.reference_rows(fit.y, f, np.ones(len(f)), dispersion)[0]
        self.score = score[self.rows] * self.root

    def taken_out(self, effects: list[Effect]) -> np.ndarray:
        """Orthonormal columns of an intercept and of some effects, (rows, columns)."""
        columns = [np.ones((1, len(self.rows)))]
        for own in effects:
            ranks = self.basis.ranks(own)[:, self.rows].astype(np.float64)
            columns.append(ranks)
            if len(own) > 1:
                columns.append(len(self.rows) ** 0.5 * np.prod(ranks, axis=0, keepdims=True))
        return orthonormal(np.vstack(columns).T * self.root[:, None])

    def left(self, q: np.ndarray, permutations: int = 0) -> np.ndarray:
        """What columns leave of the response, and the same permuted, (rows, 1 + permutations), length 1."""
        left = self.score - q @ (q.T @ self.score)
        columns = np.stack([left, *(self.rng.permutation(left) for _ in range(permutations))], axis=1)
        columns -= q @ (q.T @ columns)
        return columns / np.maximum(np.sqrt(np.einsum("ij,ij->j", columns, columns)), 1e-300)

    def correlations(self, q: np.ndarray, targets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Features, some at a time, and their absolute correlations with targets beyond q."""
        targets, root, q = (a.astype(np.float32) for a in (targets, self.root, q))
        step = max(MOST_CELLS // targets.shape[1], 1)
        for features, all_ranks in self.basis.chunks():
            for start in range(0, len(features), step):
                u = all_ranks[start : start + step, self.rows] * root
                squares = np.einsum("ij,ij->i", u, u, dtype=np.float64)
                u = u - (u @ q) @ q.T
                rest = np.einsum("ij,ij->i", u, u, dtype=np.float64)
                usable = rest > (1.0 - EXPLAINED) * np.maximum(squares, 1e-12)
                if usable.any():
                    u = u[usable] / np.sqrt(rest[usable])[:, None].astype(np.float32)
                    yield features[start : start + step][usable], np.abs(u @ targets)

    def best_feature(self, taken: list[Effect]) -> tuple[Effect | None, float]:
        """Feature that goes along best with what some effects leave, and its p-value over all features."""
        q = self.taken_out(taken)
        targets = self.left(q, PERMUTATIONS)
        best: Effect | None = None
        largest = np.zeros(targets.shape[1])
        for features, found in self.correlations(q, targets):
            top = int(np.argmax(found[:, 0]))
            if found[top, 0] > largest[0]:
                best = (int(features[top]),)
            np.maximum(largest, found.max(axis=0), out=largest)
        # Ties count against the feature: with two classes and few rows they are common.
        return best, float(np.mean(largest >= largest[0] * (1.0 - 1e-5)))

    def certainty(self, group: tuple[int, ...], others: list[Effect]) -> float:
        """Probability that one of a group, and no other feature, explains what other effects leave.

        Given that one feature does, each as likely before: likelihoods of all single features, each with its
        best coefficient.
        """
        q = self.taken_out(others)
        freedom = len(self.rows) - q.shape[1]
        along = np.zeros(self.basis.bins.n_features)
        for features, found in self.correlations(q, self.left(q)):
            along[features] = found[:, 0]
        return float(probabilities(along, freedom)[list(group)].sum())


def probabilities(along: np.ndarray, freedom: int) -> np.ndarray:
    """Of every feature, that it is the one that explains a response, from their correlations with it."""
    log = -0.5 * freedom * np.log1p(-(np.minimum(along, 1.0 - 1e-7) ** 2))
    likelihood = np.exp(log - log.max())
    return likelihood / likelihood.sum()


def one_by_one(
    fit: FitWithout, basis: Basis, rate: float, seed: int = 0, max_order: int = 2, prior: Prior | None = None
) -> list[Step]:
    """Features, and pairs, beyond those before them.

    Parameters
    ----------
    fit : FitWithout
    basis : Basis
    rate : float
        Largest q-value.
    seed : int
        Of the permutations.
    max_order : int
        1 for features only.
    prior : Prior, optional
        Whose probabilities of orders are the shares of the rate; the default one if not given.

    Returns
    -------
    list of Step
        Their q-values never fall from one step to the next.
    """
    room = OneByOne(fit, basis, seed)
    shares = (prior or Prior()).order_weights(basis.bins.n_features)[: min(max_order, 2)]
    shares = shares / shares.sum()
    steps: list[Step] = []
    q_value = 0.0
    while len(steps) < max(int(MOST_SHARE * len(room.rows)), 1):
        taken = [step.effect.features for step in steps]
        if len(room.rows) - room.taken_out(taken).shape[1] < 3:
            break
        best, p_value = room.best_feature(taken)
        share = shares[0]
        if (best is None or p_value > rate * share) and len(shares) > 1:
            best, p_value = best_pair(room, taken, rate * shares[1])
            share = shares[1]
        q_value = max(q_value, min(p_value / share, 1.0))
        if best is None or q_value > rate:
            break
        steps.append(Step(Tested(best, len(best), p_value), q_value, tuple(taken)))
    return steps
