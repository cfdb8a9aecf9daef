"""Is there an effect beyond all others: a partial F test on what a fit without it leaves.

The residual comes from a fit without the effect (`left_out`). Where that fit is wrong, what it misses of
other features would show up in those that go along with them; so the other features that could do this, by
their size and their correlation with the effect's own, are taken out of both sides (controls). The test is
valid if either side is right: the fit of the response, or the regression on the controls.

Rows are noisier than a fit to them shows. The variance is that of rows left out, not that of the residuals:
with the latter the rate is not held (`tests/posterior/test_selection.py` shows it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raytpnn.model.prior import wideness
from raytpnn.posterior.selection.basis import Basis
from raytpnn.posterior.selection.left_out import FitWithout

__all__ = ["Effect", "Tested", "Tests"]

Effect = tuple[int, ...]

# Degree of the polynomials of one feature, and of each feature of an interaction, if rows are enough.
DEGREE, DEGREE_OF_PAIR = 3, 2
# Degree of the polynomials by which the features of an interaction are controlled for themselves.
DEGREE_OF_OWN = 5
# Features a row up to which the rate was seen to hold.
MOST_FEATURES_A_ROW = 0.5
# Principal components below this share of the first are rounding: levels of a column add up to 1.
LEAST_DIRECTION = 1e-3
# Share of the rows that controls may take, most of them, and most fitted interactions among them.
CONTROL_SHARE, MOST_CONTROLS, MOST_CURVES = 0.25, 60, 10


@dataclass(frozen=True)
class Tested:
    """One effect, tested.

    Attributes
    ----------
    features : tuple of int
        Encoded features; of a group, its members.
    order : int
        1 for a group.
    p_value : float
    whole : bool
        Whether the members of a group are the levels of one column of the table.
    """

    features: tuple[int, ...]
    order: int
    p_value: float
    whole: bool = False

    @property
    def is_group(self) -> bool:
        """Whether this is about a group of near-equal features, of which any may be the real one."""
        return len(self.features) > self.order


class Tests:
    """Tests of single effects and of groups.

    Parameters
    ----------
    fit : FitWithout
    basis : Basis
    noise : float, optional
        Variance of a row around its mean, internal scale; that of rows left out, if not given.
    """

    def __init__(self, fit: FitWithout, basis: Basis, noise: float | None = None) -> None:
        self.fit, self.basis = fit, basis
        self.noise = fit.noise if noise is None else noise
        self.root = np.sqrt(fit.weight)
        n, p = len(fit.rows), fit.bins.n_features
        wide = wideness(n, p)
        self.degree = DEGREE if wide == 0.0 else (2 if wide < 0.5 else 1)
        # With so many features a fit takes up too much noise for these tests.
        self.wide = p > MOST_FEATURES_A_ROW * n
        self.degree_of_pair = DEGREE_OF_PAIR if wide == 0.0 else 1
        self.room = min(int(CONTROL_SHARE * n), MOST_CONTROLS)
        sizes = fit.sizes()
        squares: dict[int, float] = {}
        for own, size in sizes.items():
            for feature in own:
                squares[feature] = squares.get(feature, 0.0) + size**2
        self.used = np.array(sorted(squares), np.int64)
        self.size = np.sqrt([squares[int(j)] for j in self.used])
        self.ranks = basis.ranks(self.used)
        leading = sorted((own for own in sizes if len(own) > 1), key=lambda own: -sizes[own])
        self.curves = {own: fit.mean_of(own) for own in leading[: MOST_CURVES + 1] if sizes[own] > 0.0}

    def controls(self, own: Sequence[int], taken: int) -> list[np.ndarray]:
        """Columns to take out: features that are large and go along with the effect's own."""
        along = np.abs(self.basis.ranks(own) @ self.ranks.T).max(axis=0)
        score = self.size * along
        score[np.isin(self.used, own)] = 0.0
        number = max((self.room - taken) // self.degree, 0)
        best = [i for i in np.argsort(-score)[:number] if score[i] > 0.0]
        return [self.basis.powers(int(self.used[i]), self.degree) for i in best]

    def columns(self, own: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Functions whose effect is tested, and columns that are controlled for."""
        degree = self.degree if len(own) == 1 else self.degree_of_pair
        effect = self.basis.effect(own, degree)
        controls = [self.curves[other] for other in list(self.curves)[:MOST_CURVES] if other != own]
        controls = [curve[:, None] for curve in controls][: max(self.room // 4, 0)]
        if len(own) > 1:
            degree_of_own = DEGREE_OF_OWN if self.degree == DEGREE else self.degree + 1
            controls += [self.basis.powers(feature, degree_of_own) for feature in own]
        if len(own) > 2:
            controls += [
                self.basis.effect(tuple(f for f in own if f != left), self.degree_of_pair) for left in own
            ]
        taken = sum(column.shape[1] for column in controls)
        return effect, controls + self.controls(own, taken)

    def single(self, own: tuple[int, ...]) -> Tested:
        """Test one component."""
        effect, controls = self.columns(own)
        return Tested(own, len(own), self.p_value([own], effect, controls))

    def group(self, members: tuple[int, ...], whole: bool = False) -> Tested:
        """Test a group of features: does any of them, alone, have an effect.

        Of near-equal features, whose main effects are left out together, the first principal component is
        tested, since they say the same. Of the levels of one column (`whole`) all are, and all that is a
        function of the column is left out.
        """
        lead = self.directions(members)
        lead = lead if whole else lead[:, :1]
        others = [curve for own, curve in self.curves.items() if not (whole and set(own) <= set(members))]
        controls = [curve[:, None] for curve in others[: min(MOST_CURVES, self.room // 4)]]
        taken = len(controls)
        controls += self.controls(members, taken)
        alone: list[Effect] = [(feature,) for feature in members]
        left_out = self.fit.within(members) if whole else alone
        p_value = self.p_value(left_out, lead, controls)
        return Tested(members, 1, p_value, whole)

    def directions(self, members: tuple[int, ...]) -> np.ndarray:
        """Principal components of some features' ranks, (n, k): one less than the levels of a column."""
        _, s, found = np.linalg.svd(self.basis.ranks(members).astype(np.float64), full_matrices=False)
        return found[s > LEAST_DIRECTION * s[0]].T

    def p_value(self, left_out: list[Effect], effect: np.ndarray, controls: list[np.ndarray]) -> float:
        """Partial F test of columns given others, on what fits without some components leave."""
        from scipy.stats import f as f_law

        fit = self.fit
        found = beyond(effect, controls, self.root)
        if found is None:
            return 1.0
        own, taken = found
        directions = self.root[:, None] * own
        products = directions.T @ fit.without(left_out)
        known = fit.weight > 0.0
        reach = fit.reach(directions, left_out)[known] / self.root[known, None]
        covariance = self.noise * (reach.T @ reach)
        freedom = int(known.sum()) - taken - own.shape[1]
        if freedom < 1 or not np.all(np.linalg.eigvalsh(covariance) > 0.0):
            return 1.0
        statistic = float(products @ np.linalg.solve(covariance, products)) / own.shape[1]
        return float(f_law.sf(statistic, own.shape[1], freedom))


def beyond(effect: np.ndarray, controls: list[np.ndarray], root: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Orthonormal columns of what controls leave of an effect's, and how many columns the controls are.

    None if they leave nothing. Rows count with the squares of `root`.
    """
    q = orthonormal(np.column_stack([np.ones(len(root)), *controls]) * root[:, None])
    u = effect * root[:, None]
    before = np.sqrt(np.einsum("ij,ij->j", u, u))
    u = u - q @ (q.T @ u)
    # What controls explain to the last per mille cannot be told from them.
    kept = np.sqrt(np.einsum("ij,ij->j", u, u)) > 1e-3 * np.maximum(before, 1e-300)
    return (orthonormal(u[:, kept]), q.shape[1]) if kept.any() else None


def orthonormal(columns: np.ndarray) -> np.ndarray:
    """Orthonormal basis of what some columns span."""
    length = np.maximum(np.sqrt(np.einsum("ij,ij->j", columns, columns)), 1e-300)
    u, s, _ = np.linalg.svd(columns / length, full_matrices=False)
    return u[:, s > 1e-6 * max(float(s[0]), 1e-300)] if len(s) else u
