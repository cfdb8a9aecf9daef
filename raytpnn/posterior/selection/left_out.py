"""Fits without one effect, from the draws, without running chains again.

Given the sets, locations and scales of its terms a draw is a linear model with normal coefficients. Its fit
without some of the terms follows from the inverse of its precision matrix: the others take over what they
can. Averaged over draws that is the fit without an effect; what it leaves of the response is tested.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.engine.problem import scale_response

if TYPE_CHECKING:
    from raytpnn.families import Family
    from raytpnn.posterior.fitted import Fitted

__all__ = ["DrawModel", "FitWithout"]

# Draws that are looked at, and cells of their matrices: 400 MB.
MOST_DRAWS, FEWEST_DRAWS, MOST_CELLS = 40, 8, 50_000_000
# Newton steps towards the coefficients of a draw, given its terms; one is exact for a gaussian response.
STEPS = 3
# Precision of the intercept.
FLAT = 1e-4
# A row pulls its own fit at most so far: beyond, what it would be without the row is not known.
MOST_LEVERAGE = 0.95


@dataclass(frozen=True)
class DrawModel:
    """One draw as a linear model, on the internal scale of the response.

    Attributes
    ----------
    columns : (n, K + 1) float64
        Bounded terms, and ones for the intercept.
    inverse : (K + 1, K + 1) float64
        Posterior covariance of the coefficients.
    coefficient : (K + 1,) float64
        Their posterior mean, given the terms.
    dispersion : float
    curvature : (n,) float64
        Of a row's log-likelihood in f, without its weight.
    divide : float
        What log-likelihoods are divided by: the dispersion, where it divides.
    """

    columns: np.ndarray
    inverse: np.ndarray
    coefficient: np.ndarray
    dispersion: float
    curvature: np.ndarray
    divide: float

    def leverage(self, weight: np.ndarray) -> np.ndarray:
        """How far each row pulls its own fit, (n,)."""
        pull = np.einsum("ij,ij->i", self.columns @ self.inverse, self.columns)
        return np.clip(pull * self.curvature * weight / self.divide, 0.0, MOST_LEVERAGE)

    def without(self, held: list[int], coefficient: np.ndarray) -> np.ndarray:
        """Coefficients of the other terms, after some are left out; (K + 1,) or (K + 1, k)."""
        block = self.inverse[np.ix_(held, held)]
        rest = coefficient - self.inverse[:, held] @ np.linalg.solve(block, coefficient[held])
        rest[held] = 0.0
        return rest


class FitWithout:
    """What fits without an effect leave of the response.

    Parameters
    ----------
    post : Fitted
    rows : (n,) int64
        Training rows that are looked at; each counts with its weight.
    """

    def __init__(self, post: Fitted, rows: np.ndarray) -> None:
        draws = post.draws
        terms = max(float(draws.K.mean()), 1.0) + 1.0
        most = int(np.clip(MOST_CELLS / (len(rows) * terms), FEWEST_DRAWS, MOST_DRAWS))
        self.draws = draws.evenly_spaced(most)
        self.bins, self.rows, self.family = post.bins, rows, post.family
        self.weight = post.weight[rows]
        self.scaling, y, offset = scale_response(post.family, post.y, post.offset)
        self.y, self.offset = y[rows], offset[rows]
        prior = post.config.get("prior")
        self.bounded = bool(prior.get("bounded", True)) if isinstance(prior, dict) else True
        self.where: dict[tuple[int, ...], dict[int, list[int]]] = {}
        self.models = [self.model_of(i) for i in range(self.draws.n_draws)]
        self.left = [self.residual_of(m, m.coefficient) for m in self.models]
        self.residual = np.mean(self.left, axis=0)
        outside = [r / (1.0 - m.leverage(self.weight)) for r, m in zip(self.left, self.models, strict=True)]
        self.noise = max(self.variance_of(np.mean(outside, axis=0)), self.noise_of_draws())

    def variance_of(self, residual: np.ndarray) -> float:
        """Weighted mean square."""
        return float(np.average(residual**2, weights=self.weight))

    def noise_of_draws(self) -> float:
        """Variance of a row's score by the draws themselves, which know how far they fit noise."""
        found = []
        for model in self.models:
            f = model.columns @ model.coefficient + self.offset
            found.append(
                float(
                    np.average(
                        model.divide * self.family.information(f, model.dispersion), weights=self.weight
                    )
                )
            )
        return float(np.mean(found))

    def model_of(self, i: int) -> DrawModel:
        """Draw i as a linear model; notes where its terms are."""
        draws = self.draws
        terms = range(draws.term_start[i], draws.term_start[i + 1])
        columns = np.ones((len(self.rows), len(terms) + 1))
        height = np.ones(len(terms) + 1)
        for place, term in enumerate(terms):
            factors = range(draws.variable_start[term], draws.variable_start[term + 1])
            own = tuple(sorted(int(draws.feature[v]) for v in factors))
            self.where.setdefault(own, {}).setdefault(i, []).append(place)
            for v in factors:
                table, top = bounded_factor(self.bins, int(draws.feature[v]), draws.b[v], draws.gamma[v])
                codes = np.minimum(self.bins.codes[draws.feature[v]][self.rows], len(table) - 1)
                columns[:, place] *= table[codes]
                height[place] *= top
        variance = float(draws.sigma_beta2[i]) * (1.0 if self.bounded else height**2)
        precision = np.broadcast_to(1.0 / variance, height.shape).copy()
        precision[-1] = FLAT
        scale = self.scaling.scale
        coefficient = np.empty(len(height))
        coefficient[:-1] = draws.beta[terms.start : terms.stop] * height[:-1] / scale
        coefficient[-1] = (draws.intercept[i] - self.scaling.location) / scale
        dispersion = float(draws.nuisance[i] / self.family.user_dispersion(np.ones(()), scale))
        return solved(
            self.family, columns, self.y, self.offset, self.weight, precision, coefficient, dispersion
        )

    def residual_of(self, model: DrawModel, coefficient: np.ndarray) -> np.ndarray:
        """Score of every row at some coefficients; y less its mean, for exponential families."""
        f = model.columns @ coefficient + self.offset
        ones = np.ones(len(f))
        return self.family.reference_rows(self.y, f, ones, model.dispersion)[0]

    def without(self, components: Iterable[tuple[int, ...]]) -> np.ndarray:
        """What fits without some components leave of the response, mean over draws, (n,).

        Parameters
        ----------
        components : iterable of tuples of int
            Sets of encoded features, ascending.
        """
        return self.residual + sum(
            (after - before) / len(self.models) for before, after in self.changed(components)
        )

    def places_of(self, components: Iterable[tuple[int, ...]]) -> dict[int, list[int]]:
        """Terms of some components, by the draws that hold any."""
        places: dict[int, list[int]] = {}
        for own in components:
            for i, held in self.where.get(own, {}).items():
                places.setdefault(i, []).extend(held)
        return places

    def changed(self, components: Iterable[tuple[int, ...]]) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Residuals with and without the components, of the draws that hold any of them."""
        for i, held in self.places_of(components).items():
            model = self.models[i]
            yield self.left[i], self.residual_of(model, model.without(held, model.coefficient))

    def reach(self, directions: np.ndarray, components: Iterable[tuple[int, ...]]) -> np.ndarray:
        """How products of directions with `without` depend on the noise of every row, (n, directions).

        A fit takes up part of the noise, more of it in some directions than in others: what it leaves there
        varies less than the noise itself.

        Parameters
        ----------
        directions : (n, k) float64
        components : iterable of tuples of int
            Those left out.
        """
        places = self.places_of(components)
        total = np.zeros(directions.shape)
        for i, model in enumerate(self.models):
            moved = model.inverse @ (model.columns.T @ (model.curvature[:, None] * directions))
            if i in places:
                moved = model.without(places[i], moved)
            total += model.columns @ moved / model.divide
        return directions - self.weight[:, None] * total / len(self.models)

    def mean_of(self, component: tuple[int, ...]) -> np.ndarray:
        """Posterior mean of a component, given the terms of the draws, (n,), internal scale."""
        total = np.zeros(len(self.rows))
        for i, held in self.where.get(component, {}).items():
            total += self.models[i].columns[:, held] @ self.models[i].coefficient[held]
        return total / len(self.models)

    def within(self, features: Iterable[int]) -> list[tuple[int, ...]]:
        """Components of which all features are among these: all that is a function of them alone."""
        members = set(features)
        return [own for own in self.where if members.issuperset(own)]

    def sizes(self) -> dict[tuple[int, ...], float]:
        """Root mean square of every component's posterior mean."""
        return {own: float(np.sqrt(np.mean(self.mean_of(own) ** 2))) for own in self.where}


def bounded_factor(bins: object, feature: int, b: float, gamma: float) -> tuple[np.ndarray, float]:
    """Factor (1 - s/c)/h over the bins of a feature, 0 for missing, and its height h."""
    from raytpnn.forward.forward_numpy import factor_table

    table = factor_table(bins, feature, b, gamma)  # type: ignore[arg-type]
    used = len(bins.values_of(feature))  # type: ignore[attr-defined]
    height = max(float(np.abs(table[:used]).max()), 1e-12)
    return np.append(table[:used], 0.0) / height, height


def solved(
    family: Family,
    columns: np.ndarray,
    y: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    precision: np.ndarray,
    start: np.ndarray,
    dispersion: float,
) -> DrawModel:
    """Mean and covariance of the coefficients given the terms, by Newton's method from the draw's own."""
    divide = 1.0 if family.dispersion_in_rows or not family.dispersion else dispersion
    centre = np.zeros(len(start))
    centre[-1] = start[-1]
    coefficient = start
    for _ in range(1 if family.quadratic else STEPS):
        f = columns @ coefficient + offset
        score, curvature, _ = family.reference_rows(y, f, weight, dispersion)
        gradient = columns.T @ score / divide - precision * (coefficient - centre)
        curved = columns.T @ (curvature[:, None] / divide * columns)
        inverse = np.linalg.inv(curved + np.diag(precision))
        coefficient = coefficient + inverse @ gradient
    plain = family.reference_rows(y, f, np.ones(len(y)), dispersion)[1]
    return DrawModel(columns, inverse, coefficient, dispersion, plain, divide)
